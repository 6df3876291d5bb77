/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a program's log. See operations.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/persist_log.h>

#include "operations.h"

static int by_number(const void *a, const void *b)
{
	const struct ct_operation *const x = a, *const y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static struct ct_operation *add(struct ct_operations *o, uint64_t number)
{
	if (o->count == o->capacity) {
		const uint64_t capacity = o->capacity ? 2 * o->capacity : 64;
		struct ct_operation *const grown = realloc(o->at, capacity * sizeof *grown);

		if (grown == NULL) {
			return NULL;
		}
		o->at = grown;
		o->capacity = capacity;
	}
	o->at[o->count] = (struct ct_operation){.number = number};
	return &o->at[o->count++];
}

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the operations of a log");
}

static int note(struct ct_operations *o, const struct nvw_log_record *r, uint64_t record)
{
	const bool begins = r->kind == NVW_LOG_BEGIN;
	struct ct_operation *const new = add(o, begins ? r->begin.number : r->ack.first);

	if (new == NULL) {
		return no_memory();
	}
	if (begins) {
		new->begin = record;
		new->thread = r->begin.thread;
		snprintf(new->name, sizeof new->name, "%s", r->begin.name);
	} else {
		new->durable = record;
		new->thread = r->ack.work_item;
	}
	return 0;
}

/* An operation has one entry for its begin and one for its acknowledgement so far. The first of each counts. */
static void join(struct ct_operations *o)
{
	uint64_t kept = 0;

	if (o->count > 0) {
		qsort(o->at, o->count, sizeof *o->at, by_number);
	}
	for (uint64_t i = 0; i < o->count; i++) {
		const struct ct_operation *const next = &o->at[i];
		struct ct_operation *const last = kept ? &o->at[kept - 1] : NULL;

		if (last == NULL || last->number != next->number) {
			o->at[kept++] = *next;
			continue;
		}
		if (next->begin != 0 && (last->begin == 0 || next->begin < last->begin)) {
			const uint64_t durable = last->durable;

			*last = *next;
			last->durable = durable;
		} else if (next->durable != 0 && (last->durable == 0 || next->durable < last->durable)) {
			last->durable = next->durable;
		}
	}
	o->count = kept;
}

int ct_operations_read(int log_fd, struct ct_operations *ret)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader);

	*ret = (struct ct_operations){0};
	if (error) {
		return error;
	}
	if (nvw_log_info(reader)->operations) {
		for (uint64_t i = 1; (error = nvw_log_next(reader, &r)) == 1; i++) {
			error = r.kind == NVW_LOG_BEGIN || r.kind == NVW_LOG_ACK ? note(ret, &r, i) : 0;
			if (error) {
				break;
			}
		}
		join(ret);
	}
	nvw_log_reader_close(reader);
	return error < 0 ? error : 0;
}

void ct_operations_free(struct ct_operations *o)
{
	free(o->at);
	*o = (struct ct_operations){0};
}

const struct ct_operation *ct_operations_find(const struct ct_operations *o, uint64_t number)
{
	const struct ct_operation wanted = {.number = number};

	return o == NULL || o->count == 0 ? NULL :
					    bsearch(&wanted, o->at, o->count, sizeof wanted, by_number);
}

const struct ct_operation *ct_operations_at(const struct ct_operations *o, uint64_t thread, uint64_t record)
{
	const struct ct_operation *found = NULL;

	for (uint64_t i = 0; o != NULL && i < o->count; i++) {
		const struct ct_operation *const at = &o->at[i];

		if (at->thread == thread && at->begin != 0 && at->begin < record &&
			(found == NULL || at->begin > found->begin)) {
			found = at;
		}
	}
	return found != NULL && (found->durable == 0 || found->durable > record) ? found : NULL;
}

int ct_operations_owe(const struct ct_operations *o, struct nvw_acks *acks)
{
	int error = 0;

	for (uint64_t i = 0; i < o->count && !error; i++) {
		error = o->at[i].begin ? nvw__acks_begin(acks, o->at[i].number) : 0;
		if (!error && o->at[i].durable) {
			error = nvw__acks_add(acks, o->at[i].number, 1);
		}
	}
	return error;
}

/* ---- Saved findings --------------------------------------------------------------------------------------------- */

json_t *ct_operations_json(const struct ct_operations *o)
{
	json_t *const all = json_array();

	for (uint64_t i = 0; i < o->count; i++) {
		json_array_append_new(all, json_pack("[I, s]", (json_int_t)o->at[i].number, o->at[i].name));
	}
	return all;
}

int ct_operations_from_json(const json_t *json, struct ct_operations *ret)
{
	const json_t *one;
	size_t i;

	*ret = (struct ct_operations){0};
	json_array_foreach(json, i, one)
	{
		struct ct_operation *const new =
			add(ret, (uint64_t)json_integer_value(json_array_get(one, 0)));
		const char *const name = json_string_value(json_array_get(one, 1));

		if (new == NULL) {
			return no_memory();
		}
		snprintf(new->name, sizeof new->name, "%s", name ? name : "");
	}
	join(ret);
	return 0;
}
