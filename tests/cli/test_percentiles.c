/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies of operations: percentiles of a known sequence, by name and of all. */
#include "common/test.h"

#include <string.h>

#include "core/describe.h"
#include "latencies.h"

static const char *const names[] = {"get", "put", NULL};

static uint64_t value(const struct nvw_description *d, const char *name)
{
	NVW_EACH(value, d->values, d->count) {
		if (!strcmp(value->name, name)) {
			return value->u64;
		}
	}
	return UINT64_MAX;
}

static void see(struct cli_latencies *l, uint64_t kind, uint64_t ps)
{
	cli_latencies_see(
		l, &(struct emu_sight){
			   .kind = EMU_SIGHT_OPERATION, .from = 1000, .to = 1000 + ps, .number = kind});
}

/* Never too low, and at most 1/64 too high. */
static void expect_near(uint64_t found, uint64_t exact)
{
	assert_in_range(found, exact, exact + exact / 64);
}

TEST(percentiles_are_those_of_the_sequence)
{
	struct nvw_description d = {0};
	struct cli_latencies *l;

	assert_ok(cli_latencies_create(names, &l));
	/* In an order that is not theirs: 7 and 10,000 have no common factor. */
	NVW_FOR(i, 10000) {
		see(l, 1, 1000 * (1 + i * 7 % 10000));
	}
	assert_ok(cli_latencies_describe(l, &d));
	assert_int_equal(value(&d, "latency.operation.put.count"), 10000);
	expect_near(value(&d, "latency.operation.put.p50"), 5000000);
	expect_near(value(&d, "latency.operation.put.p99"), 9900000);
	expect_near(value(&d, "latency.operation.put.p999"), 9990000);
	assert_int_equal(value(&d, "latency.operation.put.max"), 10000000);
	nvw__description_clear(&d);
	cli_latencies_free(l);
}

/*
 * Below 64 ps a bucket is one value. One in a hundred is beyond p50, and the last one of thousand beyond
 * p99.
 */
TEST(a_rare_latency_is_seen_from_the_percentile_of_its_share_on)
{
	struct nvw_description d = {0};
	struct cli_latencies *l;

	assert_ok(cli_latencies_create(names, &l));
	NVW_FOR(i, 1000) {
		see(l, 0, i < 990 ? 10 : i < 999 ? 20 : 30);
	}
	assert_ok(cli_latencies_describe(l, &d));
	assert_int_equal(value(&d, "latency.operation.get.p50"), 10);
	assert_int_equal(value(&d, "latency.operation.get.p99"), 10);
	assert_int_equal(value(&d, "latency.operation.get.p999"), 20);
	assert_int_equal(value(&d, "latency.operation.get.max"), 30);
	nvw__description_clear(&d);
	cli_latencies_free(l);
}

TEST(operations_are_counted_by_name_and_together)
{
	struct nvw_description d = {0};
	struct cli_latencies *l;

	assert_ok(cli_latencies_create(names, &l));
	see(l, 0, 10);
	see(l, 1, 40);
	see(l, 1, 50);
	see(l, 2, 60); /* a kind without a name */
	assert_ok(cli_latencies_describe(l, &d));
	assert_int_equal(value(&d, "latency.operation.get.count"), 1);
	assert_int_equal(value(&d, "latency.operation.put.count"), 2);
	assert_int_equal(value(&d, "latency.operation.put.max"), 50);
	assert_int_equal(value(&d, "latency.operation.count"), 4);
	assert_int_equal(value(&d, "latency.operation.max"), 60);
	nvw__description_clear(&d);
	cli_latencies_free(l);
}
