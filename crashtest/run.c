/* SPDX-License-Identifier: BSD-3-Clause */
/* One emulated run of a subject, in a process of its own. See run.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <emu.h>

#include <check/check.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"

#include "core/folder.h"
#include "core/pools.h"
#include "core/stop.h"
#include "device/sites.h"

#include "judge/process.h"
#include "run.h"

/* ---- Bench --------------------------------------------------------------------------------------------- */

void ct_bench_pool_path(const struct ct_bench *bench, unsigned slot, char *ret_path, size_t n)
{
	NVW_INVARIANT(n > 0);
	snprintf(ret_path, n, "%s/pool-%u", bench->folder.path, slot);
}

int ct_log_file(int *ret_fd)
{
	const char *tmp = getenv("TMPDIR");
	int fd = open(tmp && *tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) { /* a file system without O_TMPFILE */
		fd = memfd_create("persist log", MFD_CLOEXEC);
	}
	*ret_fd = fd;
	NVW_FAIL_ERRNO_IF(fd < 0, "cannot create a file for the persist log");
	return 0;
}

/* Creates the pools once, keeps their bytes: every run begins with the very same ones. */
static int make_initial(struct ct_bench *b)
{
	struct nvw_pool_params params[NVW_POOLS_MAX] = {{0}};
	struct nvw_pool *pool;
	char path[512];

	NVW_TRY(nvw__workload_pools(b->subject->workload, b->plan, params, &b->pool_count));
	ct_bench_pool_path(b, 0, path, sizeof path);
	int error = nvw_pool_create_several(path, params, b->pool_count, &pool);
	if (error) {
		return error;
	}
	b->bytes = nvw_pool_run_bytes(pool);
	NVW_FOR(i, b->pool_count) {
		b->pool_bytes[i] = nvw_pool_geometry(nvw_pool_number(pool, i))->bytes;
	}
	b->initial = malloc(b->bytes);
	if (!b->initial) {
		error = nvw_fail(NVW_E_MEMORY, "no memory for a pool of %llu bytes", (ull)b->bytes);
	} else {
		nvw_pool_copy_run(pool, b->initial);
	}
	nvw_pool_close(pool);
	return error;
}

int ct_bench_create(const struct ct_subject *subject, bool crashes, struct ct_bench *ret_bench)
{
	const struct nvw_workload *w = subject->workload;
	struct ct_bench b = {.subject = subject};
	int error;

	NVW_FAIL_IF(crashes && (!w->pool || !w->check), NVW_E_USAGE,
		"%s keeps nothing in NVRAM: a crash leaves nothing to check", w->name);
	NVW_TRY(nvw_folder_make("crash", false, &b.folder));
	error = w->prepare(subject->options, subject->config->seed, subject->mutation, &b.plan);
	if (!error && crashes && w->unfit && w->unfit(b.plan)) {
		error = nvw_fail(NVW_E_USAGE, "%s", w->unfit(b.plan));
	}
	if (!error && w->pool) {
		error = make_initial(&b);
	}
	if (error) {
		ct_bench_destroy(&b);
		return error;
	}
	*ret_bench = b;
	return 0;
}

void ct_bench_destroy(struct ct_bench *b)
{
	nvw_folder_remove(&b->folder);
	if (b->plan && b->subject->workload->dispose) {
		b->subject->workload->dispose(b->plan);
	}
	free(b->initial);
	*b = (struct ct_bench){0};
}

static int not_written(const char *path)
{
	NVW_FAIL_IF(errno == ENOSPC, NVW_E_FULL, "%s: no space is left", path);
	return nvw_fail_errno("%s", path);
}

/* Over what is there: pages that are given back would be taken again for each state. */
static int write_file(const char *path, const uint8_t *content, uint64_t bytes)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t at = 0;

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", path);
	while (at < bytes) {
		const ssize_t n = write(fd, content + at, bytes - at);

		if (n <= 0) {
			const int error = not_written(path);

			close(fd);
			return error;
		}
		at += (uint64_t)n;
	}
	const bool cut = ftruncate(fd, (off_t)bytes) == 0;

	NVW_FAIL_ERRNO_IF(close(fd) || !cut, "%s", path);
	return 0;
}

int ct_write_pool(const char *path, unsigned number, const uint8_t *content, uint64_t bytes)
{
	char *const its = nvw__pool_path(path, number);

	NVW_ALLOCATED(its, "no memory for the path of a pool");
	const int error = write_file(its, content, bytes);

	free(its);
	return error;
}

static int write_initial(const struct ct_bench *b, const char *path)
{
	const uint8_t *content = b->initial;

	NVW_FOR(i, b->pool_count) {
		NVW_TRY(ct_write_pool(path, i, content, b->pool_bytes[i]));
		content += b->pool_bytes[i];
	}
	return 0;
}

/* ---- Memory shared with the run ------------------------------------------------------------------------ */

static size_t shared_bytes(uint64_t ack_capacity, unsigned sites)
{
	return sizeof(struct ct_run_shared) + ack_capacity * sizeof(struct ct_ack) + sites;
}

/* Behind the acknowledgements. */
static uint8_t *executed_of(const struct ct_run_shared *s)
{
	return (uint8_t *)(s->ack + s->ack_capacity);
}

const uint8_t *ct_run_executed(const struct ct_run_shared *s)
{
	return executed_of(s);
}

int ct_run_shared_create(uint64_t ack_capacity, struct ct_run_shared **ret)
{
	const unsigned sites = nvw__site_count();
	struct ct_run_shared *s = mmap(NULL, shared_bytes(ack_capacity, sites), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (s == MAP_FAILED) {
		nvw_fail_errno("no memory for %llu acknowledgements", (ull)ack_capacity);
		return NVW_E_MEMORY;
	}
	s->ack_capacity = ack_capacity;
	s->sites = sites;
	*ret = s;
	return 0;
}

void ct_run_shared_destroy(struct ct_run_shared *s)
{
	if (s) {
		munmap(s, shared_bytes(s->ack_capacity, s->sites));
	}
}

int ct_run_acks(const struct ct_run_shared *s, struct nvw_acks *acks)
{
	NVW_INVARIANT(s->ack_count <= s->ack_capacity);
	NVW_EACH(ack, s->ack, s->ack_count) {
		NVW_TRY(nvw__acks_add(acks, ack->first, ack->count));
	}
	return 0;
}

/* ---- In the child -------------------------------------------------------------------------------------- */

struct run {
	const struct ct_bench *bench;
	struct ct_run_shared *shared;
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct nvw_machine *machine;
	FILE *syncs;
	uint64_t operations; /* of set-up */
};

/* Counted before a possible power cut, because the host has been informed. Adjacent ranges are joined. */
static void acknowledged(void *context, uint64_t first, uint64_t count)
{
	struct ct_run_shared *s = ((struct run *)context)->shared;
	struct ct_ack *last = s->ack_count ? &s->ack[s->ack_count - 1] : NULL;

	if (last && last->first + last->count == first) {
		last->count += count;
		return;
	}
	if (s->ack_count == s->ack_capacity) {
		ct_leave(&s->left,
			nvw_fail(NVW_E_MEMORY, "too many acknowledgements: the list of the run is full"));
		_exit(1);
	}
	s->ack[s->ack_count] = (struct ct_ack){.first = first, .count = count};
	s->ack_count++;
}

static void die(void *context)
{
	struct run *r = context;

	nvw_log_abandon(r->log);
	kill(getpid(), SIGKILL);
}

static void host_fault(void *context, const char *message)
{
	struct ct_run_shared *s = ((struct run *)context)->shared;

	ct_leave(&s->left, nvw_fail(NVW_E_USAGE, "%s", message));
	_exit(1);
}

static int open_log(struct run *r, int fd)
{
	const struct ct_subject *s = r->bench->subject;
	const struct nvw_log_info info = {
		.workload = s->workload->name,
		.options = s->options_text,
		.machine = s->config->name,
		.protocol = s->config->protocol,
		.model = emu_model_info(s->config->model)->name,
		.domain = emu_domain_name(s->config),
		.seed = s->config->seed,
		.pool_bytes = r->bench->bytes,
		.atomicity = (uint32_t)s->config->nvram.atomicity,
	};

	if (fd < 0) {
		return 0;
	}
	return nvw_log_create_fd(dup(fd), "persist log", &info, &r->log);
}

/* So often within the limit of simulated time it is looked whether that of instructions is reached. */
enum { LOOKS = 256 };

static uint64_t operations_of(const struct run *r)
{
	return r->operations + emu_statistics(r->machine)->wavefront_ops;
}

static int look_at_limits(void *context, uint64_t until_ps, uint64_t *next_ps)
{
	const struct run *const r = context;
	const struct ct_subject *const s = r->bench->subject;

	r->shared->goes_on = until_ps > s->time_max_ps || operations_of(r) > s->operations_max;
	NVW_FAIL_IF(r->shared->goes_on, NVW_E_DEADLOCK, "after %.2f us and %llu memory instructions",
		(double)nvw_time_ps(r->machine) / 1e6, (ull)operations_of(r));
	*next_ps += s->time_max_ps / LOOKS + 1;
	return 0;
}

static void set_limits(struct run *r)
{
	if (r->bench->subject->time_max_ps != 0) {
		const struct emu_clock clock = {.ring = look_at_limits, .context = r};

		emu_set_clock(r->machine, &clock);
	}
}

static void write_sync(void *context, const struct emu_sync *sync)
{
	const struct run *const r = context;

	(void)fwrite(sync, sizeof *sync, 1, r->syncs);
}

static int tell_syncs(struct run *r)
{
	r->syncs = fdopen(dup(r->shared->syncs_fd), "w");
	NVW_FAIL_ERRNO_IF(!r->syncs, "the list of what synchronized");
	emu_tell_syncs(r->machine, write_sync, r);
	return 0;
}

/* A full disk is met at the latest here. */
static int close_syncs(struct run *r)
{
	if (!r->syncs) {
		return 0;
	}
	const bool failed = ferror(r->syncs) != 0;

	NVW_FAIL_ERRNO_IF(fclose(r->syncs) != 0 || failed, "the list of what synchronized");
	return 0;
}

/* Races count, however the run ends. */
static int look_for_mistakes(struct run *r)
{
	const struct ct_subject *const s = r->bench->subject;
	NVW_TRY(emu_check_undo(r->machine));

	if (!s->order && r->shared->syncs_fd == 0) {
		return 0;
	}
	NVW_TRY(emu_check_races(r->machine, EMU_RACES_CLAIMED));
	if (r->shared->syncs_fd > 0) {
		NVW_TRY(tell_syncs(r));
	}
	return !s->order ? 0 : emu_set_order(r->machine, s->order, &r->shared->order);
}

static int run_kernels(struct run *r)
{
	const struct ct_subject *const s = r->bench->subject;
	struct nvw_findings findings = {0};
	int error = s->workload->run(r->bench->plan, r->machine);

	r->shared->undo = *emu_undo(r->machine);
	if (!s->order) {
		return error;
	}
	r->shared->races = *emu_races(r->machine);
	if (!error && s->workload->verify) {
		error = s->workload->verify(r->bench->plan, r->machine, &findings);
	}
	NVW_FAIL_IF(error == NVW_E_INCONSISTENT && findings.kept > 0, error, "%s", findings.finding[0].text);
	return error;
}

/* The structure is durable after set-up, before the first crash. */
static int set_up(struct run *r)
{
	const struct nvw_workload *w = r->bench->subject->workload;
	if (w->setup) {
		NVW_TRY(w->setup(r->bench->plan, r->machine));
	}
	NVW_TRY(nvw_persist(r->machine));
	r->operations = operations_of(r);
	nvw_begin_measurement(r->machine);
	r->shared->begin_ps = nvw_time_ps(r->machine);
	r->shared->first_record = r->log ? nvw_log_records(r->log) : 0;
	return 0;
}

/* What the run has left. */
static int judge_pool(const struct run *r, const char *path, const struct nvw_acks *acks)
{
	const struct ct_subject *const s = r->bench->subject;
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open(path, NVW_POOL_WRITE, &pool));
	const int error = s->judge(s->workload, r->bench->plan, pool, acks);

	nvw_pool_close(pool);
	return error;
}

static int judge(const struct run *r, const char *path)
{
	struct nvw_acks acks = {0};
	int error = ct_run_acks(r->shared, &acks);

	error = NVW_OR(error, judge_pool(r, path, &acks));
	nvw__acks_free(&acks);
	return error;
}

static int begin(struct run *r, const char *path, int log_fd, const struct ct_cut *cut)
{
	const struct ct_subject *s = r->bench->subject;
	const struct emu_power_cut power = {
		.time_ps = cut->time_ps,
		.seed = cut->seed,
		.die = die,
		.acknowledged = acknowledged,
		.context = r,
	};

	if (r->bench->pool_count > 0) {
		NVW_TRY(nvw_pool_open(path, NVW_POOL_WRITE, &r->pool));
	}
	NVW_TRY(open_log(r, log_fd));
	NVW_TRY(emu_create(s->config, r->pool, r->log, &r->machine));
	emu_set_power_cut(r->machine, &power);
	emu_set_host_fault(r->machine, host_fault, r);
	emu_narrow_barriers(r->machine, s->narrow_file, s->narrow_line, s->narrow_by);
	emu_insert_barriers(r->machine, s->inserted, s->inserted_count);
	set_limits(r);
	nvw__sites_forget();
	return look_for_mistakes(r);
}

static void note_what_ran(struct run *r)
{
	NVW_FOR(i, r->shared->sites) {
		executed_of(r->shared)[i] |= nvw__site(i)->executed;
	}
	r->shared->end_ps = nvw_time_ps(r->machine);
	r->shared->inserted_met = emu_inserted_met(r->machine);
	r->shared->operations = operations_of(r);
}

/* Closes all, and returns the first error. */
static int end(struct run *r, int error)
{
	const uint64_t ended_ps = nvw_time_ps(r->machine);

	emu_destroy(r->machine);
	const int unwritten = r->log ? nvw_log_close(r->log, ended_ps) : 0, untold = close_syncs(r);

	nvw_pool_close(r->pool);
	NVW_TRY(error);
	NVW_TRY(unwritten);
	return untold;
}

/* After an error its process ends, with all that it has open. */
static int emulate(struct run *r, const char *path, int log_fd, const struct ct_cut *cut)
{
	const struct ct_subject *s = r->bench->subject;

	NVW_TRY(begin(r, path, log_fd, cut));
	NVW_TRY(set_up(r));
	NVW_TRY(run_kernels(r));
	note_what_ran(r);
	NVW_TRY(end(r, s->judge ? nvw_persist(r->machine) : 0));
	return s->judge ? judge(r, path) : 0;
}

int ct_run_start(const struct ct_bench *b, unsigned slot, int log_fd, const struct ct_cut *cut,
	struct ct_run_shared *shared, pid_t *ret_pid)
{
	char path[512];

	ct_bench_pool_path(b, slot, path, sizeof path);
	NVW_TRY(write_initial(b, path));
	shared->left.error = 0;
	shared->ack_count = 0;
	NVW_TRY(ct_fork(NULL, ret_pid));
	if (*ret_pid == 0) {
		struct run r = {.bench = b, .shared = shared};

		ct_leave(&shared->left, emulate(&r, path, log_fd, cut));
		_exit(shared->left.error != 0);
	}
	return 0;
}

int ct_run_whole(const struct ct_bench *b, int log_fd, const struct ct_cut *cut, struct ct_run_shared *shared)
{
	static const struct ct_cut never = {.time_ps = UINT64_MAX};
	int status;
	pid_t pid;

	NVW_TRY(ct_run_start(b, 0, log_fd, NVW_OR(cut, &never), shared, &pid));
	NVW_TRY(nvw_stop_wait(pid, &status));
	NVW_TRY(ct_left_by(&shared->left));
	NVW_FAIL_IF(WIFSIGNALED(status) && !(cut && WTERMSIG(status) == SIGKILL), NVW_E_KERNEL,
		"%s: the emulated run was killed by signal %d (%s)", b->subject->workload->name,
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 0;
}
