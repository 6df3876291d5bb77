/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backprop: one training step of a perceptron with one hidden layer and one output. The first launch computes
 * partial sums of the weighted inputs; the host completes the sums and computes the output, its error and the
 * errors of the hidden units; the second launch adjusts the weights between input and hidden layer.
 *
 * With a scratchpad the first launch has a work-item per weight, as in Rodinia: work-groups keep the units
 * and products of a part there. The original also stores the products over the weights, which its host then
 * restores; that is left out.
 */
#include "dense.h"

#include <math.h>
#include <stdlib.h>

enum { INPUTS };
enum { UNITS, WEIGHTS, MOMENTA, PARTS, OUTPUT, ERRORS };
enum { HIDDEN = 16, PART = 16 }; /* hidden units; input units per partial sum */

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "8192", "units of the input layer"),
	DENSE_SCRATCHPAD_OPTION,
	DENSE_OPTIONS_END,
};

/* Unit 0 of the input layer is the bias, always 1; so is weight HIDDEN of the output. */
static uint64_t unit_count(const struct dense_plan *p)
{
	return p->size[INPUTS] + 1;
}

static uint64_t part_count(const struct dense_plan *p)
{
	return u64_parts(unit_count(p), PART);
}

static void backprop_shape(struct dense_plan *p)
{
	const uint64_t units = unit_count(p);

	dense_read_only(p, UNITS, DENSE_FLOAT, units, "units");
	dense_written(p, WEIGHTS, DENSE_FLOAT, units * HIDDEN, "weights", "momenta");
	dense_written(p, PARTS, DENSE_FLOAT, part_count(p) * HIDDEN, "parts");
	dense_written(p, OUTPUT, DENSE_FLOAT, HIDDEN + 1, "output weights");
	dense_written(p, ERRORS, DENSE_FLOAT, HIDDEN, "errors");
}

/* Weights that keep the sums of any number of inputs where the sigmoid is steep. */
static void backprop_fill(struct dense_plan *p)
{
	const double most = 1 / sqrt((double)unit_count(p));

	assert(p->array[WEIGHTS].count == HIDDEN * p->array[UNITS].count);
	dense_fill_real(p, UNITS, 0, 1);
	((float *)p->input[UNITS])[0] = 1;
	dense_fill_real(p, WEIGHTS, -most, most);
	dense_fill_real(p, OUTPUT, -1, 1);
}

/* ---- Arithmetic shared by GPU and host ------------------------------------------------------------ */

struct weight {
	float weight, momentum;
};

static inline struct weight adjust(struct weight w, float unit, float error)
{
	const float rate = 0.3f, inertia = 0.3f;
	const float change = rate * error * unit + inertia * w.momentum;

	return (struct weight){w.weight + change, change};
}

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

/* The host's step: from partial sums to the errors of hidden units; also trains the output's weights. */
static void middle(const float *parts, uint64_t count, float output[HIDDEN + 1], float errors[HIDDEN])
{
	const float target = 0.1f, rate = 0.3f;
	float hidden[HIDDEN], sum = output[HIDDEN];

	NVW_FOR(j, HIDDEN) {
		hidden[j] = 0;
		NVW_FOR(i, count) {
			hidden[j] += parts[i * HIDDEN + j];
		}
		hidden[j] = sigmoid(hidden[j]);
		sum += hidden[j] * output[j];
	}

	const float out = sigmoid(sum), error = out * (1 - out) * (target - out);

	NVW_FOR(j, HIDDEN) {
		errors[j] = hidden[j] * (1 - hidden[j]) * error * output[j];
		output[j] += rate * error * hidden[j];
	}
	output[HIDDEN] += rate * error;
}

/* ---- The GPU --------------------------------------------------------------------------------------- */

struct args {
	const float *units, *errors;
	float *weights, *momenta, *parts;
	uint64_t unit_count, part_count;
	struct scratchpad *scratchpads;
	uint64_t parts_of_group; /* with a scratchpad */
};

/* A part of the sums. */
struct scratchpad {
	float units[PART], products[PART][HIDDEN];
};

/* Part id / HIDDEN of the sum of hidden unit id % HIDDEN. */
DENSE_ITEMS(backprop_forward, a, id, a->part_count *HIDDEN)
{
	const uint64_t first = id / HIDDEN * PART;
	const uint64_t end = u64_min(first + PART, a->unit_count);
	float sum = 0;

	for (uint64_t i = first; i < end; i++) {
		sum += nvw_load_read_only(&a->units[i]) * nvw_load(&a->weights[i * HIDDEN + id % HIDDEN]);
	}
	nvw_store(&a->parts[id], sum);
}

/* In the sequential order, not in the original's tree: that makes no difference to memory. */
static inline float sum_of(const struct args *a, const struct scratchpad *pad, uint64_t part, uint64_t column)
{
	float sum = 0;

	for (uint64_t i = 0; i < PART && part * PART + i < a->unit_count; i++) {
		sum += pad->products[i][column];
	}
	return sum;
}

/* As backprop_forward(), with a work-item per weight; those of the first column load the units and store the
 * sums. */
DENSE_KERNEL(backprop_forward_kept, const struct args, a)
{
	const uint64_t first = nvw_group_id() * a->parts_of_group;
	const uint64_t parts = u64_min(a->part_count - first, a->parts_of_group);
	const uint64_t cells = parts * PART * HIDDEN;
	struct scratchpad *const pads = a->scratchpads + first;

	_Static_assert(PART == HIDDEN, "a work-item of the first column has a unit, and a sum");
	DENSE_SHARE(uint64_t, i, cells) {
		if (i % HIDDEN == 0 && first * PART + i / HIDDEN < a->unit_count) {
			pads[i / (PART * HIDDEN)].units[i / HIDDEN % PART] =
				nvw_load_read_only(&a->units[first * PART + i / HIDDEN]);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, cells) {
		struct scratchpad *const pad = pads + i / (PART * HIDDEN);
		const uint64_t unit = i / HIDDEN % PART;

		if (first * PART + i / HIDDEN < a->unit_count) {
			pad->products[unit][i % HIDDEN] =
				pad->units[unit] * nvw_load(&a->weights[first * PART * HIDDEN + i]);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	DENSE_SHARE(uint64_t, i, cells) {
		if (i % HIDDEN == 0) {
			nvw_store(&a->parts[first * HIDDEN + i / HIDDEN],
				sum_of(a, pads + i / (PART * HIDDEN), first + i / (PART * HIDDEN),
					i / HIDDEN % PART));
		}
	}
}

DENSE_ITEMS(backprop_adjust, a, id, a->unit_count *HIDDEN)
{
	const float unit = nvw_load_read_only(&a->units[id / HIDDEN]);
	const float error = nvw_load(&a->errors[id % HIDDEN]);
	const struct weight old = {nvw_load(&a->weights[id]), nvw_load(&a->momenta[id])};
	const struct weight new = adjust(old, unit, error);

	nvw_store(&a->weights[id], new.weight);
	nvw_store(&a->momenta[id], new.momentum);
}

static int middle_on_device(struct dense_plan *p)
{
	float output[HIDDEN + 1], errors[HIDDEN];
	void *parts = NULL;
	int r = dense_copy(p, PARTS, &parts);

	assert(p->array[OUTPUT].count == HIDDEN + 1 && p->array[ERRORS].count == HIDDEN);
	if (r == 0) {
		r = dense_get(p, OUTPUT, 0, HIDDEN + 1, output);
	}
	if (r == 0) {
		middle(parts, part_count(p), output, errors);
		r = dense_put(p, OUTPUT, 0, HIDDEN + 1, output);
	}
	if (r == 0) {
		r = dense_put(p, ERRORS, 0, HIDDEN, errors);
	}
	free(parts);
	return r;
}

static int forward(struct dense_plan *p, struct args *args)
{
	uint64_t groups;

	assert(args->part_count * PART >= args->unit_count);
	if (!p->has_scratchpad) {
		return dense_launch(p, backprop_forward, args, args->part_count * HIDDEN);
	}
	args->parts_of_group = u64_max(p->group_size / (PART * HIDDEN), 1);
	groups = u64_parts(args->part_count, args->parts_of_group);
	NVW_TRY(dense_scratchpads(
		p, args->parts_of_group * sizeof(struct scratchpad), groups * p->group_size));
	args->scratchpads = p->more;
	return dense_launch(p, backprop_forward_kept, args, groups * p->group_size);
}

static int backprop_run(struct dense_plan *p)
{
	struct args args = {.units = p->device[UNITS],
		.errors = p->device[ERRORS],
		.weights = p->device[WEIGHTS],
		.momenta = p->device[MOMENTA],
		.parts = p->device[PARTS],
		.unit_count = unit_count(p),
		.part_count = part_count(p)};

	NVW_TRY(forward(p, &args));
	NVW_TRY(middle_on_device(p));
	return dense_launch(p, backprop_adjust, &args, args.unit_count * HIDDEN);
}

static void backprop_expect(struct dense_plan *p)
{
	const float *const units = p->expected[UNITS];
	float *const weights = p->expected[WEIGHTS], *const momenta = p->expected[MOMENTA];
	float *const parts = p->expected[PARTS], *const errors = p->expected[ERRORS];

	assert(p->array[PARTS].count == part_count(p) * HIDDEN);
	NVW_FOR(i, unit_count(p)) {
		NVW_FOR(j, HIDDEN) {
			parts[i / PART * HIDDEN + j] += units[i] * weights[i * HIDDEN + j];
		}
	}
	middle(parts, part_count(p), p->expected[OUTPUT], errors);
	NVW_FOR(i, unit_count(p) * HIDDEN) {
		const struct weight old = {weights[i], momenta[i]};
		const struct weight new = adjust(old, units[i / HIDDEN], errors[i % HIDDEN]);

		weights[i] = new.weight;
		momenta[i] = new.momentum;
	}
}

DENSE_WORKLOAD(backprop, "backprop", "one training step of a perceptron with 16 hidden units");
