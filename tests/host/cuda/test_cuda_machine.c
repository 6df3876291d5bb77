/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA programs on the machine: values come from the caches, races are told, registered files are NVRAM,
 * kernels that wait go on or are told. Without clang every test says that it is left out.
 */
#include "nvcc.h"

static void build_aside(void)
{
	build_once("-rdc=true -O1", "aside", SOURCE("aside.cu") " " SOURCE("parts.cu"));
}

TEST(looking_a_line_up_leaves_the_stacks_of_other_work_items_alone)
{
	NEEDS_MACHINE();
	build_aside();
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./aside");
	assert_string_equal(output, "0 words of frames are wrong: cudaSuccess\n");
}

TEST(a_kernel_of_many_accesses_in_a_row_is_divided_at_each)
{
	NEEDS_MACHINE();
	succeeds(NVCC " -O2 -Xcompiler -O0 -o unrolled " SOURCE("unrolled.cu"));
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./unrolled");
	assert_string_equal(output, "0 wrong\n");
}

static void build_machine(void)
{
	build_together("-O1 -Xcompiler -O0", SOURCE("machine.cu"), SOURCE("scopes.cu"));
}

/* Kernels that wait for each other, and programs that check their own results. */
static void build_others(void)
{
	build_together("-O2 -arch=sm_70 -Xcompiler -O0", SOURCE("waits.cu"),
		SOURCE("wide.cu") " " CUDA_EXAMPLES "/vector_add.cu " CUDA_EXAMPLES
				  "/reduction.cu " CUDA_EXAMPLES "/scan.cu " CUDA_EXAMPLES
				  "/matmul.cu " CUDA_EXAMPLES "/histogram.cu");
}

TEST(a_load_on_the_machine_finds_what_a_store_left_there)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("timeout 60 $NVWAVE exec --protocol=vi --report=report -- ./machine loads");
	assert_string_equal(output, "0 wrong\n");
}

TEST(values_come_from_the_caches)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("./machine no-fences && $NVWAVE exec --protocol=gh --report=report -- ./machine fences");
	assert_string_equal(output, "42 42\n42 42\n");
	succeeds("$NVWAVE exec --protocol=gh --report=report -- ./machine no-fences");
	assert_string_equal(output, "42 0\n"); /* stale: nothing has invalidated the L1's copy */
	succeeds("$NVWAVE exec --protocol=gh --report=report -- ./machine sums");
	assert_string_equal(output, "832 0\n");
}

TEST(races_are_told_with_their_lines)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --check=races --volatile=atomic --protocol=gh -- ./machine fences");
	assert_output_has("no races");
	exits(1, "$NVWAVE exec --check=races --protocol=gh -- ./machine fences");
	assert_output_has("volatile load at ");
	assert_output_lacks(": load at "); /* what the flag orders is ordered */
	exits(1, "$NVWAVE exec --check=races --protocol=gh -- ./machine no-fences");
	assert_output_has(
		"race in kernel hand_over_without_fences: ", "machine.cu:28 and load at ", "machine.cu:31, ");
}

/* Not that of our header, nor what called the kernel. */
TEST(an_atomic_that_races_is_told_with_its_line)
{
	NEEDS_MACHINE();
	build_machine();
	exits(1, "$NVWAVE exec --check=races --protocol=gh -- ./machine published");
	assert_output_has("atomic compare-exchange at ", "machine.cu:227 and store at ", "machine.cu:225, ");
	exits(1, "$NVWAVE exec --check=races --protocol=gh -- ./machine published-in-branches");
	assert_output_has("machine.cu:225 and atomic compare-exchange at ", "machine.cu:219, ");
	assert_output_lacks("pmem."); /* the host has flushed nothing */
	assert_output_has("host.seconds ");
}

TEST(accesses_past_the_l1_see_what_is_stored_elsewhere)
{
	NEEDS_MACHINE();
	build_machine();
	NVW_FOR(how, 3) {
		int first, second;

		succeeds("timeout 60 $NVWAVE exec --protocol=vi --report=report -- ./machine past%d", how);
		assert_int_equal(sscanf(output, "%d %d", &first, &second), 2);
		assert_int_equal(first, 5 + how);
		assert_int_equal(second, 5 + how);
	}
}

TEST(kernels_that_run_by_themselves_are_told)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec -- ./machine published");
	assert_output_has("note: 1 kernel ran by itself; --protocol=NAME puts kernels on the machine\n");
	assert_output_lacks("pmem.");
	assert_output_lacks("delay.");
	assert_output_lacks("libpmem");
	succeeds("$NVWAVE exec --protocol=gh -- ./machine published");
	assert_output_lacks("by itself");
	succeeds("$NVWAVE exec --delays=off -- true");
	assert_output_has("pmem.flushes "); /* of a program without kernels, none is worth a line */
	assert_output_lacks("by itself");
}

/* Under protocols that know scopes and that do not. */
TEST(wrong_scopes_fences_and_locks_are_told_and_right_ones_are_not)
{
	static const char *const protocols[] = {"vi", "hlrc"};

	NEEDS_MACHINE();
	build_machine();
	for_each(row, protocols) {
		succeeds("$NVWAVE exec --check=races --protocol=%s -- ./scopes right", *row);
		assert_output_has("no races");
		succeeds("for s in $(./scopes); do $NVWAVE exec --check=races --protocol=%s --report=found "
			 "-- ./scopes $s; test $? = 1 && grep -q ^race found || echo missed $s; done",
			*row);
		assert_string_equal(output, "");
	}
	exits(1, "$NVWAVE exec --check=races --protocol=hlrc -- ./scopes race:message-of-a-block");
	assert_output_has("times, scope mismatch\n");
}

/* The fence has any scope, and there are any number of work-items. */
TEST(a_fence_races_with_nothing_and_orders_nothing_by_itself)
{
	static const char *const models[] = {"races", "races:hrf", "races:drf"};

	NEEDS_MACHINE();
	build_machine();
	for_each(model, models) {
		succeeds("$NVWAVE exec --check=%s --protocol=gh -- ./machine many-fences", *model);
		assert_output_has("no races");
		exits(1, "$NVWAVE exec --check=%s --protocol=gh -- ./machine fences-alone", *model);
		assert_output_has("machine.cu:203 and load at ", "machine.cu:209, ");
	}
}

/* Statistics of the kernels in a report. */
static long long statistic(const char *name)
{
	const char *const at = strstr(output, name);

	return at ? atoll(at + strlen(name) + 2) : -1;
}

TEST(each_kernel_has_its_time_and_statistics)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --protocol=dd --output-format=json --report=report -- ./machine sums >sums && "
		 "cat report");
	assert_int_equal(statistic("\"launches\""), 2);
	assert_int_equal(statistic("\"work_items\""), 320);
	assert_int_equal(statistic("\"gpu.work_item_ops\""), 832);
	assert_true(statistic("\"sim_time_ps\"") > 0);
	succeeds("sed '/seconds/d; /made_by/,/^  }/d' report >first; $NVWAVE exec --protocol=dd "
		 "--output-format=json --report=report -- "
		 "./machine sums >sums && sed '/seconds/d; /made_by/,/^  }/d' report | diff first -");
}

/* ---- NVRAM --------------------------------------------------------------------------------------- */

TEST(registered_files_are_nvram)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --protocol=vi --output-format=json --report=report -- ./machine persist1 && "
		 "cat report");
	assert_output_has("7 64 1\n");
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
	assert_true(statistic("\"nvram.words\"") >= 64);
	succeeds("$NVWAVE exec --protocol=vi --output-format=json --report=report -- ./machine persist2 && "
		 "cat report");
	assert_int_equal(statistic("\"persist.barriers_wg\""), 2);
	succeeds("od -An -td8 -j64 -N16 pool");
	assert_output_has("                    1                    1\n");
}

/* Stores without any barrier: what a machine of GPM's loses of them, one with eADR keeps. */
TEST(what_a_kernel_has_stored_is_durable_under_eadr)
{
	static const char *const command =
		"rm -f pool; $NVWAVE crash --exec='./machine persist0 pool' --image=pool --check='./machine "
		"check' --states=100 --model=%s --machine=%s";

	NEEDS_MACHINE();
	build_machine();
	exits(1, command, "epoch", "gpm22");
	assert_output_has("INCONSISTENT");
	succeeds(command, "eadr", "gpm22-eadr");
	assert_output_has("NO FAILURE FOUND in 100 of ");
	exits(2, command, "epoch", "gpm22-eadr");
	assert_output_has(
		"crash: --model=epoch: the caches are lost in it, and nvram.domain=eadr keeps them: "
		"expected --model=eadr\n");
}

TEST(a_fence_of_the_system_persists_where_the_machine_says_so)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --protocol=vi --output-format=json --report=report -- ./machine persist3 && "
		 "cat report");
	assert_int_equal(statistic("\"persist.barriers_wi\""), 0);
	succeeds("$NVWAVE exec --protocol=vi --set host.fence_system=durable --output-format=json "
		 "--report=report -- ./machine persist3 && "
		 "cat report");
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
}

/* oFence and pRel of SBRP (sbrp23 5) are PTX's fence and store. */
TEST(instructions_of_sbrp_persist_as_the_machine_says)
{
	static const struct {
		const char *set;
		long long barriers;
	} machines[] = {{"", 0}, {"--set host.sbrp=barriers", 4}};

	NEEDS_MACHINE();
	build_machine();
	for_each(row, machines) {
		succeeds("$NVWAVE exec --protocol=vi %s --output-format=json --report=report -- ./machine "
			 "persist4 && cat report",
			row->set);
		assert_int_equal(statistic("\"persist.barriers_wi\""), row->barriers);
	}
	exits(1, "$NVWAVE exec --set host.sbrp=refused -- ./machine persist4 2>&1");
	assert_output_has(
		"machine.cu:57 (appends): kernel appends, block (0,0,0), thread (0,0,0): oFence of scope "
		"device: "
		"inline PTX that is SBRP's is refused (host.sbrp=refused)\n");
	exits(1, "rm -f pool; $NVWAVE crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		 "check' --states=200");
	assert_output_has("is marked and not there", "machine.cu:58 (appends)  store of 8 bytes at 0x");
	succeeds("rm -f pool; $NVWAVE crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		 "check' --states=200 --set host.sbrp=barriers");
}

/* ---- Programs ------------------------------------------------------------------------------------ */

/* Programs that check their own results. */
TEST(shipped_programs_are_right_and_have_no_races)
{
	static const char *const names[] = {"vector_add", "reduction", "scan", "matmul", "histogram"},
				 *const sizes[] = {"1000", "1000", "1000", "32", "1000"};

	NEEDS_MACHINE();
	build_others();
	NVW_FOR(i, NVW_COUNT(names)) {
		succeeds("./%s", names[i]);
		assert_string_equal(output, "right\n");
		succeeds("$NVWAVE exec --check=races --protocol=dd -- ./%s %s", names[i], sizes[i]);
		assert_output_has("right\n", "no races");
	}
}

TEST(accesses_of_odd_and_large_sizes_have_the_right_values)
{
	static const char *const programs[] = {"./wide-O0", "./wide"};

	NEEDS_MACHINE();
	build_others();
	build("-O0", "wide-O0", SOURCE("wide.cu"));
	for_each(program, programs) {
		succeeds("%s", *program);
		assert_string_equal(output, "wrong: 0\n");
		succeeds("$NVWAVE exec --check=races --report=report -- %s && cat report", *program);
		assert_output_has("wrong: 0\n", "no races");
	}
}

static void build_changes(void)
{
	build_once("-O1", "changes", SOURCE("changes.cu"));
}

TEST(kernels_see_what_the_host_has_changed_in_between)
{
	static const char *const protocols[] = {"vi", "hlrc", "dd"};

	NEEDS_MACHINE();
	build_changes();
	succeeds("./changes");
	assert_string_equal(output, "wrong: 0, cudaSuccess\n");
	for_each(row, protocols) {
		succeeds("$NVWAVE exec --protocol=%s --report=report -- ./changes", *row);
		assert_output_has("wrong: 0, cudaSuccess\n", "a new machine, with cold caches");
	}
}

TEST(a_managed_variable_is_one_for_the_host_and_for_kernels)
{
	static const char *const protocols[] = {"vi", "hlrc", "dd"};

	NEEDS_MACHINE();
	succeeds("echo 'static __managed__ int own; __global__ void another() { own = 1; }' >own.cu");
	build("-O1", "managed", SOURCE("managed.cu") " own.cu");
	succeeds("./managed");
	NVW_FOR(i, NVW_COUNT(protocols)) {
		succeeds("$NVWAVE exec --protocol=%s --report=report -- ./managed", protocols[i]);
	}
}

TEST(a_kernel_without_memory_for_a_block_fails_with_a_message)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./machine memory");
	assert_output_has("nvwave: kernel sums_up: no memory for a block of 32 work-items\n",
		"cudaErrorMemoryAllocation\n");
}

/* ---- Kernels that wait --------------------------------------------------------------------------- */

/* Runs it until it says that it waits, or ends. */
static void run_until_told(const char *command)
{
	build_others();
	(void)run("rm -f said; %s >said 2>&1 & p=$!; i=0; while ! grep -q waits: said && kill -0 $p "
		  "2>/dev/null && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
		  "kill $p 2>/dev/null; wait $p; cat said",
		command);
}

TEST(a_kernel_that_waits_for_a_later_store_of_the_host_is_told)
{
	NEEDS_CLANG();
	run_until_told("exec ./waits late");
	assert_output_has("waits.cu:16 (wait)", "kernel wait, block (0,0,0), thread (",
		"a store that it makes there comes too late");
	succeeds("./waits thread");
	assert_string_equal(output, "0\n");
}

TEST(likewise_on_the_machine)
{
	NEEDS_MACHINE();
	run_until_told("exec $NVWAVE exec --protocol=vi -- ./waits late");
	assert_output_has("waits.cu:16 (wait)", "on the machine no store of the host comes before that");
}

/* The race is that of scopes: the value stays in the L1 of the block that stores it. */
TEST(a_kernel_that_a_race_lets_wait_is_ended_and_its_races_are_reported)
{
	NEEDS_MACHINE();
	build_others();
	exits(1, "timeout 60 $NVWAVE exec --check=races --protocol=vi -- ./waits blocks");
	assert_output_has("(pass_wrongly): kernel pass_wrongly, block (1,0,0), thread (0,0,0): waits:",
		"There are races: the kernel is ended", "cudaErrorLaunchTimeout\n",
		"race in kernel pass_wrongly: ", "scope mismatch");
}

TEST(work_items_that_wait_for_each_other_by_shared_variables_go_on)
{
	static const char *const protocols[] = {"vi", "dd"};

	NEEDS_MACHINE();
	build_others();
	succeeds("timeout 20 ./waits shared");
	assert_string_equal(output, "no error\n95\n");
	for_each(row, protocols) {
		succeeds("timeout 20 $NVWAVE exec --protocol=%s --report=report -- ./waits shared", *row);
		assert_string_equal(output, "no error\n95\n");
	}
}

TEST(sleeping_takes_simulated_time)
{
	const char *at;

	NEEDS_MACHINE();
	build_others();
	succeeds("$NVWAVE exec --protocol=vi --output-format=json --report=report -- ./waits sleep && cat "
		 "report");
	at = strstr(output, "\"sim_time_ps\"");
	assert_non_null(at);
	assert_in_range(atoll(at + 15), 5000000, 6000000);
}

/* ---- Without stacks ------------------------------------------------------------------------------ */

/* Output and report, but for what the host's clock says, of a run as the environment asks. */
static void run_as(const char *environment, const char *protocol, const char *program, const char *into)
{
	run("rm -f pool report; %s timeout 600 $NVWAVE exec --protocol=%s --check=races --output-format=json "
	    "--report=report -- %s >%s 2>&1; echo $? >>%s; sed '/seconds/d; /made_by/,/^  }/d' report >>%s",
		environment, protocol, program, into, into, into);
}

TEST(a_kernel_is_the_same_with_stacks_and_without)
{
	static const char *const programs[] = {"./machine loads", "./machine fences", "./machine no-fences",
		"./machine sums", "./machine published", "./machine published-in-branches",
		"./machine persist1", "./machine persist2", "./machine persist3", "./machine memory",
		"./machine many-fences", "./aside", "./changes 22", "./wide", "./waits shared",
		"./waits sleep", "./scopes right", "./vector_add 1000", "./reduction 1000", "./scan 1000",
		"./matmul 32", "./histogram 1000"};
	static const char *const protocols[] = {"vi", "dd", "hlrc"};

	NEEDS_MACHINE();
	build_machine();
	build_others();
	build_aside();
	build_changes();
	NVW_FOR(i, NVW_COUNT(programs)) {
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
TEST(a_million_work_items_take_two_gigabytes)
{
	NEEDS_MACHINE();
	build_machine();
	succeeds("$NVWAVE exec --protocol=vi --set gpu.cus=128 --set "
		 "gpu.wavefronts_per_cu=256 --report=report -- ./machine resident 1048576");
	assert_in_range(
		strtoull(output, NULL, 10), 1 << 18, 2 << 20); /* KiB; its structures alone take 256 MiB */
}
