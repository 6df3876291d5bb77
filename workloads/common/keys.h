/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key sources: the keys that a workload uses, chosen by --keys=SOURCE.
 *
 *	uniform      every record with equal probability; without records, any 64-bit number
 *	sequential   0, 1, 2, ...
 *	zipfian      few records get most requests: YCSB's scrambled zipfian, theta 0.99
 *	FILE         the keys of a file, in its order (keyfile.h)
 *
 * All generated sources except "sequential" give record r the key keys_of_record(r): keys are scattered over
 * the 64-bit range and distinct for distinct records. The same source, seed and count give the same keys on
 * every host. 0 is a valid key.
 */
#ifndef WORKLOADS_COMMON_KEYS_H
#define WORKLOADS_COMMON_KEYS_H

#include <nvw/pool.h>
#include <nvw/random.h>

/* For the options table of a workload. */
#define KEYS_HELP                                                                           \
	"uniform, sequential, zipfian, or a file of keys (text or big-endian, gzip and xz " \
	"too)"
#define KEYS_COLUMN_HELP "column of a text key file that holds the key, from 1 [lines hold only the key]"

struct keys_source {
	const char *source; /* as above */
	uint64_t seed;
	uint64_t records; /* number of distinct records requested; 0: uniform takes any number, */
			  /* zipfian takes count records */
	unsigned column;  /* key column of a text file with several fields per line, 0 if there is one */
};

/* True if the source is a file: then count 0 means "all of it". */
bool keys_is_file(const char *source);

/*
 * Makes count keys from the source; the caller frees *ret_keys. *ret_count is count, or the number of keys in
 * the file if count was 0. NVW_E_USAGE for count 0 with a generator; NVW_E_INPUT for a bad file, a name that
 * is neither a generator nor a file, or a file with fewer than count keys; NVW_E_MEMORY.
 */
NVW_CHECKED int keys_make(
	const struct keys_source *source, uint64_t count, uint64_t **ret_keys, uint64_t *ret_count);

/* The key of record number r: a bijection. */
static inline uint64_t keys_of_record(uint64_t r)
{
	return nvw_mix64(r + 0x9e3779b97f4a7c15u);
}

#endif
