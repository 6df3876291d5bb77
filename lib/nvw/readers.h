/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host threads that read a structure in NVRAM while an emulated kernel changes it.
 *
 * The kernel's stores are hidden from the host by caches and reach the medium in the order of the
 * write-backs. So readers do not search the structure itself. They use a volatile *index*, a hash table of
 * liburcu (cds_lfht), and follow it to the durable bytes. The emulation's thread updates the index when
 * operations are acknowledged, so recovery never undoes anything that the index contains.
 *
 *	emulation's thread			a reader
 *	acknowledged: publish			enter
 *	...					find, read the pool's bytes
 *	nvw_heap_provision(): grace period	leave
 *	blocks are used again
 *
 * Readers are wait-free: they wait neither for the emulation nor for each other. Data that they may be
 * accessing stays valid until the end of the next *grace period*, which ends when every reader has left the
 * section that it was in when the period began. This applies to the index's records and to blocks of NVRAM:
 * nvw_heap_provision() and nvw_heap_free_extent() wait for a grace period of nvw_pmem.readers before freed
 * memory is reused.
 *
 * A structure must guarantee its readers that
 *   (1) it publishes only data that is durable by its acknowledgement;
 *   (2) the bytes reached from a published record do not change before the grace period that follows its
 *       replacement, except by whole aligned 8-byte words, each durable independently;
 *   (3) the records of a key are replaced in the order of the key's changes.
 */
#ifndef NVW_READERS_H
#define NVW_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

struct nvw_findings;
struct nvw_machine;
struct nvw_readers;

enum { NVW_READERS_WORDS = 3 }; /* words per record, of the structure's choice */

/* ---- The index, on the emulation's thread ---------------------------------------------------- */

/* Creates an empty index for about keys keys. Only the calling thread may publish to it and destroy it. */
NVW_CHECKED int nvw_readers_create(uint64_t keys, struct nvw_readers **ret_readers);

/* All readers must have quit. NULL is allowed. */
void nvw_readers_destroy(struct nvw_readers *readers);

/* From now on nvw_reader_find() returns these words for key. A former record of the key stays valid until the
 * next grace period. On NVW_E_MEMORY nothing has changed. */
NVW_CHECKED int nvw_readers_publish(
	struct nvw_readers *readers, uint64_t key, const uint64_t words[NVW_READERS_WORDS]);

/* Replaces the sorted array that complements the hash table. Keys ascend; all pairs are copied. */
NVW_CHECKED int nvw_readers_publish_order(
	struct nvw_readers *readers, const uint64_t *keys, const uint64_t *values, uint64_t count);

/* Waits for a grace period and frees the records replaced before it. NULL (no readers) is allowed. Must not
 * be called within a section. */
void nvw_readers_wait(struct nvw_readers *readers);

struct nvw_readers_figures {
	uint64_t published, replaced, freed; /* records */
	uint64_t grace_periods, grace_ns;    /* real time that the emulation waited for readers */
};
struct nvw_readers_figures nvw_readers_figures(const struct nvw_readers *readers);

/* ---- Readers --------------------------------------------------------------------------------- */

/* A thread joins before its first section and quits after its last one. */
void nvw_reader_join(void);
void nvw_reader_quit(void);

/* A read-side section. Sections may nest and must be short: the emulation waits for them between kernels. */
void nvw_reader_enter(struct nvw_readers *readers);
void nvw_reader_leave(struct nvw_readers *readers);

/* In a section: the words of key's record, constant until the section ends; NULL if there is none. */
const uint64_t *nvw_reader_find(struct nvw_readers *readers, uint64_t key);

/* In a section: the value of the largest key of the sorted array that is not above key; false if there is
 * none. */
bool nvw_reader_floor(struct nvw_readers *readers, uint64_t key, uint64_t *ret_value);

/* ---- The hooks of a workload ----------------------------------------------------------------- */

/* A reader's result for a key. */
struct nvw_sighting {
	uint64_t number;  /* number of the key: 0 to keys() - 1 */
	uint64_t version; /* grows with every change of the key; never decreases from one read to the next */
	uint64_t state;   /* the key's content, in the structure's own terms */
	bool present;
};

/*
 * The hooks of a workload that supports host readers (nvw_workload.serving). lookup() and scan() run on
 * readers' threads within a section and read only the plan, the index and the pool's mapped bytes; the others
 * run on the emulation's thread.
 */
struct nvw_serving {
	/* The number of possible keys; they are numbered from 0. */
	int (*keys)(void *plan, uint64_t *ret_keys);

	/* Called after setup(): publishes the durable content, and sets nvw_pmem.readers for the kernels of
	 * run(). */
	int (*begin)(void *plan, struct nvw_machine *machine, struct nvw_readers *readers);

	/* Operations were acknowledged: publishes them. Must not launch, write or wait. */
	int (*acknowledged)(void *plan, uint64_t first, uint64_t count);

	/* Called after the last reader has quit. */
	void (*end)(void *plan);

	/* NVW_E_INCONSISTENT with a message if the durable bytes differ from what the index promised. */
	int (*lookup)(const void *plan, uint64_t number, struct nvw_sighting *ret_sighting);

	/* Returns up to limit keys from number on, in ascending order; absent keys may be left out. */
	int (*scan)(const void *plan, uint64_t number, unsigned limit, struct nvw_sighting *ret_sightings,
		unsigned *ret_count);

	/* On a recovered pool: did recovery undo something that a reader has seen? 0, or NVW_E_INCONSISTENT
	 * after an nvw_violation(). */
	int (*judge)(void *plan, struct nvw_pool *pool, const struct nvw_sighting *seen,
		struct nvw_findings *findings);
};

#endif
