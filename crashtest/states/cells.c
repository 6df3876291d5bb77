/* SPDX-License-Identifier: BSD-3-Clause */
/* The uncertain part of a medium: cells with their versions, and stores in flight. See medium.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "core/array.h"

#include "files.h"
#include "limits.h"

/* Versions by stores to different bytes of a word; more are in order. Eight bytes, stored once, have 255. */
enum { VERSIONS_MAX = 256 };

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for the stores in flight");
}

int ct_array_grow(struct ct_array *a, uint64_t count, size_t element)
{
	NVW_DEEP_INVARIANT(element > 0);
	NVW_FAIL_IF(!nvw__room(&a->at, &a->capacity, count, element), NVW_E_MEMORY,
		"no memory for the stores in flight");
	return 0;
}

/* ---- Cells ------------------------------------------------------------------------------------------- */

int ct_medium_add_cell(struct ct_medium *m, nvw_off off, unsigned words, struct ct_cell **ret_cell)
{
	NVW_INVARIANT(!ct_medium_cell_at(m, off));
	NVW_GROWN(m->cell, m->cell_capacity, m->cell_count + 1, "no memory for the stores in flight");
	struct ct_cell *c = &m->cell[m->cell_count++];

	if (words > c->words) {
		c->capacity = 0; /* too narrow for reuse: add_version() allocates */
	}
	c->off = off;
	c->words = words;
	c->count = c->old_count = c->straight = c->beyond = 0;
	m->cell_of[off / m->unit_bytes] = m->cell_count;
	for (unsigned i = 0; i < words && i < 8; i++) {
		c->base[i] = ct_image_word(&m->image, off + 8 * i);
	}
	*ret_cell = c;
	return 0;
}

bool ct_resize(void *at, size_t bytes)
{
	void *const grown = realloc(*(void **)at, bytes);

	if (grown) {
		*(void **)at = grown;
	}
	return grown;
}

int ct_medium_add_version(struct ct_cell *c, uint64_t write, uint64_t **ret_content)
{
	NVW_DEEP_INVARIANT(c->words > 0);
	if (c->count == c->capacity) {
		const unsigned capacity = MAX(2 * c->capacity, 4);

		NVW_FAIL_IF(
			!ct_resize(&c->write, capacity * sizeof *c->write) ||
				!ct_resize(&c->content, (size_t)capacity * c->words * sizeof *c->content) ||
				!ct_resize(&c->made, capacity * sizeof *c->made),
			NVW_E_MEMORY, "no memory for the stores in flight");
		c->capacity = capacity;
	}
	c->write[c->count] = write;
	c->made[c->count] = (struct ct_version){.from = c->count, .bytes = UINT8_MAX};
	*ret_content = c->content + (size_t)c->count * c->words;
	c->count++;
	return 0;
}

/* Swaps with the last cell, so that the version memory stays in the array. */
static void remove_cell(struct ct_medium *m, struct ct_cell *c)
{
	NVW_INVARIANT(ct_medium_cell_at(m, c->off) == c);
	struct ct_cell *last = &m->cell[--m->cell_count];
	const struct ct_cell gone = *c;

	m->cell_of[gone.off / m->unit_bytes] = 0;
	if (c != last) {
		*c = *last;
		*last = gone;
		m->cell_of[c->off / m->unit_bytes] = (uint32_t)(c - m->cell) + 1;
	}
}

void ct_medium_drop_cells(struct ct_medium *m)
{
	NVW_EACH(cell, m->cell, m->cell_count) {
		m->cell_of[cell->off / m->unit_bytes] = 0;
	}
	m->cell_count = 0;
}

/* ---- Levels ------------------------------------------------------------------------------------------ */

bool ct_cell_has_of_bytes(const struct ct_cell *c, unsigned level, unsigned version)
{
	NVW_DEEP_INVARIANT(level <= c->count && version < c->count);
	if (level >= c->straight) {
		return version < c->straight || level > version;
	}
	while (level > 0 && c->write[level - 1] > c->write[version]) {
		level = c->made[level - 1].from;
	}
	return level > 0 && c->write[level - 1] == c->write[version];
}

bool ct_cell_orders(const struct ct_cell *c, unsigned a, unsigned b)
{
	NVW_DEEP_INVARIANT(a < c->count);
	NVW_DEEP_INVARIANT(b < c->count);
	return c->straight == 0 || (c->made[a].bytes & c->made[b].bytes) != 0;
}

/* Does the level have all stores to these bytes? */
static bool may_follow(const struct ct_cell *c, unsigned level, unsigned count, uint8_t bytes)
{
	NVW_DEEP_INVARIANT(count <= c->count);
	return !NVW_ANY_BELOW(
		v, count, ct_cell_is_first(c, v) && (c->made[v].bytes & bytes) && !ct_cell_has(c, level, v));
}

/* The level with the stores of this one and of the version, which has all before it and is newer than any of
 * them. */
static unsigned first_of_write(const struct ct_cell *c, unsigned version)
{
	unsigned v = version;

	NVW_DEEP_INVARIANT(version < c->count);
	while (v > 0 && c->write[v - 1] == c->write[version]) {
		v--;
	}
	return v;
}

static unsigned step(const struct ct_cell *c, unsigned level, unsigned version)
{
	unsigned v = first_of_write(c, version);

	while (c->made[v].from != level) {
		v++;
		NVW_INVARIANT(v < c->count && c->write[v] == c->write[version]);
	}
	return v + 1;
}

/* The level of the stores that are in a or in b; in both. */
static unsigned gather(const struct ct_cell *c, unsigned a, unsigned b, bool both)
{
	unsigned level = 0;

	NVW_FOR(v, c->count) {
		const bool in_a = ct_cell_has(c, a, v), in_b = ct_cell_has(c, b, v);

		if (ct_cell_is_first(c, v) && (both ? in_a && in_b : in_a || in_b)) {
			level = step(c, level, v);
		}
	}
	return level;
}

unsigned ct_cell_join(const struct ct_cell *c, unsigned a, unsigned b)
{
	NVW_DEEP_INVARIANT(a <= c->count && b <= c->count);
	if (c->straight == 0) {
		return MAX(a, b);
	}
	return gather(c, a, b, false);
}

unsigned ct_cell_meet(const struct ct_cell *c, unsigned a, unsigned b)
{
	NVW_DEEP_INVARIANT(a <= c->count && b <= c->count);
	if (c->straight == 0) {
		return MIN(a, b);
	}
	return gather(c, a, b, true);
}

/* The first version of a store is made from the least level that may be. */
unsigned ct_cell_with(const struct ct_cell *c, unsigned level, unsigned version)
{
	unsigned first = version;

	NVW_DEEP_INVARIANT(version < c->count);
	while (c->straight != 0 && first > 0 && c->write[first - 1] == c->write[version]) {
		first--;
	}
	return ct_cell_join(c, level, first + 1);
}

unsigned ct_cell_without(const struct ct_cell *c, unsigned level, unsigned version)
{
	unsigned kept = 0;

	NVW_DEEP_INVARIANT(version < c->count);
	if (c->straight == 0) {
		return MIN(level, version);
	}
	NVW_FOR(v, c->count) {
		const bool is_it = c->write[v] == c->write[version];

		if (ct_cell_is_first(c, v) && !is_it && ct_cell_has(c, level, v) &&
			may_follow(c, kept, v, c->made[v].bytes)) {
			kept = step(c, kept, v);
		}
	}
	return kept;
}

/* ---- Changes ----------------------------------------------------------------------------------------- */

static void no_room(void)
{
	fprintf(stderr, "nvwave: no memory for the changes of an instant\n");
	_exit(2);
}

/* One store often changes the word that the one before it changed. */
void ct_medium_note_word(struct ct_medium *m, nvw_off off)
{
	struct ct_array *const a = &m->changed_words;

	if (!m->notes_changes || (a->count > 0 && ((nvw_off *)a->at)[a->count - 1] == off)) {
		return;
	}
	if (CT_ADD(a, &off)) {
		no_room();
	}
}

static void note_unit(struct ct_medium *m, const struct ct_cell *c)
{
	for (unsigned i = 0; m->notes_changes && i < c->words; i++) {
		ct_medium_note_word(m, c->off + 8 * i);
	}
}

void ct_medium_note_acks(struct ct_medium *m, uint64_t first, uint64_t count)
{
	struct ct_array *const a = &m->changed_acks;

	if (!m->notes_changes) {
		return;
	}
	const struct ct_told told = {.first = first, .count = count};

	if (CT_ADD(a, &told)) {
		no_room();
	}
}

/* ---- Content ----------------------------------------------------------------------------------------- */

static void set_unit(struct ct_medium *m, const struct ct_cell *c, const uint64_t *content)
{
	NVW_FOR(i, c->words) {
		ct_image_set(&m->image, c->off + 8 * i, content[i]);
	}
}

/* Takes the bytes of the mask from one word, the others from another. */
static uint64_t mixed_word(uint64_t word, uint64_t other, uint8_t mask)
{
	uint64_t bits = 0;

	NVW_FOR(i, 8u) {
		bits |= (mask >> i & UINT64_C(1)) * 0xff << 8 * i;
	}
	return (word & bits) | (other & ~bits);
}

static int add_made(const struct ct_medium *m, struct ct_cell *c, uint64_t write, uint64_t word,
	const struct ct_version *made)
{
	const uint64_t from = ct_cell_word(m, c, made->from, c->off);
	uint64_t *content;

	NVW_DEEP_INVARIANT(made->from <= c->count);
	NVW_TRY(ct_medium_add_version(c, write, &content));
	c->made[c->count - 1] = *made;
	*content = mixed_word(word, from, made->bytes);
	return 0;
}

/* A store to bytes of a word makes a version of each that has all stores to these bytes. */
static int add_store(
	const struct ct_medium *m, struct ct_cell *c, uint64_t write, uint64_t word, uint8_t bytes)
{
	const unsigned count = c->count;
	struct ct_version made = {.from = count, .bytes = bytes};

	if (count == 0 || (c->straight == 0 && (c->made[count - 1].bytes & bytes))) {
		return add_made(m, c, write, word, &made);
	}
	if (count >= VERSIONS_MAX) {
		made.bytes = UINT8_MAX;
		c->beyond++;
		c->straight = MIN(c->straight, count);
		return add_made(m, c, write, word, &made);
	}
	c->straight = UINT32_MAX;
	for (made.from = 0; made.from <= count; made.from++) {
		if (may_follow(c, made.from, count, bytes)) {
			NVW_TRY(add_made(m, c, write, word, &made));
		}
	}
	return 0;
}

/* A store that changes nothing may yet come between stores to different bytes. */
static bool orders_others(const struct ct_medium *m, const struct ct_cell *c, uint64_t mask)
{
	if (!m->by_bytes || !c) {
		return false;
	}
	return NVW_ANY(made, c->made, c->count, made->bytes != mask);
}

static uint64_t *newest_content(const struct ct_cell *c)
{
	NVW_DEEP_INVARIANT(c->count > 0);
	return c->content + (size_t)(c->count - 1) * c->words;
}

/* A store makes this content of the unit. */
static int put_content(
	const struct ct_medium *m, struct ct_cell *c, uint64_t write, const uint64_t *after, uint8_t bytes)
{
	uint64_t *content;

	if (m->by_bytes) {
		return add_store(m, c, write, after[0], bytes);
	}
	if (m->joins && c->count > 0 && c->instruction == m->instruction) {
		c->write[c->count - 1] = write;
		content = newest_content(c);
	} else {
		NVW_TRY(ct_medium_add_version(c, write, &content));
	}
	memcpy(content, after, 8 * (size_t)c->words);
	return 0;
}

enum { UNIT_MAX = 4096 };

/* States to come may differ in the words that a store changes. */
static void vary(struct ct_medium *m, nvw_off off, unsigned bytes, const uint64_t *after, const void *before)
{
	for (unsigned i = 0; i < bytes; i += 8) {
		if (memcmp(after + i / 8, (const uint8_t *)before + i, 8) != 0) {
			ct_image_vary(&m->image, off + i);
		}
	}
}

/* The bytes of a unit that the mask of a line names, which begins at a byte of the unit. */
static int put_bytes(struct ct_medium *m, uint64_t write, nvw_off off, unsigned bytes, unsigned at,
	const uint8_t *data, uint64_t mask)
{
	struct ct_cell *c = ct_medium_cell_at(m, off);
	const void *before = m->image.rw + off;
	uint64_t after[UNIT_MAX / 8];

	if (c && c->count > 0) {
		before = newest_content(c);
	}
	memcpy(after, before, bytes);
	for (unsigned i = 0; i < NVW_LOG_LINE_BYTES && i < bytes; i++) {
		if (mask >> i & 1) {
			((uint8_t *)after)[at + i] = data[i];
		}
	}
	const bool may_order = ct_model_info(m->rules.model)->levels == CT_GRAPH || orders_others(m, c, mask);

	if (!may_order && !memcmp(after, before, bytes)) {
		return 0; /* its durability makes no difference */
	}
	vary(m, off, bytes, after, before);
	if (!c) {
		NVW_TRY(ct_medium_add_cell(m, off, bytes / 8, &c));
	}
	NVW_TRY(put_content(m, c, write, after, (uint8_t)mask));
	c->instruction = m->instruction;
	if (ct_keeps_all(m)) {
		set_unit(m, c, newest_content(c));
	}
	note_unit(m, c);
	m->changed = true;
	return 0;
}

/* The bytes of a line's mask that are of the unit at this place. */
static uint64_t mask_of_unit(const struct ct_medium *m, uint64_t mask, unsigned at)
{
	NVW_DEEP_INVARIANT(at < NVW_LOG_LINE_BYTES);
	return m->unit_bytes == 64 ? mask : mask >> at & 0xff;
}

static int put_unit(struct ct_medium *m, uint64_t write, nvw_off off, const uint8_t *data, uint64_t mask)
{
	return put_bytes(m, write, off, m->unit_bytes, 0, data, mask);
}

/* A line of a sector, or of a page of metadata. */
static int put_in_sector(
	struct ct_medium *m, uint64_t write, nvw_off line, const uint8_t *data, uint64_t mask)
{
	unsigned unit = m->unit_bytes, bytes = unit;

	if (line >= m->metadata) {
		unit = UNIT_MAX;
		bytes = ct_files_unit(m, line);
	}
	const nvw_off off = line & ~(nvw_off)(unit - 1);

	NVW_INVARIANT(line - off < bytes);
	return put_bytes(m, write, off, bytes, (unsigned)(line - off), data, mask);
}

int ct_medium_put(struct ct_medium *m, uint64_t write, nvw_off line, const uint8_t *data, uint64_t mask)
{
	if (m->unit_bytes > NVW_LOG_LINE_BYTES || line >= m->metadata) {
		return put_in_sector(m, write, line, data, mask);
	}
	for (unsigned at = 0; at < NVW_LOG_LINE_BYTES; at += m->unit_bytes) {
		const uint64_t its = mask_of_unit(m, mask, at);

		if (its != 0) {
			NVW_TRY(put_unit(m, write, line + at, data + at, its));
		}
	}
	return 0;
}

/* For the limits of stores that are still in flight. */
static void note_landed(struct ct_medium *m, uint64_t write)
{
	const struct ct_limits *const l = m->rules.limits;

	if (write < 1 || write > l->stores) {
		return;
	}
	const struct ct_limit *const at = &l->limit[write - 1];

	if (at->together != 0 && ct_array_grow(&m->landed, (uint64_t)l->groups + 1, 1) == 0) {
		((uint8_t *)m->landed.at)[at->together] = 1;
	}
	ct_orders_raise(m->landed_after, at->after, write);
}

/* The last of the stores of a level. */
static struct ct_last last_of(const struct ct_medium *m, const struct ct_cell *c, unsigned level)
{
	struct ct_last last = {0};

	NVW_DEEP_INVARIANT(level <= c->count);
	NVW_FOR(v, c->count) {
		if (!ct_cell_has(c, level, v)) {
			continue;
		}
		const struct ct_flight *const f = ct_medium_flight(m, c->write[v]);

		if (f->kernel != 0) {
			last.of_kernel = f->write;
		} else if (f->by.group > last.instruction) {
			last.instruction = f->by.group;
		}
	}
	return last;
}

/* Leaves the versions beyond a level, which is one of a chain. */
static void drop_below(struct ct_cell *c, unsigned level)
{
	NVW_INVARIANT(level <= c->count);
	memmove(c->write, c->write + level, (c->count - level) * sizeof *c->write);
	memmove(c->made, c->made + level, (c->count - level) * sizeof *c->made);
	memmove(c->content, c->content + (size_t)level * c->words,
		(size_t)(c->count - level) * c->words * sizeof *c->content);
	c->count -= level;
	c->old_count -= MIN(level, c->old_count);
	NVW_FOR(v, c->count) {
		c->made[v].from = v;
	}
}

/* Makes the versions of the stores that the level lacks anew; what it has is the content from now on. */
static void remake(struct ct_medium *m, struct ct_cell *c, unsigned level)
{
	struct ct_cell had = *c;

	NVW_INVARIANT(level >= 1 && level <= c->count);
	c->write = NULL;
	c->made = NULL;
	c->content = NULL;
	c->count = c->capacity = c->old_count = c->straight = c->beyond = 0;
	c->base[0] = had.content[level - 1];
	NVW_FOR(v, had.count) {
		if (ct_cell_is_first(&had, v) && !ct_cell_has(&had, level, v)) {
			if (add_store(m, c, had.write[v], had.content[v], had.made[v].bytes)) {
				fprintf(stderr, "nvwave: no memory for the versions of a word\n");
				_exit(2);
			}
			if (had.write[v] <= m->old_stores) {
				c->old_count = c->count;
			}
		}
	}
	free(had.write);
	free(had.made);
	free(had.content);
}

/* The least level with all writes up to this number to these bytes. */
static unsigned level_of(const struct ct_medium *m, const struct ct_cell *c, uint64_t write, uint64_t bytes)
{
	unsigned level = 0;

	for (unsigned v = 0; v < c->count && c->write[v] <= write; v++) {
		if (!m->by_bytes || (c->made[v].bytes & bytes)) {
			level = ct_cell_with(c, level, v);
		}
	}
	return level;
}

void ct_medium_complete(struct ct_medium *m, nvw_off off, uint64_t write, uint64_t bytes)
{
	struct ct_cell *c = ct_medium_cell_at(m, off);
	const unsigned level = c ? level_of(m, c, write, bytes) : 0;
	struct ct_last last;

	if (level == 0) {
		return;
	}
	if (m->completed) {
		last = last_of(m, c, level);
	}
	for (unsigned v = 0; m->rules.limits && v < c->count; v++) {
		if (ct_cell_has(c, level, v)) {
			note_landed(m, c->write[v]);
		}
	}
	note_unit(m, c);
	set_unit(m, c, c->content + (size_t)(level - 1) * c->words);
	if (c->straight == 0) {
		drop_below(c, level);
	} else {
		remake(m, c, level);
	}
	if (c->count == 0) {
		remove_cell(m, c);
	}
	if (m->completed) {
		m->completed(m, off, &last);
	}
}

void ct_medium_set_byte(struct ct_medium *m, nvw_off off, uint8_t value)
{
	struct ct_cell *c = ct_medium_cell_at(m, off);
	uint64_t word = ct_image_word(&m->image, off & ~(nvw_off)7);

	((uint8_t *)&word)[off & 7] = value;
	ct_medium_note_word(m, off & ~(nvw_off)7);
	ct_image_set(&m->image, off & ~(nvw_off)7, word);
	for (unsigned i = 0; c && i < c->count; i++) {
		((uint8_t *)(c->content + (size_t)i * c->words))[off - c->off] = value;
	}
}

static void set_level(struct ct_medium *m, const struct ct_cell *c, unsigned level)
{
	const bool newest = ct_keeps_all(m);

	NVW_INVARIANT(level <= c->count);
	if (newest && level == 0 && c->count > 0) {
		set_unit(m, c, c->base);
	} else if (level > 0 && !(newest && level == c->count)) {
		set_unit(m, c, c->content + (size_t)(level - 1) * c->words);
	}
}

void ct_medium_set_levels(struct ct_medium *m, const unsigned *levels)
{
	/* Found while the image of the content is the durable one. */
	const unsigned *const settled = ct_files_settle(m, levels);

	NVW_FOR(i, m->cell_count) {
		const bool is_metadata = settled && m->cell[i].off >= m->metadata;

		set_level(m, &m->cell[i], is_metadata ? settled[i] : levels[i]);
	}
}

/* ---- Flights ------------------------------------------------------------------------------------------ */

int ct_medium_add_flight(struct ct_medium *m, const struct ct_flight *flight)
{
	NVW_DEEP_INVARIANT(m->flight_head <= m->flight_count);
	if (m->flight_count == m->flight_capacity) {
		if (m->flight_head > m->flight_count / 2) {
			m->flight_count -= m->flight_head;
			memmove(m->flight, m->flight + m->flight_head, m->flight_count * sizeof *m->flight);
			m->flight_head = 0;
		} else if (!NVW_ROOM(m->flight, m->flight_capacity, m->flight_count + 1)) {
			return no_memory();
		}
	}
	m->flight[m->flight_count++] = *flight;
	return 0;
}

struct ct_flight *ct_medium_flight(const struct ct_medium *m, uint64_t write)
{
	NVW_INVARIANT(m->stores - write < m->flight_count - m->flight_head);
	struct ct_flight *const f = &m->flight[m->flight_count - 1 - (m->stores - write)];

	NVW_INVARIANT(f->write == write);
	return f;
}

static void trim_flights(struct ct_medium *m)
{
	while (m->flight_head < m->flight_count && m->flight[m->flight_head].done) {
		m->flight_head++;
	}
}

void ct_medium_land(struct ct_medium *m, struct ct_flight *f)
{
	for (unsigned at = 0; at < NVW_LOG_LINE_BYTES && !f->done; at += m->unit_bytes) {
		if (mask_of_unit(m, f->mask, at) != 0) {
			ct_medium_complete(m, f->off + at, f->write, f->mask >> at);
		}
	}
	f->done = true;
	trim_flights(m);
}

void ct_medium_land_all(struct ct_medium *m)
{
	for (uint64_t i = m->flight_head; i < m->flight_count; i++) {
		if (!m->flight[i].done) {
			ct_medium_land(m, &m->flight[i]);
		}
	}
	ct_array_zero_numbers(&m->newest);
}
