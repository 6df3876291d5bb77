/* SPDX-License-Identifier: BSD-3-Clause */
/* What nvwave exec says of a program, and makes it wait for: statistics, advice, delays; what it refuses. */
#include "common/test.h"

#include "host_rig.h"

/* ---- Statistics, advice, delays --------------------------------------------------------------- */

TEST(wasted_flushes_and_drains_are_counted_with_their_places)
{
	succeeds("$NVWAVE exec --advice --report=report --output-format=json -- $HOST_SUBJECT wastes pool");
	json_auto_t *o = report();
	json_t *const advice = json_at(o, "advice");

	assert_int_equal(integer_at(o, "pmem.flushes"), 20);
	assert_int_equal(integer_at(o, "pmem.idle_flushes"), 10);
	assert_int_equal(integer_at(o, "pmem.fences"), 30);
	assert_int_equal(integer_at(o, "pmem.empty_fences"), 10);
	assert_int_equal(json_array_size(advice), 2);
	NVW_FOR(i, 2) {
		const json_t *const a = json_array_get(advice, i);

		assert_has(text_at(a, "file"), "subject.c");
		assert_int_equal(integer_at(a, "idle_flushes") + integer_at(a, "empty_fences"), 10);
	}
}

TEST(a_delay_lasts_at_least_as_long_as_was_asked)
{
	succeeds("$NVWAVE exec --set nvram.write=2us --report=report --output-format=json -- $HOST_SUBJECT "
		 "stress pool 1");
	json_auto_t *o = report();
	const json_t *const delays = json_at(o, "write_delays");

	assert_true(integer_at(delays, "count") > 300);
	assert_true(integer_at(delays, "requested_p50_ns") >= 1900);
	assert_true(integer_at(delays, "achieved_p50_ns") >= integer_at(delays, "requested_p50_ns") * 9 / 10);
}

TEST(without_latencies_the_bandwidth_is_left)
{
	/* Two lines are a portion: a line takes 90 ns. Without anything to wait for nothing waits. */
	static const char *const bandwidths[] = {"711MB/s", "711GB/s"};

	NVW_FOR(i, 2) {
		clean();
		succeeds("$NVWAVE exec --set nvram.read=0ns --set nvram.write=0ns --set nvram.bandwidth=%s "
			 "--report=report "
			 "--output-format=json -- $HOST_SUBJECT flushes pool",
			bandwidths[i]);
		json_auto_t *o = report();

		assert_int_equal(integer_at(o, "write_delays.count") > 0, i == 0);
	}
}

TEST(under_eadr_nothing_waits_for_a_flush)
{
	succeeds("$NVWAVE exec --set nvram.domain=eadr --report=report --output-format=json -- "
		 "$HOST_SUBJECT wastes pool");
	json_auto_t *o = report();

	assert_int_equal(integer_at(o, "write_delays.count"), 0);
}

/* ---- Bad input -------------------------------------------------------------------------------- */

TEST(programs_that_cannot_be_interposed_are_refused)
{
	exits(2, "$NVWAVE exec -- ./nothing");
	assert_output_has("expected a program");
	exits(2, "cp /bin/true t && chmod 4755 t && $NVWAVE exec -- ./t");
	assert_output_has("set-user-id");
	exits(2, "$NVWAVE exec -- %s", dir);
	exits(2, "$NVWAVE exec --");
	exits(2, "$NVWAVE exec true");
	exits(2, "$NVWAVE exec --delays=perhaps -- true");
	succeeds("echo 'int main(void) { return 0; }' >s.c && cc -static -o s s.c");
	exits(2, "$NVWAVE exec -- ./s");
	assert_output_has("statically linked");
	exits(2, "NVWAVE_PMEM_LIBRARY=/nowhere.so $NVWAVE exec -- true");
	assert_output_has("/nowhere.so");
}

TEST(a_program_without_libpmem_is_told)
{
	succeeds("$NVWAVE exec -- true");
	assert_output_has("no function of libpmem was called");
	exits(2, "$NVWAVE exec --record=log -- true");
	assert_output_has("mapped no file");
}

TEST(nothing_is_left_behind)
{
	exits(1, "mkdir t && TMPDIR=t $NVWAVE exec --record=log --report=r -- $HOST_SUBJECT dies pool 9");
	succeeds("TMPDIR=t $NVWAVE crash --exec=\"$HOST_SUBJECT unflushed {}\" --image=pool --check=true");
	succeeds("rmdir t");
}

GROUP(begin, shell_end, .each = clean_folder);
