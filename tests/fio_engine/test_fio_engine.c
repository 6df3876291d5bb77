/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fio with nvwave's ioengine: fio's own verification, what a power cut leaves, and what fio says of bad
 * options.
 */
#include "common/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "common/shell.h"
#include "common/skip.h"

/*
 * The beginning of a job; more of them may follow on one command line, which is quicker: each is a process.
 */
#define JOB(name, file) \
	" --name=" name " --ioengine=external:" FIO_ENGINE " --filename=" file " --bs=4k --size=64k "

/* A job on the file "pool" with such options; its exit status. */
static int fio(const char *options)
{
	return run("fio --clocksource=clock_gettime --verify_state_save=0" JOB("job", "pool") "%s", options);
}

static void assert_fio(const char *options)
{
	if (fio(options)) {
		fail_msg("%s: %s", options, output);
	}
}

static bool without_fio(void)
{
	return *FIO_ENGINE == '\0' || run("fio --version") != 0;
}

#define NEEDS_FIO()                                                                   \
	do {                                                                          \
		if (without_fio()) {                                                  \
			skip_test("no fio, or no -Dfio_src= (scripts/fetch_fio.sh)"); \
		}                                                                     \
		clean();                                                              \
	} while (0)

/* A figure of the JSON in "report": kind NULL for the top. */
static double figure(const char *kind, const char *name)
{
	json_t *const o = json_load_file(in_dir("report"), 0, NULL);

	assert_non_null(o);
	const double value = json_number_value(json_object_get(kind ? json_object_get(o, kind) : o, name));

	json_decref(o);
	return value;
}

/* ---- Reading and writing ---------------------------------------------------------------------- */

/* The jobs, then in other processes, from the pools alone, that what they wrote verifies. */
static void assert_jobs_verify(const char *jobs, const char *readers)
{
	if (run("fio --clocksource=clock_gettime --verify_state_save=0 %s", jobs) ||
		run("fio --clocksource=clock_gettime --verify_state_save=0 %s", readers)) {
		fail_msg("%s", output);
	}
}

#define WRITES(n, options) JOB(#n, "pool" #n) "--rw=randwrite --verify=crc32c " options
#define READS(n)           JOB(#n, "pool" #n) "--rw=read --verify=crc32c "

TEST(what_fio_writes_verifies_at_every_depth_and_in_every_way_to_sync)
{
	NEEDS_FIO();
	assert_jobs_verify(
		WRITES(1, "--iodepth=1") WRITES(2, "--iodepth=8") WRITES(3, "--iodepth=1 --sync=1")
			WRITES(4, "--iodepth=8 --sync=1") WRITES(5, "--iodepth=8 --sync=1 --scope=kernel")
				WRITES(6, "--iodepth=1 --fsync=4") WRITES(7, "--iodepth=8 --fdatasync=3")
					WRITES(8, "--iodepth=8 --group=32 --end_fsync=1")
						WRITES(9, "--create_serialize=0"),
		READS(1) READS(2) READS(3) READS(4) READS(5) READS(6) READS(7) READS(8) READS(9));
}

#define UNDER(protocol) WRITES(protocol, "--iodepth=8 --fsync=4 --sync=1 --protocol=" #protocol)

TEST(what_fio_writes_verifies_under_every_protocol)
{
	NEEDS_FIO();
	/* The names are made text, and "denovo - b" is no protocol. */
	/* clang-format off */
	assert_jobs_verify(UNDER(vi) UNDER(gd) UNDER(gh) UNDER(rsp) UNDER(denovo-b) UNDER(dd) UNDER(dd+ro)
			UNDER(dh) UNDER(hlrc) UNDER(hlrc-scoped) UNDER(rfo) UNDER(mttop-wb),
		READS(vi) READS(gd) READS(gh) READS(rsp) READS(denovo-b) READS(dd) READS(dd+ro) READS(dh)
			READS(hlrc) READS(hlrc-scoped) READS(rfo) READS(mttop-wb));
	/* clang-format on */
}

TEST(jobs_in_processes_have_a_machine_and_a_pool_each)
{
	NEEDS_FIO();
	if (run("fio --clocksource=clock_gettime --name=job --ioengine=external:" FIO_ENGINE
		" --bs=4k --size=64k --rw=randwrite --verify=md5 --numjobs=2 "
		"--verify_state_save=0")) {
		fail_msg("%s", output);
	}
	exits(1, "cmp -s job.0.0 job.1.0"); /* both there, with different data */
}

/* ---- Simulated time --------------------------------------------------------------------------- */

TEST(the_same_job_takes_the_same_simulated_time)
{
	static const char job[] = "--rw=randrw --iodepth=8 --fsync=5 --report=report";
	json_t *report[2];

	NEEDS_FIO();
	NVW_EACH(one, report, 2) {
		clean();
		assert_fio(job);
		*one = json_load_file(in_dir("report"), 0, NULL);
		assert_non_null(*one);
	}
	assert_true(json_equal(report[0], report[1]));
	assert_true(figure(NULL, "simulated_ns") > 0);
	assert_int_equal(figure("read", "count") + figure("write", "count"), 16);
	json_decref(report[0]);
	json_decref(report[1]);
}

TEST(simulated_time_follows_the_machine)
{
	NEEDS_FIO();
	assert_fio("--rw=write --sync=1 --report=report --set=nvram.write=250ns");
	const double quick = figure("write", "p50_ns");

	assert_int_equal(figure("write", "count"), 16);
	assert_fio("--rw=write --sync=1 --report=report --set=nvram.write=5us,nvram.read=75ns");
	assert_true(figure("write", "p50_ns") > quick + 4000);
	assert_int_equal(figure("statistics", "persist.barriers_wg"), 16);
}

/* ---- Power cuts ------------------------------------------------------------------------------- */

/* When the first sync was acknowledged in the log, in ns, and how many blocks by it. */
static double first_sync(unsigned *ret_blocks)
{
	double ns;
	unsigned first, last;

	succeeds("$NVWAVE log dump log | grep ' ack '");
	assert_int_equal(sscanf(output, " %lf ack operations %u to %u", &ns, &first, &last), 3);
	assert_int_equal(first, 0);
	*ret_blocks = last + 1;
	return ns;
}

/* Cuts the power as soon as the first fsync has returned: does fio find all that it covers? */
static bool survives(const char *fault)
{
	char options[256];
	unsigned blocks;

	clean();
	snprintf(options, sizeof options,
		"--rw=write --iodepth=8 --fsync=4 --verify=crc32c --do_verify=0 --fault=%s", fault);
	const size_t n = strlen(options);

	strcat(options, " --log=log");
	assert_fio(options);
	const double when = first_sync(&blocks);

	clean();
	snprintf(options + n, sizeof options - n, " --power_cut=%.3fns", when + 1);
	assert_int_not_equal(fio(options), 0);
	assert_output_has("got signal=9");
	snprintf(options, sizeof options, "--rw=read --verify=crc32c --size=%uk", 4 * blocks);
	const bool whole = fio(options) == 0;

	assert_true(whole || strstr(output, "err=84") != NULL);
	assert_int_not_equal(fio("--rw=read --verify=crc32c"), 0); /* the rest had not been written */
	return whole;
}

TEST(what_fio_had_synced_survives_a_power_cut_and_without_the_barrier_does_not)
{
	NEEDS_FIO();
	assert_true(survives("none"));
	assert_false(survives("no-barrier"));
}

TEST(the_log_of_a_job_is_explored_and_the_missing_barrier_found)
{
	static const char crash[] = "$NVWAVE crash --store-log=log --image=log.image --states=500";

	NEEDS_FIO();
	assert_fio("--rw=randwrite --iodepth=8 --fsync=4 --log=log");
	succeeds(crash);
	assert_output_has("NO FAILURE FOUND in ");
	clean();
	assert_fio("--rw=randwrite --iodepth=8 --fsync=4 --log=log --fault=no-barrier");
	exits(1, crash);
	assert_output_has("was acknowledged, but a word of it is older");
	assert_output_has("host/fio_engine/kernel.c");
}

/* ---- Refused ---------------------------------------------------------------------------------- */

TEST(bad_options_are_explained_and_fio_fails)
{
	static const struct {
		const char *options, *message;
	} bad[] = {
		{"--rw=write --set=nvram.wrte=3ns",
			"nvram.wrte is not a key of a machine; did you mean nvram.write?"},
		{"--rw=write --machine=gope81", "there is no machine gope81; did you mean gope18?"},
		{"--rw=write --protocol=hlcr", "there is no coherence protocol hlcr; did you mean hlrc?"},
		{"--rw=write --power_cut=5",
			"power_cut: expected a simulated time such as 20us, found \"5\""},
		{"--rw=write --scope=wavefront", "failed parsing scope=wavefront"},
		{"--rw=trim", "NVRAM cannot be trimmed"},
		{"--rw=write --bs=4001 --bs_unaligned=1", "multiples of 8"},
		{"--rw=read", "pool does not exist: only a job that writes creates the pool"},
		{"--rw=write --log=none/log", "none/log.image: No such file"},
		{"--rw=write --report=none/report", "none/report: No such file"},
		{"--rw=write --filename=a:b", "a job has one pool: expected one file, found 3"},
		/* Both jobs have to be there at once: a short one can end before the other begins. */
		{"--rw=write --thread=1 --numjobs=2 --time_based=1 --runtime=3", "one machine at a time"},
		{"--rw=write --numjobs=2 --time_based=1 --runtime=3", "in use by another process"},
	};

	NEEDS_FIO();
	/* Side by side, in a folder each: fio takes its time to end. */
	for (unsigned i = 0; i < NVW_COUNT(bad); i++) {
		run("mkdir %u && cd %u && { { fio --clocksource=clock_gettime --verify_state_save=0" JOB(
			    "job", "pool") "%s >out 2>&1; echo $? >status; } >/dev/null & }",
			i, i, bad[i].options);
	}
	for (unsigned i = 0; i < NVW_COUNT(bad); i++) {
		run("for try in $(seq 600); do [ -s %u/status ] && break; sleep 0.05; done; cat %u/status "
		    "%u/out",
			i, i, i);
		const int status = atoi(output);

		if (status == 0 || status >= 128 || !strstr(output, bad[i].message)) {
			fail_msg("%s: %s", bad[i].options, output);
		}
	}
}

TEST(a_pool_that_is_too_small_or_none_is_refused)
{
	NEEDS_FIO();
	assert_fio("--rw=write");
	assert_int_not_equal(fio("--rw=write --size=1m"), 0);
	assert_output_has("pool has 65536 bytes, but the job needs 1048576");
	run("head -c 65536 /dev/zero >pool");
	assert_int_not_equal(fio("--rw=write"), 0);
	assert_output_has("no pool");
}

GROUP_IN_FOLDER();
