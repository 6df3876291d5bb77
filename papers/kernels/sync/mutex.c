/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutex: FAM, SLM, SPM and SPMBO, _G and _L, of sinclair15 Table 4. In a critical section each work-item
 * loads and stores --accesses data: it computes a row from the one before (rows.h), or adds one to each datum
 * (flat). There is one lock with its data for all work-groups (global), or one per CU (local).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rows.h"
#include "steps.h"

static const char *const sharings[] = {"global", "local", NULL};

static const struct nvw_option options[] = {
	{"kind", NVW_OPTION_CHOICE, "spin", lock_kinds, "of the mutex: FAM, SLM, SPM, SPMBO of sinclair15"},
	{"sharing", NVW_OPTION_CHOICE, "global", sharings,
		"one lock and its data for all CUs (_G), or one per CU (_L)"},
	SYNC_WORK_OPTIONS,
	SYNC_PLACE_OPTIONS("32"),
	SYNC_POLL_OPTIONS,
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

struct args {
	struct sync_places places;
	struct lock lock; /* of domain 0; the others follow */
	uint64_t lock_words;
	uint32_t *data; /* [domain]; rows, or [access][work-item] */
	enum sync_layout layout;
	struct sync_history *history; /* host: for rows */
	uint64_t data_words, iterations;
	unsigned accesses;
	bool is_local;
};

struct plan {
	struct sync_shape shape;
	struct sync_history history;
	struct args args;
};

/* ---- Kernel ---------------------------------------------------------------------------------------- */

static void count_up(const struct args *a, uint32_t *data)
{
	NVW_FOR(i, a->accesses) {
		uint32_t *const word = data + i * nvw_group_size() + nvw_local_id();

		nvw_store(word, nvw_load(word) + 1);
	}
}

static void mutex_work(const struct args *a, uint32_t *data, uint64_t iteration)
{
	if (a->layout == SYNC_ROWS) {
		sync_move_rows(a->history, data, a->accesses,
			(uint32_t)(nvw_group_id() * a->iterations + iteration + 1));
	} else {
		count_up(a, data);
	}
}

static void mutex_kernel(const void *args)
{
	const struct args *const a = args;
	const struct sync_place place = sync_take_place(&a->places);
	const unsigned domain = a->is_local ? place.cu : 0;
	struct lock lock = a->lock;

	lock.words += domain * a->lock_words;
	NVW_FOR(i, a->iterations) {
		const uint32_t ticket = lock_acquire(&lock, &place);

		mutex_work(a, a->data + domain * a->data_words, i);
		nvw_barrier(NVW_WORKGROUP);
		if (nvw_local_id() == 0) {
			lock_release(&lock, ticket);
		}
	}
}

/* ---- Host ------------------------------------------------------------------------------------------ */

static int mutex_options(const struct nvw_options *given, uint64_t seed, int mutation, void *plan)
{
	struct plan *const p = plan;
	struct args *const a = &p->args;
	struct sync_polls polls;

	NVW_TRY(sync_read_place_options("mutex", given, &p->shape));
	NVW_TRY(sync_read_work_options("mutex", given, &p->shape));
	NVW_TRY(sync_read_poll_options("mutex", given, &p->shape, &polls, &a->layout));
	a->is_local = nvw_option_choice(given, "sharing") == 1;
	if (!a->is_local) {
		p->shape.local = NVW_SCOPE_AGENT;
	}
	a->iterations = p->shape.iterations;
	a->accesses = p->shape.accesses;
	polls.backs_off = nvw_option_choice(given, "kind") == LOCK_SPIN_BACKOFF;
	a->lock = (struct lock){
		.kind = (enum lock_kind)nvw_option_choice(given, "kind"),
		.scope = p->shape.local,
		.polls = polls,
		.replaced = mutex_replaced((enum lock_mutation)mutation),
	};
	return mutex_check_mutation((enum lock_mutation)mutation, a->is_local);
}

static void mutex_dispose(void *plan)
{
	struct plan *const p = plan;

	sync_free_places(&p->args.places);
	sync_history_free(&p->history);
	free(p);
}

/* The lock of all CUs is taken with agent scope. */
static struct nvw_asked mutex_asks(const struct nvw_options *given)
{
	return nvw_option_choice(given, "sharing") == 1 ? sync_asks(given) : (struct nvw_asked){0};
}

static int mutex_prepare(const struct nvw_options *given, uint64_t seed, int mutation, void **ret_plan)
{
	return sync_make_plan(sizeof(struct plan), mutex_options, given, seed, mutation, ret_plan);
}

static uint64_t domains(const struct args *a)
{
	return a->is_local ? a->places.cu_count : 1;
}

static int mutex_run(void *plan, struct nvw_machine *machine)
{
	struct plan *const p = plan;
	struct args *const a = &p->args;

	NVW_TRY(sync_make_places(machine, &p->shape, &a->places));
	NVW_TRY(sync_history_make(&p->history, a->places.group_count * a->iterations));
	assert(p->history.sections == a->places.group_count * a->iterations);
	a->history = &p->history;
	a->lock.places = lock_places(a->lock.kind, a->places.group_count);
	a->lock_words = lock_words(a->lock.kind, a->places.group_count);
	a->data_words = sync_layout_words(a->layout, a->accesses, p->shape.group_size);
	a->lock.words = nvw_alloc(machine, domains(a) * a->lock_words * sizeof(uint32_t));
	a->data = nvw_alloc(machine, domains(a) * a->data_words * sizeof(uint32_t));
	if (!a->lock.words || !a->data) {
		return NVW_E_MEMORY;
	}
	return sync_launch(machine, &a->places, "mutex", mutex_kernel, a);
}

/* The expected number of critical sections of a domain. */
static int sections_of(
	const struct args *a, struct nvw_machine *machine, uint64_t domain, uint64_t *ret_sections)
{
	uint32_t groups = (uint32_t)a->places.group_count;

	if (a->is_local) {
		NVW_TRY(sync_groups_on(machine, &a->places, (unsigned)domain, &groups));
	}
	*ret_sections = groups * a->iterations;
	return 0;
}

static int verify_counts(const struct args *a, uint64_t domain, const uint32_t *data, uint64_t expected,
	struct nvw_findings *findings)
{
	uint64_t wrong = 0, first = 0;

	assert(a->layout == SYNC_FLAT);
	for (uint64_t i = a->data_words; i-- > 0;) {
		if (data[i] != expected) {
			wrong++;
			first = i;
		}
	}
	if (wrong == 0) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"lock %" PRIu64 ": %" PRIu64 " of %" PRIu64 " data are wrong; datum %" PRIu64
		" counts %" PRIu32 " critical sections, expected %" PRIu64,
		domain, wrong, a->data_words, first, data[first], expected);
}

/* The rows name the last sections, and those name all earlier ones. */
static int verify_rows(const struct plan *p, uint64_t domain, const uint32_t *data, uint64_t expected,
	struct nvw_findings *findings)
{
	const struct args *const a = &p->args;
	const uint32_t last = data[sync_row_word(a->accesses, 1, 0)];
	const uint32_t length = sync_history_length(&p->history, last);
	uint64_t wrong = 0;

	assert(a->layout == SYNC_ROWS && a->accesses >= 2);
	NVW_FOR(item, p->shape.group_size) {
		uint32_t section = last;

		for (unsigned row = 1; row <= a->accesses && length == expected; row++) {
			wrong += data[sync_row_word(a->accesses, row, item)] != section;
			section = p->history.before[section];
		}
	}
	if (length == expected && wrong + p->history.wrong == 0) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"lock %" PRIu64 ": found a chain of %" PRIu32 " critical sections, expected %" PRIu64
		"; %" PRIu64
		" loads of all locks did not find the data of the preceding section, and %" PRIu64
		" data are wrong at the end",
		domain, length == SYNC_UNSEEN ? 0 : length, expected, p->history.wrong, wrong);
}

static int verify_domain(const struct plan *p, struct nvw_machine *machine, uint64_t domain, uint32_t *data,
	struct nvw_findings *findings)
{
	const struct args *const a = &p->args;
	uint64_t expected;

	NVW_TRY(sections_of(a, machine, domain, &expected));
	NVW_TRY(nvw_read(machine, data, a->data + domain * a->data_words, a->data_words * sizeof(*data)));
	return a->layout == SYNC_ROWS ? verify_rows(p, domain, data, expected, findings) :
					verify_counts(a, domain, data, expected, findings);
}

static int mutex_verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct plan *const p = plan;
	const struct args *const a = &p->args;
	uint32_t *const data = calloc(a->data_words, sizeof(*data));
	int verdict = 0, error = 0;
	assert(a->data_words > 0);

	NVW_ALLOCATED(data, "no memory to verify in");
	for (uint64_t d = 0; error == 0 && d < domains(a); d++) {
		error = sync_note(verify_domain(p, machine, d, data, findings), &verdict);
	}
	free(data);
	return error != 0 ? error : verdict;
}

static int mutex_report(void *plan, struct nvw_machine *machine, struct nvw_description *description)
{
	const struct plan *const p = plan;

	return sync_report_sections(
		description, &p->args.places, p->args.iterations, "of all work-groups together");
}

extern const struct nvw_workload nvw_workload_mutex;

const struct nvw_workload nvw_workload_mutex = {
	.name = "mutex",
	.summary = "sinclair15's mutexes (FAM, SLM, SPM, SPMBO): critical sections, global or per CU",
	.options = options,
	.mutations = mutex_mutations,
	.asks = mutex_asks,
	.prepare = mutex_prepare,
	.dispose = mutex_dispose,
	.run = mutex_run,
	.verify = mutex_verify,
	.report = mutex_report,
};
