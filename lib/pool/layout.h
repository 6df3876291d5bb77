/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a pool: every structure, every offset, every bit field. docs/pool-format.md describes the same
 * in prose. Shared by the pool, the kernel-side heap and log, and recovery; not a public header.
 *
 * Guarantees of the layout
 *	(1) After creation only aligned 8-byte words change, each atomically by one store.
 *	(2) Each such word of metadata is sealed (nvw/pool.h): any single changed byte is detected.
 *	(3) Each word of an undo log entry carries the whole epoch number, so words of different epochs are
 *	    never taken for one entry, however rarely a slot of the log is used.
 */
#ifndef NVW_POOL_LAYOUT_H
#define NVW_POOL_LAYOUT_H

#include <nvw/heap.h>
#include <nvw/pool.h>

#include "core/invariant.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pools are little-endian");

/* ---- Header ---------------------------------------------------------------------------------- */

#define NVW__MAGIC "nvwpool\n"

enum {
	NVW__VERSION = 1,
	NVW__PAGE_BYTES = 4096,
	NVW__HEADER_OFF = 0,
	NVW__COPY_OFF = NVW__PAGE_BYTES,
	NVW__ROOTS_OFF = 2 * NVW__PAGE_BYTES,
	NVW__LINE_BYTES = 64, /* roots, EST, log and chunk table each begin on a line */
};

/* Stored at NVW__HEADER_OFF and again at NVW__COPY_OFF. The rest of both pages is zero. */
struct nvw__header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct nvw__header) */
	uint8_t uuid[16];
	uint64_t bytes;
	uint64_t roots;
	uint64_t est;
	uint64_t log;
	uint64_t chunk_table;
	uint64_t chunks;
	uint32_t streams;
	uint32_t log_entries;
	uint32_t chunk_count;
	uint32_t chunk_bytes;
	char layout[NVW_POOL_LAYOUT_BYTES];
	char device[NVW_DEVICE_NAME_BYTES]; /* zero-terminated; "": nvram */
	uint8_t run[16];                    /* the same in all pools of a run; 0 in a single pool */
	uint32_t number, count;             /* its number among the run's pools, and their count; else 0 */
	uint8_t zero[80];
	uint64_t checksum; /* XXH64, seed 0, of everything above */
};
_Static_assert(sizeof(struct nvw__header) == 256, "header");
_Static_assert(offsetof(struct nvw__header, version) == 8, "header");
_Static_assert(offsetof(struct nvw__header, uuid) == 16, "header");
_Static_assert(offsetof(struct nvw__header, bytes) == 32, "header");
_Static_assert(offsetof(struct nvw__header, streams) == 80, "header");
_Static_assert(offsetof(struct nvw__header, layout) == 96, "header");
_Static_assert(offsetof(struct nvw__header, device) == 128, "header");
_Static_assert(offsetof(struct nvw__header, count) == 164, "header");
_Static_assert(offsetof(struct nvw__header, checksum) == 248, "header");

/* ---- Limits: the widths of the bit fields below ---------------------------------------------- */

#define NVW__EPOCH_BITS       24
#define NVW__ENTRY_EPOCH_BITS 23
#define NVW__STREAM_BITS      22
#define NVW__EPOCH_MAX        ((UINT64_C(1) << NVW__ENTRY_EPOCH_BITS) - 1) /* the last epoch of a stream */
#define NVW__STREAMS_MAX      (UINT32_C(1) << NVW__STREAM_BITS)
#define NVW__POOL_BYTES_MAX   (UINT64_C(1) << 37) /* a log entry holds the number of a word in 34 bits */
#define NVW__LOG_ENTRIES_MAX  (UINT32_C(1) << 20)

static inline uint64_t nvw__field(uint64_t payload, unsigned low, unsigned bits)
{
	NVW_DEEP_INVARIANT(low + bits <= NVW_SEAL_PAYLOAD_BITS);
	return payload >> low & ((UINT64_C(1) << bits) - 1);
}

/* ---- Epoch status table: payload = state << 24 | epoch --------------------------------------- */

enum nvw__est_state { NVW__EST_NEVER, NVW__EST_COMPLETED, NVW__EST_ROLLED_BACK, NVW__EST_STATES };

static inline nvw_off nvw__est_off(const struct nvw_pool_geometry *g, uint32_t stream)
{
	return g->est + 8 * (uint64_t)stream;
}

static inline uint64_t nvw__est_payload(enum nvw__est_state state, uint64_t epoch)
{
	NVW_DEEP_INVARIANT(epoch >> NVW__EPOCH_BITS == 0);
	return (uint64_t)state << NVW__EPOCH_BITS | epoch;
}

static inline uint64_t nvw__est_epoch(uint64_t payload)
{
	return nvw__field(payload, 0, NVW__EPOCH_BITS);
}

static inline uint64_t nvw__est_state(uint64_t payload)
{
	return payload >> NVW__EPOCH_BITS;
}

/* ---- Undo log entry: four sealed words, payload = high << 47 | epoch << 24 | a quarter of (offset / 8, old
 * value) */

enum { NVW__ENTRY_WORDS = 4, NVW__ENTRY_BYTES = 32 };

struct nvw__undo {
	nvw_off off;
	uint64_t value;
};

static inline nvw_off nvw__entry_off(const struct nvw_pool_geometry *g, uint32_t stream, uint32_t entry)
{
	return g->log + NVW__ENTRY_BYTES * ((uint64_t)stream * g->log_entries + entry);
}

/*
 * The payload of word i of an entry. The quarters are 32 bits of the word's number, then the value. The
 * first two words have two more bits of the number above the epoch.
 */
static inline uint64_t nvw__entry_payload(const struct nvw__undo *u, uint64_t epoch, unsigned i)
{
	const uint64_t number = u->off >> 3;
	const uint64_t quarter[NVW__ENTRY_WORDS] = {
		(number & 0xffffff) | (number >> 32 & 1) << 47,
		(number >> 24 & 0xff) | (number >> 33) << 47 | (u->value & 0xffff) << 8,
		u->value >> 16 & 0xffffff,
		u->value >> 40,
	};

	NVW_DEEP_INVARIANT(epoch <= NVW__EPOCH_MAX && i < NVW__ENTRY_WORDS);
	return epoch << 24 | quarter[i];
}

static inline struct nvw__undo nvw__entry_undo(const uint64_t payload[NVW__ENTRY_WORDS])
{
	return (struct nvw__undo){
		.off = ((payload[0] & 0xffffff) | (payload[1] & 0xff) << 24 | (payload[0] >> 47 & 1) << 32 |
			       (payload[1] >> 47 & 1) << 33)
		       << 3,
		.value = (payload[1] >> 8 & 0xffff) | (payload[2] & 0xffffff) << 16 |
			 (payload[3] & 0xffffff) << 40,
	};
}

/* The epoch of an entry's word, sealed or bare: the CRC lies above it. */
static inline uint64_t nvw__entry_epoch(uint64_t word)
{
	return nvw__field(word, 24, NVW__ENTRY_EPOCH_BITS);
}

/* ---- Chunk table: payload = value << 4 | kind ------------------------------------------------ */

enum nvw__chunk_kind {
	NVW__CHUNK_FREE,   /* value 0; also all chunks of an extent but the first */
	NVW__CHUNK_CLASS,  /* value: the size class */
	NVW__CHUNK_EXTENT, /* first chunk of an extent; value: the number of chunks */
	NVW__CHUNK_KINDS
};

static inline nvw_off nvw__chunk_word_off(const struct nvw_pool_geometry *g, uint64_t chunk)
{
	NVW_DEEP_INVARIANT(chunk <= g->chunk_count);
	return g->chunk_table + 8 * chunk;
}

static inline nvw_off nvw__chunk_off(const struct nvw_pool_geometry *g, uint64_t chunk)
{
	return g->chunks + chunk * NVW_POOL_CHUNK_BYTES;
}

static inline uint64_t nvw__chunk_payload(enum nvw__chunk_kind kind, uint64_t value)
{
	return value << 4 | kind;
}

static inline uint64_t nvw__chunk_kind(uint64_t payload)
{
	return payload & 15;
}

static inline uint64_t nvw__chunk_value(uint64_t payload)
{
	return payload >> 4;
}

/* ---- A class chunk: block words, padded to a line, then the blocks --------------------------- */

static inline uint32_t nvw__class_block_bytes(unsigned class)
{
	NVW_DEEP_INVARIANT(class < NVW_HEAP_CLASSES);
	/* Fifteen blocks of the largest class fit into a chunk with room for a header in each. */
	if (class == NVW_HEAP_CLASSES - 1) {
		return NVW_HEAP_BLOCK_MAX;
	}
	return (uint32_t)NVW_HEAP_BLOCK_MIN << class;
}

/* Smallest class whose blocks hold bytes; NVW_HEAP_CLASSES if none does. */
static inline unsigned nvw__class_of(uint64_t bytes)
{
	unsigned class = 0;

	while (class < NVW_HEAP_CLASSES && nvw__class_block_bytes(class) < bytes) {
		class ++;
	}
	return class;
}

/* Blocks per chunk, for each class: the largest number whose padded words and blocks fit. */
static const uint16_t nvw__class_blocks[NVW_HEAP_CLASSES] = {910, 481, 248, 126, 63, 31, 15};

static inline uint32_t nvw__class_table_bytes(unsigned class)
{
	return (nvw__class_blocks[class] * 8u + NVW__LINE_BYTES - 1) & ~(NVW__LINE_BYTES - 1u);
}

/* Block word: payload = kind << 46 | stream << 24 | epoch. */
enum nvw__block_kind {
	NVW__BLOCK_FREE,         /* stream and epoch 0 */
	NVW__BLOCK_ALLOCATED,    /* stream and epoch 0 */
	NVW__BLOCK_ALLOCATED_BY, /* allocated if the stream's epoch completed, otherwise free */
	NVW__BLOCK_FREED_BY,     /* free if the stream's epoch completed, otherwise allocated */
	NVW__BLOCK_KINDS
};
_Static_assert(2 + NVW__STREAM_BITS + NVW__EPOCH_BITS == NVW_SEAL_PAYLOAD_BITS, "block word");

static inline uint64_t nvw__block_payload(enum nvw__block_kind kind, uint32_t stream, uint64_t epoch)
{
	return (uint64_t)kind << (NVW__STREAM_BITS + NVW__EPOCH_BITS) | (uint64_t)stream << NVW__EPOCH_BITS |
	       epoch;
}

static inline enum nvw__block_kind nvw__block_kind(uint64_t payload)
{
	return (enum nvw__block_kind)nvw__field(payload, NVW__STREAM_BITS + NVW__EPOCH_BITS, 2);
}

static inline uint32_t nvw__block_stream(uint64_t payload)
{
	return (uint32_t)nvw__field(payload, NVW__EPOCH_BITS, NVW__STREAM_BITS);
}

static inline uint64_t nvw__block_epoch(uint64_t payload)
{
	return nvw__field(payload, 0, NVW__EPOCH_BITS);
}

/* Outcome of an epoch according to its stream's EST payload. */
enum nvw__outcome { NVW__COMPLETED, NVW__ROLLED_BACK, NVW__OPEN, NVW__IMPOSSIBLE };

static inline enum nvw__outcome nvw__outcome_of(uint64_t est_payload, uint64_t epoch)
{
	const uint64_t settled = nvw__est_epoch(est_payload);

	if (epoch == settled && nvw__est_state(est_payload) == NVW__EST_ROLLED_BACK) {
		return NVW__ROLLED_BACK;
	}
	if (epoch <= settled) {
		/* All blocks of a rolled back epoch are rewritten before the stream's next epoch can
		 * begin. */
		return NVW__COMPLETED;
	}
	if (epoch == settled + 1) {
		return NVW__OPEN;
	}
	return NVW__IMPOSSIBLE;
}

/* Where block i of a class chunk and its word are. */
static inline nvw_off nvw__block_word_off(nvw_off chunk, uint32_t i)
{
	return chunk + 8 * (uint64_t)i;
}

static inline nvw_off nvw__block_off(nvw_off chunk, unsigned class, uint32_t i)
{
	return chunk + nvw__class_table_bytes(class) + (uint64_t)i * nvw__class_block_bytes(class);
}

/* The place of a block in its chunk: false if off is not the start of a block of this class. */
static inline bool nvw__block_locate(const struct nvw_pool_geometry *g, nvw_off off, unsigned class,
	uint64_t *ret_chunk, uint32_t *ret_block)
{
	const uint64_t chunk = (off - g->chunks) / NVW_POOL_CHUNK_BYTES;
	const uint64_t in_chunk = (off - g->chunks) % NVW_POOL_CHUNK_BYTES;
	const uint64_t in_blocks = in_chunk - nvw__class_table_bytes(class);
	const uint64_t block = in_blocks / nvw__class_block_bytes(class);

	if (off < g->chunks || chunk >= g->chunk_count || in_chunk < nvw__class_table_bytes(class) ||
		block >= nvw__class_blocks[class] || in_blocks % nvw__class_block_bytes(class) != 0) {
		return false;
	}
	*ret_chunk = chunk;
	*ret_block = (uint32_t)block;
	return true;
}

#endif
