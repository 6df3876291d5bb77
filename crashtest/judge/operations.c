/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a program's log. See operations.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/invariant.h"
#include "core/print.h"

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/order.h"
#include "core/member.h"

#include "../log_walk.h"
#include "operations.h"

static int add_operation(struct ct_operations *o, const struct ct_operation *is, const char *name)
{
	NVW_GROWN(o->at, o->capacity, o->count + 1, "no memory for the operations of a log");
	o->at[o->count] = *is;
	NVW_PRINT(o->at[o->count].name, "%s", name);
	o->count++;
	return 0;
}

static int note_operation(void *operations, const struct nvw_log_record *r, uint64_t record)
{
	NVW_INVARIANT(record > 0);
	switch (r->kind) {
	case NVW_LOG_BEGIN:
		return add_operation(operations,
			&(struct ct_operation){
				.number = r->begin.number, .begin = record, .thread = r->begin.thread},
			r->begin.name);
	case NVW_LOG_ACK:
		return add_operation(operations,
			&(struct ct_operation){
				.number = r->ack.first, .durable = record, .thread = r->ack.work_item},
			"");
	default:
		return 0;
	}
}

/* Is the first record earlier than the second, or the only one? 0: none. */
static bool is_first(uint64_t a, uint64_t b)
{
	return a != 0 && (b == 0 || a < b);
}

/* An operation has one entry for its begin and one for its acknowledgement so far. The first of each
 * counts. */
static void join(struct ct_operations *o)
{
	uint64_t kept = 0;

	if (o->count > 0) {
		qsort(o->at, o->count, sizeof *o->at, nvw_by_u64);
	}
	NVW_EACH(next, o->at, o->count) {
		struct ct_operation *const last = kept ? &o->at[kept - 1] : NULL;

		if (!last || last->number != next->number) {
			o->at[kept++] = *next;
			continue;
		}
		if (is_first(next->begin, last->begin)) {
			const uint64_t durable = last->durable;

			*last = *next;
			last->durable = durable;
		} else if (is_first(next->durable, last->durable)) {
			last->durable = next->durable;
		}
	}
	o->count = kept;
}

static int has_operations(int log_fd, bool *ret_has)
{
	struct nvw_log_reader *reader;

	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &reader));
	*ret_has = nvw_log_info(reader)->operations;
	nvw_log_reader_close(reader);
	return 0;
}

int ct_operations_read(int log_fd, struct ct_operations *ret)
{
	bool has;

	*ret = (struct ct_operations){0};
	NVW_TRY(has_operations(log_fd, &has));
	if (!has) {
		return 0;
	}
	const int error = ct_log_walk(log_fd, note_operation, ret);

	join(ret);
	return error;
}

void ct_operations_free(struct ct_operations *o)
{
	free(o->at);
	*o = (struct ct_operations){0};
}

const struct ct_operation *ct_operations_find(const struct ct_operations *o, uint64_t number)
{
	if (!o || o->count == 0) {
		return NULL;
	}
	return bsearch(&number, o->at, o->count, sizeof *o->at, nvw_by_u64);
}

uint64_t ct_operations_place(const struct ct_operations *o, uint64_t number)
{
	const struct ct_operation *const found = ct_operations_find(o, number);

	return found ? (uint64_t)(found - o->at) + 1 : 0;
}

int ct_within_of(struct ct_within *w, uint64_t thread, uint64_t **ret)
{
	const uint64_t i = NVW_INDEX(k, w->count, w->at[k].thread == thread);

	if (i == w->count) {
		NVW_GROWN(w->at, w->capacity, i + 1, "no memory for the operations of a log");
		w->at[w->count++] = (struct ct_in_thread){.thread = thread};
	}
	*ret = &w->at[i].place;
	return 0;
}

void ct_operations_name(const struct ct_operations *operations, uint64_t number, char *ret_text, size_t room)
{
	const struct ct_operation *const o = ct_operations_find(operations, number);

	NVW_INVARIANT(room > 0);
	if (o && *o->name) {
		snprintf(ret_text, room, "%llu (%s)", (unsigned long long)number, o->name);
	} else {
		snprintf(ret_text, room, "%llu", (unsigned long long)number);
	}
}

int ct_operations_owe(const struct ct_operations *o, struct nvw_acks *acks)
{
	NVW_EACH(one, o->at, o->count) {
		if (one->begin) {
			NVW_TRY(nvw__acks_begin(acks, one->number));
		}
		if (one->durable) {
			NVW_TRY(nvw__acks_add(acks, one->number, 1));
		}
	}
	return 0;
}

/* ---- Saved findings ------------------------------------------------------------------------------------ */

json_t *ct_operations_json(const struct ct_operations *o)
{
	json_t *const all = json_array();

	NVW_FOR(i, o->count) {
		json_array_append_new(all, json_pack("[I, s]", (json_int_t)o->at[i].number, o->at[i].name));
	}
	return all;
}

/* [number, name] */
static int read_operation(const json_t *one, struct ct_operations *to)
{
	const struct ct_operation is = {.number = (uint64_t)json_integer_value(json_array_get(one, 0))};

	return add_operation(to, &is, NVW_OR(json_string_value(json_array_get(one, 1)), ""));
}

int ct_operations_from_json(const json_t *json, struct ct_operations *ret)
{
	*ret = (struct ct_operations){0};
	JSON_EACH(one, json) {
		NVW_TRY(read_operation(one, ret));
	}
	join(ret);
	return 0;
}
