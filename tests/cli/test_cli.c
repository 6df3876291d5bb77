/* SPDX-License-Identifier: BSD-3-Clause */
/* The command as its users meet it: run as a process, its exit status, what it says and what it leaves
 * behind. */
#include "common/test.h"

#include "command.h"
#include "common/skip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

/* ---- Bad input ----------------------------------------------------------------------------- */

TEST(bad_input_is_refused_with_a_message_that_helps)
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
		{"run kv --check=leaks", "expected races, races:drf, races:hrf or undo, found \"leaks\""},
		{"run kv --output-format=xml", "expected normal or json"},
		{"run kv --keys=/nowhere/keys", "/nowhere/keys"},
		{"run /bin/true", "cannot be loaded"},
		{"run ./nothing.so", "cannot be loaded"},
		{"crash kv --mode=guess", "expected kill, observed or permitted"},
		{"crash kv --model=relaxed", "expected strict, epoch, buffered-epoch, eadr"},
		{"crash kv --model=strict --set nvram.domain=eadr",
			"nvram.domain=eadr keeps them: expected --model=eadr"},
		{"crash kv --model=x86", "x86 is for store logs"},
		{"crash kv --atomicity=16", "expected 8, line, 64, sector, 512 or 4096"},
		{"crash kv --model=epoch --set=persist.model=buffered-epoch", "barriers stall"},
		{"crash kv --shard=3/2", "expected I/N"},
		{"crash kv --nested --mode=kill", "--nested"},
		{"crash --merge", "--merge: expected"},
		{"crash --merge /nowhere/a.json", "/nowhere/a.json"},
		{"crash --store-log=/nowhere/log", "need --image=FILE"},
		{"crash --store-log=/nowhere/log --image=/nowhere/image", "/nowhere/log: No such file"},
		{"crash --store-log=/bin/true --image=/bin/true", "need one checker"},
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

	for_each(c, cases) {
		command_refuses(c->words, c->message);
	}
	assert_int_equal(command_files(), 0);
}

TEST(every_command_explains_itself)
{
	static const char *const commands[] = {"run --help", "run kv --help", "crash --help", "replay --help",
		"recover --help", "inspect --help", "log --help", "litmus --help", "list --help"};

	for_each(command, commands) {
		command_prints(*command, "nvwave ");
	}
}

TEST(keys_of_machine_files_are_listed_by_section)
{
	const char *const l2 = command_run("list keys l2")->out;

	assert_has(l2, "l2.banks");
	assert_lacks(l2, "\nl1.");
	assert_has(command_run("list keys")->out, "device.hops");
	assert_int_equal(command_run("list keys l4")->status, 2);
	assert_has(command_run("list keys l4")->err, "no section \"l4\"");
}

TEST(every_shipped_machine_runs_every_protocol)
{
	static const char *const machines[] = {"gope18", "alsop16", "sinclair15"};
	static const char *const protocols[] = {"vi", "gd", "gh"};

	NVW_FOR(i, 9) {
		char words[128], names[64];

		snprintf(words, sizeof words, "run kv --count=300 --machine=%s --protocol=%s",
			machines[i / 3], protocols[i % 3]);
		snprintf(names, sizeof names, "kv on %s, protocol %s", machines[i / 3], protocols[i % 3]);
		command_prints(words, names);
	}
}

TEST(a_wrong_machine_file_is_refused_with_its_line)
{
	command_text("m.ini", "[gpu]\ncus = 8\n[nvram]\nwrite = 300\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:4: nvram.write: 300 has no unit");
	command_text("m.ini", "[gpu]\ncuss = 8\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:2: gpu.cuss is not a key of a machine; did "
						     "you mean gpu.cus?");
	command_text("m.ini", "[gpu]\nthis is no line\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:2:");
	command_remove("m.ini");
}

TEST(a_machine_that_was_dumped_is_the_same_machine)
{
	char first[8192], second[8192];
	char words[512];

	snprintf(words, sizeof words,
		"run kv --count=10 --set gpu.cus=7 --set gpu.clock=800MHz --set nvram.write=0x100ns --set "
		"l1.latency=9cycles "
		"--dump-machine=%s/a.ini",
		command_dir());
	command_prints(words, "");
	snprintf(words, sizeof words, "run kv --count=10 --machine=%s/a.ini --dump-machine=%s/b.ini",
		command_dir(), command_dir());
	command_prints(words, "");
	command_read("a.ini", first, sizeof first);
	command_read("b.ini", second, sizeof second);
	assert_has(first, "cus = 7");
	assert_has(first, "write = 256ns");
	assert_has(first, "latency = 9cycles");
	assert_string_equal(strchr(first, '\n'), strchr(second, '\n'));
	command_remove("a.ini");
	command_remove("b.ini");
}

/* ---- Keys ---------------------------------------------------------------------------------- */

TEST(empty_and_malformed_key_files_are_refused)
{
	command_text("keys", "");
	command_refuses("run kv --keys=%D/keys", "keys");
	command_text("keys", "12\n13\npotato\n");
	command_refuses("run kv --keys=%D/keys", "keys:3");
	command_refuses("run btree --keys=%D/keys", "keys:3");
	command_text("keys", "12\n13\n14\n");
	command_prints("run btree --keys=%D/keys", "consistent");
	command_remove("keys");
}

/* An empty file of the library's name in front of the real one. */
TEST(a_missing_library_is_missed_by_those_alone_who_need_it)
{
	const char *const path = getenv("LD_LIBRARY_PATH");
	char *const before = path ? strdup(path) : NULL;

	command_text("libarchive.so.13", "");
	command_text("keys", "12\n");
	setenv("LD_LIBRARY_PATH", command_dir(), 1);
	command_prints("run kv --count=1", "consistent");
	command_refuses("run kv --keys=%D/keys", "keys: cannot be read without libarchive.so.13");
	before ? setenv("LD_LIBRARY_PATH", before, 1) : unsetenv("LD_LIBRARY_PATH");
	free(before);
	command_remove("libarchive.so.13");
	command_remove("keys");
}

/* ---- Results ------------------------------------------------------------------------------- */

TEST(json_of_run_and_crash_has_what_is_promised)
{
	json_error_t error;
	json_t *root = json_loads(command_run("run kv --count=200 --output-format=json")->out, 0, &error);

	assert_non_null(root);
	static const char *const members[] = {"workload", "machine", "protocol", "seed", "sim_time_ns",
		"work_item_ops", "host_seconds", "stats"};

	NVW_EACH(member, members, NVW_COUNT(members)) {
		assert_non_null(json_object_get(root, *member));
	}
	json_decref(root);
	root = json_loads(
		command_run("crash btree --count=100 --states=500 --output-format=json")->out, 0, &error);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), "consistent");
	static const char *const crash_members[] = {
		"mode", "states_tested", "states_distinct", "host_seconds", "findings"};

	NVW_EACH(member, crash_members, NVW_COUNT(crash_members)) {
		assert_non_null(json_object_get(root, *member));
	}
	json_decref(root);
}

TEST(a_run_is_told_in_a_few_lines_with_units)
{
	static const char *const rows[] = {"\nmemory accesses      ", "\nNVRAM                ",
		"\npersistent stores    ", " of work-groups, 0 of kernels; they waited ", "\nkv.operations ",
		"\nevery statistic: --statistics\n"};
	json_error_t error;
	json_t *const root =
		json_loads(command_run("run kv --count=100 --output-format=json")->out, 0, &error);
	const json_t *const stats = json_object_get(root, "stats");
	const long long misses = json_integer_value(json_object_get(stats, "l1.load_misses")),
			loads = misses + json_integer_value(json_object_get(stats, "l1.load_hits"));
	unsigned lines = 0;
	char row[80];

	assert_in_range(json_integer_value(json_object_get(stats, "sim_time")), 1000000, 999999999);
	const struct command_outcome *const o = command_run("run kv --count=100");

	assert_int_equal(o->status, 0);
	snprintf(row, sizeof row, "\nsimulated time       %.4g us\n",
		(double)json_integer_value(json_object_get(stats, "sim_time")) / 1e6);
	assert_has(o->out, row);
	snprintf(row, sizeof row, "\nL1 misses            %lld of %lld loads (", misses, loads);
	assert_has(o->out, row);
	for_each(row, rows) {
		assert_has(o->out, *row);
	}
	assert_lacks(o->out, "\nstore_buffer.forwards ");
	for (const char *at = o->out; (at = strchr(at, '\n')) != NULL; at++) {
		lines++;
	}
	assert_in_range(lines, 10, 25);
	/* There is nothing to say about the persistence of what keeps nothing. */
	assert_lacks(command_run("run sgemm --rows=32 --columns=48 --inner=16")->out, "persist barriers");
	command_refuses("run kv --count=9 --statistics --output-format=json", "--statistics has no effect");
	json_decref(root);
}

TEST(statistics_are_lines_between_markers)
{
	const struct command_outcome *const o = command_run("run kv --count=100 --statistics");

	assert_int_equal(o->status, 0);
	assert_has(o->out, "\n---------- Begin Simulation Statistics ----------\nsim_time ");
	assert_has(o->out, "  # simulated time of the measured part (ps)\n");
	assert_has(o->out, "\nhost_seconds ");
	assert_has(o->out, "\nhost_op_rate ");
	assert_has(o->out, "\nhost_mem_usage ");
	assert_has(o->out, "\n---------- End Simulation Statistics   ----------\n");
}

TEST(host_readers_are_measured_beside_the_kernels)
{
	static const char *const rows[] = {"gpu_operations", "gpu_rate", "lookups", "lookup_rate",
		"lookup_p50", "lookup_p99", "lookup_p999", "scans", "scan_rate", "scan_p50", "scan_p99",
		"scan_p999", "grace_periods"};
	static const char *const runs[] = {
		"run kv --host-readers=2 --count=600 --batch=100 --mix=put=80,delete=20",
		"run btree --host-readers=2 --count=600 --preload=300 --batch=100 --reader-scans=50"};

	for_each(given, runs) {
		const struct command_outcome *const o = command_run(*given);

		assert_int_equal(o->status, 0);
		assert_has(o->out, ": consistent, for host readers too\n");
		assert_has(o->out, "\nhost_readers.gpu_operations                   600 ");
		for_each(row, rows) {
			char line[64];

			snprintf(line, sizeof line, "\nhost_readers.%s ", *row);
			assert_has(o->out, line);
		}
	}
}

TEST(one_barrier_a_level_builds_a_right_tree_and_is_no_subject_of_crash_tests)
{
	static const char *const scopes[] = {"workgroup", "kernel"};

	for_each(row, scopes) {
		char words[160];

		snprintf(words, sizeof words,
			"run btree --barriers=paper --undo=off --count=3000 --preload=900 --batch=1000 "
			"--group-size=64 --scope=%s",
			*row);
		command_prints(words, ": consistent");
	}
	command_refuses("crash btree --barriers=paper --undo=off", "a crash may break the tree");
	command_refuses("run btree --barriers=paper", "give --undo=off");
}

TEST(host_readers_are_refused_where_nothing_is_served)
{
	command_refuses("run sgemm --host-readers=1", "sgemm does not support host readers");
	command_refuses("run btree --persist=off --host-readers=1", "host readers read durable data, but "
								    "this workload keeps nothing in NVRAM");
	command_refuses("run kv --host-readers=65", "--host-readers: expected a number from 0 to 64, "
						    "found \"65\"");
	command_refuses("run kv --host-readers=two", "--host-readers: expected a number from 0 to 64, "
						     "found \"two\"");
	command_refuses("run kv --host-readers=1 --reader-scans=101", "--reader-scans: expected a number "
								      "from 0 to 100, found \"101\"");
	command_refuses("run kv --host-readers", "--host-readers needs a value");
}

#define RACING "run kv --count=1500 --records=100 --mutate=split-publish --check=races"

TEST(races_are_told_with_their_source_lines_and_end_in_exit_status_1)
{
	json_error_t error;
	const json_t *races, *pair;
	json_t *root;

	command_prints("run kv --count=500 --check=races", "\nraces: none under HRF-indirect\n");
	command_prints("run btree --count=500 --check=races --protocol=hlrc", "\nraces: none under DRF\n");
	command_prints("run kv --count=500 --check=races:drf", "\nraces: none under DRF\n");
	command_expect(RACING, 1, "then   workloads/kv/kernel.c:", "");
	root = json_loads(command_run(RACING " --output-format=json")->out, 0, &error);
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

TEST(looking_for_races_changes_nothing_else)
{
	json_error_t error;
	json_t *const without = json_loads(
		command_run("run btree --count=500 --preload=500 --output-format=json")->out, 0, &error);
	json_t *const with = json_loads(
		command_run("run btree --count=500 --preload=500 --output-format=json --check=races")->out, 0,
		&error);

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

TEST(a_real_key_trace_runs_as_it_is)
{
	const char *const shared = getenv("SHARED_DATA");
	char path[512], words[1024];

	skip_if_sanitized();
	snprintf(path, sizeof path, "%s/keys/corda-trace_vaultservice.gz", shared ? shared : "");
	if (access(path, R_OK) != 0) {
		skip_test("%s is not here", path);
	}
	snprintf(words, sizeof words, "run kv --keys=%s --output-format=json", path);
	command_prints(words, "\"kv.operations\": 135702");
}

/* A model that forbids what every machine does: exit status 1; a mistake in the text: 2, with its line. */
TEST(litmus_tests_have_verdicts_and_exit_statuses)
{
	static const char *const texts[][2] = {
		{"good.litmus", "test a\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==0\nverdict forbidden\n"},
		{"bad.litmus", "test b\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==1\nverdict forbidden\n"},
		{"wrong.litmus", "test c\nmodel HRF\nP0@wg0{W(plain) x=}\n"},
	};
	char path[3][96], words[256];

	NVW_FOR(i, 3) {
		FILE *f;

		snprintf(path[i], sizeof path[i], "%s/%s", command_dir(), texts[i][0]);
		f = fopen(path[i], "w");
		assert_non_null(f);
		fputs(texts[i][1], f);
		fclose(f);
	}
	snprintf(words, sizeof words, "litmus %s --protocol=each --brief", path[0]);
	command_prints(words, "a under hlrc-scoped: ok");
	snprintf(words, sizeof words, "litmus %s --output-format=json", path[1]);
	command_expect(words, 1, "\"verdict\": \"FORBIDDEN SEEN\"", "");
	snprintf(words, sizeof words, "litmus %s", path[2]);
	command_refuses(words, "wrong.litmus:3: expected a number or a register, found \"}\"");
	snprintf(words, sizeof words, "litmus %s --protocol=hrlc", path[0]);
	command_refuses(words, "did you mean hlrc?");
	snprintf(words, sizeof words, "litmus %s --test=zzz", path[0]);
	command_refuses(words, "no test's name contains \"zzz\"");
	command_refuses("litmus", "expected .litmus files");
	NVW_EACH(one, path, 3) {
		unlink(*one);
	}
}

GROUP(command_set_up, command_tear_down);
