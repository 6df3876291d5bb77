/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledged writes of a block device. See writes.h. */
#include "writes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

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
		writer by;
		uint64_t op;
	} * group; /* writers with an acknowledgement, as in the log */
	uint64_t group_count, group_capacity;
	uint64_t writes;
	const uint8_t *initial;
	uint64_t bytes;
};

static void *grown(void *array, uint64_t count, uint64_t *capacity, size_t size)
{
	void *larger;

	if (count < *capacity) {
		return array;
	}
	larger = realloc(array, (2 * count + 1024) * size);
	if (larger == NULL) {
		nvw_fail(NVW_E_MEMORY, "no memory for the log's %" PRIu64 " stores", count);
		return NULL;
	}
	*capacity = 2 * count + 1024;
	return larger;
}

/* ---- The log ------------------------------------------------------------------------------------------------- */

static int add_store(struct ct_writes *w, const struct nvw_log_record *r)
{
	if (r->store.bytes != 8 || r->store.off % 8 != 0 || r->store.off > w->bytes - 8) {
		return nvw_fail(NVW_E_INPUT,
			"expected the log of a block device of %" PRIu64 " bytes, found a store of %" PRIu32
			" bytes at %" PRIu64,
			w->bytes, r->store.bytes, r->store.off);
	}
	struct version *const all = grown(w->version, w->count, &w->capacity, sizeof *all);

	if (all == NULL) {
		return NVW_E_MEMORY;
	}
	w->version = all;
	all[w->count] = (struct version){.off = r->store.off,
		.order = w->count,
		.by = (uint64_t)r->store.kernel << 32 | (uint32_t)r->store.group,
		.value = r->store.value};
	w->count++;
	return 0;
}

static int add_acknowledgement(struct ct_writes *w, const struct nvw_log_record *r)
{
	struct acknowledged *const all = grown(w->group, w->group_count, &w->group_capacity, sizeof *all);

	if (all == NULL) {
		return NVW_E_MEMORY;
	}
	w->group = all;
	all[w->group_count++] = (struct acknowledged){
		.by = (uint64_t)r->ack.kernel << 32 | (uint32_t)r->ack.group, .op = r->ack.first};
	return 0;
}

static int read_log(struct ct_writes *w, int log_fd)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader), more = 0;

	if (error) {
		return error;
	}
	while (!error && (more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			error = add_store(w, &r);
		} else if (r.kind == NVW_LOG_ACK && r.ack.kernel != 0) {
			error = add_acknowledgement(w, &r);
		} else if (r.kind == NVW_LOG_HOST) {
			error = nvw_fail(NVW_E_INPUT,
				"expected the log of a block device, found a write by the host at %" PRIu64,
				r.host.off);
		}
	}
	nvw_log_reader_close(reader);
	return error ? error : more;
}

/* ---- Assigning stores to writes
 * ---------------------------------------------------------------------------- */

static int by_writer(const void *a, const void *b)
{
	const struct version *const x = a, *const y = b;

	return x->by != y->by ? (x->by > y->by) - (x->by < y->by) :
				(x->order > y->order) - (x->order < y->order);
}

static int by_place(const void *a, const void *b)
{
	const struct version *const x = a, *const y = b;

	return x->off != y->off ? (x->off > y->off) - (x->off < y->off) :
				  (x->order > y->order) - (x->order < y->order);
}

static int by_group(const void *a, const void *b)
{
	const struct acknowledged *const x = a, *const y = b;

	return (x->by > y->by) - (x->by < y->by);
}

/* The acknowledgement of a group gives its number; in a kernel that the power cut ended, earlier groups may
 * not have stored. */
static void number(struct ct_writes *w)
{
	qsort(w->version, w->count, sizeof *w->version, by_writer);
	if (w->group_count > 0) {
		qsort(w->group, w->group_count, sizeof *w->group, by_group);
	}
	for (uint64_t i = 0; i < w->count; i++) {
		struct version *const v = &w->version[i];

		if (i > 0 && v[-1].by == v->by) {
			v->op = v[-1].op;
			continue;
		}
		const struct acknowledged *const said =
			w->group_count == 0 ? NULL :
					      bsearch(&(struct acknowledged){.by = v->by}, w->group,
						      w->group_count, sizeof *w->group, by_group);

		v->op = said ? said->op : w->writes;
		w->writes++;
	}
	qsort(w->version, w->count, sizeof *w->version, by_place);
}

int ct_writes_create(int log_fd, const void *initial, uint64_t bytes, struct ct_writes **ret_writes)
{
	struct ct_writes *const w = calloc(1, sizeof *w);

	if (w == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the log's writes");
	}
	w->initial = initial;
	w->bytes = bytes;
	const int error = read_log(w, log_fd);

	if (error) {
		ct_writes_destroy(w);
		return error;
	}
	if (w->count > 0) {
		number(w);
	}
	*ret_writes = w;
	return 0;
}

void ct_writes_destroy(struct ct_writes *w)
{
	if (w != NULL) {
		free(w->version);
		free(w->group);
		free(w);
	}
}

uint64_t ct_writes_count(const struct ct_writes *w)
{
	return w->writes;
}

/* ---- The judge ------------------------------------------------------------------------------------------------ */

/* Given the versions of one word, oldest first: the newest acknowledged one if the word is older than it,
 * else NULL. */
static const struct version *lost(const struct ct_writes *w, const struct version *first,
	const struct version *end, uint64_t now, const struct nvw_acks *acks)
{
	for (const struct version *v = end; v-- > first;) {
		if (v->value == now) {
			return NULL;
		}
		if (nvw_acked(acks, v->op)) {
			return v;
		}
	}
	return now == *(const uint64_t *)(w->initial + first->off) ? NULL : first;
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

		if (v != NULL) {
			return nvw_violation(findings, v->off,
				nvw_acked(acks, v->op) ? "write %" PRIu64
							 " was acknowledged, but a word of it is older" :
							 "a word of write %" PRIu64 " is neither old nor new",
				v->op);
		}
	}
	return 0;
}
