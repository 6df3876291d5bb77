/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of the hash table in the pool. docs/kv.md explains why it is correct.
 *
 *	root word 0:  offset of the slots | log2 of their number (low 6 bits); 0: no table yet
 *	slots:        one extent of 8-byte words, open addressing, linear probing from the key's home
 *	entry:        one heap block: key, header, value
 *
 *	slot word     63        48 47                     6 5      1   0
 *	              fingerprint | offset of the entry    | zero  | deleted
 *
 *	0             empty: ends every probe
 *	1             filler: deleted without an entry; only recovery writes it, into a hole of a probe path
 *	else          the slot of one key, until the table is rebuilt; "deleted" set: the key is absent
 *
 *	entry header  63                       16 15        0
 *	              check over key and value   | value bytes
 *
 * Guarantees, for every recovered state
 *   (1) whole: the entry of a slot is an allocated block, and its header checks its key and value;
 *   (2) one slot per key: no two slots have entries of the same key;
 *   (3) reachable: no empty slot lies between a key's home and its slot;
 *   (4) fingerprint: a slot's fingerprint is that of its entry's key;
 *   (5) no leak: every allocated block is the entry of a slot, the one extent is the table;
 *   (6) durable: an acknowledged put or delete holds, unless it was replaced by a put or delete of the same
 *       key that is not known to precede it; others hold completely or not at all.
 */
#ifndef WORKLOADS_KV_LAYOUT_H
#define WORKLOADS_KV_LAYOUT_H

#include <assert.h>

#include <nvw/pool.h>
#include <nvw/random.h>

enum {
	KV_ROOT = 0, /* which root word */
	KV_ENTRY_HEAD_BYTES = 16,
	KV_VALUE_MAX = 4096,
	KV_LOG2_SLOTS_MIN = 4,
	KV_LOG2_SLOTS_MAX = 40,
};

#define KV_DELETED   UINT64_C(1)
#define KV_FILLER    UINT64_C(1)
#define KV_OFF_MASK  UINT64_C(0x0000ffffffffffc0)
#define KV_LOG2_MASK UINT64_C(0x3f)

_Static_assert(KV_LOG2_SLOTS_MAX <= KV_LOG2_MASK, "the size of a table fits its root word");

struct kv_table {
	nvw_off slots;
	unsigned log2_slots;
};

static inline uint64_t kv_root_word(struct kv_table t)
{
	assert((t.slots & KV_LOG2_MASK) == 0);
	return t.slots | t.log2_slots;
}

static inline struct kv_table kv_root_table(uint64_t word)
{
	return (struct kv_table){word & ~KV_LOG2_MASK, (unsigned)(word & KV_LOG2_MASK)};
}

static inline uint64_t kv_slot_count(struct kv_table t)
{
	return UINT64_C(1) << t.log2_slots;
}

static inline uint64_t kv_hash(uint64_t key)
{
	return nvw_mix64(key ^ 0x6a09e667f3bcc909u);
}

/* The low bits of the hash give the home slot, the high bits are the fingerprint. */
static inline uint64_t kv_home(struct kv_table t, uint64_t hash)
{
	return hash & (kv_slot_count(t) - 1);
}

static inline uint64_t kv_next_slot(struct kv_table t, uint64_t i)
{
	return (i + 1) & (kv_slot_count(t) - 1);
}

static inline uint64_t kv_slot_word(uint64_t hash, nvw_off entry)
{
	assert((entry & ~KV_OFF_MASK) == 0);
	return (hash & ~UINT64_C(0xffffffffffff)) | entry;
}

static inline nvw_off kv_slot_entry(uint64_t word)
{
	return word & KV_OFF_MASK;
}

static inline bool kv_slot_has_fingerprint(uint64_t word, uint64_t hash)
{
	return (word ^ hash) >> 48 == 0;
}

/* ---- Entries -------------------------------------------------------------------------------------- */

static inline uint64_t kv_value_words(uint64_t value_bytes)
{
	return (value_bytes + 7) / 8;
}

static inline uint64_t kv_entry_bytes(uint64_t value_bytes)
{
	return KV_ENTRY_HEAD_BYTES + 8 * kv_value_words(value_bytes);
}

static inline uint64_t kv_header_value_bytes(uint64_t header)
{
	return header & 0xffff;
}

/* The checksum of a header is computed over all words in order: begin, add each, end. */
static inline uint64_t kv_check_begin(uint64_t key, uint64_t value_bytes)
{
	return nvw_mix64(key ^ (value_bytes * 0x9e3779b97f4a7c15u));
}

static inline uint64_t kv_check_add(uint64_t check, uint64_t word)
{
	check = (check ^ word) * 0xff51afd7ed558ccdu;
	return check ^ (check >> 32);
}

static inline uint64_t kv_check_end(uint64_t check, uint64_t value_bytes)
{
	return (nvw_mix64(check) << 16) | value_bytes;
}

/*
 * Values of this workload: every word is a function of (seed, key, number of the operation, position), so
 * that words of another value or position are recognised. The last word is padded with zeroes.
 */
static inline uint64_t kv_value_base(uint64_t seed, uint64_t key, uint64_t op)
{
	return nvw_mix64(key ^ nvw_mix64(seed + (op + 1) * 0x9e3779b97f4a7c15u));
}

static inline uint64_t kv_value_word(uint64_t base, uint64_t i, uint64_t value_bytes)
{
	const uint64_t word = nvw_mix64(base + i * 0x9e3779b97f4a7c15u);
	const uint64_t left = value_bytes - 8 * i;

	return left >= 8 ? word : word & ((UINT64_C(1) << (8 * left)) - 1);
}

static inline uint64_t kv_value_header(uint64_t base, uint64_t key, uint64_t value_bytes)
{
	uint64_t check = kv_check_begin(key, value_bytes);

	assert(value_bytes <= KV_VALUE_MAX);
	NVW_FOR(i, kv_value_words(value_bytes)) {
		check = kv_check_add(check, kv_value_word(base, i, value_bytes));
	}
	return kv_check_end(check, value_bytes);
}

#endif
