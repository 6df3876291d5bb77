/* SPDX-License-Identifier: BSD-3-Clause */
/* The command as its users meet it: run as a process, its exit status, what it says and what it leaves
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/skip.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include <nvw/pool.h>

extern char **environ;

/* Set by meson: the command and the tutorial's workload. */
static const char *nvwave, *queue;
static char dir[64];

struct outcome {
	int status;
	char out[1 << 20], err[4096];
};

static void read_file(const char *path, char *to, size_t n)
{
	FILE *const f = fopen(path, "r");
	const size_t got = f ? fread(to, 1, n - 1, f) : 0;

	to[got] = 0;
	if (f) {
		fclose(f);
	}
}

/* Runs "nvwave words", split at blanks, in dir. */
static const struct outcome *run(const char *words)
{
	static struct outcome o;
	char text[1024], *argv[32] = {(char *)(uintptr_t)nvwave}, out[96], err[96];
	posix_spawn_file_actions_t actions;
	unsigned argc = 1;
	pid_t pid;

	snprintf(text, sizeof text, "%s", words);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		argv[argc++] = word;
	}
	snprintf(out, sizeof out, "%s/.out", dir);
	snprintf(err, sizeof err, "%s/.err", dir);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&actions, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(posix_spawn(&pid, nvwave, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(waitpid(pid, &o.status, 0), pid);
	assert_true(WIFEXITED(o.status));
	o.status = WEXITSTATUS(o.status);
	read_file(out, o.out, sizeof o.out);
	read_file(err, o.err, sizeof o.err);
	unlink(out);
	unlink(err);
	return &o;
}

static void expect(const char *words, int status, const char *out, const char *err)
{
	const struct outcome *const o = run(words);

	if (o->status != status || !strstr(o->out, out) || !strstr(o->err, err)) {
		fail_msg(
			"nvwave %s: status %d, expected %d\nstdout: %.500s\nstderr: %.500s\nexpected \"%s\" and \"%s\"",
			words, o->status, status, o->out, o->err, out, err);
	}
}

static bool is_empty_dir(void)
{
	return rmdir(dir) == 0 && mkdir(dir, 0700) == 0;
}

/* ---- Bad input ----------------------------------------------------------------------------- */

static void bad_input_is_refused_with_a_message_that_helps(void **state)
{
	static const struct {
		const char *words, *message;
	} cases[] = {
		{"run kv --set nvram.writ=500ns", "did you mean nvram.write?"},
		{"run kv --set nvram.write=500", "500 has no unit; write 500ns or 500cycles"},
		{"run kv --set nvram.write=500xs", "unknown unit \"xs\""},
		{"run kv --set gpu.cus=0", "gpu.cus: between 1 and 128, not 0"},
		{"run kv --set gpu.cus=-4", "not a number"},
		{"run kv --set gpu.cus=99999999999999999999999", "too large"},
		{"run kv --set l1.ways=3", "not a multiple of one set"},
		{"run kv --set nvram.domain=ram", "not one of device, adr, eadr"},
		{"run kv --set nonsense", "section.key=value"},
		{"run kv --machine=gope19", "did you mean gope18?"},
		{"run kv --machine=/nowhere/x.ini", "No such file"},
		{"run kv --protocol=vii", "did you mean vi?"},
		{"run kw", "did you mean kv?"},
		{"run", "expected a workload"},
		{"run kv btree", "expected one workload, found kv and \"btree\""},
		{"run kv --cont=5", "did you mean --count?"},
		{"run kv --count=five", "\"five\" is not a number"},
		{"run kv --count=", "not a number"},
		{"run kv --count", "needs a value"},
		{"run kv --value-size=64", "64 has no unit; write 64B or 64KiB"},
		{"run kv --scope=warp", "not one of workitem, workgroup"},
		{"run kv --mutate=publish", "did you mean publish-before-value?"},
		{"run kv --seed=x", "--seed"},
		{"run kv --nosuch", "run kv: there is no option --nosuch"},
		{"run kv --nosuch=3", "run kv: there is no option --nosuch"},
		{"run kv -c", "there is no option -c; options begin with --"},
		{"run kv --matrix", "there is no option --matrix; it belongs to nvwave crash"},
		{"run kv --reader-scans=5", "--reader-scans has no effect without --host-readers"},
		{"crash kv --statse=3", "did you mean --states?"},
		{"crash kv --check=races", "--check has no effect with a workload"},
		{"crash kv --symmetric --mode=kill", "--symmetric has no effect with --mode=kill"},
		{"crash kv --matrix --mode=kill", "--mode has no effect with --matrix"},
		{"crash kv --matrix=yes", "--matrix takes no value, found \"yes\""},
		{"crash kv --pool=a", "there is no option --pool; it belongs to nvwave run"},
		{"crash --pool", "there is no option --pool; it belongs to nvwave run"},
		{"crash", "expected a workload"},
		{"crash kv --model=epoch --mode=kill", "--model has no effect with --mode=kill"},
		{"crash --exec=true --mode=observed", "--mode=observed has no effect on --exec"},
		{"crash --merge --jobs=2 a.json", "--jobs has no effect with --merge"},
		{"exec --seed=2 -- true", "there is no option --seed; it belongs to nvwave"},
		{"exec --record=a --advice -- true", "--advice has no effect with --record"},
		{"fio latency --kills=3", "--kills has no effect in fio latency"},
		{"fio bandwidth --seed=3", "--seed has no effect in fio bandwidth"},
		{"torture --fault=x --faults", "--fault has no effect with --faults"},
		{"torture a", "is an extra argument"},
		{"litmus --brief --output-format=json a.litmus",
			"--brief has no effect with --output-format=json"},
		{"recover --epochs a.pool", "there is no option --epochs; it belongs to nvwave inspect"},
		{"log dump --words a.nvl", "--words has no effect in log dump"},
		{"replay a b", "\"b\" is an extra argument"},
		{"run kv --check=leaks", "expected races, races:drf or races:hrf, found \"leaks\""},
		{"run kv --output-format=xml", "expected normal or json"},
		{"run kv --keys=/nowhere/keys", "/nowhere/keys"},
		{"run /bin/true", "cannot be loaded"},
		{"run ./nothing.so", "cannot be loaded"},
		{"crash kv --mode=guess", "expected kill, observed or permitted"},
		{"crash kv --model=relaxed", "expected strict, epoch, buffered-epoch, eadr"},
		{"crash kv --model=strict --set nvram.domain=eadr",
			"nvram.domain=eadr keeps them: expected --model=eadr"},
		{"crash kv --model=x86", "x86 is for store logs"},
		{"crash kv --atomicity=16", "expected 8, line or 64"},
		{"crash kv --model=epoch --set=persist.model=buffered-epoch", "barriers stall"},
		{"crash kv --shard=3/2", "expected I/N"},
		{"crash kv --nested --mode=kill", "--nested"},
		{"crash --merge", "--merge: expected"},
		{"crash --merge /nowhere/a.json", "/nowhere/a.json"},
		{"crash --store-log=/nowhere/log", "need --image=FILE"},
		{"crash --store-log=/nowhere/log --image=/nowhere/image", "need one checker"},
		{"crash --store-log=/nowhere/log --image=/nowhere/image --check=true", "/nowhere/image"},
		{"crash --store-log=/nowhere/log --image=/bin/true --check-lib=/nowhere/lib.so", "/nowhere"},
		{"crash kv --store-log=/nowhere/log", "--store-log cannot be combined with a workload (kv)"},
		{"replay", "replay: expected"},
		{"replay /nowhere/finding", "/nowhere/finding"},
		{"replay /bin/true", "expected a saved finding"},
		{"crash kv --states=0", "expected a number from 1"},
		{"recover", "expected a pool file"},
		{"recover /nowhere/a.pool", "/nowhere/a.pool"},
		{"inspect /nowhere/a.pool", "/nowhere/a.pool"},
		{"log dump /nowhere/a.nvl", "/nowhere/a.nvl"},
		{"list things", "there is no list \"things\""},
		{"list", "list: expected"},
		{"crush kv", "did you mean crash?"},
	};

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		expect(cases[i].words, 2, "", cases[i].message);
	}
	assert_true(is_empty_dir());
}

static void every_command_explains_itself(void **state)
{
	static const char *const commands[] = {"run --help", "run kv --help", "crash --help", "replay --help",
		"recover --help", "inspect --help", "log --help", "litmus --help", "list --help"};

	for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
		expect(commands[i], 0, "nvwave ", "");
	}
}

static void write_text(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	unlink(path);
}

static void expect_in_dir(const char *format, int status, const char *out, const char *err)
{
	char words[512];

	snprintf(words, sizeof words, format, dir, dir, dir, dir);
	expect(words, status, out, err);
}

static void remove_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	rmdir(path);
}

static void every_shipped_machine_runs_every_protocol(void **state)
{
	static const char *const machines[] = {"gope18", "alsop16", "sinclair15"};
	static const char *const protocols[] = {"vi", "gd", "gh"};

	for (unsigned i = 0; i < 9; i++) {
		char words[128], names[64];

		snprintf(words, sizeof words, "run kv --count=300 --machine=%s --protocol=%s",
			machines[i / 3], protocols[i % 3]);
		snprintf(names, sizeof names, "kv on %s, protocol %s", machines[i / 3], protocols[i % 3]);
		expect(words, 0, names, "");
	}
}

static void a_wrong_machine_file_is_refused_with_its_line(void **state)
{
	write_text("m.ini", "[gpu]\ncus = 8\n[nvram]\nwrite = 300\n");
	expect_in_dir("run kv --machine=%s/m.ini", 2, "", "m.ini:4: nvram.write: 300 has no unit");
	write_text("m.ini", "[gpu]\ncuss = 8\n");
	expect_in_dir("run kv --machine=%s/m.ini", 2, "",
		"m.ini:2: gpu.cuss is not a key of a machine; did you mean gpu.cus?");
	write_text("m.ini", "[gpu]\nthis is no line\n");
	expect_in_dir("run kv --machine=%s/m.ini", 2, "", "m.ini:2:");
	remove_file("m.ini");
}

static void a_machine_that_was_dumped_is_the_same_machine(void **state)
{
	char first[8192], second[8192];
	char words[512];

	snprintf(words, sizeof words,
		"run kv --count=10 --set gpu.cus=7 --set gpu.clock=800MHz --set nvram.write=0x100ns --set l1.latency=9cycles "
		"--dump-machine=%s/a.ini",
		dir);
	expect(words, 0, "", "");
	snprintf(words, sizeof words, "run kv --count=10 --machine=%s/a.ini --dump-machine=%s/b.ini", dir,
		dir);
	expect(words, 0, "", "");
	snprintf(words, sizeof words, "%s/a.ini", dir);
	read_file(words, first, sizeof first);
	snprintf(words, sizeof words, "%s/b.ini", dir);
	read_file(words, second, sizeof second);
	assert_non_null(strstr(first, "cus = 7"));
	assert_non_null(strstr(first, "write = 256ns"));
	assert_non_null(strstr(first, "latency = 9cycles"));
	assert_string_equal(strchr(first, '\n'), strchr(second, '\n'));
	remove_file("a.ini");
	remove_file("b.ini");
}

/* ---- Pools --------------------------------------------------------------------------------- */

/* The first pool's name stands for all of its run. */
static void the_pools_of_a_run_are_kept_inspected_recovered_and_extracted_together(void **state)
{
#define TWO_POOLS "tiered --machine=near-far --table-device=far --count=96 --group-size=8"
	expect_in_dir("run " TWO_POOLS " --pool=%s/a.pool", 0, "consistent", "");
	expect_in_dir("run " TWO_POOLS " --pool=%s/a.pool", 2, "", "a.pool.1 already exists");
	expect_in_dir("inspect %s/a.pool", 0, "further_pools[0].device      far", "");
	expect_in_dir("recover %s/a.pool", 0, "structure tiered: consistent", "");
	expect_in_dir("recover %s/a.pool.1", 2, "", "is pool 1 of a run of 2");
	remove_file("a.pool.1");
	expect_in_dir("inspect %s/a.pool", 2, "", "a.pool.1: No such file");
	remove_file("a.pool");
	expect_in_dir("crash " TWO_POOLS " --states=400 --mutate=truncate-unordered --save=%s", 1,
		"INCONSISTENT", "");
	expect_in_dir("replay %s/finding-1 --extract=%s/b.pool", 1, "REPRODUCED", "");
	expect_in_dir("recover %s/b.pool", 1, "structure tiered: inconsistent", "");
	remove_file("finding-1");
	remove_file("b.pool");
	remove_file("b.pool.1");
	assert_true(is_empty_dir());
}

static void pool_path(char *path, size_t n)
{
	snprintf(path, n, "%s/a.pool", dir);
}

static void a_pool_is_kept_inspected_and_recovered(void **state)
{
	expect_in_dir("run kv --count=300 --pool=%s/a.pool", 0, "consistent", "");
	expect_in_dir("run kv --count=300 --pool=%s/a.pool", 2, "", "already exists");
	expect_in_dir("inspect %s/a.pool", 0, "structure                    consistent", "");
	expect_in_dir("inspect %s/a.pool --output-format=json", 0, "\"structure\": \"consistent\"", "");
	expect_in_dir("recover %s/a.pool --dry-run", 0, "nothing was changed", "");
	expect_in_dir("recover %s/a.pool", 0, "structure kv: consistent", "");
	remove_file("a.pool");
	assert_true(is_empty_dir());
}

static uint64_t hash_file(const char *path)
{
	FILE *const f = fopen(path, "rb");
	uint64_t hash = 14695981039346656037u;
	int c;

	while ((c = getc(f)) != EOF) {
		hash = (hash ^ (uint64_t)c) * 1099511628211u;
	}
	fclose(f);
	return hash;
}

static void patch(const char *path, long at, int byte)
{
	FILE *const f = fopen(path, "r+b");

	fseek(f, at, SEEK_SET);
	putc(byte, f);
	fclose(f);
}

/* Damages both header pages. */
static void patch_both(const char *path, long at, int byte)
{
	patch(path, at, byte);
	patch(path, at + 4096, byte);
}

static void damaged_pools_are_refused_and_not_touched(void **state)
{
	char path[128], words[256];
	uint64_t hash;

	pool_path(path, sizeof path);
	for (unsigned i = 0; i < 5; i++) {
		static const char *const messages[] = {
			"no pool header", "version", "damaged", "expected", "broken seal"};

		expect_in_dir("run kv --count=50 --pool=%s/a.pool", 0, "", "");
		switch (i) {
		case 0:
			patch_both(path, 0, 'X');
			break;
		case 1:
			patch_both(path, 8, 9);
			break;
		case 2:
			patch_both(path, 60, 0x5a);
			break;
		case 3:
			assert_int_equal(truncate(path, 20000), 0);
			break;
		case 4:
			patch(path, 8192 + 64, 0x77);
			break; /* the epoch status table */
		}
		hash = hash_file(path);
		snprintf(words, sizeof words, "recover %s", path);
		expect(words, 2, "", messages[i]);
		snprintf(words, sizeof words, "inspect %s", path);
		assert_int_equal(run(words)->status, 2);
		assert_int_equal(hash_file(path), hash);
		unlink(path);
	}
	write_text("a.pool", "");
	expect_in_dir("recover %s/a.pool", 2, "", "empty");
	write_text("a.pool", "foreign bytes\n");
	expect_in_dir("recover %s/a.pool", 2, "", "no pool header");
	remove_file("a.pool");
}

static void one_damaged_header_is_mended_from_its_copy(void **state)
{
	char path[128];

	pool_path(path, sizeof path);
	expect_in_dir("run kv --count=50 --pool=%s/a.pool", 0, "", "");
	patch(path, 40, 0x11);
	expect_in_dir("recover %s/a.pool", 0, "header restored from its copy", "");
	expect_in_dir("recover %s/a.pool", 0, "0 words written", "");
	unlink(path);
}

static void a_pool_in_use_is_refused(void **state)
{
	char path[128];
	struct nvw_pool *pool;

	pool_path(path, sizeof path);
	expect_in_dir("run kv --count=50 --pool=%s/a.pool", 0, "", "");
	assert_int_equal(nvw_pool_open(path, NVW_POOL_WRITE, &pool), 0);
	expect_in_dir("recover %s/a.pool", 2, "", "in use by another process");
	nvw_pool_close(pool);
	expect_in_dir("recover %s/a.pool", 0, "", "");
	unlink(path);
}

static void a_full_disk_is_reported_and_leaves_nothing(void **state)
{
	const struct rlimit small = {100000, RLIM_INFINITY};
	struct rlimit before;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){small.rlim_cur, before.rlim_max});
	expect_in_dir("run kv --count=5000 --pool=%s/a.pool", 2, "", "no room for a pool");
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(is_empty_dir());
}

static void empty_and_malformed_key_files_are_refused(void **state)
{
	write_text("keys", "");
	expect_in_dir("run kv --keys=%s/keys", 2, "", "keys");
	write_text("keys", "12\n13\npotato\n");
	expect_in_dir("run kv --keys=%s/keys", 2, "", "keys:3");
	expect_in_dir("run btree --keys=%s/keys", 2, "", "keys:3");
	write_text("keys", "12\n13\n14\n");
	expect_in_dir("run btree --keys=%s/keys", 0, "consistent", "");
	remove_file("keys");
}

/* An empty file of the library's name in front of the real one. */
static void a_missing_library_is_missed_by_those_alone_who_need_it(void **state)
{
	const char *const path = getenv("LD_LIBRARY_PATH");
	char *const before = path ? strdup(path) : NULL;

	write_text("libarchive.so.13", "");
	write_text("keys", "12\n");
	setenv("LD_LIBRARY_PATH", dir, 1);
	expect("run kv --count=1", 0, "consistent", "");
	expect_in_dir("run kv --keys=%s/keys", 2, "", "keys: cannot be read without libarchive.so.13");
	before ? setenv("LD_LIBRARY_PATH", before, 1) : unsetenv("LD_LIBRARY_PATH");
	free(before);
	remove_file("libarchive.so.13");
	remove_file("keys");
}

/* ---- Results ------------------------------------------------------------------------------- */

static void json_of_run_and_crash_has_what_is_promised(void **state)
{
	json_error_t error;
	json_t *root = json_loads(run("run kv --count=200 --output-format=json")->out, 0, &error);

	assert_non_null(root);
	for (unsigned i = 0; i < 8; i++) {
		static const char *const members[] = {"workload", "machine", "protocol", "seed",
			"sim_time_ns", "work_item_ops", "host_seconds", "stats"};

		assert_non_null(json_object_get(root, members[i]));
	}
	json_decref(root);
	root = json_loads(run("crash btree --count=100 --states=500 --output-format=json")->out, 0, &error);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), "consistent");
	for (unsigned i = 0; i < 5; i++) {
		static const char *const members[] = {
			"mode", "states_tested", "states_distinct", "host_seconds", "findings"};

		assert_non_null(json_object_get(root, members[i]));
	}
	json_decref(root);
}

static void statistics_are_lines_between_markers(void **state)
{
	const struct outcome *const o = run("run kv --count=100");

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "\n---------- Begin Simulation Statistics ----------\nsim_time "));
	assert_non_null(strstr(o->out, "  # simulated time of the measured part (ps)\n"));
	assert_non_null(strstr(o->out, "\nhost_seconds "));
	assert_non_null(strstr(o->out, "\nhost_op_rate "));
	assert_non_null(strstr(o->out, "\nhost_mem_usage "));
	assert_non_null(strstr(o->out, "\n---------- End Simulation Statistics   ----------\n"));
}

static void host_readers_are_measured_beside_the_kernels(void **state)
{
	static const char *const rows[] = {"gpu_operations", "gpu_rate", "lookups", "lookup_rate",
		"lookup_p50", "lookup_p99", "lookup_p999", "scans", "scan_rate", "scan_p50", "scan_p99",
		"scan_p999", "grace_periods"};
	static const char *const runs[] = {
		"run kv --host-readers=2 --count=600 --batch=100 --mix=put=80,delete=20",
		"run btree --host-readers=2 --count=600 --preload=300 --batch=100 --reader-scans=50"};

	for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
		const struct outcome *const o = run(runs[i]);

		assert_int_equal(o->status, 0);
		assert_non_null(strstr(o->out, ": consistent, for host readers too\n"));
		assert_non_null(strstr(o->out, "\nhost_readers.gpu_operations                   600 "));
		for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
			char line[64];

			snprintf(line, sizeof line, "\nhost_readers.%s ", rows[k]);
			assert_non_null(strstr(o->out, line));
		}
	}
}

static void host_readers_are_refused_where_nothing_is_served(void **state)
{
	expect("run sgemm --host-readers=1", 2, "", "sgemm does not support host readers");
	expect("run btree --persist=off --host-readers=1", 2, "",
		"host readers read durable data, but this workload keeps nothing in NVRAM");
	expect("run kv --host-readers=65", 2, "",
		"--host-readers: expected a number from 0 to 64, found \"65\"");
	expect("run kv --host-readers=two", 2, "",
		"--host-readers: expected a number from 0 to 64, found \"two\"");
	expect("run kv --host-readers=1 --reader-scans=101", 2, "",
		"--reader-scans: expected a number from 0 to 100, found \"101\"");
	expect("run kv --host-readers", 2, "", "--host-readers needs a value");
}

#define RACING "run kv --count=1500 --records=100 --mutate=split-publish --check=races"

static void races_are_told_with_their_source_lines_and_end_in_exit_status_1(void **state)
{
	json_error_t error;
	const json_t *races, *pair;
	json_t *root;

	expect("run kv --count=500 --check=races", 0, "\nraces: none under HRF-indirect\n", "");
	expect("run btree --count=500 --check=races --protocol=hlrc", 0, "\nraces: none under DRF\n", "");
	expect("run kv --count=500 --check=races:drf", 0, "\nraces: none under DRF\n", "");
	expect(RACING, 1, "then   workloads/kv/kernel.c:", "");
	root = json_loads(run(RACING " --output-format=json")->out, 0, &error);
	assert_non_null(root);
	races = json_object_get(root, "races");
	assert_string_equal(json_string_value(json_object_get(races, "model")), "HRF-indirect");
	assert_true(json_integer_value(json_object_get(races, "count")) > 0);
	pair = json_array_get(json_object_get(races, "pairs"), 0);
	assert_string_equal(json_string_value(json_object_get(pair, "kind")), "data");
	assert_string_equal(json_string_value(json_object_get(json_object_get(pair, "first"), "file")),
		"workloads/kv/kernel.c");
	assert_true(json_integer_value(json_object_get(json_object_get(pair, "then"), "line")) > 0);
	json_decref(root);
}

static void looking_for_races_changes_nothing_else(void **state)
{
	json_error_t error;
	json_t *const without =
		json_loads(run("run btree --count=500 --preload=500 --output-format=json")->out, 0, &error);
	json_t *const with =
		json_loads(run("run btree --count=500 --preload=500 --output-format=json --check=races")->out,
			0, &error);

	assert_non_null(without);
	assert_non_null(with);
	assert_true(
		json_equal(json_object_get(without, "sim_time_ns"), json_object_get(with, "sim_time_ns")));
	assert_true(json_equal(
		json_object_get(without, "work_item_ops"), json_object_get(with, "work_item_ops")));
	assert_null(json_object_get(without, "races"));
	json_decref(without);
	json_decref(with);
}

static void an_inconsistency_is_exit_status_1_with_the_source_lines(void **state)
{
	expect("crash btree --count=300 --preload=100 --batch=100 --group-size=64 --mutate=update-before-log",
		1, "INCONSISTENT", "");
	expect("run btree --count=500 --preload=500 --mutate=lost-leaf-link", 1, "INCONSISTENT",
		"before the highest key");
}

#define BROKEN \
	"crash btree --order=14 --count=300 --preload=100 --batch=100 --group-size=64 --mutate=update-before-log --model=epoch"

static void a_saved_finding_is_replayed_to_the_same_verdict_and_holds_the_pool(void **state)
{
	expect_in_dir(BROKEN " --save=%s/findings", 1, "replay with: nvwave replay", "");
	expect_in_dir("replay %s/findings/finding-1", 1, "REPRODUCED", "");
	expect_in_dir("replay %s/findings/finding-1 --extract=%s/pool", 1, "REPRODUCED", "");
	expect_in_dir("inspect %s/pool", 1, "btree", ""); /* as the crash left it: not recovered */
	remove_file("pool");
	for (unsigned i = 1; i < 40; i++) {
		char name[32];

		snprintf(name, sizeof name, "findings/finding-%u", i);
		remove_file(name);
	}
	remove_dir("findings");
	assert_true(is_empty_dir());
}

static void the_html_page_has_verdict_findings_and_source_lines(void **state)
{
	skip_if_sanitized();
	static char page[1 << 20];
	char path[96];

	expect_in_dir(BROKEN " --html=%s/page.html", 1, "INCONSISTENT", "");
	snprintf(path, sizeof path, "%s/page.html", dir);
	read_file(path, page, sizeof page);
	for (unsigned i = 0; i < 7; i++) {
		static const char *const parts[] = {"INCONSISTENT", "made by nvwave ", "id=\"finding-1\"",
			"Before the crash", "Words that matter", "insert.c:", "</html>"};

		if (!strstr(page, parts[i])) {
			fail_msg("the page lacks %s", parts[i]);
		}
	}
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "src="));
	remove_file("page.html");
	expect("run btree --order=15", 2, "", "--order: expected 4 to 14, found 15");
	expect("crash btree --count=50 --html=/nowhere/page.html", 2, "", "/nowhere/page.html");
	assert_true(is_empty_dir());
}

static uint64_t sum_of(const char *text, const char *name)
{
	json_error_t error;
	json_t *const root = json_loads(text, 0, &error);
	const uint64_t n = (uint64_t)json_integer_value(json_object_get(root, name));

	assert_non_null(root);
	json_decref(root);
	return n;
}

static void shards_together_are_the_whole(void **state)
{
	skip_if_sanitized();
	const uint64_t failing = sum_of(run(BROKEN " --output-format=json")->out, "states_failing");
	const uint64_t distinct = sum_of(run(BROKEN " --output-format=json")->out, "states_distinct");

	for (unsigned i = 1; i <= 3; i++) {
		char words[256], name[32];

		snprintf(words, sizeof words, BROKEN " --output-format=json --shard=%u/3", i);
		snprintf(name, sizeof name, "part-%u", i);
		write_text(name, run(words)->out);
	}
	expect_in_dir("crash --merge %s/part-1 %s/part-2 %s/part-3", 1, "INCONSISTENT", "");
	expect_in_dir("crash --merge %s/part-1 %s/part-3", 2, "", "shard 2 of 3 is missing");
	expect_in_dir("crash --merge %s/part-1 %s/part-1", 2, "", "given twice");
	char words[256];

	snprintf(words, sizeof words, "crash --merge %s/part-1 %s/part-2 %s/part-3 --output-format=json", dir,
		dir, dir);
	assert_int_equal(sum_of(run(words)->out, "states_failing"), failing);
	assert_int_equal(sum_of(run(words)->out, "states_distinct"), distinct);
	remove_file("part-1");
	remove_file("part-2");
	remove_file("part-3");
	assert_true(is_empty_dir());
}

/* SIGINT in the middle, twice; then to the end. */
static void an_interrupted_exploration_goes_on_where_it_was(void **state)
{
	skip_if_sanitized();
	static const char whole[] =
		"crash btree --count=300 --preload=100 --batch=100 --group-size=64 --model=epoch "
		"--states=100000";
	const uint64_t distinct =
		sum_of(run("crash btree --count=300 --preload=100 --batch=100 --group-size=64 --model=epoch "
			   "--states=100000 --output-format=json")
				->out,
			"states_distinct");
	char words[256], path[96];
	unsigned interrupted = 0;

	snprintf(path, sizeof path, "%s/checkpoint", dir);
	snprintf(words, sizeof words, "%s --resume=%s --output-format=json", whole, path);
	for (unsigned i = 0; i < 2; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			char *argv[16] = {(char *)(uintptr_t)nvwave};
			unsigned argc = 1;

			for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
				argv[argc++] = word;
			}
			if (!freopen("/dev/null", "w", stdout)) {
				_exit(3);
			}
			execv(nvwave, argv);
			_exit(3);
		}
		usleep(400000);
		kill(pid, SIGINT);
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		interrupted += access(path, F_OK) == 0;
	}
	assert_int_equal(sum_of(run(words)->out, "states_distinct"), distinct);
	assert_int_not_equal(access(path, F_OK), 0);
	if (interrupted == 0) {
		print_message("# the exploration was too quick to be interrupted\n");
	}
	write_text("checkpoint", "NVWCKPT and then something else");
	expect_in_dir(
		"crash btree --count=50 --resume=%s/checkpoint", 2, "", "remove the file to start again");
	remove_file("checkpoint");
}

static void the_matrix_says_which_barriers_are_needed(void **state)
{
	expect("crash btree --order=14 --count=300 --preload=100 --batch=100 --group-size=64 --matrix --states=2000",
		0, "(only buffered-epoch; no state that epoch permits fails)", "");
	expect("crash kv --count=60 --batch=20 --slots=16 --matrix --states=100", 0,
		"not needed in any state that epoch or buffered-epoch permits: ", "");
	expect("crash queue --count=48 --producers=1 --consumers=1 --capacity=16 --group-size=16 --matrix --states=150",
		0, "needed: with none scope message 0 is lost: its production was acknowledged", "");
	expect("crash btree --count=300 --preload=100 --batch=100 --group-size=64 --matrix --states=1000 --mutate=no-undo",
		1, " outside of the budget)", "");
}

/* The undo log on a fast device inside the domain, the nodes on a slow one outside of it, and the other way round. */
static void a_pool_on_two_nvram_devices_is_crash_tested_as_one(void **state)
{
	skip_if_sanitized();
#define TWO_NVRAM "--machine=two-nvram --count=600 --preload=300 --batch=200 --group-size=64 --states=400"
#define SWAPPED                                                                     \
	" --set=nvram.write=1us --set=nvram.domain=device --set=nvram2.write=100ns" \
	" --set=nvram2.domain=adr"
	static const char *const placed[] = {"crash btree " TWO_NVRAM, "crash btree " TWO_NVRAM SWAPPED};
	char line[512];

	for (unsigned i = 0; i < 2; i++) {
		expect(placed[i], 0, "CONSISTENT", "");
		snprintf(line, sizeof line, "%s --mutate=update-before-log", placed[i]);
		expect(line, 1, "INCONSISTENT", "");
	}
	expect("crash btree " TWO_NVRAM " --mode=kill --states=3", 0, "CONSISTENT", "");
	expect("run kv --machine=two-nvram --count=200 --output-format=json", 0,
		"\"domain\": \"adr, nvram2 device\"", "");
	expect("exec --machine=two-nvram -- true", 2, "",
		"device nvram2: a program of the host runs on one NVRAM device");
}

/* The log's pool on a near device, the table's on a far one; a crash state is one of both. */
static void pools_on_two_nvram_devices_are_crash_tested_together(void **state)
{
#define NEAR_FAR "tiered --machine=near-far --table-device=far --count=96 --group-size=8"
	expect("crash " NEAR_FAR " --states=400", 0, "CONSISTENT", "");
	expect("crash " NEAR_FAR " --mode=permitted --states=400", 0, "CONSISTENT", "");
	expect("crash " NEAR_FAR " --mode=kill --states=3", 0, "CONSISTENT", "");
	expect("crash " NEAR_FAR " --states=400 --mutate=truncate-unordered", 1, "INCONSISTENT", "");
	expect("crash " NEAR_FAR " --mode=permitted --states=400 --mutate=value-unordered", 1, "INCONSISTENT",
		"");
	expect("run " NEAR_FAR " --output-format=json", 0, "\"device.far.barrier_wait\": ", "");
	expect("run " NEAR_FAR " --output-format=json", 0, "\"domain\": \"adr, far device\"", "");
	expect("run " NEAR_FAR " --set far.write=2us --set nvram.hops=1", 0,
		"with nvram.hops=1, device far.write=2000ns;", "");
	expect("run " NEAR_FAR " --set far.wirte=2us", 2, "",
		"far.wirte: not a key of a device; did you mean write?");
	expect("run tiered --table-device=far", 2, "", "the machine gope18 has no device far");
	expect("run tiered --machine=near-far --table-device=farr", 2, "",
		"the machine near-far has no device farr; did you mean far?");
	expect("exec --machine=near-far -- true", 2, "",
		"device far: a program of the host runs on one NVRAM device");
	expect("list stats", 0, "device.NAME.reads", "");
}

static void every_state_of_a_small_run_is_accounted_for(void **state)
{
	expect("crash kv --count=6 --batch=2 --slots=16 --model=epoch", 0, "100 %: all instants exhausted",
		"");
	expect("crash kv --count=6 --batch=2 --slots=16 --model=epoch --intervals", 0, "exhausted", "");
}

static void the_tutorial_finds_its_bug_and_mends_it(void **state)
{
	char words[512];

	snprintf(words, sizeof words, "run %s", queue);
	expect(words, 0, "tutorial-queue on gope18", "");
	snprintf(words, sizeof words, "crash %s --mutate=forget-barrier", queue);
	expect(words, 1, "is committed, but not all of its payload", "");
	assert_non_null(strstr(run(words)->out, "queue.c:"));
	snprintf(words, sizeof words, "crash %s", queue);
	expect(words, 0, "CONSISTENT", "");
	snprintf(words, sizeof words, "crash %s --model=epoch", queue);
	expect(words, 0, "CONSISTENT   all 2^", "");
}

static void a_refused_store_says_the_real_limit(void **state)
{
	static const char command[] =
		"crash --store-log=%s/a.log --image=%s/image --check=true --model=pmreorder --states=4";
	static char log[3 * 4096];
	char value[2 * 4096 + 1];

	memset(value, '1', sizeof value - 1);
	value[sizeof value - 1] = 0;
	memset(log, 'x', 4096);
	write_text("image", log);
	snprintf(log, sizeof log,
		"START|REGISTER_FILE;pool;0x10000;0x1000;0x0|STORE;0x10000;0x%s;0x1001|STOP", value);
	write_text("a.log", log);
	expect_in_dir(command, 2, "", "expected a size from 0x1 to 0x1000 (4096 bytes), found \"0x1001");
	snprintf(log, sizeof log,
		"START|REGISTER_FILE;pool;0x10000;0x1000;0x0|STORE;0x10000;0x%s;0x1000|STOP", value);
	write_text("a.log", log);
	expect_in_dir(command, 0, "1 stores", "");
	remove_file("a.log");
	remove_file("image");
}

static void logs_are_written_and_dumped(void **state)
{
	expect_in_dir("run kv --count=20 --log=%s/a.nvl", 0, "", "");
	expect_in_dir("log dump %s/a.nvl", 0, "launch", "");
	remove_file("a.nvl");
}

static void a_real_key_trace_runs_as_it_is(void **state)
{
	const char *const shared = getenv("SHARED_DATA");
	char path[512], words[1024];

	skip_if_sanitized();
	snprintf(path, sizeof path, "%s/keys/corda-trace_vaultservice.gz", shared ? shared : "");
	if (access(path, R_OK) != 0) {
		skip_test("%s is not here", path);
	}
	snprintf(words, sizeof words, "run kv --keys=%s --output-format=json", path);
	expect(words, 0, "\"kv.operations\": 135702", "");
}

/* A model that forbids what every machine does: exit status 1; a mistake in the text: 2, with its line. */
static void litmus_tests_have_verdicts_and_exit_statuses(void **state)
{
	static const char *const texts[][2] = {
		{"good.litmus", "test a\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==0\nverdict forbidden\n"},
		{"bad.litmus", "test b\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==1\nverdict forbidden\n"},
		{"wrong.litmus", "test c\nmodel HRF\nP0@wg0{W(plain) x=}\n"},
	};
	char path[3][96], words[256];

	for (unsigned i = 0; i < 3; i++) {
		FILE *f;

		snprintf(path[i], sizeof path[i], "%s/%s", dir, texts[i][0]);
		f = fopen(path[i], "w");
		assert_non_null(f);
		fputs(texts[i][1], f);
		fclose(f);
	}
	snprintf(words, sizeof words, "litmus %s --protocol=each --brief", path[0]);
	expect(words, 0, "a under hlrc-scoped: ok", "");
	snprintf(words, sizeof words, "litmus %s --output-format=json", path[1]);
	expect(words, 1, "\"verdict\": \"FORBIDDEN SEEN\"", "");
	snprintf(words, sizeof words, "litmus %s", path[2]);
	expect(words, 2, "", "wrong.litmus:3: expected a number or a register, found \"}\"");
	snprintf(words, sizeof words, "litmus %s --protocol=hrlc", path[0]);
	expect(words, 2, "", "did you mean hlrc?");
	snprintf(words, sizeof words, "litmus %s --test=zzz", path[0]);
	expect(words, 2, "", "no test's name contains \"zzz\"");
	expect("litmus", 2, "", "expected .litmus files");
	for (unsigned i = 0; i < 3; i++) {
		unlink(path[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_input_is_refused_with_a_message_that_helps),
		cmocka_unit_test(every_command_explains_itself),
		cmocka_unit_test(every_shipped_machine_runs_every_protocol),
		cmocka_unit_test(a_wrong_machine_file_is_refused_with_its_line),
		cmocka_unit_test(a_machine_that_was_dumped_is_the_same_machine),
		cmocka_unit_test(a_pool_is_kept_inspected_and_recovered),
		cmocka_unit_test(the_pools_of_a_run_are_kept_inspected_recovered_and_extracted_together),
		cmocka_unit_test(damaged_pools_are_refused_and_not_touched),
		cmocka_unit_test(one_damaged_header_is_mended_from_its_copy),
		cmocka_unit_test(a_pool_in_use_is_refused),
		cmocka_unit_test(a_full_disk_is_reported_and_leaves_nothing),
		cmocka_unit_test(empty_and_malformed_key_files_are_refused),
		cmocka_unit_test(json_of_run_and_crash_has_what_is_promised),
		cmocka_unit_test(statistics_are_lines_between_markers),
		cmocka_unit_test(host_readers_are_measured_beside_the_kernels),
		cmocka_unit_test(host_readers_are_refused_where_nothing_is_served),
		cmocka_unit_test(races_are_told_with_their_source_lines_and_end_in_exit_status_1),
		cmocka_unit_test(looking_for_races_changes_nothing_else),
		cmocka_unit_test(an_inconsistency_is_exit_status_1_with_the_source_lines),
		cmocka_unit_test(a_saved_finding_is_replayed_to_the_same_verdict_and_holds_the_pool),
		cmocka_unit_test(the_html_page_has_verdict_findings_and_source_lines),
		cmocka_unit_test(shards_together_are_the_whole),
		cmocka_unit_test(an_interrupted_exploration_goes_on_where_it_was),
		cmocka_unit_test(the_matrix_says_which_barriers_are_needed),
		cmocka_unit_test(a_pool_on_two_nvram_devices_is_crash_tested_as_one),
		cmocka_unit_test(pools_on_two_nvram_devices_are_crash_tested_together),
		cmocka_unit_test(every_state_of_a_small_run_is_accounted_for),
		cmocka_unit_test(the_tutorial_finds_its_bug_and_mends_it),
		cmocka_unit_test(litmus_tests_have_verdicts_and_exit_statuses),
		cmocka_unit_test(a_refused_store_says_the_real_limit),
		cmocka_unit_test(logs_are_written_and_dumped),
		cmocka_unit_test(a_missing_library_is_missed_by_those_alone_who_need_it),
		cmocka_unit_test(a_real_key_trace_runs_as_it_is),
	};

	nvwave = getenv("NVWAVE");
	queue = getenv("TUTORIAL_QUEUE");
	if (!nvwave || !queue) {
		fprintf(stderr,
			"NVWAVE and TUTORIAL_QUEUE must name the command and the tutorial's workload (meson test does)\n");
		return 2;
	}
	snprintf(dir, sizeof dir, "/tmp/nvwave-cli-XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		return 2;
	}
	setenv("TMPDIR", dir, 1);

	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rmdir(dir);
	return failed;
}
