/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistence of CUDA kernels: crash tests of shipped programs, the names of GPM's library (gpm.cu), and
 * machines that say what is durable.
 */
#include "nvcc.h"

#define LOG_RECORD  "61"  /* the line of examples/log.cu that stores a record's check */
#define LOG_COUNT   "64"  /* and their number */
#define TABLE_VALUE "58"  /* of examples/hash_table.cu: stores a value */
#define TABLE_KEY   "62"  /* its key */
#define TABLE_COUNT "73"  /* and their number */
#define QUEUE_ENTRY "38"  /* of examples/queue.cu: stores an entry */
#define QUEUE_TAIL  "47"  /* the tail */
#define QUEUE_HEAD  "60"  /* and the head */
#define GPM_NEW     "187" /* of gpm.cu: stores a new value */
#define GPM_COPY    "312" /* copies a word of the host */
#define GPM_FILL    "313" /* fills one */

/* ---- Shipped programs ------------------------------------------------------------------------- */

/* The script builds those that are not here. */
static void build_examples(void)
{
	build_together("-O1", CUDA_EXAMPLES "/log.cu", CUDA_EXAMPLES "/hash_table.cu");
}

static void crash(int status, const char *options, const char *how)
{
	build_examples();
	exits(status,
		"rm -f pool; $NVWAVE crash --exec='./log append pool 2 %s' --image=pool --check='./log "
		"check' "
		"--states=150 %s",
		how, options);
}

TEST(nothing_fails_in_a_right_log_of_a_kernel)
{
	NEEDS_CLANG();
	crash(0, "", "barriers");
	assert_output_has("NO FAILURE FOUND in ", "130 stores, 128 fences");
	succeeds("rm -f pool; ./log append pool 2 && ./log check pool");
	assert_string_equal(output, "64 records\n");
}

static void self_test(int status, unsigned states, const char *programs)
{
	build_examples();
	exits(status, "NVWAVE=$NVWAVE NVCC=" NVCC " STATES=%u " CUDA_EXAMPLES "/self_test.sh %s", states,
		programs);
}

TEST(bugs_of_a_kernel_s_log_are_found_with_their_lines)
{
	NEEDS_CLANG();
	self_test(0, 250, "log");
	assert_output_has("log          (none)           x86             clean ",
		"log          unordered        x86             found ",
		("is not whole: log.cu:" LOG_COUNT " durable, log.cu:" LOG_RECORD
		 " lost\nlog          narrow           x86             found "),
		("is not whole: log.cu:" LOG_COUNT " durable, log.cu:" LOG_RECORD " lost\n"));
}

TEST(bugs_of_kernels_hash_table_and_queue_are_found_with_their_lines)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	self_test(0, 250, "hash_table queue");
	assert_output_has("hash_table   (none)           x86             clean ",
		("does not have its value: hash_table.cu:" TABLE_KEY " durable, hash_table.cu:" TABLE_VALUE
		 " lost\nhash_table   narrow           x86             found "),
		("is not found: hash_table.cu:" TABLE_COUNT " durable, hash_table.cu:" TABLE_KEY
		 " lost\n\n2 of 2 bugs found"),
		"queue        (none)           x86             clean ",
		("is not whole (head 0, tail 32): queue.cu:" QUEUE_TAIL " durable, queue.cu:" QUEUE_ENTRY
		 " lost\nqueue        narrow           x86             found "),
		("is not whole (head 0, tail 32): queue.cu:" QUEUE_TAIL " durable, queue.cu:" QUEUE_ENTRY
		 " lost\nqueue        reuse            x86             found "),
		("entry 0 is not whole (head 0, tail 64): queue.cu:" QUEUE_ENTRY
		 " durable, queue.cu:" QUEUE_HEAD " lost\n"));
}

TEST(a_bug_that_is_not_found_is_missed)
{
	NEEDS_CLANG();
	self_test(1, 1, "log");
	assert_output_has("log          narrow           x86             MISSED ");
	self_test(2, 1, "lock");
	assert_output_has("there is no program \"lock\"");
}

TEST(shipped_persistent_programs_have_no_race)
{
	static const char *const programs[] = {"log append", "hash_table insert", "queue pass"};

	NEEDS_MACHINE();
	for_each(program, programs) {
		succeeds("$NVWAVE exec --protocol=hlrc --check=races --report=report -- ./%s races 3 && cat "
			 "report && rm races",
			*program);
		assert_output_has("no races");
	}
}

TEST(fences_of_the_system_persist_where_the_machine_says_so)
{
	NEEDS_CLANG();
	crash(1, "", "fence");
	assert_output_has("is not whole");
	crash(0, "--set host.fence_system=durable", "fence");
	assert_output_has("CONSISTENT");
}

/* ---- GPM's library ---------------------------------------------------------------------------- */

static void build_gpm(void)
{
	build_once("-O2", "gpm", SOURCE("gpm.cu -lpmem"));
}

TEST(functions_of_gpm_s_library_do_what_they_say)
{
	NEEDS_CLANG();
	build_gpm();
	succeeds("./gpm functions");
	assert_output_has("missing.dat: No such file",
		"gpmcp_register: there is no group 1; the checkpoint has 1", "all hold");
}

TEST(the_same_on_gpm_s_machine)
{
	NEEDS_MACHINE();
	build_gpm();
	succeeds("$NVWAVE exec --machine=gpm22 --protocol=vi -- ./gpm functions");
	assert_output_has("all hold");
}

/* Two files in one image; the check recovers by a kernel. */
static void crash_gpm(int status, const char *bug, const char *options)
{
	build_gpm();
	exits(status,
		"rm -f all; $NVWAVE crash --exec='env NVWAVE_GPM_POOL={} ./gpm move 1 %s' --image=all "
		"--check='env NVWAVE_GPM_POOL={} ./gpm check' %s",
		bug, options);
}

TEST(files_of_gpm_s_library_are_one_crash_state)
{
	NEEDS_CLANG();
	crash_gpm(0, "", "--machine=gpm22 --states=60");
	assert_output_has("NO FAILURE FOUND in 60 distinct states");
	skip_if_sanitized();
	crash_gpm(1, "unlogged", "--machine=gpm22 --states=30");
	assert_output_has(" have ", ("gpm.cu:" GPM_NEW " (move)  store of 8 bytes at 0x"));
}

TEST(copies_of_the_host_have_their_lines)
{
	NEEDS_CLANG();
	build_gpm();
	exits(1, "rm -f all; $NVWAVE crash --exec='env NVWAVE_GPM_POOL={} ./gpm copy' --image=all "
		 "--check='env NVWAVE_GPM_POOL={} ./gpm copied'");
	assert_output_has(("gpm.cu:" GPM_FILL " (copy_words)  store of 8 bytes at 0x1040   durable"),
		("gpm.cu:" GPM_COPY " (copy_words)  store of 8 bytes at 0x1000   lost in flight"));
}

TEST(persists_while_data_direct_io_is_on_are_none)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	crash_gpm(0, "outside", "--machine=gpm22 --states=12");
	crash_gpm(1, "outside", "--machine=gpm22 --set host.fence_system=switched --states=12");
	crash_gpm(0, "outside", "--machine=gpm22-eadr --states=12");
}

/* The same loads of NVRAM and of pinned memory, across PCIe and without it. */
static long long picoseconds(const char *options)
{
	const char *at;

	succeeds(
		"$NVWAVE exec --machine=gpm22 --protocol=vi %s --output-format=json --report=report -- ./gpm "
		"read && cat report",
		options);
	at = strstr(output, "\"sim_time_ps\"");
	return at ? atoll(at + 15) : -1;
}

TEST(links_take_their_time)
{
	NEEDS_MACHINE();
	build_gpm();

	const long long far = picoseconds(""), nearer = picoseconds("--set nvram.link=0ns"),
			near = picoseconds("--set nvram.link=0ns --set pinned.link=0ns");

	assert_true(near > 0);
	assert_true(far - nearer >= 600000);
	assert_true(nearer - near >= 600000);
}

TEST(files_mapped_late_keep_the_machine)
{
	NEEDS_MACHINE();
	build_gpm();
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./gpm late");
	assert_output_has("later, warm");
}

/* ---- Published programs ----------------------------------------------------------------------- */

TEST(what_published_programs_take_for_granted_is_there)
{
	NEEDS_CLANG();
	build("-O1", "library", SOURCE("library.cu") " " SOURCE("library_host.cpp"));
	succeeds("./library");
	assert_string_equal(output, "1 1 1\n");
}
