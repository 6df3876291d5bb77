/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kv for host readers: their index leads from a key to its entry, which is immutable until its block is
 * reused.
 *
 * A kernel's work-item records every change of a slot (old word, new word) in host memory. When the operation
 * is acknowledged, that change or a later one is durable: the changes of a key are atomics on one word, and
 * persist in the order in which they became visible. So the last change is read from the medium. If the
 * medium still has the old word, it lags behind the acknowledgement; then the acknowledgement is believed, so
 * that readers see operations that a kernel acknowledges too early.
 *
 * A deleted key keeps its record, as it keeps its slot, so that its versions continue.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "owed.h"
#include "view.h"

/* The words of a record. */
enum { ENTRY, STATE, VERSION }; /* entry 0: deleted */

/* The state of a deleted key identifies the delete; a value's header never ends in 0. */
static uint64_t state_of_delete(uint64_t op)
{
	assert(op < UINT64_C(1) << 48);
	return (op + 1) << 16;
}

static bool is_value(uint64_t state)
{
	return (state & 0xffff) != 0;
}

static const uint64_t *words_at(const struct kv_plan *p, nvw_off off)
{
	return (const uint64_t *)(const void *)(p->medium + off);
}

/* ---- The emulation's thread ------------------------------------------------------------------------- */

static int serve_keys(void *plan, uint64_t *ret_keys)
{
	*ret_keys = ((const struct kv_plan *)plan)->key_count;
	return 0;
}

/* Publishes that the key's slot durably has this word, as changed by op. */
static int publish_slot(struct kv_plan *p, uint64_t key, uint64_t word, uint64_t op)
{
	const nvw_off entry = (word & KV_DELETED) != 0 ? 0 : kv_slot_entry(word);
	static const uint64_t never[NVW_READERS_WORDS];
	const uint64_t *now;

	assert(op < p->preload + p->count);
	/* Only this thread replaces records, so the record outlives the section. */
	nvw_reader_enter(p->readers);
	now = nvw_reader_find(p->readers, key);
	nvw_reader_leave(p->readers);
	if (!now) {
		now = never;
	}
	if (now[ENTRY] == entry) {
		return 0;
	}

	const uint64_t words[NVW_READERS_WORDS] = {
		[ENTRY] = entry,
		[STATE] = entry == 0 ? state_of_delete(op) : words_at(p, entry)[1],
		[VERSION] = now[VERSION] + 1,
	};

	return nvw_readers_publish(p->readers, key, words);
}

static int publish_preload(struct kv_plan *p, struct nvw_pool *pool)
{
	struct kv_view v;

	NVW_TRY(kv_view_open(pool, &v));
	for (uint64_t i = 0; v.words && i < kv_slot_count(v.table); i++) {
		const nvw_off entry = kv_slot_entry(v.words[i]);

		if (entry != 0 && (v.words[i] & KV_DELETED) == 0) {
			NVW_TRY(publish_slot(p, words_at(p, entry)[0], v.words[i], 0));
		}
	}
	return 0;
}

static int serve_begin(void *plan, struct nvw_machine *machine, struct nvw_readers *readers)
{
	struct kv_plan *const p = plan;
	struct nvw_pool *const pool = nvw_machine_pool(machine);

	assert(!p->notes);
	p->notes = calloc(p->preload + p->count + 1, sizeof(*p->notes));
	NVW_ALLOCATED(p->notes, "kv: no memory to serve host readers");
	p->readers = readers;
	p->medium = nvw_pool_base(pool);
	return publish_preload(p, pool);
}

static void serve_end(void *plan)
{
	struct kv_plan *const p = plan;

	free(p->notes);
	p->notes = NULL;
	p->readers = NULL;
}

static int serve_acknowledged(void *plan, uint64_t first, uint64_t count)
{
	struct kv_plan *const p = plan;

	assert(first + count <= p->preload + p->count);
	for (uint64_t op = first; op < first + count; op++) {
		const struct kv_note *const note = &p->notes[op];
		uint64_t word;

		if (note->slot == 0) {
			continue;
		}
		word = __atomic_load_n(words_at(p, note->slot), __ATOMIC_RELAXED);
		if (word == note->before) {
			word = note->after;
		}
		NVW_TRY(publish_slot(p, p->keys[op], word, op));
	}
	return 0;
}

/* ---- Readers ---------------------------------------------------------------------------------------- */

/* Checks that the durable bytes are the whole entry that the record promises. */
static int check_entry(const struct kv_plan *p, uint64_t key, const uint64_t *record)
{
	const uint64_t *const entry = words_at(p, record[ENTRY]);
	const uint64_t header = record[STATE], bytes = kv_header_value_bytes(header);
	uint64_t check = kv_check_begin(key, bytes);

	NVW_FAIL_IF(entry[0] != key || entry[1] != header || bytes == 0 || bytes > KV_VALUE_MAX,
		NVW_E_INCONSISTENT,
		"the entry of key %" PRIu64 " at offset %" PRIu64 " was reused, or was never complete", key,
		record[ENTRY]);
	NVW_FOR(i, kv_value_words(bytes)) {
		check = kv_check_add(check, entry[2 + i]);
	}
	NVW_FAIL_IF(kv_check_end(check, bytes) != header, NVW_E_INCONSISTENT,
		"the value of key %" PRIu64 " at offset %" PRIu64 " is torn", key, record[ENTRY]);
	return 0;
}

static int serve_lookup(const void *plan, uint64_t number, struct nvw_sighting *ret_sighting)
{
	const struct kv_plan *const p = plan;
	const uint64_t key = p->by_key[number].key;
	const uint64_t *const record = nvw_reader_find(p->readers, key);

	assert(number < p->key_count);
	*ret_sighting = (struct nvw_sighting){.number = number};
	if (!record) {
		return 0;
	}
	ret_sighting->version = record[VERSION];
	ret_sighting->state = record[STATE];
	ret_sighting->present = record[ENTRY] != 0;
	return ret_sighting->present ? check_entry(p, key, record) : 0;
}

/* A hash table has no order: a scan returns the next keys of the plan. */
static int serve_scan(const void *plan, uint64_t number, unsigned limit, struct nvw_sighting *ret_sightings,
	unsigned *ret_count)
{
	const struct kv_plan *const p = plan;
	int error = 0;
	unsigned n = 0;

	for (; error == 0 && n < limit && number + n < p->key_count; n++) {
		error = serve_lookup(p, number + n, &ret_sightings[n]);
	}
	assert(n <= limit);
	*ret_count = n;
	return error;
}

/* ---- After a crash ---------------------------------------------------------------------------------- */

/* The header of the key's entry in a recovered pool; 0: absent. */
static uint64_t recovered_state(const struct kv_view *v, uint64_t key)
{
	uint64_t i = kv_home(v->table, kv_hash(key));

	for (uint64_t n = 0; v->words && n < kv_slot_count(v->table) && v->words[i] != 0; n++) {
		const uint64_t word = v->words[i];
		const nvw_off entry = kv_slot_entry(word);
		uint64_t there;

		if (entry != 0 && kv_view_key(v, entry, &there) && there == key) {
			return (word & KV_DELETED) != 0 ? 0 : nvw_pool_word(v->pool, entry + 8);
		}
		i = kv_next_slot(v->table, i);
	}
	return 0;
}

/* The batch whose change made this state; -1: none, the key was never present. */
static int64_t batch_of_state(struct kv_plan *p, const struct kv_key *k, uint64_t state)
{
	if (!is_value(state)) {
		return state == 0 ? -1 : (int64_t)kv_batch_of(p, (state >> 16) - 1);
	}
	for (uint32_t i = k->count; i > 0; i--) {
		const uint64_t op = p->changes[k->first + i - 1];

		if ((p->kinds[op] & KV_PUT) != 0 && kv_header_of(p, op) == state) {
			return (int64_t)kv_batch_of(p, op);
		}
	}
	return -1;
}

/* The recovered state must be the observed one, or that of a change that may have followed it: changes of one
 * batch are unordered. */
static int serve_judge(
	void *plan, struct nvw_pool *pool, const struct nvw_sighting *seen, struct nvw_findings *findings)
{
	struct kv_plan *const p = plan;
	const struct kv_key *const k = &p->by_key[seen->number];
	const int64_t since = batch_of_state(p, k, seen->state);
	struct kv_view v;

	assert(seen->number < p->key_count);
	if (kv_view_open(pool, &v) != 0) {
		return nvw_violation(findings, 0, "%s", nvw_error_message());
	}

	const uint64_t found = recovered_state(&v, k->key);

	const char *const saw = is_value(seen->state) ? "the value" : "the delete", *did = "undid it";

	if (is_value(found)) {
		if (batch_of_state(p, k, found) >= since) {
			return 0;
		}
		did = "restored an older value";
	} else if (!is_value(seen->state) || kv_deleted_since(p, k, since)) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"key %" PRIu64 ": a host reader saw %s of batch %" PRId64 ", but recovery %s", k->key, saw,
		since, did);
}

const struct nvw_serving kv_serving = {
	.keys = serve_keys,
	.begin = serve_begin,
	.acknowledged = serve_acknowledged,
	.end = serve_end,
	.lookup = serve_lookup,
	.scan = serve_scan,
	.judge = serve_judge,
};
