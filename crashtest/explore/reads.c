/* SPDX-License-Identifier: BSD-3-Clause */
/* Read-based pruning. See reads.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bits.h"
#include "core/order.h"
#include "core/bounds.h"

#include "reads.h"

#define CT_FIXED (1u << 31)

enum { BRANCHES_MAX = 1 << 16 };

static bool is_read(const struct ct_medium *m, const struct ct_cell *c, uint32_t *ret_rank)
{
	const struct nvw_pool_reads *const reads = m->image.reads;

	for (uint64_t word = c->off / 8; word < c->off / 8 + c->words; word++) {
		if (nvw_has_bit(reads->words, word)) {
			*ret_rank = reads->rank[word / 64];
			return true;
		}
	}
	return false;
}

/* Lists the cells that were read, by number, and in which order. */
static void list_cells(struct ct_reads *r, const struct ct_medium *m)
{
	r->looked = 0;
	NVW_FOR(i, r->cells) {
		if (is_read(m, &m->cell[i], &r->rank[i])) {
			r->list[r->looked++] = i;
		}
	}
}

void ct_reads_free(struct ct_reads *r)
{
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
	r->branches = 0;
	NVW_FAIL_IF(!ct_resize(&r->leaf, (m->cell_count + 1) * sizeof *r->leaf) ||
			    !ct_resize(&r->list, (m->cell_count + 1) * sizeof *r->list) ||
			    !ct_resize(&r->rank, (m->cell_count + 1) * sizeof *r->rank),
		NVW_E_MEMORY, "no memory for the reads of recovery");
	return 0;
}

/* ---- Tree ---------------------------------------------------------------------------------------------- */

bool ct_reads_are_many(struct ct_reads *r, const struct ct_medium *m, uint64_t budget)
{
	double states = 0;

	NVW_INVARIANT(r->instant == m->instant);
	list_cells(r, m);
	NVW_EACH(list, r->list, r->looked) {
		states += log2(m->cell[*list].count + 1.0);
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

	NVW_INVARIANT(cell < r->cells);
	NVW_FAIL_IF(r->branches >= BRANCHES_MAX, NVW_E_MEMORY, "too many branches of reads");
	NVW_TRY(ct_array_grow(&r->branch, (r->branches + 1) * width, sizeof(unsigned)));
	unsigned *const to = branch_at(r, r->branches++);

	memcpy(to, from, r->cells * sizeof *to);
	to[cell] = level | CT_FIXED;
	return 0;
}

int ct_tree_begin(struct ct_reads *r, const struct ct_medium *m)
{
	NVW_INVARIANT(r->cells == m->cell_count);
	NVW_TRY(ct_array_grow(&r->branch, r->cells + 1, sizeof(unsigned)));
	NVW_EACH(cell, m->cell, m->cell_count) {
		NVW_FAIL_IF(cell->beyond > 0, NVW_E_MEMORY, "too many versions of a word");
	}
	memset(branch_at(r, 0), 0, (r->cells + 1) * sizeof(unsigned));
	r->branches = 1;
	return 0;
}

bool ct_tree_next(struct ct_reads *r, const struct ct_medium *m, unsigned *levels)
{
	if (r->branches == 0) {
		return false;
	}
	memcpy(r->leaf, branch_at(r, --r->branches), r->cells * sizeof *r->leaf);
	NVW_FOR(i, r->cells) {
		levels[i] = r->leaf[i] & ~CT_FIXED;
	}
	return true;
}

static int by_rank(const void *a, const void *b, void *rank)
{
	const uint32_t *const of = rank, x = of[*(const unsigned *)a], y = of[*(const unsigned *)b];

	return NVW_OR(NVW_ORDER(x, y), nvw_by_u32(a, b));
}

static int add_siblings(struct ct_reads *r, const struct ct_medium *m, unsigned cell, unsigned now)
{
	for (unsigned level = 0; !(now & CT_FIXED) && level <= m->cell[cell].count; level++) {
		if (level != now) {
			NVW_TRY(push(r, r->leaf, cell, level));
		}
	}
	return 0;
}

/* The states below the leaf that agree in the cells read are covered; the others differ in the
 * first cell read, or agree in the first and differ in the second, and so on. */
int ct_tree_learn(struct ct_reads *r, const struct ct_medium *m)
{
	NVW_INVARIANT(r->cells == m->cell_count);
	list_cells(r, m);
	qsort_r(r->list, r->looked, sizeof *r->list, by_rank, r->rank);
	NVW_FOR(i, r->looked) {
		const unsigned cell = r->list[i], now = r->leaf[cell];

		NVW_TRY(add_siblings(r, m, cell, now));
		r->leaf[cell] = now | CT_FIXED;
	}
	return 0;
}
