/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The permitted states of small random runs, against a second definition of them: every set of stores is
 * made, and kept if it breaks none of the model's axioms, which are written out here pair by pair. What is
 * explored must be permitted, and whatever is permitted must be explored, with no fewer acknowledgements.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/states/distinct.h>
#include <crashtest/states/states.h>
#include <nvw/random.h>

#include "same_result.h"
#include "word_sets.h"

enum {
	STORES_MAX = 9,
	STEPS_MAX = 64,
	RUNS = 100,
};

/*
 * ---- A run, as this test remembers it
 * -----------------------------------------------------------------------
 */

struct event {
	enum nvw_log_kind kind;
	/* STORE, ACK, FLUSH: who and in which epochs; */
	unsigned item, word, epoch[3];
	uint64_t value;
	unsigned at, bytes; /* of the word */
	/* PERSISTED: the stores (numbers) that its barrier covers; */
	uint32_t covers;
	unsigned store, ack; /* numbers */
	/*
	 * Of a member's next event after a barrier that is taken for a narrower one: the stores that are
	 * durable by then.
	 */
	uint32_t owed;
};

struct history {
	bool small;         /* stores to bytes of two words */
	bool hosted;        /* the host writes and acknowledges, too */
	unsigned narrow_by; /* every barrier is taken for one narrower by so many steps */
	unsigned events;
	struct event event[STEPS_MAX * 4];
	unsigned stores;
	unsigned store_at[STORES_MAX]; /* event */
	unsigned acks;
	unsigned ack_at[ACKS_MAX];
};

/*
 * ---- Making runs
 * ----------------------------------------------------------------------------------------------
 */

struct maker {
	struct nvw_log_writer *w;
	struct nvw_random r;
	struct history *h;
	uint64_t time_ps;
	unsigned epoch[ITEMS][3];  /* as the narrower barriers make them */
	unsigned logged[ITEMS][3]; /* as the log says */
	bool stalled[ITEMS];
	uint32_t owed_item[ITEMS], owed_group[ITEMS / GROUP];
	/* A barrier under way. */
	struct waiting {
		bool open;
		enum nvw_group scope;
		unsigned item;
		uint32_t covers;
	} waiting[ITEMS];
};

static void append(struct maker *m, struct nvw_log_record record)
{
	m->time_ps += 1000;
	record.time_ps = m->time_ps;
	assert_int_equal(nvw_log_append(m->w, &record), 0);
}

static bool is_member(const struct waiting *b, unsigned item)
{
	return b->scope == NVW_KERNEL || item == b->item ||
	       (b->scope == NVW_WORKGROUP && item / GROUP == b->item / GROUP);
}

/* The item does something: by now its narrower barrier has completed. */
static uint32_t settle(struct maker *m, unsigned item)
{
	const uint32_t owed = m->owed_item[item] | m->owed_group[item / GROUP];

	m->owed_item[item] = m->owed_group[item / GROUP] = 0;
	return owed;
}

/* Of so few values that some stores change nothing. */
static uint64_t value_of(struct nvw_random *r, unsigned bytes)
{
	const uint64_t all = UINT64_C(0x0101010101010101) * (1 + nvw_random_below(r, 3));

	return bytes == 8 ? all : all & ((UINT64_C(1) << 8 * bytes) - 1);
}

static void make_store(struct maker *m, unsigned item)
{
	const unsigned word = (unsigned)nvw_random_below(&m->r, m->h->small ? 2 : WORDS);
	const unsigned bytes = m->h->small ? 1u << nvw_random_below(&m->r, 4) : 8;
	const unsigned at = (unsigned)nvw_random_below(&m->r, 8 / bytes) * bytes;
	struct event *const e = &m->h->event[m->h->events++];

	*e = (struct event){.kind = NVW_LOG_STORE,
		.item = item,
		.word = word,
		.at = at,
		.bytes = bytes,
		.value = m->h->small ? value_of(&m->r, bytes) : 100 + m->h->stores,
		.store = m->h->stores,
		.owed = settle(m, item)};
	memcpy(e->epoch, m->epoch[item], sizeof e->epoch);
	m->h->store_at[m->h->stores++] = m->h->events - 1;
	append(m, (struct nvw_log_record){.kind = NVW_LOG_STORE,
			  .store = {.site = 1,
				  .kernel = 1,
				  .work_item = item,
				  .group = item / GROUP,
				  .epoch_wi = m->logged[item][0],
				  .epoch_wg = m->logged[item][1],
				  .epoch_kr = m->logged[item][2],
				  .bytes = bytes,
				  .off = place(word) + at,
				  .value = e->value}});
}

static void make_ack(struct maker *m, unsigned item)
{
	struct event *const e = &m->h->event[m->h->events++];

	*e = (struct event){.kind = NVW_LOG_ACK, .item = item, .ack = m->h->acks, .owed = settle(m, item)};
	memcpy(e->epoch, m->epoch[item], sizeof e->epoch);
	m->h->ack_at[m->h->acks] = m->h->events - 1;
	append(m, (struct nvw_log_record){.kind = NVW_LOG_ACK,
			  .ack = {.first = m->h->acks++,
				  .count = 1,
				  .kernel = 1,
				  .work_item = item,
				  .group = item / GROUP,
				  .epoch_wi = m->logged[item][0],
				  .epoch_wg = m->logged[item][1],
				  .epoch_kr = m->logged[item][2]}});
}

static struct nvw_log_record barrier_record(const struct waiting *b, enum nvw_log_kind kind)
{
	return (struct nvw_log_record){.kind = kind,
		.barrier = {.site = 1,
			.kernel = 1,
			.scope = b->scope,
			.work_item = b->scope == NVW_KERNEL    ? 0 :
				     b->scope == NVW_WORKGROUP ? b->item / GROUP * GROUP :
								 b->item,
			.group = b->scope == NVW_KERNEL ? 0 : b->item / GROUP,
			.lanes = b->scope == NVW_WORKITEM}};
}

/* All members arrive together; those that wait at another barrier cannot. */
static void make_barrier(struct maker *m, unsigned item, enum nvw_group scope)
{
	struct waiting b = {.open = true, .scope = scope, .item = item};
	const int narrowed = (int)scope - (int)m->h->narrow_by;

	for (unsigned i = 0; i < ITEMS; i++) {
		if (is_member(&b, i) && m->stalled[i]) {
			return;
		}
	}
	for (unsigned s = 0; s < m->h->stores; s++) {
		if (is_member(&b, m->h->event[m->h->store_at[s]].item)) {
			b.covers |= 1u << s;
		}
	}
	uint32_t owed = 0;

	for (unsigned i = 0; i < ITEMS; i++) {
		if (is_member(&b, i)) {
			m->stalled[i] = true;
			m->logged[i][0]++;
			m->logged[i][1] += scope >= NVW_WORKGROUP;
			m->logged[i][2] += scope == NVW_KERNEL;
			m->epoch[i][0] += narrowed >= NVW_WORKITEM;
			m->epoch[i][1] += narrowed >= NVW_WORKGROUP;
			m->epoch[i][2] += narrowed == NVW_KERNEL;
			owed |= settle(m, i);
		}
	}
	m->h->event[m->h->events++] = (struct event){.kind = NVW_LOG_BARRIER, .owed = owed};
	append(m, barrier_record(&b, NVW_LOG_BARRIER));
	m->waiting[item] = b;
}

static uint32_t stores_of(const struct maker *m, uint32_t among, unsigned first, unsigned count)
{
	uint32_t set = 0;

	for (unsigned s = 0; s < m->h->stores; s++) {
		const unsigned item = m->h->event[m->h->store_at[s]].item;

		set |= (uint32_t)(item >= first && item < first + count) << s;
	}
	return set & among;
}

static void owe(struct maker *m, const struct waiting *b, int narrowed)
{
	for (unsigned i = 0; i < ITEMS && m->h->narrow_by > 0; i++) {
		if (is_member(b, i) && narrowed == NVW_WORKITEM) {
			m->owed_item[i] |= stores_of(m, b->covers, i, 1);
		}
		if (is_member(b, i) && narrowed == NVW_WORKGROUP) {
			m->owed_group[i / GROUP] |= stores_of(m, b->covers, i / GROUP * GROUP, GROUP);
		}
	}
}

static void make_completion(struct maker *m, unsigned item)
{
	struct waiting *const b = &m->waiting[item];

	if (!b->open) {
		return;
	}
	b->open = false;
	for (unsigned i = 0; i < ITEMS; i++) {
		m->stalled[i] = m->stalled[i] && !is_member(b, i);
	}
	m->h->event[m->h->events++] =
		(struct event){.kind = NVW_LOG_PERSISTED, .covers = m->h->narrow_by == 0 ? b->covers : 0};
	owe(m, b, (int)b->scope - (int)m->h->narrow_by);
	append(m, barrier_record(b, NVW_LOG_PERSISTED));
}

/* What the axioms below leave out. */
static void make_host(struct maker *m)
{
	const uint64_t value = value_of(&m->r, 8);
	const unsigned bytes = 1u << nvw_random_below(&m->r, 4);

	if (nvw_random_below(&m->r, 2) == 0) {
		append(m, (struct nvw_log_record){.kind = NVW_LOG_HOST,
				  .host = {.off = place((unsigned)nvw_random_below(&m->r, 3)),
					  .bytes = bytes,
					  .data = (const uint8_t *)&value}});
	} else {
		append(m, (struct nvw_log_record){.kind = NVW_LOG_ACK,
				  .ack = {.first = nvw_random_below(&m->r, ACKS_MAX), .count = 1}});
	}
}

static void make_step(struct maker *m)
{
	const unsigned item = (unsigned)nvw_random_below(&m->r, ITEMS);

	if (m->h->hosted && nvw_random_below(&m->r, 8) == 0) {
		make_host(m);
		return;
	}

	switch (nvw_random_below(&m->r, 10)) {
	case 0:
	case 1:
		make_barrier(m, item, (enum nvw_group)nvw_random_below(&m->r, 3));
		break;
	case 2:
	case 3:
	case 4:
		make_completion(m, item);
		break;
	case 5:
		if (!m->stalled[item] && m->h->acks < ACKS_MAX) {
			make_ack(m, item);
		}
		break;
	default:
		if (!m->stalled[item] && m->h->stores < STORES_MAX) {
			make_store(m, item);
		}
	}
}

static int make_run_of(uint64_t seed, const struct history *kind, struct history *h)
{
	const struct nvw_log_info info = {.workload = "random", .pool_bytes = POOL_BYTES, .atomicity = 8};
	const int fd = memfd_create("log", MFD_CLOEXEC);
	struct maker m = {.r = {seed}, .h = h};

	*h = *kind;
	assert_int_equal(nvw_log_create_fd(dup(fd), "test log", &info, &m.w), 0);
	append(&m, (struct nvw_log_record){.kind = NVW_LOG_SITE,
			   .site = {.id = 1, .line = 7, .file = "r.c", .function = "f"}});
	append(&m,
		(struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
			.launch = {.kernel = 1, .group_size = GROUP, .work_items = ITEMS, .name = "random"}});
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		make_step(&m);
	}
	assert_int_equal(nvw_log_close(m.w, m.time_ps), 0);
	return fd;
}

static int make_run(uint64_t seed, unsigned narrow_by, bool small, struct history *h)
{
	return make_run_of(seed, &(const struct history){.narrow_by = narrow_by, .small = small}, h);
}

/*
 * ---- The axioms, pair by pair
 * -----------------------------------------------------------------------------------
 */

static bool share_bytes(const struct event *a, const struct event *b)
{
	return a->word == b->word && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

static const struct event *store_of(const struct history *h, unsigned s)
{
	return &h->event[h->store_at[s]];
}

/* a persists before b, by equations 1 to 3 or because they are to the same bytes. */
static bool is_ordered(const struct event *a, const struct event *b)
{
	return (share_bytes(a, b) && a->store < b->store) ||
	       (a->item == b->item && a->epoch[0] < b->epoch[0]) ||
	       (a->item / GROUP == b->item / GROUP && a->epoch[1] < b->epoch[1]) || a->epoch[2] < b->epoch[2];
}

static void add_state(const struct history *h, uint32_t durable, uint32_t acks)
{
	struct state s = {.acks = acks};

	for (unsigned i = 0; i < h->stores; i++) {
		if (durable >> i & 1) {
			memcpy((uint8_t *)&s.word[store_of(h, i)->word] + store_of(h, i)->at,
				&store_of(h, i)->value, store_of(h, i)->bytes);
		}
	}
	add(&permitted, &s);
}

static bool is_byte_closed(const struct history *h, uint32_t set)
{
	for (unsigned b = 0; b < h->stores; b++) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			if (share_bytes(store_of(h, a), store_of(h, b)) && !(set >> a & 1)) {
				return false;
			}
		}
	}
	return true;
}

/* A store that is durable takes those before it to its bytes with it. */
static uint32_t close_bytes(const struct history *h, uint32_t set)
{
	for (unsigned b = h->stores; b-- > 0;) {
		for (unsigned a = 0; a < b && set >> b & 1; a++) {
			set |= (uint32_t)(share_bytes(store_of(h, a), store_of(h, b))) << a;
		}
	}
	return set;
}

/* Crash after event number p: what has happened by then. */
struct moment {
	uint32_t stores, acks, floor;
};

static struct moment moment_at(const struct history *h, unsigned p)
{
	struct moment t = {0};

	for (unsigned i = 0; i < p; i++) {
		const struct event *const e = &h->event[i];

		t.stores |= e->kind == NVW_LOG_STORE ? 1u << e->store : 0;
		t.acks |= e->kind == NVW_LOG_ACK ? 1u << e->ack : 0;
		t.floor |= (e->kind == NVW_LOG_PERSISTED ? e->covers : 0) | e->owed;
	}
	return t;
}

static void permit_epoch(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);
		const uint32_t floor = close_bytes(h, t.floor);

		for (uint32_t set = 0; set < 1u << h->stores; set++) {
			if ((set & ~t.stores) == 0 && (floor & ~set) == 0 && is_byte_closed(h, set)) {
				add_state(h, set, t.acks);
			}
		}
	}
}

static void permit_strict(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);

		for (unsigned n = 0; n <= h->stores; n++) {
			const uint32_t set = (1u << n) - 1;

			if ((set & ~t.stores) == 0 && (t.floor & ~set) == 0) {
				add_state(h, set, t.acks);
			}
		}
	}
}

static void permit_eadr(const struct history *h)
{
	for (unsigned p = 0; p <= h->events; p++) {
		const struct moment t = moment_at(h, p);

		add_state(h, t.stores, t.acks);
	}
}

static void permit_buffered(const struct history *h)
{
	for (uint32_t set = 0; set < 1u << h->stores; set++) {
		bool closed = true;
		uint32_t acks = 0;

		for (unsigned b = 0; b < h->stores && closed; b++) {
			for (unsigned a = 0; a < h->stores && closed; a++) {
				closed = !(set >> b & 1) || (set >> a & 1) || a == b ||
					 !is_ordered(store_of(h, a), store_of(h, b));
			}
		}
		for (unsigned k = 0; k < h->acks && closed; k++) {
			const struct event *const e = &h->event[h->ack_at[k]];
			bool told = true;

			for (unsigned a = 0; a < h->stores; a++) {
				const struct event *const s = store_of(h, a);

				told = told && ((set >> a & 1) ||
						       !((s->item == e->item && s->epoch[0] < e->epoch[0]) ||
							       (s->item / GROUP == e->item / GROUP &&
								       s->epoch[1] < e->epoch[1]) ||
							       s->epoch[2] < e->epoch[2]));
			}
			acks |= (uint32_t)told << k;
		}
		if (closed) {
			add_state(h, set, acks);
		}
	}
}

/*
 * ---- Against the explorer
 * -----------------------------------------------------------------------------------------
 */

static void explore(int fd, enum ct_model model, unsigned by, unsigned unit, struct ct_result *ret_result)
{
	static const uint8_t initial[POOL_BYTES];
	const struct ct_exploration e = {
		.rules = {.model = model,
			.unit_bytes = unit,
			.narrow_file = by ? "r.c" : NULL,
			.narrow_line = 7,
			.narrow_by = by},
		.log_fd = fd,
		.initial = initial,
		.bytes = POOL_BYTES,
		.judge = note,
		.options = {.states = 1 << 20, .seed = 1, .jobs = 1, .timeout_ms = 10000},
	};

	explored->count = 0;
	if (ct_explore(&e, NULL, ret_result)) {
		fail_msg("%s", nvw_error_message());
	}
	ct_result_free(ret_result);
}

static void compare(
	enum ct_model model, unsigned by, unsigned unit, bool small, void (*permit)(const struct history *h))
{
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		static struct ct_result result;
		static struct history h;
		const int fd = make_run(seed, by, small, &h);

		permitted.count = 0;
		permit(&h);
		explore(fd, model, by, unit, &result);
		assert_int_equal(result.instants, result.instants_exhausted);
		for (unsigned i = 0; i < explored->count; i++) {
			/*
			 * Buffered: an earlier crash may have had fewer acknowledgements than the stores
			 * would allow.
			 */
			if (!has(&permitted, &explored->state[i], model == CT_MODEL_BUFFERED)) {
				fail_msg("%s, seed %llu: a state was explored that the axioms forbid",
					ct_model_info(model)->name, (unsigned long long)seed);
			}
		}
		for (unsigned i = 0; i < permitted.count; i++) {
			if (!has(explored, &permitted.state[i], true)) {
				fail_msg("%s, seed %llu: a permitted state was not explored",
					ct_model_info(model)->name, (unsigned long long)seed);
			}
		}
		close(fd);
	}
}

static void strict_states_are_the_prefixes_of_visibility_order(void **state)
{
	compare(CT_MODEL_STRICT, 0, 8, false, permit_strict);
}

static void epoch_states_are_those_that_no_completed_barrier_forbids(void **state)
{
	compare(CT_MODEL_EPOCH, 0, 8, false, permit_epoch);
}

static void buffered_states_are_those_that_equations_1_to_3_permit(void **state)
{
	compare(CT_MODEL_BUFFERED, 0, 8, false, permit_buffered);
}

static void eadr_states_are_what_was_visible(void **state)
{
	compare(CT_MODEL_EADR, 0, 8, false, permit_eadr);
}

/* Neither words nor lines order stores, however many bytes the NVRAM writes at once. */
static void stores_to_the_same_bytes_alone_are_in_order(void **state)
{
	for (unsigned unit = 8; unit <= 64; unit += 56) {
		for (unsigned small = 0; small <= 1; small++) {
			compare(CT_MODEL_EPOCH, 0, unit, small, permit_epoch);
			compare(CT_MODEL_BUFFERED, 0, unit, small, permit_buffered);
			compare(CT_MODEL_STRICT, 0, unit, small, permit_strict);
			compare(CT_MODEL_EADR, 0, unit, small, permit_eadr);
		}
	}
}

static void a_narrowed_barrier_orders_as_the_narrower_one_would(void **state)
{
	for (unsigned by = 1; by <= 3; by++) {
		for (unsigned small = 0; small <= 1; small++) {
			compare(CT_MODEL_EPOCH, by, 8, small, permit_epoch);
			compare(CT_MODEL_BUFFERED, by, 8, small, permit_buffered);
		}
	}
}

/* What a wider model permits, a narrower one does not lose: strict is in epoch, epoch in buffered. */
static void models_are_contained_in_each_other(void **state)
{
	static struct set smaller;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		static const enum ct_model chain[] = {
			CT_MODEL_EADR, CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
		static struct ct_result result;
		static struct history h;
		const int fd = make_run(seed, 0, false, &h);

		smaller.count = 0;
		for (unsigned i = 0; i < 4; i++) {
			explore(fd, chain[i], 0, 8, &result);
			for (unsigned k = 0; k < smaller.count; k++) {
				assert_true(has(explored, &smaller.state[k], true));
			}
			smaller = *explored;
		}
		close(fd);
	}
}

/*
 * ---- States that are not enumerated
 * ---------------------------------------------------------------------------
 */

static void assert_is_permitted(struct ct_medium *m, const unsigned *levels, const char *what)
{
	ct_medium_apply(m, levels);
	const struct state s = state_of(&m->image, &m->acks);

	ct_medium_undo(m);
	if (!has(&permitted, &s, true)) {
		fail_msg("%s: a state that is %s is one that the axioms forbid",
			ct_model_info(m->rules.model)->name, what);
	}
}

/* A range of cells raised at once has the levels of cells raised one after the other. */
static void assert_raised_as_one_by_one(
	const struct ct_medium *m, struct nvw_random *r, const unsigned *levels)
{
	const unsigned first = (unsigned)nvw_random_below(r, m->cell_count),
		       end = first + 1 + (unsigned)nvw_random_below(r, m->cell_count - first);
	unsigned each[STORES_MAX], all[STORES_MAX];

	memcpy(each, levels, m->cell_count * sizeof *each);
	memcpy(all, levels, m->cell_count * sizeof *all);
	for (unsigned i = first; i < end; i++) {
		ct_states_raise(m, i, m->cell[i].count, each);
	}
	ct_states_raise_all(m, first, end, all);
	assert_memory_equal(each, all, m->cell_count * sizeof *each);
}

/* Samples, and what minimising makes of them: a cell is raised or lowered, and others with it. */
static void sample(struct ct_medium *m, struct nvw_random *r)
{
	unsigned levels[STORES_MAX] = {0};

	assert_true(m->cell_count <= STORES_MAX);
	for (unsigned i = 0; i < 20; i++) {
		ct_states_sample(m, r, levels);
		assert_is_permitted(m, levels, "sampled");
		if (m->cell_count == 0) {
			return;
		}
		assert_raised_as_one_by_one(m, r, levels);
		const unsigned cell = (unsigned)nvw_random_below(r, m->cell_count);

		ct_states_raise(m, cell, m->cell[cell].count, levels);
		assert_int_equal(levels[cell], m->cell[cell].count);
		assert_is_permitted(m, levels, "raised");
		ct_states_lower(m, cell, (unsigned)nvw_random_below(r, m->cell[cell].count + 1), levels);
		assert_is_permitted(m, levels, "lowered in part");
		ct_states_raise(m, cell, (unsigned)nvw_random_below(r, m->cell[cell].count + 1), levels);
		assert_is_permitted(m, levels, "raised in part");
		ct_states_lower(m, (cell + 1) % m->cell_count, 0, levels);
		assert_int_equal(levels[(cell + 1) % m->cell_count], 0);
		assert_is_permitted(m, levels, "lowered");
	}
}

static void sampled_and_minimised_states_are_permitted_ones(void **state)
{
	static const uint8_t initial[POOL_BYTES];
	static const struct {
		enum ct_model model;
		void (*permit)(const struct history *h);
	} models[] = {{CT_MODEL_STRICT, permit_strict}, {CT_MODEL_EPOCH, permit_epoch},
		{CT_MODEL_BUFFERED, permit_buffered}};

	for (uint64_t seed = 1; seed <= 2 * RUNS; seed++) {
		for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
			const struct ct_rules rules = {.model = models[i].model, .unit_bytes = 8};
			struct nvw_random r = {seed};
			struct ct_medium m;
			static struct history h;
			const int fd = make_run(seed, 0, seed > RUNS, &h);

			permitted.count = 0;
			models[i].permit(&h);
			assert_int_equal(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m), 0);
			while (ct_medium_next(&m) == 1) {
				sample(&m, &r);
			}
			ct_medium_destroy(&m);
			close(fd);
		}
	}
}

/*
 * ---- How many
 * ----------------------------------------------------------------------------------------------------
 */

enum { KEYS_MAX = 1 << 17 };

static int by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t count_different(uint64_t *key, uint64_t count)
{
	uint64_t n = count > 0;

	qsort(key, count, sizeof *key, by_key);
	for (uint64_t i = 1; i < count; i++) {
		n += key[i] != key[i - 1];
	}
	return n;
}

static void note_all(struct ct_medium *m, uint64_t *key, uint64_t *count)
{
	unsigned levels[STORES_MAX + 1];
	struct ct_walk walk = {0};

	for (uint64_t i = 0; i < ct_states_numbers(m); i++) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			assert_true(*count < KEYS_MAX);
			ct_medium_apply(m, levels);
			key[(*count)++] = ct_medium_key(m);
			ct_medium_undo(m);
		}
	}
	ct_walk_end(&walk);
}

struct counted {
	struct ct_distinct distinct;
	double states;
	bool exact;
};

static void note_host(void *context, const struct ct_medium *m, const struct nvw_log_record *r)
{
	struct counted *const counted = context;

	for (unsigned i = 0; i < 2 && r->kind == NVW_LOG_HOST; i++) {
		assert_int_equal(ct_distinct_host(&counted[i].distinct, m, r), 0);
	}
}

static void count_instant(struct ct_medium *m, struct counted *c)
{
	struct ct_count n;

	assert_int_equal(ct_states_count(m, &n), 0);
	assert_true(n.exact);
	assert_int_equal(ct_distinct_count(&c->distinct, m, &n), 0);
	c->states += exp2(n.log2) - (n.old_log2 < 0 ? 0 : exp2(n.old_log2));
	c->exact = c->exact && n.exact;
}

/* By listing them, and, if it has no time for that, by the contents of words. */
static unsigned count_run(const struct history *kind, enum ct_model model, uint64_t seed)
{
	static const uint8_t initial[POOL_BYTES];
	static uint64_t key[KEYS_MAX];
	const struct ct_rules rules = {.model = model, .unit_bytes = 8};
	struct counted counted[2] = {{.exact = true}, {.distinct = {.steps = UINT32_MAX}, .exact = true}};
	static struct history h;
	const int fd = make_run_of(seed, kind, &h);
	struct ct_medium m;
	uint64_t count = 0;

	assert_int_equal(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m), 0);
	m.seen = note_host;
	m.context = counted;
	while (ct_medium_next(&m) == 1) {
		note_all(&m, key, &count);
		count_instant(&m, &counted[0]);
		count_instant(&m, &counted[1]);
	}
	ct_medium_destroy(&m);
	close(fd);
	const uint64_t different = count_different(key, count);

	assert_true(counted[0].exact);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t states = (uint64_t)round(counted[i].states);

		if (counted[i].exact ? states != different : states < different) {
			fail_msg("%s, seed %llu: %llu states by %s, there are %llu",
				ct_model_info(model)->name, (unsigned long long)seed,
				(unsigned long long)states, i ? "contents" : "a list",
				(unsigned long long)different);
		}
		ct_distinct_free(&counted[i].distinct);
	}
	return counted[1].exact;
}

static void a_number_of_states_counts_each_once(void **state)
{
	static const enum ct_model models[] = {
		CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_EADR, CT_MODEL_BUFFERED};

	for (unsigned i = 0; i < 4; i++) {
		unsigned exact = 0;

		for (uint64_t seed = 1; seed <= 4 * RUNS; seed++) {
			exact += count_run(&(const struct history){.small = seed & 1, .hosted = seed & 2},
				models[i], seed);
		}
		/*
		 * Contents say nothing of the order of buffered epochs, and nothing is uncertain under eadr.
		 */
		assert_true(i < 2 ? exact > RUNS / 4 : exact == 0);
	}
}

/*
 * ---- Too many
 * ----------------------------------------------------------------------------------------------------
 */

enum { MANY = 80 };

/* Two halves of a word, each of which any number of stores has reached: 41 times 41 contents. */
static void a_word_with_too_many_versions_is_never_exhausted(void **state)
{
	static const struct nvw_log_info info = {
		.workload = "many", .pool_bytes = POOL_BYTES, .atomicity = 8};
	static const uint8_t initial[POOL_BYTES];
	static const enum ct_model models[] = {CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
	const int fd = memfd_create("log", MFD_CLOEXEC);
	struct maker maker = {0};

	assert_int_equal(nvw_log_create_fd(dup(fd), "test log", &info, &maker.w), 0);
	append(&maker, (struct nvw_log_record){.kind = NVW_LOG_SITE,
			       .site = {.id = 1, .line = 7, .file = "r.c", .function = "f"}});
	append(&maker, (struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
			       .launch = {.kernel = 1, .group_size = 2, .work_items = 2, .name = "many"}});
	for (unsigned i = 0; i < MANY; i++) {
		append(&maker, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				       .store = {.site = 1,
					       .kernel = 1,
					       .work_item = i % 2,
					       .bytes = 4,
					       .off = 64 + 4 * (i % 2),
					       .value = 1 + i}});
	}
	assert_int_equal(nvw_log_close(maker.w, maker.time_ps), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct ct_rules rules = {.model = models[i]};
		struct nvw_random r = {7};
		struct ct_count count;
		struct ct_medium m;
		unsigned level = 0;

		assert_int_equal(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m), 0);
		assert_int_equal(ct_medium_next(&m), 1);
		assert_int_equal(ct_states_count(&m, &count), 0);
		assert_int_equal(count.fresh, CT_COUNT_MANY);
		assert_false(count.exact);
		assert_true(exp2(count.log2) >= 41 * 41);
		for (unsigned k = 0; k < 1000; k++) {
			ct_states_sample(&m, &r, &level);
			ct_medium_apply(&m, &level);
			const uint64_t word = ct_image_word(&m.image, 64);

			ct_medium_undo(&m);
			assert_true((uint32_t)word <= MANY && (word >> 32) <= MANY);
			assert_true((uint32_t)word == 0 || (uint32_t)word % 2 == 1);
			assert_int_equal((word >> 32) % 2, 0);
		}
		ct_medium_destroy(&m);
	}
	close(fd);
}

/*
 * ---- Jobs
 * ----------------------------------------------------------------------------------------------------
 */

/* A third of the states fail, in four ways. */
static int judge_by_words(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	uint64_t key = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned w = 0; w < WORDS; w++) {
		key = nvw_mix64(key + ct_image_word(image, place(w)));
	}
	return key % 3 ? 0 : nvw_violation(findings, 0, "way %c", (char)('a' + key / 3 % 4));
}

static void explore_by_jobs(
	int fd, enum ct_model model, uint64_t states, unsigned jobs, struct ct_result *ret_result)
{
	static const uint8_t initial[POOL_BYTES];
	const struct ct_exploration e = {
		.rules = {.model = model, .unit_bytes = 8},
		.log_fd = fd,
		.initial = initial,
		.bytes = POOL_BYTES,
		.judge = judge_by_words,
		.options =
			{.states = states, .seed = 1, .jobs = jobs, .timeout_ms = 10000, .unexplained = true},
	};

	if (ct_explore(&e, NULL, ret_result)) {
		fail_msg("%s", nvw_error_message());
	}
}

static void any_number_of_jobs_tests_the_same_states(void **state)
{
	static const enum ct_model models[] = {
		CT_MODEL_EADR, CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
	static struct ct_result one, more;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		static struct history h;
		const int fd = make_run(seed, 0, false, &h);

		for (unsigned i = 0; i < 4; i++) {
			for (uint64_t states = 40; states <= 10000; states *= 250) {
				explore_by_jobs(fd, models[i], states, 1, &one);
				for (unsigned jobs = 2; jobs <= 3; jobs++) {
					explore_by_jobs(fd, models[i], states, jobs, &more);
					assert_same_result(&one, &more);
					ct_result_free(&more);
				}
				ct_result_free(&one);
			}
		}
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_states_are_the_prefixes_of_visibility_order),
		cmocka_unit_test(epoch_states_are_those_that_no_completed_barrier_forbids),
		cmocka_unit_test(buffered_states_are_those_that_equations_1_to_3_permit),
		cmocka_unit_test(eadr_states_are_what_was_visible),
		cmocka_unit_test(stores_to_the_same_bytes_alone_are_in_order),
		cmocka_unit_test(a_narrowed_barrier_orders_as_the_narrower_one_would),
		cmocka_unit_test(models_are_contained_in_each_other),
		cmocka_unit_test(sampled_and_minimised_states_are_permitted_ones),
		cmocka_unit_test(a_number_of_states_counts_each_once),
		cmocka_unit_test(a_word_with_too_many_versions_is_never_exhausted),
		cmocka_unit_test(any_number_of_jobs_tests_the_same_states),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
