/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crash tests of CUDA programs whose kernels run on the machine, under its persistency models, and their host
 * code under x86.
 */
#include "nvcc.h"

#define FILLED    "29" /* the line of both.cu where the kernel stores */
#define BEGUN     "71" /* where host code begins, by a copy */
#define LAUNCHED  "76" /* the launch */
#define COMMITTED "86" /* where host code commits */

/* A test lists what log has not executed: it is compiled alone. */
static void build_examples(void)
{
	build_once("-O1", "log", CUDA_EXAMPLES "/log.cu");
	build_together("-O1", CUDA_EXAMPLES "/hash_table.cu", CUDA_EXAMPLES "/queue.cu");
}

static void self_test(int status, const char *model, const char *programs)
{
	build_examples();
	exits(status,
		"NVWAVE=$NVWAVE NVCC=" NVCC " STATES=100 OPTIONS=--model=%s " CUDA_EXAMPLES
		"/self_test.sh %s",
		model, programs);
}

TEST(bugs_of_kernels_are_found_under_epoch_persistency)
{
	NEEDS_MACHINE();
	self_test(0, "epoch", "log hash_table queue");
	assert_output_has("log          (none)           epoch           clean ",
		("is not whole: log.cu:64 durable, log.cu:61 lost\nlog          narrow           epoch       "
		 "    found "),
		"does not have its value: hash_table.cu:62 durable, hash_table.cu:58 lost",
		"entry 0 is not whole (head 0, tail 64): queue.cu:38 durable, queue.cu:60 lost");
}

/* Its kernels end when all is durable, and that is what the queue's third bug lacks. */
TEST(bugs_of_kernels_are_found_under_buffered_epoch_persistency)
{
	NEEDS_MACHINE();
	self_test(0, "buffered-epoch", "log queue");
	assert_output_has(("is not whole: log.cu:64 durable, log.cu:61 lost\nlog          narrow           "
			   "buffered-epoch  found "),
		"queue        reuse            buffered-epoch  harmless ");
}

TEST(strict_persistency_orders_what_no_barrier_does)
{
	NEEDS_MACHINE();
	self_test(0, "strict", "log");
	assert_output_has("log          (none)           strict          clean ",
		"log          unordered        strict          harmless ");
}

static void crash(int status, const char *bug, const char *options)
{
	build_once("-O1", "both", SOURCE("both.cu -lpmem"));
	exits(status,
		"rm -f pool; $NVWAVE crash --exec='./both run pool %s' --image=pool --check='./both check' "
		"--states=80 --cure-states=5000 %s",
		bug, options);
}

TEST(a_cure_is_proved_with_a_barrier_of_the_scope_that_it_takes)
{
	NEEDS_MACHINE();
	build_examples();
	exits(1, "rm -f pool; $NVWAVE crash --exec='./log append pool 2 unordered' --image=pool "
		 "--check='./log check' --states=80 --cure-states=5000 --model=epoch");
	assert_output_has("kernel \"append\" work-item ",
		"verified on this log: with a work-group barrier after log.cu:61 no tested state fails",
		"of this interleaving of work-items");
}

/* The barriers of one way are not those of the other; a store to the file is one, wherever kernels run. */
TEST(what_kernels_never_executed_is_listed)
{
	static const struct {
		const char *way, *options, *missed, *reached;
	} runs[] = {
		{"", "", "persist_records (log.cu:42, 47); append (log.cu:67)",
			"; 5 of them, in 2 functions, reached"},
		{"fence", "", "persist_records (log.cu:39, 47); append (log.cu:69)",
			"; 3 of them, in 1 function, reached"},
		{"", "--model=epoch", "persist_records (log.cu:42, 47); append (log.cu:67)",
			"; 3 of them, in 1 function, reached"},
	};

	NEEDS_MACHINE();
	build_examples();
	for_each(given, runs) {
		(void)run("rm -f pool; $NVWAVE crash --exec='./log append pool 2 %s' --image=pool "
			  "--check='./log check' "
			  "--states=20 --cures=off %s",
			given->way, given->options);
		assert_output_has(given->missed, given->reached, "one way: append (log.cu:66)");
	}
}

TEST(host_code_and_kernels_are_in_one_log)
{
	static const char *const models[] = {"--model=strict", "--model=epoch", "--model=buffered-epoch"};

	NEEDS_MACHINE();
	for_each(row, models) {
		crash(0, "", *row);
		crash(0, "flushed", *row);
	}
	assert_output_has(
		"./both run pool flushed under buffered-epoch (kernels) and x86 (host code): 198 stores");
}

TEST(what_host_code_has_not_flushed_may_be_lost_behind_a_kernel)
{
	static const char *const models[] = {"--model=strict", "--model=epoch", "--model=buffered-epoch"};

	NEEDS_MACHINE();
	for_each(row, models) {
		crash(1, "unflushed", *row);
		assert_output_has("is committed, and 0 has begun",
			("both.cu:" COMMITTED
			 " (main)  stores f->committed (unsigned long, 8 bytes)   durable\n"
			 "        8 bytes at pool offset 0x148; "),
			("both.cu:" BEGUN
			 " (main)  stores a part of f->begun (unsigned long, 8 bytes)   lost in flight\n"
			 "        4 bytes at pool offset 0x0; "));
	}
	assert_output_has("verified on this log: with a flush after both.cu:" BEGUN
			  " and a fence after both.cu:" BEGUN);
}

/* With the function that it is in, which its kernel has inlined, and without a header of ours. */
TEST(an_atomic_that_publishes_too_early_is_found_at_its_line)
{
	static const char *const command =
		"rm -f pool; $NVWAVE crash --exec='./publish %s pool' --image=pool --check='./publish "
		"check pool' --states=60 %s";

	NEEDS_MACHINE();
	build("-O1", "publish", SOURCE("publish.cu"));
	succeeds(command, "ordered", "");
	NVW_FOR(i, 2) {
		exits(1, command, "unordered", i ? "--model=epoch" : "");
		assert_output_has(" is in the list and not whole",
			"publish.cu:19 (set_head, inlined in pushes)  store of 8 bytes at 0x0",
			"publish.cu:26 (push, inlined in pushes)  store of 8 bytes at 0x");
		assert_output_lacks("nvw_cuda_atomics");
	}
}

/* Its line is that of the launch. */
TEST(what_is_found_by_comparison_before_a_kernel_comes_before_its_stores)
{
	NEEDS_MACHINE();
	crash(1, "library", "--model=epoch");
	assert_output_has("is committed, and 0 has begun",
		("both.cu:" LAUNCHED " (main)  store of 8 bytes at 0x0   lost in flight"));
}

TEST(what_a_kernel_has_not_persisted_may_be_lost_behind_host_code)
{
	NEEDS_MACHINE();
	crash(1, "unordered", "--model=epoch");
	assert_output_has("is committed, and number", ("both.cu:" FILLED " (fill)  store of 4 bytes"),
		"a persist barrier at the end of its kernel, or a flush and a fence by host code behind it",
		"verified on this log: with a work-item barrier after both.cu:" FILLED);
	crash(0, "unordered", "--model=buffered-epoch"); /* its kernels end when all is durable */
}

TEST(a_record_of_the_machine_is_a_store_log)
{
	NEEDS_MACHINE();
	build_once("-O1", "both", SOURCE("both.cu -lpmem"));
	succeeds("rm -f pool; $NVWAVE exec --protocol=dd --record=both.log -- ./both run pool unordered");
	exits(1, "$NVWAVE crash --store-log=both.log --image=both.log.image --check='./both check' "
		 "--states=100");
	assert_output_has("both.log under epoch (kernels) and x86 (host code)");
	exits(2, "$NVWAVE crash --store-log=both.log --image=both.log.image --check='./both check' "
		 "--model=x86");
	assert_output_has(
		"a log of kernels on a machine is explored under strict, epoch, buffered-epoch or eadr, not "
		"x86");
}

TEST(a_kernel_that_fails_ends_the_record_and_that_is_said)
{
	NEEDS_MACHINE();
	crash(0, "wild", "--model=epoch");
	assert_output_has(
		"note: the record has a gap: a kernel failed on the machine: the record ends with what it "
		"had stored");
}

TEST(a_program_without_kernels_has_no_model_of_a_machine)
{
	NEEDS_MACHINE();
	exits(2, "rm -f pool; $NVWAVE crash --exec='./both check pool' --image=pool --check=true "
		 "--model=epoch");
	assert_output_has(
		"the log of a program that ran no kernel on a machine is explored under x86, pmreorder or "
		"eadr, or under files");
}

TEST(the_machine_s_own_memory_is_not_the_program_s)
{
	NEEDS_MACHINE();
	build_once("-O1", "both", SOURCE("both.cu -lpmem"));
	succeeds("rm -f pool; $NVWAVE exec --protocol=vi --output-format=json --report=report -- ./both run "
		 "pool && cat report");
	assert_output_has("\"lines_flushed\": 6,"); /* begun and committed, three times */
}
