/* SPDX-License-Identifier: BSD-3-Clause */
/* The race detector: planted races are found, and ordered programs are clean. */
#include "common/rig.h"

#include "protocol/protocol.h"
#include "races/races.h"

#define WI    NVW_SCOPE_WORKITEM
#define WG    NVW_SCOPE_WORKGROUP
#define AGENT NVW_SCOPE_AGENT
#define FAR   NVW_SCOPE_REMOTE_AGENT

enum { PATIENCE = 3000 };

struct program {
	uint64_t *data, *flag, *other; /* on lines of their own */
	enum nvw_order put, get;       /* orders of the flag's store and load */
	enum nvw_scope put_scope, get_scope;
};

/*
 * What is found when two groups of 64, on two CUs unless the settings say otherwise, run the kernel under the
 * protocol.
 */
static struct emu_race_report found_with(const char *protocol, const char *const *also,
	enum emu_race_model model, nvw_kernel kernel, struct program p)
{
	RIG(rig);

	rig_begin_under_with(&rig, protocol, 0, also);
	rig_ok(emu_check_races(rig.machine, model));
	p.data = nvw_alloc(rig.machine, 4 * 64);
	p.flag = nvw_alloc(rig.machine, 64);
	p.other = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "planted", kernel, &p, 128, 64));
	return *emu_races(rig.machine);
}

static struct emu_race_report found(const char *protocol, nvw_kernel kernel, struct program p)
{
	return found_with(protocol, NULL, EMU_RACES_CLAIMED, kernel, p);
}

static unsigned races_of(const char *protocol, nvw_kernel kernel, struct program p)
{
	return found(protocol, kernel, p).count;
}

static bool first_of(uint64_t group)
{
	return nvw_group_id() == group && nvw_local_id() == 0;
}

static void wait_for(uint64_t *flag, uint64_t value, enum nvw_order order, enum nvw_scope scope)
{
	for (unsigned i = 0; i < PATIENCE && nvw_atomic_load(flag, order, scope) != value; i++) {
	}
}

/* ---- Message passing --------------------------------------------------------------------------------- */

static unsigned at_store, at_release, at_acquire, at_load; /* lines */

KERNEL(pass_message, const struct program, p)
{
	if (first_of(0)) {
		at_store = __LINE__, nvw_store(p->data, 1);
		at_release = __LINE__, nvw_atomic_store(p->flag, 1, p->put, p->put_scope);
	} else if (first_of(1)) {
		uint64_t seen = 0;

		for (unsigned i = 0; i < PATIENCE && seen != 1; i++) {
			at_acquire = __LINE__, seen = nvw_atomic_load(p->flag, p->get, p->get_scope);
		}
		at_load = __LINE__, (void)nvw_load(p->data);
	}
}

static const struct program right = {
	.put = NVW_RELEASE, .get = NVW_ACQUIRE, .put_scope = AGENT, .get_scope = AGENT};

TEST(release_and_acquire_order_under_every_protocol)
{
	for_each_protocol(p) {
		assert_int_equal(races_of(p->name, pass_message, right), 0);
	}
}

static void assert_data_race(const struct emu_race_report *report, const char *first, unsigned first_line,
	const char *second, unsigned second_line)
{
	const struct emu_race *const race = &report->race[0];

	assert_int_equal(report->count, 1);
	assert_int_equal(race->kind, EMU_RACE_DATA);
	assert_string_equal(race->first.kind, first);
	assert_int_equal(race->first.site->line, first_line);
	assert_string_equal(race->second.kind, second);
	assert_int_equal(race->second.site->line, second_line);
}

TEST(a_missing_release_or_acquire_is_a_race_under_every_protocol)
{
	for_each_protocol(protocol) {
		NVW_FOR(missing, 2) {
			struct program p = right;
			struct emu_race_report report;

			*(missing ? &p.get : &p.put) = NVW_RELAXED;
			report = found(protocol->name, pass_message, p);
			assert_data_race(&report, "store", at_store, "load", at_load);
			assert_false(report.race[0].scopes_to_blame);
			assert_int_equal(report.race[0].first.work_item, 0);
			assert_int_equal(report.race[0].second.work_item, 64);
			assert_int_equal(report.race[0].second.group, 1);
			assert_int_equal(report.race[0].bytes, 8);
			assert_false(report.race[0].in_nvram);
			assert_string_equal(report.race[0].kernel, "planted");
		}
	}
}

static unsigned at_stores, at_issue; /* lines */

/*
 * Four lines, of which a store buffer of one entry makes three wait; two of the loads are issued before they
 * are used.
 */
KERNEL(pass_four, const struct program, p)
{
	if (first_of(0)) {
		NVW_FOR(i, 4) {
			at_stores = __LINE__, nvw_store(p->data + (size_t)8 * i, 1);
		}
		nvw_atomic_store(p->flag, 1, p->put, p->put_scope);
	} else if (first_of(1)) {
		wait_for(p->flag, 1, p->get, p->get_scope);
		NVW_FOR(i, 4) {
			at_issue = __LINE__;
			const struct nvw_issued value = nvw_load_issue(p->data + (size_t)8 * i);

			(void)nvw_load_use(value, uint64_t);
		}
	}
}

/*
 * A store that waits in a write buffer races as any other; that tso keeps the order of two stores makes no
 * synchronization of them.
 */
TEST(races_are_the_same_under_every_consistency_model)
{
	static const char *const models[] = {"gpu.consistency=sc-simple", "gpu.consistency=sc-wb",
		"gpu.consistency=tso", "gpu.consistency=rmo"};
	static const char *const protocols[] = {"mttop-wb", "rfo"};

	NVW_FOR(i, 8) {
		NVW_FOR(missing, 3) {
			struct program p = right;
			struct emu_race_report report;

			p.put = missing == 1 ? NVW_RELAXED : p.put;
			p.get = missing == 2 ? NVW_RELAXED : p.get;
			report = found_with(protocols[i / 4],
				SETTINGS(models[i % 4], "store_buffer.entries=1"), EMU_RACES_CLAIMED,
				pass_four, p);
			if (missing) {
				assert_data_race(&report, "store", at_stores, "load", at_issue + 1);
				assert_int_equal(report.races, 4);
			} else {
				assert_int_equal(report.races, 0);
			}
		}
	}
}

/* Narrow on one side: the data race is blamed on the two scopes, and the atomics race by themselves. */
TEST(a_scope_too_narrow_is_a_mismatch_that_is_named)
{
	NVW_FOR(narrow, 4) {
		struct program p = right;
		struct emu_race_report report;
		const struct emu_race *data;
		const char *const scope = narrow & 2 ? "work-item" : "work-group";

		*(narrow & 1 ? &p.get_scope : &p.put_scope) = narrow & 2 ? WI : WG;
		report = found("vi", pass_message, p);
		assert_int_equal(report.count, 2);
		assert_int_equal(report.race[0].kind, EMU_RACE_SCOPES);
		data = &report.race[1];
		assert_int_equal(data->kind, EMU_RACE_DATA);
		assert_true(data->scopes_to_blame);
		assert_int_equal(data->release.site->line, at_release);
		assert_int_equal(data->acquire.site->line, at_acquire);
		assert_string_equal(data->release.scope, narrow & 1 ? "agent" : scope);
		assert_string_equal(data->acquire.scope, narrow & 1 ? scope : "agent");
		assert_int_equal(found_with("vi", NULL, EMU_RACES_DRF, pass_message, p).races, 0);
	}
}

static unsigned at_releases[2]; /* lines */

/* Both releases are too narrow for who acquires. put_scope is the first's, get_scope the second's. */
KERNEL(release_twice, const struct program, p)
{
	if (first_of(0)) {
		nvw_store(p->data, 1);
		at_releases[0] = __LINE__, (void)nvw_atomic_add(p->flag, 1, NVW_RELEASE, p->put_scope);
		at_releases[1] = __LINE__, (void)nvw_atomic_add(p->flag, 1, NVW_RELEASE, p->get_scope);
	} else if (first_of(1)) {
		wait_for(p->flag, 2, NVW_ACQUIRE, AGENT);
		(void)nvw_load(p->data);
	}
}

TEST(the_latest_of_several_missed_releases_is_blamed)
{
	NVW_FOR(narrow, 2) {
		const struct program p = {.put_scope = narrow ? WI : WG, .get_scope = narrow ? WG : WI};
		const struct emu_race_report report = found("vi", release_twice, p);
		const struct emu_race *data = NULL;

		NVW_EACH(race, report.race, report.count) {
			data = race->kind == EMU_RACE_DATA ? race : data;
		}
		assert_non_null(data);
		assert_true(data->scopes_to_blame);
		assert_int_equal(data->release.site->line, at_releases[1]);
	}
}

TEST(scopes_mean_nothing_where_the_protocol_claims_drf)
{
	struct program p = right;

	p.put_scope = WG;
	assert_int_equal(races_of("gd", pass_message, p), 0);
	assert_int_equal(found_with("gd", NULL, EMU_RACES_HRF, pass_message, p).count, 2);
}

/* alsop16 II.D; under the others a remote scope is the scope without "remote". */
TEST(remote_scopes_synchronize_with_work_group_scope_under_rsp_alone)
{
	NVW_FOR(side, 2) {
		struct program p = right;

		p.put_scope = side ? WG : FAR;
		p.get_scope = side ? FAR : WG;
		assert_int_equal(races_of("rsp", pass_message, p), 0);
		assert_int_equal(races_of("vi", pass_message, p), 2);
	}
}

/* sinclair15 3: local scope is that of the L1. From group to group on one CU, with work-group scope. */
TEST(work_group_scope_is_the_cu_s_under_gh_and_dh_and_the_group_s_under_vi)
{
	static const struct {
		const char *protocol;
		unsigned races;
	} table[] = {{"gh", 0}, {"dh", 0}, {"vi", 2}};
	struct program p = right;

	p.put_scope = p.get_scope = WG;
	for_each(one, table) {
		assert_int_equal(
			found_with(one->protocol, SETTINGS("gpu.cus=1"), EMU_RACES_CLAIMED, pass_message, p)
				.count,
			one->races);
	}
}

/* ---- Chains -------------------------------------------------------------------------------------------- */

/* 0 of group 0 tells 1 of group 0 with work-group scope, who tells group 1 with agent scope. */
KERNEL(pass_through_a_third, const struct program, p)
{
	if (nvw_global_id() == 0) {
		nvw_store(p->data, 1);
		nvw_atomic_store(p->flag, 1, NVW_RELEASE, p->put_scope);
	} else if (nvw_global_id() == 1) {
		wait_for(p->flag, 1, NVW_ACQUIRE, p->put_scope);
		nvw_atomic_store(p->other, 1, NVW_RELEASE, AGENT);
	} else if (first_of(1)) {
		wait_for(p->other, 1, NVW_ACQUIRE, AGENT);
		(void)nvw_load(p->data);
	}
}

TEST(order_goes_through_a_third_work_item_and_other_scopes)
{
	struct program p = right;
	struct emu_race_report report;

	p.put_scope = WG;
	assert_int_equal(races_of("vi", pass_through_a_third, p), 0);
	p.put_scope = WI; /* but not where the first step fails, which is the one that is blamed */
	report = found("vi", pass_through_a_third, p);
	assert_true(report.race[1].scopes_to_blame);
	assert_string_equal(report.race[1].release.scope, "work-item");
	assert_string_equal(report.race[1].acquire.scope, "work-item");
}

/* A relaxed read-modify-write (put: acquire) or a relaxed store (put: relaxed) comes between. */
KERNEL(come_between, const struct program, p)
{
	if (nvw_global_id() == 0) {
		nvw_store(p->data, 1);
		nvw_atomic_store(p->flag, 1, NVW_RELEASE, AGENT);
	} else if (nvw_global_id() == 1) {
		wait_for(p->flag, 1, NVW_RELAXED, AGENT);
		if (p->put == NVW_ACQUIRE) {
			(void)nvw_atomic_add(p->flag, 1, NVW_RELAXED, AGENT);
		} else {
			nvw_atomic_store(p->flag, 2, NVW_RELAXED, AGENT);
		}
	} else if (first_of(1)) {
		wait_for(p->flag, 2, NVW_RELAXED, AGENT);
		(void)nvw_atomic_load(p->flag, NVW_ACQUIRE, AGENT);
		(void)nvw_load(p->data);
	}
}

TEST(read_modify_writes_continue_a_release_sequence_and_stores_end_it)
{
	struct program p = right;

	p.put = NVW_ACQUIRE;
	assert_int_equal(races_of("vi", come_between, p), 0);
	p.put = NVW_RELAXED;
	assert_int_equal(races_of("vi", come_between, p), 1);
}

/*
 * A compare-exchange that fails stores nothing: it releases nothing. get: what is expected of the flag, 0 as
 * a success.
 */
KERNEL(exchange_and_fail, const struct program, p)
{
	if (first_of(0)) {
		nvw_store(p->data, 1);
		(void)nvw_atomic_compare_exchange(p->flag, (uint64_t)p->get, 7, NVW_ACQ_REL, AGENT);
		nvw_atomic_store(p->other, 1, NVW_RELAXED, AGENT);
	} else if (first_of(1)) {
		wait_for(p->other, 1, NVW_RELAXED, AGENT);
		(void)nvw_atomic_load(p->flag, NVW_ACQUIRE, AGENT);
		(void)nvw_load(p->data);
	}
}

TEST(a_compare_exchange_releases_if_it_succeeds)
{
	struct program p = {.get = NVW_RELAXED};

	assert_int_equal(races_of("vi", exchange_and_fail, p), 0);
	p.get = NVW_ACQUIRE;
	assert_int_equal(races_of("vi", exchange_and_fail, p), 1);
}

KERNEL(add_relaxed, const struct program, p)
{
	(void)nvw_atomic_add(p->flag, 1, NVW_RELAXED, p->put_scope);
}

TEST(relaxed_atomics_do_not_race_among_themselves_unless_their_scopes_differ)
{
	struct program p = {.put_scope = AGENT};

	assert_int_equal(races_of("vi", add_relaxed, p), 0);
	p.put_scope = WG;
	assert_int_equal(races_of("vi", add_relaxed, p), 1);
	assert_int_equal(found("vi", add_relaxed, p).race[0].kind, EMU_RACE_SCOPES);
	p.put_scope = WI;
	assert_int_equal(races_of("vi", add_relaxed, p), 1);
	assert_int_equal(races_of("gd", add_relaxed, p), 0);
}

/* ---- Barriers ------------------------------------------------------------------------------------------ */

struct meeting {
	uint64_t *data;
	int group; /* of the barrier; -1: none, -2: a persist barrier of the kernel */
	bool far;  /* read what another group wrote */
};

KERNEL(meet, const struct meeting, p)
{
	const uint64_t all = nvw_group_size() * nvw_group_count(), id = nvw_global_id();

	NVW_FOR(round, 3) {
		nvw_store(&p->data[id], round);
		if (p->group >= 0) {
			nvw_barrier((enum nvw_group)p->group);
		} else if (p->group == -2) {
			nvw_p_barrier_kr();
		}
		(void)nvw_load(&p->data[p->far ? (id + nvw_group_size()) % all : id ^ 1]);
		if (p->group >= 0) {
			nvw_barrier((enum nvw_group)p->group);
		}
	}
}

static unsigned races_of_meeting(const char *protocol, int group, bool far, uint64_t work_items)
{
	RIG_UNDER(rig, protocol);
	const struct meeting p = {nvw_alloc(rig.machine, 8 * work_items), group, far};

	rig_ok(emu_check_races(rig.machine, EMU_RACES_CLAIMED));
	NVW_FOR(kernel, 2) { /* kernels are ordered as well */
		rig_launch(&rig, meet, &p, work_items, 128);
	}
	return emu_races(rig.machine)->count;
}

TEST(barriers_order_whom_they_join_and_nobody_else)
{
	static const char *const protocols[] = {"vi", "gd"};

	for_each(protocol, protocols) {
		assert_int_equal(races_of_meeting(*protocol, NVW_WORKGROUP, false, 512), 0);
		assert_int_equal(races_of_meeting(*protocol, NVW_KERNEL, true, 512), 0);
		assert_int_equal(races_of_meeting(*protocol, NVW_WORKGROUP, true, 512), 1);
		assert_int_equal(races_of_meeting(*protocol, NVW_WORKITEM, false, 512), 1);
		assert_int_equal(races_of_meeting(*protocol, -1, false, 512), 1);
		assert_int_equal(races_of_meeting(*protocol, -2, true, 512), 1); /* gope18 6.2 */
	}
	assert_int_equal(races_of_meeting("vi", NVW_KERNEL, true, 40000), 0); /* more than are resident */
}

/* ---- Data alone ---------------------------------------------------------------------------------------- */

KERNEL(store_by_two_lanes, const struct program, p)
{
	if (nvw_global_id() < 2) {
		nvw_store(p->data, p->put == NVW_RELAXED ? nvw_global_id() : 5);
	}
}

TEST(lanes_of_a_wavefront_race_and_equal_values_are_noted)
{
	struct program p = {.put = NVW_RELAXED};
	struct emu_race_report report = found("vi", store_by_two_lanes, p);

	assert_int_equal(report.count, 1);
	assert_int_equal(report.race[0].first.work_item, 0);
	assert_int_equal(report.race[0].second.work_item, 1);
	assert_false(report.race[0].same_value);
	p.put = NVW_ACQUIRE;
	report = found("vi", store_by_two_lanes, p);
	assert_int_equal(report.count, 1);
	assert_true(report.race[0].same_value);
}

/* Neighbouring bytes are not the same bytes; overlapping ones are (put: relaxed). */
KERNEL(store_beside, const struct program, p)
{
	if (first_of(0)) {
		nvw_store((uint8_t *)p->data + 3, 1);
	} else if (first_of(1) && p->put == NVW_RELAXED) {
		nvw_store((uint32_t *)p->data, 1);
	} else if (first_of(1)) {
		nvw_store((uint16_t *)p->data, 1);
	}
}

TEST(bytes_race_and_not_words)
{
	struct program p = {.put = NVW_ACQUIRE};
	struct emu_race_report report;

	assert_int_equal(races_of("vi", store_beside, p), 0);
	p.put = NVW_RELAXED;
	report = found("vi", store_beside, p);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.race[0].bytes, 1);
	assert_int_equal(report.race[0].offset % 8, 3);
}

/* Ordered by a kernel-wide barrier, and yet no read-only data. */
KERNEL(load_read_only, const struct program, p)
{
	if (first_of(0) && p->put == NVW_RELAXED) {
		nvw_store(p->data, 1);
	}
	nvw_barrier(NVW_KERNEL);
	if (first_of(1)) {
		(void)nvw_load_read_only(p->data);
	}
	nvw_barrier(NVW_KERNEL);
	if (first_of(0) && p->put == NVW_RELEASE) {
		nvw_atomic_store(p->data, 1, NVW_RELAXED, AGENT);
	}
}

TEST(a_read_only_load_of_what_the_kernel_writes_is_found_ordered_or_not)
{
	static const enum nvw_order when[] = {NVW_RELAXED, NVW_RELEASE};

	NVW_FOR(i, 2) {
		struct program p = {.put = when[i]};
		const struct emu_race_report report = found("dd+ro", load_read_only, p);

		assert_int_equal(report.count, 1);
		assert_int_equal(report.race[0].kind, EMU_RACE_READ_ONLY);
		assert_string_equal(
			i ? report.race[0].first.kind : report.race[0].second.kind, "read-only load");
	}
	assert_int_equal(races_of("dd+ro", load_read_only, (struct program){.put = NVW_ACQUIRE}), 0);
}

/* Eight source lines store to one word: more pairs than are told. */
#define STORE(i)                        \
	if (nvw_global_id() % 8 == i) { \
		nvw_store(p->data, i);  \
	}
static void store_everywhere(const void *args)
{
	const struct program *const p = args;

	STORE(0)
	STORE(1)
	STORE(2)
	STORE(3)
	STORE(4)
	STORE(5)
	STORE(6)
	STORE(7)
}
#undef STORE

TEST(a_run_is_told_the_same_twice_and_no_more_pairs_than_fit)
{
	const struct emu_race_report once = found("vi", store_everywhere, right),
				     again = found("vi", store_everywhere, right);

	assert_int_equal(once.count, EMU_RACES_MAX);
	assert_true(once.unlisted > 0);
	assert_memory_equal(&once, &again, sizeof once);
}
