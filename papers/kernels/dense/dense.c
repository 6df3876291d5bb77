/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of the dense kernels. See dense.h. */
#include "dense.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"

enum { GROUP_SIZE_MAX = 1024, ELEMENT_TEXT = 32 };

#define ARRAY_BYTES_MAX (UINT64_C(1) << 30)

static size_t element_bytes(enum dense_type type)
{
	static const size_t bytes[] = {
		[DENSE_INT32] = sizeof(int32_t),
		[DENSE_UINT32] = sizeof(uint32_t),
		[DENSE_FLOAT] = sizeof(float),
		[DENSE_DOUBLE] = sizeof(double),
	};

	assert(type <= DENSE_DOUBLE);
	return bytes[type];
}

static uint64_t array_bytes(const struct dense_array *a)
{
	return a->count * element_bytes(a->type);
}

/* ---- The plan -------------------------------------------------------------------------------------- */

static int read_size(struct dense_plan *p, unsigned i, const struct nvw_options *options, const char *name)
{
	const uint64_t most = p->kernel->most[i];
	const struct bounds bounds = {name, u64_max(p->kernel->least[i], 1), most ? most : DENSE_SIZE_MAX};

	assert(i < DENSE_SIZES);
	p->size[i] = nvw_option_u64(options, name);
	return bounds_check(p->kernel->name, options, &bounds, 1);
}

static int read_graph(struct dense_plan *p, const char *name, const char *source, uint64_t seed)
{
	const uint64_t most = p->kernel->nodes_most;

	NVW_TRY(graph_make(source, seed, &p->graph));
	NVW_FAIL_IF(most != 0 && p->graph.nodes > most, NVW_E_USAGE,
		"%s: --%s: expected a graph of at most %" PRIu64 " nodes, found %" PRIu32, p->kernel->name,
		name, most, p->graph.nodes);
	return 0;
}

static int read_options(struct dense_plan *p, const struct nvw_options *options, uint64_t seed)
{
	static const struct bounds group_size[] = {{"group-size", 1, GROUP_SIZE_MAX}};
	unsigned sizes = 0;

	for (const struct nvw_option *row = p->kernel->options; strcmp(row->name, "group-size") != 0; row++) {
		if (row->type == NVW_OPTION_BOOL) {
			p->has_scratchpad = nvw_option_bool(options, row->name);
		} else if (row->type == NVW_OPTION_STRING) {
			NVW_TRY(read_graph(p, row->name, nvw_option_string(options, row->name), seed));
		} else {
			NVW_TRY(read_size(p, sizes++, options, row->name));
		}
	}
	p->group_size = (unsigned)nvw_option_u64(options, "group-size");
	return BOUNDS_CHECK(p->kernel->name, options, group_size);
}

static void add(struct dense_plan *p, unsigned i, struct dense_array array)
{
	assert(i < DENSE_ARRAYS && array.count > 0);
	p->array[i] = array;
	p->arrays = (unsigned)u64_max(p->arrays, i + 1);
}

void dense_arrays(struct dense_plan *p, enum dense_use use, unsigned first, enum dense_type type,
	uint64_t count, const char *const *names)
{
	for (; *names; names++) {
		add(p, first++, (struct dense_array){*names, type, use, count, NULL});
	}
}

/* A graph without edges has one column, which no row refers to. */
void dense_array_graph(struct dense_plan *p, unsigned i)
{
	const struct graph *const g = &p->graph;

	assert(g->row && g->column);
	add(p, i,
		(struct dense_array){"rows", DENSE_UINT32, DENSE_READ_ONLY, (uint64_t)g->nodes + 1, g->row});
	add(p, i + 1,
		(struct dense_array){
			"columns", DENSE_UINT32, DENSE_READ_ONLY, u64_max(g->arcs, 1), g->column});
}

static int allocate_inputs(struct dense_plan *p)
{
	NVW_FOR(i, p->arrays) {
		const struct dense_array *const a = &p->array[i];

		NVW_FAIL_IF(array_bytes(a) > ARRAY_BYTES_MAX, NVW_E_USAGE,
			"%s: expected arrays of at most 1 GiB, found %s of %" PRIu64 " elements",
			p->kernel->name, a->name, a->count);
		p->input[i] = calloc(a->count, element_bytes(a->type));
		NVW_ALLOCATED(p->input[i], "%s: no memory for %s of %" PRIu64 " elements", p->kernel->name,
			a->name, a->count);
		if (a->graph && p->graph.arcs) {
			memcpy(p->input[i], a->graph, array_bytes(a));
		}
	}
	return 0;
}

int dense_prepare(
	const struct dense_kernel *kernel, const struct nvw_options *options, uint64_t seed, void **ret_plan)
{
	struct dense_plan *const p = calloc(1, sizeof(*p));
	int r;

	NVW_ALLOCATED(p, "%s: no memory for a plan", kernel->name);
	p->kernel = kernel;
	p->random.state = seed;
	r = read_options(p, options, seed);
	if (r == 0) {
		kernel->shape(p);
		r = allocate_inputs(p);
	}
	if (r != 0) {
		dense_dispose(p);
		return r;
	}
	kernel->fill(p);
	*ret_plan = p;
	return 0;
}

void dense_dispose(void *plan)
{
	struct dense_plan *const p = plan;

	if (p == NULL) {
		return;
	}
	NVW_FOR(i, p->arrays) {
		free(p->input[i]);
	}
	graph_free(&p->graph);
	free(p->more);
	free(p);
}

/* ---- Inputs ---------------------------------------------------------------------------------------- */

void dense_fill_real(struct dense_plan *p, unsigned i, double low, double high)
{
	const struct dense_array *const a = &p->array[i];

	assert(i < p->arrays && (a->type == DENSE_FLOAT || a->type == DENSE_DOUBLE));
	NVW_FOR(k, a->count) {
		const double x = low + (high - low) * nvw_random_real(&p->random);

		if (a->type == DENSE_FLOAT) {
			((float *)p->input[i])[k] = (float)x;
		} else {
			((double *)p->input[i])[k] = x;
		}
	}
}

void dense_fill_int(struct dense_plan *p, unsigned i, int32_t low, int32_t high)
{
	int32_t *const input = p->input[i];

	assert(i < p->arrays && (p->array[i].type == DENSE_INT32 || p->array[i].type == DENSE_UINT32));
	NVW_FOR(k, p->array[i].count) {
		input[k] = low + (int32_t)nvw_random_below(&p->random, (uint64_t)(high - low));
	}
}

void dense_fill_edges(struct dense_plan *p, unsigned i, int32_t most, int32_t far)
{
	int32_t *const lengths = p->input[i];

	dense_fill_int(p, i, 1, 8 * most + 1);
	NVW_FOR(k, p->array[i].count) {
		if (lengths[k] > most) {
			lengths[k] = far;
		}
	}
}

void dense_fill_far(int32_t *distances, uint64_t n, int32_t far)
{
	assert(far > 0);
	NVW_FOR(i, n * n) {
		distances[i] = i / n == i % n ? 0 : far;
	}
}

void dense_shorten(int32_t *distances, uint64_t n)
{
	NVW_FOR(k, n) {
		NVW_FOR(i, n * n) {
			const int32_t over = distances[i / n * n + k] + distances[k * n + i % n];

			if (over < distances[i]) {
				distances[i] = over;
			}
		}
	}
}

static int ascending(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

void dense_sort(int32_t *keys, uint64_t n)
{
	qsort(keys, n, sizeof(*keys), ascending);
}

/* ---- The run --------------------------------------------------------------------------------------- */

static int copy_in(struct dense_plan *p)
{
	NVW_FOR(i, p->arrays) {
		const uint64_t bytes = array_bytes(&p->array[i]);

		p->device[i] = nvw_alloc(p->machine, bytes);
		NVW_ALLOCATED(p->device[i], "%s: expected %" PRIu64 " bytes of DRAM (dram.size) for %s",
			p->kernel->name, bytes, p->array[i].name);
		NVW_TRY(nvw_write(p->machine, p->device[i], p->input[i], bytes));
	}
	return 0;
}

int dense_run(void *plan, struct nvw_machine *machine)
{
	struct dense_plan *const p = plan;
	assert(p->arrays > 0);

	p->machine = machine;
	p->launches = 0;
	NVW_TRY(copy_in(p));
	return p->kernel->run(p);
}

int dense_launch_named(
	struct dense_plan *p, const char *name, nvw_kernel function, const void *args, uint64_t work_items)
{
	assert(work_items > 0 && p->group_size > 0);
	p->launches++;
	return nvw_launch(p->machine, name, function, args, work_items, p->group_size);
}

int dense_scratchpads(struct dense_plan *p, uint64_t bytes, uint64_t work_items)
{
	const uint64_t groups = u64_parts(work_items, p->group_size);

	free(p->more);
	p->more = calloc(groups, bytes);
	NVW_ALLOCATED(p->more, "%s: no memory for %" PRIu64 " scratchpads", p->kernel->name, groups);
	return 0;
}

/* Where so many elements from number first on are, and their bytes. */
static void *elements_of(
	const struct dense_plan *p, unsigned i, uint64_t first, uint64_t count, uint64_t *ret_bytes)
{
	const struct dense_array *const a = &p->array[i];

	assert(i < p->arrays && first + count <= a->count);
	*ret_bytes = count * element_bytes(a->type);
	return (char *)p->device[i] + first * element_bytes(a->type);
}

int dense_get(struct dense_plan *p, unsigned i, uint64_t first, uint64_t count, void *to)
{
	uint64_t bytes;
	const void *const from = elements_of(p, i, first, count, &bytes);

	return nvw_read(p->machine, to, from, bytes);
}

int dense_put(struct dense_plan *p, unsigned i, uint64_t first, uint64_t count, const void *from)
{
	uint64_t bytes;
	void *const to = elements_of(p, i, first, count, &bytes);

	return nvw_write(p->machine, to, from, bytes);
}

int dense_copy(struct dense_plan *p, unsigned i, void **ret_copy)
{
	const struct dense_array *const a = &p->array[i];
	void *const copy = malloc(array_bytes(a));
	int r;

	NVW_ALLOCATED(copy, "%s: no memory for a copy of %s", p->kernel->name, a->name);
	r = dense_get(p, i, 0, a->count, copy);
	if (r != 0) {
		free(copy);
		return r;
	}
	*ret_copy = copy;
	return 0;
}

int dense_clear_flag(struct dense_plan *p, unsigned i)
{
	assert(p->array[i].type == DENSE_INT32);
	return dense_put(p, i, 0, 1, &(int32_t){0});
}

int dense_get_flag(struct dense_plan *p, unsigned i, bool *ret_is_set)
{
	int32_t flag = 0;
	const int r = dense_get(p, i, 0, 1, &flag);

	assert(p->array[i].type == DENSE_INT32);
	*ret_is_set = flag != 0;
	return r;
}

int dense_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	struct dense_plan *const p = plan;
	uint64_t bytes[3] = {0};

	DENSE_EACH(a, p) {
		bytes[a->use] += array_bytes(a);
	}
	const struct figure rows[] = {
		{"launches", p->launches, "", "kernels, one after the other"},
		{"read_only_bytes", bytes[DENSE_READ_ONLY], "B", "of arrays that no launch writes"},
		{"written_bytes", bytes[DENSE_WRITTEN] + bytes[DENSE_SCRATCH], "B", "of the other arrays"},
	};

	NVW_TRY(FIGURES_DESCRIBE(description, rows));
	return !p->kernel->report ? 0 : p->kernel->report(p, description);
}

/* ---- The check ------------------------------------------------------------------------------------- */

static const char *element_text(const struct dense_array *a, const char *element, char text[ELEMENT_TEXT])
{
	union {
		int32_t i;
		uint32_t u;
		float f;
		double d;
	} u;

	memcpy(&u, element, element_bytes(a->type));
	if (a->type == DENSE_INT32) {
		snprintf(text, ELEMENT_TEXT, "%" PRId32, u.i);
	} else if (a->type == DENSE_UINT32) {
		snprintf(text, ELEMENT_TEXT, "%" PRIu32, u.u);
	} else {
		snprintf(text, ELEMENT_TEXT, "%.17g", a->type == DENSE_FLOAT ? (double)u.f : u.d);
	}
	return text;
}

/* Bitwise: every computation has the same order on both sides (dense.h). */
static int compare_array(
	const struct dense_array *a, const char *found, const char *expected, struct nvw_findings *findings)
{
	const size_t bytes = element_bytes(a->type);
	char is[ELEMENT_TEXT], should_be[ELEMENT_TEXT];
	uint64_t first = 0, wrong = 0;

	for (uint64_t k = a->count; k-- > 0;) {
		if (memcmp(found + k * bytes, expected + k * bytes, bytes) != 0) {
			first = k;
			wrong++;
		}
	}
	if (wrong == 0) {
		return 0;
	}
	assert(first < a->count);
	return nvw_violation(findings, 0,
		"%s[%" PRIu64 "] is %s, expected %s; of %" PRIu64 " elements %" PRIu64 " are wrong", a->name,
		first, element_text(a, found + first * bytes, is),
		element_text(a, expected + first * bytes, should_be), a->count, wrong);
}

/* Scratch arrays may have anything; read-only ones must be unchanged. */
static int compare_on_device(struct dense_plan *p, unsigned i, struct nvw_findings *findings)
{
	void *found;
	int r;

	if (p->array[i].use == DENSE_SCRATCH) {
		return 0;
	}
	NVW_TRY(dense_copy(p, i, &found));
	r = compare_array(&p->array[i], found, p->expected[i], findings);
	free(found);
	return r;
}

static int compare_all(struct dense_plan *p, struct nvw_findings *findings)
{
	int verdict = 0;

	NVW_FOR(i, p->arrays) {
		const int r = compare_on_device(p, i, findings);

		if (r == NVW_E_INCONSISTENT) {
			verdict = r;
		} else {
			NVW_TRY(r);
		}
	}
	return verdict;
}

static int allocate_expected(struct dense_plan *p)
{
	NVW_FOR(i, p->arrays) {
		const uint64_t bytes = array_bytes(&p->array[i]);

		assert(!p->expected[i]);
		p->expected[i] = malloc(bytes);
		NVW_ALLOCATED(
			p->expected[i], "%s: no memory to verify %s", p->kernel->name, p->array[i].name);
		memcpy(p->expected[i], p->input[i], bytes);
	}
	return 0;
}

static void free_expected(struct dense_plan *p)
{
	NVW_FOR(i, p->arrays) {
		free(p->expected[i]);
		p->expected[i] = NULL;
	}
}

int dense_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	struct dense_plan *const p = plan;
	int r = allocate_expected(p);

	assert(p->machine == machine);
	if (r == 0) {
		p->kernel->expect(p);
		r = compare_all(p, findings);
	}
	free_expected(p);
	return r;
}
