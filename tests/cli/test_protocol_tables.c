/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave list protocols NAME: the printed tables against rows typed in. */
#include <string.h>

#include <emu.h>

#include "command.h"
#include "common/json.h"

/* gope18 3, of the L1s: hits, write-combining stores, and what leaves. */
static const char vi_l1[] =
	"Lines of an L1\n"
	"state  LOAD_HIT  LOAD_MISS  STORE       FLUSH       PERSIST     INVALIDATE  EVICT       RECALL\n"
	"I      -         fetch      note_dirty  -> I        -> I        -> I        drop        drop\n"
	"                 -> V       -> D                                            -> I        -> I\n"
	"V      -> V      fetch      note_dirty  -> V        -> V        drop_clean  drop        drop\n"
	"                 -> V       -> D                                -> I        -> I        -> I\n"
	"D      -> D      fetch      -> D        write_back  write_back  drop_clean  write_back  write_back\n"
	"                 -> D                   -> V        -> V        -> D        drop        drop\n"
	"                                                                            -> I        -> I\n"
	"\n";

TEST(the_grid_of_an_l1_is_printed_with_events_as_columns)
{
	command_prints("list protocols vi", vi_l1);
}

/* The L2 of vi has no registrations, so it has no columns for them; that of dd has no atomics. */
TEST(events_that_a_protocol_never_meets_have_no_column)
{
	command_prints("list protocols vi", "state  READ_HIT  READ_MISS  WRITE       ATOMIC      FLUSH    "
					    "   EVICT\n");
	command_prints("list protocols dd", "state  READ_HIT  READ_MISS  WRITE       FLUSH       EVICT    "
					    "   REGISTER  RETURN\n");
	command_prints("list protocols dd", "R      -         -          -           -           -");
}

/* alsop16 Table 3, hLRC, and gope18 3 with the S-FIFO of the L2. */
TEST(instructions_are_printed_with_the_actions_of_the_papers)
{
	command_prints("list protocols vi", "atomic store          release           system, remote "
					    "system                       any    "
					    "flush local L1; flush L2; ST x at L2\n");
	command_prints("list protocols hlrc",
		"atomic RMW            any    any    L2, another L1    "
		"registration and data to the requesting L1; RMW x at L1; invalidate local L1\n");
	command_prints("list protocols hlrc", "kernel end                                            "
					      "flush local L1\n");
}

/* Member of the event in the state's row. */
static const json_t *cell(const json_t *grid, const char *name, const char *event)
{
	const json_t *row;
	size_t i;

	json_array_foreach(grid, i, row)
	{
		if (strcmp(text_at(row, "state"), name) == 0) {
			return json_object_get(row, event);
		}
	}
	return NULL;
}

TEST(the_json_has_the_cells_and_null_for_what_cannot_happen)
{
	json_auto_t *p =
		json_loads(command_run("list protocols denovo-b --output-format=json")->out, 0, NULL);
	json_auto_t *wanted =
		json_pack("{s:[s,s], s:s}", "actions", "register", "write_through", "next", "R");
	const json_t *const l1 = json_at(p, "l1");

	assert_non_null(p);
	assert_int_equal(json_array_size(l1), 4);
	assert_true(json_equal(cell(l1, "D", "PERSIST"), wanted));
	assert_true(json_is_null(cell(l1, "I", "LOAD_HIT")));
	assert_true(json_is_null(cell(json_at(p, "l2"), "I", "ATOMIC")));
	assert_string_equal(text_at(p, "instructions.0.instruction"), "load, read-only load");
}

TEST(every_listed_protocol_has_tables_and_no_other_has)
{
	const char *name;

	for (unsigned i = 0; (name = emu_protocol_name(i)); i++) {
		command_prints(formatted("list protocols %s", name), "Lines of the L2\nstate  READ_HIT");
	}
	command_refuses("list protocols vu", "there is no coherence protocol vu; did you mean vi?");
	command_refuses("list protocols vi gd", "\"vi\" is an extra argument");
}

GROUP_OF_COMMANDS();
