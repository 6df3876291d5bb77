/* SPDX-License-Identifier: BSD-3-Clause */
/* YCSB mixes: property files and requests, as promised in ycsb.h. */
#include "common/test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/shell.h"
#include "common/skip.h"

#include "workloads/common/ycsb.h"

static void expect_refusal(const char *text, const char *part)
{
	struct ycsb y;

	write_text("mix", text);
	assert_int_equal(ycsb_load(in_dir("mix"), &y), NVW_E_INPUT);
	assert_error_has(part);
}

TEST(every_used_property_is_read)
{
	struct ycsb y;

	write_text("mix", "# a mix\n! too\nworkload=site.ycsb.workloads.CoreWorkload\nreadproportion = 1  \n"
			  "updateproportion: 2\r\ninsertproportion=3\nscanproportion=4\n"
			  "readmodifywriteproportion=10\nrequestdistribution=latest\nrecordcount=7\n"
			  "operationcount=8\nfieldcount=2\nfieldlength=33\nmaxscanlength=9\nminscanlength=4\n"
			  "scanlengthdistribution=zipfian\nreadallfields=true\n");
	assert_ok(ycsb_load(in_dir("mix"), &y));
	NVW_FOR(i, 4) {
		assert_true(fabs(y.share[i] - 0.05 * (double[]){1, 2, 3, 4}[i]) < 1e-12);
	}
	assert_true(fabs(y.share[YCSB_READ_MODIFY_WRITE] - 0.5) < 1e-12);
	assert_int_equal(y.request, YCSB_LATEST);
	assert_int_equal(y.records, 7);
	assert_int_equal(y.operations, 8);
	assert_int_equal(y.field_count, 2);
	assert_int_equal(y.field_length, 33);
	assert_int_equal(y.scan_min, 4);
	assert_int_equal(y.scan_max, 9);
	assert_int_equal(y.scan_distribution, YCSB_ZIPFIAN);
}

TEST(nonsense_is_refused_with_its_line)
{
	expect_refusal("\nreadproportion=half\n", ":2: readproportion: expected a share");
	expect_refusal("updateproportion=-1\n", ":1: updateproportion");
	expect_refusal("recordcount=12x\n", ":1: recordcount: expected a number");
	expect_refusal("recordcount=-12\n", ":1: recordcount: expected a number");
	expect_refusal(
		"requestdistribution=zipfan\n", "expected uniform, zipfian or latest, found \"zipfan\"");
	expect_refusal("scanlengthdistribution=latest\n", "expected uniform or zipfian");
	expect_refusal("what is this\n", ":1: expected name=value");
	expect_refusal("readproportion=\\\n0.5\n", "not supported");
	expect_refusal("readproportion=0\nupdateproportion=0\n", "at least one proportion above 0");
	expect_refusal("maxscanlength=0\n", "expected scans of 1");
	expect_refusal("", "the file is empty");
}

TEST(the_names_are_the_published_files)
{
	const char *const shared = getenv("SHARED_DATA");
	char file[512];

	for (const char *name = "abcdef"; *name != 0; name++) {
		struct ycsb by_name, by_file;

		snprintf(file, sizeof(file), "%s/ycsb/workload%c", shared ? shared : "", *name);
		if (shared == NULL || access(file, R_OK) != 0) {
			skip_test("%s is not there", file);
		}
		assert_ok(ycsb_load((char[]){*name, 0}, &by_name));
		assert_ok(ycsb_load(file, &by_file));
		assert_memory_equal(&by_name, &by_file, sizeof(by_name));
	}
}

TEST(requests_follow_the_shares)
{
	enum { DRAWS = 20000 };

	for (const char *name = "abcdef"; *name != 0; name++) {
		unsigned counts[YCSB_OPS] = {0};
		struct ycsb_requests r;
		struct ycsb y;

		assert_ok(ycsb_load((char[]){*name, 0}, &y));
		ycsb_requests_init(&r, &y, 1000, DRAWS, 1);
		NVW_FOR(i, DRAWS) {
			counts[ycsb_requests_next(&r).op]++;
		}
		NVW_FOR(op, YCSB_OPS) {
			assert_true(fabs((double)counts[op] / DRAWS - y.share[op]) < 0.015);
			assert_true(y.share[op] > 0 || counts[op] == 0);
		}
		assert_int_equal(r.records, 1000 + counts[YCSB_INSERT]);
	}
}

TEST(requests_fall_on_present_records_only)
{
	static const enum ycsb_distribution all[] = {YCSB_UNIFORM, YCSB_ZIPFIAN, YCSB_LATEST};

	for_each(row, all) {
		struct ycsb_requests r;
		struct ycsb y;

		assert_ok(ycsb_load("e", &y));
		y.request = *row;
		ycsb_requests_init(&r, &y, 1, 3000, 9);
		NVW_FOR(i, 3000) {
			const uint64_t before = r.records;
			const struct ycsb_request q = ycsb_requests_next(&r);

			assert_true(q.op == YCSB_INSERT ? q.record == before : q.record < before);
			assert_true(q.op != YCSB_SCAN || (q.scan_length >= 1 && q.scan_length <= 100));
		}
	}
}

static int begin(void **state)
{
	return shell_begin((const char *const[]){NULL});
}

GROUP(begin, shell_end);
