/* SPDX-License-Identifier: BSD-3-Clause */
/* Common options, and work-groups that determine their CU (place.h). */
#include "place.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

const char *const sync_scopes[] = {"local", "global", NULL}, *const sync_layouts[] = {"rows", "flat", NULL},
		  *const sync_poll_kinds[] = {"together", "alone", NULL},
		  *const sync_backoffs[] = {"linear", "exponential", NULL};

/* ---- Options --------------------------------------------------------------------------------------- */

struct nvw_asked sync_asks(const struct nvw_options *options)
{
	const bool local =
		nvw_option_choice(options, "scope") == 0 && nvw_option_u64(options, "groups-per-cu") > 1;

	return (struct nvw_asked){.scopes = local ? NVW_ASKS_CU : NVW_ASKS_NOTHING,
		.option = "--scope=local",
		.fallback = "gh"};
}

int sync_read_place_options(
	const char *workload, const struct nvw_options *options, struct sync_shape *ret_shape)
{
	static const struct bounds bounds[] = {{"group-size", 1, 1024}, {"groups-per-cu", 1, 1024}};

	*ret_shape = (struct sync_shape){
		.groups_per_cu = nvw_option_u64(options, "groups-per-cu"),
		.group_size = (unsigned)nvw_option_u64(options, "group-size"),
		.local = nvw_option_choice(options, "scope") == 0 ? NVW_SCOPE_WORKGROUP : NVW_SCOPE_AGENT,
	};
	return BOUNDS_CHECK(workload, options, bounds);
}

int sync_read_work_options(const char *workload, const struct nvw_options *options, struct sync_shape *shape)
{
	static const struct bounds bounds[] = {
		{"iterations", 1, UINT16_MAX}, {"accesses", 1, SYNC_ACCESSES_MAX}};

	shape->iterations = nvw_option_u64(options, "iterations");
	shape->accesses = (unsigned)nvw_option_u64(options, "accesses");
	return BOUNDS_CHECK(workload, options, bounds);
}

int sync_read_poll_options(const char *workload, const struct nvw_options *options,
	const struct sync_shape *shape, struct sync_polls *ret_polls, enum sync_layout *ret_layout)
{
	static const struct bounds bounds[] = {{"backoff-max", 1, 1 << 20}, {"poll-gap", 0, 1 << 20}};

	NVW_TRY(BOUNDS_CHECK(workload, options, bounds));
	*ret_layout = (enum sync_layout)nvw_option_choice(options, "layout");
	*ret_polls = (struct sync_polls){
		.together = nvw_option_choice(options, "polls") == 0,
		.backoff = (enum sync_backoff)nvw_option_choice(options, "backoff"),
		.gap = (uint32_t)nvw_option_u64(options, "poll-gap"),
		.backoff_max = (uint32_t)nvw_option_u64(options, "backoff-max"),
	};
	NVW_FAIL_IF(ret_polls->backoff == SYNC_LINEAR && nvw_option_changed(options, "backoff-max"),
		NVW_E_USAGE,
		"--backoff-max needs --backoff=exponential; a linear back-off starts again "
		"after 25 polls");
	NVW_FAIL_IF(*ret_layout == SYNC_ROWS && shape->accesses < 2, NVW_E_USAGE,
		"--accesses=1: --layout=rows needs 2 or more, or use --layout=flat");
	return 0;
}

/* ---- Plans ----------------------------------------------------------------------------------------- */

int sync_make_plan(uint64_t bytes,
	int (*read)(const struct nvw_options *options, uint64_t seed, int mutation, void *plan),
	const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	void *const plan = calloc(1, bytes);
	int error;

	NVW_ALLOCATED(plan, "no memory for a plan");
	error = read(options, seed, mutation, plan);
	if (error != 0) {
		free(plan);
		return error;
	}
	*ret_plan = plan;
	return 0;
}

int sync_note(int found, int *verdict)
{
	if (found != NVW_E_INCONSISTENT) {
		return found;
	}
	*verdict = found;
	return 0;
}

/* ---- Places ---------------------------------------------------------------------------------------- */

int sync_make_places(
	struct nvw_machine *machine, const struct sync_shape *shape, struct sync_places *ret_places)
{
	const unsigned cus = nvw_compute_units(machine), width = nvw_wavefront_width(machine);
	const uint64_t fit =
		nvw_resident_work_items(machine) / cus / width / u64_parts(shape->group_size, width);
	const uint64_t groups = shape->groups_per_cu * cus;

	assert(cus > 0 && width > 0);
	NVW_FAIL_IF(shape->groups_per_cu > fit, NVW_E_USAGE,
		"--groups-per-cu: %" PRIu64
		" work-groups of %u work-items wait for each other, but a CU has room for %" PRIu64,
		shape->groups_per_cu, shape->group_size, fit);
	sync_free_places(ret_places);
	*ret_places = (struct sync_places){
		.cus = nvw_alloc(machine, cus * sizeof(struct sync_cu)),
		.groups = nvw_alloc(machine, groups * sizeof(struct sync_group)),
		.has = calloc(groups, sizeof(bool)),
		.cu_count = cus,
		.group_size = shape->group_size,
		.group_count = groups,
	};
	NVW_ALLOCATED(ret_places->has, "no memory for %" PRIu64 " work-groups", groups);
	return ret_places->cus && ret_places->groups ? 0 : NVW_E_MEMORY;
}

void sync_free_places(struct sync_places *places)
{
	free(places->has);
	places->has = NULL;
}

static struct sync_place place_from(const struct sync_places *places, uint64_t group, uint32_t word)
{
	return (struct sync_place){
		.cu = word >> 16,
		.number = word & UINT16_MAX,
		.has = &places->has[group],
	};
}

struct sync_place sync_take_place(const struct sync_places *places)
{
	uint32_t *const mine = &places->groups[nvw_group_id()].place;
	const unsigned cu = nvw_cu_id();
	struct sync_place place;

	assert(nvw_group_id() < places->group_count && cu < places->cu_count);
	if (nvw_local_id() == 0) {
		nvw_store(mine,
			cu << 16 | nvw_atomic_add(&places->cus[cu].groups, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT));
	}
	nvw_barrier(NVW_KERNEL);
	place = place_from(places, nvw_group_id(), nvw_load(mine));
	place.neighbours = nvw_load(&places->cus[cu].groups);
	return place;
}

int sync_groups_on(
	struct nvw_machine *machine, const struct sync_places *places, unsigned cu, uint32_t *ret_groups)
{
	assert(cu < places->cu_count);
	return nvw_read(machine, ret_groups, &places->cus[cu].groups, sizeof(*ret_groups));
}

int sync_place_of(struct nvw_machine *machine, const struct sync_places *places, uint64_t group,
	struct sync_place *ret_place)
{
	uint32_t word = 0;

	assert(group < places->group_count);
	NVW_TRY(nvw_read(machine, &word, &places->groups[group].place, sizeof(word)));
	*ret_place = place_from(places, group, word);
	return sync_groups_on(machine, places, ret_place->cu, &ret_place->neighbours);
}

int sync_launch(struct nvw_machine *machine, struct sync_places *places, const char *name, nvw_kernel kernel,
	const void *args)
{
	assert(places->has && places->group_count > 0);
	const uint64_t began = nvw_time_ps(machine);
	const int error = nvw_launch(
		machine, name, kernel, args, places->group_count * places->group_size, places->group_size);

	places->ps = nvw_time_ps(machine) - began;
	return error;
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

/* State of a waiting work-item. */
struct patience {
	uint32_t failures, steps; /* since the back-off restarted; of the next wait */
};

/* A step of HeteroSync's back-off is one of an empty loop: add, compare, branch. */
enum { STEP_INSTRUCTIONS = 3 };

enum { LINEAR_FIRST = 10, LINEAR_MORE = 5, LINEAR_ANEW = 1, LINEAR_FAILURES = 25 };

static struct patience begin_waiting(const struct sync_polls *polls)
{
	return (struct patience){.steps = polls->backoff == SYNC_LINEAR ? LINEAR_FIRST : 1};
}

static void pause_after_failure(const struct sync_polls *polls, struct patience *p)
{
	if (polls->backs_off) {
		nvw_work(STEP_INSTRUCTIONS * p->steps);
		if (polls->backoff == SYNC_EXPONENTIAL) {
			p->steps = (uint32_t)u64_min(2 * p->steps, polls->backoff_max);
		} else if (++p->failures > LINEAR_FAILURES) {
			*p = (struct patience){.steps = LINEAR_ANEW};
		} else {
			p->steps += LINEAR_MORE;
		}
	}
	nvw_work(polls->gap);
}

void sync_wait_alone(const struct sync_polls *polls, bool (*try)(void *context), void *context)
{
	struct patience p = begin_waiting(polls);

	while (!try(context)) {
		pause_after_failure(polls, &p);
	}
}

static void poll_together(const struct sync_polls *polls, const struct sync_place *place,
	bool (*try)(void *context), void *context)
{
	struct patience p = begin_waiting(polls);

	*place->has = false;
	nvw_barrier(NVW_WORKGROUP);
	while (!*place->has) {
		nvw_barrier(NVW_WORKGROUP);
		if (nvw_local_id() == 0) {
			*place->has = try(context);
			if (!*place->has) {
				pause_after_failure(polls, &p);
			}
		}
		nvw_barrier(NVW_WORKGROUP);
	}
}

void sync_wait(const struct sync_polls *polls, const struct sync_place *place, bool (*try)(void *context),
	void *context)
{
	assert(place->has);
	if (polls->together) {
		poll_together(polls, place, try, context);
		return;
	}
	if (nvw_local_id() == 0) {
		sync_wait_alone(polls, try, context);
	}
	nvw_barrier(NVW_WORKGROUP);
}

int sync_report_sections(struct nvw_description *description, const struct sync_places *places,
	uint64_t iterations, const char *whose)
{
	const uint64_t sections = places->group_count * iterations;

	assert(iterations > 0);
	NVW_TRY(nvw_describe_u64(description, "critical_sections", sections, "", whose));
	return nvw_describe_real(description, "section_ns", (double)places->ps / 1e3 / (double)sections, "ns",
		"simulated time of the kernel for each critical section");
}
