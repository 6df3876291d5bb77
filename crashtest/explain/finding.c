/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in files. See finding.h. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/input.h>
#include <xxhash.h>
#include <zstd.h>

#include <emu.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "core/newfile.h"
#include "core/options.h"
#include "core/stop.h"

#include "finding.h"
#include "../group.h"
#include "../states/image.h"
#include "../judge/process.h"

/*
 *	magic (8) | version (4) | bytes of JSON (4) | bytes of image (8) | compressed bytes (8) | JSON | zstd
 *	| XXH64 (8)
 */
enum { MAGIC_BYTES = 8, HEAD_BYTES = 8 + 4 + 4 + 8 + 8, VERSION = 1, JSON_MAX = 1 << 26 };

static const uint64_t file_bytes_max = UINT64_C(1) << 32, image_bytes_max = UINT64_C(1) << 35;

#define MAGIC "NVWFIND\n"

/* ---- JSON ---------------------------------------------------------------------------------------------- */

const char *ct_fate_name(enum ct_fate fate)
{
	static const char *const names[] = {
#define X(name, text) [CT_FATE_##name] = text,
		CT_FATES(X)
#undef X
	};

	NVW_INVARIANT(fate < NVW_COUNT(names));
	return names[fate];
}

static json_t *options_json(const struct nvw_options *options)
{
	json_t *const o = json_object();
	const char *name, *text;

	for (unsigned i = 0; options != NULL && nvw__options_given(options, i, &name, &text); i++) {
		member_set_text(o, name, text);
	}
	return o;
}

/* The machine as its file would be: a schedule is of one machine, and so is going on. */
static json_t *machine_json(const struct emu_config *config)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = open_memstream(&text, &bytes);

	if (f == NULL) {
		return NULL;
	}
	const int error = emu_config_dump(config, f);

	fclose(f);
	json_t *const json = error ? NULL : json_string(text);

	free(text);
	return json;
}

int ct_finding_machine(const json_t *head, struct emu_config *ret)
{
	const char *const text = member_string(head, "machine_file");
	const char *const name = member_string(head, "machine");
	const int fd = memfd_create("machine", MFD_CLOEXEC);
	char path[64];

	emu_config_default(ret);
	if (text == NULL || fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		close(fd);
		return nvw_fail(NVW_E_DAMAGED, "the finding has no machine");
	}
	NVW_PRINT(path, "/proc/self/fd/%d", fd);
	const int error = emu_config_load(ret, path);

	close(fd);
	NVW_PRINT(ret->name, "%s", NVW_OR(name, ""));
	ret->seed = member_count(head, "seed");
	return error;
}

json_t *ct_finding_subject(const struct ct_subject *s, const struct ct_options *options, const char *command)
{
	json_t *const o = json_pack("{s:s, s:o, s:I, s:s, s:s, s:s, s:i, s:s, s:O*}", "workload",
		NVW_OR(s->reference, s->workload->name), "options", options_json(s->options), "seed",
		(json_int_t)s->config->seed, "mutation",
		s->mutation < 0 ? "" : s->workload->mutations[s->mutation].name, "machine", s->config->name,
		"protocol", s->config->protocol, "timeout_ms", (int)options->timeout_ms, "command",
		NVW_OR(command, ""), "made_by", s->made_by);

	if (s->schedule) {
		json_object_set_new(o, "schedule", ct_schedule_json(s->schedule));
	}
	if (options->go_on > 0) {
		member_set_count(o, "and_then", options->go_on);
	}
	if (s->schedule || options->go_on > 0) {
		json_object_set_new(o, "machine_file", machine_json(s->config));
	}
	return o;
}

void ct_finding_name(const struct ct_options *options, unsigned i, struct ct_finding *f)
{
	if (options->save != NULL) {
		do {
			NVW_PRINT(f->saved, "%s/finding-%u", options->save, ++i);
		} while (access(f->saved, F_OK) == 0);
	}
}

json_t *ct_field_json(const struct nvw__field *f)
{
	json_t *o;

	if (f->name[0] == '\0') {
		return NULL;
	}
	o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "field", f->name, "type", f->type, "of", f->of,
		"offset", (json_int_t)f->offset, "size", (json_int_t)f->bytes, "part", f->part);
	if (f->whole[0] != '\0') {
		member_set_text(o, "whole", f->whole);
		member_set_count(o, "whole_size", f->whole_bytes);
	}
	return o;
}

static json_t *place_json(const struct ct_place *p)
{
	char value[2 * 8 + 3];

	NVW_PRINT(value, "0x%0*llx", 2 * (int)p->bytes, (unsigned long long)p->value);
	return json_pack("{s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:s, s:s, s:o*}", "file",
		p->file, "line", (int)p->line, "function", p->function, "kernel", p->kernel, "work_item",
		(json_int_t)p->work_item, "group", (json_int_t)p->group, "epoch_wi", (json_int_t)p->epoch_wi,
		"epoch_wg", (json_int_t)p->epoch_wg, "epoch_kr", (json_int_t)p->epoch_kr, "offset",
		(json_int_t)p->off, "bytes", (int)p->bytes, "value", value, "fate", ct_fate_name(p->fate),
		"stored", ct_field_json(&p->field));
}

static json_t *unit_json(const struct ct_unit *u)
{
	char now[19], newest[19];

	NVW_PRINT(now, "0x%016llx", (unsigned long long)u->now);
	NVW_PRINT(newest, "0x%016llx", (unsigned long long)u->newest);
	return json_pack("{s:I, s:s, s:s, s:b, s:b}", "offset", (json_int_t)u->off, "durable", now, "newest",
		newest, "lost", u->lost);
}

/* A text's lines. */
static json_t *stack_json(const char *stack)
{
	json_t *const lines = json_array();

	for (const char *at = stack; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
		json_array_append_new(lines, json_stringn(at, strcspn(at, "\n")));
	}
	return lines;
}

static json_t *line_json(const struct ct_line *l)
{
	json_t *const o = json_pack("{s:s, s:i}", "file", l->file, "line", (int)l->line);

	if (l->caller_line != 0) {
		member_set_text(o, "caller_file", l->caller_file);
		member_set_number(o, "caller_line", l->caller_line);
	}
	return o;
}

static json_t *cause_json(const struct ct_cause *c)
{
	json_t *const group = json_array();

	NVW_EACH(one, c->group, c->group_count) {
		json_array_append_new(group, line_json(one));
	}
	return json_pack(
		"{s:s, s:b, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:s, s:s, s:o, s:o, "
		"s:I, s:I, s:I}",
		"kind", ct_cause_name(c->kind), "guessed", c->guessed, "text", c->text, "barrier_file",
		c->file, "barrier_function", c->function, "barrier_line", (int)c->line, "scope", c->scope,
		"needed", c->needed, "lost", c->lost, "early", c->early, "lost_function", c->lost_function,
		"early_function", c->early_function, "group", group, "group_more", (int)c->group_more,
		"lost_caller", c->lost_caller, "early_caller", c->early_caller, "lost_stack",
		stack_json(c->lost_stack), "early_stack", stack_json(c->early_stack), "lost_event",
		(json_int_t)c->lost_record, "early_event", (json_int_t)c->early_record, "barrier_event",
		(json_int_t)c->barrier_record);
}

static json_t *edits_json(const struct ct_cure *c)
{
	static const char *const scopes[] = {"work-item", "work-group", "kernel"};
	json_t *const edits = json_array();
	char text[1024];

	NVW_EACH(e, c->edit, c->count) {
		const bool scoped = e->kind == CT_EDIT_BARRIER || e->kind == CT_EDIT_WIDEN;

		ct_edit_text(e, text, sizeof text);
		json_array_append_new(
			edits, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:s}", "kind", ct_edit_name(e->kind),
				       "scope", scoped ? scopes[e->scope] : "", "file", e->a.file, "line",
				       (int)e->a.line, "before_file", e->b.file, "before_line",
				       (int)e->b.line, "text", text));
	}
	return edits;
}

/* JSON has no -inf: no state was possible. */
static double json_number(double x)
{
	return isfinite(x) ? x : 0.0;
}

static json_t *cost_json(const struct ct_cure *c)
{
	return c->costed ? json_real((double)c->cost_ps / 1000) : json_null();
}

static json_t *cure_json(const struct ct_cure *c)
{
	static const char *const runs[] = {"", "holds", "refuted"};

	return json_pack(
		"{s:b, s:b, s:s, s:s, s:o, s:i, s:i, s:s, s:s, s:i, s:b, s:i, s:I, s:f, s:b, s:b, s:I, "
		"s:I, s:i, s:i, s:o}",
		"verified", ct_cure_is_verified(c), "verified_on_log", c->verified, "run", runs[c->run],
		"run_text", c->run_text, "edits", edits_json(c), "tried", (int)c->tried, "refuted",
		(int)c->refuted, "refuted_edit", c->refuted_edit, "refuted_why", c->refuted_why, "not_tried",
		(int)c->left, "gone", c->gone, "other_cures", (int)c->others, "states_tested",
		(json_int_t)c->states, "states_possible_log2", json_number(c->possible_log2),
		"states_possible_exact", c->possible_exact, "exhausted", c->exhaustive, "states_without_it",
		(json_int_t)c->only, "of_states", (json_int_t)c->only_of, "behind", (int)c->behind,
		"cured_by", (int)c->cured_by, "cost_ns", cost_json(c));
}

static json_t *thread_schedule_json(const struct ct_finding *f)
{
	if (f->thread_schedule == 0) {
		return NULL;
	}
	return json_pack("{s:I, s:s, s:i, s:{s:i, s:I}}", "number", (json_int_t)f->thread_schedule, "policy",
		f->policy, "switches", (int)f->switches, "shortened_by", "runs", (int)f->shorten_runs,
		"states", (json_int_t)f->shorten_states);
}

static json_t *acknowledged_json(const struct ct_finding *f)
{
	return f->acknowledged ? json_integer((json_int_t)f->acknowledged - 1) : json_null();
}

static json_t *places_json(const struct ct_finding *f)
{
	json_t *const places = json_array();

	NVW_EACH(place, f->place, f->place_count) {
		json_array_append_new(places, place_json(place));
	}
	return places;
}

static json_t *units_json(const struct ct_finding *f)
{
	json_t *const units = json_array();

	NVW_EACH(unit, f->unit, f->unit_count) {
		json_array_append_new(units, unit_json(unit));
	}
	return units;
}

static json_t *also_json(const struct ct_finding *f)
{
	json_t *const also = json_array();

	for (unsigned i = 0; i < f->also_count; i++) {
		json_array_append_new(also, json_pack("{s:s, s:I}", "text", f->also[i].text, "states",
						    (json_int_t)f->also[i].states));
	}
	return also;
}

json_t *ct_finding_json(const struct ct_finding *f)
{
	const char *const input = *f->input ? f->input : NULL;

	return json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:i, "
		"s:o, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:s, s:I, s:o*, s:s*}",
		"text", f->text, "states", (json_int_t)f->states, "offset", (json_int_t)f->off,
		"first_time_ps", (json_int_t)f->first_time_ps, "instant", (json_int_t)f->instant, "draw",
		(json_int_t)f->draw, "signal", f->signal, "hung", f->hung, "minimised", f->minimised,
		"writes_in_flight", (json_int_t)f->units, "writes_lost",
		(json_int_t)(f->units - f->units_durable), "acknowledged", acknowledged_json(f), "cause",
		cause_json(&f->cause), "cure", cure_json(&f->cure), "places", places_json(f), "also",
		also_json(f), "also_more", (int)f->also_more, "words", units_json(f), "saved", f->saved,
		"where", f->where, "operation", f->operation, "in_flight", f->in_flight, "bounded",
		f->bounded, "shares_states", f->sample, "stack", stack_json(f->stack), "states_by",
		f->by_cure ? "cure" : "text", "schedule", (json_int_t)f->schedule, "thread_schedule",
		thread_schedule_json(f), "input", input);
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* Ranges [first, count] of the operations for which is() holds. */
static json_t *acks_json(
	const struct nvw_acks *acks, uint64_t words, bool (*is)(const struct nvw_acks *acks, uint64_t op))
{
	json_t *const ranges = json_array();

	for (uint64_t op = 0; op < words * 64; op++) {
		uint64_t end = op;

		while (is(acks, end)) {
			end++;
		}
		if (end > op) {
			json_array_append_new(
				ranges, json_pack("[I, I]", (json_int_t)op, (json_int_t)(end - op)));
			op = end;
		}
	}
	return ranges;
}

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
	NVW_DEEP_INVARIANT(bytes <= 8);
	for (unsigned i = 0; i < bytes; i++) {
		to[i] = (uint8_t)(value >> 8 * i);
	}
}

static uint64_t get(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	NVW_DEEP_INVARIANT(bytes <= 8);
	for (unsigned i = 0; i < bytes; i++) {
		value |= (uint64_t)from[i] << 8 * i;
	}
	return value;
}

static int write_whole(const char *path, const void *data, size_t bytes)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, true, &f));
	fwrite(data, 1, bytes, f.file);
	return nvw_new_file_end(&f, 0);
}

/* The whole file in memory. */
static uint8_t *pack(const char *json, const void *image, uint64_t bytes, size_t *ret_bytes)
{
	const size_t text = strlen(json), bound = ZSTD_compressBound(bytes);
	uint8_t *const file = malloc(HEAD_BYTES + text + bound + 8);

	if (file == NULL) {
		return NULL;
	}
	const size_t packed = ZSTD_compress(file + HEAD_BYTES + text, bound, image, bytes, 3);

	if (ZSTD_isError(packed)) {
		free(file);
		return NULL;
	}
	memcpy(file, MAGIC, MAGIC_BYTES);
	put(file + 8, VERSION, 4);
	put(file + 12, text, 4);
	put(file + 16, bytes, 8);
	put(file + 24, packed, 8);
	memcpy(file + HEAD_BYTES, json, text);
	*ret_bytes = HEAD_BYTES + text + packed;
	put(file + *ret_bytes, XXH64(file, *ret_bytes, 0), 8);
	*ret_bytes += 8;
	return file;
}

int ct_finding_save(const char *path, const json_t *head, const struct ct_finding *finding, const void *image,
	uint64_t bytes, const struct nvw_acks *acks)
{
	json_t *const o = json_copy((json_t *)(uintptr_t)head);
	size_t size;

	json_object_set_new(o, "finding", ct_finding_json(finding));
	json_object_set_new(o, "acknowledged", acks_json(acks, acks->words, nvw_acked));
	json_object_set_new(o, "in_flight", acks_json(acks, acks->begun_words, nvw__acks_in_flight));
	char *const json = json_dumps(o, JSON_INDENT(1));

	json_decref(o);
	uint8_t *const file = json ? pack(json, image, bytes, &size) : NULL;
	int error;

	if (file != NULL) {
		error = write_whole(path, file, size);
	} else {
		error = nvw_fail(NVW_E_MEMORY, "no memory to save a finding");
	}
	free(file);
	free(json);
	return error;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

static int damaged(const char *path, uint64_t off, const char *expected)
{
	return nvw_fail(
		NVW_E_DAMAGED, "%s: offset %llu: expected %s", path, (unsigned long long)off, expected);
}

static int load_acks(const char *path, struct ct_saved *s)
{
	json_t *const ranges = json_object_get(s->head, "acknowledged"), *range;
	size_t i;

	if (!json_is_array(ranges)) {
		return damaged(path, HEAD_BYTES, "a JSON object with an array \"acknowledged\"");
	}
	json_array_foreach(ranges, i, range)
	{
		const int error =
			nvw__acks_add(&s->acks, (uint64_t)json_integer_value(json_array_get(range, 0)),
				(uint64_t)json_integer_value(json_array_get(range, 1)));

		if (error) {
			return error;
		}
	}
	return 0;
}

/* Findings from before have none. */
static int load_in_flight(struct ct_saved *s)
{
	const json_t *range;
	size_t i;
	int error = 0;

	json_array_foreach(json_object_get(s->head, "in_flight"), i, range)
	{
		const uint64_t first = (uint64_t)json_integer_value(json_array_get(range, 0)),
			       count = (uint64_t)json_integer_value(json_array_get(range, 1));

		for (uint64_t op = first; op - first < count && !error; op++) {
			error = nvw__acks_begin(&s->acks, op);
		}
	}
	return error;
}

static int check_magic(const char *path, const uint8_t *file, size_t size)
{
	if (size < HEAD_BYTES + 8 || memcmp(file, MAGIC, MAGIC_BYTES) != 0) {
		return damaged(path, 0, "a saved finding (NVWFIND)");
	}
	NVW_FAIL_IF(get(file + 8, 4) != VERSION, NVW_E_VERSION,
		"%s: offset 8: expected version %d, found %llu", path, VERSION,
		(unsigned long long)get(file + 8, 4));
	return 0;
}

static int unpack_image(
	const char *path, const uint8_t *file, struct ct_saved *s, uint64_t text, uint64_t packed)
{
	/* What is packed says its own size, so the header is not believed. */
	if (ZSTD_getFrameContentSize(file + HEAD_BYTES + text, packed) != s->bytes ||
		s->bytes > image_bytes_max) {
		return damaged(path, 16, "the size of the packed image");
	}
	s->image = malloc(s->bytes + 1);
	NVW_ALLOCATED(s->image, "%s: no memory for a pool of %llu bytes", path, (unsigned long long)s->bytes);
	if (ZSTD_decompress(s->image, s->bytes, file + HEAD_BYTES + text, packed) != s->bytes) {
		return damaged(path, HEAD_BYTES + text, "the image of a pool");
	}
	return 0;
}

static int parse(const char *path, const uint8_t *file, size_t size, struct ct_saved *s)
{
	NVW_TRY(check_magic(path, file, size));
	const uint64_t text = get(file + 12, 4), packed = get(file + 24, 8);

	if (text > JSON_MAX || packed > size || HEAD_BYTES + text + packed + 8 != size) {
		return damaged(path, 12, "lengths that add up to the file's size");
	}
	if (XXH64(file, size - 8, 0) != get(file + size - 8, 8)) {
		return damaged(path, size - 8, "the checksum of the file");
	}
	s->head = json_loadb((const char *)file + HEAD_BYTES, text, 0, NULL);
	if (!json_is_object(s->head)) {
		return damaged(path, HEAD_BYTES, "a JSON object");
	}
	s->bytes = get(file + 16, 8);
	NVW_TRY(unpack_image(path, file, s, text, packed));
	NVW_TRY(load_acks(path, s));
	return load_in_flight(s);
}

int ct_saved_load(const char *path, struct ct_saved *ret_saved)
{
	struct ct_saved s = {0};
	char *file;
	uint64_t size;

	NVW_TRY(nvw_input_read(path, file_bytes_max, &file, &size));
	int error = parse(path, (const uint8_t *)file, size, &s);
	free(file);
	if (error) {
		ct_saved_free(&s);
		return error;
	}
	*ret_saved = s;
	return 0;
}

void ct_saved_free(struct ct_saved *s)
{
	json_decref(s->head);
	free(s->image);
	nvw__acks_free(&s->acks);
	*s = (struct ct_saved){0};
}

/* ---- Again --------------------------------------------------------------------------------------------- */

struct shared {
	volatile uint32_t phase;
	int error;
	char message[512];
	struct ct_finding finding;
	struct ct_frames frames;
};

/* In the child. The finding is the violation of the same kind as the saved one, else the first. */
static void judge_again(const struct ct_saved *s, ct_judge judge, void *context, struct shared *shared)
{
	struct nvw_findings findings = {0};
	const char *const text = member_string(json_object_get(s->head, "finding"), "text");
	char wanted[CT_TEXT_BYTES], shape[CT_TEXT_BYTES];
	struct ct_image image;
	unsigned chosen = 0;

	shared->error = ct_image_create(s->image, s->filled, s->bytes, &image);
	if (shared->error) {
		NVW_PRINT(shared->message, "%s", nvw_error_message());
		return;
	}
	const int verdict = judge(context, &image, &s->acks, &findings, &shared->phase);

	if (verdict != 0 && verdict != NVW_E_INCONSISTENT) {
		shared->error = verdict;
		NVW_PRINT(shared->message, "%s", nvw_error_message());
	}
	ct_shape(NVW_OR(text, ""), wanted);
	for (unsigned i = findings.kept; i > 0; i--) {
		ct_shape(findings.finding[i - 1].text, shape);
		if (strcmp(shape, wanted) == 0) {
			chosen = i - 1;
		}
	}
	if (findings.kept > 0) {
		NVW_PRINT(shared->finding.text, "%s", findings.finding[chosen].text);
		shared->finding.off = findings.finding[chosen].off;
	}
	shared->phase = CT_PHASE_IDLE;
}

static int check_ending(struct shared *shared, int status)
{
	NVW_FAIL_IF(shared->error, shared->error, "%s", shared->message);
	NVW_FAIL_IF(!shared->finding.hung && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, CT_NO_ANSWER,
		"the replaying process was killed by SIGKILL (was memory short?)");
	ct_describe_death(shared->phase, shared->finding.hung, status, &shared->frames, &shared->finding);
	NVW_FAIL_IF(shared->phase != CT_PHASE_IDLE && WIFEXITED(status) && WEXITSTATUS(status) == 0,
		CT_NO_ANSWER, "%s: no verdict for the state", shared->finding.text);
	return 0;
}

static int wait_for(pid_t pid, unsigned timeout_ms, struct shared *shared)
{
	const double wall = ct_wall_seconds();
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (nvw_stopping()) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return nvw_stop_error();
		}
		if (!shared->finding.hung && ct_over_limit(pid, 0, wall, timeout_ms)) {
			shared->finding.hung = true;
			ct_end_hanging(pid, &shared->frames);
		}
		usleep(500);
	}
	return check_ending(shared, status);
}

static int judge_once(const struct ct_saved *saved, ct_judge judge, void *context, unsigned timeout_ms,
	struct shared *shared)
{
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		ct_child_begin();
		ct_frames_catch(&shared->frames);
		judge_again(saved, judge, context, shared);
		_exit(0);
	}
	NVW_FAIL_ERRNO_IF(pid < 0, "cannot start a process");
	return wait_for(pid, timeout_ms, shared);
}

int ct_saved_judge(const struct ct_saved *saved, ct_judge judge, void *context, unsigned timeout_ms,
	struct ct_finding *ret_finding)
{
	struct shared *const shared = ct_shared_memory(sizeof *shared);

	NVW_FAIL_ERRNO_IF(shared == NULL, "no memory for a replay");
	int error = judge_once(saved, judge, context, timeout_ms, shared);

	for (unsigned i = 1; i < CT_KILLS_MAX && error == CT_NO_ANSWER; i++) {
		memset(shared, 0, sizeof *shared);
		error = judge_once(saved, judge, context, timeout_ms, shared);
	}
	*ret_finding = shared->finding;
	munmap(shared, sizeof *shared);
	return error;
}
