/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persist log's file format, shared by writer and reader; docs/persist-log.md is its specification.
 *
 *	header | block | block | ... | trailer
 *
 * Guarantees
 *   (1) Every byte of the file is covered by a checksum: any change is detected.
 *   (2) A missing trailer is detected, and so are bytes after it.
 *   (3) Blocks decode independently of each other, except for the strings of the sites.
 *   (4) The same records give the same bytes.
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <nvw/persist_log.h>

enum {
	LOG_MAGIC_BYTES = 8,
	LOG_HEADER_FIXED_BYTES = 8 + 4 + 4 + 8 + 8 + 4, /* magic, version, length, seed, pool, atomicity */
	LOG_STRINGS = 6,
	LOG_STRING_MAX = 4095, /* longer strings are cut */
	LOG_HEADER_MAX = LOG_HEADER_FIXED_BYTES + LOG_STRINGS * (2 + LOG_STRING_MAX) + 8,
	LOG_BLOCK_HEADER_BYTES = 8 + 4 + 4 + 4 + 4 + 8, /* checksum, stored, raw, records, kind, time */
	LOG_RAW_MAX = 1 << 18,                          /* uncompressed bytes of a block */
	LOG_RECORD_MAX = 4 * 4200, /* bytes of the longest record: a site with three long strings */
};

/* \\r\
 *  and \\0 reveal a transfer that mangles binary files. */
#define LOG_MAGIC "NVWLOG\r\n"

enum log_block_kind {
	LOG_BLOCK_RECORDS = 0x4b4c4252 /* "RBLK" */,
	LOG_BLOCK_TRAILER = 0x4c494154 /* "TAIL" */
};

/* Checksum seed of block number i, so that a block at the wrong position is detected. */
static inline uint64_t log_block_seed(uint64_t i)
{
	return 0x6e7677616c6f6700u + i;
}

/*
 * A record starts with a tag byte: its kind in the low four bits, flags above. The time since the previous
 * record follows as a varint, unless LOG_SAME_TIME is set.
 */
enum {
	LOG_KIND_MASK = 0x0f,
	LOG_SAME_TIME = 0x10,
	/* ISSUE */
	LOG_WHOLE_WORDS = 0x20, /* the mask has one bit per word, in one byte */
	LOG_NEXT_WRITE = 0x40,  /* numbered one above the last ISSUE */
	/* FLUSH */
	LOG_ORDERED = 0x20,
	/* SITE */
	LOG_INTERRUPTED = 0x20,
	LOG_CALLED = 0x20,   /* its caller follows; info.callers */
	LOG_LAID_OUT = 0x40, /* its layout follows; info.layouts */
	/* THREADS */
	LOG_OF_RANGE = 0x20, /* it is a RANGE, for which the tag has no number; info.ranges */
	/* ACK */
	LOG_OF_THREAD = 0x20, /* site and thread follow; info.operations */
	/* STORE: a second byte follows the tag */
	LOG_SAME_SITE = 0x20,
	LOG_SAME_GROUP = 0x40, /* kernel and group */
	LOG_SAME_EPOCHS = 0x80,
	/* STORE, second byte: bytes - 1 in the low three bits */
	LOG_STORE_BYTES = 0x07,
	LOG_NEXT_ITEM = 0x08,   /* work-item one above that of the last store */
	LOG_SAME_STRIDE = 0x10, /* the offset's distance from the last store equals that store's distance
	                         * from the one before */
	LOG_OF_WIDER = 0x20,    /* its place in a wider store follows; info.layouts */
};

/*
 * Most records are plain fields, one after the other: these lists say which, for writer and reader alike.
 * What has flags, differences or data is in their code.
 */
struct log_field {
	enum log_field_type {
		LOG_END_OF_FIELDS,
		LOG_U32, /* a varint, as all numbers */
		LOG_U64,
		LOG_SITE,         /* of a site that has been logged */
		LOG_SITE_OR_NONE, /* likewise; 0: unknown */
		LOG_NAME          /* a string */
	} type;
	size_t at; /* in struct nvw_log_record */
};

/* By kind; and of an acknowledgement, by whom, and where in a kernel. */
enum { LOG_ACK_BY = NVW_LOG_KINDS, LOG_ACK_IN, LOG_FIELD_LISTS, LOG_FIELDS_MAX = 9 };
extern const struct log_field log_fields[LOG_FIELD_LISTS][LOG_FIELDS_MAX];

/* The values that differences refer to; except for the time, all zero at the start of a block. */
struct log_context {
	uint64_t time_ps;
	uint64_t store_off, store_stride;
	uint64_t work_item, group;
	uint32_t site, kernel;
	uint32_t epoch_wi, epoch_wg, epoch_kr;
	uint64_t issue_write, issue_off, done_write;
	uint64_t host_off, ack_next;
};

static inline void log_context_reset(struct log_context *c, uint64_t time_ps)
{
	memset(c, 0, sizeof *c);
	c->time_ps = time_ps;
}

static inline uint64_t log_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t log_unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

static inline void log_put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++) {
		p[i] = (uint8_t)(v >> 8 * i);
	}
}

static inline void log_put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++) {
		p[i] = (uint8_t)(v >> 8 * i);
	}
}

static inline uint32_t log_get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t log_get64(const uint8_t *p)
{
	return log_get32(p) | (uint64_t)log_get32(p + 4) << 32;
}

/* Expands a word mask (bit i: word i) to a byte mask, and tells whether the reverse is possible. */
static inline uint64_t log_words_to_bytes(uint8_t words)
{
	uint64_t mask = 0;

	for (int i = 0; i < 8; i++) {
		mask |= (words >> i & UINT64_C(1)) * 0xff << 8 * i;
	}
	return mask;
}

static inline bool log_bytes_to_words(uint64_t mask, uint8_t *ret_words)
{
	uint8_t words = 0;

	for (int i = 0; i < 8; i++) {
		words |= (uint8_t)((mask >> 8 * i & 1) << i);
	}
	*ret_words = words;
	return log_words_to_bytes(words) == mask;
}

#endif
