/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol tables: complete, named, and as the papers print them. */
#include "common/rig.h"

#include <stdio.h>
#include <string.h>

#include "protocol/protocol.h"

static void every_instruction_order_and_scope_has_a_row(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		for (unsigned instruction = 0; instruction < COH_INSTRUCTION_COUNT; instruction++) {
			for (unsigned order = 0; order < COH_ORDERS; order++) {
				for (unsigned scope = 0; scope < COH_SCOPES; scope++) {
					assert_non_null(
						coh_row_find(coh_protocols[i], instruction, order, scope));
				}
			}
		}
	}
}

static void every_row_can_be_reached(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		for (const struct coh_row *row = coh_protocols[i]->rows; row->instructions; row++) {
			bool reached = false;

			for (unsigned n = 0; n < COH_INSTRUCTION_COUNT * COH_ORDERS * COH_SCOPES; n++) {
				reached = reached ||
					  coh_row_find(coh_protocols[i], n / (COH_ORDERS * COH_SCOPES),
						  n / COH_SCOPES % COH_ORDERS, n % COH_SCOPES) == row;
			}
			assert_true(reached);
		}
	}
}

static void actions_carry_the_names_of_the_papers(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		const struct coh_protocol *const p = coh_protocols[i];

		for (const struct coh_row *row = p->rows; row->instructions; row++) {
			for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
				assert_non_null(coh_action_name(row->steps[s]));
			}
		}
		for (unsigned n = 0; n < p->l1_state_count * COH_L1_EVENT_COUNT; n++) {
			for (unsigned s = 0; s < 3 && p->l1[n].actions[s]; s++) {
				assert_non_null(coh_line_action_name(p->l1[n].actions[s]));
			}
			assert_true(p->l1[n].next < p->l1_state_count);
		}
	}
}

/* The steps of a row as one text. */
static const char *steps_text(
	const char *protocol, enum coh_instruction instruction, unsigned order, enum nvw_scope scope)
{
	static char text[256];
	const struct coh_row *const row =
		coh_row_find(coh_protocol_find(protocol), instruction, order, scope);

	text[0] = 0;
	for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", s ? "; " : "",
			coh_action_name(row->steps[s]));
	}
	return text;
}

/* The rows of alsop16 Table 3 that a protocol with HRF scopes shares with RSP, and gope18 3 for system scope.
 */
static void vi_does_what_the_papers_say(void **state)
{
	assert_string_equal(
		steps_text("vi", COH_ATOMIC_LOAD, COH_ACQUIRE, NVW_SCOPE_WORKGROUP), "LD x at L1");
	assert_string_equal(steps_text("vi", COH_ATOMIC_LOAD, COH_ACQUIRE, NVW_SCOPE_AGENT),
		"LD x at L2; invalidate local L1");
	assert_string_equal(
		steps_text("vi", COH_ATOMIC_STORE, COH_RELEASE, NVW_SCOPE_WORKGROUP), "ST x at L1");
	assert_string_equal(steps_text("vi", COH_ATOMIC_STORE, COH_RELEASE, NVW_SCOPE_AGENT),
		"flush local L1; ST x at L2");
	assert_string_equal(steps_text("vi", COH_RMW, COH_ACQ_REL, NVW_SCOPE_WORKGROUP), "RMW x at L1");
	assert_string_equal(steps_text("vi", COH_RMW, COH_ACQ_REL, NVW_SCOPE_AGENT),
		"flush local L1; RMW x at L2; invalidate local L1");
	assert_string_equal(steps_text("vi", COH_ATOMIC_STORE, COH_RELEASE, NVW_SCOPE_SYSTEM),
		"flush local L1; flush L2; ST x at L2");
}

/* sinclair15 3: all synchronization at the L2; with HRF, that of local scope in the L1, without actions. */
static void gd_and_gh_do_what_the_paper_says(void **state)
{
	static const enum nvw_scope scopes[] = {
		NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};

	for (unsigned i = 0; i < 4; i++) {
		const bool local = scopes[i] <= NVW_SCOPE_WORKGROUP;

		assert_string_equal(
			steps_text("gd", COH_ATOMIC_LOAD, COH_ACQUIRE, scopes[i]), "LD x at L2; invalidate local L1");
		assert_string_equal(steps_text("gd", COH_ATOMIC_STORE, COH_RELEASE, scopes[i]), "flush local L1; ST x at L2");
		assert_string_equal(steps_text("gd", COH_RMW, COH_ACQ_REL, scopes[i]),
			"flush local L1; RMW x at L2; invalidate local L1");
		assert_string_equal(steps_text("gh", COH_ATOMIC_LOAD, COH_ACQUIRE, scopes[i]),
			local ? "LD x at L1" : "LD x at L2; invalidate local L1");
		assert_string_equal(steps_text("gh", COH_ATOMIC_STORE, COH_RELEASE, scopes[i]),
			local ? "ST x at L1" : "flush local L1; ST x at L2");
		assert_string_equal(steps_text("gh", COH_RMW, COH_ACQ_REL, scopes[i]),
			local ? "RMW x at L1" : "flush local L1; RMW x at L2; invalidate local L1");
	}
}

enum { ROUNDS = 40 };

struct passing {
	uint64_t *data, *flag, *stale; /* on lines of their own */
	enum nvw_scope scope;
};

/* Work-item 0 of each of two groups, on two CUs: data and flag go to and fro. */
static void pass_on(const void *args)
{
	const struct passing *const p = args;
	const uint64_t me = nvw_group_id();

	for (uint64_t round = 0; nvw_local_id() == 0 && round < ROUNDS; round++) {
		while (nvw_atomic_load(p->flag, NVW_ACQUIRE, p->scope) != 2 * round + me) {
		}
		if (nvw_load(p->data) != 2 * round + me) {
			nvw_store(p->stale, 1);
		}
		nvw_store(p->data, 2 * round + me + 1);
		nvw_atomic_store(p->flag, 2 * round + me + 1, NVW_RELEASE, p->scope);
	}
}

static struct emu_stats passed_on(const char *protocol, enum nvw_scope scope)
{
	char setting[32];
	const char *const settings[] = {setting, NULL};
	struct passing p = {.scope = scope};
	struct emu_stats stats;
	struct rig rig;

	snprintf(setting, sizeof setting, "protocol=%s", protocol);
	rig_begin(&rig, 0, settings);
	p.data = nvw_alloc(rig.machine, 64);
	p.flag = nvw_alloc(rig.machine, 64);
	p.stale = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "pass_on", pass_on, &p, 128, 64));
	assert_int_equal(rig_visible(&rig, p.stale), 0);
	assert_int_equal(rig_visible(&rig, p.data), 2 * ROUNDS);
	stats = *emu_statistics(rig.machine);
	rig_end(&rig);
	return stats;
}

static void what_is_released_to_the_agent_is_acquired_by_another_cu_under_every_protocol(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		assert_int_equal(passed_on(coh_protocols[i]->name, NVW_SCOPE_AGENT).l1_atomics, 0);
	}
}

/* Under gd a narrow scope is no scope: the same program is right with it. */
static void gd_knows_no_scopes(void **state)
{
	assert_int_equal(passed_on("gd", NVW_SCOPE_WORKGROUP).l1_atomics, 0);
}

/* Two CUs store to different words of one line; what one has read of it before, it must not read again after an acquire. */
static void share_falsely(const void *args)
{
	const struct passing *const p = args;

	if (nvw_local_id() == 0 && nvw_group_id() == 0) {
		(void)nvw_load(&p->data[1]);
		nvw_store(&p->data[0], 5); /* dirty, and the whole line is valid */
		nvw_atomic_store(&p->flag[0], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		while (nvw_atomic_load(&p->flag[8], NVW_ACQUIRE, NVW_SCOPE_AGENT) == 0) {
		}
		nvw_store(p->stale, nvw_load(&p->data[1]) != 7 || nvw_load(&p->data[0]) != 5);
	} else if (nvw_local_id() == 0) {
		while (nvw_atomic_load(&p->flag[0], NVW_ACQUIRE, NVW_SCOPE_AGENT) == 0) {
		}
		nvw_store(&p->data[1], 7);
		nvw_atomic_store(&p->flag[8], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

static void an_acquire_leaves_no_stale_bytes_in_a_dirty_line_under_any_protocol(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		char setting[32];
		const char *const settings[] = {setting, NULL};
		struct passing p = {0};
		struct rig rig;

		snprintf(setting, sizeof setting, "protocol=%s", coh_protocols[i]->name);
		rig_begin(&rig, 0, settings);
		p.data = nvw_alloc(rig.machine, 64);
		p.flag = nvw_alloc(rig.machine, 128);
		p.stale = nvw_alloc(rig.machine, 64);
		rig_ok(nvw_launch(rig.machine, "share_falsely", share_falsely, &p, 128, 64));
		assert_int_equal(rig_visible(&rig, p.stale), 0);
		assert_int_equal(rig_visible(&rig, &p.data[0]), 5);
		assert_int_equal(rig_visible(&rig, &p.data[1]), 7);
		rig_end(&rig);
	}
}

/* Every work-item adds with work-group scope; the groups count for themselves. */
static void add_locally(const void *args)
{
	const struct passing *const p = args;

	nvw_atomic_add(&p->data[8 * nvw_group_id()], 1, NVW_ACQ_REL, NVW_SCOPE_WORKGROUP);
}

static void local_synchronization_stays_in_the_l1_under_gh_and_goes_to_the_l2_under_gd(void **state)
{
	static const char *const names[] = {"gh", "gd"};

	for (unsigned i = 0; i < 2; i++) {
		char setting[32];
		const char *const settings[] = {setting, NULL};
		struct passing p = {0};
		struct rig rig;

		snprintf(setting, sizeof setting, "protocol=%s", names[i]);
		rig_begin(&rig, 0, settings);
		p.data = nvw_alloc(rig.machine, 4 * 64);
		rig_ok(nvw_launch(rig.machine, "add_locally", add_locally, &p, 256, 64));
		for (unsigned group = 0; group < 4; group++) {
			assert_int_equal(rig_visible(&rig, &p.data[8 * group]), 64);
		}
		assert_int_equal(emu_statistics(rig.machine)->l1_atomics == 0, i);
		assert_int_equal(emu_statistics(rig.machine)->l2_atomics == 0, !i);
		rig_end(&rig);
	}
}

struct broken {
	uint64_t *a;
};

static void touch(const void *args)
{
	const struct broken *const b = args;

	nvw_store(&b->a[0], 5);
	(void)nvw_load(&b->a[0]);
}

/* Plants each fault that the invariants name and sees it found. */
static void broken_invariants_are_found(void **state)
{
	struct rig rig;
	struct broken b;
	struct emu_line *above, *below;
	emu_line_id id = EMU_NO_LINE;
	unsigned offset;

	rig_begin(&rig, 0, NULL);
	b.a = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "touch", touch, &b, 1, 1));
	assert_true(emu_locate(rig.machine, (uint64_t)(uintptr_t)b.a, 8, &id, &offset));
	above = emu_cache_peek(&rig.machine->cus[0].l1, id);
	below = emu_cache_peek(&rig.machine->l2.cache, id);
	assert_non_null(above);
	assert_non_null(below);
	assert_null(rig.machine->protocol->broken_invariant(rig.machine, id));
	below->sharers[0] = 0;
	assert_non_null(rig.machine->protocol->broken_invariant(rig.machine, id));
	below->sharers[0] = 1;
	above->dirty = 1;
	assert_non_null(rig.machine->protocol->broken_invariant(rig.machine, id));
	above->dirty = 0;
	below->valid &= ~below->dirty;
	below->dirty = 1;
	below->valid = 2;
	assert_non_null(rig.machine->protocol->broken_invariant(rig.machine, id));
	below->dirty = 0;
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_order_and_scope_has_a_row),
		cmocka_unit_test(every_row_can_be_reached),
		cmocka_unit_test(actions_carry_the_names_of_the_papers),
		cmocka_unit_test(vi_does_what_the_papers_say),
		cmocka_unit_test(gd_and_gh_do_what_the_paper_says),
		cmocka_unit_test(what_is_released_to_the_agent_is_acquired_by_another_cu_under_every_protocol),
		cmocka_unit_test(an_acquire_leaves_no_stale_bytes_in_a_dirty_line_under_any_protocol),
		cmocka_unit_test(gd_knows_no_scopes),
		cmocka_unit_test(local_synchronization_stays_in_the_l1_under_gh_and_goes_to_the_l2_under_gd),
		cmocka_unit_test(broken_invariants_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
