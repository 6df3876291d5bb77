/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA programs on the machine: values come from the caches, races are told, registered files are NVRAM,
 * kernels that wait go on or are told. Without clang every test says that it is left out.
 */
#include "nvcc.h"

static void looking_a_line_up_leaves_the_stacks_of_other_work_items_alone(void **state)
{
	NEEDS_MACHINE();
	build("-rdc=true -O1", "aside", SOURCE("aside.cu") " " SOURCE("parts.cu"));
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./aside", nvwave), 0);
	assert_string_equal(output, "0 words of frames are wrong: cudaSuccess\n");
}

static void build_machine(void)
{
	build_once("-O1", "machine", SOURCE("machine.cu"));
}

static void a_load_on_the_machine_finds_what_a_store_left_there(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("timeout 60 %s exec --protocol=vi --report=report -- ./machine loads", nvwave), 0);
	assert_string_equal(output, "0 wrong\n");
}

static void values_come_from_the_caches(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("./machine no-fences && %s exec --protocol=gh --report=report -- ./machine fences",
			nvwave),
		0);
	assert_string_equal(output, "42 42\n42 42\n");
	assert_int_equal(run("%s exec --protocol=gh --report=report -- ./machine no-fences", nvwave), 0);
	assert_string_equal(output, "42 0\n"); /* stale: nothing has invalidated the L1's copy */
	assert_int_equal(run("%s exec --protocol=gh --report=report -- ./machine sums", nvwave), 0);
	assert_string_equal(output, "832 0\n");
}

static void races_are_told_with_their_lines(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --check=races --volatile=atomic --protocol=gh -- ./machine fences", nvwave), 0);
	assert_output_has("no races");
	assert_int_equal(run("%s exec --check=races --protocol=gh -- ./machine fences", nvwave), 1);
	assert_output_has("volatile load at ");
	assert_null(strstr(output, ": load at ")); /* what the flag orders is ordered */
	assert_int_equal(run("%s exec --check=races --protocol=gh -- ./machine no-fences", nvwave), 1);
	assert_output_has("race in kernel hand_over_without_fences: ");
	assert_output_has("machine.cu:28 and load at ");
	assert_output_has("machine.cu:31, ");
}

/* Not that of our header, nor what called the kernel. */
static void an_atomic_that_races_is_told_with_its_line(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec --check=races --protocol=gh -- ./machine published", nvwave), 1);
	assert_output_has("atomic compare-exchange at ");
	assert_output_has("machine.cu:227 and store at ");
	assert_output_has("machine.cu:225, ");
	assert_int_equal(
		run("%s exec --check=races --protocol=gh -- ./machine published-in-branches", nvwave), 1);
	assert_output_has("machine.cu:225 and atomic compare-exchange at ");
	assert_output_has("machine.cu:219, ");
	assert_null(strstr(output, "pmem.")); /* the host has flushed nothing */
	assert_output_has("host.seconds ");
}

static void accesses_past_the_l1_see_what_is_stored_elsewhere(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	for (int how = 0; how < 3; how++) {
		int first, second;

		assert_int_equal(run("timeout 60 %s exec --protocol=vi --report=report -- ./machine past%d",
					 nvwave, how),
			0);
		assert_int_equal(sscanf(output, "%d %d", &first, &second), 2);
		assert_int_equal(first, 5 + how);
		assert_int_equal(second, 5 + how);
	}
}

static void kernels_that_run_by_themselves_are_told(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec -- ./machine published", nvwave), 0);
	assert_output_has("note: 1 kernel ran by itself; --protocol=NAME puts kernels on the machine\n");
	assert_null(strstr(output, "pmem."));
	assert_null(strstr(output, "delay."));
	assert_null(strstr(output, "libpmem"));
	assert_int_equal(run("%s exec --protocol=gh -- ./machine published", nvwave), 0);
	assert_null(strstr(output, "by itself"));
	assert_int_equal(run("%s exec --delays=off -- true", nvwave), 0);
	assert_output_has("pmem.flushes "); /* of a program without kernels, none is worth a line */
	assert_null(strstr(output, "by itself"));
}

/* Under protocols that know scopes and that do not. */
static void wrong_scopes_fences_and_locks_are_told_and_right_ones_are_not(void **state)
{
	static const char *const protocols[] = {"vi", "hlrc"};

	NEEDS_MACHINE();
	build("-O1", "scopes", SOURCE("scopes.cu"));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			run("%s exec --check=races --protocol=%s -- ./scopes right", nvwave, protocols[i]),
			0);
		assert_output_has("no races");
		assert_int_equal(
			run("for s in $(./scopes); do %s exec --check=races --protocol=%s --report=found "
			    "-- ./scopes $s; test $? = 1 && grep -q ^race found || echo missed $s; done",
				nvwave, protocols[i]),
			0);
		assert_string_equal(output, "");
	}
	assert_int_equal(
		run("%s exec --check=races --protocol=hlrc -- ./scopes race:message-of-a-block", nvwave), 1);
	assert_output_has("times, scope mismatch\n");
}

/* The fence has any scope, and there are any number of work-items. */
static void a_fence_races_with_nothing_and_orders_nothing_by_itself(void **state)
{
	static const char *const models[] = {"races", "races:hrf", "races:drf"};

	NEEDS_MACHINE();
	build_machine();
	for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
		assert_int_equal(
			run("%s exec --check=%s --protocol=gh -- ./machine many-fences", nvwave, models[i]),
			0);
		assert_output_has("no races");
		assert_int_equal(
			run("%s exec --check=%s --protocol=gh -- ./machine fences-alone", nvwave, models[i]),
			1);
		assert_output_has("machine.cu:203 and load at ");
		assert_output_has("machine.cu:209, ");
	}
}

/* Statistics of the kernels in a report. */
static long long statistic(const char *name)
{
	const char *const at = strstr(output, name);

	return at ? atoll(at + strlen(name) + 2) : -1;
}

static void each_kernel_has_its_time_and_statistics(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=dd --output-format=json --report=report -- ./machine sums >sums && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"launches\""), 2);
	assert_int_equal(statistic("\"work_items\""), 320);
	assert_int_equal(statistic("\"gpu.work_item_ops\""), 832);
	assert_true(statistic("\"sim_time_ps\"") > 0);
	assert_int_equal(
		run("sed '/seconds/d; /made_by/,/^  }/d' report >first; %s exec --protocol=dd "
		    "--output-format=json --report=report -- "
		    "./machine sums >sums && sed '/seconds/d; /made_by/,/^  }/d' report | diff first -",
			nvwave),
		0);
}

/* ---- NVRAM --------------------------------------------------------------------------------------- */

static void registered_files_are_nvram(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist1 && "
		    "cat report",
			nvwave),
		0);
	assert_output_has("7 64 1\n");
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
	assert_true(statistic("\"nvram.words\"") >= 64);
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist2 && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wg\""), 2);
	assert_int_equal(run("od -An -td8 -j64 -N16 pool"), 0);
	assert_output_has("                    1                    1\n");
}

/* Stores without any barrier: what a machine of GPM's loses of them, one with eADR keeps. */
static void what_a_kernel_has_stored_is_durable_under_eadr(void **state)
{
	static const char *const command =
		"rm -f pool; %s crash --exec='./machine persist0 pool' --image=pool --check='./machine "
		"check' --states=100 --model=%s --machine=%s";

	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run(command, nvwave, "epoch", "gpm22"), 1);
	assert_output_has("INCONSISTENT");
	assert_int_equal(run(command, nvwave, "eadr", "gpm22-eadr"), 0);
	assert_output_has("NO FAILURE FOUND in 100 of ");
	assert_int_equal(run(command, nvwave, "epoch", "gpm22-eadr"), 2);
	assert_output_has(
		"crash: --model=epoch: the caches are lost in it, and nvram.domain=eadr keeps them: "
		"expected --model=eadr\n");
}

static void a_fence_of_the_system_persists_where_the_machine_says_so(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist3 && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wi\""), 0);
	assert_int_equal(run("%s exec --protocol=vi --set host.fence_system=durable --output-format=json "
			     "--report=report -- ./machine persist3 && "
			     "cat report",
				 nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
}

/* oFence and pRel of SBRP (sbrp23 5) are PTX's fence and store. */
static void instructions_of_sbrp_persist_as_the_machine_says(void **state)
{
	static const struct {
		const char *set;
		long long barriers;
	} machines[] = {{"", 0}, {"--set host.sbrp=barriers", 4}};

	NEEDS_MACHINE();
	build_machine();
	for (unsigned i = 0; i < sizeof machines / sizeof *machines; i++) {
		assert_int_equal(
			run("%s exec --protocol=vi %s --output-format=json --report=report -- ./machine "
			    "persist4 && cat report",
				nvwave, machines[i].set),
			0);
		assert_int_equal(statistic("\"persist.barriers_wi\""), machines[i].barriers);
	}
	assert_int_equal(run("%s exec --set host.sbrp=refused -- ./machine persist4 2>&1", nvwave), 1);
	assert_output_has(
		"machine.cu:57 (appends): kernel appends, block (0,0,0), thread (0,0,0): oFence of scope "
		"device: "
		"inline PTX that is SBRP's is refused (host.sbrp=refused)\n");
	assert_int_equal(
		run("rm -f pool; %s crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		    "check' --states=200",
			nvwave),
		1);
	assert_output_has("is marked and not there");
	assert_output_has("machine.cu:58 (appends)  store of 8 bytes at 0x");
	assert_int_equal(
		run("rm -f pool; %s crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		    "check' --states=200 --set host.sbrp=barriers",
			nvwave),
		0);
}

/* ---- Programs ------------------------------------------------------------------------------------ */

/* Programs that check their own results. */
static void shipped_programs_are_right_and_have_no_races(void **state)
{
	static const char *const names[] = {"vector_add", "reduction", "scan", "matmul", "histogram"},
				 *const sizes[] = {"1000", "1000", "1000", "32", "1000"};

	NEEDS_MACHINE();
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		char source[4096];

		snprintf(source, sizeof source, CUDA_EXAMPLES "/%s.cu", names[i]);
		build("-O2 -arch=sm_70", names[i], source);
		assert_int_equal(run("./%s", names[i]), 0);
		assert_string_equal(output, "right\n");
		assert_int_equal(
			run("%s exec --check=races --protocol=dd -- ./%s %s", nvwave, names[i], sizes[i]), 0);
		assert_output_has("right\n");
		assert_output_has("no races");
	}
}

static void accesses_of_odd_and_large_sizes_have_the_right_values(void **state)
{
	NEEDS_MACHINE();
	for (unsigned i = 0; i < 2; i++) {
		build(i ? "-O2" : "-O0", "wide", SOURCE("wide.cu"));
		assert_int_equal(run("./wide"), 0);
		assert_string_equal(output, "wrong: 0\n");
		assert_int_equal(
			run("%s exec --check=races --report=report -- ./wide && cat report", nvwave), 0);
		assert_output_has("wrong: 0\n");
		assert_output_has("no races");
	}
}

static void kernels_see_what_the_host_has_changed_in_between(void **state)
{
	static const char *const protocols[] = {"vi", "hlrc", "dd"};

	NEEDS_MACHINE();
	build("-O1", "changes", SOURCE("changes.cu"));
	assert_int_equal(run("./changes"), 0);
	assert_string_equal(output, "wrong: 0, cudaSuccess\n");
	for (unsigned i = 0; i < sizeof protocols / sizeof *protocols; i++) {
		assert_int_equal(
			run("%s exec --protocol=%s --report=report -- ./changes", nvwave, protocols[i]), 0);
		assert_output_has("wrong: 0, cudaSuccess\n");
		assert_output_has("a new machine, with cold caches");
	}
}

static void a_managed_variable_is_one_for_the_host_and_for_kernels(void **state)
{
	static const char *const protocols[] = {"vi", "hlrc", "dd"};

	NEEDS_MACHINE();
	build("-O1", "managed", SOURCE("managed.cu"));
	assert_int_equal(run("./managed"), 0);
	for (unsigned i = 0; i < sizeof protocols / sizeof *protocols; i++) {
		assert_int_equal(
			run("%s exec --protocol=%s --report=report -- ./managed", nvwave, protocols[i]), 0);
	}
	assert_int_equal(
		run("echo 'static __managed__ int own; __global__ void k() { own = 1; }' >own.cu; " NVCC
		    " -c own.cu"),
		1);
	assert_output_has("own: nvwave does not support static __managed__ variables\n");
}

static void a_kernel_without_memory_for_a_block_fails_with_a_message(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./machine memory", nvwave), 0);
	assert_output_has("nvwave: kernel sums_up: no memory for a block of 32 work-items\n");
	assert_output_has("cudaErrorMemoryAllocation\n");
}

/* ---- Kernels that wait --------------------------------------------------------------------------- */

/* Runs it until it says that it waits, or ends. */
static void run_until_told(const char *command)
{
	build_once("-O1", "waits", SOURCE("waits.cu"));
	(void)run("rm -f said; %s >said 2>&1 & p=$!; i=0; while ! grep -q waits: said && kill -0 $p "
		  "2>/dev/null && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
		  "kill $p 2>/dev/null; wait $p; cat said",
		command);
}

static void a_kernel_that_waits_for_a_later_store_of_the_host_is_told(void **state)
{
	NEEDS_CLANG();
	run_until_told("exec ./waits late");
	assert_output_has("waits.cu:15 (wait)");
	assert_output_has("kernel wait, block (0,0,0), thread (");
	assert_output_has("a store that it makes there comes too late");
	assert_int_equal(run("./waits thread"), 0);
	assert_string_equal(output, "0\n");
}

static void likewise_on_the_machine(void **state)
{
	char command[512];

	NEEDS_MACHINE();
	snprintf(command, sizeof command, "exec %s exec --protocol=vi -- ./waits late", nvwave);
	run_until_told(command);
	assert_output_has("waits.cu:15 (wait)");
	assert_output_has("on the machine no store of the host comes before that");
}

static void work_items_that_wait_for_each_other_by_shared_variables_go_on(void **state)
{
	static const char *const protocols[] = {"vi", "dd"};

	NEEDS_MACHINE();
	build_once("-O1", "waits", SOURCE("waits.cu"));
	assert_int_equal(run("timeout 20 ./waits shared"), 0);
	assert_string_equal(output, "no error\n95\n");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run("timeout 20 %s exec --protocol=%s --report=report -- ./waits shared",
					 nvwave, protocols[i]),
			0);
		assert_string_equal(output, "no error\n95\n");
	}
}

static void sleeping_takes_simulated_time(void **state)
{
	const char *at;

	NEEDS_MACHINE();
	build_once("-O1", "waits", SOURCE("waits.cu"));
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./waits sleep && cat "
		    "report",
			nvwave),
		0);
	at = strstr(output, "\"sim_time_ps\"");
	assert_non_null(at);
	assert_in_range(atoll(at + 15), 5000000, 6000000);
}

/* ---- Without stacks ------------------------------------------------------------------------------ */

/* Output and report, but for what the host's clock says, of a run as the environment asks. */
static void run_as(const char *environment, const char *protocol, const char *program, const char *into)
{
	run("rm -f pool report; %s timeout 60 %s exec --protocol=%s --check=races --output-format=json "
	    "--report=report -- %s >%s 2>&1; echo $? >>%s; sed '/seconds/d; /made_by/,/^  }/d' report >>%s",
		environment, nvwave, protocol, program, into, into, into);
}

/* Those that no test before has built. */
static void build_programs(void)
{
	static const char *const names[] = {"wide", "changes", "waits", "scopes"}, *const examples[] = {
											   "vector_add",
											   "reduction",
											   "scan", "matmul",
											   "histogram"};
	char source[4096];

	build_machine();
	build_once("-rdc=true -O1", "aside", SOURCE("aside.cu") " " SOURCE("parts.cu"));
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(source, sizeof source, SOURCE("%s.cu"), names[i]);
		build_once("-O1", names[i], source);
	}
	for (unsigned i = 0; i < sizeof examples / sizeof *examples; i++) {
		snprintf(source, sizeof source, CUDA_EXAMPLES "/%s.cu", examples[i]);
		build_once("-O2 -arch=sm_70", examples[i], source);
	}
}

static void a_kernel_is_the_same_with_stacks_and_without(void **state)
{
	static const char *const programs[] = {"./machine loads", "./machine fences", "./machine no-fences",
		"./machine sums", "./machine published", "./machine published-in-branches",
		"./machine persist1", "./machine persist2", "./machine persist3", "./machine memory",
		"./machine many-fences", "./aside", "./changes", "./wide", "./waits shared", "./waits sleep",
		"./scopes right", "./vector_add 1000", "./reduction 1000", "./scan 1000", "./matmul 32",
		"./histogram 1000"};
	static const char *const protocols[] = {"vi", "dd", "hlrc"};

	NEEDS_MACHINE();
	build_programs();
	for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
		const char *const protocol = protocols[i % 3];

		run_as("", protocol, programs[i], "without");
		run_as("NVWAVE_CUDA_STACKS=1", protocol, programs[i], "with");
		if (run("cmp with without && grep -q sim_time_ps with")) {
			print_error("%s, %s: %s", programs[i], protocol, output);
			fail();
		}
	}
}

/* All of them have begun before the first ends: the machine has room. */
static void a_million_work_items_take_two_gigabytes(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec --protocol=vi --set gpu.cus=128 --set "
			     "gpu.wavefronts_per_cu=256 --report=report -- ./machine resident 1048576",
				 nvwave),
		0);
	assert_in_range(
		strtoull(output, NULL, 10), 1 << 18, 2 << 20); /* KiB; its structures alone take 256 MiB */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_of_sbrp_persist_as_the_machine_says),
		cmocka_unit_test(a_kernel_that_waits_for_a_later_store_of_the_host_is_told),
		cmocka_unit_test(likewise_on_the_machine),
		cmocka_unit_test(sleeping_takes_simulated_time),
		cmocka_unit_test(work_items_that_wait_for_each_other_by_shared_variables_go_on),
		cmocka_unit_test(looking_a_line_up_leaves_the_stacks_of_other_work_items_alone),
		cmocka_unit_test(a_load_on_the_machine_finds_what_a_store_left_there),
		cmocka_unit_test(values_come_from_the_caches),
		cmocka_unit_test(races_are_told_with_their_lines),
		cmocka_unit_test(an_atomic_that_races_is_told_with_its_line),
		cmocka_unit_test(accesses_past_the_l1_see_what_is_stored_elsewhere),
		cmocka_unit_test(kernels_that_run_by_themselves_are_told),
		cmocka_unit_test(wrong_scopes_fences_and_locks_are_told_and_right_ones_are_not),
		cmocka_unit_test(a_fence_races_with_nothing_and_orders_nothing_by_itself),
		cmocka_unit_test(each_kernel_has_its_time_and_statistics),
		cmocka_unit_test(registered_files_are_nvram),
		cmocka_unit_test(what_a_kernel_has_stored_is_durable_under_eadr),
		cmocka_unit_test(a_fence_of_the_system_persists_where_the_machine_says_so),
		cmocka_unit_test(shipped_programs_are_right_and_have_no_races),
		cmocka_unit_test(accesses_of_odd_and_large_sizes_have_the_right_values),
		cmocka_unit_test(kernels_see_what_the_host_has_changed_in_between),
		cmocka_unit_test(a_managed_variable_is_one_for_the_host_and_for_kernels),
		cmocka_unit_test(a_kernel_without_memory_for_a_block_fails_with_a_message),
		cmocka_unit_test(a_kernel_is_the_same_with_stacks_and_without),
		cmocka_unit_test(a_million_work_items_take_two_gigabytes),
	};

	return run_all(tests, sizeof tests / sizeof *tests);
}
