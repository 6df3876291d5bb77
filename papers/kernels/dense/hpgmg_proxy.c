/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hpgmg-proxy: the launch pattern of HPGMG (stc 6), not its solver. It stands for V-cycles of a geometric
 * multigrid: launches that shrink from the whole grid to a few cells and grow again, each of which reads what
 * the one before wrote on the same or the next level. Missing: full multigrid, Chebyshev or Gauss-Seidel
 * smoothers, variable coefficients, higher order.
 *
 * What it computes: minus the Laplacian of the solution is the right-hand side, on a cube of 2^levels cells
 * in each direction, 0 at the walls. On the way down each level smooths twice (Jacobi), and restricts its
 * residual to the right-hand side of the next coarser level; on the way up it adds the coarser solution and
 * smooths twice. The coarsest level has two cells in each direction.
 *
 * The levels lie in each array one after the other, the finest one first.
 */
#include "dense.h"

enum { LEVELS, CYCLES };
enum { RIGHT_SIDE, SOLUTION, SMOOTHED, RESIDUAL };
enum { COARSEST_SMOOTHINGS = 8 };

static const struct nvw_option options[] = {
	DENSE_SIZE("levels", "4", "2^levels cells in each direction, at most 7"),
	DENSE_SIZE("cycles", "4", "V-cycles"),
	DENSE_OPTIONS_END,
};

static uint64_t width_of(const struct dense_plan *p, uint64_t level)
{
	assert(level <= p->size[LEVELS]);
	return UINT64_C(1) << (p->size[LEVELS] - level);
}

/* The number of cells of the levels before. */
static uint64_t first_of(const struct dense_plan *p, uint64_t level)
{
	uint64_t first = 0;

	NVW_FOR(l, level) {
		first += width_of(p, l) * width_of(p, l) * width_of(p, l);
	}
	return first;
}

static void hpgmg_proxy_shape(struct dense_plan *p)
{
	dense_written(p, RIGHT_SIDE, DENSE_DOUBLE, first_of(p, p->size[LEVELS]), "right-hand side",
		"solution", "smoothed", "residual");
}

static void hpgmg_proxy_fill(struct dense_plan *p)
{
	double *const right_side = p->input[RIGHT_SIDE];

	NVW_FOR(i, first_of(p, 1)) {
		right_side[i] = 2 * nvw_random_real(&p->random) - 1;
	}
}

/* ---- Arithmetic of both sides ---------------------------------------------------------------------- */

/* A cell of a level and its six neighbours: x - 1, x + 1, y - 1 ... Behind a wall is the negative, so that
 * the wall has 0. */
struct around {
	double here, beside[6];
};

/* Minus the Laplacian; the cells of the finest level have width 1, those of the next one 2. */
static inline double laplace(struct around u, uint64_t level)
{
	double sum = 6 * u.here;

	NVW_FOR(i, 6) {
		sum -= u.beside[i];
	}
	return sum / (double)(UINT64_C(1) << 2 * level);
}

static inline double smooth(struct around u, double right_side, uint64_t level)
{
	const double damping = 6.0 / 7;

	return u.here + damping / 6 * (double)(UINT64_C(1) << 2 * level) * (right_side - laplace(u, level));
}

/* Number of the finer cell at corner c of coarse cell (x, y, z), in a level of that width. */
static inline uint64_t finer(uint64_t x, uint64_t y, uint64_t z, unsigned c, uint64_t width)
{
	return ((2 * z + (c >> 2)) * width + 2 * y + (c >> 1 & 1)) * width + 2 * x + (c & 1);
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

/* The arrays from this level on; coarse ones of the next level. */
struct args {
	const double *from;
	double *to, *right_side, *coarse_right_side, *coarse_solution;
	uint64_t width, level;
};

static inline uint64_t cells_of(uint64_t width)
{
	return width * width * width;
}

static struct around load_around(const double *array, uint64_t id, uint64_t width)
{
	const uint64_t at[3] = {id % width, id / width % width, id / width / width};
	const uint64_t stride[3] = {1, width, width * width};
	struct around u = {.here = nvw_load(&array[id])};

	NVW_FOR(d, 3) {
		u.beside[2 * d] = at[d] ? nvw_load(&array[id - stride[d]]) : -u.here;
		u.beside[2 * d + 1] = at[d] + 1 < width ? nvw_load(&array[id + stride[d]]) : -u.here;
	}
	return u;
}

DENSE_ITEMS(hpgmg_smooth, a, id, cells_of(a->width))
{
	const struct around u = load_around(a->from, id, a->width);

	nvw_store(&a->to[id], smooth(u, nvw_load(&a->right_side[id]), a->level));
}

DENSE_ITEMS(hpgmg_residual, a, id, cells_of(a->width))
{
	const struct around u = load_around(a->from, id, a->width);

	nvw_store(&a->to[id], nvw_load(&a->right_side[id]) - laplace(u, a->level));
}

/* One work-item per coarse cell: the mean of the residual; its solution begins at 0. */
DENSE_ITEMS(hpgmg_restrict, a, id, cells_of(a->width / 2))
{
	const uint64_t half = a->width / 2;
	double sum = 0;

	NVW_FOR(c, 8) {
		sum += nvw_load(&a->from[finer(id % half, id / half % half, id / half / half, c, a->width)]);
	}
	nvw_store(&a->coarse_right_side[id], sum / 8);
	nvw_store(&a->coarse_solution[id], 0);
}

DENSE_ITEMS(hpgmg_prolong, a, id, cells_of(a->width))
{
	const uint64_t w = a->width, half = w / 2;
	const uint64_t coarse = (id / w / w / 2 * half + id / w % w / 2) * half + id % w / 2;

	nvw_store(&a->to[id], nvw_load(&a->to[id]) + nvw_load(&a->coarse_solution[coarse]));
}

/* Launches a kernel over a level, from one array to another. */
#define LEVEL_LAUNCH(p, kernel, from_array, to_array, level) \
	level_launch(p, #kernel, kernel##_kernel, from_array, to_array, level)
static int level_launch(
	struct dense_plan *p, const char *name, nvw_kernel kernel, unsigned from, unsigned to, uint64_t level)
{
	const uint64_t first = first_of(p, level), next = first_of(p, level + 1), width = width_of(p, level);
	const struct args args = {.from = (double *)p->device[from] + first,
		.to = (double *)p->device[to] + first,
		.right_side = (double *)p->device[RIGHT_SIDE] + first,
		.coarse_right_side = (double *)p->device[RIGHT_SIDE] + next,
		.coarse_solution = (double *)p->device[SOLUTION] + next,
		.width = width,
		.level = level};
	assert(level < p->size[LEVELS]);

	return dense_launch_named(p, name, kernel, &args, cells_of(width));
}

/* An even number, so that the solution is where it was. */
static int smooth_level(struct dense_plan *p, uint64_t level, unsigned smoothings)
{
	assert(smoothings % 2 == 0);
	for (unsigned i = 0; i < smoothings; i += 2) {
		NVW_TRY(LEVEL_LAUNCH(p, hpgmg_smooth, SOLUTION, SMOOTHED, level));
		NVW_TRY(LEVEL_LAUNCH(p, hpgmg_smooth, SMOOTHED, SOLUTION, level));
	}
	return 0;
}

static int run_cycle(struct dense_plan *p)
{
	const uint64_t coarsest = p->size[LEVELS] - 1;

	NVW_FOR(level, coarsest) {
		NVW_TRY(smooth_level(p, level, 2));
		NVW_TRY(LEVEL_LAUNCH(p, hpgmg_residual, SOLUTION, RESIDUAL, level));
		NVW_TRY(LEVEL_LAUNCH(p, hpgmg_restrict, RESIDUAL, RESIDUAL, level));
	}
	NVW_TRY(smooth_level(p, coarsest, COARSEST_SMOOTHINGS));
	for (uint64_t level = coarsest; level-- > 0;) {
		NVW_TRY(LEVEL_LAUNCH(p, hpgmg_prolong, SOLUTION, SOLUTION, level));
		NVW_TRY(smooth_level(p, level, 2));
	}
	return 0;
}

static int hpgmg_proxy_run(struct dense_plan *p)
{
	NVW_FOR(i, p->size[CYCLES]) {
		NVW_TRY(run_cycle(p));
	}
	return 0;
}

/* ---- The sequential version: recursive ---------------------------------------------------------------- */

static struct around host_around(const double *array, const uint64_t at[3], uint64_t w)
{
	const uint64_t stride[3] = {1, w, w * w};
	const double *const here = array + (at[2] * w + at[1]) * w + at[0];
	struct around u = {.here = *here};

	NVW_FOR(d, 3) {
		u.beside[2 * d] = at[d] ? *(here - stride[d]) : -*here;
		u.beside[2 * d + 1] = at[d] + 1 < w ? here[stride[d]] : -*here;
	}
	return u;
}

/* From array "from" to "to": the residual, or one smoothing. */
static void expect_pass(struct dense_plan *p, unsigned from, unsigned to, uint64_t level)
{
	const uint64_t w = width_of(p, level), first = first_of(p, level);
	const double *const right_side = (double *)p->expected[RIGHT_SIDE] + first;
	const double *const before = (double *)p->expected[from] + first;
	double *const result = (double *)p->expected[to] + first;

	assert(from != to);
	for (uint64_t z = 0, i = 0; z < w; z++) {
		NVW_FOR(y, w) {
			for (uint64_t x = 0; x < w; x++, i++) {
				const struct around u = host_around(before, (const uint64_t[]){x, y, z}, w);

				result[i] = to == RESIDUAL ? right_side[i] - laplace(u, level) :
							     smooth(u, right_side[i], level);
			}
		}
	}
}

static void expect_smoothing(struct dense_plan *p, uint64_t level, unsigned smoothings)
{
	assert(smoothings % 2 == 0);
	NVW_FOR(i, smoothings) {
		expect_pass(p, SOLUTION + i % 2, SMOOTHED - i % 2, level);
	}
}

static void expect_level(struct dense_plan *p, uint64_t level)
{
	const uint64_t first = first_of(p, level), next = first_of(p, level + 1), w = width_of(p, level),
		       h = w / 2;
	double *const solution = p->expected[SOLUTION];
	const double *const residual = (double *)p->expected[RESIDUAL] + first;

	assert(level < p->size[LEVELS]);
	if (level + 1 == p->size[LEVELS]) {
		expect_smoothing(p, level, COARSEST_SMOOTHINGS);
		return;
	}
	expect_smoothing(p, level, 2);
	expect_pass(p, SOLUTION, RESIDUAL, level);
	NVW_FOR(i, h * h * h) {
		double sum = 0;

		NVW_FOR(c, 8) {
			sum += residual[finer(i % h, i / h % h, i / h / h, c, w)];
		}
		((double *)p->expected[RIGHT_SIDE])[next + i] = sum / 8;
		solution[next + i] = 0;
	}
	expect_level(p, level + 1);
	NVW_FOR(i, 8 * h * h * h) {
		const uint64_t cell = i / 8;

		solution[first + finer(cell % h, cell / h % h, cell / h / h, i % 8, w)] +=
			solution[next + cell];
	}
	expect_smoothing(p, level, 2);
}

static void hpgmg_proxy_expect(struct dense_plan *p)
{
	NVW_FOR(i, p->size[CYCLES]) {
		expect_level(p, 0);
	}
}

DENSE_WORKLOAD(hpgmg_proxy, "hpgmg-proxy", "V-cycles of a multigrid: launches that shrink and grow",
	.most = {[LEVELS] = 7});
