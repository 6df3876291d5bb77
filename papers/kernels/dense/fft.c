/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft: fast Fourier transform of 2^stages complex numbers (hechtman14 Table 3.2; stc 6). Stockham's radix-2
 * algorithm: a launch per stage, which reads one array and writes the other; a work-item computes one
 * butterfly. No reordering is necessary.
 */
#include "dense.h"

#include <math.h>

enum { STAGES };
enum {
	EVEN,
	ODD,
	ROOTS
}; /* complex numbers before even stages and odd ones; of unity, the first half of them */

static const struct nvw_option options[] = {
	DENSE_SIZE("stages", "13", "logarithm of the number of points to the base 2"),
	DENSE_OPTIONS_END,
};

/* Butterflies of a stage: half the number of points. */
static uint64_t butterflies(const struct dense_plan *p)
{
	return UINT64_C(1) << (p->size[STAGES] - 1);
}

static void fft_shape(struct dense_plan *p)
{
	dense_written(p, EVEN, DENSE_FLOAT, 4 * butterflies(p), "even", "odd");
	dense_read_only(p, ROOTS, DENSE_FLOAT, 2 * butterflies(p), "roots");
}

static void fft_fill(struct dense_plan *p)
{
	float *const roots = p->input[ROOTS];

	assert(p->array[ROOTS].count == 2 * butterflies(p));
	dense_fill_real(p, EVEN, -1, 1);
	NVW_FOR(i, butterflies(p)) {
		const double angle = -M_PI * (double)i / (double)butterflies(p);

		roots[2 * i] = (float)cos(angle);
		roots[2 * i + 1] = (float)sin(angle);
	}
}

/* ---- Arithmetic of both sides ---------------------------------------------------------------------- */

struct complex {
	float re, im;
};

static inline struct complex complex_add(struct complex a, struct complex b)
{
	return (struct complex){a.re + b.re, a.im + b.im};
}

static inline struct complex turned_difference(struct complex a, struct complex b, struct complex root)
{
	const float re = a.re - b.re, im = a.im - b.im;

	return (struct complex){re * root.re - im * root.im, re * root.im + im * root.re};
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const float *from, *roots;
	float *to;
	uint64_t butterflies, width; /* points of a transform that is complete before this stage */
};

static inline void store_at(float *array, uint64_t i, struct complex x)
{
	nvw_store(&array[2 * i], x.re);
	nvw_store(&array[2 * i + 1], x.im);
}

DENSE_ITEMS(fft_stage, a, id, a->butterflies)
{
	const uint64_t other = id + a->butterflies;
	const uint64_t first = id / a->width * a->width, to = first + id;
	const struct complex x = {nvw_load(&a->from[2 * id]), nvw_load(&a->from[2 * id + 1])};
	const struct complex y = {nvw_load(&a->from[2 * other]), nvw_load(&a->from[2 * other + 1])};
	const struct complex root = {
		nvw_load_read_only(&a->roots[2 * first]), nvw_load_read_only(&a->roots[2 * first + 1])};

	store_at(a->to, to, complex_add(x, y));
	store_at(a->to, to + a->width, turned_difference(x, y, root));
}

static int fft_run(struct dense_plan *p)
{
	assert(p->array[EVEN].count == p->array[ODD].count);
	NVW_FOR(s, p->size[STAGES]) {
		const struct args args = {.from = p->device[EVEN + s % 2],
			.to = p->device[ODD - s % 2],
			.roots = p->device[ROOTS],
			.butterflies = butterflies(p),
			.width = UINT64_C(1) << s};

		NVW_TRY(dense_launch(p, fft_stage, &args, args.butterflies));
	}
	return 0;
}

static void fft_expect(struct dense_plan *p)
{
	const struct complex *const roots = p->expected[ROOTS];
	const uint64_t half = butterflies(p);

	NVW_FOR(s, p->size[STAGES]) {
		const struct complex *const from = p->expected[EVEN + s % 2];
		struct complex *const to = p->expected[ODD - s % 2];
		const uint64_t width = UINT64_C(1) << s;

		for (uint64_t j = 0; j < half; j += width) {
			for (uint64_t k = j; k < j + width; k++) {
				to[j + k] = complex_add(from[k], from[k + half]);
				to[j + k + width] = turned_difference(from[k], from[k + half], roots[j]);
			}
		}
	}
}

DENSE_WORKLOAD(fft, "fft", "fast Fourier transform, one launch per stage", .most = {[STAGES] = 20});
