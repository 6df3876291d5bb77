/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol tables: complete, named, and as the papers print them. */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include "observe/names.h"
#include "protocol/protocol.h"

enum { SITUATIONS = COH_INSTRUCTION_COUNT * COH_ORDERS * COH_SCOPES * COH_PLACES };

/* The row of situation n: every instruction, order, scope and place. */
static const struct coh_row *row_in(const struct coh_protocol *p, unsigned n)
{
	return coh_row_find(p, n / (COH_ORDERS * COH_SCOPES * COH_PLACES),
		n / (COH_SCOPES * COH_PLACES) % COH_ORDERS, n / COH_PLACES % COH_SCOPES, n % COH_PLACES);
}

TEST(every_instruction_order_scope_and_place_has_a_row)
{
	for_each_protocol(p) {
		NVW_FOR(n, SITUATIONS) {
			assert_non_null(row_in(p, n));
		}
	}
}

TEST(every_row_can_be_reached)
{
	for_each_protocol(p) {
		for (const struct coh_row *row = p->rows; row->instructions; row++) {
			bool reached = false;

			NVW_FOR(n, SITUATIONS) {
				reached = reached || row_in(p, n) == row;
			}
			assert_true(reached);
		}
	}
}

TEST(actions_carry_the_names_of_the_papers)
{
	for_each_protocol(p) {
		for (const struct coh_row *row = p->rows; row->instructions; row++) {
			for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
				assert_non_null(row->steps[s]->name);
			}
		}
		NVW_EACH(l1, p->l1, p->l1_state_count * COH_L1_EVENT_COUNT) {
			for (unsigned s = 0; s < 3 && l1->actions[s]; s++) {
				assert_non_null(coh_line_action_word(l1->actions[s]));
			}
			assert_true(l1->next < p->l1_state_count);
		}
	}
}

/* Whether the L1 that loses a registration flushes itself first: the grid's part of a transfer. */
static bool flushes_when_revoked(const struct coh_protocol *p)
{
	NVW_FOR(state, p->l1_state_count) {
		if (p->l1[state * COH_L1_EVENT_COUNT + COH_L1_REVOKE].actions[0] == coh_line_flush_cache) {
			return true;
		}
	}
	return false;
}

/* The steps of a row as one text, behind what the grid does in the L1 that has the bytes. */
static const char *steps_at(const char *protocol, enum coh_instruction instruction, unsigned order,
	enum nvw_scope scope, enum coh_place place)
{
	static char texts[2][256]; /* two may be compared */
	static unsigned turn;
	char *const text = texts[turn ^= 1];
	const size_t room = sizeof texts[0];
	const struct coh_row *const row =
		coh_row_find(coh_protocol_find(protocol), instruction, order, scope, place);

	snprintf(text, room, "%s",
		place == COH_PLACE_REMOTE && flushes_when_revoked(coh_protocol_find(protocol)) ?
			"flush remote L1; " :
			"");
	for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
		snprintf(
			text + strlen(text), room - strlen(text), "%s%s", s ? "; " : "", row->steps[s]->name);
	}
	return text;
}

static const char *steps_text(
	const char *protocol, enum coh_instruction instruction, unsigned order, enum nvw_scope scope)
{
	return steps_at(protocol, instruction, order, scope, COH_PLACE_L2);
}

static void assert_steps(const char *protocol, enum coh_instruction instruction, unsigned order,
	enum nvw_scope scope, const char *expected)
{
	static const char *const names[] = {[COH_LOAD] = "load",
		[COH_STORE] = "store",
		[COH_ATOMIC_LOAD] = "atomic load",
		[COH_ATOMIC_STORE] = "atomic store",
		[COH_RMW] = "atomic"};
	const char *const found = steps_text(protocol, instruction, order, scope);

	if (strcmp(found, expected) != 0) {
		fail_msg("%s, %s, scope %s: \"%s\", expected \"%s\"", protocol, names[instruction],
			emu_scope_names[scope], found, expected);
	}
}

/*
 * alsop16 Table 3, row by row, typed from the paper. Where it prints "ST x L1" for hLRC's RMW it means the
 * RMW.
 *
 * Messages: a request and its answer; for what another L1 has registered the request, its copy to that L1,
 * the answer from there and the registry's; a broadcast is one, with an answer from each of the three others.
 */
enum { LD = COH_ATOMIC_LOAD, ST = COH_ATOMIC_STORE, RMW = COH_RMW };
enum { ACQ = COH_ACQUIRE, REL = COH_RELEASE, BOTH = COH_ACQ_REL };
enum { WG = NVW_SCOPE_WORKGROUP, AGENT = NVW_SCOPE_AGENT, FAR = NVW_SCOPE_REMOTE_AGENT };
enum { L1 = COH_PLACE_L1, L2 = COH_PLACE_L2, L1_OF_ANOTHER = COH_PLACE_REMOTE };
#define REGISTER  "registration and data to the requesting L1; "
#define STORES    "register all dirty stores of the local L1; "
#define SELECTIVE "; invalidate local L1 (non-registered)"
#define FLUSH_ALL "flush all L1s (broadcast); "
#define INV_ALL   "invalidate all L1s (broadcast)"
static const struct table_3 {
	const char *protocol;
	int instruction, order, scope, place;
	const char *actions;
	unsigned messages; /* on a machine of four CUs, when no L1 has anything to flush */
} table[] = {
	{"rsp", LD, ACQ, WG, L2, "LD x at L1", 2},
	{"rsp", LD, ACQ, AGENT, L2, "LD x at L2; invalidate local L1", 2},
	{"rsp", LD, ACQ, FAR, L2, "LD x at L2; flush all L1s (broadcast); invalidate local L1", 6},
	{"rsp", ST, REL, WG, L2, "ST x at L1", 0},
	{"rsp", ST, REL, AGENT, L2, "flush local L1; ST x at L2", 2},
	{"rsp", ST, REL, FAR, L2,
		"lock all RMWs; " FLUSH_ALL INV_ALL "; ST x at L2; " INV_ALL "; unlock all RMWs", 22},
	{"rsp", RMW, BOTH, WG, L2, "RMW x at L1", 2},
	{"rsp", RMW, BOTH, AGENT, L2, "flush local L1; RMW x at L2; invalidate local L1", 2},
	{"rsp", RMW, BOTH, FAR, L2,
		"lock all RMWs; " FLUSH_ALL INV_ALL "; RMW x at L2; " FLUSH_ALL INV_ALL "; unlock all RMWs",
		26},
	{"denovo-b", LD, ACQ, AGENT, L1, "LD x at L1" SELECTIVE, 0},
	{"denovo-b", LD, ACQ, AGENT, L2, REGISTER "LD x at L1" SELECTIVE, 2},
	{"denovo-b", LD, ACQ, AGENT, L1_OF_ANOTHER, REGISTER "LD x at L1" SELECTIVE, 4},
	{"denovo-b", ST, REL, AGENT, L1, STORES "ST x at L1", 0},
	{"denovo-b", ST, REL, AGENT, L2, STORES REGISTER "ST x at L1", 2},
	{"denovo-b", ST, REL, AGENT, L1_OF_ANOTHER, STORES REGISTER "ST x at L1", 4},
	{"denovo-b", RMW, BOTH, AGENT, L1, STORES "RMW x at L1" SELECTIVE, 0},
	{"denovo-b", RMW, BOTH, AGENT, L2, STORES REGISTER "RMW x at L1" SELECTIVE, 2},
	{"denovo-b", RMW, BOTH, AGENT, L1_OF_ANOTHER, STORES REGISTER "RMW x at L1" SELECTIVE, 4},
	{"hlrc", LD, ACQ, AGENT, L1, "LD x at L1", 0},
	{"hlrc", LD, ACQ, AGENT, L2, REGISTER "LD x at L1; invalidate local L1", 2},
	{"hlrc", LD, ACQ, AGENT, L1_OF_ANOTHER,
		"flush remote L1; " REGISTER "LD x at L1; invalidate local L1", 4},
	{"hlrc", ST, REL, AGENT, L1, "ST x at L1", 0},
	{"hlrc", ST, REL, AGENT, L2, REGISTER "ST x at L1; invalidate local L1", 2},
	{"hlrc", ST, REL, AGENT, L1_OF_ANOTHER,
		"flush remote L1; " REGISTER "ST x at L1; invalidate local L1", 4},
	{"hlrc", RMW, BOTH, AGENT, L1, "RMW x at L1", 0},
	{"hlrc", RMW, BOTH, AGENT, L2, REGISTER "RMW x at L1; invalidate local L1", 2},
	{"hlrc", RMW, BOTH, AGENT, L1_OF_ANOTHER,
		"flush remote L1; " REGISTER "RMW x at L1; invalidate local L1", 4},
};
#undef REGISTER
#undef STORES
#undef SELECTIVE
#undef FLUSH_ALL
#undef INV_ALL

TEST(rsp_denovo_and_hlrc_do_what_table_3_says)
{
	static const char *const without_scopes[] = {"denovo-b", "dd", "dd+ro", "hlrc"};

	for_each(row, table) {
		assert_string_equal(
			steps_at(row->protocol, row->instruction, row->order, row->scope, row->place),
			row->actions);
	}
	/* In a model without scopes, a scope changes nothing; and the members of a family share the table. */
	for_each(row, table) {
		for_each(without_scope, without_scopes) {
			const bool same_family =
				!strcmp(row->protocol, "hlrc") == !strcmp(*without_scope, "hlrc");

			for (unsigned scope = 0;
				same_family && strcmp(row->protocol, "rsp") && scope < COH_SCOPES; scope++) {
				assert_string_equal(steps_at(*without_scope, row->instruction, row->order,
							    scope, row->place),
					row->actions);
			}
		}
	}
}

enum { GROUPS = 4 };

struct one_instruction {
	struct nvw_machine *m;
	uint64_t *x, *messages; /* host memory: of this instruction */
	const struct table_3 *row;
	uint64_t group; /* on the CU of this number */
};

KERNEL(execute_one, const struct one_instruction, a)
{
	static const enum nvw_order orders[] = {NVW_RELAXED, NVW_ACQUIRE, NVW_RELEASE, NVW_ACQ_REL};
	const enum nvw_order order = orders[a->row->order];
	const enum nvw_scope scope = (enum nvw_scope)a->row->scope;
	uint64_t before;

	if (nvw_group_id() != a->group) {
		return;
	}
	before = emu_statistics(a->m)->net_messages;
	if (a->row->instruction == LD) {
		(void)nvw_atomic_load(a->x, order, scope);
	} else if (a->row->instruction == ST) {
		nvw_atomic_store(a->x, 1, order, scope);
	} else {
		(void)nvw_atomic_add(a->x, 1, order, scope);
	}
	*a->messages = emu_statistics(a->m)->net_messages - before;
}

/* The messages of a row, with x where the row has it before. */
static uint64_t messages_of(const struct table_3 *row)
{
	uint64_t messages = 0;
	RIG_UNDER(rig, row->protocol);
	struct one_instruction a = {
		.m = rig.machine, .x = nvw_alloc(rig.machine, 64), .messages = &messages, .row = row};

	if (row->place != L2) {
		a.group = row->place == L1_OF_ANOTHER;
		rig_launch(&rig, execute_one, &a, GROUPS, 1);
	}
	a.group = 0;
	rig_launch(&rig, execute_one, &a, GROUPS, 1);
	return messages;
}

TEST(each_message_of_table_3_is_sent_once)
{
	for_each(row, table) {
		assert_int_equal(messages_of(row), row->messages);
	}
}

/* alsop16 V.C: work-group scope as hlrc; agent scope at the L2, with explicit coherence actions. */
TEST(hlrc_scoped_does_what_the_paper_says)
{
	assert_string_equal(steps_at("hlrc-scoped", COH_RMW, COH_ACQ_REL, NVW_SCOPE_WORKGROUP, COH_PLACE_L1),
		"RMW x at L1");
	assert_string_equal(steps_at("hlrc-scoped", COH_RMW, COH_ACQ_REL, NVW_SCOPE_AGENT, COH_PLACE_L2),
		"flush local L1; RMW x at L2; invalidate local L1");
	assert_string_equal(
		steps_at("hlrc-scoped", COH_ATOMIC_STORE, COH_RELEASE, NVW_SCOPE_AGENT, COH_PLACE_REMOTE),
		"flush remote L1; flush local L1; ST x at L2");
	assert_string_equal(
		steps_at("hlrc-scoped", COH_ATOMIC_LOAD, COH_ACQUIRE, NVW_SCOPE_AGENT, COH_PLACE_L1),
		"LD x at L2; invalidate local L1");
}

/*
 * sinclair15 3: under HRF, local synchronization does nothing but the access; data beside an atomic of hLRC
 * are at the L2.
 */
TEST(dh_keeps_local_synchronization_in_the_l1_and_hlrc_keeps_data_out_of_registered_lines)
{
	NVW_FOR(place, COH_PLACES) {
		assert_string_equal(
			steps_at("dh", COH_RMW, COH_ACQ_REL, NVW_SCOPE_WORKGROUP, place), "RMW x at L1");
		assert_string_equal(steps_at("dh", COH_RMW, COH_ACQ_REL, NVW_SCOPE_AGENT, place),
			steps_at("dd", COH_RMW, COH_ACQ_REL, NVW_SCOPE_AGENT, place));
	}
	assert_string_equal(steps_at("hlrc", COH_LOAD, COH_RELAXED, 0, COH_PLACE_BESIDE), "LD x at L2");
	assert_string_equal(steps_at("hlrc", COH_STORE, COH_RELAXED, 0, COH_PLACE_BESIDE), "ST x at L2");
	assert_string_equal(steps_at("hlrc", COH_LOAD, COH_RELAXED, 0, COH_PLACE_L1), "LD x at L1");
}

/* The rows of alsop16 Table 3 that a protocol with HRF scopes shares with RSP, and gope18 3 for system scope.
 */
TEST(vi_does_what_the_papers_say)
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

/*
 * hechtman14 4.2.3 (WT: a release waits for all prior writes, an acquire invalidates the L1), 4.2.1 (no L1),
 * 4.3.1 (QuickRelease: a release is a marker in the S-FIFOs, an acquire is a no-op; the store of a StRel
 * flushes, too). At every scope.
 */
TEST(write_through_and_quickrelease_do_what_the_paper_says)
{
#define WAIT   "wait for the acknowledgements of stores; "
#define MARKER "marker through the S-FIFOs; "
	static const struct {
		const char *protocol;
		int instruction, order;
		const char *actions;
	} rows[] = {
		{"wt", COH_STORE, COH_RELAXED, "ST x at L1; write x through"},
		{"wt", LD, ACQ, "LD x at L2; invalidate local L1"},
		{"wt", ST, REL, WAIT "ST x at L2"},
		{"wt", RMW, BOTH, WAIT "RMW x at L2; invalidate local L1"},
		{"no-l1", COH_LOAD, COH_RELAXED, "LD x at L2"},
		{"no-l1", LD, ACQ, "LD x at L2"},
		{"no-l1", ST, REL, WAIT "ST x at L2"},
		{"quickrelease", COH_STORE, COH_RELAXED, "ST x at L1"},
		{"quickrelease", LD, ACQ, "LD x at L1"},
		{"quickrelease", ST, REL, MARKER "ST x at L1; flush of the S-FIFOs that nobody waits for"},
		{"quickrelease", RMW, BOTH, MARKER "write marker into the S-FIFO; RMW x at L2"},
	};
#undef WAIT
#undef MARKER

	for_each(row, rows) {
		NVW_FOR(scope, COH_SCOPES) {
			assert_steps(row->protocol, row->instruction, row->order, scope, row->actions);
		}
	}
}

/* sinclair15 3: all synchronization at the L2; with HRF, that of local scope in the L1, without actions. */
TEST(gd_and_gh_do_what_the_paper_says)
{
	static const enum nvw_scope scopes[] = {
		NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};
	static const struct {
		int instruction, order;
		const char *local, *global;
	} rows[] = {
		{LD, ACQ, "LD x at L1", "LD x at L2; invalidate local L1"},
		{ST, REL, "ST x at L1", "flush local L1; ST x at L2"},
		{RMW, BOTH, "RMW x at L1", "flush local L1; RMW x at L2; invalidate local L1"},
	};

	for_each(row, rows) {
		for_each(scope, scopes) {
			assert_steps("gd", row->instruction, row->order, *scope, row->global);
			assert_steps("gh", row->instruction, row->order, *scope,
				*scope <= NVW_SCOPE_WORKGROUP ? row->local : row->global);
		}
	}
}

enum { ROUNDS = 40 };

struct passing {
	uint64_t *data, *flag, *stale; /* on lines of their own */
	enum nvw_scope scope;
};

/* Work-item 0 of each of two groups, on two CUs: data and flag go to and fro. */
KERNEL(pass_on, const struct passing, p)
{
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

static struct passing begin_passing(struct rig *rig, const char *protocol)
{
	rig_begin_under(rig, protocol);
	struct passing p = {.data = nvw_alloc(rig->machine, 64)};

	p.flag = nvw_alloc(rig->machine, 128);
	p.stale = nvw_alloc(rig->machine, 64);
	return p;
}

static struct emu_stats passed_on(const char *protocol, enum nvw_scope scope)
{
	RIG(rig);
	struct passing p = begin_passing(&rig, protocol);

	p.scope = scope;
	rig_launch(&rig, pass_on, &p, 128, 64);
	assert_visible(&rig, p.stale, 0);
	assert_visible(&rig, p.data, 2 * ROUNDS);
	return *emu_statistics(rig.machine);
}

/* Whether its table has an acquire of agent scope performed in the L1: what ownership brings. */
static bool at_l1(const char *protocol)
{
	return strstr(steps_text(protocol, COH_ATOMIC_LOAD, COH_ACQUIRE, NVW_SCOPE_AGENT), "LD x at L1");
}

TEST(what_is_released_to_the_agent_is_acquired_by_another_cu_under_every_protocol)
{
	for_each_protocol(p) {
		assert_int_equal(passed_on(p->name, NVW_SCOPE_AGENT).sync_l1 != 0, at_l1(p->name));
	}
}

/* Under gd a narrow scope is no scope: the same program is right with it. */
TEST(gd_knows_no_scopes)
{
	assert_int_equal(passed_on("gd", NVW_SCOPE_WORKGROUP).l1_atomics, 0);
}

/*
 * Two CUs store to different words of one line; what one has read of it before, it must not read again after
 * an acquire.
 */
KERNEL(share_falsely, const struct passing, p)
{
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

TEST(an_acquire_leaves_no_stale_bytes_in_a_dirty_line_under_any_protocol)
{
	for_each_protocol(protocol) {
		RIG(rig);
		struct passing p = begin_passing(&rig, protocol->name);

		rig_launch(&rig, share_falsely, &p, 128, 64);
		assert_visible(&rig, p.stale, 0);
		assert_visible(&rig, &p.data[0], 5);
		assert_visible(&rig, &p.data[1], 7);
	}
}

/* Every work-item adds with work-group scope; the groups count for themselves. */
KERNEL(add_locally, const struct words, w)
{
	nvw_atomic_add(&w->a[8 * nvw_group_id()], 1, NVW_ACQ_REL, NVW_SCOPE_WORKGROUP);
}

TEST(local_synchronization_stays_in_the_l1_under_gh_and_goes_to_the_l2_under_gd)
{
	static const char *const names[] = {"gh", "gd"};

	NVW_FOR(i, 2) {
		RIG_UNDER(rig, names[i]);
		const struct words w = words_of(&rig, 4 * 64, 0);

		rig_launch(&rig, add_locally, &w, 256, 64);
		NVW_FOR(group, 4) {
			assert_visible(&rig, &w.a[8 * group], 64);
		}
		assert_int_equal(emu_statistics(rig.machine)->l1_atomics == 0, i);
		assert_int_equal(emu_statistics(rig.machine)->l2_atomics == 0, !i);
	}
}

/* A compare-exchange that fails leaves a line that looks stored to; a flush passes; then one succeeds. */
KERNEL(fail_then_succeed, const struct passing, p)
{
	const enum nvw_scope group = NVW_SCOPE_WORKGROUP, agent = NVW_SCOPE_AGENT;

	if (nvw_group_id() == 0) {
		nvw_atomic_compare_exchange(p->data, 7, 8, NVW_RELAXED, group);
		nvw_atomic_store(&p->flag[0], 1, NVW_RELEASE, agent);
		nvw_atomic_compare_exchange(p->data, 0, 5, NVW_RELAXED, group);
		nvw_atomic_store(&p->flag[8], 1, NVW_RELEASE, agent);
	} else {
		while (nvw_atomic_load(&p->flag[8], NVW_ACQUIRE, agent) == 0) {
		}
		nvw_store(p->stale, nvw_load(p->data) != 5);
	}
}

TEST(a_store_after_a_failed_compare_exchange_is_released_under_every_protocol)
{
	for_each_protocol(protocol) {
		RIG(rig);
		struct passing p = begin_passing(&rig, protocol->name);

		rig_launch(&rig, fail_then_succeed, &p, 2, 1);
		assert_visible(&rig, p.stale, 0);
	}
}

/* ---- The store buffer ---------------------------------------------------------------------- */

struct buffered_stores {
	struct nvw_machine *m;
	uint64_t *a;
	unsigned lines, words; /* words of 8 bytes in each of the lines */
	uint64_t *left;        /* host memory: lines that had to leave before the kernel's end */
};

KERNEL(store_words, const struct buffered_stores, s)
{
	const struct emu_stats *const stats = emu_statistics(s->m);

	NVW_FOR(word, s->words) {
		NVW_FOR(line, s->lines) {
			nvw_store(&s->a[8 * line + word], line + 1);
		}
	}
	*s->left = stats->l1_flush_sfifo + stats->l1_registrations;
}

static uint64_t lines_that_leave(const char *protocol, const char *unit, unsigned lines, unsigned words)
{
	char entries[32] = "l1.sfifo_unit=";
	uint64_t left = 0;
	RIG_UNDER(rig, protocol, "l1.sfifo=8", strcat(entries, unit));
	const struct buffered_stores s = {
		rig.machine, nvw_alloc(rig.machine, 64 * (uint64_t)lines), lines, words, &left};

	rig_launch(&rig, store_words, &s, 1, 1);
	NVW_FOR(i, lines * words) {
		assert_visible(&rig, &s.a[8 * (i / words) + i % words], i / words + 1);
	}
	NVW_EACH(cu, rig.machine->cus, rig.machine->config.cus) {
		assert_int_equal(cu->buffered, 0);
	}
	return left;
}

/*
 * sinclair15 Table 3 counts words, gope18 3 lines. A 64-bit word takes two entries; the oldest line leaves
 * with all of its words.
 */
TEST(a_store_buffer_holds_as_many_words_or_lines_as_it_has_entries)
{
	static const char *const names[] = {"gd", "gh", "rsp", "dd", "dd+ro", "dh", "denovo-b", "hlrc", "vi"};

	for_each(name, names) {
		assert_int_equal(lines_that_leave(*name, "lines", 8, 8), 0);
		assert_int_equal(lines_that_leave(*name, "lines", 9, 1), 1);
		assert_int_equal(lines_that_leave(*name, "words", 4, 1), 0);
		assert_int_equal(lines_that_leave(*name, "words", 5, 1), 1);
		assert_int_equal(lines_that_leave(*name, "words", 1, 4), 0);
		assert_int_equal(lines_that_leave(*name, "words", 1, 5), 1);
		assert_int_equal(lines_that_leave(*name, "words", 2, 3), 1);
	}
}

KERNEL(touch, const struct words, w)
{
	nvw_store(w->a, 5);
	(void)nvw_load(w->a);
}

/* Plants each fault that the invariants name and sees it found. */
TEST(broken_invariants_are_found)
{
	RIG_BEGUN(rig, 0);
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, touch, &w, 1, 1);
	const emu_line_id id = rig_line(&rig, w.a);
	struct emu_line *const above = emu_cache_peek(&rig.machine->cus[0].l1, id),
			       *const below = emu_cache_peek(&rig.machine->l2.cache, id);

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
}
