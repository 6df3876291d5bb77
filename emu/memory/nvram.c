/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVRAM devices: writes in flight and the durable medium.
 *
 * Guarantees
 *   (1) The medium (the pool's mapped bytes) changes only when a write completes, and one failure-atomic
 *       word at a time; and by the host's durable writes (host.c).
 *   (2) Writes complete in the order of their channel; writes of one line are in one channel, so a line's
 *       writes complete in coherence order.
 *   (3) A read sees the writes in flight of its line (emu_nvram_forward).
 *
 * When a write is durable depends on the persistence domain: at the device's completion (device), as soon
 * as the controller has accepted it (adr), or when the store was made visible (eadr).
 */
#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "device_memory.h"
#include "../machine.h"
#include "../persist/persist.h"
#include "../observe/record.h"

enum { HASH_BITS = 14 };

static uint32_t *bucket_of(const struct nvw_machine *m, emu_line_id id)
{
	return &m->nvram.by_line[(id * 0x9e3779b1u) >> (32 - HASH_BITS)];
}

static struct emu_nvram_write *write_at(const struct nvw_machine *m, uint32_t i)
{
	return nvw_row(&m->nvram.writes, i);
}

static void link_of_line(struct nvw_machine *m, uint32_t i)
{
	struct emu_nvram_write *const w = write_at(m, i);
	uint32_t *const first = bucket_of(m, w->line);

	w->next_of_line = *first;
	if (*first) {
		write_at(m, *first)->newer_of_line = i;
	}
	*first = i;
}

static void unlink_of_line(struct nvw_machine *m, uint32_t i)
{
	const struct emu_nvram_write *const w = write_at(m, i);

	if (w->next_of_line) {
		write_at(m, w->next_of_line)->newer_of_line = w->newer_of_line;
	}
	if (w->newer_of_line) {
		write_at(m, w->newer_of_line)->next_of_line = w->next_of_line;
	} else {
		*bucket_of(m, w->line) = w->next_of_line;
	}
}

int emu_nvram_init(struct nvw_machine *m)
{
	struct emu_nvram *const n = &m->nvram;

	NVW_EACH(device, m->device, m->device_count) {
		if (device->pool) {
			device->queue = n->queue_count;
			n->queue_count += device->channels.count;
		}
	}
	n->head = calloc(n->queue_count + 1, sizeof *n->head);
	n->tail = calloc(n->queue_count + 1, sizeof *n->tail);
	n->by_line = calloc(1u << HASH_BITS, sizeof *n->by_line);
	n->writes.row_bytes = sizeof(struct emu_nvram_write);
	NVW_FAIL_IF(
		!n->head || !n->tail || !n->by_line, NVW_E_MEMORY, "no memory for the NVRAM's write queue");
	n->next_done = UINT64_MAX;
	return 0;
}

void emu_nvram_finish(struct nvw_machine *m)
{
	free(m->nvram.head);
	free(m->nvram.tail);
	free(m->nvram.by_line);
	nvw_rows_finish(&m->nvram.writes);
}

emu_time emu_nvram_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask,
	uint32_t stores, uint32_t tag, emu_time t)
{
	struct emu_nvram *const n = &m->nvram;
	struct emu_device *const d = &m->device[emu_device_index(m, id)];
	const uint32_t queue = d->queue + emu_channel_of(&d->channels, id);
	struct emu_nvram_write *w;
	emu_time done, accepted;
	uint32_t i;

	NVW_DEEP_INVARIANT(d->pool && mask);
	accepted = emu_channel_write(m, d, id, t, &done);
	if (emu_is_watched(m)) {
		emu_watch_memory(m, EMU_SIGHT_WRITE, id, t + d->channels.link_ps, done);
	}
	if (d->domain == EMU_DOMAIN_eadr) {
		return accepted +
		       d->channels.link_ps; /* these bytes, or newer ones, are durable since the store */
	}
	NVW_DEEP_INVARIANT(queue < n->queue_count);
	i = nvw_rows_take(&n->writes);
	if (!i) {
		m->error = nvw_fail(
			NVW_E_MEMORY, "no memory for more than %u NVRAM writes in flight", n->writes.count);
		return accepted;
	}
	w = write_at(m, i);
	if (d->domain == EMU_DOMAIN_adr) {
		done = accepted;
	}
	w->done = done;
	w->line = id;
	w->stores = stores;
	w->tag = tag;
	w->number = ++n->numbers;
	w->mask = mask;
	memcpy(w->data, data, EMU_LINE);
	link_of_line(m, i);
	if (n->tail[queue]) {
		write_at(m, n->tail[queue])->next_in_queue = i;
	} else {
		n->head[queue] = i;
	}
	n->tail[queue] = i;
	n->in_flight++;
	if (done < n->next_done) {
		n->next_done = done;
	}
	d->in_flight++;
	d->last_done = emu_later(d->last_done, done);
	record_issue(m, w);
	return accepted + d->channels.link_ps;
}

void emu_nvram_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_nvram_write *w;
	uint64_t missing = UINT64_MAX;

	/* The newest is first in its bucket. */
	for (uint32_t i = *bucket_of(m, id); i; i = w->next_of_line) {
		w = write_at(m, i);
		if (w->line == id) {
			emu_copy_masked(to, w->data, w->mask & missing);
			missing &= ~w->mask;
		}
	}
}

void emu_medium_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	struct emu_device *const d = &m->device[emu_device_index(m, id)];
	char *const line = emu_memory_behind(m, id);

	while (mask) {
		const unsigned first = emu_first(mask) & ~7u;
		const uint64_t changed = emu_byte_mask((uint8_t)(mask >> first));
		uint64_t *const at = (uint64_t *)(void *)(line + first);
		uint64_t value;

		memcpy(&value, data + first, sizeof value);
		value = (*at & ~changed) | (value & changed);
		__atomic_store_n(at, value, __ATOMIC_RELAXED); /* at once, for host readers and for a kill */
		d->traffic.words++;
		mask &= ~(UINT64_C(0xff) << first);
	}
}

static void complete_first(struct nvw_machine *m, uint32_t queue)
{
	struct emu_nvram *const n = &m->nvram;
	const uint32_t i = n->head[queue];
	struct emu_nvram_write *const w = write_at(m, i);
	const uint32_t tag = w->tag;

	n->head[queue] = w->next_in_queue;
	if (!w->next_in_queue) {
		n->tail[queue] = 0;
	}
	unlink_of_line(m, i);
	n->in_flight--;
	m->device[emu_device_index(m, w->line)].in_flight--;
	m->now = emu_later(m->now, w->done);
	emu_medium_write(m, w->line, w->data, w->mask);
	record_done(m, w);
	nvw_rows_give(&n->writes, i);
	if (tag) {
		m->persist->done(m, tag); /* may send more writes */
	}
}

/* The queue whose oldest write is due first; among equal times, the write that was issued first. */
static bool next_due(const struct nvw_machine *m, emu_time t, uint32_t *ret_queue)
{
	const struct emu_nvram *const n = &m->nvram;
	const struct emu_nvram_write *best = NULL;

	NVW_FOR(q, n->queue_count) {
		const struct emu_nvram_write *const w = n->head[q] ? write_at(m, n->head[q]) : NULL;

		if (w && w->done <= t &&
			(!best || w->done < best->done ||
				(w->done == best->done && w->number < best->number))) {
			best = w;
			*ret_queue = q;
		}
	}
	return best;
}

void emu_nvram_complete(struct nvw_machine *m, emu_time t)
{
	struct emu_nvram *const n = &m->nvram;
	uint32_t queue;

	while (next_due(m, t, &queue)) {
		complete_first(m, queue);
	}
	n->next_done = UINT64_MAX;
	NVW_EACH(head, n->head, n->queue_count) {
		const uint32_t i = *head;

		if (i && write_at(m, i)->done < n->next_done) {
			n->next_done = write_at(m, i)->done;
		}
	}
}

/* When the L2 knows that the writes in flight to the device are durable. */
static emu_time device_settled_at(const struct nvw_machine *m, const struct emu_device *d)
{
	if (d->in_flight) {
		return emu_later(m->now, d->last_done + d->channels.link_ps);
	}
	return m->now;
}

emu_time emu_nvram_settled_at(const struct nvw_machine *m)
{
	emu_time t = m->now;

	NVW_EACH(device, m->device, m->device_count) {
		t = emu_later(t, device_settled_at(m, device));
	}
	return t;
}

void emu_nvram_count_wait(struct nvw_machine *m)
{
	NVW_EACH(device, m->device, m->device_count) {
		device->traffic.barrier_wait_ps += device_settled_at(m, device) - m->now;
	}
}

static void write_at_once(struct nvw_machine *m, struct emu_nvram_write *w)
{
	w->done = m->now;
	w->number = ++m->nvram.numbers;
	emu_medium_write(m, w->line, w->data, w->mask);
	record_issue(m, w);
	record_done(m, w);
}

void emu_nvram_store_through(
	struct nvw_machine *m, emu_line_id id, unsigned offset, const uint8_t *data, unsigned bytes)
{
	struct emu_nvram_write w = {.line = id, .mask = nvw_low_bits(bytes) << offset};

	memcpy(w.data + offset, data, bytes);
	write_at_once(m, &w);
}

void emu_nvram_catch_up(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask)
{
	const uint8_t *const durable = (const uint8_t *)emu_memory_behind(m, id);
	struct emu_nvram_write w = {.line = id};

	NVW_EACH_BIT(i, mask) {
		w.data[i] = data[i];
		w.mask |= (uint64_t)(durable[i] != data[i]) << i;
	}
	if (w.mask) {
		write_at_once(m, &w);
	}
}

/* Tears one write: each failure-atomic unit of it reaches the medium or not. */
static void tear(struct nvw_machine *m, const struct emu_nvram_write *w, struct nvw_random *random)
{
	const unsigned unit = (unsigned)m->config.nvram.atomicity;
	uint64_t survives = 0;

	for (unsigned at = 0; at < EMU_LINE; at += unit) {
		if (nvw_random_u64(random) & 1) {
			survives |= nvw_low_bits(unit) << at;
		}
	}
	emu_medium_write(m, w->line, w->data, w->mask & survives);
}

void emu_nvram_tear(struct nvw_machine *m, uint64_t seed)
{
	struct emu_nvram *const n = &m->nvram;
	struct nvw_random random = {nvw_mix64(seed)};

	NVW_EACH(head, n->head, n->queue_count) {
		for (uint32_t i = *head; i; i = write_at(m, i)->next_in_queue) {
			tear(m, write_at(m, i), &random);
		}
	}
}
