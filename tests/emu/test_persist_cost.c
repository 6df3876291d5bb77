/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persisting costs: no model and no domain is faster than not persisting. The programs' work does not depend
 * on time: no work-item waits for another, none reads what another writes.
 */
#include "epochs.h"

#include <stdio.h>

#include <nvw/host.h>

enum { ITEMS_OF_PROGRAM = 512 };

KERNEL(stream, const struct words, w)
{
	NVW_FOR(round, w->rounds) {
		nvw_store(&w->a[8 * (round * ITEMS_OF_PROGRAM + nvw_global_id())], round);
	}
}

KERNEL(stream_in_epochs, const struct words, w)
{
	NVW_FOR(round, w->rounds) {
		nvw_store(&w->a[8 * (round * ITEMS_OF_PROGRAM + nvw_global_id())], round);
		nvw_p_barrier(w->group);
	}
}

KERNEL(scatter_in_epochs, const struct words, w)
{
	uint64_t x = nvw_global_id();

	NVW_FOR(round, w->rounds) {
		x = (x * 2654435761u + round) % (64 * ITEMS_OF_PROGRAM);
		nvw_store(&w->a[x / ITEMS_OF_PROGRAM * 8 * ITEMS_OF_PROGRAM + 8 * nvw_global_id()], x);
		nvw_p_barrier(w->group);
	}
}

KERNEL(add_in_epochs, const struct words, w)
{
	NVW_FOR(round, w->rounds) {
		nvw_atomic_add(&w->a[8 * (round % 4 * ITEMS_OF_PROGRAM + nvw_global_id())], 1, NVW_RELAXED,
			NVW_SCOPE_AGENT);
		nvw_p_barrier(w->group);
	}
}

static const struct program {
	const char *name;
	nvw_kernel kernel;
} programs[] = {{"stream", stream}, {"stream in epochs", stream_in_epochs},
	{"update in epochs", update_in_epochs}, {"scatter in epochs", scatter_in_epochs},
	{"add in epochs", add_in_epochs}};

static uint64_t time_of_program(
	const struct program *program, enum nvw_group group, const char *const *settings, bool is_volatile)
{
	RIG(rig);
	struct words w = {.group = group, .rounds = 8};

	rig_begin(&rig, 0, settings);
	if (is_volatile) {
		nvw_machine_set_volatile(rig.machine);
	}
	w.a = rig.nvram;
	rig_ok(nvw_launch(rig.machine, program->name, program->kernel, &w, ITEMS_OF_PROGRAM, 128));
	rig_ok(nvw_persist(rig.machine));
	return nvw_time_ps(rig.machine);
}

/* NVRAM as gope18 has it, and NVRAM that is as fast as DRAM: what is left is what persisting itself costs. */
static const char *const latencies[][2] = {
	{"nvram.read=75ns", "nvram.write=250ns"}, {"nvram.read=25ns", "nvram.write=25ns"}};

static void compare_with_not_persisting(
	const struct program *program, enum nvw_group group, const char *const *latency)
{
	static const char *const domains[] = {"nvram.domain=device", "nvram.domain=adr", "nvram.domain=eadr"};
	/* What the controller has accepted is not waited for at the end: a short queue makes that little. */
	const char *settings[] = {latency[0], latency[1], "nvram.queue=1", NULL, NULL, NULL};
	const uint64_t off = time_of_program(program, group, settings, true);

	for (unsigned i = 0; emu_model_info(i / 3); i++) {
		char model[64];
		uint64_t on;

		snprintf(model, sizeof model, "persist.model=%s", emu_model_info(i / 3)->name);
		settings[3] = model;
		settings[4] = domains[i % 3];
		on = time_of_program(program, group, settings, false);
		if (on < off) {
			fail_msg("%s, scope %u, %s, %s, %s: %llu ps, and %llu without persisting",
				program->name, (unsigned)group, settings[1], settings[3], settings[4],
				(unsigned long long)on, (unsigned long long)off);
		}
	}
}

TEST(no_model_or_domain_is_faster_than_not_persisting)
{
	for_each(program, programs) {
		for (unsigned group = NVW_WORKITEM; group <= NVW_KERNEL; group++) {
			compare_with_not_persisting(program, (enum nvw_group)group, latencies[0]);
			compare_with_not_persisting(program, (enum nvw_group)group, latencies[1]);
		}
	}
}

static uint64_t store_latency(const char *model)
{
	RIG_BEGUN(rig, 0, model, "nvram.queue=1", "nvram.bandwidth=1GB/s");
	struct words w = {.rounds = 8, .a = rig.nvram};

	rig_ok(nvw_launch(rig.machine, "stream", stream, &w, ITEMS_OF_PROGRAM, 128));
	return emu_statistics(rig.machine)->store_ps;
}

TEST(write_backs_wait_for_the_controller_under_every_model)
{
	assert_int_equal(store_latency("persist.model=buffered-epoch"), store_latency("persist.model=epoch"));
}
