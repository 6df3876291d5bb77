/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host threads that read a structure in NVRAM while an emulated kernel changes it.
 *
 * The kernel's caches hide what it has stored from the host, and the medium shows it in whatever order the
 * write-backs come. So readers do not search the structure itself: they have a volatile *index*, a hash table of
 * liburcu (cds_lfht), which the emulation's thread brings up to date when operations are acknowledged, and follow it
 * to the durable bytes. What the index says can never be taken back by recovery.
 *
 *	emulation's thread			a reader
 *	acknowledged: publish			enter
 *	...					find, read the pool's bytes
 *	nvw_heap_provision(): grace period	leave
 *	blocks are used again
 *
 * Readers are wait-free: they never wait for the emulation nor for each other. What they may be looking at lives
 * until the next *grace period*, which ends when every reader has left the section that it was in when the period began.
 * That goes for the index's records, and for blocks of NVRAM: nvw_heap_provision() and nvw_heap_free_extent() wait for a
 * grace period of nvw_pmem.readers before anything that was freed is used again.
 *
 * What a structure owes its readers
 *   (1) it publishes only what its acknowledgement makes durable;
 *   (2) bytes that a published record leads to do not change before the grace period that follows its
 *       replacement, except by whole aligned 8-byte words that are each durable by itself;
 *   (3) records of a key are replaced in the order of the key's changes.
 */
#ifndef NVW_READERS_H
#define NVW_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

struct nvw_findings;
struct nvw_machine;
struct nvw_readers;

enum { NVW_READERS_WORDS = 3 }; /* of a record: the structure's choice */

/* ---- The index, on the emulation's thread ----------------------------------------------------------- */

/* An empty index for about so many keys. The calling thread becomes the one that publishes and destroys it. */
NVW_CHECKED int nvw_readers_create(uint64_t keys, struct nvw_readers **ret_readers);

/* Every reader has quit. NULL is fine. */
void nvw_readers_destroy(struct nvw_readers *readers);

/* From now on find() returns these words for key: new, or instead of its former record, which lives until the next
 * grace period. NVW_E_MEMORY; then nothing has changed. */
NVW_CHECKED int nvw_readers_publish(
	struct nvw_readers *readers, uint64_t key, const uint64_t words[NVW_READERS_WORDS]);

/* A sorted array beside the hash table, replaced as a whole: keys ascend, all is copied. */
NVW_CHECKED int nvw_readers_publish_order(
	struct nvw_readers *readers, const uint64_t *keys, const uint64_t *values, uint64_t count);

/* Waits for a grace period and frees the records that were replaced before it. NULL is fine: nobody reads. Not from
 * within a section. */
void nvw_readers_wait(struct nvw_readers *readers);

struct nvw_readers_figures {
	uint64_t published, replaced, freed; /* records */
	uint64_t grace_periods, grace_ns;    /* real time that the emulation has waited for readers */
};
struct nvw_readers_figures nvw_readers_figures(const struct nvw_readers *readers);

/* ---- Readers ------------------------------------------------------------------------------------------ */

/* A thread joins before its first section and quits after its last one. */
void nvw_reader_join(void);
void nvw_reader_quit(void);

/* A read-side section; they may nest, and are short: the emulation waits for them between kernels. */
void nvw_reader_enter(struct nvw_readers *readers);
void nvw_reader_leave(struct nvw_readers *readers);

/* In a section: the words of key's record, constant until the section ends; NULL if there is none. */
const uint64_t *nvw_reader_find(struct nvw_readers *readers, uint64_t key);

/* In a section: the value of the largest key of the sorted array that is not above key; false if there is none. */
bool nvw_reader_floor(struct nvw_readers *readers, uint64_t key, uint64_t *ret_value);

/* ---- What a workload serves --------------------------------------------------------------------------- */

/* What a reader found of a key. */
struct nvw_sighting {
	uint64_t number;  /* which key: 0 to keys() - 1 */
	uint64_t version; /* grows with every change of the key; never falls for who looks again */
	uint64_t state;   /* what the key held, in the structure's own terms */
	bool present;
};

/*
 * The hooks of a workload that serves host readers (nvw_workload.serving). lookup() and scan() run on readers' threads
 * within a section and read only the plan, the index and the pool's mapped bytes; the others on the emulation's thread.
 */
struct nvw_serving {
	/* Keys that may come up, numbered from 0. */
	int (*keys)(void *plan, uint64_t *ret_keys);

	/* After setup(): publishes what is durable, and sets nvw_pmem.readers in what run() uses. */
	int (*begin)(void *plan, struct nvw_machine *machine, struct nvw_readers *readers);

	/* Operations have been acknowledged: publishes them. Must not launch, write or wait. */
	int (*acknowledged)(void *plan, uint64_t first, uint64_t count);

	/* No reader is left. */
	void (*end)(void *plan);

	/* NVW_E_INCONSISTENT with a message if the durable bytes are not what the index promised. */
	int (*lookup)(const void *plan, uint64_t number, struct nvw_sighting *ret_sighting);

	/* Up to limit keys from number on, ascending; those that are absent may be left out. */
	int (*scan)(const void *plan, uint64_t number, unsigned limit, struct nvw_sighting *ret_sightings,
		unsigned *ret_count);

	/* On a recovered pool: did recovery take back what a reader has seen? 0, or NVW_E_INCONSISTENT after an
	 * nvw_violation(). */
	int (*judge)(void *plan, struct nvw_pool *pool, const struct nvw_sighting *seen,
		struct nvw_findings *findings);
};

#endif
