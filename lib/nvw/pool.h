/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: a file that is the emulated NVRAM, byte for byte.
 *
 * While a machine runs, the file changes only when the emulated NVRAM completes a write, so the file always
 * has the content that a power cut would leave. Recovery, checkers and tools access these durable bytes
 * through this header; it needs no emulator. For the visible state of a running program (with caches) see
 * nvw/host.h.
 *
 * References stored in a pool are offsets from its start (nvw_off), never addresses: a pool may be mapped at
 * another address next time. Offset 0 is the header; as a reference it means "none".
 *
 *	pool header | header copy | root words | epoch status table | undo log | chunk table | chunks ...
 *
 * A run can have several pools, each on its own NVRAM device of the machine and each a pool file: the first
 * at the named path, pool i at the path followed by ".i". Opening the first opens all; the others cannot be
 * opened alone. The pools of a run form one range of offsets: pool i begins at nvw_pool_begin(), where pool i
 * - 1 ends. The persist log, crash states and findings use these offsets, and a reference from one pool to
 * another should too.
 *
 * Caveats
 *   - Only one writer may have a pool open; a conflicting open is refused with NVW_E_BUSY.
 *   - Numbers are little-endian; a pool cannot be used on a big-endian host.
 *   - Not thread-safe: one thread uses a pool handle at a time. Other threads may read mapped bytes as
 *     nvw/readers.h says.
 */
#ifndef NVW_POOL_H
#define NVW_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvw/each.h>
#include <nvw/errors.h>

#define NVW_CHECKED __attribute__((warn_unused_result))

typedef uint64_t nvw_off; /* bytes from the start of the pool; 0 is "none" */

struct nvw_pool;

enum {
	NVW_POOL_ROOTS = 8,           /* root words per pool */
	NVW_POOL_LAYOUT_BYTES = 32,   /* with the terminating 0 */
	NVW_POOL_CHUNK_BYTES = 65536, /* the heap's unit; see nvw/heap.h */
	NVW_DEVICE_NAME_BYTES = 16,   /* name of a memory device, with the terminating 0 */
	NVW_POOLS_MAX = 6,            /* pools of a run */
};

/* Content of a new pool. A zero chooses the default in brackets. */
struct nvw_pool_params {
	uint64_t bytes;       /* file size, a multiple of 4096 [the smallest that fits the rest] */
	uint64_t heap_bytes;  /* the heap's least size, rounded up to chunks [1 chunk] */
	uint32_t streams;     /* epoch streams (nvw/epoch.h) [1] */
	uint32_t log_entries; /* undo log entries per stream [64] */
	char layout[NVW_POOL_LAYOUT_BYTES]; /* owner of the data: the workload's name */
	char device[NVW_DEVICE_NAME_BYTES]; /* the machine's device that holds the pool [nvram] */
	bool sparse; /* takes disk blocks as they are written; a full disk is a SIGBUS [no: reserves all] */
};

/* Geometry, as stored in the header; in bytes from the start of the pool. Constant. */
struct nvw_pool_geometry {
	uint64_t bytes;
	nvw_off roots;       /* NVW_POOL_ROOTS words of 8 bytes with values of the structure's choice */
	nvw_off est;         /* epoch status table: streams sealed words */
	nvw_off log;         /* undo log: streams * log_entries entries of 32 bytes */
	nvw_off chunk_table; /* chunks sealed words */
	nvw_off chunks;      /* the first chunk, 64 KiB aligned within the pool's data */
	uint32_t streams;
	uint32_t log_entries;
	uint32_t chunk_count;
	char layout[NVW_POOL_LAYOUT_BYTES];
};

/*
 * Creates a pool at path and opens it. -EEXIST if path exists, NVW_E_FULL if the disk has no room (no file is
 * left behind), NVW_E_USAGE for impossible parameters. The empty pool is durable when this returns. *ret_pool
 * is closed by nvw_pool_close().
 */
NVW_CHECKED int nvw_pool_create(
	const char *path, const struct nvw_pool_params *params, struct nvw_pool **ret_pool);

/* Creates the count pools of a run. A crash leaves all of them, or no first pool. */
NVW_CHECKED int nvw_pool_create_several(
	const char *path, const struct nvw_pool_params *params, unsigned count, struct nvw_pool **ret_first);

enum nvw_pool_mode {
	NVW_POOL_READ,    /* durable bytes, read-only; other readers may have the pool open too */
	NVW_POOL_WRITE,   /* for a machine or for recovery */
	NVW_POOL_PRIVATE, /* private: writes stay in this process (recover --dry-run) */
};

/*
 * Opens a pool. Its header must be intact (in every mode the copy replaces a damaged header, but only
 * recovery repairs it). On failure the file is untouched: -ENOENT, NVW_E_NOT_A_POOL, NVW_E_VERSION,
 * NVW_E_DAMAGED, NVW_E_BUSY.
 */
NVW_CHECKED int nvw_pool_open(const char *path, enum nvw_pool_mode mode, struct nvw_pool **ret_pool);

/*
 * A pool handle for an image in memory, as crash tests use it. It reads from image and passes every write of
 * nvw_pool_write() to write(), in order, in pieces that each lie within one 8-byte word. write() returns 0,
 * or an error that ends the caller's operation (a crash during recovery). The header in the image is checked
 * as by nvw_pool_open().
 */
struct nvw_pool_image {
	const void *image;
	uint64_t bytes;
	int (*write)(void *context, nvw_off off, const void *from, size_t n);
	void *context;
	/* Optional: records the words that are read: those returned by nvw_pool_at() and nvw_pool_word(), and
	 * all words once nvw_pool_base() has been called. */
	struct nvw_pool_reads {
		uint64_t *words; /* one bit per 8-byte word of the image, bit i of element i / 64 */
		/* The non-zero elements of words, in order of first access, and for each element its rank in
		 * that order. Both have room for all elements. */
		uint32_t *order, *rank;
		uint32_t count;
	} * reads;
	/* Optional, for an image that is made word by word: called before n bytes at off are read, to make
	 * them. Other bytes are not read. ask() makes only of(from, word) for the aligned word
	 * at off. */
	void (*fetch)(void *context, nvw_off off, uint64_t n);
	uint64_t (*ask)(void *context, nvw_off off, uint64_t (*of)(const void *from, uint64_t word),
		const void *from);
	unsigned (*holders)(void *context, uint64_t key, nvw_off *ret_offs, unsigned max);
	bool recovered; /* no block word names an epoch that did not complete */
};
NVW_CHECKED int nvw_pool_open_image(const struct nvw_pool_image *image, struct nvw_pool **ret_pool);

/* Makes all writes durable, unmaps, unlocks and frees the pool; with the first pool of a run the others too.
 * NULL is allowed. */
void nvw_pool_close(struct nvw_pool *pool);

/* Number of pools in the run of this first pool. */
unsigned nvw_pool_count(const struct nvw_pool *first);
/* Pool i of the run, where 0 is the first; NULL past the last. It is closed with the first. */
struct nvw_pool *nvw_pool_number(const struct nvw_pool *first, unsigned i);
/* The begin of the pool in its run's range of offsets (0 for the first), and the size of that range in
 * bytes. */
nvw_off nvw_pool_begin(const struct nvw_pool *pool);
uint64_t nvw_pool_run_bytes(const struct nvw_pool *first);
/* The name of the device that holds the pool, "" for nvram. */
const char *nvw_pool_device(const struct nvw_pool *pool);
/* Copies the durable bytes of the run's range. */
void nvw_pool_copy_run(const struct nvw_pool *first, void *to);

const struct nvw_pool_geometry *nvw_pool_geometry(const struct nvw_pool *pool);
const char *nvw_pool_path(const struct nvw_pool *pool); /* "(image)" for an image */

/* The mapped durable bytes. Only the emulated NVRAM (emu/) may write to them; other code uses
 * nvw_pool_write(). */
const void *nvw_pool_base(const struct nvw_pool *pool);
void *nvw_pool_medium(struct nvw_pool *pool); /* NULL unless opened with NVW_POOL_WRITE */

/* n durable bytes at off, or NULL if any of them lies outside the pool. */
const void *nvw_pool_at(const struct nvw_pool *pool, nvw_off off, uint64_t n);

/* The aligned 8-byte word at off; 0 if it lies outside the pool. */
uint64_t nvw_pool_word(const struct nvw_pool *pool, nvw_off off);

/*
 * of(from, word) of the aligned word at off. Unlike nvw_pool_word() this looks at no more of the word than
 * of() tells, which keeps a part of a check narrow (nvw_parts in nvw/workload.h): "does this slot belong to
 * another key?"
 */
uint64_t nvw_pool_ask(const struct nvw_pool *pool, nvw_off off,
	uint64_t (*of)(const void *from, uint64_t word), const void *from);

/*
 * For parts of a check: the words that have this key (nvw_parts) in at least one of their versions, in
 * ascending order, at most max. Returns how many there are. Each must still be read. On any other pool 0.
 */
unsigned nvw_pool_holders(const struct nvw_pool *pool, uint64_t key, nvw_off *ret_offs, unsigned max);

/*
 * Writes n bytes at off; the file has them when this returns (but see nvw_pool_sync()). A crash leaves each
 * aligned 8-byte word either old or new, and words change in ascending order of address. NVW_E_DAMAGED if the
 * range is outside the pool (an offset on the medium was wrong), or the error of an image's write().
 */
NVW_CHECKED int nvw_pool_write(struct nvw_pool *pool, nvw_off off, const void *from, uint64_t n);
NVW_CHECKED int nvw_pool_write_word(struct nvw_pool *pool, nvw_off off, uint64_t value);

/* When this returns, all writes survive a power cut of the host (on persistent memory they always do;
 * elsewhere this is an msync). Killing the process never loses a write. The first pool of a run stands for
 * all. */
NVW_CHECKED int nvw_pool_sync(struct nvw_pool *pool);

/* Words written by nvw_pool_write() since the pool was opened. */
uint64_t nvw_pool_words_written(const struct nvw_pool *pool);

/* Root word i (0 to NVW_POOL_ROOTS - 1): a structure's entry points, 8 bytes each. */
static inline nvw_off nvw_pool_root_off(const struct nvw_pool_geometry *g, unsigned i)
{
	return g->roots + 8 * (uint64_t)i;
}

/* ---- Sealed words --------------------------------------------------------------------------------
 *
 * Metadata that changes during a run is stored in words of 8 bytes, each atomic on the medium and each with
 * its own checksum: 48 bits of payload below 16 bits of CRC over the payload and the word's offset. Any
 * change of one byte is detected, and so is a word from another offset. The all-zero word is valid and means
 * "never written". */
#define NVW_SEAL_PAYLOAD_BITS 48
uint64_t nvw_seal(nvw_off off, uint64_t payload);
/* Returns true and the payload if word is zero or sealed for off. */
bool nvw_unseal(nvw_off off, uint64_t word, uint64_t *ret_payload);

#endif
