/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a state fails. In a process of its own, since it runs recovery and check again:
 *
 *	1. makes the state again;
 *	2. makes lost units durable, as many together as may be, while it fails in the same way: what remains
 *	   lost must be lost for the failure;
 *	3. finds which event of the run makes the state fail without the lost stores and not with them
 *	   (need.h), and one acknowledgement without which nothing would be wrong;
 *	4. names the stores behind both, and what does not order them (cause.h). Where no state can be tried
 *	   (recovery or check dies or hangs), those that are likely (sides.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/bits.h"
#include "core/bounds.h"
#include "core/print.h"

#include "core/stop.h"

#include "cause.h"
#include "explain.h"
#include "finding.h"
#include "../group.h"
#include "../judge/go_on.h"
#include "../judge/operations.h"
#include "../parts/parts.h"
#include "../judge/process.h"
#include "sides.h"
#include "stores.h"
#include "timeline.h"
#include "../explore/worker.h"
#include "../states/files.h"

enum { JUDGEMENTS_MAX = 2000, TESTS_MAX = 1500, AHEAD = 1 << 14 };

struct explanation {
	const struct ct_exploration *e;
	struct ct_medium medium;
	struct ct_walk walk;
	unsigned *levels, *spare;
	struct ct_need need;
	char shape[CT_TEXT_BYTES];
	unsigned judgements;
	struct nvw_findings findings;
	struct ct_finding *finding; /* shared with the parent */
	struct apart *apart;        /* NULL: this process judges */
	int error;
};

/* Shared with a process that judges one state, since it may die of it. */
struct apart {
	volatile uint32_t phase;
	struct ct_frames frames;
	struct nvw_findings findings;
};

enum judging { JUDGES, JUDGES_APART, JUDGES_NOTHING };

/* ---- Making it small ----------------------------------------------------------------------------------- */

/* Its end, in the words of a worker that dies. */
static void note_end(struct explanation *x, int status)
{
	struct ct_finding death = {.text = ""};

	if (x->apart->phase == CT_PHASE_IDLE) {
		x->findings = x->apart->findings;
		return;
	}
	ct_describe_death(x->apart->phase, false, status, &x->apart->frames, &death);
	nvw_violation(&x->findings, 0, "%s", death.text);
}

/* In a process of its own, which has its own image: it may end in the middle of recovery. */
static void judge_apart(struct explanation *x, struct ct_image *image, const struct nvw_acks *acks)
{
	struct apart *const a = x->apart;
	int status = 0;

	a->phase = CT_PHASE_OPEN;
	const pid_t pid = fork();

	if (pid == 0) {
		const struct itimerval limit = {.it_value = {.tv_sec = 1 + x->e->options.timeout_ms / 1000}};

		ct_child_begin();
		ct_frames_catch(&a->frames);
		setitimer(ITIMER_PROF, &limit, NULL);
		if (ct_image_own(image) == 0) {
			x->e->judge(x->e->context, image, acks, &x->findings, &a->phase);
			a->findings = x->findings;
			a->phase = CT_PHASE_IDLE;
		}
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid) {
		note_end(x, status);
	}
}

/* Recovers and checks a state. Findings are the answer, if there is one. */
static void judge_image(void *context, struct ct_image *image, const struct nvw_acks *acks)
{
	struct explanation *const x = context;
	const struct itimerval limit = {.it_value = {.tv_sec = 1 + x->e->options.timeout_ms / 1000}};
	const struct itimerval longer = {.it_value = {.tv_sec = 10 * limit.it_value.tv_sec}};
	volatile uint32_t phase = CT_PHASE_OPEN;

	setitimer(ITIMER_PROF, &limit, NULL);  /* SIGPROF ends this process, */
	setitimer(ITIMER_REAL, &longer, NULL); /* SIGALRM as well, if it sleeps */
	x->judgements++;
	nvw__findings_clear(&x->findings);
	if (x->apart) {
		judge_apart(x, image, acks);
	} else {
		x->e->judge(x->e->context, image, acks, &x->findings, &phase);
	}
}

/* The same for the state that the medium has; true if it fails in the same way. */
static bool judge(struct explanation *x)
{
	judge_image(x, &x->medium.image, &x->medium.acks);
	const struct nvw__finding *const same = ct_find_alike(&x->findings, x->shape);

	if (same) {
		NVW_PRINT(x->finding->text, "%s", same->text);
		x->finding->off = same->off;
	}
	return same;
}

static bool fails(struct explanation *x)
{
	ct_medium_apply(&x->medium, x->levels);
	const bool same = judge(x);

	ct_medium_undo(&x->medium);
	return same;
}

static void swap_levels(struct explanation *x)
{
	unsigned *const levels = x->levels;

	x->levels = x->spare;
	x->spare = levels;
}

/* Makes the lost cells of a range durable, all together if it may be, else half by half. */
static void mend(struct explanation *x, unsigned first, unsigned end)
{
	bool lost = false;

	NVW_INVARIANT(first <= end && end <= x->medium.cell_count);
	for (unsigned i = first; i < end && !lost; i++) {
		lost = x->levels[i] < x->medium.cell[i].count;
	}
	if (!lost || x->judgements >= JUDGEMENTS_MAX) {
		return;
	}
	memcpy(x->spare, x->levels, x->medium.cell_count * sizeof *x->spare);
	ct_states_raise_all(&x->medium, first, end, x->levels);
	if (fails(x)) {
		return;
	}
	swap_levels(x);
	if (end - first > 1) {
		mend(x, first, first + (end - first) / 2);
		mend(x, first + (end - first) / 2, end);
	}
}

/* What is lost in part only: as much of it durable as may be. */
static void mend_in_part(struct explanation *x)
{
	for (unsigned i = 0; i < x->medium.cell_count && x->judgements < JUDGEMENTS_MAX; i++) {
		while (x->levels[i] + 1 < x->medium.cell[i].count && x->judgements < JUDGEMENTS_MAX) {
			memcpy(x->spare, x->levels, x->medium.cell_count * sizeof *x->spare);
			ct_states_raise(&x->medium, i, x->levels[i] + 1, x->levels);
			if (!fails(x)) {
				swap_levels(x);
				break;
			}
		}
	}
}

/* True if it fails with no more acknowledgements than those of this range. */
static bool fails_with_only(struct explanation *x, uint64_t first, uint64_t end)
{
	struct nvw_acks *const acks = &x->medium.acks;
	const uint64_t all = acks->words * 64;
	uint64_t *const kept = malloc(acks->words * sizeof *kept + 1);

	NVW_INVARIANT(first <= end);
	if (!kept) {
		return false;
	}
	ct_medium_apply(&x->medium, x->levels);
	memcpy(kept, acks->bits, acks->words * sizeof *kept);
	nvw__acks_drop(acks, 0, first);
	nvw__acks_drop(acks, end, all - end);
	const bool same = judge(x);

	NVW_FOR(op, all) {
		if (nvw_has_bit(kept, op)) {
			nvw__acks_restore(acks, op, 1);
		}
	}
	free(kept);
	ct_medium_undo(&x->medium);
	return same;
}

/* One operation whose acknowledgement is enough for the failure, if it takes acknowledgements at all. */
static void blame_acknowledgement(struct explanation *x)
{
	uint64_t first = 0, end = x->medium.acks.words * 64;

	if (end == 0 || fails_with_only(x, 0, 0)) {
		return;
	}
	while (end - first > 1) {
		const uint64_t middle = first + (end - first) / 2;

		if (fails_with_only(x, first, middle)) {
			end = middle;
		} else if (fails_with_only(x, middle, end)) {
			first = middle;
		} else {
			return; /* it takes several */
		}
	}
	x->finding->acknowledged = first + 1;
}

static void minimise(struct explanation *x)
{
	if (x->finding->hung || !fails(x)) {
		return;
	}
	mend(x, 0, x->medium.cell_count);
	mend_in_part(x);
	blame_acknowledgement(x);
	x->finding->minimised = fails(x);
	x->finding->bounded = x->judgements >= JUDGEMENTS_MAX;
}

/* ---- What it lacks ------------------------------------------------------------------------------------- */

static int find_need(struct explanation *x)
{
	const struct ct_exploration *const e = x->e;
	struct ct_prefix prefix;

	ct_medium_apply(&x->medium, x->levels);
	int error = ct_prefix_read(e->log_fd, e->initial, e->rules.filled, e->bytes, e->first_record,
		x->medium.record, AHEAD, &x->medium.acks, &prefix);

	if (!error) {
		const struct ct_need_question q = {.prefix = &prefix,
			.image = x->medium.image.ro,
			.filled = x->medium.image.filled,
			.unit_bytes = MIN(x->medium.unit_bytes, NVW_LOG_LINE_BYTES),
			.text = x->finding->text,
			.operation = x->finding->acknowledged,
			.raises = ct_model_info(x->medium.rules.model)->replays,
			.tests_max = TESTS_MAX,
			.judge = judge_image,
			.context = x,
			.findings = &x->findings};

		error = ct_need_find(&q, &x->need);
		x->finding->bounded |= x->need.bounded;
		ct_prefix_free(&prefix);
	}
	ct_medium_undo(&x->medium);
	return error;
}

/* Durable, and the lost store had to be before it. */
static bool is_early(const struct explanation *x, const struct ct_cell *c)
{
	const struct ct_store *const s = &x->need.early.store;

	return x->need.form != CT_NEED_UNKNOWN && x->need.early.kind == NVW_LOG_STORE &&
	       ct_cell_covers(c, s->off);
}

static void list_words(struct explanation *x, const struct ct_cell *c, unsigned level)
{
	struct ct_finding *const f = x->finding;

	NVW_INVARIANT(level <= c->count);
	for (nvw_off off = c->off; off < c->off + 8 * (nvw_off)c->words && f->unit_count < CT_UNITS_MAX;
		off += 8) {
		const uint64_t now = ct_cell_word(&x->medium, c, level, off),
			       newest = ct_cell_word(&x->medium, c, c->count, off);

		if (c->words == 1 || now != newest || is_early(x, c)) {
			f->unit[f->unit_count++] = (struct ct_unit){
				.off = off, .now = now, .newest = newest, .lost = level < c->count};
		}
	}
}

static void count_units(struct explanation *x)
{
	struct ct_finding *const f = x->finding;

	f->units = x->medium.cell_count;
	f->units_lost = 0;
	f->unit_count = 0;
	NVW_FOR(i, x->medium.cell_count) {
		const struct ct_cell *const c = &x->medium.cell[i];
		const bool whole = x->levels[i] == c->count;

		f->units_lost += !whole;
		if (!whole || is_early(x, c)) {
			list_words(x, c, x->levels[i]);
		}
	}
}

/* ---- Naming the stores --------------------------------------------------------------------------------- */

/* The store is not durable. */
static enum ct_fate fate_of(const struct explanation *x, const struct ct_store *store)
{
	const uint32_t cell = x->medium.cell_of[store->off / x->medium.unit_bytes];
	const bool in_flight = cell && x->levels[cell - 1] < x->medium.cell[cell - 1].count;

	return in_flight ? CT_FATE_LOST : CT_FATE_CACHED;
}

static void name_places(
	struct explanation *x, const struct ct_stores *s, const struct ct_side *side, bool durable)
{
	struct ct_finding *f = x->finding;

	for (unsigned i = 0; i < side->count && f->place_count < CT_PLACES_MAX; i++) {
		const struct ct_store *const store = &side->store[i];

		ct_stores_place(
			s, store, durable ? CT_FATE_DURABLE : fate_of(x, store), &f->place[f->place_count++]);
	}
}

static size_t name_operation(const struct explanation *x, uint64_t number, char *to, size_t room)
{
	ct_operations_name(x->e->operations, number, to, room);
	return strlen(to);
}

/* If the finding names no acknowledgement yet, notes the one that relies on what the state lacks. */
static void note_acknowledgement(struct explanation *x)
{
	const struct ct_need *const n = &x->need;

	if (x->finding->acknowledged == 0 && n->form != CT_NEED_UNKNOWN && n->early.kind == NVW_LOG_ACK) {
		x->finding->acknowledged = n->early.store.value + 1;
	}
}

/* The operation behind the finding, and those in flight in its state. */
static void name_operations(struct explanation *x)
{
	const struct nvw_acks *const acks = &x->medium.acks;
	struct ct_finding *const f = x->finding;
	size_t at = 0;

	if (!x->e->operations || x->e->operations->count == 0) {
		return;
	}
	if (f->acknowledged != 0) {
		name_operation(x, f->acknowledged - 1, f->operation, sizeof f->operation);
	}
	for (uint64_t op = 0; op < acks->begun_words * 64 && at + 2 < sizeof f->in_flight; op++) {
		if (nvw__acks_in_flight(acks, op)) {
			if (at > 0) {
				at += strlen(strcpy(f->in_flight + at, ", "));
			}
			at += name_operation(x, op, f->in_flight + at, sizeof f->in_flight - at);
		}
	}
}

/* In the applied state. */
static int name_sides(struct explanation *x, const struct ct_stores *s)
{
	struct ct_sides sides = {0};
	const struct ct_scene scene = {
		.medium = &x->medium, .levels = x->levels, .stores = s, .finding = x->finding};

	if (x->need.form == CT_NEED_UNKNOWN) {
		x->need = ct_sides_guess(&scene, &sides);
	} else {
		ct_sides_take(&scene, &x->need, &sides);
	}
	name_places(x, s, &sides.durable, true);
	name_places(x, s, &sides.lost, false);
	NVW_TRY(ct_cause_find(x->e->log_fd, s, x->e->operations, &x->need, x->finding->acknowledged,
		&x->finding->cause, &x->finding->proposals));
	return ct_timeline_read(
		x->e->log_fd, x->medium.record, x->e->rules.begin_ps, s, x->medium.image.rw, x->finding);
}

static int name_stores(struct explanation *x)
{
	struct ct_stores s;

	NVW_TRY(ct_stores_read(x->e->log_fd, x->medium.record, &s));
	if (s.of_files) {
		s.disk = ct_files_disk(&x->medium);
	}
	ct_medium_apply(&x->medium, x->levels);
	const int error = name_sides(x, &s);

	ct_medium_undo(&x->medium);
	ct_stores_free(&s);
	return error;
}

/* ---- The process --------------------------------------------------------------------------------------- */

/* What a finding is of: a draw of the plan, or (plan is NULL) what a crash at the end of the log left. */
struct origin {
	const struct ct_plan *plan;
	const uint8_t *image;
};

static int go_there(struct explanation *x, const struct origin *from)
{
	int error = 1;

	while (error == 1 && (!from->plan || x->medium.instant < x->finding->instant)) {
		error = ct_medium_next(&x->medium);
	}
	NVW_FAIL_IF(
		error == 0 && from->plan, NVW_E_DAMAGED, "persist log: it became shorter while it was read");
	return MIN(error, 0);
}

/* How many of the writes in flight to each unit are in the image. */
static unsigned level_in(const struct ct_cell *c, const uint8_t *image)
{
	const size_t words = c->words;
	unsigned level = c->count;

	while (level > 0 && memcmp(c->content + (level - 1) * words, image + c->off, 8 * words) != 0) {
		level--;
	}
	return level;
}

static void read_levels(struct explanation *x, const uint8_t *image)
{
	NVW_FOR(i, x->medium.cell_count) {
		x->levels[i] = level_in(&x->medium.cell[i], image);
	}
}

/* So is a combination of what a part of the check looks at. */
static int remake_part(struct explanation *x)
{
	struct nvw_findings said = {0};
	const uint64_t which = x->finding->draw - CT_DRAW_PART;
	struct ct_parts *parts = NULL;
	int error = ct_parts_of(x->e, &x->medium, &parts);

	if (!error && (!parts || !ct_parts_remake(parts, which >> 20, which & 0xfffff, &said, x->levels))) {
		error = nvw_fail(
			NVW_E_DAMAGED, "a part of the check looks at other words when it is repeated");
	}
	ct_parts_free(parts);
	return error;
}

/* A leaf is found by walking the instant's tree again. */
static int remake_draw(struct explanation *x, const struct origin *from)
{
	struct ct_reads reads = {0};
	uint64_t left = x->finding->draw - CT_DRAW_LEAF;
	int error = 0;

	if (x->finding->draw < CT_DRAW_LEAF) {
		ct_plan_draw(from->plan, &x->medium, x->finding->draw, &x->walk, x->levels);
		return 0;
	}
	if (x->finding->draw >= CT_DRAW_PART) {
		return remake_part(x);
	}
	error = ct_image_track(&x->medium.image);
	if (!error) {
		error = ct_reads_at(&reads, &x->medium);
	}
	if (!error) {
		error = ct_tree_begin(&reads, &x->medium);
	}
	while (!error && ct_tree_next(&reads, &x->medium, x->levels) && left-- > 0) {
		ct_image_forget_reads(&x->medium.image);
		fails(x);
		x->judgements = 0;
		error = ct_tree_learn(&reads, &x->medium);
	}
	ct_reads_free(&reads);
	return error;
}

static int remake(struct explanation *x, const struct origin *from)
{
	const struct ct_exploration *e = x->e;
	int error = ct_medium_create(e->log_fd, e->initial, e->bytes, e->first_record, &e->rules, &x->medium);

	if (!error) {
		error = go_there(x, from);
	}
	if (error) {
		return error;
	}
	x->levels = calloc(x->medium.cell_count + 1, sizeof *x->levels);
	x->spare = calloc(x->medium.cell_count + 1, sizeof *x->spare);
	NVW_FAIL_IF(!x->levels || !x->spare, NVW_E_MEMORY, "no memory for a crash state");
	if (from->plan) {
		return remake_draw(x, from);
	} else {
		read_levels(x, from->image);
	}
	return 0;
}

/* The state as it is by now, the smallest that was found. */
static void save(struct explanation *x, const struct origin *from)
{
	json_t *const head = json_copy((json_t *)(uintptr_t)x->e->head);

	if (x->e->operations && x->e->operations->count > 0) {
		json_object_set_new(head, "operations", ct_operations_json(x->e->operations));
	}
	if (x->e->save) {
		x->e->save(x->e->context, &x->medium.acks, head);
	}
	if (!from->image) {
		ct_medium_apply(&x->medium, x->levels);
	}
	const uint8_t *const image = NVW_OR(from->image, x->medium.image.rw);

	x->error = ct_finding_save(x->finding->saved, head, x->finding, image, x->e->bytes, &x->medium.acks);
	if (!from->image) {
		ct_medium_undo(&x->medium);
	}
	json_decref(head);
}

/* Finds where a command dies or hangs in this state. */
static void trace(struct explanation *x)
{
	struct ct_finding *const f = x->finding;

	if (!x->e->stack) {
		return;
	}
	ct_medium_apply(&x->medium, x->levels);
	x->e->stack(x->e->context, &x->medium.image, &x->medium.acks, f->stack);
	ct_medium_undo(&x->medium);
	if (f->where[0] == '\0') {
		NVW_PRINT(f->where, "%.*s", (int)strcspn(f->stack, "\n"), f->stack);
	}
}

static void explain(struct explanation *x, const struct origin *from, enum judging judging)
{
	x->error = remake(x, from);
	if (x->error) {
		return;
	}
	ct_shape(x->finding->text, x->shape);
	if (judging != JUDGES_NOTHING) {
		minimise(x);
	}
	if (x->finding->minimised) {
		x->error = find_need(x);
		trace(x);
	}
	x->finding->tests = x->judgements;
	count_units(x);
	note_acknowledgement(x);
	name_operations(x);
	if (!x->error) {
		x->error = name_stores(x);
	}
	if (!x->error && x->finding->saved[0] != '\0') {
		save(x, from);
		if (x->error) { /* the verdict is known all the same */
			fprintf(stderr, "nvwave: note: the finding was not saved: %s\n", nvw_error_message());
			x->finding->saved[0] = '\0';
			x->error = 0;
		}
	}
}

struct explained {
	struct ct_finding finding;
	struct apart apart;
};

/* True if the process came to its end. */
static bool in_child(const struct ct_exploration *e, const struct origin *from, struct explained *shared,
	enum judging judging, int *ret_error)
{
	int status = 0;
	pid_t pid;

	*ret_error = ct_fork(NULL, &pid);
	if (*ret_error) {
		return true;
	}
	if (pid == 0) {
		struct explanation x = {.e = e, .finding = &shared->finding};

		if (judging == JUDGES_APART) {
			x.apart = &shared->apart;
		}
		explain(&x, from, judging);
		_exit(x.error != 0);
	}
	*ret_error = nvw_stop_wait(pid, &status);
	if (*ret_error == NVW_E_STOPPED) {
		*ret_error = 0; /* known, if not explained */
		return true;
	}
	return *ret_error || WIFEXITED(status);
}

static int explain_from(const struct ct_exploration *e, const struct origin *from, struct ct_finding *finding)
{
	struct explained *const shared = ct_shared_memory(sizeof *shared);
	enum judging judging = finding->signal ? JUDGES_APART : JUDGES;
	int error;

	if (ct_comes_of_second_crash(finding->text)) {
		judging = JUDGES_NOTHING; /* states that differ in a bit have their second crash elsewhere */
	}

	NVW_FAIL_ERRNO_IF(!shared, "no memory for a finding");
	shared->finding = *finding;
	while (!in_child(e, from, shared, judging, &error) && judging != JUDGES_NOTHING) {
		shared->finding = *finding; /* a state killed or hung it */
		judging++;
	}
	if (!error && !nvw_stopping()) { /* it may be half written */
		*finding = shared->finding;
	}
	munmap(shared, sizeof *shared);
	return error;
}

int ct_explain(const struct ct_exploration *e, const struct ct_plan *plan, struct ct_finding *finding)
{
	const struct origin from = {.plan = plan};

	return explain_from(e, &from, finding);
}

int ct_explain_image(const struct ct_exploration *e, const uint8_t *image, struct ct_finding *finding)
{
	const struct origin from = {.image = image};

	return explain_from(e, &from, finding);
}
