/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registration: one owner, no lost store, order of persists, room, the host's look, and invariants that
 * notice.
 */
#include "common/rig.h"

#include <string.h>

#include "protocol/protocol.h"

enum { WORDS = 8 /* of a line */, ROUNDS = 50 };

struct args {
	uint64_t *a, *flag, *out; /* flag: on lines of their own */
	enum nvw_scope scope;
	unsigned lines, rounds;
};

/* A rig under a protocol, with more settings (NULL ends), and DRAM for the arguments. */
static struct args begin(struct rig *rig, const char *protocol, const char *const *more)
{
	struct args args = {.scope = NVW_SCOPE_AGENT, .lines = 16, .rounds = ROUNDS};

	rig_begin_under_with(rig, protocol, 0, more);
	args.a = nvw_alloc(rig->machine, (uint64_t)args.lines * 64);
	args.flag = nvw_alloc(rig->machine, 4 * 64);
	args.out = nvw_alloc(rig->machine, 64);
	/* hlrc-scoped registers what has work-group scope; only as advice. */
	if (!strcmp(protocol, "hlrc-scoped")) {
		args.scope = NVW_SCOPE_WORKGROUP;
	}
	return args;
}

static void run(struct rig *rig, nvw_kernel kernel, const struct args *args, unsigned groups, unsigned size)
{
	rig_launch(rig, kernel, args, (uint64_t)groups * size, size);
}

static const struct emu_stats *stats(const struct rig *rig)
{
	return emu_statistics(rig->machine);
}

/* How many L1s have registered some of the line, which must be sound. */
static unsigned owners(const struct rig *rig, const void *p)
{
	const emu_line_id id = rig_line(rig, p);
	unsigned n = 0;

	assert_null(rig->machine->protocol->broken_invariant(rig->machine, id));
	NVW_EACH(cu, rig->machine->cus, rig->machine->config.cus) {
		const struct emu_line *const line = emu_cache_peek(&cu->l1, id);

		n += line && line->registered;
	}
	return n;
}

/* ---- Owners -------------------------------------------------------------------------------- */

KERNEL(add, const struct args, p)
{
	NVW_FOR(i, p->rounds) {
		nvw_atomic_add(p->a, 1, NVW_ACQ_REL, p->scope);
	}
}

TEST(concurrent_atomics_of_several_cus_are_all_counted_and_leave_one_owner)
{
	unsigned protocols = 0;

	for_each_protocol(protocol) {
		RIG(rig);
		struct args p;

		if (!protocol->registration) {
			continue;
		}
		p = begin(&rig, protocol->name, NULL);
		run(&rig, add, &p, 4, 64);
		assert_int_equal(owners(&rig, p.a), 1);
		assert_visible(&rig, p.a, 4 * 64 * ROUNDS);
		assert_true(stats(&rig)->l1_revocations > 0);
		protocols++;
	}
	assert_true(protocols >= 6);
}

/* Each CU counts in a word of its own, of one line. */
KERNEL(count_beside_others, const struct args, p)
{
	uint64_t *const mine = &p->a[nvw_group_id()];

	NVW_FOR(i, p->rounds) {
		nvw_store(mine, nvw_load(mine) + 1);
		nvw_atomic_add(&p->flag[WORDS * nvw_group_id()], 1, NVW_RELEASE, p->scope);
	}
}

TEST(false_sharing_moves_lines_under_denovo_b_but_not_bytes_under_dd_and_loses_no_store)
{
	static const char *const names[] = {"denovo-b", "dd"};

	NVW_FOR(i, 2) {
		RIG(rig);
		struct args p = begin(&rig, names[i], NULL);

		run(&rig, count_beside_others, &p, 4, 1);
		NVW_EACH(a, p.a, 4) {
			assert_visible(&rig, a, ROUNDS);
		}
		assert_int_equal(owners(&rig, p.a), i ? 4 : 1);
		assert_int_equal(stats(&rig)->l1_revocations == 0, i);
	}
}

/* Loads atomically, with work-group scope: nothing but synchronization. */
KERNEL(look, const struct args, p)
{
	(void)nvw_atomic_load(p->a, NVW_ACQUIRE, p->scope);
	(void)nvw_atomic_load(p->a, NVW_ACQUIRE, p->scope);
}

TEST(local_synchronization_registers_nothing_under_dh_and_does_under_dd)
{
	static const char *const names[] = {"dh", "dd"};

	NVW_FOR(i, 2) {
		RIG(rig);
		struct args p = begin(&rig, names[i], NULL);

		p.scope = NVW_SCOPE_WORKGROUP;
		run(&rig, look, &p, 1, 64);
		assert_counted(&rig, l1_registrations, i);
		assert_int_equal(owners(&rig, p.a), i);
		p.scope = NVW_SCOPE_AGENT;
		run(&rig, look, &p, 1, 64);
		assert_int_equal(owners(&rig, p.a), 1);
	}
}

/* ---- The queue of a line ------------------------------------------------------------------- */

enum { QUEUED_GROUPS = 12, LATER = 10 /* cycles, before anybody has been granted anything */ };

struct queue_up {
	const struct nvw_machine *m;
	uint64_t *word, *own; /* own: a line for each group */
	enum nvw_scope scope;
	uint64_t places[QUEUED_GROUPS], cus[QUEUED_GROUPS]; /* host memory */
	emu_time served[QUEUED_GROUPS];
};

/* The first group of each CU asks at once, the others when all of these wait. */
static void ask_once(const void *args)
{
	struct queue_up *const q = (struct queue_up *)(uintptr_t)args;
	const uint64_t me = nvw_group_id();

	q->cus[me] = nvw_cu_id();
	NVW_EACH(cu, q->cus, me) {
		if (*cu == q->cus[me]) {
			NVW_FOR(i, LATER) {
				nvw_store(&q->own[WORDS * me], i);
			}
			break;
		}
	}
	q->places[me] = nvw_atomic_add(q->word, 1, NVW_RELAXED, q->scope);
	q->served[q->places[me]] = q->m->now;
}

/*
 * sinclair15 3, DeNovoSync0: what is served of a CU is one run of places. The line goes straight from L1 to
 * L1: requests that wait have been at the L2 before.
 */
TEST(the_waiting_requests_of_a_cu_are_served_before_remote_ones)
{
	for_each_protocol(protocol) {
		RIG(rig);
		struct args p;
		struct queue_up q = {0};
		uint64_t cu_at[QUEUED_GROUPS], changes = 0;

		if (!protocol->registration) {
			continue;
		}
		p = begin(&rig, protocol->name, NULL);
		q.word = p.flag;
		q.own = p.a;
		q.scope = p.scope;
		q.m = rig.machine;
		rig_launch(&rig, ask_once, &q, QUEUED_GROUPS, 1);
		assert_visible(&rig, q.word, QUEUED_GROUPS);
		NVW_FOR(group, QUEUED_GROUPS) {
			cu_at[q.places[group]] = q.cus[group];
		}
		for (unsigned place = 1; place < QUEUED_GROUPS; place++) {
			changes += cu_at[place] != cu_at[place - 1];
			assert_true(q.served[place] < q.served[place - 1] + rig.machine->config.l2.latency);
		}
		assert_int_equal(changes, rig.machine->config.cus - 1);
		assert_counted(&rig, l1_revocations, rig.machine->config.cus - 1);
	}
}

/* ---- Persistence --------------------------------------------------------------------------- */

/* Group 0 stores and releases; group 1 takes the line away before group 0 comes to its persist barrier. */
KERNEL(revoke_in_the_middle, const struct args, p)
{
	if (nvw_group_id() == 0) {
		nvw_store(&p->a[0], 1);
		nvw_atomic_store(&p->flag[0], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		while (!nvw_atomic_load(&p->flag[WORDS], NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
		}
		nvw_store(&p->a[2 * WORDS], 3);
		nvw_p_barrier_wi();
		nvw_store(&p->a[3 * WORDS], 4);
	} else {
		while (!nvw_atomic_load(&p->flag[0], NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
		}
		nvw_store(&p->a[0], nvw_load(&p->a[0]) + 1);
		nvw_store(&p->a[1], 2);
		nvw_atomic_store(&p->flag[WORDS], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

static const char *const of_data[] = {"denovo-b", "dd", "dd+ro", "dh"}; /* which register data, too */

TEST(a_dirty_line_of_nvram_that_is_revoked_within_an_epoch_is_durable_when_the_epoch_is)
{
	for_each(name, of_data) {
		RIG(rig);
		struct args p = begin(&rig, *name, NULL);

		p.a = rig.nvram;
		run(&rig, revoke_in_the_middle, &p, 2, 1);
		assert_true(stats(&rig)->l1_flush_revoke > 0);
		assert_in_range(rig_durable(&rig, &p.a[0]), 1, 2);
		assert_durable(&rig, &p.a[2 * WORDS], 3);
		assert_durable(&rig, &p.a[3 * WORDS], 0); /* behind the last barrier */
		assert_visible(&rig, &p.a[0], 2);
		assert_visible(&rig, &p.a[1], 2);
		rig_ok(nvw_persist(rig.machine));
		assert_durable(&rig, &p.a[0], 2);
		assert_durable(&rig, &p.a[1], 2);
	}
}

KERNEL(store_and_persist, const struct args, p)
{
	for (unsigned i = 1; i <= p->rounds; i++) {
		nvw_store(p->a, i);
		nvw_p_barrier_wi();
	}
	nvw_store(p->out, nvw_load(p->a));
}

TEST(a_dirty_line_stays_registered_after_a_persist_barrier)
{
	for_each(name, of_data) {
		RIG(rig);
		struct args p = begin(&rig, *name, NULL);
		uint64_t once;

		p.a = rig.nvram;
		p.rounds = 1;
		run(&rig, store_and_persist, &p, 1, 1);
		once = stats(&rig)->l1_registrations;
		assert_int_equal(once, 2); /* a, and out at the kernel's end */
		assert_int_equal(owners(&rig, p.a), 1);
		p.rounds = ROUNDS;
		run(&rig, store_and_persist, &p, 1, 1);
		assert_counted(&rig, l1_registrations, once);
		assert_counted(&rig, l1_load_misses, 0);
		assert_counted(&rig, l1_flush_persist, 1 + ROUNDS);
		assert_durable(&rig, p.a, ROUNDS);
		assert_int_equal(owners(&rig, p.a), 1);
	}
}

/* ---- Room ---------------------------------------------------------------------------------- */

/* A store, then an atomic, to line after line: more than the caches hold. */
KERNEL(sweep, const struct args, p)
{
	NVW_FOR(i, p->rounds * p->lines) {
		nvw_store(p->out, i);
		nvw_atomic_add(&p->a[WORDS * (i % p->lines)], 1, NVW_RELAXED, p->scope);
	}
}

static void expect_room(const char *protocol, const char *const *caches, bool small_l2)
{
	RIG(rig);
	struct args p = begin(&rig, protocol, caches);

	run(&rig, sweep, &p, 1, 1);
	NVW_FOR(i, p.lines) {
		assert_visible(&rig, &p.a[WORDS * i], ROUNDS);
		assert_true(owners(&rig, &p.a[WORDS * i]) <= 1);
	}
	assert_visible(&rig, p.out, ROUNDS * p.lines - 1);
	if (small_l2) {
		assert_true(stats(&rig)->l1_recalls > 0);
	} else {
		assert_true(stats(&rig)->l1_evictions > ROUNDS);
	}
	if (rig.machine->protocol->registration->flushes_loser) {
		assert_true(stats(&rig)->sync_evictions > ROUNDS);
		assert_true(stats(&rig)->flushes_atomic_out > ROUNDS);
	} else {
		assert_counted(&rig, flushes_atomic_out, 0);
	}
}

TEST(what_l1_or_l2_replace_comes_back_and_a_replaced_atomic_of_hlrc_flushes)
{
	static const char *const small_l2[] = {"l2.size=512B", "l2.ways=2", "l2.banks=1", NULL};

	for_each_protocol(p) {
		if (p->registration) {
			expect_room(p->name, SETTINGS("l1.size=256B", "l1.ways=2"), false);
			expect_room(p->name, small_l2, true);
		}
	}
}

KERNEL(return_to_an_atomic, const struct args, p)
{
	nvw_atomic_add(&p->a[0], 1, NVW_RELAXED, p->scope);
	(void)nvw_load(&p->a[WORDS]);
	(void)nvw_load(&p->a[2 * WORDS]);
	nvw_atomic_add(&p->a[0], 1, NVW_RELAXED, p->scope);
}

TEST(registered_last_keeps_a_registered_line_that_lru_loses)
{
	static const char *const replacements[] = {
		"l1.replacement=registered-last", "l1.replacement=lru", "l1.replacement=auto"};
	static const char *const names[] = {"hlrc", "dd"};

	NVW_FOR(n, 2) {
		NVW_FOR(i, 3) {
			const bool lost =
				i == 1 ||
				(i == 2 && n == 1); /* alsop16 III.C.2 asks for it; sinclair15 does not */
			RIG(rig);
			struct args p =
				begin(&rig, names[n], SETTINGS("l1.size=128B", "l1.ways=2", replacements[i]));

			run(&rig, return_to_an_atomic, &p, 1, 1);
			assert_visible(&rig, p.a, 2);
			assert_counted(&rig, l1_registrations, 1 + lost);
			assert_counted(&rig, sync_evictions, lost && n == 0);
		}
	}
}

/* ---- Data that is not registered ----------------------------------------------------------- */

/* Data of two CUs beside an atomic that both use. */
KERNEL(use_beside, const struct args, p)
{
	uint64_t *const mine = &p->a[1 + nvw_group_id()];

	NVW_FOR(i, p->rounds) {
		nvw_store(mine, nvw_load(mine) + 1);
		nvw_atomic_add(p->a, 1, NVW_ACQ_REL, p->scope);
	}
}

TEST(data_beside_an_atomic_of_hlrc_are_right_and_never_in_its_line)
{
	static const char *const names[] = {"hlrc", "hlrc-scoped"};

	for_each(name, names) {
		for (unsigned groups = 1; groups <= 2; groups++) {
			RIG(rig);
			struct args p = begin(&rig, *name, NULL);

			run(&rig, use_beside, &p, groups, 1);
			assert_int_equal(owners(&rig, p.a),
				1); /* in a line of state R there is nothing else (invariant) */
			assert_visible(&rig, p.a, groups * ROUNDS);
			NVW_FOR(group, groups) {
				assert_visible(&rig, &p.a[1 + group], ROUNDS);
			}
			if (groups == 1) {
				assert_counted(
					&rig, l1_registrations, 1); /* data leave the registration alone */
			}
		}
	}
}

KERNEL(read_across_an_acquire, const struct args, p)
{
	(void)nvw_load_read_only(p->a);
	(void)nvw_atomic_load(p->flag, NVW_ACQUIRE, NVW_SCOPE_AGENT);
	nvw_store(p->out, nvw_load_read_only(p->a));
}

TEST(read_only_data_outlive_acquires_under_dd_ro_alone_and_kernels_under_none)
{
	static const char *const names[] = {"dd+ro", "dd"};

	NVW_FOR(i, 2) {
		RIG(rig);
		struct args p = begin(&rig, names[i], NULL);

		for (uint64_t round = 1; round <= 3; round++) {
			rig_write(&rig, p.a, round);
			run(&rig, read_across_an_acquire, &p, 1, 1);
			assert_visible(&rig, p.out, round);
			assert_counted(&rig, l1_read_only_hits, i ? 0 : round);
			assert_counted(&rig, l1_load_misses,
				round * (1 + i)); /* the flag comes with its registration */
		}
	}
}

/* ---- The host ------------------------------------------------------------------------------ */

KERNEL(double_it, const struct args, p)
{
	nvw_store(p->a, 2 * nvw_load(p->a));
}

TEST(the_host_reads_and_writes_bytes_that_an_l1_has_registered)
{
	for_each_protocol(protocol) {
		NVW_FOR(nvram, 2) {
			const struct coh_registration *const registration = protocol->registration;
			RIG(rig);
			struct args p = begin(&rig, protocol->name, NULL);
			uint64_t value = 5;

			p.a = nvram ? rig.nvram : p.a;
			NVW_FOR(round, 3) {
				rig_write(&rig, p.a, value);
				assert_visible(&rig, p.a, value);
				assert_true(!nvram || rig_durable(&rig, p.a) == value);
				run(&rig, double_it, &p, 1, 1);
				assert_visible(&rig, p.a, 2 * value);
				assert_int_equal(owners(&rig, p.a), registration && !registration->apart);
				value += 100;
			}
		}
	}
}

/* ---- Invariants ---------------------------------------------------------------------------- */

enum { V = 1, D, R }; /* of denovo.h and lazy.h */

/* Byte masks: the word that CU 0 has registered, and one byte of another that nobody has. */
enum { OWN = 0xff, FREE = 0x100 };

/* The line in the L1s of CU 0, which has registered a word, and of CU 1, which has nothing; and in the L2. */
struct copies {
	struct emu_line *first, *second, *below;
};

static void wait_in_v(const struct copies *c)
{
	c->second->valid = c->second->dirty = FREE;
	c->second->state = V;
}

static void own_in_v(const struct copies *c)
{
	c->first->state = V;
}

static void have_data_in_r(const struct copies *c)
{
	c->first->valid |= FREE;
}

static void be_dirty_below_in_v(const struct copies *c)
{
	c->below->valid |= FREE;
	c->below->dirty = FREE;
	c->below->state = V;
}

static void be_dirty_without_data_below(const struct copies *c)
{
	c->below->valid = 0;
	c->below->dirty = FREE;
	c->below->state = D;
}

static void have_data_below(const struct copies *c)
{
	c->below->valid |= OWN;
}

static void own_without_data(const struct copies *c)
{
	c->first->valid &= ~(uint64_t)1;
}

static void own_twice(const struct copies *c)
{
	c->second->valid = c->second->registered = OWN;
	c->second->state = R;
}

static void name_another(const struct copies *c)
{
	c->below->data[0] = 1;
}

static void name_one_who_has_not(const struct copies *c)
{
	c->below->valid &= ~(uint64_t)FREE;
	c->below->registered |= FREE;
	c->below->data[8] = 0;
}

TEST(every_broken_invariant_is_named)
{
	static const struct {
		const char *protocols;
		void (*plant)(const struct copies *copies);
		const char *what;
	} faults[] = {
		{"dd", wait_in_v, "stored bytes that are not registered do not wait in state D"},
		{"dd", own_in_v, "a line with registered bytes is in neither state D nor R"},
		{"dd", be_dirty_below_in_v, "a dirty line of the L2 is not in its dirty state"},
		{"hlrc", wait_in_v, "stored bytes do not wait in state D"},
		{"hlrc", own_in_v,
			"a line in R holds other bytes than registered ones, or registered ones are not in "
			"R"},
		{"hlrc", have_data_in_r,
			"a line in R holds other bytes than registered ones, or registered ones are not in "
			"R"},
		{"dd hlrc", be_dirty_without_data_below, "a dirty byte of the L2 is not valid"},
		{"dd hlrc", have_data_below, "a registered byte has data in the L2"},
		{"dd hlrc", own_without_data, "a dirty or registered byte of an L1 is not valid"},
		{"dd hlrc", own_twice, "a byte is registered in two L1s"},
		{"dd hlrc", name_another, "the L2 does not know who has registered a byte (inclusion)"},
		{"dd hlrc", name_one_who_has_not, "the L2 names an L1 that has not registered the byte"},
	};
	static const char *const names[] = {"dd", "hlrc"};

	for_each(name, names) {
		RIG(rig);
		struct args p = begin(&rig, *name, NULL);
		const emu_line_id id = rig_line(&rig, p.a);
		struct emu_cache *const l1 = &rig.machine->cus[1].l1;
		struct copies c;

		p.rounds = 1;
		run(&rig, add, &p, 1, 1);
		c.second = emu_cache_victim(l1, id);
		emu_cache_assign(l1, c.second, id);
		c.first = emu_cache_peek(&rig.machine->cus[0].l1, id);
		c.below = emu_cache_peek(&rig.machine->l2.cache, id);
		assert_true(c.first && c.below && c.first->registered == OWN);
		for_each(fault, faults) {
			const struct emu_line first = *c.first, second = *c.second, below = *c.below;
			const char *broken;

			if (!strstr(fault->protocols, *name)) {
				continue;
			}
			assert_null(rig.machine->protocol->broken_invariant(rig.machine, id));
			fault->plant(&c);
			broken = rig.machine->protocol->broken_invariant(rig.machine, id);
			assert_non_null(broken);
			assert_string_equal(broken, fault->what);
			*c.first = first;
			*c.second = second;
			*c.below = below;
		}
	}
}
