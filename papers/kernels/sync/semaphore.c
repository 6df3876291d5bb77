/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * semaphore: SS_L and SSBO_L of sinclair15 Table 4, a reader-writer format. The first work-group of a CU
 * writes; each of the others reads a part of the CU's data: with two readers, half of it. A reader takes one
 * unit of the semaphore. The writer takes all units and moves each part to the right by one: it stores all
 * elements but the first of a part.
 *
 * Elements are rows (rows.h) or single data (flat). Turn v of the writer, from 1, puts v into row 1; flat,
 * element j of a part is j at first, so after v turns it must be max(0, j - v). The semaphore's upper half
 * counts the writer's turns: an acquirer thus knows the expected data without another access.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rows.h"
#include "steps.h"

enum kind { SPIN, SPIN_BACKOFF };

static const char *const kinds[] = {"spin", "spin-backoff", NULL};

static const struct nvw_option options[] = {
	{"kind", NVW_OPTION_CHOICE, "spin", kinds, "of the semaphore: SS_L, SSBO_L of sinclair15"},
	SYNC_WORK_OPTIONS,
	SYNC_PLACE_OPTIONS("32"),
	SYNC_POLL_OPTIONS,
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* Observations of a reader's work-item: a hash over the turns of all iterations, and the number of wrong
 * elements. */
struct seen {
	uint32_t hash, wrong;
};

struct args {
	struct sync_places places;
	enum nvw_scope scope;
	struct sync_polls polls;
	enum sync_layout layout;
	const struct semaphore_steps *replaced;
	uint32_t *semaphores; /* one per CU, on a line of its own */
	uint32_t *data;       /* [CU][part]; rows, or [access][work-item] */
	struct seen *seen;    /* [work-item of the kernel] */
	uint64_t part_words, iterations;
	uint32_t parts; /* also the number of units of a free semaphore */
	unsigned accesses, group_size;
};

struct plan {
	struct sync_shape shape;
	struct args args;
};

/* ---- Kernel ---------------------------------------------------------------------------------------- */

/* A work-item's request to a semaphore, and the writer's turns so far when it is granted. */
struct attempt {
	const struct args *a;
	uint32_t *semaphore;
	uint32_t units, turns;
};

static bool take(uint32_t *semaphore, uint32_t units, enum nvw_scope scope, uint32_t *ret_turns)
{
	const uint32_t word = nvw_atomic_load(semaphore, NVW_ACQUIRE, scope);

	*ret_turns = word >> UNITS_BITS;
	return (word & UNITS_MASK) >= units &&
	       nvw_atomic_compare_exchange(semaphore, word, word - units, NVW_ACQUIRE, scope) == word;
}

static bool try_take(void *context)
{
	struct attempt *const at = context;

	return STEP(at->a->replaced, take, at->semaphore, at->units, at->a->scope, &at->turns);
}

/* Called by all of the work-group. Returns the writer's turns so far to its first work-item. */
static uint32_t wait_and_take(
	const struct args *a, uint32_t *semaphore, uint32_t units, const struct sync_place *place)
{
	struct attempt at = {.a = a, .semaphore = semaphore, .units = units};

	sync_wait(&a->polls, place, try_take, &at);
	return at.turns;
}

static void give(uint32_t *semaphore, uint32_t units, uint32_t turns, enum nvw_scope scope)
{
	nvw_atomic_add(semaphore, units + (turns << UNITS_BITS), NVW_RELEASE, scope);
}

/* All units: no work-group reads in the meantime. */
static uint32_t writer_units(uint32_t parts)
{
	return parts;
}

static void move_rows(const struct args *a, uint32_t *part, uint32_t turn)
{
	uint32_t *const column = part + sync_row_word(a->accesses, 0, nvw_local_id());

	for (unsigned row = a->accesses; row-- > 0;) {
		uint32_t *const from = column + row * SYNC_LINE_WORDS;

		nvw_store(
			from + SYNC_LINE_WORDS, row == 0 ? nvw_load_read_only(from) + turn : nvw_load(from));
	}
}

/* All work-items of the group load before any of them stores. */
static void move_flat(const struct args *a, uint32_t *part)
{
	uint32_t left[SYNC_ACCESSES_MAX];

	NVW_FOR(i, a->accesses) {
		const unsigned j = i * nvw_group_size() + nvw_local_id();

		left[i] = j == 0 ? 0 : nvw_load(part + j - 1);
	}
	nvw_barrier(NVW_WORKGROUP);
	NVW_FOR(i, a->accesses) {
		const unsigned j = i * nvw_group_size() + nvw_local_id();

		if (j != 0) {
			nvw_store(part + j, left[i]);
		}
	}
}

static void write_turn(const struct args *a, const struct sync_place *place, uint32_t *semaphore,
	uint32_t *data, uint32_t turn)
{
	const uint32_t units = STEP(a->replaced, writer_units, a->parts);

	wait_and_take(a, semaphore, units, place);
	NVW_FOR(p, a->parts) {
		if (a->layout == SYNC_ROWS) {
			move_rows(a, data + p * a->part_words, turn);
		} else {
			move_flat(a, data + p * a->part_words);
		}
	}
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		STEP(a->replaced, give, semaphore, units, 1, a->scope);
	}
}

/* Flat: the expected value of element j of a part after this many turns. */
static uint64_t element_after(uint64_t turns, uint64_t j)
{
	return j > turns ? j - turns : 0;
}

/*
 * How far the part has moved, according to the work-item's elements, which must agree. Counted up to the
 * first element of the last access, so that every work-item can tell: its element in that access is further
 * right.
 */
static uint32_t read_flat(const struct args *a, const uint32_t *part, struct seen *seen)
{
	const uint32_t most = (a->accesses - 1) * nvw_group_size();
	uint32_t moved = 0;

	for (unsigned i = a->accesses; i-- > 0;) {
		const uint32_t j = i * nvw_group_size() + nvw_local_id(), value = nvw_load(part + j);

		if (i == a->accesses - 1) {
			moved = j - value;
		}
		seen->wrong += value != element_after(moved, j);
	}
	return (uint32_t)u64_min(moved, most);
}

/* The expected content of a row after this many turns: the turn that made it. */
static uint32_t row_after(uint32_t turns, unsigned row)
{
	return row == 0 || turns < row ? 0 : turns - row + 1;
}

/* Likewise: row 1 gives the number of turns. A reader loads all rows but the last. */
static uint32_t read_rows(const struct args *a, const uint32_t *part, struct seen *seen)
{
	const uint32_t *const column = part + sync_row_word(a->accesses, 0, nvw_local_id());
	uint32_t rows[SYNC_ACCESSES_MAX];

	for (unsigned row = a->accesses; row-- > 1;) {
		rows[row] = nvw_load(column + row * SYNC_LINE_WORDS);
	}
	rows[0] = nvw_load_read_only(column);
	NVW_FOR(row, a->accesses) {
		seen->wrong += rows[row] != row_after(rows[1], row);
	}
	return rows[1];
}

/* The largest number of turns that the data can show. */
static uint32_t most_turns(const struct args *a)
{
	assert(a->accesses > 0);
	return a->layout == SYNC_ROWS ? UINT32_MAX : (a->accesses - 1) * a->group_size;
}

static void read_turn(const struct args *a, const struct sync_place *place, uint32_t *semaphore,
	const uint32_t *part, struct seen *seen)
{
	const uint32_t most = most_turns(a), turns = wait_and_take(a, semaphore, 1, place);
	const uint32_t moved = a->layout == SYNC_ROWS ? read_rows(a, part, seen) : read_flat(a, part, seen);

	seen->hash = 31 * seen->hash + moved;
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		seen->wrong += moved != u64_min(turns, most);
		STEP(a->replaced, give, semaphore, 1, 0, a->scope);
	}
}

static void semaphore_kernel(const void *args)
{
	const struct args *const a = args;
	const struct sync_place place = sync_take_place(&a->places);
	uint32_t *const semaphore = a->semaphores + place.cu * SYNC_LINE_WORDS;
	uint32_t *const data = a->data + place.cu * a->parts * a->part_words;
	struct seen seen = {0, 0};

	NVW_FOR(i, a->iterations) {
		if (place.number == 0) {
			write_turn(a, &place, semaphore, data, (uint32_t)i + 1);
		} else {
			read_turn(a, &place, semaphore, data + (place.number - 1) % a->parts * a->part_words,
				&seen);
		}
	}
	nvw_store(&a->seen[nvw_global_id()].hash, seen.hash);
	nvw_store(&a->seen[nvw_global_id()].wrong, seen.wrong);
}

/* ---- Host ------------------------------------------------------------------------------------------ */

static void semaphore_dispose(void *plan)
{
	struct plan *const p = plan;

	sync_free_places(&p->args.places);
	free(p);
}

static int semaphore_options(const struct nvw_options *given, uint64_t seed, int mutation, void *plan)
{
	struct plan *const p = plan;
	enum sync_layout layout = SYNC_ROWS;
	struct sync_polls polls;

	NVW_TRY(sync_read_place_options("semaphore", given, &p->shape));
	NVW_TRY(sync_read_work_options("semaphore", given, &p->shape));
	NVW_TRY(sync_read_poll_options("semaphore", given, &p->shape, &polls, &layout));
	polls.backs_off = nvw_option_choice(given, "kind") == SPIN_BACKOFF;
	p->args = (struct args){
		.scope = p->shape.local,
		.polls = polls,
		.layout = layout,
		.replaced = semaphore_replaced((enum semaphore_mutation)mutation),
		.part_words = sync_layout_words(layout, p->shape.accesses, p->shape.group_size),
		.iterations = p->shape.iterations,
		.parts = (uint32_t)u64_max(p->shape.groups_per_cu, 2) - 1,
		.accesses = p->shape.accesses,
		.group_size = p->shape.group_size,
	};
	return 0;
}

static int semaphore_prepare(const struct nvw_options *given, uint64_t seed, int mutation, void **ret_plan)
{
	return sync_make_plan(sizeof(struct plan), semaphore_options, given, seed, mutation, ret_plan);
}

/* Word j of a part after this many turns; where no work-item has a column, rows stay empty. */
static uint32_t word_after(const struct args *a, uint64_t turns, uint64_t j)
{
	const uint64_t line = j / SYNC_LINE_WORDS, rows = a->accesses + 1;
	const uint64_t item = line / rows * SYNC_LINE_WORDS + j % SYNC_LINE_WORDS;

	assert(j < a->part_words);
	if (a->layout == SYNC_FLAT) {
		return (uint32_t)element_after(turns, j);
	}
	return item < a->group_size ? row_after((uint32_t)turns, (unsigned)(line % rows)) : 0;
}

/* A CU's data after this many turns of the writer. */
static void fill_parts(const struct args *a, uint64_t turns, uint32_t *data)
{
	assert(a->part_words > 0);
	NVW_FOR(i, a->parts * a->part_words) {
		data[i] = word_after(a, turns, i % a->part_words);
	}
}

static int write_cu(const struct args *a, struct nvw_machine *machine, unsigned cu, const uint32_t *data)
{
	const uint64_t words = a->parts * a->part_words;

	assert(cu < a->places.cu_count);
	NVW_TRY(nvw_write(machine, a->data + cu * words, data, words * sizeof(*data)));
	return nvw_write(machine, a->semaphores + cu * SYNC_LINE_WORDS, &a->parts, sizeof(a->parts));
}

static int write_all(const struct args *a, struct nvw_machine *machine)
{
	uint32_t *const data = calloc(a->parts * a->part_words, sizeof(*data));
	int error = 0;

	NVW_ALLOCATED(data, "no memory for a CU's data");
	fill_parts(a, 0, data);
	for (unsigned cu = 0; error == 0 && cu < a->places.cu_count; cu++) {
		error = write_cu(a, machine, cu, data);
	}
	free(data);
	return error;
}

static int semaphore_run(void *plan, struct nvw_machine *machine)
{
	struct plan *const p = plan;
	struct args *const a = &p->args;

	assert(a->parts > 0 && a->parts <= UNITS_MASK && a->iterations <= UINT32_MAX >> UNITS_BITS);
	NVW_TRY(sync_make_places(machine, &p->shape, &a->places));
	a->semaphores = nvw_alloc(machine, a->places.cu_count * SYNC_LINE_WORDS * sizeof(uint32_t));
	a->data = nvw_alloc(machine, a->places.cu_count * a->parts * a->part_words * sizeof(uint32_t));
	a->seen = nvw_alloc(machine, a->places.group_count * p->shape.group_size * sizeof(struct seen));
	if (!a->semaphores || !a->data || !a->seen) {
		return NVW_E_MEMORY;
	}
	NVW_TRY(write_all(a, machine));
	return sync_launch(machine, &a->places, "semaphore", semaphore_kernel, a);
}

/* Checks the data left by the writer of a CU; data has room for what is found, and for what is expected. */
static int verify_data(const struct args *a, struct nvw_machine *machine, unsigned cu, uint32_t *data,
	struct nvw_findings *findings)
{
	const uint64_t words = a->parts * a->part_words;
	uint32_t groups = 0, word = 0, turns;
	uint64_t i = 0;
	int verdict = 0;

	NVW_TRY(sync_groups_on(machine, &a->places, cu, &groups));
	NVW_TRY(nvw_read(machine, data, a->data + cu * words, words * sizeof(*data)));
	NVW_TRY(nvw_read(machine, &word, a->semaphores + cu * SYNC_LINE_WORDS, sizeof(word)));
	turns = groups == 0 ? 0 : (uint32_t)a->iterations;
	fill_parts(a, turns, data + words);
	while (i < words && data[i] == data[words + i]) {
		i++;
	}
	if (i < words) {
		verdict = nvw_violation(findings, 0,
			"CU %u: element %" PRIu64 " of part %" PRIu64 " is %" PRIu32 ", expected %" PRIu32,
			cu, i % a->part_words, i / a->part_words, data[i], data[words + i]);
	}
	if (word != (turns << UNITS_BITS | a->parts)) {
		verdict = nvw_violation(findings, 0,
			"CU %u: the semaphore has %" PRIu32 " units after %" PRIu32
			" turns, expected %" PRIu32 " after %" PRIu32,
			cu, word & UNITS_MASK, word >> UNITS_BITS, a->parts, turns);
	}
	return verdict;
}

/* Checks the observations of a reader's work-items: no wrong element, and all equal. */
static int verify_reader(
	const struct plan *p, struct nvw_machine *machine, uint64_t group, struct nvw_findings *findings)
{
	const struct args *const a = &p->args;
	const unsigned size = p->shape.group_size;
	struct seen seen[1024];
	struct sync_place place;
	uint64_t wrong = 0;
	unsigned torn = 0;

	assert(size <= sizeof(seen) / sizeof(*seen));
	NVW_TRY(sync_place_of(machine, &a->places, group, &place));
	NVW_TRY(nvw_read(machine, seen, a->seen + group * size, size * sizeof(*seen)));
	if (place.number == 0) {
		return 0;
	}
	NVW_FOR(i, size) {
		wrong += seen[i].wrong;
		torn += seen[i].hash != seen[0].hash;
	}
	if (wrong + torn == 0) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"reader %u of CU %u: %" PRIu64
		" wrong or stale elements; %u work-items saw different turns than the first one",
		place.number, place.cu, wrong, torn);
}

static int verify_all(
	const struct plan *p, struct nvw_machine *machine, uint32_t *data, struct nvw_findings *findings)
{
	int verdict = 0;

	NVW_FOR(cu, p->args.places.cu_count) {
		NVW_TRY(sync_note(verify_data(&p->args, machine, cu, data, findings), &verdict));
	}
	NVW_FOR(g, p->args.places.group_count) {
		NVW_TRY(sync_note(verify_reader(p, machine, g, findings), &verdict));
	}
	return verdict;
}

static int semaphore_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct plan *const p = plan;
	uint32_t *const data = calloc(2 * p->args.parts * p->args.part_words, sizeof(*data));
	int verdict;

	NVW_ALLOCATED(data, "no memory to verify in");
	verdict = verify_all(p, machine, data, findings);
	free(data);
	return verdict;
}

static int semaphore_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct plan *const p = plan;

	return sync_report_sections(
		description, &p->args.places, p->args.iterations, "of readers and writers together");
}

extern const struct nvw_workload nvw_workload_semaphore;

const struct nvw_workload nvw_workload_semaphore = {
	.name = "semaphore",
	.summary = "sinclair15's semaphores (SS_L, SSBO_L): one writer work-group per CU, and readers",
	.options = options,
	.mutations = semaphore_mutations,
	.asks = sync_asks,
	.prepare = semaphore_prepare,
	.dispose = semaphore_dispose,
	.run = semaphore_run,
	.verify = semaphore_verify,
	.report = semaphore_report,
};
