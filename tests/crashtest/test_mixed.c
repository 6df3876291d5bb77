/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of host code and kernels (crashtest/states/mixed.h), against a second definition: in small random
 * programs every set of stores is made, and kept if it breaks none of the axioms, which are written out here
 * pair by pair. What is explored must be permitted, and what is permitted must be explored.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"
#include "memory_log.h"
#include "word_sets.h"

#include <crashtest/states/image.h>
#include <crashtest/states/states.h>
#include <nvw/random.h>

enum { THREADS = 2, STORES_MAX = 9, STEPS = 40, RUNS = 300 };

/* Three words in each of two lines. */
static nvw_off word_off(unsigned word)
{
	return 64 * (1 + (nvw_off)word / 3) + 8 * (word % 3);
}

static unsigned line_of(unsigned word)
{
	return word / 3;
}

/* ---- A program, as this test remembers it ----------------------------------------------------- */

struct store {
	unsigned word, kernel, item, epoch[3],
		instruction; /* kernel 0: host code, of which item is the thread */
	uint64_t value;
};

struct event {
	enum nvw_log_kind kind;
	unsigned stores; /* so many have been made, this one included */
	unsigned kernel, item, line, thread;
	enum nvw_group scope;
};

struct history {
	unsigned stores, events;
	struct store store[STORES_MAX];
	struct event event[4 * STEPS];
};

/* ---- Making programs -------------------------------------------------------------------------- */

struct maker {
	struct memory_log log;
	struct nvw_random r;
	struct history *h;
	uint64_t instruction;
	unsigned kernel, kernels; /* the running one, 0: none */
	unsigned epoch[ITEMS][3];
};

static struct event *add_event(struct maker *m, enum nvw_log_kind kind)
{
	struct event *const e = &m->h->event[m->h->events++];

	*e = (struct event){.kind = kind, .stores = m->h->stores, .kernel = m->kernel};
	return e;
}

static void store(struct maker *m, const struct store *s)
{
	m->h->store[m->h->stores] = *s;
	m->h->store[m->h->stores].value = 100 + m->h->stores;
	log_append(&m->log, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				    .store = {.site = 1,
					    .kernel = s->kernel,
					    .work_item = s->item,
					    .group = s->kernel ? s->item / GROUP : s->instruction,
					    .epoch_wi = s->epoch[0],
					    .epoch_wg = s->epoch[1],
					    .epoch_kr = s->epoch[2],
					    .bytes = 8,
					    .off = word_off(s->word),
					    .value = 100 + m->h->stores}});
	m->h->stores++;
	add_event(m, NVW_LOG_STORE);
}

/* One word, or two that one instruction stores in unknown order. */
static void host_stores(struct maker *m)
{
	const unsigned word = (unsigned)nvw_random_below(&m->r, WORDS);
	struct store s = {.word = word,
		.item = (unsigned)nvw_random_below(&m->r, THREADS),
		.instruction = (unsigned)++m->instruction};

	store(m, &s);
	if (word % 3 < 2 && m->h->stores < STORES_MAX && nvw_random_below(&m->r, 2) == 0) {
		s.word++;
		store(m, &s);
	}
}

static void host_step(struct maker *m)
{
	const unsigned thread = (unsigned)nvw_random_below(&m->r, THREADS),
		       line = (unsigned)nvw_random_below(&m->r, 2);

	switch (nvw_random_below(&m->r, 8)) {
	case 0:
	case 1:
		log_flush(&m->log, thread, word_off(3 * line));
		add_event(m, NVW_LOG_FLUSH)->line = line;
		m->h->event[m->h->events - 1].thread = thread;
		break;
	case 2:
		log_fence(&m->log, thread);
		add_event(m, NVW_LOG_FENCE)->thread = thread;
		break;
	case 3:
		m->kernel = ++m->kernels;
		memset(m->epoch, 0, sizeof m->epoch);
		log_launch(&m->log, m->kernel, GROUP, ITEMS);
		add_event(m, NVW_LOG_LAUNCH);
		break;
	default:
		if (m->h->stores < STORES_MAX) {
			host_stores(m);
		}
	}
}

static bool is_member(const struct event *b, unsigned item)
{
	return log_is_member(b->scope, b->item, item, GROUP);
}

static void barrier(struct maker *m, unsigned item)
{
	const enum nvw_group scope = (enum nvw_group)nvw_random_below(&m->r, 3);

	log_barrier(&m->log, NVW_LOG_BARRIER, m->kernel, scope, item, GROUP);
	log_barrier(&m->log, NVW_LOG_PERSISTED, m->kernel, scope, item, GROUP);
	struct event *const e = add_event(m, NVW_LOG_PERSISTED);

	e->item = item;
	e->scope = scope;
	NVW_FOR(i, ITEMS) {
		if (is_member(e, i)) {
			m->epoch[i][0]++;
			m->epoch[i][1] += scope >= NVW_WORKGROUP;
			m->epoch[i][2] += scope == NVW_KERNEL;
		}
	}
}

static void kernel_step(struct maker *m)
{
	const unsigned item = (unsigned)nvw_random_below(&m->r, ITEMS);
	struct store s = {
		.word = (unsigned)nvw_random_below(&m->r, WORDS), .kernel = m->kernel, .item = item};

	switch (nvw_random_below(&m->r, 7)) {
	case 0:
	case 1:
		barrier(m, item);
		break;
	case 2:
		log_append(&m->log,
			(struct nvw_log_record){.kind = NVW_LOG_FINISH, .finish = {.kernel = m->kernel}});
		add_event(m, NVW_LOG_FINISH);
		m->kernel = 0;
		break;
	default:
		memcpy(s.epoch, m->epoch[item], sizeof s.epoch);
		if (m->h->stores < STORES_MAX) {
			store(m, &s);
		}
	}
}

static int make_program(uint64_t seed, struct history *h)
{
	const struct nvw_log_info info = {
		.workload = "random", .model = "epoch", .pool_bytes = POOL_BYTES, .atomicity = 8};
	struct maker m = {.log = begin_log_as(&info), .r = {seed}, .h = h};

	*h = (struct history){0};
	log_sites(&m.log, 1, 7, "r.cu");
	NVW_FOR(i, STEPS) {
		if (m.kernel) {
			kernel_step(&m);
		} else {
			host_step(&m);
		}
	}
	return log_end(&m.log);
}

/* ---- The axioms, pair by pair ----------------------------------------------------------------- */

/* a, which is earlier, persists before b. */
static bool is_ordered(enum ct_model model, const struct store *a, const struct store *b)
{
	if (a->word == b->word) {
		return true;
	}
	if (a->kernel == 0 || b->kernel == 0) {
		return a->kernel == b->kernel && line_of(a->word) == line_of(b->word) &&
		       a->instruction < b->instruction;
	}
	return model == CT_MODEL_STRICT ||
	       (model == CT_MODEL_BUFFERED && a->kernel == b->kernel &&
		       ((a->item == b->item && a->epoch[0] < b->epoch[0]) ||
			       (a->item / GROUP == b->item / GROUP && a->epoch[1] < b->epoch[1]) ||
			       a->epoch[2] < b->epoch[2]));
}

/* One is durable if the other is. */
static bool are_together(const struct store *a, const struct store *b)
{
	return a->kernel == 0 && b->kernel == 0 && a->instruction == b->instruction;
}

static bool is_allowed(const struct history *h, enum ct_model model, uint32_t set)
{
	NVW_FOR(b, h->stores) {
		NVW_FOR(a, b) {
			const bool first = set >> a & 1, second = set >> b & 1;

			if ((second && !first && is_ordered(model, &h->store[a], &h->store[b])) ||
				(first != second && are_together(&h->store[a], &h->store[b]))) {
				return false;
			}
		}
	}
	return true;
}

/* What is durable for certain before event p, but for what the order adds. */
static uint32_t certain_at(const struct history *h, enum ct_model model, unsigned p)
{
	uint32_t set = 0;

	NVW_FOR(i, p) {
		const struct event *const e = &h->event[i];

		NVW_FOR(s, e->stores) {
			const struct store *const at = &h->store[s];

			if (e->kind == NVW_LOG_PERSISTED && model != CT_MODEL_BUFFERED &&
				at->kernel == e->kernel && is_member(e, at->item)) {
				set |= 1u << s;
			}
			if (e->kind == NVW_LOG_FINISH && model == CT_MODEL_BUFFERED && at->kernel != 0) {
				set |= 1u << s;
			}
		}
		for (unsigned k = 0; k < i && e->kind == NVW_LOG_FENCE; k++) {
			const struct event *const f = &h->event[k];

			for (unsigned s = 0; s < f->stores && f->kind == NVW_LOG_FLUSH; s++) {
				if (f->thread == e->thread && line_of(h->store[s].word) == f->line) {
					set |= 1u << s;
				}
			}
		}
	}
	return set;
}

static void permit(const struct history *h, enum ct_model model)
{
	permitted.count = 0;
	for (unsigned p = 0; p <= h->events; p++) {
		const unsigned made = p ? h->event[p - 1].stores : 0;
		const uint32_t certain = certain_at(h, model, p);

		NVW_FOR(set, 1u << made) {
			struct state state = {.acks = 0};

			if ((certain & ~set) != 0 || !is_allowed(h, model, set)) {
				continue;
			}
			NVW_FOR(s, made) {
				if (set >> s & 1) {
					state.word[h->store[s].word] = h->store[s].value;
				}
			}
			add(&permitted, &state);
		}
	}
}

/* ---- Comparing -------------------------------------------------------------------------------- */

static const enum ct_model models[] = {CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};

static struct state words_of(struct ct_medium *m, const unsigned *levels)
{
	struct state state = {.acks = 0};

	ct_medium_apply(m, levels);
	NVW_FOR(w, WORDS) {
		state.word[w] = ct_image_word(&m->image, word_off(w));
	}
	ct_medium_undo(m);
	return state;
}

static void assert_permitted(struct ct_medium *m, const unsigned *levels, uint64_t seed, const char *what)
{
	const struct state state = words_of(m, levels);

	if (!has(&permitted, &state, false)) {
		fail_msg("%s, program %llu: a state that is %s is one that the axioms forbid",
			ct_model_info(m->rules.model)->name, (unsigned long long)seed, what);
	}
}

static void sample(struct ct_medium *m, struct nvw_random *r, uint64_t seed)
{
	unsigned levels[STORES_MAX] = {0};

	for (unsigned i = 0; i < 10 && m->cell_count > 0; i++) {
		const unsigned cell = (unsigned)nvw_random_below(r, m->cell_count);

		ct_states_sample(m, r, levels);
		assert_permitted(m, levels, seed, "sampled");
		ct_states_raise(m, cell, m->cell[cell].count, levels);
		assert_permitted(m, levels, seed, "raised");
		ct_states_lower(m, (cell + 1) % m->cell_count, 0, levels);
		assert_permitted(m, levels, seed, "lowered");
	}
}

static void enumerate(struct ct_medium *m, uint64_t seed)
{
	struct ct_walk walk = {.graph = NULL};
	struct ct_count count;
	unsigned levels[STORES_MAX] = {0};

	assert_ok(ct_states_count(m, &count));
	assert_true(count.exact);
	NVW_FOR(i, ct_states_numbers(m)) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			const struct state state = words_of(m, levels);

			assert_permitted(m, levels, seed, "explored");
			add(explored, &state);
		}
	}
	ct_walk_end(&walk);
}

static void compare(uint64_t seed, enum ct_model model)
{
	static const uint8_t initial[POOL_BYTES];
	const struct ct_rules rules = {.model = model, .unit_bytes = 8, .mixed = true};
	struct nvw_random r = {seed};
	static struct history h;
	struct ct_medium m;
	const int fd = make_program(seed, &h);
	const struct state first = {.acks = 0};
	int more;

	permit(&h, model);
	explored->count = 0;
	add(explored, &first);
	assert_ok(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m));
	while ((more = ct_medium_next(&m)) == 1) {
		enumerate(&m, seed);
		sample(&m, &r, seed);
	}
	assert_ok(more);
	ct_medium_destroy(&m);
	close(fd);
	assert_same_states(model, "host code and kernels", seed);
}

TEST(host_code_and_kernels_have_the_states_that_their_axioms_permit)
{
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		for_each(model, models) {
			compare(seed, *model);
		}
	}
}

GROUP(set_up, NULL);
