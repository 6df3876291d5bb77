/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave list protocols NAME: the tables of a protocol, printed as in the papers. The text is generated from
 * the JSON. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <emu.h>

#include "core/invariant.h"
#include "core/member.h"

#include "protocol_tables.h"
#include "../../session.h"
#include "../words.h"

enum { GAP = 2 };

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *texts_json(const char *const *texts, unsigned room)
{
	json_t *const array = json_array();

	for (unsigned i = 0; i < room && texts[i]; i++) {
		json_array_append_new(array, json_string(texts[i]));
	}
	return array;
}

static json_t *cell_json(const char *protocol, enum emu_grid grid, unsigned state, unsigned event)
{
	struct emu_protocol_cell cell;

	if (!emu_protocol_cell(protocol, grid, state, event, &cell)) {
		return json_null();
	}
	return json_pack(
		"{s:o, s:s}", "actions", texts_json(cell.actions, EMU_CELL_ACTIONS), "next", cell.next);
}

/* One row per state, with a member per event; null for impossible events. */
static json_t *grid_json(const char *protocol, enum emu_grid grid)
{
	const struct emu_protocol_word *event;
	json_t *const rows = json_array();
	const char *state;

	for (unsigned i = 0; (state = emu_protocol_state(protocol, grid, i)); i++) {
		json_t *const row = json_pack("{s:s}", "state", state);

		for (unsigned k = 0; (event = emu_protocol_event(grid, k)); k++) {
			json_object_set_new(row, event->name, cell_json(protocol, grid, i, k));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *instructions_json(const char *protocol)
{
	json_t *const rows = json_array();
	struct emu_protocol_row row;

	for (unsigned i = 0; emu_protocol_row(protocol, i, &row); i++) {
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:s, s:o}", "instruction", row.instructions, "order",
				      row.orders, "scope", row.scopes, "place", row.places, "actions",
				      texts_json(row.actions, EMU_ROW_ACTIONS)));
	}
	return rows;
}

static json_t *protocol_json(const char *protocol)
{
	const char *name, *citation, *summary;

	for (unsigned i = 0; emu_protocol_info(i, &name, &citation, &summary); i++) {
		if (strcmp(name, protocol) == 0) {
			break;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", name, "source", citation, "summary",
		summary, "l1", grid_json(protocol, EMU_GRID_L1), "l2", grid_json(protocol, EMU_GRID_L2),
		"instructions", instructions_json(protocol));
}

/* ---- Text ---------------------------------------------------------------------------------------- */

/* Line n of a cell: its actions, one per line, and the next state below them; "" after the last. */
static const char *cell_line(const json_t *cell, size_t n, char *room, size_t size)
{
	const json_t *const actions = json_object_get(cell, "actions");
	const size_t count = json_array_size(actions);

	if (!json_is_object(cell)) {
		return words_if(!n, "-");
	}
	if (n < count) {
		return json_string_value(json_array_get(actions, n));
	}
	snprintf(room, size, "-> %s", member_string(cell, "next"));
	return words_if(n == count, room);
}

static int width_of(const json_t *rows, const char *event)
{
	size_t width = strlen(event);
	char room[64];

	JSON_EACH(row, rows) {
		for (size_t n = 0; n <= EMU_CELL_ACTIONS; n++) {
			const size_t length =
				strlen(cell_line(json_object_get(row, event), n, room, sizeof room));

			if (length > width) {
				width = length;
			}
		}
	}
	return (int)width;
}

static bool can_happen(const json_t *rows, const char *event)
{
	JSON_EACH(row, rows) {
		if (json_is_object(json_object_get(row, event))) {
			return true;
		}
	}
	return false;
}

/* Blanks are delayed until text follows them, so that no line ends with one. */
static void put(const char *text, int width, int *owed)
{
	NVW_INVARIANT(*owed >= 0);
	if (*text) {
		printf("%*s%s", *owed, "", text);
		*owed = 0;
	}
	*owed += width - (int)strlen(text) + GAP;
}

static void print_state(const json_t *rows, const json_t *row, enum emu_grid grid)
{
	const struct emu_protocol_word *event;

	for (size_t n = 0;; n++) {
		bool more = n == 0;
		char room[64];
		int owed = 0;

		for (unsigned k = 0; !more && (event = emu_protocol_event(grid, k)); k++) {
			more = *cell_line(json_object_get(row, event->name), n, room, sizeof room);
		}
		if (!more) {
			return;
		}
		put(words_if(n == 0, member_string(row, "state")), (int)strlen("state"), &owed);
		for (unsigned k = 0; (event = emu_protocol_event(grid, k)); k++) {
			if (can_happen(rows, event->name)) {
				put(cell_line(json_object_get(row, event->name), n, room, sizeof room),
					width_of(rows, event->name), &owed);
			}
		}
		putchar('\n');
	}
}

/* States from top to bottom, events from left to right. Events that the protocol never meets have no
 * column. */
static void print_grid(const char *title, const json_t *rows, enum emu_grid grid)
{
	const struct emu_protocol_word *event;
	int owed = 0;

	printf("\n%s\n", title);
	put("state", (int)strlen("state"), &owed);
	for (unsigned k = 0; (event = emu_protocol_event(grid, k)); k++) {
		if (can_happen(rows, event->name)) {
			put(event->name, width_of(rows, event->name), &owed);
		}
	}
	putchar('\n');
	JSON_EACH(row, rows) {
		print_state(rows, row, grid);
	}
}

static void join(char *to, size_t room, const json_t *actions)
{
	*to = 0;
	JSON_EACH(action, actions) {
		words_add(to, room, "; ", json_string_value(action));
	}
}

static int width_of_column(const json_t *rows, const char *column)
{
	int width = (int)strlen(column);

	JSON_EACH(row, rows) {
		const int length = (int)strlen(member_string(row, column));

		if (length > width) {
			width = length;
		}
	}
	return width;
}

static const char *const instruction_columns[] = {"instruction", "order", "scope", "place"};
enum { INSTRUCTION_COLUMNS = NVW_COUNT(instruction_columns) };

static void print_instruction(const json_t *row, const int width[INSTRUCTION_COLUMNS])
{
	char actions[512];
	int owed = 0;

	NVW_FOR(c, INSTRUCTION_COLUMNS) {
		put(member_string(row, instruction_columns[c]), width[c], &owed);
	}
	join(actions, sizeof actions, json_object_get(row, "actions"));
	put(actions, 0, &owed);
	putchar('\n');
}

static void print_instructions_head(const json_t *rows, int width[INSTRUCTION_COLUMNS])
{
	int owed = 0;

	puts("\nInstructions: the first row that fits is used");
	NVW_FOR(c, INSTRUCTION_COLUMNS) {
		width[c] = width_of_column(rows, instruction_columns[c]);
		put(instruction_columns[c], width[c], &owed);
	}
	put("actions", 0, &owed);
	putchar('\n');
}

static void print_instructions(const json_t *rows)
{
	int width[INSTRUCTION_COLUMNS];

	print_instructions_head(rows, width);
	JSON_EACH(row, rows) {
		print_instruction(row, width);
	}
}

/* ---- Legend -------------------------------------------------------------------------------------- */

static bool has_name(const json_t *names, const char *wanted)
{
	JSON_EACH(name, names) {
		if (strcmp(json_string_value(name), wanted) == 0) {
			return true;
		}
	}
	return false;
}

/* Does a line take the action in one of the states, on one of the events? */
static bool row_names(const json_t *row, enum emu_grid grid, const char *action)
{
	const struct emu_protocol_word *event;

	for (unsigned k = 0; (event = emu_protocol_event(grid, k)); k++) {
		if (has_name(json_object_get(json_object_get(row, event->name), "actions"), action)) {
			return true;
		}
	}
	return false;
}

static bool grid_names(const json_t *rows, enum emu_grid grid, const char *action)
{
	JSON_EACH(row, rows) {
		if (row_names(row, grid, action)) {
			return true;
		}
	}
	return false;
}

static void print_word(const struct emu_protocol_word *word)
{
	printf("  %-17s  %s\n", word->name, word->text);
}

static void print_events(const char *title, const json_t *rows, enum emu_grid grid)
{
	const struct emu_protocol_word *event;

	printf("\n%s\n", title);
	for (unsigned k = 0; (event = emu_protocol_event(grid, k)); k++) {
		if (can_happen(rows, event->name)) {
			print_word(event);
		}
	}
}

static void print_legend(const json_t *l1, const json_t *l2)
{
	const struct emu_protocol_word *action;

	print_events("Events of a line in an L1", l1, EMU_GRID_L1);
	print_events("Events of a line in the L2", l2, EMU_GRID_L2);
	puts("\nActions of lines");
	for (unsigned i = 0; (action = emu_protocol_line_action(i)); i++) {
		if (grid_names(l1, EMU_GRID_L1, action->name) || grid_names(l2, EMU_GRID_L2, action->name)) {
			print_word(action);
		}
	}
	puts("\n  -> V               the next state of the line is V\n"
	     "  -                  cannot happen\n"
	     "  place              where the bytes are registered: nowhere (L2), here, in another L1, or "
	     "other bytes of the\n"
	     "                     line are registered here (beside)");
}

static void print(const json_t *p)
{
	const json_t *const l1 = json_object_get(p, "l1"), *const l2 = json_object_get(p, "l2");

	printf("%s (%s)\n%s\n", member_string(p, "name"), member_string(p, "source"),
		member_string(p, "summary"));
	print_instructions(json_object_get(p, "instructions"));
	print_grid("Lines of an L1", l1, EMU_GRID_L1);
	print_grid("Lines of the L2", l2, EMU_GRID_L2);
	print_legend(l1, l2);
}

int protocol_tables_print(const char *name, bool json)
{
	NVW_TRY(cli_find_protocol(name));
	json_t *const p = protocol_json(name);

	if (json) {
		json_dumpf(p, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		print(p);
	}
	json_decref(p);
	return cli_flush();
}
