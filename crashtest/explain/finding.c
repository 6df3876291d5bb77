/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in files. See finding.h. */
#include <fcntl.h>
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
#include "core/member.h"
#include "core/print.h"

#include "core/newfile.h"
#include "core/options.h"
#include "core/stop.h"
#include "core/text_stream.h"

#include "finding.h"
#include "../group.h"
#include "../states/image.h"
#include "../judge/process.h"

/*
 *	magic (8) | version (4) | bytes of JSON (4) | bytes of image (8) | compressed bytes (8) | JSON | zstd
 *	| XXH64 (8)
 */
struct head {
	char magic[8];
	uint32_t version, text;
	uint64_t bytes, packed;
};

enum { HEAD_BYTES = sizeof(struct head), VERSION = 1, JSON_MAX = 1 << 26 };

static const uint64_t file_bytes_max = UINT64_C(1) << 32, image_bytes_max = UINT64_C(1) << 35;

#define MAGIC "NVWFIND\n"

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static json_t *options_json(const struct nvw_options *options)
{
	json_t *const o = json_object();
	const char *name, *text;

	for (unsigned i = 0; options && nvw__options_given(options, i, &name, &text); i++) {
		member_set_text(o, name, text);
	}
	return o;
}

/* The machine as its file would be: a schedule is of one machine, and so is going on. */
static json_t *machine_json(const struct emu_config *config)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	const int error = emu_config_dump(config, t.to);
	char *const text = text_end(&t);
	json_t *const json = text && !error ? json_string(text) : NULL;

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
	if (!text || fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
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
		json_object_set_new(o, "crash_again", json_boolean(options->crash_again));
	}
	if (s->schedule || options->go_on > 0) {
		json_object_set_new(o, "machine_file", machine_json(s->config));
	}
	return o;
}

void ct_finding_name(const struct ct_options *options, unsigned i, struct ct_finding *f)
{
	if (options->save) {
		do {
			NVW_PRINT(f->saved, "%s/finding-%u", options->save, ++i);
		} while (access(f->saved, F_OK) == 0);
	}
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

	if (!file) {
		return NULL;
	}
	const size_t packed = ZSTD_compress(file + HEAD_BYTES + text, bound, image, bytes, 3);

	if (ZSTD_isError(packed)) {
		free(file);
		return NULL;
	}
	struct head head = {.version = VERSION, .text = (uint32_t)text, .bytes = bytes, .packed = packed};

	memcpy(head.magic, MAGIC, sizeof head.magic);
	memcpy(file, &head, HEAD_BYTES);
	memcpy(file + HEAD_BYTES, json, text);
	*ret_bytes = HEAD_BYTES + text + packed;
	const uint64_t sum = XXH64(file, *ret_bytes, 0);

	memcpy(file + *ret_bytes, &sum, sizeof sum);
	*ret_bytes += sizeof sum;
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

	if (file) {
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
	return nvw_fail(NVW_E_DAMAGED, "%s: offset %llu: expected %s", path, (ull)off, expected);
}

static uint64_t number_at(const json_t *range, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(range, i));
}

static int load_acks(const char *path, struct ct_saved *s)
{
	json_t *const ranges = json_object_get(s->head, "acknowledged");

	if (!json_is_array(ranges)) {
		return damaged(path, HEAD_BYTES, "a JSON object with an array \"acknowledged\"");
	}
	JSON_EACH(range, ranges) {
		NVW_TRY(nvw__acks_add(&s->acks, number_at(range, 0), number_at(range, 1)));
	}
	return 0;
}

/* Findings from before have none. */
static int begin_range(struct ct_saved *s, uint64_t first, uint64_t count)
{
	for (uint64_t op = first; op - first < count; op++) {
		NVW_TRY(nvw__acks_begin(&s->acks, op));
	}
	return 0;
}

/* Findings from before have none. */
static int load_in_flight(struct ct_saved *s)
{
	JSON_EACH(range, json_object_get(s->head, "in_flight")) {
		NVW_TRY(begin_range(s, number_at(range, 0), number_at(range, 1)));
	}
	return 0;
}

static int read_head(const char *path, const uint8_t *file, size_t size, struct head *ret)
{
	if (size < HEAD_BYTES + 8 || memcmp(file, MAGIC, sizeof ret->magic) != 0) {
		return damaged(path, 0, "a saved finding (NVWFIND)");
	}
	memcpy(ret, file, HEAD_BYTES);
	NVW_FAIL_IF(ret->version != VERSION, NVW_E_VERSION, "%s: offset 8: expected version %d, found %u",
		path, VERSION, ret->version);
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
	NVW_ALLOCATED(s->image, "%s: no memory for a pool of %llu bytes", path, (ull)s->bytes);
	if (ZSTD_decompress(s->image, s->bytes, file + HEAD_BYTES + text, packed) != s->bytes) {
		return damaged(path, HEAD_BYTES + text, "the image of a pool");
	}
	return 0;
}

static int parse(const char *path, const uint8_t *file, size_t size, struct ct_saved *s)
{
	struct head head;
	uint64_t sum;

	NVW_TRY(read_head(path, file, size, &head));
	if (head.text > JSON_MAX || head.packed > size || HEAD_BYTES + head.text + head.packed + 8 != size) {
		return damaged(path, 12, "lengths that add up to the file's size");
	}
	memcpy(&sum, file + size - sizeof sum, sizeof sum);
	if (XXH64(file, size - sizeof sum, 0) != sum) {
		return damaged(path, size - sizeof sum, "the checksum of the file");
	}
	s->head = json_loadb((const char *)file + HEAD_BYTES, head.text, 0, NULL);
	if (!json_is_object(s->head)) {
		return damaged(path, HEAD_BYTES, "a JSON object");
	}
	s->bytes = head.bytes;
	NVW_TRY(unpack_image(path, file, s, head.text, head.packed));
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
	struct ct_left left;
	struct ct_finding finding;
	struct ct_frames frames;
};

/* In the child. The finding is the violation of the same kind as the saved one, else the first. */
static void judge_again(const struct ct_saved *s, ct_judge judge, void *context, struct shared *shared)
{
	struct nvw_findings findings = {0};
	const char *const text = member_string(json_object_get(s->head, "finding"), "text");
	struct ct_image image;

	ct_leave(&shared->left, ct_image_create(s->image, s->filled, s->bytes, &image));
	if (shared->left.error) {
		return;
	}
	const int verdict = judge(context, &image, &s->acks, &findings, &shared->phase);

	if (verdict != 0 && verdict != NVW_E_INCONSISTENT) {
		ct_leave(&shared->left, verdict);
	}
	if (findings.kept > 0) {
		const struct nvw__finding *const alike = ct_find_alike(&findings, NVW_OR(text, "")),
						 *const chosen = NVW_OR(alike, &findings.finding[0]);

		NVW_PRINT(shared->finding.text, "%s", chosen->text);
		shared->finding.off = chosen->off;
	}
	shared->phase = CT_PHASE_IDLE;
}

static int check_ending(struct shared *shared, int status)
{
	NVW_TRY(ct_left_by(&shared->left));
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
	pid_t pid;

	NVW_TRY(ct_fork(&shared->frames, &pid));
	if (pid == 0) {
		judge_again(saved, judge, context, shared);
		_exit(0);
	}
	return wait_for(pid, timeout_ms, shared);
}

int ct_saved_judge(const struct ct_saved *saved, ct_judge judge, void *context, unsigned timeout_ms,
	struct ct_finding *ret_finding)
{
	struct shared *const shared = ct_shared_memory(sizeof *shared);

	NVW_FAIL_ERRNO_IF(!shared, "no memory for a replay");
	int error = judge_once(saved, judge, context, timeout_ms, shared);

	for (unsigned i = 1; i < CT_KILLS_MAX && error == CT_NO_ANSWER; i++) {
		memset(shared, 0, sizeof *shared);
		error = judge_once(saved, judge, context, timeout_ms, shared);
	}
	*ret_finding = shared->finding;
	munmap(shared, sizeof *shared);
	return error;
}
