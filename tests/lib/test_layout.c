/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of stores, looked up in a layout. */
#include "common/test.h"

#include "source/layout.h"

/* A packed structure, whose elements do not begin where words do. */
static const char packed[] = "c\tpool->s\tstruct s\t\t0\t24\n"
			     ".tag\tchar\t0\t1\t0\n"
			     ".v\tuint32_t [4]\t1\t16\t4\n"
			     ".end\tchar [7]\t17\t7\t1\n";

TEST(bytes_that_are_elements_are_named_as_these)
{
	struct nvw__field f;

	assert_true(nvw__layout_find(packed, 9, 8, 24, &f));
	assert_string_equal(f.name, "pool->s.v[2..3]");
	assert_string_equal(f.of, "struct s");
	assert_int_equal(f.offset, 9);
	assert_int_equal(f.bytes, 8);
	assert_false(f.part);
}

TEST(bytes_that_begin_or_end_between_two_elements_are_a_part_of_the_array)
{
	static const struct {
		uint64_t at, bytes;
	} between[] = {{8, 8}, {9, 7}, {5, 6}};
	struct nvw__field f;

	for_each(row, between) {
		assert_true(nvw__layout_find(packed, row->at, row->bytes, 24, &f));
		assert_string_equal(f.name, "pool->s.v");
		assert_int_equal(f.offset, 1);
		assert_int_equal(f.bytes, 16);
		assert_true(f.part);
	}
}
