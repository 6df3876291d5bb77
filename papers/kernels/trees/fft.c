/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trees-fft: the discrete Fourier transform of 2^log2 complex numbers (hechtman14 5.6.3). A task transforms
 * the inputs at every stride-th place: it forks the even and the odd ones, and its continuation combines
 * them. At an even depth the result goes to the first pair of arrays, at an odd depth to the second.
 */
#include "trees.h"

#include <math.h>

enum { LOG2 };
enum { IN_RE, IN_IM, COSINES, SINES, OUT_RE, OUT_IM, OTHER_RE, OTHER_IM };

static const struct nvw_option options[] = {
	{"log2", NVW_OPTION_COUNT, "9", NULL, "logarithm of the count of numbers"},
	TREES_OPTIONS_END,
};

struct number {
	float re, im;
};

struct data {
	const float *in_re, *in_im, *cosines, *sines;
	float *re[2], *im[2];
	uint32_t n;
};

/* u + w v, and u - w v. */
static inline void butterfly(struct number u, struct number v, struct number w, struct number ret[2])
{
	const struct number x = {w.re * v.re - w.im * v.im, w.re * v.im + w.im * v.re};

	ret[0] = (struct number){u.re + x.re, u.im + x.im};
	ret[1] = (struct number){u.re - x.re, u.im - x.im};
}

/* Words of both functions: the first place and the length of the result, the first place of the inputs, their
 * stride, the depth. */
static void combine(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t at = nvw_task_word(t, 0), half = nvw_task_word(t, 1) / 2, stride = nvw_task_word(t, 3),
		       to = nvw_task_word(t, 4) % 2;

	for (uint32_t k = at; k < at + half; k++) {
		const uint32_t turn = (k - at) * stride;
		struct number pair[2];

		butterfly((struct number){nvw_load(&d->re[!to][k]), nvw_load(&d->im[!to][k])},
			(struct number){nvw_load(&d->re[!to][k + half]), nvw_load(&d->im[!to][k + half])},
			(struct number){nvw_load(&d->cosines[turn]), nvw_load(&d->sines[turn])}, pair);
		NVW_FOR(i, 2) {
			nvw_store(&d->re[to][k + i * half], pair[i].re);
			nvw_store(&d->im[to][k + i * half], pair[i].im);
		}
	}
}

static void transform(struct nvw_task *t)
{
	const struct data *const d = nvw_task_data(t);
	const uint32_t at = nvw_task_word(t, 0), n = nvw_task_word(t, 1), from = nvw_task_word(t, 2),
		       stride = nvw_task_word(t, 3), depth = nvw_task_word(t, 4);

	if (n > 1) {
		nvw_fork(t, transform, at, n / 2, from, 2 * stride, depth + 1);
		nvw_fork(t, transform, at + n / 2, n / 2, from + stride, 2 * stride, depth + 1);
		nvw_join(t, combine, at, n, from, stride, depth);
	} else {
		nvw_store(&d->re[depth % 2][at], nvw_load(&d->in_re[from]));
		nvw_store(&d->im[depth % 2][at], nvw_load(&d->in_im[from]));
	}
}

static const struct nvw_task_program program = {
	.name = "fft",
	.functions = (const struct nvw_task_function[]){{"transform", transform, false},
		{"combine", combine, false}, {NULL, NULL, false}},
	.words = 5,
};

static void trees_fft_shape(struct dense_plan *p)
{
	const uint64_t n = UINT64_C(1) << p->size[LOG2];

	dense_read_only(p, IN_RE, DENSE_FLOAT, n, "in_re", "in_im", "cosines", "sines");
	dense_written(p, OUT_RE, DENSE_FLOAT, n, "out_re", "out_im");
	dense_scratch(p, OTHER_RE, DENSE_FLOAT, n, "other_re", "other_im");
}

static void trees_fft_fill(struct dense_plan *p)
{
	const uint64_t n = UINT64_C(1) << p->size[LOG2];

	assert(p->array[COSINES].count == n && p->array[SINES].count == n);
	dense_fill_real(p, IN_RE, -1, 1);
	dense_fill_real(p, IN_IM, -1, 1);
	NVW_FOR(i, n) {
		((float *)p->input[COSINES])[i] = (float)cos(2 * M_PI * (double)i / (double)n);
		((float *)p->input[SINES])[i] = (float)-sin(2 * M_PI * (double)i / (double)n);
	}
}

static int trees_fft_run(struct dense_plan *p)
{
	const uint32_t n = UINT32_C(1) << p->size[LOG2];
	const struct data data = {
		.in_re = p->device[IN_RE],
		.in_im = p->device[IN_IM],
		.cosines = p->device[COSINES],
		.sines = p->device[SINES],
		.re = {p->device[OUT_RE], p->device[OTHER_RE]},
		.im = {p->device[OUT_IM], p->device[OTHER_IM]},
		.n = n,
	};

	return trees_run(p, &program, &data, transform, 0, n, 0, 1, 0);
}

/* The result at one place, from the inputs at every stride-th place. */
static void fft(struct dense_plan *p, uint64_t at, uint64_t n, uint64_t from, uint64_t stride)
{
	float *const re = p->expected[OUT_RE], *const im = p->expected[OUT_IM];
	const float *const cosines = p->expected[COSINES], *const sines = p->expected[SINES];

	assert((n & (n - 1)) == 0);
	if (n == 1) {
		re[at] = ((const float *)p->expected[IN_RE])[from];
		im[at] = ((const float *)p->expected[IN_IM])[from];
		return;
	}
	fft(p, at, n / 2, from, 2 * stride);
	fft(p, at + n / 2, n / 2, from + stride, 2 * stride);
	for (uint64_t k = at; k < at + n / 2; k++) {
		const uint64_t turn = (k - at) * stride;
		struct number pair[2];

		butterfly((struct number){re[k], im[k]}, (struct number){re[k + n / 2], im[k + n / 2]},
			(struct number){cosines[turn], sines[turn]}, pair);
		re[k] = pair[0].re;
		im[k] = pair[0].im;
		re[k + n / 2] = pair[1].re;
		im[k + n / 2] = pair[1].im;
	}
}

static void trees_fft_expect(struct dense_plan *p)
{
	fft(p, 0, UINT64_C(1) << p->size[LOG2], 0, 1);
}

TREES_WORKLOAD(trees_fft, "trees-fft", "tasks: fast Fourier transform", .most = {[LOG2] = 20});
