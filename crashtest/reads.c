/* SPDX-License-Identifier: BSD-3-Clause */
/* Pruning by what recovery and check look at. See reads.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/random.h>

#include "reads.h"

#define CT_FIXED (1u << 31)

enum { BRANCHES_MAX = 1 << 16 };

static bool is_read(const struct ct_medium *m, const struct ct_cell *c, uint32_t *ret_rank)
{
	const struct nvw_pool_reads *const reads = m->image.reads;

	for (uint64_t word = c->off / 8; word < c->off / 8 + c->words; word++) {
		if (reads->words[word / 64] >> word % 64 & 1) {
			*ret_rank = reads->rank[word / 64];
			return true;
		}
	}
	return false;
}

/* The cells that were looked at, by number, and when. */
static void list_cells(struct ct_reads *r, const struct ct_medium *m)
{
	r->looked = 0;
	for (unsigned i = 0; i < r->cells; i++) {
		if (is_read(m, &m->cell[i], &r->rank[i])) {
			r->list[r->looked++] = i;
		}
	}
}

void ct_reads_free(struct ct_reads *r)
{
	for (unsigned i = 0; i < CT_READ_SETS; i++) {
		free(r->set[i].cell);
	}
	free(r->passed.at);
	free(r->branch.at);
	free(r->leaf);
	free(r->list);
	free(r->rank);
	*r = (struct ct_reads){0};
}

int ct_reads_at(struct ct_reads *r, const struct ct_medium *m)
{
	if (r->instant == m->instant) {
		return 0;
	}
	r->instant = m->instant;
	r->cells = m->cell_count;
	r->sets = 0;
	r->branches = 0;
	if (r->passed.at != NULL) {
		memset(r->passed.at, 0, r->passed.capacity * sizeof(uint64_t));
	}
	r->passed.count = 0;
	unsigned *leaf = realloc(r->leaf, (m->cell_count + 1) * sizeof *leaf);

	r->leaf = leaf ? leaf : r->leaf;
	unsigned *list = realloc(r->list, (m->cell_count + 1) * sizeof *list);

	r->list = list ? list : r->list;
	uint32_t *rank = realloc(r->rank, (m->cell_count + 1) * sizeof *rank);

	r->rank = rank ? rank : r->rank;
	return leaf && list && rank ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for what recovery looks at");
}

/* ---- Known ------------------------------------------------------------------------------------------------------ */

static uint64_t key_of(unsigned set, const struct ct_read_set *s, const unsigned *levels)
{
	uint64_t key = nvw_mix64(set + 1);

	for (unsigned i = 0; i < s->count; i++) {
		key = nvw_mix64(key ^ ((uint64_t)s->cell[i] << 32 | levels[s->cell[i]]));
	}
	return key | 1;
}

static uint64_t *place_of(const struct ct_reads *r, uint64_t key)
{
	uint64_t *const table = r->passed.at;
	uint64_t i = (key >> 1) & (r->passed.capacity - 1);

	while (table[i] != 0 && table[i] != key) {
		i = (i + 1) & (r->passed.capacity - 1);
	}
	return &table[i];
}

bool ct_reads_know(const struct ct_reads *r, const struct ct_medium *m, const unsigned *levels)
{
	(void)m;
	for (unsigned i = 0; i < r->sets && r->passed.count > 0; i++) {
		const uint64_t key = key_of(i, &r->set[i], levels);

		if (*place_of(r, key) == key) {
			return true;
		}
	}
	return false;
}

static void add_passed(struct ct_reads *r, uint64_t key)
{
	if (2 * r->passed.count >= r->passed.capacity) {
		const struct ct_array old = r->passed;

		r->passed = (struct ct_array){0};
		if (ct_array_grow(&r->passed, old.capacity ? 2 * old.capacity : 1024, sizeof key)) {
			r->passed = old;
			return; /* known less is no harm */
		}
		for (uint64_t i = 0; i < old.capacity; i++) {
			const uint64_t moved = ((const uint64_t *)old.at)[i];

			if (moved != 0) {
				*place_of(r, moved) = moved;
				r->passed.count++;
			}
		}
		free(old.at);
	}
	uint64_t *const place = place_of(r, key);

	r->passed.count += *place == 0;
	*place = key;
}

/* The number of the set of cells that the image says were looked at; CT_READ_SETS if there is no room for it. */
static unsigned find_set(struct ct_reads *r, const struct ct_medium *m)
{
	struct ct_read_set *const s = r->sets < CT_READ_SETS ? &r->set[r->sets] : NULL;

	list_cells(r, m);
	if (s == NULL || r->looked == r->cells) { /* who looks at everything stands for itself alone */
		return CT_READ_SETS;
	}
	if (s->capacity < r->cells) {
		unsigned *cell = realloc(s->cell, r->cells * sizeof *cell);

		if (cell == NULL) {
			return CT_READ_SETS;
		}
		s->cell = cell;
		s->capacity = r->cells;
	}
	memcpy(s->cell, r->list, r->looked * sizeof *s->cell);
	s->count = r->looked;
	for (unsigned i = 0; i < r->sets; i++) {
		if (r->set[i].count == s->count && memcmp(r->set[i].cell, s->cell, s->count * sizeof *s->cell) == 0) {
			return i;
		}
	}
	return r->sets++;
}

void ct_reads_passed(struct ct_reads *r, const struct ct_medium *m, const unsigned *levels)
{
	const unsigned set = m->image.reads != NULL ? find_set(r, m) : CT_READ_SETS;

	if (set < CT_READ_SETS) {
		add_passed(r, key_of(set, &r->set[set], levels));
	}
}

/* ---- Tree ------------------------------------------------------------------------------------------------------- */

bool ct_reads_are_many(struct ct_reads *r, const struct ct_medium *m, uint64_t budget)
{
	double states = 0;

	list_cells(r, m);
	for (unsigned i = 0; i < r->looked; i++) {
		states += log2(m->cell[r->list[i]].count + 1.0);
	}
	return states > log2((double)budget + 1) + 1;
}

static unsigned *branch_at(const struct ct_reads *r, uint64_t i)
{
	return (unsigned *)r->branch.at + i * (r->cells + 1);
}

static int push(struct ct_reads *r, const unsigned *from, unsigned cell, unsigned level)
{
	const uint64_t width = r->cells + 1;
	const int error = r->branches < BRANCHES_MAX ?
				  ct_array_grow(&r->branch, (r->branches + 1) * width, sizeof(unsigned)) :
				  nvw_fail(NVW_E_MEMORY, "too many branches");

	if (!error) {
		unsigned *const to = branch_at(r, r->branches++);

		memcpy(to, from, r->cells * sizeof *to);
		to[cell] = level | CT_FIXED;
	}
	return error;
}

int ct_tree_begin(struct ct_reads *r, const struct ct_medium *m)
{
	const int error = ct_array_grow(&r->branch, r->cells + 1, sizeof(unsigned));

	(void)m;
	if (error) {
		return error;
	}
	memset(branch_at(r, 0), 0, (r->cells + 1) * sizeof(unsigned));
	r->branches = 1;
	return 0;
}

bool ct_tree_next(struct ct_reads *r, const struct ct_medium *m, unsigned *levels)
{
	(void)m;
	if (r->branches == 0) {
		return false;
	}
	memcpy(r->leaf, branch_at(r, --r->branches), r->cells * sizeof *r->leaf);
	for (unsigned i = 0; i < r->cells; i++) {
		levels[i] = r->leaf[i] & ~CT_FIXED;
	}
	return true;
}

static int by_rank(const void *a, const void *b, void *rank)
{
	const uint32_t x = ((const uint32_t *)rank)[*(const unsigned *)a], y = ((const uint32_t *)rank)[*(const unsigned *)b];

	return x != y ? (x < y ? -1 : 1) : (*(const unsigned *)a > *(const unsigned *)b) - (*(const unsigned *)a < *(const unsigned *)b);
}

/* Of the states below the leaf: those that agree in the cells looked at are done; the others differ in the first that
 * was looked at, or agree in the first and differ in the second, and so on. */
int ct_tree_learn(struct ct_reads *r, const struct ct_medium *m)
{
	int error = 0;

	list_cells(r, m);
	qsort_r(r->list, r->looked, sizeof *r->list, by_rank, r->rank);
	for (unsigned i = 0; i < r->looked && !error; i++) {
		const unsigned cell = r->list[i], now = r->leaf[cell];

		for (unsigned level = 0; !(now & CT_FIXED) && level <= m->cell[cell].count && !error; level++) {
			error = level == now ? 0 : push(r, r->leaf, cell, level);
		}
		r->leaf[cell] = now | CT_FIXED;
	}
	return error;
}
