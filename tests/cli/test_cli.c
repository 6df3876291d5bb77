/* SPDX-License-Identifier: BSD-3-Clause */
/* The command as its users meet it: run as a process, its exit status, what it says and what it leaves
 * behind. */
#include "command.h"
#include "common/json.h"
#include "common/skip.h"

#include <stdlib.h>
#include <string.h>

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
		const char *const machine = machines[i / 3], *const protocol = protocols[i % 3];

		command_prints(formatted("run kv --count=300 --machine=%s --protocol=%s", machine, protocol),
			formatted("kv on %s, protocol %s", machine, protocol));
	}
}

TEST(a_wrong_machine_file_is_refused_with_its_line)
{
	write_text("m.ini", "[gpu]\ncus = 8\n[nvram]\nwrite = 300\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:4: nvram.write: 300 has no unit");
	write_text("m.ini", "[gpu]\ncuss = 8\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:2: gpu.cuss is not a key of a machine; did "
						     "you mean gpu.cus?");
	write_text("m.ini", "[gpu]\nthis is no line\n");
	command_refuses("run kv --machine=%D/m.ini", "m.ini:2:");
	command_remove("m.ini");
}

TEST(a_machine_that_was_dumped_is_the_same_machine)
{
	char first[8192], second[8192];

	command_prints(
		"run kv --count=10 --set gpu.cus=7 --set gpu.clock=800MHz --set nvram.write=0x100ns --set "
		"l1.latency=9cycles "
		"--dump-machine=%D/a.ini",
		"");
	command_prints("run kv --count=10 --machine=%D/a.ini --dump-machine=%D/b.ini", "");
	command_read("a.ini", first, sizeof first);
	command_read("b.ini", second, sizeof second);
	assert_has(first, "cus = 7");
	assert_has(first, "write = 256ns");
	assert_has(first, "latency = 9cycles");
	assert_string_equal(strchr(first, '\n'), strchr(second, '\n'));
	clean();
}

/* ---- Keys ---------------------------------------------------------------------------------- */

TEST(empty_and_malformed_key_files_are_refused)
{
	write_text("keys", "");
	command_refuses("run kv --keys=%D/keys", "keys");
	write_text("keys", "12\n13\npotato\n");
	command_refuses("run kv --keys=%D/keys", "keys:3");
	command_refuses("run btree --keys=%D/keys", "keys:3");
	write_text("keys", "12\n13\n14\n");
	command_prints("run btree --keys=%D/keys", "consistent");
	command_remove("keys");
}

/* An empty file of the library's name in front of the real one. */
TEST(a_missing_library_is_missed_by_those_alone_who_need_it)
{
	const char *const path = getenv("LD_LIBRARY_PATH");
	char *const before = path ? strdup(path) : NULL;

	write_text("libarchive.so.13", "");
	write_text("keys", "12\n");
	setenv("LD_LIBRARY_PATH", dir, 1);
	command_prints("run kv --count=1", "consistent");
	command_refuses("run kv --keys=%D/keys", "keys: cannot be read without libarchive.so.13");
	before ? setenv("LD_LIBRARY_PATH", before, 1) : unsetenv("LD_LIBRARY_PATH");
	free(before);
	clean();
}

static json_t *json_of(const char *words)
{
	json_t *const o = json_loads(command_run(words)->out, 0, NULL);

	assert_non_null(o);
	return o;
}

/* ---- Results ------------------------------------------------------------------------------- */

TEST(json_of_run_and_crash_has_what_is_promised)
{
	static const char *const of_run[] = {"workload", "machine", "protocol", "seed", "sim_time_ns",
		"work_item_ops", "host_seconds", "stats"};
	static const char *const of_crash[] = {
		"mode", "states_tested", "states_distinct", "host_seconds", "findings"};
	json_auto_t *run = json_of("run kv --count=200 --output-format=json"),
		    *crash = json_of("crash btree --count=100 --states=500 --output-format=json");

	for_each(member, of_run) {
		assert_non_null(json_at(run, *member));
	}
	assert_string_equal(text_at(crash, "verdict"), "consistent");
	for_each(member, of_crash) {
		assert_non_null(json_at(crash, *member));
	}
}

TEST(a_run_is_told_in_a_few_lines_with_units)
{
	json_auto_t *root = json_of("run kv --count=100 --output-format=json");
	const json_t *const stats = json_at(root, "stats");
	const long long misses = json_integer_value(json_object_get(stats, "l1.load_misses")),
			loads = misses + json_integer_value(json_object_get(stats, "l1.load_hits"));
	unsigned lines = 0;

	assert_in_range(integer_at(stats, "sim_time"), 1000000, 999999999);
	const struct command_outcome *const o = command_run("run kv --count=100");

	assert_int_equal(o->status, 0);
	assert_has(o->out,
		formatted("\nsimulated time       %.4g us\n", (double)integer_at(stats, "sim_time") / 1e6),
		formatted("\nL1 misses            %lld of %lld loads (", misses, loads),
		"\nmemory accesses      ", "\nNVRAM                ", "\npersistent stores    ",
		" of work-groups, 0 of kernels; they waited ", "\nkv.operations ",
		"\nevery statistic: --statistics\n");
	assert_lacks(o->out, "\nstore_buffer.forwards ");
	for (const char *at = o->out; (at = strchr(at, '\n')) != NULL; at++) {
		lines++;
	}
	assert_in_range(lines, 10, 25);
	/* There is nothing to say about the persistence of what keeps nothing. */
	assert_lacks(command_run("run sgemm --rows=32 --columns=48 --inner=16")->out, "persist barriers");
	command_refuses("run kv --count=9 --statistics --output-format=json", "--statistics has no effect");
}

TEST(statistics_are_lines_between_markers)
{
	const struct command_outcome *const o = command_run("run kv --count=100 --statistics");

	assert_int_equal(o->status, 0);
	assert_has(o->out, "\n---------- Begin Simulation Statistics ----------\nsim_time ",
		"  # simulated time of the measured part (ps)\n", "\nhost_seconds ", "\nhost_op_rate ",
		"\nhost_mem_usage ", "\n---------- End Simulation Statistics   ----------\n");
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
		assert_has(o->out, ": consistent, for host readers too\n",
			"\nhost_readers.gpu_operations                   600 ");
		for_each(row, rows) {
			assert_has(o->out, formatted("\nhost_readers.%s ", *row));
		}
	}
}

TEST(one_barrier_a_level_builds_a_right_tree_and_is_no_subject_of_crash_tests)
{
	static const char *const scopes[] = {"workgroup", "kernel"};

	for_each(row, scopes) {
		command_prints(formatted("run btree --barriers=paper --undo=off --count=3000 --preload=900 "
					 "--batch=1000 --group-size=64 --scope=%s",
				       *row),
			": consistent");
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
	command_prints("run kv --count=500 --check=races", "\nraces: none under HRF-indirect\n");
	command_prints("run btree --count=500 --check=races --protocol=hlrc", "\nraces: none under DRF\n");
	command_prints("run kv --count=500 --check=races:drf", "\nraces: none under DRF\n");
	command_finds(RACING, "then   workloads/kv/kernel.c:");
	json_auto_t *root = json_of(RACING " --output-format=json");
	const json_t *const races = json_at(root, "races");

	assert_string_equal(text_at(races, "model"), "HRF-indirect");
	assert_true(integer_at(races, "count") > 0);
	assert_string_equal(text_at(races, "pairs.0.kind"), "data");
	assert_string_equal(text_at(races, "pairs.0.first.file"), "workloads/kv/kernel.c");
	assert_true(integer_at(races, "pairs.0.then.line") > 0);
}

TEST(looking_for_races_changes_nothing_else)
{
#define RUN "run btree --count=500 --preload=500 --output-format=json"
	json_auto_t *without = json_of(RUN), *with = json_of(RUN " --check=races");

	assert_true(json_equal(json_at(without, "sim_time_ns"), json_at(with, "sim_time_ns")));
	assert_true(json_equal(json_at(without, "work_item_ops"), json_at(with, "work_item_ops")));
	assert_null(json_at(without, "races"));
}

TEST(a_real_key_trace_runs_as_it_is)
{
	static const char keys[] = "keys/corda-trace_vaultservice.gz";
	const char *const path = shared_data(keys);

	skip_if_sanitized();
	if (!path) {
		skip_test("%s is not here", keys);
	}
	command_prints(formatted("run kv --keys=%s --output-format=json", path), "\"kv.operations\": 135702");
}

/* A model that forbids what every machine does: exit status 1; a mistake in the text: 2, with its line. */
TEST(litmus_tests_have_verdicts_and_exit_statuses)
{
	write_text(
		"good.litmus", "test a\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==0\nverdict forbidden\n");
	write_text(
		"bad.litmus", "test b\nmodel HRF\nP0@wg0{W(plain) x=1}\noutcome x==1\nverdict forbidden\n");
	write_text("wrong.litmus", "test c\nmodel HRF\nP0@wg0{W(plain) x=}\n");
	command_prints("litmus %D/good.litmus --protocol=each --brief", "a under hlrc-scoped: ok");
	command_finds("litmus %D/bad.litmus --output-format=json", "\"verdict\": \"FORBIDDEN SEEN\"");
	command_refuses(
		"litmus %D/wrong.litmus", "wrong.litmus:3: expected a number or a register, found \"}\"");
	command_refuses("litmus %D/good.litmus --protocol=hrlc", "did you mean hlrc?");
	command_refuses("litmus %D/good.litmus --test=zzz", "no test's name contains \"zzz\"");
	command_refuses("litmus", "expected .litmus files");
	clean();
}

GROUP_OF_COMMANDS();
