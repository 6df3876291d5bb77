/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trusted transactions (crashtest/states/trust.h): random runs of two threads with an undo log of their own
 * each, in which library and program forget this or that. Recovery makes of the states without trust what it
 * makes of those with it, and these are fewer.
 */
#include "common/test.h"
#include "memory_log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <core/bounds.h>
#include <crashtest/states/states.h>
#include <nvw/persist_log.h>
#include <nvw/random.h>

enum {
	POOL = 2304,
	WORDS = 16, /* of data, from 0 on: two lines */
	LANES = 2,
	LANE = 768,   /* the first lane's header, and the bytes of each: a line, then a line per entry */
	ENTRIES = 11, /* more than the adds of a transaction */
	STATES_MAX = 1 << 13, /* of an instant; a run with more is left out */
	KEYS_MAX = 1 << 18,
	RUNS_OF_TEST = 3000
};

/* ---- The undo log ---------------------------------------------------------------------------------- */

/* An entry has up to two words. The check is right for one generation. */
struct entry {
	uint64_t word, count, old[2], check;
};

static nvw_off header_of(unsigned lane)
{
	return LANE + LANE * (nvw_off)lane;
}

static nvw_off entry_of(unsigned lane, unsigned i)
{
	return header_of(lane) + 64 + 64 * (nvw_off)i;
}

static uint64_t check_of(const struct entry *e, uint64_t generation)
{
	return nvw_mix64(nvw_mix64(nvw_mix64(e->word * 8 + e->count + generation * 1000) + e->old[0]) +
			 e->old[1]) |
	       1;
}

static uint64_t word_at(const uint8_t *image, nvw_off off)
{
	uint64_t word;

	memcpy(&word, image + off, sizeof word);
	return word;
}

/* Up to the first entry that is not whole. */
static bool is_whole(const uint8_t *image, unsigned lane, unsigned i, struct entry *ret)
{
	if (i >= ENTRIES) {
		return false;
	}
	memcpy(ret, image + entry_of(lane, i), sizeof *ret);
	return ret->count >= 1 && ret->count <= 2 &&
	       ret->check == check_of(ret, word_at(image, header_of(lane)));
}

/* What recovery makes of the data, as a key. */
static uint64_t recovered(const uint8_t *image)
{
	uint64_t data[WORDS], key = 0;
	struct entry e;

	memcpy(data, image, sizeof data);
	NVW_FOR(lane, LANES) {
		for (unsigned i = 0; is_whole(image, lane, i, &e); i++) {
			memcpy(data + e.word, e.old, 8 * e.count);
		}
	}
	NVW_EACH(one, data, WORDS) {
		key = nvw_mix64(key + *one);
	}
	return key;
}

/* ---- A run ----------------------------------------------------------------------------------------- */

struct lane {
	bool runs;           /* a transaction */
	bool snapped[WORDS]; /* added, or taken for it */
	unsigned entries, steps;
};

struct run {
	struct memory_log log;
	struct nvw_random random;
	uint64_t instructions, values;
	uint64_t stop; /* the log ends with that record, as if the program was killed */
	uint8_t now[POOL];
	struct lane lane[LANES];
};

static bool chance(struct run *r, unsigned of)
{
	return nvw_random_below(&r->random, of) == 0;
}

static void append(struct run *r, struct nvw_log_record record)
{
	if (r->log.time_ps < 1000 * r->stop) {
		log_append(&r->log, record);
	} else {
		r->log.time_ps += 1000;
	}
}

static void store_part(struct run *r, unsigned thread, nvw_off off, uint64_t value)
{
	memcpy(r->now + off, &value, sizeof value);
	append(r, (struct nvw_log_record){.kind = NVW_LOG_STORE,
			  .store = {.site = 1,
				  .work_item = thread,
				  .group = r->instructions,
				  .bytes = 8,
				  .whole = 8,
				  .off = off,
				  .value = value}});
}

static void store(struct run *r, unsigned thread, nvw_off off, uint64_t value)
{
	r->instructions++;
	store_part(r, thread, off, value);
}

static void flush(struct run *r, unsigned thread, nvw_off off)
{
	append(r, (struct nvw_log_record){.kind = NVW_LOG_FLUSH,
			  .flush = {.site = 1, .thread = thread, .off = off, .bytes = 8}});
}

static void fence(struct run *r, unsigned thread)
{
	append(r, (struct nvw_log_record){.kind = NVW_LOG_FENCE, .fence = {.site = 1, .thread = thread}});
}

static void range(struct run *r, enum nvw_log_range what, unsigned thread, unsigned word, unsigned count)
{
	append(r, (struct nvw_log_record){.kind = NVW_LOG_RANGE,
			  .range = {.what = what, .thread = thread, .off = 8 * word, .bytes = 8 * count}});
}

static void make_entry(struct run *r, unsigned lane, unsigned word, unsigned count)
{
	struct entry e = {.word = word, .count = count};
	const nvw_off off = entry_of(lane, r->lane[lane].entries++);

	memcpy(e.old, r->now + 8 * word, 8 * count);
	e.check = check_of(&e, word_at(r->now, header_of(lane)));
	NVW_FOR(i, sizeof e / 8) {
		store(r, lane, off + 8 * i, word_at((const uint8_t *)&e, 8 * i));
	}
	if (!chance(r, 6)) {
		flush(r, lane, off);
	}
	if (!chance(r, 6)) {
		fence(r, lane);
	}
}

/* Words that were added before are left as they were then. */
static void add(struct run *r, unsigned lane, unsigned word, unsigned count)
{
	struct lane *const l = &r->lane[lane];

	if (chance(r, 6)) { /* without a snapshot */
		memset(l->snapped + word, true, count);
		range(r, NVW_RANGE_UNLOGGED, lane, word, count);
		return;
	}
	range(r, NVW_RANGE_ADDING, lane, 0, 0);
	NVW_FOR(i, count) {
		const unsigned both = i == 0 && count == 2 && !l->snapped[word] && !l->snapped[word + 1];

		if (!l->snapped[word + i]) {
			make_entry(r, lane, word + i, 1 + both);
			i += both;
		}
	}
	memset(l->snapped + word, true, count);
	range(r, NVW_RANGE_ADDED, lane, word, count);
}

/* The log is not valid any more. */
static void next_generation(struct run *r, unsigned thread, unsigned lane)
{
	store(r, thread, header_of(lane), word_at(r->now, header_of(lane)) + 1);
	flush(r, thread, header_of(lane));
	fence(r, thread);
	r->lane[lane] = (struct lane){.runs = false};
}

/* Sometimes nothing is flushed, and the log ends with the fence: what trust does not see before is there
 * behind it. */
static void commit(struct run *r, unsigned lane)
{
	range(r, NVW_RANGE_SETTLES, lane, 0, 0);
	if (chance(r, 6)) {
		if (r->log.time_ps <= 1000 * r->stop) {
			r->stop = nvw_max(r->stop, r->log.time_ps / 1000 + 3);
		}
		next_generation(r, lane, lane);
		return;
	}
	NVW_FOR(i, WORDS) {
		if (r->lane[lane].snapped[i] && !chance(r, 8)) {
			flush(r, lane, 8 * i);
		}
	}
	fence(r, lane);
	next_generation(r, lane, lane);
}

static void restore(struct run *r, unsigned thread, unsigned lane)
{
	struct entry e;

	for (unsigned i = 0; is_whole(r->now, lane, i, &e); i++) {
		NVW_FOR(k, e.count) {
			store(r, thread, 8 * (e.word + k), e.old[k]);
			flush(r, thread, 8 * (e.word + k));
		}
		fence(r, thread);
	}
	next_generation(r, thread, lane);
}

/* Threads do not store to each other's words, but to each other's lines. */
static void step(struct run *r, unsigned lane)
{
	struct lane *const l = &r->lane[lane];
	const unsigned word = 2 * (unsigned)nvw_random_below(&r->random, WORDS / 2);
	const unsigned mine = word / 2 % 2 == lane ? word : (word + 2) % WORDS;
	const unsigned odd = (unsigned)nvw_random_below(&r->random, 2);

	if (!l->runs) {
		l->runs = true;
		l->steps = 2 + (unsigned)nvw_random_below(&r->random, 4);
	} else if (l->steps == 0 && chance(r, 4)) {
		range(r, NVW_RANGE_SETTLES, lane, 0, 0);
		restore(r, lane, lane);
	} else if (l->steps == 0) {
		commit(r, lane);
	} else if (l->steps--, chance(r, 3)) {
		add(r, lane, mine + odd, 2 - odd);
	} else if (l->snapped[mine + odd] || chance(r, 3)) {
		store(r, lane, 8 * (mine + odd), ++r->values);
		if (chance(r, 3)) { /* of one instruction */
			store_part(r, lane, 8 * (mine + !odd), ++r->values);
		}
	} else if (chance(r, 3)) {
		flush(r, lane, 8 * mine);
		fence(r, lane);
	} else {
		add(r, lane, mine, 1 + odd);
		store(r, lane, 8 * (mine + odd), ++r->values);
	}
}

/* The transactions are left where they are, and their pool is opened by another thread. */
static void open_pool(struct run *r)
{
	range(r, NVW_RANGE_FORGOTTEN, LANES, 0, 0);
	NVW_FOR(lane, LANES) {
		restore(r, LANES, lane);
	}
}

static int make_run(uint64_t seed)
{
	const struct nvw_log_info info = {.workload = "trust",
		.model = "x86",
		.pool_bytes = POOL,
		.atomicity = seed % 3 == 0 ? 64 : 8,
		.ranges = true};
	struct run r = {.log = begin_log_as(&info), .random = {seed}, .stop = UINT32_MAX};

	log_sites(&r.log, 1, 7, "t.c");
	if (chance(&r, 3)) {
		r.stop = 20 + nvw_random_below(&r.random, 100);
	}
	NVW_FOR(i, 16) {
		if (chance(&r, 24)) {
			open_pool(&r);
		}
		step(&r, (unsigned)nvw_random_below(&r.random, 1 + seed % LANES));
	}
	r.log.time_ps = nvw_min(r.log.time_ps, 1000 * r.stop) + 1000;
	return log_end(&r.log);
}

/* ---- Its states ------------------------------------------------------------------------------------ */

struct outcomes {
	uint64_t states, keys;
	uint64_t key[KEYS_MAX];
};

static void recover_all(struct ct_medium *m, struct outcomes *o)
{
	unsigned levels[POOL / 64];
	struct ct_walk walk = {0};

	for (uint64_t i = 0, n = ct_states_numbers(m); i < n; i++) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			ct_medium_apply(m, levels);
			o->key[o->keys++] = recovered(m->image.rw);
			o->states++;
			ct_medium_undo(m);
		}
	}
	ct_walk_end(&walk);
	o->keys = sort_into_set(o->key, o->keys);
}

/* False: there are too many. */
static bool find_outcomes(int fd, bool trusts, struct outcomes *o, struct ct_trusted *ret_trusted)
{
	static const uint8_t initial[POOL];
	const struct ct_rules rules = {.model = ct_model_for(CT_USE_PROGRAMS), .trusts = trusts};
	bool few = true;
	struct ct_medium m;

	o->states = o->keys = 0;
	assert_ok(ct_medium_create(fd, initial, POOL, 0, &rules, &m));
	while (few && ct_medium_next(&m) == 1) {
		struct ct_count count;

		assert_ok(ct_states_count(&m, &count));
		few = count.log2 < 13 && o->keys + STATES_MAX < KEYS_MAX;
		if (few) {
			recover_all(&m, o);
		}
	}
	*ret_trusted = m.trust.counts;
	ct_medium_destroy(&m);
	return few;
}

TEST(trusted_transactions_have_the_outcomes_of_all_states_in_fewer)
{
	static struct outcomes all, trusted;
	struct ct_trusted none, counts, sum = {0};
	uint64_t compared = 0, of_all = 0, of_trusted = 0;

	for (uint64_t seed = 1; seed <= RUNS_OF_TEST; seed++) {
		const int fd = make_run(seed);

		if (find_outcomes(fd, false, &all, &none) && find_outcomes(fd, true, &trusted, &counts)) {
			assert_int_equal(none.ranges + none.stores + none.bytes, 0);
			if (all.keys != trusted.keys ||
				memcmp(all.key, trusted.key, all.keys * sizeof *all.key) != 0) {
				fail_msg("seed %llu: %llu outcomes of %llu states, but trusted %llu of %llu",
					(unsigned long long)seed, (unsigned long long)all.keys,
					(unsigned long long)all.states, (unsigned long long)trusted.keys,
					(unsigned long long)trusted.states);
			}
			compared++;
			of_all += all.states;
			of_trusted += trusted.states;
			sum.ranges += counts.ranges;
			sum.stores += counts.stores;
		}
		close(fd);
	}
	print_message("# %llu runs, %llu states, trusted %llu; %llu ranges, %llu stores\n",
		(unsigned long long)compared, (unsigned long long)of_all, (unsigned long long)of_trusted,
		(unsigned long long)sum.ranges, (unsigned long long)sum.stores);
	assert_true(compared > RUNS_OF_TEST / 2);
	assert_true(sum.stores > compared / 4);
	assert_true(of_trusted < of_all - of_all / 10);
}
