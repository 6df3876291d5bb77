/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host threads read kv and btree while emulated kernels change them: they change nothing, see nothing that
 * recovery takes back, also when the run is killed, and nothing is used again under their eyes. Built with
 * -Db_sanitize=thread as well.
 */
#include "common/options.h"
#include "common/rig.h"
#include "common/shell.h"
#include "common/skip.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/kernel.h>
#include <nvw/random.h>

#include "check/check.h"
#include "core/describe.h"
#include "core/tsan.h"
#include "lib/readers/drive.h"

extern const struct nvw_workload nvw_workload_kv, nvw_workload_btree;

#ifdef NVW__TSAN
const char *__tsan_default_options(void);

/* A report ends the process: the kill of a child would hide its exit status. */
const char *__tsan_default_options(void)
{
	return "halt_on_error=1";
}
#endif

/* ---- A run --------------------------------------------------------------------------------------------- */

enum { READERS = 2, SCANS = 20, TIMES_KILLED = 4 };

static const struct subject {
	const struct nvw_workload *workload;
	const char *options;
	const char *setting;
} kv = {&nvw_workload_kv, "count=1500 batch=128 slots=64 mix=put=80,delete=20 records=200", NULL},
  kv_group = {&nvw_workload_kv, "count=1000 preload=200 batch=128 scope=workgroup value-size=200B", NULL},
  kv_new_keys = {&nvw_workload_kv, "count=600 batch=128 slots=64 keys=sequential", NULL},
  kv_buffered = {&nvw_workload_kv, "count=1000 batch=128 slots=64 mix=put=80,delete=20 records=200",
	  "persist.model=buffered-epoch"},
  btree = {&nvw_workload_btree, "count=1000 preload=300 batch=200 group-size=64", NULL},
  btree_wide = {&nvw_workload_btree, "order=14 count=1000 preload=300 batch=200 group-size=64", NULL},
  btree_kernel = {&nvw_workload_btree, "count=1000 preload=300 batch=200 group-size=64 scope=kernel", NULL},
  btree_buffered = {&nvw_workload_btree, "count=1000 preload=300 batch=200 group-size=64",
	  "persist.model=buffered-epoch"},
  btree_update = {&nvw_workload_btree, "count=600 preload=300 batch=100 op=update", NULL},
  btree_delete = {&nvw_workload_btree, "count=600 preload=300 batch=100 op=delete", NULL};

static const struct subject *const all[] = {&kv, &kv_group, &kv_new_keys, &kv_buffered, &btree, &btree_wide,
	&btree_kernel, &btree_buffered, &btree_update, &btree_delete};

enum { SUBJECTS = NVW_COUNT(all) };

struct run {
	const struct subject *subject;
	struct emu_config config;
	struct nvw_options *options;
	void *plan;
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct nvw_machine *machine;
	struct nvw__sightings *sightings;
	struct nvw__drive *drive;
	struct nvw_acks acks;
	/* Shared with the child. */
	struct {
		uint64_t begin_ps, end_ps;
	} * times;
};

static void prepare(struct run *r, const struct subject *s, int mutation)
{
	*r = (struct run){.subject = s};
	emu_config_default(&r->config);
	r->config.seed = 1;
	rig_ok(s->setting ? emu_config_set(&r->config, s->setting) : 0);
	r->options = options_of(s->workload->options, s->options);
	rig_ok(s->workload->prepare(r->options, 1, mutation, &r->plan));
	r->sightings = nvw__sightings_create(s->workload, r->plan, READERS);
	assert_non_null(r->sightings);
	r->times = mmap(NULL, sizeof *r->times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(r->times, MAP_FAILED);
}

static void dispose(struct run *r)
{
	r->subject->workload->dispose(r->plan);
	nvw__options_free(r->options);
	nvw__sightings_destroy(r->sightings);
	nvw__acks_free(&r->acks);
	munmap(r->times, sizeof *r->times);
	clean();
}

static void acknowledged(void *context, uint64_t first, uint64_t count)
{
	struct run *const r = context;

	if (r->drive) {
		rig_ok(nvw__drive_acknowledged(r->drive, first, count));
	}
	rig_ok(nvw__acks_add(&r->acks, first, count));
}

/* Readers outlive the machine by a moment, so that they have seen whatever there was to see. */
static void die(void *context)
{
	usleep(20000);
	kill(getpid(), SIGKILL);
}

/*
 * Set-up, then the measured part with or without readers; the machine, the pool and the readers' figures
 * stay.
 */
static void execute(struct run *r, bool with_readers, uint64_t cut_ps)
{
	const struct nvw_workload *const w = r->subject->workload;
	const struct emu_power_cut cut = {
		.time_ps = cut_ps, .seed = cut_ps, .die = die, .acknowledged = acknowledged, .context = r};
	struct nvw_pool_params params = {0};
	struct nvw_log_info info = {.workload = w->name,
		.options = "",
		.machine = "gope18",
		.protocol = "vi",
		.model = "epoch",
		.domain = "device",
		.seed = 1,
		.atomicity = 8};

	rig_ok(w->pool(r->plan, &params));
	rig_ok(nvw_pool_create(in_dir("pool"), &params, &r->pool));
	info.pool_bytes = nvw_pool_geometry(r->pool)->bytes;
	rig_ok(nvw_log_create(in_dir("log"), &info, &r->log));
	rig_ok(emu_create(&r->config, r->pool, r->log, &r->machine));
	emu_set_power_cut(r->machine, &cut);
	rig_ok(w->setup(r->plan, r->machine));
	rig_ok(nvw_persist(r->machine));
	nvw_begin_measurement(r->machine);
	r->times->begin_ps = nvw_time_ps(r->machine);
	if (with_readers) {
		rig_ok(nvw__drive_start(w, r->plan, r->machine, r->sightings, SCANS, 1, &r->drive));
	}
	rig_ok(w->run(r->plan, r->machine));
	rig_ok(nvw_persist(r->machine));
	nvw__drive_stop(r->drive);
	r->times->end_ps = nvw_time_ps(r->machine);
	rig_ok(nvw_log_close(r->log, r->times->end_ps));
}

static void finish(struct run *r)
{
	nvw__drive_destroy(r->drive);
	emu_destroy(r->machine);
	nvw_pool_close(r->pool);
}

/* ---- Beside a run that ends ---------------------------------------------------------------------------- */

static uint64_t hash_file(const char *path, uint64_t *ret_bytes)
{
	FILE *const f = fopen(path, "r");
	uint64_t hash = 0;
	int c;

	assert_non_null(f);
	for (*ret_bytes = 0; (c = getc(f)) != EOF; ++*ret_bytes) {
		hash = nvw_mix64(hash ^ (uint64_t)c);
	}
	fclose(f);
	return hash;
}

TEST(readers_change_neither_the_statistics_nor_the_persist_log)
{
	skip_if_sanitized();
	NVW_EACH(one, all, SUBJECTS) {
		struct emu_stats stats[2];
		uint64_t hash[2], bytes[2];

		NVW_FOR(with, 2) {
			struct run r;

			prepare(&r, *one, -1);
			execute(&r, with, UINT64_MAX);
			stats[with] = *emu_statistics(r.machine);
			hash[with] = hash_file(in_dir("log"), &bytes[with]);
			finish(&r);
			dispose(&r);
		}
		assert_memory_equal(&stats[0], &stats[1], sizeof stats[0]);
		assert_true(bytes[0] > 1000);
		assert_int_equal(bytes[0], bytes[1]);
		assert_true(hash[0] == hash[1]);
	}
}

static int judge(const struct run *r, struct nvw_pool *pool)
{
	struct nvw_findings findings = {0};
	const int error = nvw__sightings_judge(r->sightings, r->subject->workload, r->plan, pool, &findings);

	if (error && error != NVW_E_INCONSISTENT) {
		fail_msg("%s", nvw_error_message());
	}
	if (error) {
		print_message("# %s\n", findings.finding[0].text);
	}
	return error;
}

TEST(readers_of_a_run_that_ends_see_every_key_in_order_and_whole)
{
	NVW_EACH(one, all, SUBJECTS) {
		struct run r;

		prepare(&r, *one, -1);
		execute(&r, true, UINT64_MAX);
		assert_true(nvw__sightings_reads(r.sightings) >= READERS);
		assert_true(nvw__sightings_keys(r.sightings) > 0);
		assert_int_equal(judge(&r, r.pool), 0);
		finish(&r);
		dispose(&r);
	}
}

/* A figure of the structure on the medium. */
static uint64_t inspected(const struct run *r, const char *name)
{
	struct nvw_description d = {0};
	uint64_t value = UINT64_MAX;

	rig_ok(r->subject->workload->inspect(r->pool, &d));
	NVW_EACH(values, d.values, d.count) {
		value = strcmp(values->name, name) ? value : values->u64;
	}
	nvw__description_clear(&d);
	return value;
}

TEST(what_readers_find_at_the_end_is_what_the_run_has_left)
{
	skip_if_sanitized();
	NVW_EACH(one, all, SUBJECTS) {
		const struct nvw_serving *const serving = (*one)->workload->serving;
		uint64_t keys, present = 0;
		struct run r;

		prepare(&r, *one, -1);
		execute(&r, true, UINT64_MAX);
		rig_ok(serving->keys(r.plan, &keys));
		NVW_FOR(n, keys) {
			struct nvw_findings findings = {0};
			struct nvw_sighting s;

			rig_ok(serving->lookup(r.plan, n, &s));
			present += s.present;
			assert_int_equal(serving->judge(r.plan, r.pool, &s, &findings), 0);
		}
		assert_true(keys > 100);
		assert_int_equal(present,
			inspected(&r, (*one)->workload == &nvw_workload_kv ? "kv.keys" : "btree.keys"));
		finish(&r);
		dispose(&r);
	}
}

/* ---- Beside a run that is killed ----------------------------------------------------------------------- */

/* Runs in a process of its own, which the power cut at cut_ps kills. */
static void execute_and_die(struct run *r, uint64_t cut_ps)
{
	int status;
	pid_t pid;

	unlink(in_dir("pool"));
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execute(r, true, cut_ps);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (cut_ps == UINT64_MAX) {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	} else {
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

static int recover_and_judge(const struct run *r)
{
	const struct nvw_workload *const w = r->subject->workload;
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	int verdict;

	rig_ok(nvw_pool_open(in_dir("pool"), NVW_POOL_WRITE, &pool));
	rig_ok(nvw_recover(pool, &report));
	rig_ok(w->recover ? w->recover(pool, &report) : 0);
	verdict = judge(r, pool);
	nvw_pool_close(pool);
	return verdict;
}

/*
 * Kills the run at up to so many seeded instants, until readers have seen what recovery takes back: whether
 * they have.
 */
static bool kill_often(const struct subject *s, int mutation, unsigned kills)
{
	struct nvw_random random = {5}; /* of a dozen, the one that needs the fewest kills */
	bool taken_back = false;
	uint64_t begin, end;
	struct run r;

	prepare(&r, s, mutation);
	execute_and_die(&r, UINT64_MAX);
	begin = r.times->begin_ps;
	end = r.times->end_ps;
	dispose(&r);
	for (unsigned i = 0; i < kills && !taken_back; i++) {
		prepare(&r, s, mutation);
		execute_and_die(&r, begin + nvw_random_below(&random, end - begin - 1));
		taken_back = recover_and_judge(&r) != 0;
		assert_true(nvw__sightings_keys(r.sightings) > 0);
		dispose(&r);
	}
	return taken_back;
}

TEST(nothing_that_readers_of_a_killed_run_saw_is_taken_back)
{
	skip_if_sanitized();
	NVW_EACH(one, all, SUBJECTS) {
		assert_false(kill_often(*one, -1, TIMES_KILLED));
	}
}

TEST(acknowledging_before_the_barrier_shows_readers_of_kv_what_is_taken_back)
{
	skip_if_sanitized();
	assert_true(kill_often(&kv_new_keys, mutation_of(kv.workload, "ack-before-barrier"), 200));
}

TEST(acknowledging_before_the_epoch_completes_shows_readers_of_btree_what_is_taken_back)
{
	skip_if_sanitized();
	assert_true(kill_often(&btree, mutation_of(btree.workload, "ack-before-completion"), 200));
}

/* ---- Grace periods ------------------------------------------------------------------------------------- */

struct lingerer {
	struct nvw_readers *readers;
	const uint64_t *record;
	bool inside, leaves; /* atomic */
	uint64_t seen;
};

/* A reader that stays in its section for a while, and looks at a record in its last moment. */
static void *linger(void *context)
{
	struct lingerer *const l = context;

	nvw_reader_join();
	nvw_reader_enter(l->readers);
	l->record = nvw_reader_find(l->readers, 7);
	__atomic_store_n(&l->inside, true, __ATOMIC_RELEASE);
	usleep(100000);
	l->seen = l->record[0];
	__atomic_store_n(&l->leaves, true, __ATOMIC_RELEASE);
	nvw_reader_leave(l->readers);
	nvw_reader_quit();
	return NULL;
}

static pthread_t begin_lingering(struct lingerer *l, struct nvw_readers *readers)
{
	const uint64_t words[NVW_READERS_WORDS] = {70};
	pthread_t thread;

	*l = (struct lingerer){.readers = readers};
	rig_ok(nvw_readers_publish(readers, 7, words));
	assert_int_equal(pthread_create(&thread, NULL, linger, l), 0);
	while (!__atomic_load_n(&l->inside, __ATOMIC_ACQUIRE)) {
		usleep(100);
	}
	return thread;
}

TEST(a_replaced_record_lives_until_who_found_it_has_left)
{
	const uint64_t words[NVW_READERS_WORDS] = {71};
	struct nvw_readers *readers;
	struct lingerer l;
	pthread_t thread;

	rig_ok(nvw_readers_create(10, &readers));
	thread = begin_lingering(&l, readers);
	for (unsigned i = 1; i <= 3; i++) {
		rig_ok(nvw_readers_publish(readers, 7, words));
		assert_int_equal(nvw_readers_figures(readers).replaced, i);
		assert_int_equal(nvw_readers_figures(readers).freed, 0);
	}
	assert_false(__atomic_load_n(&l.leaves, __ATOMIC_ACQUIRE));
	nvw_readers_wait(readers);
	assert_true(__atomic_load_n(&l.leaves, __ATOMIC_ACQUIRE));
	assert_int_equal(nvw_readers_figures(readers).freed, 3);
	pthread_join(thread, NULL);
	assert_int_equal(l.seen, 70);
	assert_int_equal(nvw_reader_find(readers, 7)[0], 71);
	assert_null(nvw_reader_find(readers, 8));
	nvw_readers_destroy(readers);
}

TEST(the_sorted_array_answers_with_the_largest_key_not_above)
{
	const uint64_t keys[] = {0, 10, 20}, values[] = {5, 6, 7};
	struct nvw_readers *readers;
	uint64_t value;

	rig_ok(nvw_readers_create(10, &readers));
	assert_false(nvw_reader_floor(readers, 100, &value));
	rig_ok(nvw_readers_publish_order(readers, keys + 1, values + 1, 2));
	assert_false(nvw_reader_floor(readers, 9, &value));
	rig_ok(nvw_readers_publish_order(readers, keys, values, 3));
	NVW_FOR(key, 40) {
		assert_true(nvw_reader_floor(readers, key, &value));
		assert_int_equal(value, key < 10 ? 5 : key < 20 ? 6 : 7);
	}
	nvw_readers_destroy(readers);
}

struct block_args {
	struct nvw_pmem pmem;
	nvw_off *block;
	bool frees;
};

KERNEL(block_kernel, const struct block_args, a)
{
	if (nvw_global_id() == 0) {
		if (a->frees) {
			nvw_pfree(&a->pmem, nvw_load(a->block), 64, NULL);
		} else {
			nvw_store(a->block, nvw_pmalloc(&a->pmem, 64, NULL));
		}
	}
}

/* Frees the only block while a reader is in a section, and asks for it again: has the reader left by then? */
static bool is_waited_for(struct nvw_readers *served)
{
	struct nvw_readers *readers = served;
	struct block_args args = {0};
	struct lingerer l;
	pthread_t thread;
	struct rig rig;
	nvw_off first, again;
	bool has_left;

	rig_begin(&rig, 1, NULL);
	if (!readers) {
		rig_ok(nvw_readers_create(10, &readers));
	}
	rig_ok(nvw_pmem_attach(rig.machine, &args.pmem));
	args.pmem.readers = served;
	args.block = nvw_alloc(rig.machine, sizeof *args.block);
	rig_ok(nvw_heap_provision(rig.machine, &args.pmem, 64, 1));
	rig_launch(&rig, block_kernel, &args, 1, 1);
	rig_ok(nvw_read(rig.machine, &first, args.block, sizeof first));
	thread = begin_lingering(&l, readers);
	args.frees = true;
	rig_launch(&rig, block_kernel, &args, 1, 1);
	rig_ok(nvw_heap_provision(rig.machine, &args.pmem, 64, 1));
	has_left = __atomic_load_n(&l.leaves, __ATOMIC_ACQUIRE);
	args.frees = false;
	rig_launch(&rig, block_kernel, &args, 1, 1);
	rig_ok(nvw_read(rig.machine, &again, args.block, sizeof again));
	assert_int_equal(again, first);
	pthread_join(thread, NULL);
	if (!served) {
		nvw_readers_destroy(readers);
	}
	rig_end(&rig);
	return has_left;
}

TEST(a_freed_block_is_not_handed_out_under_a_readers_eyes)
{
	struct nvw_readers *readers;

	rig_ok(nvw_readers_create(10, &readers));
	assert_true(is_waited_for(readers));
	nvw_readers_destroy(readers);
	/* The heap that knows of no reader does hand it out: this test can fail. */
	assert_false(is_waited_for(NULL));
}

struct shown {
	struct nvw_readers *readers;
	uint64_t bytes[2]; /* a record's word says which is to be looked at */
	uint64_t sum;
	bool looked; /* atomic */
};

static void *look(void *context)
{
	struct shown *const s = context;

	nvw_reader_join();
	nvw_reader_enter(s->readers);
	s->sum += s->bytes[nvw_reader_find(s->readers, 7)[0]];
	nvw_reader_leave(s->readers);
	__atomic_store_n(&s->looked, true, __ATOMIC_RELAXED); /* orders nothing */
	while (__atomic_load_n(&s->looked, __ATOMIC_RELAXED)) {
		usleep(100);
	}
	nvw_reader_quit();
	return NULL;
}

/*
 * In a process of its own: bytes that a reader has looked at are used again, after a grace period or without
 * one.
 */
static int reuse(bool waits)
{
	const uint64_t words[2][NVW_READERS_WORDS] = {{0}, {1}};
	const pid_t pid = fork();
	struct shown s = {0};
	pthread_t thread;
	int status;

	if (pid == 0) {
		fclose(stderr);
		rig_ok(nvw_readers_create(10, &s.readers));
		rig_ok(nvw_readers_publish(s.readers, 7, words[0]));
		pthread_create(&thread, NULL, look, &s);
		while (!__atomic_load_n(&s.looked, __ATOMIC_RELAXED)) {
			usleep(100);
		}
		rig_ok(nvw_readers_publish(s.readers, 7, words[1]));
		if (waits) {
			nvw_readers_wait(s.readers);
		}
		s.bytes[0] = 1;
		__atomic_store_n(&s.looked, false, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		nvw_readers_destroy(s.readers);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* What liburcu guarantees, thread sanitizer is told, and no more than that. */
TEST(thread_sanitizer_sees_what_is_used_again_without_a_grace_period)
{
#ifdef NVW__TSAN
	assert_int_equal(reuse(true), 0);
	assert_int_not_equal(reuse(false), 0);
#else
	assert_int_equal(reuse(true), 0);
	skip_test("needs a build with -Db_sanitize=thread");
#endif
}

/*
 * ---- What is judged while they read: planted faults ------------------------------------------------------
 */

/* A structure of 8 keys whose answers are wrong in one way. */
enum planted { RIGHT, GOES_BACK, TORN, LEFT_OUT, DESCENDS };

struct fake {
	enum planted planted;
	uint64_t asked; /* atomic */
};

static int fake_keys(void *plan, uint64_t *ret_keys)
{
	*ret_keys = 8;
	return 0;
}

static int fake_begin(void *plan, struct nvw_machine *machine, struct nvw_readers *readers)
{
	return 0;
}

static void fake_end(void *plan)
{
}

static int fake_lookup(const void *plan, uint64_t number, struct nvw_sighting *ret)
{
	struct fake *const f = (struct fake *)(uintptr_t)plan;
	const uint64_t asked = __atomic_fetch_add(&f->asked, 1, __ATOMIC_RELAXED);

	if (f->planted == TORN && asked == 20) {
		return nvw_fail(NVW_E_INCONSISTENT, "torn as planted");
	}
	*ret = (struct nvw_sighting){.number = number,
		.version = f->planted == GOES_BACK && asked > 100 ? 4 : 5,
		.state = 1,
		.present = true};
	return 0;
}

static int fake_scan(
	const void *plan, uint64_t number, unsigned limit, struct nvw_sighting *ret, unsigned *ret_count)
{
	struct fake *const f = (struct fake *)(uintptr_t)plan;
	unsigned n = 0;

	__atomic_fetch_add(&f->asked, 1, __ATOMIC_RELAXED);
	for (uint64_t key = number; key < 8; key++) {
		if (f->planted != LEFT_OUT || key != 4) {
			ret[n++] = (struct nvw_sighting){
				.number = f->planted == DESCENDS ? 7 - (key - number) : key,
				.version = 5,
				.state = 1,
				.present = true};
		}
	}
	*ret_count = n;
	return 0;
}

static int fake_judge(
	void *plan, struct nvw_pool *pool, const struct nvw_sighting *seen, struct nvw_findings *findings)
{
	return 0;
}

static const struct nvw_serving fake_serving = {.keys = fake_keys,
	.begin = fake_begin,
	.end = fake_end,
	.lookup = fake_lookup,
	.scan = fake_scan,
	.judge = fake_judge};
static const struct nvw_workload fake_workload = {.name = "fake", .serving = &fake_serving};

static void expect_of_fake(enum planted planted, unsigned scans, const char *text)
{
	struct fake plan = {.planted = planted};
	struct nvw_findings findings = {0};
	struct nvw__sightings *sightings;
	struct nvw__drive *drive;
	RIG(rig);

	rig_begin(&rig, 1, NULL);
	sightings = nvw__sightings_create(&fake_workload, &plan, 1);
	assert_non_null(sightings);
	rig_ok(nvw__drive_start(&fake_workload, &plan, rig.machine, sightings, scans, 1, &drive));
	while (__atomic_load_n(&plan.asked, __ATOMIC_RELAXED) < 2000) {
		usleep(1000);
	}
	nvw__drive_stop(drive);
	assert_int_equal(nvw__sightings_judge(sightings, &fake_workload, &plan, rig.pool, &findings),
		text ? NVW_E_INCONSISTENT : 0);
	if (text) {
		assert_has(findings.finding[0].text, text);
	}
	nvw__drive_destroy(drive);
	nvw__sightings_destroy(sightings);
}

TEST(readers_report_a_version_that_goes_back)
{
	expect_of_fake(RIGHT, 20, NULL);
	expect_of_fake(GOES_BACK, 20, "found version 4 (present) after version 5 (present) had been seen");
}

TEST(readers_report_what_is_torn)
{
	expect_of_fake(TORN, 0, "torn as planted");
}

TEST(readers_report_a_key_that_a_scan_leaves_out)
{
	expect_of_fake(LEFT_OUT, 50, "a scan left out key number 4, which was and is there");
}

TEST(readers_report_a_scan_out_of_order)
{
	expect_of_fake(DESCENDS, 100, "do not ascend");
}

TEST(a_workload_without_readers_and_one_without_durability_are_refused)
{
	static const struct nvw_workload deaf = {.name = "deaf"};
	struct fake plan = {0};
	struct nvw__sightings *sightings;
	struct nvw__drive *drive;
	RIG(rig);

	assert_null(nvw__sightings_create(&deaf, &plan, 1));
	assert_string_equal(nvw_error_message(), "deaf does not support host readers");
	rig_begin(&rig, 1, NULL);
	nvw_machine_set_volatile(rig.machine);
	sightings = nvw__sightings_create(&fake_workload, &plan, 1);
	assert_int_equal(
		nvw__drive_start(&fake_workload, &plan, rig.machine, sightings, 0, 1, &drive), NVW_E_USAGE);
	nvw__sightings_destroy(sightings);
}

GROUP(folder_begin, shell_end);
