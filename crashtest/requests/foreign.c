/* SPDX-License-Identifier: BSD-3-Clause */
/* Exploring external store logs with external checkers. See crash.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvw/input.h>

#include "../judge/checker.h"
#include "../explain/cure.h"
#include "../explain/finding.h"
#include "../group.h"
#include "../judge/hang.h"
#include "modes.h"
#include "../judge/operations.h"
#include "../judge/process.h"
#include "../judge/replay_oracle.h"
#include "store_log.h"
#include "writes.h"

static bool is_persist_log(const char *path)
{
	char magic[6] = "";
	int fd;

	if (nvw_input_open(path, O_RDONLY, &fd)) {
		return false;
	}
	const bool whole = read(fd, magic, sizeof magic) == sizeof magic;

	close(fd);
	return whole && memcmp(magic, "NVWLOG", sizeof magic) == 0;
}

/* A program may have the same name; then the model is that of its processor. */
static bool is_of_blocks(const struct nvw_log_reader *reader)
{
	const struct nvw_log_info *const i = nvw_log_info(reader);

	return strcmp(i->workload, CT_BLOCK_LOG) == 0 && strcmp(i->model, "x86") != 0;
}

/* True for a program whose kernels ran on a machine (mixed.h): the model is the machine's. */
static bool is_mixed(const struct nvw_log_reader *reader)
{
	enum ct_model model;

	return !is_of_blocks(reader) && ct_model_find(nvw_log_info(reader)->model, &model) &&
	       ct_model_info(model)->of_runs;
}

bool ct_is_block_log(const char *path)
{
	struct nvw_log_reader *reader;

	if (!is_persist_log(path) || nvw_log_open(path, &reader)) {
		return false;
	}
	const bool is = is_of_blocks(reader);

	nvw_log_reader_close(reader);
	return is;
}

/* Reads the file, padded with zeros to a whole line. */
static int read_image(const char *path, bool may_be_empty, uint8_t **ret_bytes, uint64_t *ret_size)
{
	struct stat s;
	uint64_t at = 0;
	int fd, error = nvw_input_open(path, O_RDONLY, &fd);

	if (error) {
		return error;
	}
	if (fstat(fd, &s)) {
		error = nvw_fail_errno("%s", path);
		close(fd);
		return error;
	}
	*ret_size = (uint64_t)s.st_size;
	*ret_bytes = calloc((*ret_size + 127) / 64, 64);
	while (*ret_bytes != NULL && at < *ret_size) {
		const ssize_t n = read(fd, *ret_bytes + at, *ret_size - at);

		if (n <= 0) {
			break;
		}
		at += (uint64_t)n;
	}
	close(fd);
	if (*ret_bytes == NULL) {
		return nvw_fail(
			NVW_E_MEMORY, "%s: no memory for %llu bytes", path, (unsigned long long)*ret_size);
	}
	if ((*ret_size == 0 && !may_be_empty) || at < *ret_size) {
		free(*ret_bytes);
		return nvw_fail(NVW_E_INPUT, "%s: expected the file as it was before the log began, found %s",
			path, *ret_size ? "one that cannot be read" : "an empty one");
	}
	return 0;
}

/* ---- Recorded persist logs
 * ------------------------------------------------------------------------------------- */

/* The set of threads that stored, by their numbers in the log: 0 stands for none. */
struct threads {
	uint64_t seen[64];
};

static uint64_t count_thread(struct threads *t, uint64_t thread)
{
	const uint64_t bit = UINT64_C(1) << thread % 64;

	if (thread == 0 || thread / 64 >= sizeof t->seen / sizeof t->seen[0] || t->seen[thread / 64] & bit) {
		return 0;
	}
	t->seen[thread / 64] |= bit;
	return 1;
}

/* A program may extend its file without writing to the new part, but hardly by more than this. */
static const uint64_t untouched_max = UINT64_C(1) << 30;

/* End of the bytes that a record refers to. */
static uint64_t end_of(const struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		return r->store.off + r->store.bytes;
	case NVW_LOG_FLUSH:
		return r->flush.off + r->flush.bytes;
	case NVW_LOG_HOST:
		return r->host.off + r->host.bytes;
	case NVW_LOG_ISSUE:
		return r->issue.off + NVW_LOG_LINE_BYTES;
	default:
		return 0;
	}
}

/* Were these stores of host code found by comparison? Without kernels, the log's unit says so; with kernels,
 * the stores of one line have one number (host/convert.c). */
static bool are_grouped(
	const struct nvw_log_info *log, const struct nvw_log_record *r, const struct nvw_log_record *before)
{
	if (strcmp(log->model, "x86") == 0) {
		return log->atomicity == 64;
	}
	return before->kind == NVW_LOG_STORE && before->store.kernel == 0 &&
	       before->store.group == r->store.group && before->store.off / 64 == r->store.off / 64;
}

/* Counts the log's records; refuses a log that is neither of a host program nor of a block device. known is
 * the size of the image; the size in the header is trusted only as far as the image or the records reach,
 * plus a margin. */
static int count_records(const char *path, int fd, uint64_t known, struct ct_store_log *counts,
	uint64_t *ret_pool, bool *ret_blocks)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r, before = {.kind = NVW_LOG_FENCE};
	struct threads threads = {{0}};
	uint64_t storing = 0, created = 0;
	int error = nvw_log_open_fd(dup(fd), path, &reader);

	if (error) {
		return error;
	}
	*ret_pool = nvw_log_info(reader)->pool_bytes;
	*ret_blocks = is_of_blocks(reader);
	const bool mixed = is_mixed(reader);

	while ((error = nvw_log_next(reader, &r)) == 1) {
		counts->stores += r.kind == NVW_LOG_STORE;
		if (r.kind == NVW_LOG_STORE && !*ret_blocks && r.store.kernel == 0) {
			storing += count_thread(&threads, r.store.work_item);
			counts->grouped = counts->grouped || are_grouped(nvw_log_info(reader), &r, &before);
		} else if (r.kind == NVW_LOG_THREADS) {
			created = r.threads.count ? r.threads.count : 1;
		}
		counts->flushes += r.kind == NVW_LOG_FLUSH;
		counts->kernels += r.kind == NVW_LOG_LAUNCH;
		counts->fences += r.kind == NVW_LOG_FENCE ||
				  ((*ret_blocks || mixed) &&
					  (r.kind == NVW_LOG_DRAINED || r.kind == NVW_LOG_PERSISTED));
		if (!*ret_blocks &&
			((r.kind == NVW_LOG_LAUNCH && !(mixed && created)) || r.kind == NVW_LOG_ISSUE)) {
			error = nvw_fail(NVW_E_INPUT,
				"%s: expected the log of a program on the host, found a kernel's: crash its workload",
				path);
			break;
		}
		known = end_of(&r) > known ? end_of(&r) : known;
		before = r;
	}
	nvw_log_reader_close(reader);
	counts->threads = storing > created ? storing : created;
	if (!error && *ret_pool > known && *ret_pool - known > untouched_max) {
		error = nvw_fail(NVW_E_INPUT,
			"%s: the header gives the file %llu bytes, but the records and the image end at %llu",
			path, (unsigned long long)*ret_pool, (unsigned long long)known);
	}
	return error;
}

/* Copies the log to a file for the workers, and extends the image to the size of the log's pool. */
static int open_persist_log(const struct ct_foreign *f, struct ct_store_log *counts, int *ret_fd,
	uint8_t **image, uint64_t *bytes, bool *ret_blocks)
{
	uint64_t pool = 0;

	int error = nvw_input_open(f->store_log, O_RDONLY, ret_fd);

	error = error ? error : count_records(f->store_log, *ret_fd, *bytes, counts, &pool, ret_blocks);

	if (error) {
		return error;
	}
	if (((pool + 63) & ~UINT64_C(63)) < ((*bytes + 63) & ~UINT64_C(63))) {
		return nvw_fail(NVW_E_INPUT,
			"%s: has %llu bytes, and %s is the log of a file of %llu: expected that file as it was before the log began",
			f->image, (unsigned long long)*bytes, f->store_log, (unsigned long long)pool);
	}
	if (pool > ((*bytes + 63) & ~UINT64_C(63))) {
		pool = (pool + 63) & ~UINT64_C(63);
		uint8_t *const longer = calloc(pool / 64, 64);

		if (longer == NULL) {
			return nvw_fail(NVW_E_MEMORY, "no memory for %llu bytes", (unsigned long long)pool);
		}
		memcpy(longer, *image, *bytes);
		free(*image);
		*image = longer;
		*bytes = pool;
	}
	return 0;
}

static json_t *head_json(const struct ct_foreign *f, const struct ct_options *o, uint64_t bytes)
{
	char *const library = f->library ? realpath(f->library, NULL) : NULL;
	json_t *const head = json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:s, s:O*}", "store_log", f->store_log,
		"checker", f->command ? f->command : "", "library", library ? library : "", "recover",
		f->recover ? f->recover : "", "image_bytes", (json_int_t)bytes, "timeout_ms",
		(int)o->timeout_ms, "command", f->command_line ? f->command_line : "", "made_by", f->made_by);

	free(library);
	return head;
}

/* The number of records before the last one. */
static int last_record(int log_fd, uint64_t *ret_last)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t records = 0;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader);

	if (error) {
		return error;
	}
	while ((error = nvw_log_next(reader, &r)) == 1) {
		records++;
	}
	nvw_log_reader_close(reader);
	*ret_last = records > 0 ? records - 1 : 0;
	return error;
}

/* Applies all stores of the program to the image. */
static int replay_stores(int log_fd, uint8_t *image, uint64_t bytes)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader);

	if (error) {
		return error;
	}
	while ((error = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_STORE && r.store.bytes <= 8 && r.store.off + r.store.bytes <= bytes) {
			memcpy(image + r.store.off, &r.store.value, r.store.bytes);
		} else if (r.kind == NVW_LOG_HOST && r.host.off + r.host.bytes <= bytes) {
			memcpy(image + r.host.off, r.host.data, r.host.bytes);
		}
	}
	nvw_log_reader_close(reader);
	return error;
}

/* The judge: an external checker, the program's output or, for a block device's log, its own writes. */
struct jury {
	struct ct_operations operations;
	struct ct_checker checker;
	struct ct_replay_oracle replay;
	struct ct_writes *writes;
	ct_judge judge;
	void *context;
	struct ct_asked *asked;
};

static int swear_in_checker(
	const struct ct_foreign *f, const struct ct_options *o, uint64_t bytes, struct jury *ret)
{
	const struct ct_checker_is is = {.command = f->command,
		.library = f->library,
		.bytes = bytes,
		.timeout_ms = o->timeout_ms,
		.operations = &ret->operations};

	ret->judge = ct_checker_judge;
	ret->context = &ret->checker;
	ret->asked = &ret->checker.asked;
	return ct_checker_create(&is, &ret->checker);
}

static int swear_in_replay(const struct ct_foreign *f, const struct ct_options *o, int log_fd,
	const uint8_t *image, uint64_t bytes, struct jury *ret)
{
	const struct ct_replay_is is = {.command = f->recover,
		.log_fd = log_fd,
		.initial = image,
		.bytes = bytes,
		.timeout_ms = o->timeout_ms,
		.operations = &ret->operations};

	ret->judge = ct_replay_oracle_judge;
	ret->context = &ret->replay;
	ret->asked = &ret->replay.asked;
	return ct_replay_oracle_create(&is, &ret->replay);
}

static int swear_in(const struct ct_foreign *f, const struct ct_options *o, int log_fd, const uint8_t *image,
	uint64_t bytes, bool blocks, struct jury *ret)
{
	const int error = blocks ? 0 : ct_operations_read(log_fd, &ret->operations);

	if (error) {
		return error;
	}
	if (f->command != NULL || f->library != NULL) {
		return swear_in_checker(f, o, bytes, ret);
	}
	if (f->recover != NULL) {
		return swear_in_replay(f, o, log_fd, image, bytes, ret);
	}
	ret->judge = ct_writes_judge;
	return blocks ? ct_writes_create(log_fd, image, bytes, &ret->writes) :
			nvw_fail(NVW_E_USAGE,
				"%s: --check or --check-lib is needed: only the log of a block device can be "
				"checked without one",
				f->store_log);
}

static void dismiss(struct jury *jury)
{
	if (jury->writes != NULL) {
		ct_writes_destroy(jury->writes);
	}
	ct_checker_destroy(&jury->checker);
	ct_replay_oracle_destroy(&jury->replay);
	ct_operations_free(&jury->operations);
}

/* A crash during set-up, before the first operation, is not a crash of the program's operations: the output
 * there is not promised. */
static uint64_t first_begin(const struct ct_operations *o)
{
	uint64_t first = UINT64_MAX;

	for (uint64_t i = 0; i < o->count; i++) {
		const uint64_t begin = o->at[i].begin ? o->at[i].begin : o->at[i].durable;

		first = begin < first ? begin : first;
	}
	return first == UINT64_MAX ? 0 : first - 1;
}

/* The image as the program leaves it: 1 if there is nothing against it, 0 if that is the result, or an error. */
static int judge_final(const struct ct_exploration *e, struct jury *jury, struct ct_result *ret_result)
{
	struct ct_saved final = {.bytes = e->bytes, .image = malloc(e->bytes)};
	struct ct_finding *const found = &ret_result->finding[0];
	int error = final.image ?
			    0 :
			    nvw_fail(NVW_E_MEMORY, "no memory for %llu bytes", (unsigned long long)e->bytes);

	*ret_result = (struct ct_result){.mode = CT_PERMITTED, .model = e->rules.model, .consistent = true};
	if (!error) {
		memcpy(final.image, e->initial, e->bytes);
		error = replay_stores(e->log_fd, final.image, e->bytes);
	}
	error = error ? error : ct_operations_owe(&jury->operations, &final.acks);
	if (!error && jury->context == &jury->replay) {
		error = ct_replay_oracle_try(&jury->replay, &final.acks);
	}
	error = error ? error : ct_saved_judge(&final, e->judge, e->context, e->options.timeout_ms, found);
	free(final.image);
	nvw__acks_free(&final.acks);
	if (error == CT_NO_ANSWER) {
		ret_result->states_undecided = 1;
		snprintf(ret_result->undecided, sizeof ret_result->undecided, "%s", nvw_error_message());
	} else if (error || *found->text == '\0') {
		return error ? error : 1;
	} else {
		ret_result->consistent = false;
		ret_result->finding_count = 1;
	}
	ret_result->without_crash = true;
	return 0;
}

static int explore_after_final(const struct ct_foreign *f, const struct ct_exploration *e, struct jury *jury,
	struct ct_result *ret_result)
{
	int more = f->last_only || jury->writes ? 1 : judge_final(e, jury, ret_result);

	if (more != 1 || f->final_only) {
		return more < 0 ? more : 0;
	}
	int error = ct_explore_assumed(e, NULL, ret_result);

	if (jury->asked != NULL && ct_asked_begins_anew(jury->asked)) {
		error = ct_explore_assumed(e, NULL, ret_result);
	}
	if (!error && e->options.cures && e->options.shards == 0 && jury->writes == NULL &&
		!ct_model_info(e->rules.model)->replays) {
		error = ct_cure(e, e->rules.model, ret_result);
	}
	if (jury->asked != NULL) {
		ct_asked_why_executed(jury->asked, ret_result->why_executed);
		ret_result->hangs_alike += ct_asked_alike(jury->asked);
		ret_result->executed = jury->asked->shared != NULL && jury->asked->shared->differs;
	}
	return error;
}

/* context is a checker, or an oracle; both begin with the command that is asked. */
static void stack_of_command(void *context, const struct ct_image *image, const struct nvw_acks *acks,
	char ret_stack[CT_STACK_BYTES])
{
	ct_asked_stack(context, image, acks, ret_stack);
}

/* True for host code and kernels with an order between the two to keep: under eadr nothing is uncertain. */
static bool is_of_both(const struct ct_options *o, const struct ct_store_log *counts, bool blocks)
{
	return !blocks && counts->kernels > 0 && o->model != CT_MODEL_EADR;
}

static int explore(const struct ct_foreign *f, const struct ct_options *o, int log_fd, const uint8_t *image,
	uint64_t bytes, bool blocks, const struct ct_store_log *counts, struct ct_result *ret_result)
{
	uint64_t first = 0;
	json_t *const head = head_json(f, o, bytes);
	static struct jury jury;

	jury = (struct jury){.writes = NULL};
	int error = f->last_only ? last_record(log_fd, &first) : 0;

	error = error ? error : swear_in(f, o, log_fd, image, bytes, blocks, &jury);
	if (jury.context == &jury.replay && !f->last_only) {
		first = first_begin(&jury.operations);
	}
	struct ct_hangs hangs = {0};
	const struct ct_exploration e = {
		.hangs = &hangs,
		.first_record = first,
		.rules = {.model = o->mode == CT_OBSERVED ? CT_MODEL_OBSERVED : o->model,
			.unit_bytes = o->atomicity,
			.mixed = is_of_both(o, counts, blocks)},
		.grouped = counts->grouped,
		.log_fd = log_fd,
		.initial = image,
		.bytes = (bytes + 63) & ~UINT64_C(63),
		.judge = jury.judge,
		.context = jury.writes ? (void *)jury.writes : jury.context,
		.plain_parts = f->library && !o->whole ? ct_checker_parts(&jury.checker) : NULL,
		.options = *o,
		.head = head,
		.operations = &jury.operations,
		.save = jury.context == &jury.replay ? ct_replay_oracle_save : NULL,
		.stack = f->command || f->recover ? stack_of_command : NULL,
	};

	error = error ? error : explore_after_final(f, &e, &jury, ret_result);
	dismiss(&jury);
	json_decref(head);
	return error;
}

/* A host program's log is explored under models of the host, a machine's log in the modes of a machine. */

static int choose_model(const struct ct_foreign *f, struct ct_options *o, bool blocks, bool mixed)
{
	if (blocks && o->mode == CT_KILL) {
		return nvw_fail(NVW_E_USAGE,
			"--mode: the log of a block device is explored in observed or permitted mode, not by kills");
	}
	if (blocks && o->save != NULL && f->command == NULL && f->library == NULL && f->recover == NULL) {
		return nvw_fail(NVW_E_USAGE,
			"--save needs a checker (--check or --check-lib): without one, the same command repeats a finding");
	}
	if (!blocks) {
		o->mode = CT_PERMITTED;
		o->model = o->model != CT_MODEL_OBSERVED ? o->model : mixed ? CT_MODEL_EPOCH : CT_MODEL_X86;
	}
	o->states = o->states ? o->states : f->command || f->recover || blocks ? 20000 : 1 << 20;
	const int error = ct_options_complete(NULL, o);

	if (!error && !(blocks || mixed ? ct_model_info(o->model)->of_runs :
					  ct_model_info(o->model)->of_programs)) {
		return nvw_fail(NVW_E_USAGE,
			mixed ? "--model: a log of kernels on a machine is explored under strict, epoch, "
				"buffered-epoch or eadr, not %s" :
			blocks ?
				"--model: the log of a block device is explored under strict, epoch, "
				"buffered-epoch or eadr, not %s" :
				"--model: the log of a program that ran no kernel on a machine is explored under x86, pmreorder or eadr, not %s",
			ct_model_info(o->model)->name);
	}
	return error;
}

int ct_run_foreign(const struct ct_foreign *f, const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_options o = *options;
	struct ct_store_log counts = {0};
	const double began = ct_wall_seconds();
	uint8_t *image = NULL;
	uint64_t bytes = 0;
	bool blocks = false;
	int log_fd = -1, error = read_image(f->image, is_persist_log(f->store_log), &image, &bytes);

	if (error) {
		return error;
	}
	if (is_persist_log(f->store_log)) {
		error = open_persist_log(f, &counts, &log_fd, &image, &bytes, &blocks);
	}
	error = error ? error : choose_model(f, &o, blocks, !blocks && counts.kernels > 0);
	if (!error && log_fd < 0) {
		log_fd = ct_log_file();
		error = log_fd < 0 ? NVW_E_SYSTEM :
				     ct_store_log_convert(f->store_log, f->image, bytes, log_fd, &counts);
	}
	if (!error) {
		error = explore(f, &o, log_fd, image, bytes, blocks, &counts, ret_result);
		ret_result->kernels = counts.kernels;
		ret_result->barriers = counts.fences;
		ret_result->stores = counts.stores;
		ret_result->stores_elsewhere = counts.elsewhere;
		ret_result->threads = counts.threads;
		ret_result->sim_time_ps = 0;
		ret_result->host_seconds = ct_wall_seconds() - began;
	}
	if (log_fd >= 0) {
		close(log_fd);
	}
	free(image);
	return ct_or_undecided(error, &o, ret_result);
}

void ct_result_add(struct ct_result *sum, struct ct_result *r)
{
	static struct ct_groups groups;

	groups = (struct ct_groups){0};
	for (unsigned i = 0; i < sum->finding_count; i++) {
		ct_groups_add(&groups, &sum->finding[i]);
	}
	for (unsigned i = 0; i < r->finding_count; i++) {
		r->finding[i].instant += sum->instants; /* after all earlier ones */
		ct_groups_add(&groups, &r->finding[i]);
	}
	sum->finding_count = groups.count;
	sum->findings_unlisted += groups.unlisted + r->findings_unlisted;
	for (unsigned i = 0; i < groups.count; i++) {
		sum->finding[i] = groups.group[i].finding;
	}
	sum->consistent = sum->consistent && r->consistent;
	sum->interrupted = sum->interrupted || r->interrupted;
	sum->gave_up = sum->gave_up || r->gave_up;
	if (sum->states_undecided == 0) {
		snprintf(sum->undecided, sizeof sum->undecided, "%s", r->undecided);
	}
	sum->states_undecided += r->states_undecided;
	sum->executed = sum->executed || r->executed;
	if (r->why_executed[0] != '\0') {
		snprintf(sum->why_executed, sizeof sum->why_executed, "%s", r->why_executed);
	}
	sum->threads = sum->threads > r->threads ? sum->threads : r->threads;
	sum->atomicity = sum->atomicity > r->atomicity ? sum->atomicity : r->atomicity;
	sum->grouped = sum->grouped || r->grouped;
	sum->states_distinct += r->states_distinct;
	sum->states_equal += r->states_equal;
	sum->states_failing += r->states_failing;
	sum->instants += r->instants;
	sum->stores += r->stores;
	sum->barriers += r->barriers;
	sum->explore_seconds += r->explore_seconds;
	ct_result_free(r);
}
