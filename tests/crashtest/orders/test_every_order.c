/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every order of a program's conflicting accesses: what the reduction leaves out would have repeated an order
 * that was run. Small random programs are run in every order of their steps, and in those that the reduction
 * chooses: results, and orders of conflicting accesses, are the same sets, and no order is run twice.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include <emu.h>
#include <nvw/heap.h>
#include <nvw/host.h>
#include <nvw/kernel.h>
#include <nvw/pool.h>
#include <nvw/random.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/order.h"
#include "crashtest/explore/every_order.h"
#include "ordered.h"

#define AGENT NVW_SCOPE_AGENT

enum { THREADS = 4, OPS = 4, WORDS = 3, LINE = 8, RUNS_MAX = 40000 };

/* ---- Programs ------------------------------------------------------------------------------------------ */

enum kind { LOAD, STORE, ATOMIC_LOAD, ADD, EXCHANGE, COMPARE, AWAIT, MEET, PERSIST, ACKNOWLEDGE };

struct op {
	enum kind kind;
	unsigned word, value;
	bool if_odd; /* only if the last value read is odd */
};

struct program {
	unsigned threads, count;
	bool is_one_group;
	struct op op[THREADS][OPS];
};

struct args {
	const struct program *program;
	uint64_t *words, *shared; /* shared: in DRAM, of persistent programs */
};

static uint64_t read_by[THREADS]; /* a hash of what each thread has read */

static uint64_t carry_out(const struct op *op, uint64_t *word)
{
	switch (op->kind) {
	case LOAD:
		return nvw_load(word);
	case STORE:
		nvw_store(word, op->value);
		return 0;
	case ATOMIC_LOAD:
		return nvw_atomic_load(word, NVW_ACQUIRE, AGENT);
	case ADD:
		return nvw_atomic_add(word, op->value, NVW_ACQ_REL, AGENT);
	case EXCHANGE:
		return nvw_atomic_exchange(word, op->value, NVW_ACQ_REL, AGENT);
	case COMPARE:
		return nvw_atomic_compare_exchange(word, 0, op->value, NVW_ACQ_REL, AGENT);
	case AWAIT:
		while (nvw_atomic_load(word, NVW_ACQUIRE, AGENT) == 0) {
		}
		return 1;
	case PERSIST:
		nvw_p_barrier_wi();
		return 0;
	case ACKNOWLEDGE:
		nvw_ack(op->value);
		return 0;
	default:
		nvw_barrier(NVW_WORKGROUP);
		return 0;
	}
}

static uint64_t *word_of(const struct args *a, const struct op *op)
{
	if (a->shared != NULL) {
		return op->kind == ADD ? a->shared : a->words + op->word;
	}
	return a->words + LINE * op->word;
}

KERNEL(kernel, const struct args, a)
{
	const uint64_t me = nvw_global_id();
	uint64_t last = 1, hash = me;

	NVW_FOR(i, a->program->count) {
		const struct op *const op = &a->program->op[me][i];

		if (!op->if_odd || (last & 1) != 0) {
			last = carry_out(op, word_of(a, op));
			hash = nvw_mix64(hash ^ last) + op->kind;
		}
	}
	read_by[me] = hash;
}

/* Draws operations of kinds from first to last. */
static struct program draw(struct nvw_random *r, enum kind first, enum kind last)
{
	struct program p = {.threads = 2 + (unsigned)nvw_random_below(r, 2), .count = 3};

	p.is_one_group = nvw_random_below(r, 3) == 0;
	NVW_EACH(one, p.op, p.threads) {
		NVW_FOR(i, p.count) {
			(*one)[i] =
				(struct op){.kind = first + (enum kind)nvw_random_below(r, last - first + 1),
					.word = (unsigned)nvw_random_below(r, WORDS),
					.value = 1 + (unsigned)nvw_random_below(r, 3),
					.if_odd = nvw_random_below(r, 4) == 0};
		}
	}
	return p;
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

struct set {
	uint64_t *of;
	unsigned count, capacity;
};

static void add(struct set *s, uint64_t value)
{
	assert_true(NVW_ROOM(s->of, s->capacity, s->count + 1));
	s->of[s->count++] = value;
}

static bool is_same(const struct set *a, const struct set *b)
{
	return a->count == b->count && !memcmp(a->of, b->of, a->count * sizeof *a->of);
}

struct found {
	struct set results, orders;
	unsigned runs, redundant;
};

static const char *protocol = "vi";

/* What is run: it returns a hash of its result. */
typedef uint64_t launcher(const void *what, struct nvw_machine *m);

static uint64_t launch(const void *what, struct nvw_machine *m)
{
	const struct program *const p = what;
	const struct args a = {p, nvw_alloc(m, 8 * LINE * WORDS), NULL};
	uint64_t words[LINE * WORDS], hash = 0;
	static const uint64_t zeros[LINE * WORDS];
	int error = nvw_write(m, a.words, zeros, sizeof zeros);

	memset(read_by, 0, sizeof read_by);
	if (!error) {
		error = nvw_launch(m, "program", kernel, &a, p->threads, p->is_one_group ? p->threads : 1);
	}
	if (error) {
		return 1; /* it does not end */
	}
	assert_ok(nvw_read(m, words, a.words, sizeof words));
	NVW_FOR(i, WORDS) {
		hash = nvw_mix64(hash ^ words[LINE * i]) + i;
	}
	NVW_FOR(t, p->threads) {
		hash = nvw_mix64(hash ^ read_by[t]) + t;
	}
	return hash;
}

/* A machine whose wavefronts go as they are asked to. */
static struct nvw_machine *machine_asked(
	const struct emu_asker *asker, struct nvw_pool *pool, struct emu_order_seen *seen)
{
	const struct emu_order how = {.kind = EMU_ORDER_ASKED, .asker = asker};
	struct emu_config config;
	struct nvw_machine *m;

	emu_config_default(&config);
	assert_ok(emu_config_set(&config, "gpu.wavefront_width=1"));
	assert_ok(emu_config_set(&config, "gpu.wavefronts_per_cu=4"));
	snprintf(config.protocol, sizeof config.protocol, "%s", protocol);
	*seen = (struct emu_order_seen){0};
	assert_ok(emu_create(&config, pool, NULL, &m));
	assert_ok(emu_set_order(m, &how, seen));
	return m;
}

static void run_once(launcher *run, const void *what, struct ct_orders *orders, struct found *f)
{
	static struct emu_order_seen seen;
	struct nvw_machine *const m = machine_asked(ct_orders_asker(orders), NULL, &seen);
	const uint64_t result = run(what, m);

	emu_destroy(m);
	if (ct_orders_is_redundant(orders)) {
		f->redundant++;
	} else {
		f->runs++;
		add(&f->results, result);
		add(&f->orders, seen.hash);
	}
}

/* False: there are too many orders. */
static bool run_all(launcher *run, const void *what, bool reduced, struct found *f)
{
	struct ct_orders *orders;
	int more = 1;

	*f = (struct found){.runs = 0};
	assert_ok(ct_orders_create(reduced, false, &orders));
	while (more > 0 && f->runs + f->redundant < RUNS_MAX) {
		run_once(run, what, orders, f);
		more = ct_orders_next(orders);
		if (more < 0) {
			fail_msg("%s", nvw_error_message());
		}
	}
	assert_true(ct_orders_is_whole(orders));
	ct_orders_destroy(orders);
	f->results.count = (unsigned)sort_into_set(f->results.of, f->results.count);
	f->orders.count = (unsigned)sort_into_set(f->orders.of, f->orders.count);
	return more == 0;
}

static void free_found(struct found *f)
{
	free(f->results.of);
	free(f->orders.of);
}

/* ---- Comparison ---------------------------------------------------------------------------------------- */

struct sum {
	uint64_t programs, all, reduced, redundant, orders;
};

static void compare(launcher *run, const void *what, uint64_t seed, struct sum *sum)
{
	struct found all, reduced;

	if (run_all(run, what, false, &all)) {
		assert_true(run_all(run, what, true, &reduced));
		if (!is_same(&all.results, &reduced.results) || !is_same(&all.orders, &reduced.orders)) {
			fail_msg("seed %llu: %u results in %u orders by %u runs, reduced %u in %u by %u",
				(unsigned long long)seed, all.results.count, all.orders.count, all.runs,
				reduced.results.count, reduced.orders.count, reduced.runs);
		}
		sum->programs++;
		sum->all += all.runs;
		sum->reduced += reduced.runs;
		sum->redundant += reduced.redundant;
		sum->orders += reduced.orders.count;
		free_found(&reduced);
	}
	free_found(&all);
}

static void tell(const struct sum *s)
{
	print_message(
		"# %llu programs: %llu runs in every order, %llu with the reduction, and %llu that ended "
		"early; %llu different orders\n",
		(unsigned long long)s->programs, (unsigned long long)s->all, (unsigned long long)s->reduced,
		(unsigned long long)s->redundant, (unsigned long long)s->orders);
}

static struct sum compare_many(const char *under, enum kind first, unsigned programs)
{
	struct sum sum = {0};

	protocol = under;
	for (uint64_t seed = 1; seed <= programs; seed++) {
		struct nvw_random random = {nvw_mix64(seed)};
		const struct program p = draw(&random, first, MEET);

		compare(launch, &p, seed, &sum);
	}
	tell(&sum);
	return sum;
}

static unsigned many(unsigned few)
{
	return getenv("EVERY_CASE") != NULL ? 20 * few : few;
}

static void expect_same(const char *under, enum kind first, unsigned programs)
{
	const struct sum sum = compare_many(under, first, programs);

	assert_true(sum.programs >= programs / 2);
	assert_true(10 * sum.reduced < sum.all);
	/* But for a read that is repeated, which the order's hash leaves out. */
	assert_in_range(sum.reduced, sum.orders, sum.orders + sum.orders / 50);
	assert_true(10 * sum.redundant < sum.reduced);
}

TEST(all_results_and_orders_are_found_where_caches_hide_nothing)
{
	expect_same("no-l1", LOAD, many(50));
}

/* The programs have no data races: what loads return there depends on no other order. */
TEST(all_results_and_orders_are_found_with_caches)
{
	expect_same("vi", ATOMIC_LOAD, many(25));
}

/* ---- Known shapes -------------------------------------------------------------------------------------- */

/* Two threads or four, each of two operations; how many results there are without caches. */
TEST(litmus_tests_have_their_results)
{
#define R(x)                                     \
	{                                        \
		.kind = ATOMIC_LOAD, .word = (x) \
	}
#define NOTHING                 \
	{                       \
		.kind = PERSIST \
	}
#define W(x, v)                                          \
	{                                                \
		.kind = STORE, .word = (x), .value = (v) \
	}
	static const struct {
		const char *name;
		struct program program;
		unsigned results, runs;
	} cases[] = {
		{"store buffering", {.threads = 2, .count = 2, .op = {{W(0, 1), R(1)}, {W(1, 1), R(0)}}}, 3,
			3},
		{"message passing", {.threads = 2, .count = 2, .op = {{W(0, 1), W(1, 1)}, {R(1), R(0)}}}, 3,
			3},
		{"load buffering", {.threads = 2, .count = 2, .op = {{R(0), W(1, 1)}, {R(1), W(0, 1)}}}, 3,
			3},
		{"coherence", {.threads = 2, .count = 2, .op = {{W(0, 1), W(0, 2)}, {R(0), R(0)}}}, 6, 6},
		{"two stores each",
			{.threads = 2, .count = 2, .op = {{W(0, 1), W(1, 2)}, {W(1, 1), W(0, 2)}}}, 3, 3},
		{"independent reads",
			{.threads = 4,
				.count = 2,
				.op = {{W(0, 1), NOTHING}, {W(1, 1), NOTHING}, {R(0), R(1)}, {R(1), R(0)}}},
			15, 15},
	};
#undef R
#undef W
#undef NOTHING

	protocol = "no-l1";
	for_each(c, cases) {
		struct found found;

		assert_true(run_all(launch, &c->program, true, &found));
		if (found.results.count != c->results || found.runs != c->runs) {
			fail_msg("%s: %u results of %u runs", c->name, found.results.count, found.runs);
		}
		free_found(&found);
	}
}

static uint64_t launch_shape(const void *what, struct nvw_machine *m)
{
	void *plan;

	ordered_choose(what);
	assert_int_equal(ordered_workload.prepare(NULL, 1, -1, &plan), 0);
	assert_int_equal(ordered_workload.setup(plan, m), 0);
	if (ordered_workload.run(plan, m) != 0) {
		return 1;
	}
	return ordered_workload.verify(plan, m, NULL) == 0 ? 2 : 3;
}

/* The locks and the barrier of Dat3M's benchmarks. */
TEST(locks_and_barriers_have_the_results_of_every_order)
{
	static const struct {
		enum ordered_kind kind;
		unsigned size, groups;
	} cases[] = {{ORDERED_CASLOCK, 1, 2}, {ORDERED_TICKETLOCK, 1, 2}, {ORDERED_TTASLOCK, 1, 2},
		{ORDERED_CASLOCK, 1, 3}, {ORDERED_XF_BARRIER, 1, 2}, {ORDERED_TICKETLOCK, 1, 3}};
	const unsigned count = NVW_COUNT(cases) - (getenv("EVERY_CASE") == NULL);

	protocol = "vi";
	NVW_FOR(i, count) {
		const struct ordered p = ordered_right(cases[i].kind, cases[i].size, cases[i].groups);
		struct sum sum = {0};

		compare(launch_shape, &p, i, &sum);
		assert_int_equal(sum.programs, 1);
		tell(&sum);
	}
}

/* ---- Crash states -------------------------------------------------------------------------------------- */

/*
 * What a run does to NVRAM, and which states that leaves under epoch persistency with barriers of work-items:
 * of each word a store that nothing durable has replaced. By another definition than the crash tester's.
 */
struct event {
	unsigned thread, word;
	uint64_t id; /* of a store, the same in every order */
	unsigned what;
};

enum { EVENTS = 64, NVRAM_WORDS = 3 };

static struct {
	const struct emu_asker *inner;
	unsigned thread, steps[THREADS];
	uint64_t last_word, first_word;
	struct event event[EVENTS];
	unsigned count;
} watched;

static void watch_begin(void *context)
{
	watched.inner->begin(watched.inner->context);
}

static unsigned watch_choose(void *context, uint32_t kernel, uint64_t can_go, uint64_t posted)
{
	watched.thread = watched.inner->choose(watched.inner->context, kernel, can_go, posted);
	return watched.thread;
}

static void watch_access(void *context, uint64_t word, bool changes)
{
	watched.last_word = word;
	watched.inner->access(watched.inner->context, word, changes);
}

static void watch_persist(void *context, unsigned what)
{
	assert_true(watched.count < EVENTS);
	watched.event[watched.count++] = (struct event){.thread = watched.thread,
		.word = (unsigned)watched.last_word & 7,
		.id = watched.thread * 100 + ++watched.steps[watched.thread],
		.what = what};
	watched.inner->persist(watched.inner->context, what);
}

/* A state: of each word the store that it has, and who has been told of how much. */
struct state {
	uint64_t stores, acks;
};

struct states {
	struct state *of;
	unsigned count, capacity;
};

static void add_state(struct states *s, uint64_t stores, uint64_t acks)
{
	assert_true(NVW_ROOM(s->of, s->capacity, s->count + 1));
	s->of[s->count++] = (struct state){stores, acks};
}

struct instant {
	uint64_t version[8][EVENTS]; /* of each word the ids of its stores, 0 first */
	unsigned by[8][EVENTS];
	unsigned count[8], durable[8];
	uint64_t acks;
};

static void add_instant(struct states *s, const struct instant *n, unsigned word, uint64_t stores)
{
	if (word == 8) {
		add_state(s, stores, n->acks);
		return;
	}
	for (unsigned v = n->durable[word]; v <= n->count[word]; v++) {
		add_instant(s, n, word + 1, nvw_mix64(stores ^ (v > 0 ? n->version[word][v - 1] : 0)) + word);
	}
}

static void apply(struct instant *n, const struct event *e)
{
	if (e->what == EMU_STEP_STORES) {
		n->by[e->word][n->count[e->word]] = e->thread;
		n->version[e->word][n->count[e->word]++] = e->id;
	} else if (e->what == EMU_STEP_ACK) {
		n->acks += UINT64_C(1) << 8 * e->thread;
	} else {
		NVW_FOR(w, 8) {
			NVW_FOR(v, n->count[w]) {
				if (n->by[w][v] == e->thread && v + 1 > n->durable[w]) {
					n->durable[w] = v + 1;
				}
			}
		}
	}
}

static void add_states(struct states *s)
{
	struct instant *const n = calloc(1, sizeof *n);

	assert_non_null(n);
	add_instant(s, n, 0, 0);
	NVW_EACH(event, watched.event, watched.count) {
		apply(n, event);
		add_instant(s, n, 0, 0);
	}
	free(n);
}

static int by_state(const void *a, const void *b)
{
	const struct state *const x = a, *const y = b;

	return NVW_OR(NVW_ORDER(x->stores, y->stores), NVW_ORDER(x->acks, y->acks));
}

/* Whether every thread has been told of as much. */
static bool has_acks(uint64_t all, uint64_t some)
{
	return !NVW_ANY_BELOW(t, THREADS, (all >> 8 * t & 0xff) < (some >> 8 * t & 0xff));
}

/* A state of one of the runs, with the same acknowledgements or more. */
static bool is_covered(const struct states *by, const struct state *s)
{
	return NVW_ANY(of, by->of, by->count, of->stores == s->stores && has_acks(of->acks, s->acks));
}

static void sort_states(struct states *s)
{
	unsigned kept = 0;

	qsort(s->of, s->count, sizeof *s->of, by_state);
	NVW_EACH(of, s->of, s->count) {
		if (kept == 0 || by_state(&s->of[kept - 1], of) != 0) {
			s->of[kept++] = *of;
		}
	}
	s->count = kept;
}

/* Words 0 to 2 are in NVRAM, the last is in DRAM: it orders threads. */
static struct program draw_persistent(struct nvw_random *r)
{
	struct program p = {.threads = 2 + (unsigned)nvw_random_below(r, 2)};

	p.count = p.threads == 2 ? 4 : 3;
	NVW_FOR(t, p.threads) {
		NVW_FOR(i, p.count) {
			static const enum kind kinds[] = {
				STORE, STORE, STORE, PERSIST, PERSIST, ADD, ACKNOWLEDGE, ACKNOWLEDGE};

			p.op[t][i] = (struct op){.kind = kinds[nvw_random_below(r, 8)],
				.word = (unsigned)nvw_random_below(r, NVRAM_WORDS),
				.value = OPS * t + i};
		}
	}
	return p;
}

static char pool_path[] = "/tmp/every-order.XXXXXX";

static void run_persistent(const struct program *p, struct ct_orders *orders)
{
	const struct nvw_pool_params params = {
		.heap_bytes = 2 * NVW_POOL_CHUNK_BYTES, .layout = "every-order"};
	const struct emu_asker asker = {.persists = true,
		.begin = watch_begin,
		.choose = watch_choose,
		.access = watch_access,
		.persist = watch_persist};
	static struct emu_order_seen seen;
	struct nvw_pool *pool;
	struct nvw_pmem pmem;

	memset(&watched, 0, sizeof watched);
	watched.inner = ct_orders_asker(orders);
	unlink(pool_path);
	assert_ok(nvw_pool_create(pool_path, &params, &pool));
	struct nvw_machine *const m = machine_asked(&asker, pool, &seen);

	assert_ok(nvw_pmem_attach(m, &pmem));
	const struct args a = {
		p, nvw_at(&pmem, uint64_t, nvw_pool_root_off(&pmem.geometry, 0)), nvw_alloc(m, 64)};

	const int error = nvw_launch(m, "program", kernel, &a, p->threads, 1);

	assert_true(error == 0 || ct_orders_is_redundant(orders));
	emu_destroy(m);
	nvw_pool_close(pool);
}

static unsigned run_all_persistent(const struct program *p, bool reduced, struct states *s)
{
	struct ct_orders *orders;
	unsigned runs = 0;
	int more = 1;

	*s = (struct states){.count = 0};
	assert_ok(ct_orders_create(reduced, true, &orders));
	while (more > 0) {
		run_persistent(p, orders);
		runs++;
		add_states(s);
		more = ct_orders_next(orders);
	}
	if (more < 0) {
		fail_msg("%s", nvw_error_message());
	}
	ct_orders_destroy(orders);
	sort_states(s);
	return runs;
}

TEST(every_crash_state_of_every_order_is_found)
{
	unsigned all_runs = 0, runs = 0, states = 0;

	assert_true(mkstemp(pool_path) >= 0);
	protocol = "vi";
	for (uint64_t seed = 1; seed <= many(8); seed++) {
		struct nvw_random random = {nvw_mix64(seed)};
		const struct program p = draw_persistent(&random);
		struct states all, reduced;

		all_runs += run_all_persistent(&p, false, &all);
		runs += run_all_persistent(&p, true, &reduced);
		NVW_EACH(of, all.of, all.count) {
			if (!is_covered(&reduced, of)) {
				fail_msg("seed %llu: a state is missing: one of %u", (unsigned long long)seed,
					all.count);
			}
		}
		states += all.count;
		free(all.of);
		free(reduced.of);
	}
	unlink(pool_path);
	print_message("# %u runs in every order, %u with the reduction: %u states\n", all_runs, runs, states);
	assert_true(2 * runs < all_runs);
}
