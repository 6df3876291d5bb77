/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key sources: which keys a workload uses, as --keys=SOURCE says.
 *
 *	uniform      every record with the same chance; without records, any 64-bit number
 *	sequential   0, 1, 2, ...
 *	zipfian      few records get most requests: YCSB's scrambled zipfian, theta 0.99
 *	FILE         the keys of a file, in its order (keyfile.h)
 *
 * Of the generated sources all but "sequential" give record r the key keys_of_record(r): keys are
 * scattered over the 64-bit range and distinct for distinct records. Same source, seed and count: the same
 * keys, everywhere. 0 is a key like any other.
 */
#ifndef WORKLOADS_COMMON_KEYS_H
#define WORKLOADS_COMMON_KEYS_H

#include <nvw/pool.h>
#include <nvw/random.h>

/* For the options table of a workload. */
#define KEYS_HELP        "uniform, sequential, zipfian, or a file of keys (text or big-endian, gzip and xz too)"
#define KEYS_COLUMN_HELP "column of a text key file that holds the key, from 1 [lines hold only the key]"

struct keys_source {
	const char *source; /* as above */
	uint64_t seed;
	uint64_t records; /* how many distinct records requests fall on; 0: uniform takes any number, */
			  /* zipfian as many records as keys are asked for */
	unsigned column;  /* of a text file with more than the key in a line, 0 if there is none */
};

/* True if the source is a file: then count 0 means "all of it". */
bool keys_is_file(const char *source);

/*
 * count keys from the source; *ret_keys is the caller's to free(). *ret_count is count, or the number of
 * keys in the file if count was 0. NVW_E_USAGE for count 0 with a generator; NVW_E_INPUT for
 * a bad file, a name that is neither a generator nor a file, or a file with fewer keys than count;
 * NVW_E_MEMORY.
 */
NVW_CHECKED int keys_make(
	const struct keys_source *source, uint64_t count, uint64_t **ret_keys, uint64_t *ret_count);

/* The key of record number r: a bijection. */
static inline uint64_t keys_of_record(uint64_t r)
{
	return nvw_mix64(r + 0x9e3779b97f4a7c15u);
}

#endif
