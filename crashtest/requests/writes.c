/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledged writes of a block device. See writes.h. */
#include "core/invariant.h"

#include "writes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/order.h"

#include "../log_walk.h"
#include "../states/image.h"

/* The writer: the kernel in the upper half, the group in the lower half. */
typedef uint64_t writer;

struct version {
	nvw_off off;    /* of a word */
	uint64_t order; /* position in the log */
	writer by;
	uint64_t op, value;
};

struct ct_writes {
	struct version *version; /* by offset, then by order */
	uint64_t count, capacity;
	struct acknowledged {
		writer by; /* comes first: nvw_by_u64() orders by it */
		uint64_t op;
	} * group; /* writers with an acknowledgement, as in the log */
	uint64_t group_count, group_capacity;
	uint64_t writes;
	const uint8_t *initial;
	uint64_t bytes;
};

/* ---- The log ------------------------------------------------------------------------------------------- */

static int add_store(struct ct_writes *w, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	NVW_FAIL_IF(r->store.bytes != 8 || r->store.off % 8 != 0 || r->store.off > w->bytes - 8, NVW_E_INPUT,
		"expected the log of a block device of %" PRIu64 " bytes, found a store of %" PRIu32
		" bytes at %" PRIu64,
		w->bytes, r->store.bytes, r->store.off);
	NVW_GROWN(w->version, w->capacity, w->count + 1, "no memory for the log's writes");
	w->version[w->count] = (struct version){.off = r->store.off,
		.order = w->count,
		.by = (uint64_t)r->store.kernel << 32 | (uint32_t)r->store.group,
		.value = r->store.value};
	w->count++;
	return 0;
}

static int add_acknowledgement(struct ct_writes *w, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_ACK);
	NVW_GROWN(w->group, w->group_capacity, w->group_count + 1, "no memory for the log's writes");
	w->group[w->group_count++] = (struct acknowledged){
		.by = (uint64_t)r->ack.kernel << 32 | (uint32_t)r->ack.group, .op = r->ack.first};
	return 0;
}

static int add_record(void *context, const struct nvw_log_record *r, uint64_t number)
{
	struct ct_writes *const w = context;

	if (r->kind == NVW_LOG_STORE) {
		return add_store(w, r);
	}
	if (r->kind == NVW_LOG_ACK && r->ack.kernel != 0) {
		return add_acknowledgement(w, r);
	}
	NVW_FAIL_IF(r->kind == NVW_LOG_HOST, NVW_E_INPUT,
		"expected the log of a block device, found a write by the host at %" PRIu64, r->host.off);
	return 0;
}

/* ---- Assigning stores to writes ------------------------------------------------------------------------ */

static int by_writer(const void *a, const void *b)
{
	const struct version *const x = a, *const y = b;

	return NVW_OR(NVW_ORDER(x->by, y->by), NVW_ORDER(x->order, y->order));
}

static int by_place(const void *a, const void *b)
{
	const struct version *const x = a, *const y = b;

	return NVW_OR(NVW_ORDER(x->off, y->off), NVW_ORDER(x->order, y->order));
}

/* The number that the acknowledgement of this writer gives; without one, the write's own. */
static uint64_t op_of(const struct ct_writes *w, writer by)
{
	const struct acknowledged *said = NULL;

	if (w->group_count > 0) {
		said = bsearch(&by, w->group, w->group_count, sizeof *said, nvw_by_u64);
	}
	return said ? said->op : w->writes;
}

/* The acknowledgement of a group gives its number; in a kernel that the power cut ended, earlier groups may
 * not have stored. */
static void number_writes(struct ct_writes *w)
{
	qsort(w->version, w->count, sizeof *w->version, by_writer);
	if (w->group_count > 0) {
		qsort(w->group, w->group_count, sizeof *w->group, nvw_by_u64);
	}
	NVW_FOR(i, w->count) {
		struct version *const v = &w->version[i];

		if (i > 0 && v[-1].by == v->by) {
			v->op = v[-1].op;
		} else {
			v->op = op_of(w, v->by);
			w->writes++;
		}
	}
	qsort(w->version, w->count, sizeof *w->version, by_place);
}

int ct_writes_create(int log_fd, const void *initial, uint64_t bytes, struct ct_writes **ret_writes)
{
	struct ct_writes *const w = calloc(1, sizeof *w);

	NVW_ALLOCATED(w, "no memory for the log's writes");
	w->initial = initial;
	w->bytes = bytes;
	const int error = ct_log_walk(log_fd, add_record, w);

	if (error) {
		ct_writes_destroy(w);
		return error;
	}
	if (w->count > 0) {
		number_writes(w);
	}
	*ret_writes = w;
	return 0;
}

void ct_writes_destroy(struct ct_writes *w)
{
	if (w) {
		free(w->version);
		free(w->group);
		free(w);
	}
}

uint64_t ct_writes_count(const struct ct_writes *w)
{
	return w->writes;
}

/* ---- The judge ----------------------------------------------------------------------------------------- */

/* Given the versions of one word, oldest first: the newest acknowledged one if the word is older than it,
 * else NULL. */
static const struct version *lost(const struct ct_writes *w, const struct version *first,
	const struct version *end, uint64_t now, const struct nvw_acks *acks)
{
	NVW_DEEP_INVARIANT(first < end);
	for (const struct version *v = end; v-- > first;) {
		if (v->value == now) {
			return NULL;
		}
		if (nvw_acked(acks, v->op)) {
			return v;
		}
	}
	if (now == *(const uint64_t *)(w->initial + first->off)) {
		return NULL;
	}
	return first;
}

int ct_writes_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct ct_writes *const w = context;
	const struct version *const end = w->version + w->count;

	*phase = CT_PHASE_CHECK;
	for (const struct version *first = w->version, *next; first < end; first = next) {
		next = first + 1;
		while (next < end && next->off == first->off) {
			next++;
		}
		const struct version *const v = lost(w, first, next, ct_image_word(image, first->off), acks);

		if (v && nvw_acked(acks, v->op)) {
			return nvw_violation(findings, v->off,
				"write %" PRIu64 " was acknowledged, but a word of it is older", v->op);
		}
		if (v) {
			return nvw_violation(findings, v->off,
				"a word of write %" PRIu64 " is neither old nor new", v->op);
		}
	}
	return 0;
}
