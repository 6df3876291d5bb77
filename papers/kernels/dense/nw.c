/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nw: Needleman-Wunsch alignment of two sequences. The score of a pair of prefixes is the best of: both
 * advance, which adds the similarity of their next letters, or one advances and pays for a gap. Scores of a
 * diagonal depend on the two previous diagonals: one launch per diagonal.
 *
 * With a scratchpad there is one launch per diagonal of blocks, as in Rodinia: a work-group loads its block's
 * similarities and the scores around it, computes diagonal by diagonal with barriers between them, and stores
 * the block.
 */
#include "dense.h"

enum { SIZE };
/* size x size; (size + 1) x (size + 1), where row and column 0 belong to the empty prefixes. */
enum { SIMILARITY, SCORES };
enum { LETTERS = 24, GAP = 10 };
enum { BLOCK = 16 }; /* rows and columns of a block */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "512", "letters of either sequence"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

static void nw_shape(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];

	dense_read_only(p, SIMILARITY, DENSE_INT32, n * n, "similarity");
	dense_written(p, SCORES, DENSE_INT32, (n + 1) * (n + 1), "scores");
}

/* Similarities of letters, symmetric: -4 to 3 for different ones, 4 to 11 for equal ones. */
static void draw_alphabet(struct nvw_random *random, int32_t alphabet[LETTERS][LETTERS])
{
	NVW_FOR(i, LETTERS) {
		NVW_FOR(j, i) {
			alphabet[i][j] = alphabet[j][i] = (int32_t)nvw_random_below(random, 8) - 4;
		}
		alphabet[i][i] = (int32_t)nvw_random_below(random, 8) + 4;
	}
}

/* The letter at a position is a function of sequence and position only. */
static unsigned letter(uint64_t sequence, uint64_t place)
{
	return (unsigned)(nvw_mix64(sequence + place) % LETTERS);
}

static void nw_fill(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	const uint64_t first = nvw_random_u64(&p->random), second = nvw_random_u64(&p->random);
	int32_t *const similarity = p->input[SIMILARITY], *const scores = p->input[SCORES];
	int32_t alphabet[LETTERS][LETTERS];

	assert(p->array[SCORES].count == (n + 1) * (n + 1));
	draw_alphabet(&p->random, alphabet);
	NVW_FOR(y, n) {
		NVW_FOR(x, n) {
			similarity[y * n + x] = alphabet[letter(first, y)][letter(second, x)];
		}
	}
	for (uint64_t i = 1; i <= n; i++) {
		scores[i] = scores[i * (n + 1)] = -(int32_t)i * GAP;
	}
}

static inline int32_t most(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static inline int32_t best(int32_t both, int32_t above, int32_t left, int32_t similarity)
{
	return most(both + similarity, most(above, left) - GAP);
}

/* The cells (first_row + i, diagonal - first_row - i) for i < cells; rows and columns from 1. */
struct args {
	const int32_t *similarity;
	int32_t *scores;
	uint64_t size, diagonal, first_row, cells;
};

DENSE_ITEMS(nw_diagonal, a, id, a->cells)
{
	const uint64_t row = a->first_row + id, column = a->diagonal - row, line = a->size + 1;
	int32_t *const score = a->scores + row * line + column;
	const int32_t both = nvw_load(score - line - 1), above = nvw_load(score - line);
	const int32_t left = nvw_load(score - 1);
	const int32_t similarity = nvw_load_read_only(&a->similarity[(row - 1) * a->size + column - 1]);

	nvw_store(score, best(both, above, left, similarity));
}

/* The blocks (first_row + i, diagonal - first_row - i) for i < work-groups; rows and columns of blocks from
 * 0. */
struct block_args {
	const int32_t *similarity;
	int32_t *scores;
	uint64_t size, diagonal, first_row;
	struct scratchpad *scratchpads;
};

/* Row and column 0 are the scores above and left of the block. */
struct scratchpad {
	int32_t scores[BLOCK + 1][BLOCK + 1], similarity[BLOCK][BLOCK];
};

/* A work-group's block; cells are counted from 0. */
static inline struct dense_block block_of(const struct block_args *a)
{
	const uint64_t row = a->first_row + nvw_group_id();

	return dense_block(row * BLOCK, (a->diagonal - row) * BLOCK, BLOCK, a->size, a->size);
}

static void keep_block(const struct block_args *a, struct scratchpad *pad, struct dense_block b)
{
	const uint64_t line = a->size + 1;
	const int32_t *const corner = a->scores + b.top * line + b.left;

	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (row < b.rows && column < b.columns) {
			pad->similarity[row][column] =
				nvw_load_read_only(&a->similarity[(b.top + row) * a->size + b.left + column]);
		}
	}
	for (uint64_t i = nvw_local_id(); i <= BLOCK; i += nvw_group_size()) {
		if (i <= b.columns) {
			pad->scores[0][i] = nvw_load(corner + i);
		}
		if (i > 0 && i <= b.rows) {
			pad->scores[i][0] = nvw_load(corner + i * line);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
}

DENSE_KERNEL(nw_block, const struct block_args, a)
{
	struct scratchpad *const pad = a->scratchpads + nvw_group_id();
	const struct dense_block b = block_of(a);

	keep_block(a, pad, b);
	for (uint64_t diagonal = 0; diagonal < 2 * BLOCK - 1; diagonal++) {
		for (uint64_t row = nvw_local_id(); row < b.rows && row <= diagonal;
			row += nvw_group_size()) {
			const uint64_t column = diagonal - row;

			if (column < b.columns) {
				pad->scores[row + 1][column + 1] =
					best(pad->scores[row][column], pad->scores[row][column + 1],
						pad->scores[row + 1][column], pad->similarity[row][column]);
			}
		}
		nvw_barrier(NVW_WORKGROUP);
	}
	DENSE_SHARE(uint64_t, i, BLOCK * BLOCK) {
		const uint64_t row = i / BLOCK, column = i % BLOCK;

		if (row < b.rows && column < b.columns) {
			nvw_store(&a->scores[(b.top + row + 1) * (a->size + 1) + b.left + column + 1],
				pad->scores[row + 1][column + 1]);
		}
	}
}

static int run_with_scratchpads(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE], blocks = u64_parts(n, BLOCK);

	NVW_TRY(dense_scratchpads(p, sizeof(struct scratchpad), blocks * p->group_size));
	for (uint64_t diagonal = 0; diagonal <= 2 * (blocks - 1); diagonal++) {
		const uint64_t first = diagonal < blocks ? 0 : diagonal - blocks + 1;
		const struct block_args args = {.similarity = p->device[SIMILARITY],
			.scores = p->device[SCORES],
			.size = n,
			.diagonal = diagonal,
			.first_row = first,
			.scratchpads = p->more};

		assert(args.first_row <= diagonal);
		NVW_TRY(dense_launch(p, nw_block, &args, (diagonal + 1 - 2 * first) * p->group_size));
	}
	return 0;
}

static int nw_run(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];

	if (p->has_scratchpad) {
		return run_with_scratchpads(p);
	}
	for (uint64_t diagonal = 2; diagonal <= 2 * n; diagonal++) {
		const uint64_t first = diagonal > n ? diagonal - n : 1;
		const struct args args = {.similarity = p->device[SIMILARITY],
			.scores = p->device[SCORES],
			.size = n,
			.diagonal = diagonal,
			.first_row = first,
			.cells = diagonal + 1 - 2 * first};

		assert(args.cells <= n);
		NVW_TRY(dense_launch(p, nw_diagonal, &args, args.cells));
	}
	return 0;
}

static void nw_expect(struct dense_plan *p)
{
	const uint64_t n = p->size[SIZE];
	const int32_t *const similarity = p->expected[SIMILARITY];
	int32_t *const scores = p->expected[SCORES];

	for (uint64_t y = 1; y <= n; y++) {
		int32_t *const line = scores + y * (n + 1), *const before = line - (n + 1);

		for (uint64_t x = 1; x <= n; x++) {
			line[x] =
				best(before[x - 1], before[x], line[x - 1], similarity[(y - 1) * n + x - 1]);
		}
	}
}

DENSE_WORKLOAD(nw, "nw", "alignment scores of two sequences, diagonal by diagonal (Needleman-Wunsch)");
