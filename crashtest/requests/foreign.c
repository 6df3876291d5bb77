/* SPDX-License-Identifier: BSD-3-Clause */
/* Exploring external store logs with external checkers. See crash.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvw/input.h>

#include "core/bits.h"
#include "core/bounds.h"
#include "core/filled.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/zeroed.h"

#include "../judge/checker.h"
#include "../explain/cure.h"
#include "../explore/known.h"
#include "../explore/robust.h"
#include "../explain/finding.h"
#include "../group.h"
#include "../log_walk.h"
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
	return whole && !memcmp(magic, "NVWLOG", sizeof magic);
}

/* A program may have the same name; then the model is that of its processor. */
static bool is_of_blocks(const struct nvw_log_reader *reader)
{
	const struct nvw_log_info *const i = nvw_log_info(reader);

	return !strcmp(i->workload, CT_BLOCK_LOG) && !ct_model_names_threads(i->model);
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

static int no_memory(uint64_t bytes)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for %llu bytes", (ull)bytes);
}

static uint64_t whole_lines(uint64_t bytes)
{
	return (bytes + 63) & ~UINT64_C(63);
}

/* Reads up to size bytes of zeros, and returns their number: holes stay untouched. Pages with data are
 * marked. */
static uint64_t read_bytes(int fd, uint8_t *to, uint8_t *filled, uint64_t size)
{
	uint64_t at = 0;
	ssize_t n = 1;

	NVW_INVARIANT(fd >= 0);
	while (at < size && n > 0) {
		const off_t data = lseek(fd, (off_t)at, SEEK_DATA);

		if (data < 0 && errno == ENXIO) {
			return size; /* a hole up to the end */
		}
		if (data > 0) {
			at = (uint64_t)data;
		}
		const off_t hole = lseek(fd, (off_t)at, SEEK_HOLE);
		const uint64_t end = hole > (off_t)at ? MIN((uint64_t)hole, size) : size;

		n = pread(fd, to + at, MIN(end - at, 1 << 20), (off_t)at);
		nvw__filled_mark(filled, at, (uint64_t)MAX(n, 0));
		at += (uint64_t)MAX(n, 0);
	}
	return at;
}

/* What is explored: a log, and the file as it was before. */
struct evidence {
	int log_fd; /* -1: none yet */
	uint8_t *image, *filled;
	uint64_t bytes;
	bool blocks;
	struct ct_store_log counts;
};

/* An image of this size needs room to its last whole line. */
static size_t room_of(uint64_t bytes)
{
	return (bytes + 127) / 64 * 64;
}

static int make_image(uint64_t bytes, uint8_t **ret_image, uint8_t **ret_filled)
{
	*ret_image = nvw__zeroed(room_of(bytes));
	*ret_filled = calloc(nvw__filled_pages(room_of(bytes)), 1);
	return *ret_image && *ret_filled ? 0 : no_memory(bytes);
}

static int read_opened(const char *path, int fd, bool may_be_empty, struct evidence *v)
{
	struct stat s;

	NVW_FAIL_ERRNO_IF(fstat(fd, &s), "%s", path);
	v->bytes = (uint64_t)s.st_size;
	NVW_TRY(make_image(v->bytes, &v->image, &v->filled));
	NVW_FAIL_IF(v->bytes == 0 && !may_be_empty, NVW_E_INPUT,
		"%s: expected the file as it was before the log began, found an empty one", path);
	NVW_FAIL_IF(read_bytes(fd, v->image, v->filled, v->bytes) < v->bytes, NVW_E_INPUT,
		"%s: expected the file as it was before the log began, found one that cannot be read", path);
	return 0;
}

/* Reads the file, padded with zeros to a whole line. */
static int read_image(const char *path, bool may_be_empty, struct evidence *v)
{
	int fd;

	NVW_TRY(nvw_input_open(path, O_RDONLY, &fd));
	const int error = read_opened(path, fd, may_be_empty, v);

	close(fd);
	return error;
}

/* ---- Recorded persist logs ----------------------------------------------------------------------------- */

/* The set of threads that stored, by their numbers in the log: 0 stands for none. */
struct threads {
	uint64_t seen[64];
};

static uint64_t count_thread(struct threads *t, uint64_t thread)
{
	if (thread == 0 || thread / 64 >= NVW_COUNT(t->seen) || nvw_has_bit(t->seen, thread)) {
		return 0;
	}
	nvw_set_bit(t->seen, thread);
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
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	if (ct_model_names_threads(log->model)) {
		return log->atomicity == 64;
	}
	return before->kind == NVW_LOG_STORE && before->store.kernel == 0 &&
	       before->store.group == r->store.group && before->store.off / 64 == r->store.off / 64;
}

/* A log as its records are counted. */
struct survey {
	const char *path;
	const struct nvw_log_info *info;
	bool blocks, mixed;
	uint64_t known; /* where the image and the records so far end */
	struct nvw_log_record before;
	struct threads threads;
	uint64_t storing, created; /* threads */
	struct ct_store_log *counts;
};

/* Is it a kernel's, of no program on the host? */
static bool is_of_kernel(const struct survey *s, const struct nvw_log_record *r)
{
	return !s->blocks &&
	       ((r->kind == NVW_LOG_LAUNCH && !(s->mixed && s->created)) || r->kind == NVW_LOG_ISSUE);
}

static bool is_fence(const struct survey *s, const struct nvw_log_record *r)
{
	return r->kind == NVW_LOG_FENCE ||
	       ((s->blocks || s->mixed) && (r->kind == NVW_LOG_DRAINED || r->kind == NVW_LOG_PERSISTED));
}

static void count_record(struct survey *s, const struct nvw_log_record *r)
{
	struct ct_store_log *const c = s->counts;

	if (r->kind == NVW_LOG_STORE && !s->blocks && r->store.kernel == 0) {
		s->storing += count_thread(&s->threads, r->store.work_item);
		c->grouped = c->grouped || are_grouped(s->info, r, &s->before);
	} else if (r->kind == NVW_LOG_THREADS) {
		s->created = MAX(r->threads.count, 1);
	}
	c->stores += r->kind == NVW_LOG_STORE;
	c->flushes += r->kind == NVW_LOG_FLUSH;
	c->kernels += r->kind == NVW_LOG_LAUNCH;
	c->fences += is_fence(s, r);
	s->known = MAX(s->known, end_of(r));
	s->before = *r;
}

static int count_all(struct survey *s, struct nvw_log_reader *reader)
{
	struct nvw_log_record r;
	int error;

	while ((error = nvw_log_next(reader, &r)) == 1) {
		NVW_FAIL_IF(is_of_kernel(s, &r), NVW_E_INPUT,
			"%s: expected the log of a program on the host, found a kernel's: crash "
			"its workload",
			s->path);
		count_record(s, &r);
	}
	s->counts->threads = MAX(s->storing, s->created);
	s->counts->of_files = !strcmp(s->info->model, "files");
	return error;
}

/* Counts the log's records; refuses a log that is neither of a host program nor of a block device. known is
 * the size of the image; the size in the header is trusted only as far as the image or the records reach,
 * plus a margin. */
static int count_records(const char *path, int fd, uint64_t known, struct ct_store_log *counts,
	uint64_t *ret_pool, bool *ret_blocks)
{
	struct nvw_log_reader *reader;

	NVW_TRY(nvw_log_open_fd(dup(fd), path, &reader));
	struct survey s = {.path = path,
		.info = nvw_log_info(reader),
		.blocks = is_of_blocks(reader),
		.mixed = is_mixed(reader),
		.known = known,
		.before = {.kind = NVW_LOG_FENCE},
		.counts = counts};
	const int error = count_all(&s, reader);

	*ret_pool = s.info->pool_bytes;
	*ret_blocks = s.blocks;
	nvw_log_reader_close(reader);
	NVW_FAIL_IF(!error && *ret_pool > s.known && *ret_pool - s.known > untouched_max, NVW_E_INPUT,
		"%s: the header gives the file %llu bytes, but the records and the image end at %llu", path,
		(ull)*ret_pool, (ull)s.known);
	return error;
}

static int lengthen(struct evidence *v, uint64_t bytes)
{
	struct evidence longer = *v;
	const int error = make_image(bytes, &longer.image, &longer.filled);

	if (!error) {
		nvw__filled_copy(longer.image, v->image, v->filled, v->bytes);
		memcpy(longer.filled, v->filled, nvw__filled_pages(v->bytes));
	}
	longer.bytes = bytes;
	struct evidence *const unused = error ? &longer : v;

	nvw__zeroed_free(unused->image, room_of(unused->bytes));
	free(unused->filled);
	if (!error) {
		*v = longer;
	}
	return error;
}

/* Copies the log to a file for the workers, and extends the image to the size of the log's pool. */
static int open_persist_log(const struct ct_foreign *f, struct evidence *v)
{
	uint64_t pool = 0;

	NVW_TRY(nvw_input_open(f->store_log, O_RDONLY, &v->log_fd));
	NVW_TRY(count_records(f->store_log, v->log_fd, v->bytes, &v->counts, &pool, &v->blocks));
	NVW_FAIL_IF(whole_lines(pool) < whole_lines(v->bytes), NVW_E_INPUT,
		"%s: has %llu bytes, and %s is the log of a file of %llu: expected that file as it "
		"was before the log began",
		f->image, (ull)v->bytes, f->store_log, (ull)pool);
	pool = whole_lines(pool);
	return pool > whole_lines(v->bytes) ? lengthen(v, pool) : 0;
}

static json_t *head_json(const struct ct_foreign *f, const struct ct_options *o, uint64_t bytes)
{
	char *const library = f->library ? realpath(f->library, NULL) : NULL;
	json_t *const head = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:I, s:i, s:s, s:O*, s:O*}", "store_log",
		f->store_log, "checker", NVW_OR(f->command, ""), "library", NVW_OR(library, ""), "recover",
		NVW_OR(f->recover, ""), "and_then", f->next, "image_bytes", (json_int_t)bytes, "timeout_ms",
		(int)o->timeout_ms, "command", NVW_OR(f->command_line, ""), "made_by", f->made_by,
		"thread_schedule", f->schedule);

	free(library);
	return head;
}

/* The number of records before this one. */
static int note_number(void *context, const struct nvw_log_record *r, uint64_t number)
{
	NVW_INVARIANT(number > 0);
	*(uint64_t *)context = number - 1;
	return 0;
}

/* Applies a store of the program to the image. */
static int replay_store(void *context, const struct nvw_log_record *r, uint64_t number)
{
	const struct ct_saved *const to = context;

	if (r->kind == NVW_LOG_STORE && r->store.bytes <= 8 && r->store.off + r->store.bytes <= to->bytes) {
		memcpy(to->image + r->store.off, &r->store.value, r->store.bytes);
		nvw__filled_mark(to->filled, r->store.off, r->store.bytes);
	} else if (r->kind == NVW_LOG_HOST && r->host.off + r->host.bytes <= to->bytes) {
		memcpy(to->image + r->host.off, r->host.data, r->host.bytes);
		nvw__filled_mark(to->filled, r->host.off, r->host.bytes);
	}
	return 0;
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

static int swear_in(
	const struct ct_foreign *f, const struct ct_options *o, const struct evidence *v, struct jury *ret)
{
	const bool checks = f->command || f->library;
	const struct ct_asked_is is = {.command = checks ? f->command : f->recover,
		.next = f->next,
		.bytes = v->bytes,
		.timeout_ms = o->timeout_ms,
		.operations = &ret->operations};

	if (!v->blocks) {
		NVW_TRY(ct_operations_read(v->log_fd, &ret->operations));
	}
	if (checks) {
		ret->judge = ct_checker_judge;
		ret->context = &ret->checker;
		ret->asked = &ret->checker.asked;
		return ct_checker_create(&is, f->library, &ret->checker);
	}
	if (f->recover) {
		ret->judge = ct_replay_oracle_judge;
		ret->context = &ret->replay;
		ret->asked = &ret->replay.asked;
		return ct_replay_oracle_create(&is, v->log_fd, v->image, v->filled, &ret->replay);
	}
	NVW_FAIL_IF(!v->blocks, NVW_E_USAGE,
		"%s: --check or --check-lib is needed: only the log of a block device can be "
		"checked without one",
		f->store_log);
	ret->judge = ct_writes_judge;
	return ct_writes_create(v->log_fd, v->image, v->bytes, &ret->writes);
}

static void dismiss(struct jury *jury)
{
	if (jury->writes) {
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
	uint64_t before = UINT64_MAX;

	NVW_EACH(one, o->at, o->count) {
		before = MIN(before, NVW_OR(one->begin, one->durable) - 1);
	}
	if (o->count == 0) {
		return 0;
	}
	return before;
}

/* Judges the image as the program leaves it. */
static int judge_image(
	const struct ct_exploration *e, struct jury *jury, struct ct_saved *final, struct ct_finding *found)
{
	NVW_TRY(make_image(e->bytes, &final->image, &final->filled));
	nvw__filled_copy(final->image, e->initial, e->rules.filled, e->bytes);
	memcpy(final->filled, e->rules.filled, nvw__filled_pages(e->bytes));
	NVW_TRY(ct_log_walk(e->log_fd, replay_store, final));
	NVW_TRY(ct_operations_owe(&jury->operations, &final->acks));
	if (jury->context == &jury->replay) {
		NVW_TRY(ct_replay_oracle_try(&jury->replay, &final->acks));
	}
	return ct_saved_judge(final, e->judge, e->context, e->options.timeout_ms, found);
}

static void free_image(const struct ct_exploration *e, struct ct_saved *final)
{
	nvw__zeroed_free(final->image, room_of(e->bytes));
	free(final->filled);
	nvw__acks_free(&final->acks);
}

/* The same: without_crash if that is the result. */
static int judge_final(const struct ct_exploration *e, struct jury *jury, struct ct_result *ret_result)
{
	struct ct_saved final = {.bytes = e->bytes};

	ct_result_begin(ret_result, CT_PERMITTED, e->rules.model);
	/* Its text says whether the image failed. */
	memset(&ret_result->finding[0], 0, sizeof ret_result->finding[0]);
	int error = judge_image(e, jury, &final, &ret_result->finding[0]);

	free_image(e, &final);
	if (error == CT_NO_ANSWER) {
		ret_result->states_undecided = 1;
		NVW_PRINT(ret_result->undecided, "%s", nvw_error_message());
		error = 0;
	} else if (!error) {
		ret_result->consistent = ret_result->finding[0].text[0] == '\0';
		ret_result->finding_count = !ret_result->consistent;
	}
	ret_result->without_crash = ret_result->states_undecided || !ret_result->consistent;
	return error;
}

/* A cure is a flush or a fence, which do nothing there. */
static bool counts_sectors(enum ct_model model)
{
	return ct_model_info(model)->axioms & CT_A(SECTOR);
}

static void note_checker(struct jury *jury, struct ct_result *ret_result)
{
	if (jury->asked) {
		ct_asked_why_executed(jury->asked, ret_result->why_executed);
		ret_result->hangs_alike += ct_asked_alike(jury->asked);
		ret_result->executed = jury->asked->shared && jury->asked->shared->differs;
	}
}

/* A command that reads nothing would call every program robust. */
static int try_robust(const struct ct_exploration *e, struct jury *jury)
{
	struct ct_exploration of_final = *e;
	struct ct_saved final = {.bytes = e->bytes};
	struct ct_finding found;

	of_final.judge = ct_robust_try;
	of_final.context = e->robust;
	const int error = judge_image(&of_final, jury, &final, &found);

	free_image(e, &final);
	return error;
}

static int explore_after_final(const struct ct_foreign *f, const struct ct_exploration *e, struct jury *jury,
	struct ct_result *ret_result)
{
	if (!f->last_only && !jury->writes && !e->robust) {
		NVW_TRY(judge_final(e, jury, ret_result));
		if (ret_result->without_crash) {
			return 0;
		}
	}
	if (f->final_only) {
		return 0;
	}
	if (e->robust) {
		NVW_TRY(try_robust(e, jury));
	}
	int error = ct_explore_assumed(e, NULL, ret_result);

	if (jury->asked && ct_asked_begins_anew(jury->asked)) {
		error = ct_explore_assumed(e, NULL, ret_result);
	}
	if (!error && e->options.cures && e->options.shards == 0 && !jury->writes &&
		!ct_model_info(e->rules.model)->replays && !counts_sectors(e->rules.model)) {
		error = ct_cure(e, e->rules.model, ret_result);
	}
	note_checker(jury, ret_result);
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
	return !blocks && counts->kernels > 0 && !ct_model_keeps_caches(o->model);
}

/* What an exploration holds until it has ended. */
struct held {
	json_t *head;
	struct jury jury;
	struct ct_promises promises;
	struct ct_robust *robust;
};

static int begin_robust(struct held *h, const struct ct_options *o, const struct evidence *v,
	struct jury *jury, const struct ct_rules *rules)
{
	NVW_FAIL_IF(o->robust && v->counts.grouped, NVW_E_USAGE,
		"--oracle=robust: the stores of this program have no order: build it with nvwave-cc");
	if (o->robust) {
		NVW_TRY(ct_robust_create_of_program(v->log_fd, rules, jury->asked, &h->robust));
	}
	return 0;
}

static int explore_with(struct held *h, const struct ct_foreign *f, const struct ct_options *o,
	const struct evidence *v, struct ct_result *ret_result)
{
	struct jury *const jury = &h->jury;
	const struct ct_rules rules = {
		.model = o->mode == CT_OBSERVED ? ct_model_for(CT_USE_TIMING) : o->model,
		.unit_bytes = o->atomicity,
		.trusts = o->trusts,
		.mixed = is_of_both(o, &v->counts, v->blocks),
		.filled = v->filled};
	uint64_t first = 0;

	if (f->last_only) {
		NVW_TRY(ct_log_walk(v->log_fd, note_number, &first));
	}
	NVW_TRY(swear_in(f, o, v, jury));
	const bool replays = jury->context == &jury->replay;

	if (replays && !f->last_only) {
		first = first_begin(&jury->operations);
	}
	if (o->known && !v->blocks) {
		ct_known_begin_log(o->known);
		NVW_TRY(ct_promises_read(v->log_fd, v->image, whole_lines(v->bytes), &jury->operations,
			replays, &h->promises));
	}
	NVW_TRY(begin_robust(h, o, v, jury, &rules));
	struct ct_hangs hangs = {0};
	struct ct_exploration e = {
		.hangs = &hangs,
		.first_record = first,
		.rules = rules,
		.robust = h->robust,
		.grouped = v->counts.grouped,
		.log_fd = v->log_fd,
		.initial = v->image,
		.bytes = whole_lines(v->bytes),
		.judge = jury->judge,
		.context = NVW_OR((void *)jury->writes, jury->context),
		.options = *o,
		.head = h->head,
		.operations = &jury->operations,
		.promises = h->promises.operation ? &h->promises : NULL,
	};

	if (replays) {
		e.save = ct_replay_oracle_save;
	}
	if (f->command || f->recover) {
		e.stack = stack_of_command;
	}
	if (f->library && !o->whole) {
		e.plain_parts = ct_checker_parts(&jury->checker);
	}
	const int error = explore_after_final(f, &e, jury, ret_result);

	ret_result->robust = o->robust;
	return error;
}

static int explore(const struct ct_foreign *f, const struct ct_options *o, const struct evidence *v,
	struct ct_result *ret_result)
{
	struct held h = {.head = head_json(f, o, v->bytes)};
	const int error = explore_with(&h, f, o, v, ret_result);

	ct_robust_destroy(h.robust);
	ct_promises_free(&h.promises);
	dismiss(&h.jury);
	json_decref(h.head);
	return error;
}

/* A saved finding has the whole image, packed and read again as a whole. */
static int check_save(const struct ct_foreign *f, const struct ct_options *o, uint64_t bytes)
{
	const uint64_t most = UINT64_C(4) << 30;

	NVW_FAIL_IF(o->save && bytes > most, NVW_E_USAGE,
		"--save: a finding has the whole image: expected one of at most %llu bytes, and %s "
		"has %llu",
		(ull)most, f->image, (ull)bytes);
	return 0;
}

static int check_block_options(const struct ct_foreign *f, const struct ct_options *o)
{
	NVW_FAIL_IF(o->mode == CT_KILL, NVW_E_USAGE,
		"--mode: the log of a block device is explored in observed or permitted mode, not "
		"by kills");
	NVW_FAIL_IF(o->save && !f->command && !f->library && !f->recover, NVW_E_USAGE,
		"--save needs a checker (--check or --check-lib): without one, the same command "
		"repeats a finding");
	return 0;
}

/* A host program's log is explored under models of the host, a machine's log under those of a machine. */
static const struct kind_of_log {
	enum ct_use use;
	bool of_runs;
	const char *others; /* what is said of a model of the other kind */
} program_log = {CT_USE_PROGRAMS, false,
	"--model: the log of a program that ran no kernel on a machine is explored under x86, pmreorder "
	"or eadr, or under files, not %s"},
  kernels_log = {CT_USE_RUNS, true,
	  "--model: a log of kernels on a machine is explored under strict, epoch, buffered-epoch or eadr, "
	  "not %s"},
  block_log = {CT_USE_RUNS, true,
	  "--model: the log of a block device is explored under strict, epoch, buffered-epoch or eadr, "
	  "not %s"};

static const struct kind_of_log *kind_of_log(bool blocks, const struct ct_store_log *counts)
{
	if (blocks) {
		return &block_log;
	}
	if (counts->kernels > 0) {
		return &kernels_log;
	}
	return &program_log;
}

/* A log of files has no processor's flushes, and no other has sizes. */
static int check_files(
	const struct ct_foreign *f, const struct ct_options *o, const struct ct_store_log *counts)
{
	const bool is_files = o->model == CT_MODEL_FILES;

	NVW_FAIL_IF(counts->of_files && f->library, NVW_E_USAGE,
		"--check-lib: a file on a disk is judged by a command (--check), which sees its "
		"size");
	NVW_FAIL_IF(counts->of_files && o->exports, NVW_E_USAGE,
		"--export-states: files on a disk are not exported");

	NVW_FAIL_IF(counts->of_files && !is_files, NVW_E_USAGE,
		"--model: the program writes or syncs its file by system calls, and its log is "
		"explored under files: for persistent memory, record it under %s",
		ct_model_info(o->model)->name);
	NVW_FAIL_IF(is_files && !counts->of_files, NVW_E_USAGE,
		"--model: files is of a log that was recorded under it");
	NVW_FAIL_IF(o->atomicity > NVW_LOG_LINE_BYTES && !is_files, NVW_E_USAGE,
		"--atomicity: sectors are those of files on a disk (--model=files)");
	return 0;
}

static int check_trust(const struct ct_options *o, const struct ct_store_log *counts)
{
	NVW_FAIL_IF(o->trusts && (counts->kernels > 0 || ct_model_info(o->model)->use != CT_USE_PROGRAMS),
		NVW_E_USAGE,
		"--trust=transactions: transactions of libpmemobj are in logs of programs without "
		"kernels, explored under x86, not %s",
		ct_model_info(o->model)->name);
	return 0;
}

static int choose_model(const struct ct_foreign *f, struct ct_options *o, const struct kind_of_log *kind,
	const struct ct_store_log *counts)
{
	const bool blocks = kind == &block_log;

	if (blocks) {
		NVW_TRY(check_block_options(f, o));
	} else {
		o->mode = CT_PERMITTED;
		o->model = ct_model_or(o->model, counts->of_files ? CT_USE_FILES : kind->use);
	}
	if (o->states == 0) {
		o->states = f->command || f->recover || blocks ? 20000 : 1 << 20;
	}
	NVW_TRY(ct_options_complete(NULL, o));
	const struct ct_model_info *const model = ct_model_info(o->model);

	if (!(kind->of_runs ? model->of_runs : model->of_programs)) {
		return nvw_fail(NVW_E_USAGE, kind->others, model->name);
	}
	NVW_TRY(check_files(f, o, counts));
	return check_trust(o, counts);
}

static int gather_evidence(const struct ct_foreign *f, struct ct_options *o, struct evidence *v)
{
	const bool is_persist = is_persist_log(f->store_log);

	NVW_TRY(read_image(f->image, is_persist, v));
	if (is_persist) {
		NVW_TRY(open_persist_log(f, v));
	}
	NVW_TRY(check_save(f, o, v->bytes));
	NVW_TRY(choose_model(f, o, kind_of_log(v->blocks, &v->counts), &v->counts));
	if (is_persist) {
		return 0;
	}
	NVW_TRY(ct_log_file(&v->log_fd));
	return ct_store_log_convert(f->store_log, f->image, v->bytes, v->log_fd, &v->counts);
}

int ct_run_foreign(const struct ct_foreign *f, const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_options o = *options;
	struct evidence v = {.log_fd = -1};
	const double began = ct_wall_seconds();
	int error = gather_evidence(f, &o, &v);

	if (!error) {
		error = explore(f, &o, &v, ret_result);
		ret_result->kernels = v.counts.kernels;
		ret_result->barriers = v.counts.fences;
		ret_result->stores = v.counts.stores;
		ret_result->stores_elsewhere = v.counts.elsewhere;
		ret_result->threads = v.counts.threads;
		ret_result->sim_time_ps = 0;
		ret_result->host_seconds = ct_wall_seconds() - began;
	}
	if (v.log_fd >= 0) {
		close(v.log_fd);
	}
	nvw__zeroed_free(v.image, room_of(v.bytes));
	free(v.filled);
	return ct_or_undecided(error, &o, ret_result);
}

static void join_findings(struct ct_result *sum, struct ct_result *r)
{
	static struct ct_groups groups; /* too large for a stack, and there is no error to return */

	ct_groups_clear(&groups);
	NVW_EACH(finding, sum->finding, sum->finding_count) {
		ct_groups_add(&groups, finding);
	}
	NVW_EACH(finding, r->finding, r->finding_count) {
		finding->instant += sum->instants; /* after all earlier ones */
		ct_groups_add(&groups, finding);
	}
	sum->findings_unlisted += groups.unlisted + r->findings_unlisted;
	ct_groups_list(&groups, sum);
}

static void join_answers(struct ct_result *sum, struct ct_result *r)
{
	sum->consistent &= r->consistent;
	if (sum->unlogged.count == 0) { /* of the first run that has one */
		sum->unlogged = r->unlogged;
	}
	sum->interrupted |= r->interrupted;
	sum->gave_up |= r->gave_up;
	if (sum->states_undecided == 0) {
		NVW_PRINT(sum->undecided, "%s", r->undecided);
	}
	sum->states_undecided += r->states_undecided;
	sum->executed |= r->executed;
	if (r->why_executed[0] != '\0') {
		NVW_PRINT(sum->why_executed, "%s", r->why_executed);
	}
	sum->threads = MAX(sum->threads, r->threads);
	sum->atomicity = MAX(sum->atomicity, r->atomicity);
	sum->grouped |= r->grouped;
}

static void add_counts(struct ct_result *sum, struct ct_result *r)
{
	sum->trusts |= r->trusts;
	sum->trusted.ranges += r->trusted.ranges;
	sum->trusted.stores += r->trusted.stores;
	sum->trusted.bytes += r->trusted.bytes;
	sum->states_distinct += r->states_distinct;
	sum->states_equal += r->states_equal;
	sum->states_alike += r->states_alike;
	sum->states_failing += r->states_failing;
	sum->instants += r->instants;
	sum->stores += r->stores;
	sum->barriers += r->barriers;
	sum->explore_seconds += r->explore_seconds;
}

void ct_result_add(struct ct_result *sum, struct ct_result *r)
{
	join_findings(sum, r);
	join_answers(sum, r);
	add_counts(sum, r);
	ct_result_free(r);
}
