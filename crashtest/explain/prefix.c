/* SPDX-License-Identifier: BSD-3-Clause */
/* The run again, up to any event. See prefix.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "core/array.h"
#include "core/order.h"
#include "core/invariant.h"

#include "prefix.h"

enum { EVENTS_MAX = 1 << 20, ACK_OPERATIONS_MAX = 1 << 24 };

/* ---- Making a state ------------------------------------------------------------------------------------ */

static bool is_lost(const struct ct_losses *l, nvw_off off, uint64_t number)
{
	if (!l || l->count == 0) {
		return false;
	}
	const nvw_off unit = off & ~(nvw_off)(l->unit_bytes - 1);
	const struct ct_loss *const found = bsearch(&unit, l->loss, l->count, sizeof *found, nvw_by_u64);

	return found && number >= found->from;
}

bool ct_prefix_loses(const struct ct_losses *losses, const struct ct_event *e)
{
	return e->kind == NVW_LOG_STORE && is_lost(losses, e->store.off, e->store.number);
}

/* A write by the host is durable at once, so it is never lost. */
static void put_host(struct ct_prefix *p, const struct ct_event *e)
{
	const uint8_t *const data = p->data + e->count;

	NVW_INVARIANT(e->count + e->store.bytes <= p->data_bytes);
	for (uint32_t i = 0, n; i < e->store.bytes; i += n) {
		const nvw_off off = e->store.off + i;

		n = MIN((uint32_t)(8 - off % 8), e->store.bytes - i);
		ct_image_set_bytes(&p->image, off, data + i, n);
	}
}

static bool counts(const struct ct_prefix *p, uint64_t op)
{
	return (!p->granted || nvw_acked(p->granted, op)) && (p->only == 0 || p->only == op + 1);
}

static void put_acks(struct ct_prefix *p, uint64_t first, uint64_t count)
{
	for (uint64_t op = first; op < first + count; op++) {
		if (counts(p, op) && nvw__acks_add(&p->acks, op, 1)) {
			return;
		}
	}
}

static void begin(struct ct_prefix *p, uint64_t operation)
{
	if (nvw__acks_begin(&p->acks, operation)) {
		return; /* of a number that the medium has refused as well */
	}
}

void ct_prefix_add(struct ct_prefix *p, const struct ct_event *e)
{
	if (e->kind == NVW_LOG_HOST) {
		put_host(p, e);
	} else if (e->kind == NVW_LOG_STORE) {
		ct_image_set_bytes(&p->image, e->store.off, &e->store.value, e->store.bytes);
	}
}

/* What was begun or acknowledged before the first event. */
static void begin_operations(struct ct_prefix *p)
{
	NVW_FOR(op, p->before.begun_words * 64) {
		if (nvw__acks_in_flight(&p->before, op)) {
			begin(p, op);
		}
	}
}

static void put_before(struct ct_prefix *p)
{
	begin_operations(p);
	NVW_FOR(op, p->before.words * 64) {
		if (nvw_acked(&p->before, op)) {
			put_acks(p, op, 1);
		}
	}
}

void ct_prefix_make(struct ct_prefix *p, uint64_t stores, uint64_t acks, const struct ct_losses *losses)
{
	NVW_DEEP_INVARIANT(stores <= p->count && acks <= p->count);
	nvw__acks_clear(&p->acks);
	put_before(p);
	for (uint64_t i = 0; i < stores || i < acks; i++) {
		const struct ct_event *const e = &p->event[i];

		if (e->kind == NVW_LOG_BEGIN && i < acks) {
			begin(p, e->store.value);
		} else if (e->kind == NVW_LOG_ACK && i < acks) {
			put_acks(p, e->store.value, e->count);
		} else if (i < stores && !ct_prefix_loses(losses, e)) {
			ct_prefix_add(p, e);
		}
	}
}

void ct_prefix_undo(struct ct_prefix *p)
{
	ct_image_undo(&p->image, 0);
}

/* ---- Reading the log ----------------------------------------------------------------------------------- */

/* The data of the host's writes that are left come first. */
static uint64_t first_data(const struct ct_prefix *p)
{
	NVW_EACH(event, p->event, p->count) {
		if (event->kind == NVW_LOG_HOST) {
			return event->count;
		}
	}
	return p->data_bytes;
}

static void move_data(struct ct_prefix *p, uint64_t by)
{
	NVW_EACH(event, p->event, p->count) {
		if (event->kind == NVW_LOG_HOST) {
			event->count -= by;
		}
	}
}

static void fold_data(struct ct_prefix *p)
{
	const uint64_t first = first_data(p);

	move_data(p, first);
	p->data_bytes -= first;
	if (p->data_bytes > 0) {
		memmove(p->data, p->data + first, p->data_bytes);
	}
}

/* The oldest events become part of the bytes before. */
static int fold(struct ct_prefix *p, uint64_t oldest)
{
	const struct nvw_acks *const granted = p->granted;

	NVW_INVARIANT(oldest <= p->count);
	p->granted = NULL;
	ct_prefix_make(p, oldest, 0, NULL);
	p->granted = granted;
	ct_image_commit(&p->image);
	NVW_FOR(i, oldest) {
		const struct ct_event *const e = &p->event[i];

		if (e->kind == NVW_LOG_BEGIN) {
			NVW_TRY(nvw__acks_begin(&p->before, e->store.value));
		} else if (e->kind == NVW_LOG_ACK) {
			NVW_TRY(nvw__acks_add(&p->before, e->store.value, e->count));
		}
	}
	p->count -= oldest;
	if (p->count > 0) {
		memmove(p->event, p->event + oldest, p->count * sizeof *p->event);
	}
	fold_data(p);
	return 0;
}

static int make_place(struct ct_prefix *p)
{
	NVW_INVARIANT(p->count <= EVENTS_MAX);
	return p->count == EVENTS_MAX ? fold(p, EVENTS_MAX / 2) : 0;
}

static int add_event(struct ct_prefix *p, const struct ct_event *e)
{
	NVW_TRY(make_place(p));
	NVW_GROWN(p->event, p->capacity, p->count + 1, "no memory for the events of a run");
	p->event[p->count++] = *e;
	return 0;
}

static int add_host(struct ct_prefix *p, const struct nvw_log_record *r, uint64_t number)
{
	struct ct_event e = {.kind = NVW_LOG_HOST,
		.store = {.number = number, .off = r->host.off, .bytes = r->host.bytes}};

	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	NVW_GROWN(p->data, p->data_capacity, p->data_bytes + r->host.bytes,
		"no memory for the events of a run");
	NVW_FAIL_IF(r->host.off + r->host.bytes > p->image.bytes, NVW_E_DAMAGED,
		"persist log: record %llu writes behind the pool's end", (ull)number);
	NVW_TRY(make_place(p));
	e.count = p->data_bytes;
	memcpy(p->data + p->data_bytes, r->host.data, r->host.bytes);
	p->data_bytes += r->host.bytes;
	return add_event(p, &e);
}

static int add_record(struct ct_prefix *p, const struct nvw_log_record *r, uint64_t number)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		NVW_FAIL_IF(r->store.off + r->store.bytes > p->image.bytes, NVW_E_DAMAGED,
			"persist log: record %llu stores behind the pool's end", (ull)number);
		return add_event(
			p, &(struct ct_event){.kind = NVW_LOG_STORE, .store = ct_store_of(r, number)});
	case NVW_LOG_HOST:
		return add_host(p, r, number);
	case NVW_LOG_BEGIN:
		return add_event(p, &(struct ct_event){.kind = NVW_LOG_BEGIN,
					    .store = {.number = number,
						    .value = r->begin.number,
						    .site = r->begin.site,
						    .work_item = r->begin.thread}});
	case NVW_LOG_ACK: {
		const struct ct_event e = {.kind = NVW_LOG_ACK,
			.count = MIN(r->ack.count, ACK_OPERATIONS_MAX),
			.store = {.number = number,
				.value = r->ack.first,
				.kernel = r->ack.kernel,
				.site = r->ack.site,
				.work_item = r->ack.work_item,
				.group = r->ack.group}};

		return add_event(p, &e);
	}
	default:
		return 0;
	}
}

/* Called after record number number. */
static int settle(struct ct_prefix *p, uint64_t number, uint64_t first, uint64_t records, uint64_t ahead)
{
	if (number == first && number < records) {
		NVW_TRY(fold(p, p->count));
	}
	if (number == records && p->count + ahead > EVENTS_MAX) {
		NVW_TRY(fold(p, p->count / 2));
	}
	if (number <= records) {
		p->here = p->count;
	}
	return 0;
}

int ct_prefix_read(int log_fd, const void *initial, const uint8_t *filled, uint64_t bytes, uint64_t first,
	uint64_t records, uint64_t ahead, const struct nvw_acks *granted, struct ct_prefix *ret_prefix)
{
	struct ct_prefix p = {.granted = granted};
	struct nvw_log_reader *reader = NULL;
	struct nvw_log_record r;
	uint64_t number = 0;

	NVW_TRY(ct_image_create(initial, filled, bytes, &p.image));
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader);
	while (!error && (number < records || p.count < p.here + ahead)) {
		error = nvw_log_next(reader, &r);
		if (error <= 0) {
			break;
		}
		error = add_record(&p, &r, ++number);
		if (!error) {
			error = settle(&p, number, first, records, ahead);
		}
	}
	nvw_log_reader_close(reader);
	p.cut = error > 0 || (error == 0 && p.count >= p.here + ahead);
	*ret_prefix = p;
	if (error < 0) {
		ct_prefix_free(ret_prefix);
	}
	return MIN(error, 0);
}

void ct_prefix_free(struct ct_prefix *p)
{
	ct_image_destroy(&p->image);
	nvw__acks_free(&p->acks);
	nvw__acks_free(&p->before);
	free(p->event);
	free(p->data);
	*p = (struct ct_prefix){0};
}
