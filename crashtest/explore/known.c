/* SPDX-License-Identifier: BSD-3-Clause */
/* See known.h. */
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "core/invariant.h"
#include "core/search.h"
#include "core/zeroed.h"
#include "known.h"
#include "../judge/process.h"
#include "../log_walk.h"

enum { CAPACITY = 1 << 22 }; /* a power of two; memory is used only as needed */

struct ct_known {
	uint32_t log; /* from 1 */
	uint32_t count;
	struct {
		uint64_t key; /* 0: free */
		uint32_t log; /* that met it first; 0: about to be set */
	} state[CAPACITY];
};

int ct_known_create(struct ct_known **ret_known)
{
	*ret_known = ct_shared_memory(sizeof **ret_known);
	NVW_FAIL_IF(!*ret_known, NVW_E_MEMORY, "no memory for the states of a corpus");
	return 0;
}

void ct_known_destroy(struct ct_known *known)
{
	nvw__unmap(known, sizeof *known);
}

void ct_known_begin_log(struct ct_known *known)
{
	known->log++;
}

bool ct_known_meets(struct ct_known *k, uint64_t state)
{
	const uint64_t key = nvw_mix64(state) | 1;
	const uint64_t i = NVW_PROBE(p, key >> 1, CAPACITY, k->state[p].key == 0 || k->state[p].key == key);
	uint64_t none = 0;

	if (k->state[i].key == key) {
		return k->state[i].log != 0 && k->state[i].log != k->log;
	}
	if (__atomic_load_n(&k->count, __ATOMIC_RELAXED) < CAPACITY / 4 * 3 &&
		__atomic_compare_exchange_n(
			&k->state[i].key, &none, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		k->state[i].log = k->log;
		__atomic_add_fetch(&k->count, 1, __ATOMIC_RELAXED);
	}
	return false;
}

/* ---- Promises --------------------------------------------------------------------------------------- */

static uint64_t continue_key(uint64_t key, uint64_t value)
{
	return nvw_mix64(key + nvw_mix64(value));
}

static uint64_t key_of_bytes(const void *bytes, uint64_t n)
{
	uint64_t key = n, word = 0;

	for (uint64_t at = 0; at < n; at += sizeof word) {
		word = 0;
		memcpy(&word, (const char *)bytes + at, n - at < sizeof word ? n - at : sizeof word);
		key = continue_key(key, word);
	}
	return key;
}

struct reading {
	const struct ct_operations *operations;
	struct ct_promises *promises;
	struct ct_within within;
	bool begun; /* some operation has */
};

static int enter(struct reading *r, uint64_t thread, uint64_t number)
{
	uint64_t *place;

	NVW_TRY(ct_within_of(&r->within, thread, &place));
	r->begun = true;
	*place = ct_operations_place(r->operations, number);
	return 0;
}

static int add_store(struct reading *r, const struct nvw_log_record *record)
{
	uint64_t *to = &r->promises->begin, *place;

	NVW_INVARIANT(record->kind == NVW_LOG_STORE);
	NVW_TRY(ct_within_of(&r->within, record->store.work_item, &place));
	if (*place != 0) {
		to = &r->promises->operation[*place - 1];
	} else if (r->begun) {
		return 0; /* of no operation, nor of what was before them */
	}
	*to = continue_key(continue_key(*to, record->store.off), record->store.value);
	return 0;
}

static int meet_record(void *context, const struct nvw_log_record *record, uint64_t number)
{
	struct reading *const r = context;

	switch (record->kind) {
	case NVW_LOG_BEGIN:
		return enter(r, record->begin.thread, record->begin.number);
	case NVW_LOG_ACK:
		return enter(r, record->ack.work_item, UINT64_MAX);
	case NVW_LOG_STORE:
		return add_store(r, record);
	default:
		return 0;
	}
}

int ct_promises_read(int log_fd, const void *image, uint64_t bytes, const struct ct_operations *operations,
	bool with_stores, struct ct_promises *ret)
{
	struct reading r = {.operations = operations, .promises = ret};

	ret->begin = key_of_bytes(image, bytes);
	ret->operation = calloc(operations->count + 1, sizeof *ret->operation);
	NVW_ALLOCATED(ret->operation, "no memory for the operations of a log");
	NVW_FOR(i, operations->count) {
		const struct ct_operation *const o = &operations->at[i];

		ret->operation[i] = continue_key(o->number, key_of_bytes(o->name, strlen(o->name)));
	}
	const int error = with_stores ? ct_log_walk(log_fd, meet_record, &r) : 0;

	free(r.within.at);
	return error;
}

void ct_promises_free(struct ct_promises *p)
{
	free(p->operation);
	*p = (struct ct_promises){0};
}

uint64_t ct_promises_key(
	const struct ct_promises *p, const struct ct_operations *operations, const struct nvw_acks *acks)
{
	uint64_t key = p->begin;

	NVW_FOR(i, operations->count) {
		const uint64_t number = operations->at[i].number;

		if (nvw_acked(acks, number)) {
			key += nvw_mix64(p->operation[i]);
		} else if (nvw__acks_in_flight(acks, number)) {
			key += nvw_mix64(p->operation[i] + 1);
		}
	}
	return key;
}
