/* SPDX-License-Identifier: BSD-3-Clause */
/* The NVRAM of a logged run, replayed. See medium.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "medium.h"

/* ---- Cells ------------------------------------------------------------------------------------------- */

static void *grown(void *array, size_t *capacity, size_t element)
{
	const size_t n = *capacity ? 2 * *capacity : 16;
	void *p = realloc(array, n * element);

	if (p != NULL) {
		*capacity = n;
	}
	return p;
}

static struct ct_cell *cell_at(struct ct_medium *m, nvw_off off)
{
	const uint32_t i = m->cell_of[off / m->unit_bytes];

	return i ? &m->cell[i - 1] : NULL;
}

static struct ct_cell *add_cell(struct ct_medium *m, nvw_off off)
{
	if (m->cell_count == m->cell_capacity) {
		size_t capacity = m->cell_capacity;
		struct ct_cell *cell = grown(m->cell, &capacity, sizeof *cell);

		if (cell == NULL) {
			return NULL;
		}
		memset(cell + m->cell_capacity, 0, (capacity - m->cell_capacity) * sizeof *cell);
		m->cell = cell;
		m->cell_capacity = (unsigned)capacity;
	}
	struct ct_cell *c = &m->cell[m->cell_count++];

	c->off = off;
	c->count = c->old_count = 0;
	m->cell_of[off / m->unit_bytes] = m->cell_count;
	return c;
}

/* Swaps with the last, so that its memory for versions stays in the array. */
static void remove_cell(struct ct_medium *m, struct ct_cell *c)
{
	struct ct_cell *last = &m->cell[--m->cell_count];
	const struct ct_cell gone = *c;

	m->cell_of[gone.off / m->unit_bytes] = 0;
	if (c != last) {
		*c = *last;
		*last = gone;
		m->cell_of[c->off / m->unit_bytes] = (uint32_t)(c - m->cell) + 1;
	}
}

/* The unit's content after all that is in flight to it. */
static void newest(const struct ct_medium *m, const struct ct_cell *c, nvw_off off, uint64_t *ret_word)
{
	const void *from = c && c->count ? (const void *)c->version[c->count - 1].word : m->image.rw + off;

	memcpy(ret_word, from, m->unit_bytes);
}

static int add_version(struct ct_medium *m, uint64_t write, nvw_off off, const uint8_t *data, uint64_t mask)
{
	struct ct_version v = {.write = write};
	uint64_t before[8];
	struct ct_cell *c = cell_at(m, off);

	newest(m, c, off, before);
	memcpy(v.word, before, m->unit_bytes);
	for (unsigned i = 0; i < m->unit_bytes; i++) {
		if (mask >> i & 1) {
			((uint8_t *)v.word)[i] = data[i];
		}
	}
	if (memcmp(v.word, before, m->unit_bytes) == 0) {
		return 0; /* makes no difference whether it is durable */
	}
	if (c == NULL) {
		c = add_cell(m, off);
	}
	if (c != NULL && c->count == c->capacity) {
		size_t capacity = c->capacity;
		struct ct_version *version = grown(c->version, &capacity, sizeof *version);

		c->version = version ? version : c->version;
		c->capacity = (unsigned)capacity;
	}
	if (c == NULL || c->count == c->capacity) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the writes in flight");
	}
	c->version[c->count++] = v;
	m->changed = true;
	return 0;
}

static void set_unit(struct ct_medium *m, nvw_off off, const uint64_t *word)
{
	for (unsigned i = 0; i < m->unit_bytes / 8; i++) {
		ct_image_set(&m->image, off + 8 * i, word[i]);
	}
}

/* Write number write to the unit is durable, and with it what was issued to it before. */
static void complete(struct ct_medium *m, nvw_off off, uint64_t write)
{
	struct ct_cell *c = cell_at(m, off);
	unsigned n = 0;

	while (c != NULL && n < c->count && c->version[n].write <= write) {
		n++;
	}
	if (n == 0) {
		return;
	}
	set_unit(m, off, c->version[n - 1].word);
	memmove(c->version, c->version + n, (c->count - n) * sizeof *c->version);
	c->count -= n;
	c->old_count -= n < c->old_count ? n : c->old_count;
	if (c->count == 0) {
		remove_cell(m, c);
	}
}

/* ---- Records ------------------------------------------------------------------------------------------ */

static int apply_issue(struct ct_medium *m, const struct nvw_log_record *r)
{
	if (m->flight_count == m->flight_capacity) {
		size_t capacity = m->flight_capacity;
		struct ct_flight *flight;

		if (m->flight_head > m->flight_count / 2) {
			m->flight_count -= m->flight_head;
			memmove(m->flight, m->flight + m->flight_head, m->flight_count * sizeof *m->flight);
			m->flight_head = 0;
		} else if ((flight = grown(m->flight, &capacity, sizeof *flight)) != NULL) {
			m->flight = flight;
			m->flight_capacity = capacity;
		} else {
			return nvw_fail(NVW_E_MEMORY, "no memory for the writes in flight");
		}
	}
	m->flight[m->flight_count++] =
		(struct ct_flight){.write = r->issue.write, .off = r->issue.off, .mask = r->issue.mask};
	for (unsigned at = 0; at < NVW_LOG_LINE_BYTES; at += m->unit_bytes) {
		const uint64_t unit_mask = m->unit_bytes == 64 ? r->issue.mask : r->issue.mask >> at & 0xff;
		const int error = unit_mask ? add_version(m, r->issue.write, r->issue.off + at,
						      r->issue.data + at, unit_mask) :
					      0;

		if (error) {
			return error;
		}
	}
	return 0;
}

static int apply_done(struct ct_medium *m, const struct nvw_log_record *r)
{
	uint64_t i = m->flight_head;

	while (i < m->flight_count && (m->flight[i].write != r->done.write || m->flight[i].done)) {
		i++;
	}
	if (i == m->flight_count) {
		return nvw_fail(NVW_E_DAMAGED, "persist log: write %llu completes but was not issued",
			(unsigned long long)r->done.write);
	}
	struct ct_flight *f = &m->flight[i];

	for (unsigned at = 0; at < NVW_LOG_LINE_BYTES; at += m->unit_bytes) {
		if (m->unit_bytes == 64 ? f->mask != 0 : (f->mask >> at & 0xff) != 0) {
			complete(m, f->off + at, f->write);
		}
	}
	f->done = true;
	while (m->flight_head < m->flight_count && m->flight[m->flight_head].done) {
		m->flight_head++;
	}
	return 0;
}

/* One byte of the host: durable now, and newer than what is in flight. */
static void host_byte(struct ct_medium *m, nvw_off off, uint8_t value)
{
	struct ct_cell *c = cell_at(m, off);
	uint64_t word = ct_image_word(&m->image, off & ~(nvw_off)7);

	((uint8_t *)&word)[off & 7] = value;
	ct_image_set(&m->image, off & ~(nvw_off)7, word);
	for (unsigned i = 0; c != NULL && i < c->count; i++) {
		((uint8_t *)c->version[i].word)[off - c->off] = value;
	}
}

static int apply_host(struct ct_medium *m, const struct nvw_log_record *r)
{
	for (uint32_t i = 0; i < r->host.bytes; i++) {
		host_byte(m, r->host.off + i, r->host.data[i]);
	}
	m->changed = m->obliged = true;
	return 0;
}

static int apply_ack(struct ct_medium *m, const struct nvw_log_record *r)
{
	m->changed = m->obliged = m->obliged_by_ack = true;
	return nvw__acks_add(&m->acks, r->ack.first, r->ack.count);
}

static int apply(struct ct_medium *m, const struct nvw_log_record *r)
{
	static int (*const how[NVW_LOG_END + 1])(struct ct_medium *, const struct nvw_log_record *) = {
		[NVW_LOG_ISSUE] = apply_issue,
		[NVW_LOG_DONE] = apply_done,
		[NVW_LOG_HOST] = apply_host,
		[NVW_LOG_ACK] = apply_ack,
	};

	if (m->seen != NULL) {
		m->seen(m->context, m, r);
	}
	m->time_ps = r->time_ps;
	m->record++;
	const int error = how[r->kind] ? how[r->kind](m, r) : 0;

	ct_image_commit(&m->image);
	return error;
}

/* The reader's buffers hold data only until its next call. */
static void keep_pending(struct ct_medium *m, const struct nvw_log_record *r)
{
	m->pending = *r;
	if (r->kind == NVW_LOG_HOST) {
		memcpy(m->pending_line, r->host.data, r->host.bytes);
		m->pending.host.data = (const uint8_t *)m->pending_line;
	}
	m->has_pending = true;
}

static void leave_instant(struct ct_medium *m)
{
	for (unsigned i = 0; i < m->cell_count; i++) {
		m->cell[i].old_count = m->cell[i].count;
	}
	m->changed = m->obliged = m->obliged_by_ack = false;
}

int ct_medium_next(struct ct_medium *m)
{
	struct nvw_log_record r;
	int error;

	if (m->at_end) {
		return 0;
	}
	if (m->instant > 0) {
		leave_instant(m);
	}
	if (m->has_pending) {
		m->has_pending = false;
		error = apply(m, &m->pending);
		if (error) {
			return error;
		}
	}
	while ((error = nvw_log_next(m->reader, &r)) == 1) {
		if (m->record == m->first_record) {
			m->changed = m->obliged = true;
		}
		if ((r.kind == NVW_LOG_DONE || r.kind == NVW_LOG_HOST) && m->changed &&
			m->record >= m->first_record) {
			keep_pending(m, &r);
			m->instant++;
			return 1;
		}
		error = apply(m, &r);
		if (error) {
			return error;
		}
	}
	if (error < 0) {
		return error;
	}
	m->at_end = true;
	if (m->changed && m->record >= m->first_record) {
		m->instant++;
		return 1;
	}
	return 0;
}

/* ---- States -------------------------------------------------------------------------------------------- */

struct ct_states ct_medium_states(const struct ct_medium *m)
{
	struct ct_states s = {0};

	for (unsigned i = 0; i < m->cell_count; i++) {
		s.possible_log2 += log2(m->cell[i].count + 1.0);
		s.old_log2 += log2(m->cell[i].old_count + 1.0);
	}
	if (m->obliged) {
		s.old_log2 = -1;
	}
	return s;
}

void ct_medium_apply(struct ct_medium *m, const unsigned *levels)
{
	for (unsigned i = 0; i < m->cell_count; i++) {
		if (levels[i] > 0) {
			set_unit(m, m->cell[i].off, m->cell[i].version[levels[i] - 1].word);
		}
	}
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

int ct_medium_create(int log_fd, const void *initial, uint64_t bytes, uint64_t first_record,
	struct ct_medium *ret_medium)
{
	struct ct_medium m = {.first_record = first_record};
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &m.reader);

	if (error) {
		return error;
	}
	m.unit_bytes = nvw_log_info(m.reader)->atomicity;
	if (nvw_log_info(m.reader)->pool_bytes != bytes || bytes % m.unit_bytes != 0) {
		nvw_log_reader_close(m.reader);
		return nvw_fail(NVW_E_INPUT, "persist log: expected one of a pool of %llu bytes, found %llu",
			(unsigned long long)bytes, (unsigned long long)nvw_log_info(m.reader)->pool_bytes);
	}
	error = ct_image_create(initial, bytes, &m.image);
	if (error) {
		nvw_log_reader_close(m.reader);
		return error;
	}
	m.cell_of = calloc(bytes / m.unit_bytes, sizeof *m.cell_of);
	*ret_medium = m;
	if (m.cell_of == NULL) {
		ct_medium_destroy(ret_medium);
		return nvw_fail(NVW_E_MEMORY, "no memory for the writes in flight");
	}
	return 0;
}

void ct_medium_destroy(struct ct_medium *m)
{
	nvw_log_reader_close(m->reader);
	ct_image_destroy(&m->image);
	nvw__acks_free(&m->acks);
	for (unsigned i = 0; i < m->cell_capacity; i++) {
		free(m->cell[i].version);
	}
	free(m->cell);
	free(m->cell_of);
	free(m->flight);
	*m = (struct ct_medium){0};
}
