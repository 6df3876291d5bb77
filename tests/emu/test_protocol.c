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
		cmocka_unit_test(broken_invariants_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
