/* SPDX-License-Identifier: BSD-3-Clause */
/* Output equivalence. See replay_oracle.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <nvw/random.h>

#include "core/filled.h"
#include "core/print.h"
#include "core/zeroed.h"
#include "core/bounds.h"
#include "core/invariant.h"

#include "core/array.h"
#include "core/member.h"

#include "../log_walk.h"
#include "../states/image.h"
#include "replay_oracle.h"

enum { TEXT_KEPT = 1 << 14, SAVED_TEXT = 2000 };

struct ct_logged_store {
	uint64_t record, off, value;
	uint32_t bytes;
	uint32_t operation; /* index plus 1 in operations; 0: none */
};

/* ---- The log ------------------------------------------------------------------------------------------- */

static int add_store(struct ct_replay_oracle *o, const struct ct_logged_store *store)
{
	NVW_GROWN(o->store, o->store_capacity, o->store_count + 1, "no memory for the stores of a log");
	o->store[o->store_count++] = *store;
	return 0;
}

static int note_host(struct ct_replay_oracle *o, const struct nvw_log_record *r, uint64_t record)
{
	struct ct_logged_store s = {.record = record};

	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	for (uint32_t at = 0; at < r->host.bytes; at += 8) {
		s.off = r->host.off + at;
		s.bytes = MIN(r->host.bytes - at, 8);
		memcpy(&s.value, r->host.data + at, s.bytes);
		NVW_TRY(add_store(o, &s));
	}
	return 0;
}

struct reading {
	struct ct_replay_oracle *oracle;
	struct ct_within within;
};

static int note_record(void *context, const struct nvw_log_record *r, uint64_t record)
{
	struct reading *const from = context;
	struct ct_replay_oracle *const o = from->oracle;
	uint64_t *mine;

	switch (r->kind) {
	case NVW_LOG_BEGIN:
		NVW_TRY(ct_within_of(&from->within, r->begin.thread, &mine));
		*mine = ct_operations_place(o->operations, r->begin.number);
		return 0;
	case NVW_LOG_ACK:
		NVW_TRY(ct_within_of(&from->within, r->ack.work_item, &mine));
		if (*mine == ct_operations_place(o->operations, r->ack.first)) {
			*mine = 0;
		}
		return 0;
	case NVW_LOG_STORE:
		NVW_TRY(ct_within_of(&from->within, r->store.work_item, &mine));
		return add_store(o, &(struct ct_logged_store){.record = record,
					    .off = r->store.off,
					    .value = r->store.value,
					    .bytes = r->store.bytes,
					    .operation = (uint32_t)*mine});
	case NVW_LOG_HOST:
		return note_host(o, r, record);
	default:
		return 0;
	}
}

static int read_stores(struct ct_replay_oracle *o, int log_fd)
{
	struct reading from = {.oracle = o};
	const int error = ct_log_walk(log_fd, note_record, &from);

	free(from.within.at);
	return error;
}

/* ---- References ---------------------------------------------------------------------------------------- */

/* Operations: those that are acknowledged, and of those in flight the chosen ones. */
struct set {
	const struct nvw_acks *acks;
	uint32_t flying[64]; /* indices */
	unsigned count;
	uint64_t chosen; /* bits */
};

static bool has(const struct set *s, const struct ct_operations *operations, uint32_t index)
{
	bool is = nvw_acked(s->acks, operations->at[index].number);

	NVW_DEEP_INVARIANT(s->count <= 64);
	NVW_EACH_BIT(i, s->chosen) {
		is |= s->flying[i] == index;
	}
	return is;
}

static uint64_t key_of(const struct set *s, const struct ct_operations *operations)
{
	uint64_t key = s->acks->hash;

	NVW_FOR(i, s->count) {
		if (s->chosen >> i & 1) {
			key ^= nvw_mix64(operations->at[s->flying[i]].number + 0x2545f4914f6cdd1du);
		}
	}
	return key;
}

/* The record at which the first operation begins that is not in the set, after the last one of the set has
 * ended. */
static uint64_t end_of(const struct set *s, const struct ct_operations *operations)
{
	uint64_t last = 0, end = UINT64_MAX;

	NVW_FOR(i, operations->count) {
		const struct ct_operation *const o = &operations->at[i];

		if (has(s, operations, i)) {
			const uint64_t ended = NVW_OR(o->durable, UINT64_MAX);

			last = MAX(last, ended);
		}
	}
	NVW_FOR(i, operations->count) {
		const struct ct_operation *const o = &operations->at[i];

		if (o->begin > last && o->begin < end && !has(s, operations, i)) {
			end = o->begin;
		}
	}
	return end;
}

static void free_image(struct ct_image *image)
{
	nvw__zeroed_free(image->rw, image->bytes);
	free(image->filled);
}

static bool make_image(const struct ct_replay_oracle *o, const struct set *s, struct ct_image *ret)
{
	const uint64_t bytes = (o->asked.bytes + 63) & ~UINT64_C(63), end = end_of(s, o->operations);
	uint8_t *const image = nvw__zeroed(bytes), *const in = calloc(o->operations->count + 1, 1);

	*ret = (struct ct_image){.rw = image, .ro = image, .bytes = bytes};
	ret->filled = malloc(nvw__filled_pages(bytes));
	if (!image || !in || !ret->filled) {
		free_image(ret);
		free(in);
		return false;
	}
	in[0] = 1; /* of no operation */
	NVW_FOR(i, o->operations->count) {
		in[i + 1] = has(s, o->operations, i);
	}
	nvw__filled_copy(image, o->initial, o->filled, bytes);
	memcpy(ret->filled, o->filled, nvw__filled_pages(bytes));
	for (uint64_t i = 0; i < o->store_count && o->store[i].record < end; i++) {
		const struct ct_logged_store *const store = &o->store[i];

		if (in[store->operation] && store->off + store->bytes <= bytes) {
			memcpy(image + store->off, &store->value, store->bytes);
			nvw__filled_mark(ret->filled, store->off, store->bytes);
		}
	}
	free(in);
	return true;
}

static struct ct_reference *new_reference(struct ct_replay_oracle *o, uint64_t key)
{
	if (!NVW_ROOM(o->reference, o->reference_capacity, o->reference_count + 1)) {
		return NULL;
	}
	o->reference[o->reference_count] = (struct ct_reference){.key = key};
	return &o->reference[o->reference_count++];
}

/* For display and saved findings; the hash is that of the unchanged output. */
static char printable(char c)
{
	return c == '\n' || (c >= ' ' && c <= '~') ? c : '?';
}

/* Its text is the caller's. */
static void note_output(struct ct_reference *r, const struct ct_answer *a)
{
	const struct ct_output *const whole = &a->whole;

	NVW_INVARIANT(whole->text || whole->kept == 0);
	r->useful = a->in_time && WIFEXITED(a->status) && WEXITSTATUS(a->status) == 0;
	r->bytes = whole->bytes;
	r->hash = whole->hash;
	r->kept = MIN(whole->kept, TEXT_KEPT);
	NVW_FOR(i, r->kept) {
		r->text[i] = printable(whole->text[i]);
	}
	r->text[r->kept] = '\0';
}

static int fill_reference(struct ct_reference *r, const struct ct_answer *a)
{
	r->text = malloc(TEXT_KEPT + 1);
	NVW_ALLOCATED(r->text, "no memory for the output of a command");
	note_output(r, a);
	return 0;
}

/* The output of the command for the set; searched from the newest reference on, because states come in the
 * order of the run. */
static int reference_of(
	struct ct_replay_oracle *o, const struct set *s, const struct ct_reference **ret_reference)
{
	const uint64_t key = key_of(s, o->operations);
	struct ct_answer a;

	for (uint64_t i = o->reference_count; i-- > 0;) {
		if (o->reference[i].key == key) {
			*ret_reference = &o->reference[i];
			return 0;
		}
	}
	struct ct_image image;
	const bool made = make_image(o, s, &image);
	struct ct_reference *const r = made ? new_reference(o, key) : NULL;

	if (made && !r) {
		free_image(&image);
	}
	NVW_ALLOCATED(r, "no memory for an image without a crash");
	int error = ct_ask(&o->asked, &image, s->acks, &a);

	if (!error) {
		error = fill_reference(r, &a);
	}
	o->reference_count -= error != 0;
	free_image(&image);
	*ret_reference = r;
	return error;
}

/* ---- Judging ------------------------------------------------------------------------------------------- */

/* A copy, because the command makes references before the output is examined. */
struct printed {
	const char *when; /* ct_answer_when() */
	int status;
	char line[CT_LINE_BYTES], text[TEXT_KEPT + 1];
	struct ct_reference is; /* its text is here */
};

static bool equals(const struct ct_reference *r, const struct printed *p)
{
	return r->useful && r->bytes == p->is.bytes && r->hash == p->is.hash;
}

/* How long two texts are equal. */
static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] != '\0' && a[n] == b[n]) {
		n++;
	}
	return n;
}

/* The line in which p differs from a reference, which is the first one that it lacks or has too much. */
static void differing_line(const char *text, const char *other, char to[72])
{
	const char *line = text + common(text, other);

	while (line > text && line[-1] != '\n') {
		line--;
	}
	snprintf(to, 72, "%.*s", (int)strcspn(line, "\r\n"), line);
	ct_output_blank(to);
}

static int differs(const struct ct_reference *nearest, const struct printed *p, struct nvw_findings *findings)
{
	char found[72], wanted[72];

	if (p->status != 0) {
		return nvw_violation(findings, 0, "%sthe command exited with status %d%s%s", p->when,
			p->status, *p->line ? ": " : "", p->line);
	}
	if (!nearest) {
		return nvw_violation(findings, 0, "the command prints something: %s", p->line);
	}
	differing_line(p->text, nearest->text, found);
	differing_line(nearest->text, p->text, wanted);
	return nvw_violation(findings, 0,
		"the output differs from that of every run without a crash: \"%s\" instead of \"%s\"", found,
		wanted);
}

enum { NO_REFERENCE = -1 };

/* Numbers of references: their array moves when one more is made. */
static int64_t nearer(const struct ct_replay_oracle *o, int64_t a, int64_t b, const struct printed *p)
{
	if (!o->reference[b].useful) {
		return a;
	}
	return a == NO_REFERENCE ||
			       common(o->reference[b].text, p->text) > common(o->reference[a].text, p->text) ?
		       b :
		       a;
}

/* Operations in flight, by their acknowledgements: those without one last. */
static unsigned list_flying(const struct ct_replay_oracle *o, const struct nvw_acks *acks, uint32_t *flying)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < o->operations->count && n < 64; i++) {
		if (!nvw__acks_in_flight(acks, o->operations->at[i].number)) {
			continue;
		}
		unsigned at = n++;
		const uint64_t mine = o->operations->at[i].durable - 1;

		for (; at > 0 && o->operations->at[flying[at - 1]].durable - 1 > mine; at--) {
			flying[at] = flying[at - 1];
		}
		flying[at] = i;
	}
	return n;
}

static struct set in_flight(const struct ct_replay_oracle *o, const struct nvw_acks *acks)
{
	struct set s = {.acks = acks};

	s.count = list_flying(o, acks, s.flying);
	return s;
}

/* Subset number i: any subset of few operations; if there are many, the first i by acknowledgement. */
static bool subset(unsigned count, uint64_t i, uint64_t *ret_chosen)
{
	NVW_INVARIANT(count <= 64);
	if (count <= CT_IN_FLIGHT_MAX) {
		*ret_chosen = i;
		return i < UINT64_C(1) << count;
	}
	*ret_chosen = i >= 64 ? UINT64_MAX : (UINT64_C(1) << i) - 1;
	return i <= count;
}

/* 0 if a reference equals it, NVW_E_INCONSISTENT with a violation, or an error. */
static int compare_output(struct ct_replay_oracle *o, const struct nvw_acks *acks, const struct printed *p,
	struct nvw_findings *findings)
{
	const struct ct_reference *r;
	int64_t nearest = NO_REFERENCE;
	struct set s = in_flight(o, acks);

	for (uint64_t i = 0; subset(s.count, i, &s.chosen); i++) {
		const int error = reference_of(o, &s, &r);

		if (error || equals(r, p)) {
			return error;
		}
		nearest = nearer(o, nearest, r - o->reference, p);
	}
	NVW_FAIL_IF(nearest == NO_REFERENCE, NVW_E_INPUT,
		"--recover: the command fails on a file of the run without a crash: it must exit "
		"with "
		"status 0 after each acknowledged operation");
	return differs(&o->reference[nearest], p, findings);
}

static int compare_saved(
	const struct ct_replay_oracle *o, const struct printed *p, struct nvw_findings *findings)
{
	int64_t nearest = NO_REFERENCE;

	NVW_FOR(i, o->reference_count) {
		if (equals(&o->reference[i], p)) {
			return 0;
		}
		nearest = nearer(o, nearest, (int64_t)i, p);
	}
	return differs(nearest == NO_REFERENCE ? NULL : &o->reference[nearest], p, findings);
}

/* The command has failed on a state. What it says is worth less if it fails without a crash as well. */
static int note_references(
	struct ct_replay_oracle *o, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const struct ct_reference *r;
	struct set s = in_flight(o, acks);
	unsigned made = 0, failing = 0;

	if (o->only_those || findings->kept == 0) {
		return 0;
	}
	for (uint64_t i = 0; subset(s.count, i, &s.chosen); i++) {
		NVW_TRY(reference_of(o, &s, &r));
		made++;
		failing += !r->useful;
	}
	char *const text = findings->finding[findings->kept - 1].text;
	const size_t n = strlen(text), room = sizeof findings->finding[0].text - n;

	if (failing == made) {
		snprintf(text + n, room, "; after the same operations it fails without a crash, too");
	} else if (failing > 0) {
		snprintf(text + n, room,
			"; after the same operations it fails without a crash, too, on %u of %u files",
			failing, made);
	}
	return 0;
}

static void keep(struct printed *p, const struct ct_answer *a)
{
	p->when = ct_answer_when(a);
	p->status = WEXITSTATUS(a->status);
	p->is.text = p->text;
	note_output(&p->is, a);
	NVW_PRINT(p->line, "%s", a->line);
}

int ct_replay_oracle_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct printed p;
	struct ct_replay_oracle *const o = context;
	struct ct_answer a;

	*phase = CT_PHASE_CHECK;
	NVW_TRY(ct_ask(&o->asked, image, acks, &a));
	bool failed = ct_answer_note(&a, findings) != 0;

	if (!failed) {
		keep(&p, &a);
		failed = p.status != 0 && differs(NULL, &p, findings) != 0;
	}
	if (failed) {
		NVW_TRY(note_references(o, acks, findings));
		return NVW_E_INCONSISTENT;
	}
	return o->only_those ? compare_saved(o, &p, findings) : compare_output(o, acks, &p, findings);
}

int ct_replay_oracle_try(struct ct_replay_oracle *o, const struct nvw_acks *acks)
{
	const struct ct_reference *first, *second;
	const struct set all = {.acks = acks, .count = 0};

	NVW_TRY(reference_of(o, &all, &first));
	NVW_FAIL_IF(!first->useful, NVW_E_INPUT,
		"--recover: the command fails on the program's final file, without any crash%s%.200s",
		first->kept ? ": " : "", first->text);
	const uint64_t hash = first->hash;

	free(first->text);
	o->reference_count = 0;
	NVW_TRY(reference_of(o, &all, &second));
	NVW_FAIL_IF(second->hash != hash, NVW_E_INPUT,
		"--recover: the command prints different output for the same file, so crash states "
		"cannot be compared with it");
	return 0;
}

/* ---- Saved findings ------------------------------------------------------------------------------------ */

void ct_replay_oracle_save(void *context, const struct nvw_acks *acks, json_t *finding)
{
	struct ct_replay_oracle *const o = context;
	json_t *const accepted = json_array();
	const struct ct_reference *r;
	struct set s = in_flight(o, acks);
	char hash[24];

	for (uint64_t i = 0; subset(s.count, i, &s.chosen) && reference_of(o, &s, &r) == 0; i++) {
		NVW_PRINT(hash, "%016" PRIx64, r->hash);
		if (r->useful) {
			json_array_append_new(accepted,
				json_pack("{s:I, s:s, s:o}", "bytes", (json_int_t)r->bytes, "hash", hash,
					"text", json_stringn(r->text, MIN(r->kept, SAVED_TEXT))));
		}
	}
	json_object_set_new(finding, "accepted", accepted);
}

static int load_reference(const json_t *from, struct ct_reference *r)
{
	NVW_FAIL_IF(!r || !(r->text = strdup(member_text(from, "text"))), NVW_E_MEMORY,
		"no memory for the output of a command");
	r->useful = true;
	r->bytes = member_count(from, "bytes");
	r->hash = strtoull(member_text(from, "hash"), NULL, 16);
	r->kept = strlen(r->text);
	return 0;
}

int ct_replay_oracle_load(const struct ct_asked_is *is, const json_t *finding, struct ct_replay_oracle *ret)
{
	static const struct ct_operations none;

	*ret = (struct ct_replay_oracle){
		.operations = &none, .only_those = true, .asked = {.whole_output = true}};
	JSON_EACH(one, json_object_get(finding, "accepted")) {
		NVW_TRY(load_reference(one, new_reference(ret, 0)));
	}
	return ct_asked_make(is, "--recover", &ret->asked);
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

int ct_replay_oracle_create(const struct ct_asked_is *is, int log_fd, const uint8_t *initial,
	const uint8_t *filled, struct ct_replay_oracle *ret)
{
	*ret = (struct ct_replay_oracle){.operations = is->operations,
		.initial = initial,
		.filled = filled,
		.asked = {.whole_output = true}};
	NVW_FAIL_IF(is->operations->count == 0, NVW_E_USAGE,
		"--oracle=replay: the program announced no operation: include nvw/ack.h and call "
		"nvw_operation_begins() and nvw_operation_is_durable()");
	NVW_TRY(ct_asked_make(is, "--recover", &ret->asked));
	return read_stores(ret, log_fd);
}

void ct_replay_oracle_destroy(struct ct_replay_oracle *o)
{
	NVW_EACH(reference, o->reference, o->reference_count) {
		free(reference->text);
	}
	free(o->reference);
	free(o->store);
	ct_asked_destroy(&o->asked);
	*o = (struct ct_replay_oracle){0};
}
