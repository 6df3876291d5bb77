/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of a cache, searched at once, against searches way by way; what is replaced; bytes of lines by masks.
 */
#include "common/rig.h"

#include "machine.h"

/* ---- Sets searched at once --------------------------------------------------------------------- */

TEST(a_set_searched_at_once_gives_what_a_search_way_by_way_gives)
{
	enum { WAYS_MAX = 40, ROUNDS = 400 };
	static const uint32_t corners[] = {0, 1, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX - 1, UINT32_MAX};
	struct nvw_random random = {.state = 5};
	uint32_t sets[2 * WAYS_MAX] __attribute__((aligned(64)));
	unsigned found = 0;

	NVW_FOR(round, WAYS_MAX * ROUNDS) {
		const uint32_t ways = 1 + round % WAYS_MAX;
		const uint32_t first = (uint32_t)nvw_random_u64(&random);
		uint32_t *const words = sets + ways; /* the second set of its cache */

		/* Tags differ; among stamps there are equal ones, and ones whose highest bit is set. */
		NVW_FOR(i, ways) {
			words[i] = first + i * UINT32_C(0x9e3779b1);
		}
		NVW_FOR(i, 2) {
			const uint32_t tag = i ? first + 7 : words[nvw_random_below(&random, ways)];

			assert_int_equal(emu_find_way(words, ways, tag), emu_scan_tags(words, ways, tag));
			found += emu_find_way(words, ways, tag) < ways;
		}
		NVW_EACH(word, words, ways) {
			if (nvw_random_below(&random, 2)) {
				*word = corners[nvw_random_below(&random, 6)];
			}
		}
		assert_int_equal(emu_find_oldest(words, ways), emu_scan_oldest(words, ways));
	}
	assert_true(found >= WAYS_MAX * ROUNDS);
}

TEST(a_walk_over_a_cache_meets_each_line_that_has_a_tag_once)
{
	enum { LINES = 12 * 100 };
	const struct emu_cache_config config = {.size = EMU_LINE * LINES, .ways = 12};
	struct nvw_random random = {.state = 6};
	bool has[LINES] = {false};
	struct emu_cache cache = {0};
	unsigned tags = 0, met = 0;

	rig_ok(emu_cache_init(&cache, &config));
	assert_int_equal(emu_cache_next(&cache, 0), LINES);
	NVW_FOR(n, 60) {
		const uint32_t i = (uint32_t)nvw_random_below(&random, LINES);

		emu_cache_assign(&cache, &cache.lines[i], n % 5 ? 1000 + i : EMU_NO_LINE);
		has[i] = n % 5;
	}
	NVW_EACH(ha, has, LINES) {
		tags += *ha;
	}
	EMU_EACH_LINE(i, &cache) {
		assert_true(has[i]);
		assert_int_equal(emu_cache_tag_at(&cache, i), 1000 + i);
		met++;
	}
	assert_int_equal(met, tags);
	emu_cache_finish(&cache);
}

/* What a cache is: a list of lines, each with the time when it was last used. */
struct plain_line {
	emu_line_id id;
	uint64_t used; /* 0: it has no line; UINT64_MAX: that is being evicted */
	bool registered;
};

static bool goes_first(const struct plain_line *a, const struct plain_line *b, bool registered_last)
{
	const bool a_last = registered_last && (a->used == UINT64_MAX || (a->used && a->registered)),
		   b_last = registered_last && (b->used == UINT64_MAX || (b->used && b->registered));

	return a_last == b_last ? a->used < b->used : b_last;
}

static uint32_t plain_victim(const struct plain_line *set, uint32_t ways, bool registered_last)
{
	uint32_t first = 0;

	for (uint32_t way = 1; way < ways; way++) {
		first = goes_first(&set[way], &set[first], registered_last) ? way : first;
	}
	return first;
}

static uint32_t plain_way(const struct plain_line *set, uint32_t ways, emu_line_id id)
{
	NVW_FOR(way, ways) {
		if (set[way].used && set[way].id == id) {
			return way;
		}
	}
	return ways;
}

/* One thing done to a cache and to the list. */
static void use_both(struct emu_cache *cache, struct plain_line *set, uint32_t start, emu_line_id id,
	unsigned what, uint64_t now)
{
	const uint32_t ways = cache->ways;
	const uint32_t way = plain_way(set, ways, id),
		       victim = plain_victim(set, ways, cache->registered_last);
	struct emu_line *const line = way < ways ? &cache->lines[start + way] : NULL;

	assert_ptr_equal(emu_cache_peek(cache, id), line);
	assert_int_equal(emu_cache_victim(cache, id) - cache->lines, start + victim);
	if (what == 0 && line) {
		emu_cache_assign(cache, line, EMU_NO_LINE);
		set[way] = (struct plain_line){0};
	} else if (what == 1 && line) {
		emu_cache_pin(cache, line);
		set[way].used = UINT64_MAX;
	} else if (what == 2 && line) {
		line->registered = set[way].registered = !set[way].registered;
	} else if (what < 9 || line) {
		assert_ptr_equal(emu_cache_find(cache, id), line);
		set[way % ways].used = line ? now : set[way % ways].used;
	} else {
		emu_cache_assign(cache, emu_cache_victim(cache, id), id);
		set[victim] = (struct plain_line){.id = id, .used = now};
	}
}

/* Each clock of a set goes round many times. */
TEST(a_cache_replaces_what_a_list_by_last_use_replaces)
{
	enum { WAYS_MAX = 20, SETS_MAX = 4, ROUNDS = 12000 };
	static const uint32_t ways[] = {16, 16, 4, 20, 7}, sets[] = {4, 3, 4, 2, 1};

	NVW_FOR(k, 2 * NVW_COUNT(ways)) {
		const uint32_t n = sets[k / 2];
		const struct emu_cache_config config = {
			.size = EMU_LINE * n * ways[k / 2], .ways = ways[k / 2]};
		struct plain_line plain[SETS_MAX][WAYS_MAX] = {0};
		struct nvw_random random = {.state = k};
		struct emu_cache cache = {0};

		rig_ok(emu_cache_init(&cache, &config));
		cache.registered_last = k % 2;
		for (uint64_t now = 1; now <= ROUNDS; now++) {
			const emu_line_id id = (emu_line_id)nvw_random_below(&random, 3 * cache.ways * n / 2);

			use_both(&cache, plain[id % n], id % n * cache.ways, id,
				(unsigned)nvw_random_below(&random, 24), now);
		}
		emu_cache_finish(&cache);
	}
}

TEST(the_oldest_of_16_ways_is_the_one_that_a_scan_finds)
{
	struct nvw_random random = {.state = 7};

	NVW_FOR(round, 4000) {
		const uint64_t range = round % 3 ? 256 : 4;
		struct emu_set set = {.clock = 0};

		NVW_EACH(stamp, set.stamp, 16) {
			*stamp = (uint8_t)(nvw_random_below(&random, range) * (256 / range));
		}
		assert_int_equal(emu_set_oldest(&set), emu_set_scan_oldest(&set));
	}
}

TEST(bytes_of_a_mask_are_copied_and_no_others)
{
	struct nvw_random random = {.state = 8};

	NVW_FOR(round, 4000) {
		const uint64_t some = nvw_random_u64(&random), more = nvw_random_u64(&random);
		const uint64_t mask = round % 3 ? some & more : round % 2 ? UINT64_MAX : some | more;
		uint8_t from[EMU_LINE], to[EMU_LINE], before[EMU_LINE];

		NVW_FOR(i, EMU_LINE) {
			from[i] = (uint8_t)nvw_random_u64(&random);
			to[i] = before[i] = (uint8_t)nvw_random_u64(&random);
		}
		emu_copy_masked(to, from, mask);
		NVW_FOR(i, EMU_LINE) {
			assert_int_equal(to[i], mask >> i & 1 ? from[i] : before[i]);
		}
	}
}

TEST(bytes_with_a_value_are_those_that_a_look_at_each_finds)
{
	struct nvw_random random = {.state = 9};

	NVW_FOR(round, 4000) {
		const uint8_t value = (uint8_t)nvw_random_u64(&random);
		uint8_t line[EMU_LINE];
		uint64_t found;

		NVW_EACH(one, line, EMU_LINE) {
			const unsigned other = (unsigned)nvw_random_below(&random, 1024);

			/* the value, a neighbour of it, one with another highest bit, any */
			*one = (uint8_t)(other % 4 == 0 ? value :
					 other % 4 == 1 ? value + 1u :
					 other % 4 == 2 ? value ^ 0x80u :
							  other / 4);
		}
		found = emu_bytes_with(line, value);
		NVW_FOR(i, EMU_LINE) {
			assert_int_equal(found >> i & 1, line[i] == value);
		}
	}
}

/* ---- Counts that wrap round ------------------------------------------------------------------- */

TEST(the_oldest_line_goes_first_after_stamps_have_wrapped_round)
{
	const struct emu_cache_config config = {.size = EMU_LINE * 4, .ways = 4};
	struct emu_cache cache = {0};

	rig_ok(emu_cache_init(&cache, &config));
	NVW_FOR(id, 4) {
		emu_cache_assign(&cache, emu_cache_victim(&cache, id), id);
	}
	cache.clock = UINT32_MAX - 1;
	/* Stamped in turn: one of them with the last stamp there is, the others behind it. */
	NVW_FOR(id, 4) {
		assert_non_null(emu_cache_find(&cache, id));
	}
	for (emu_line_id id = 1; id < 4; id++) {
		assert_non_null(emu_cache_find(&cache, id));
	}
	assert_int_equal(emu_cache_tag(&cache, emu_cache_victim(&cache, 9)), 0);
	emu_cache_finish(&cache);
}
