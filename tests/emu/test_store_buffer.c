/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Store buffers: what others see late, in which order, and who has to wait. Most kernels race on purpose,
 * under the protocol of docs/protocols/directory.c, which is sequentially consistent without store buffers.
 */
#include "words.h"

#include <string.h>

#include <nvw/kernel.h>

#include "protocol/protocol.h"

struct shared {
	struct rig *rig;
	uint64_t *x, *y, *own; /* each word of x, y on a line of its own; own: a line of each work-item */
	bool atomic;
	uint64_t stride; /* in words */
	uint64_t got[64];
};

static struct shared begin(struct rig *rig, const char *protocol, const char *const *more)
{
	rig_begin_under_with(rig, protocol, 0, more);
	struct shared s = {.rig = rig};

	s.x = nvw_alloc(rig->machine, 64);
	s.y = nvw_alloc(rig->machine, 64);
	s.own = nvw_alloc(rig->machine, 64 * 64);
	return s;
}

/* ---- Visibility ---------------------------------------------------------------------------- */

/* The first store takes long; what comes behind it waits, and the load does not. */
KERNEL_ON(store_to_one_load_the_other, struct shared, s)
{
	const uint64_t me = nvw_group_id();
	uint64_t *const mine = me ? s->y : s->x, *const others = me ? s->x : s->y;

	nvw_store(&s->own[8 * me], 1);
	nvw_store(mine, 1);
	s->got[me] = s->atomic ? nvw_atomic_load(others, NVW_RELAXED, NVW_SCOPE_AGENT) : nvw_load(others);
}

/* Whether neither of two work-items, each on its CU, sees the other's store. */
static bool neither_is_seen(const char *const *settings, bool atomic)
{
	RIG(rig);
	struct shared s = begin(&rig, "directory", settings);

	s.atomic = atomic;
	rig_launch_on(&rig, store_to_one_load_the_other, &s, 2, 1);
	assert_visible(&rig, s.x, 1);
	assert_visible(&rig, s.y, 1);
	return !s.got[0] && !s.got[1];
}

TEST(loads_pass_stores_that_wait_and_atomics_do_not)
{
	static const char *const fifo[] = {"store_buffer.entries=4", NULL};

	assert_false(neither_is_seen(NULL, false));
	assert_true(neither_is_seen(fifo, false));
	assert_true(neither_is_seen(SETTINGS("store_buffer.entries=4", "store_buffer.loads=pass"), false));
	assert_false(neither_is_seen(SETTINGS("store_buffer.entries=4", "store_buffer.loads=wait"), false));
	assert_false(neither_is_seen(fifo, true));
}

/*
 * The second store to x waits for the first one; the flag's store waits for it in a FIFO only. The other
 * work-item looks at both a few cycles later.
 */
KERNEL_ON(store_twice_then_tell, struct shared, s)
{
	if (nvw_group_id() == 0) {
		nvw_store(s->x, 1);
		nvw_store(s->x, 2);
		nvw_store(s->y, 1);
		return;
	}
	NVW_FOR(i, 8) {
		nvw_store(&s->own[8 * i], 1);
	}

	const struct nvw_issued flag = nvw_load_issue(s->y), message = nvw_load_issue(s->x);

	s->got[0] = nvw_load_use(flag, uint64_t);
	s->got[1] = nvw_load_use(message, uint64_t);
}

/* 10 * the flag + the message. */
static uint64_t seen_of_the_message(const char *order)
{
	RIG(rig);
	struct shared s = begin(&rig, "directory", SETTINGS("store_buffer.entries=16", order));

	rig_launch_on(&rig, store_twice_then_tell, &s, 2, 1);
	return 10 * s.got[0] + s.got[1];
}

TEST(stores_leave_in_program_order_or_by_address)
{
	assert_int_equal(seen_of_the_message("store_buffer.order=fifo"), 1);
	assert_int_equal(seen_of_the_message("store_buffer.order=unordered"), 11);
}

KERNEL_ON(store_eight, struct shared, s)
{
	NVW_FOR(i, 8) {
		nvw_store(&s->own[i * s->stride], i + 1);
	}
}

/* The time of eight stores so many words apart, each of which goes to the L2. */
static uint64_t time_of_eight(const char *order, uint64_t stride)
{
	RIG(rig);
	struct shared s =
		begin(&rig, "tcs", SETTINGS("store_buffer.entries=16", order, "l2.latency=500cycles"));

	s.stride = stride;
	rig_launch_on(&rig, store_eight, &s, 1, 1);
	assert_visible(&rig, &s.own[7 * stride], 8);
	return emu_statistics(rig.machine)->sim_time_ps;
}

/* Those to the same bytes keep their order: the last one is what remains. */
TEST(unordered_stores_to_other_bytes_of_a_line_do_not_wait_for_each_other)
{
	const uint64_t lines = time_of_eight("store_buffer.order=unordered", 8),
		       words = time_of_eight("store_buffer.order=unordered", 1),
		       word = time_of_eight("store_buffer.order=unordered", 0),
		       in_order = time_of_eight("store_buffer.order=fifo", 1);

	assert_true(words <= lines);
	assert_true(word > 4 * words && in_order > 4 * words);
}

/* Lane 0 stores, lane 1 of the same wavefront looks. */
KERNEL_ON(look_at_the_neighbour_s_store, struct shared, s)
{
	const uint64_t me = nvw_global_id();

	nvw_store(&s->own[8 * me], 1);
	nvw_store(me ? s->y : s->x, 7);
	s->got[me] = nvw_load(s->x);
}

TEST(a_store_that_waits_is_seen_by_its_own_work_item_alone)
{
	RIG(rig);
	struct shared s = begin(&rig, "directory", SETTINGS("store_buffer.entries=4"));

	rig_launch_on(&rig, look_at_the_neighbour_s_store, &s, 2, 2);
	assert_int_equal(s.got[0], 7);
	assert_int_equal(s.got[1], 0);
	assert_counted(&rig, buffer_forwards, 1);
}

/* ---- A work-item's own stores -------------------------------------------------------------- */

/*
 * Random stores and loads of every size in a word of the work-item's own. Its line goes from CU to CU, so
 * that stores wait.
 */
KERNEL_ON(store_and_load_at_random, struct shared, s)
{
	const uint64_t me = nvw_global_id();
	uint8_t *const line = (uint8_t *)&s->own[me], image[8] = {0};
	struct nvw_random random = {nvw_mix64(me + 1)};

	NVW_FOR(i, 200) {
		const unsigned size = 1u << nvw_random_below(&random, 4);
		const unsigned at = (unsigned)nvw_random_below(&random, 8 / size) * size;
		const uint64_t value = nvw_random_u64(&random);
		uint64_t expected = 0;

		memcpy(&expected, image + at, size);
		if (value & 1) {
			memcpy(image + at, &value, size);
			store_bytes(line + at, size, value);
		} else {
			s->got[me] += load_bytes(line + at, size) != expected;
		}
	}
}

TEST(a_work_item_sees_its_own_stores)
{
	static const char *const orders[] = {"store_buffer.order=fifo", "store_buffer.order=unordered"};
	static const char *const loads[] = {
		"store_buffer.loads=forward", "store_buffer.loads=pass", "store_buffer.loads=wait"};

	NVW_FOR(i, 6) {
		const struct emu_stats *stats;
		RIG(rig);
		struct shared s = begin(
			&rig, "directory", SETTINGS("store_buffer.entries=3", orders[i / 3], loads[i % 3]));

		rig_launch_on(&rig, store_and_load_at_random, &s, 8, 2);
		NVW_EACH(got, s.got, 8) {
			assert_int_equal(*got, 0);
		}
		stats = emu_statistics(rig.machine);
		assert_int_equal(stats->buffer_forwards > 0, i % 3 == 0);
		assert_int_equal(stats->waits_overlap > 0, i % 3 != 2);
		assert_true(stats->waits_drain > 0); /* at the return */
		assert_true(stats->buffered_stores > 0);
	}
}

/* ---- Room ---------------------------------------------------------------------------------- */

KERNEL_ON(store_to_many_lines, struct shared, s)
{
	NVW_FOR(i, 8) {
		nvw_store(&s->own[8 * i], i);
	}
	s->got[0] = nvw_time_ps(s->rig->machine);
}

static uint64_t stored_within(const char *entries, uint64_t *ret_waits)
{
	RIG(rig);
	struct shared s = begin(&rig, "directory", SETTINGS(entries));

	rig_launch_on(&rig, store_to_many_lines, &s, 1, 1);
	NVW_FOR(i, 8) {
		assert_visible(&rig, &s.own[8 * i], i);
	}
	*ret_waits = emu_statistics(rig.machine)->waits_room;
	return s.got[0];
}

TEST(a_full_buffer_holds_its_wavefront_up)
{
	uint64_t none, few, many;
	const uint64_t without = stored_within("store_buffer.entries=0", &none),
		       with_two = stored_within("store_buffer.entries=2", &few),
		       with_eight = stored_within("store_buffer.entries=8", &many);

	assert_int_equal(none, 0);
	assert_int_equal(few, 6);
	assert_int_equal(many, 0);
	assert_true(with_eight < with_two && with_two < without);
}

/* ---- Persistence --------------------------------------------------------------------------- */

struct durable {
	struct rig *rig;
	uint64_t *a;
	enum nvw_group group;
	unsigned lost; /* stores that are not durable after their barrier */
};

KERNEL_ON(store_and_persist, struct durable, d)
{
	const uint64_t me = nvw_global_id();

	for (uint64_t i = 1; i <= 4; i++) {
		nvw_store(&d->a[64 * me + 8 * i], i);
		nvw_store(&d->a[64 * me], i);
		nvw_p_barrier(d->group);
		d->lost += rig_durable(d->rig, &d->a[64 * me + 8 * i]) != i;
		d->lost += rig_durable(d->rig, &d->a[64 * me]) != i;
	}
}

TEST(a_persist_barrier_waits_for_the_buffer)
{
	static const char *const protocols[] = {"vi", "rsp", "dd", "hlrc"};
	static const char *const domains[] = {"nvram.domain=device", "nvram.domain=adr", "nvram.domain=eadr"};

	NVW_FOR(i, 4 * 3 * 3) {
		RIG_UNDER(rig, protocols[i % 4], "store_buffer.entries=4", domains[i / 4 % 3],
			"store_buffer.order=unordered");
		struct durable d = {.rig = &rig, .a = rig.nvram, .group = (enum nvw_group)(i / 12)};

		rig_launch_on(&rig, store_and_persist, &d, 8, 4);
		assert_int_equal(d.lost, 0);
		assert_true(emu_statistics(rig.machine)->waits_drain > 0);
	}
}

/* Buffered epochs promise order, which the durability checker of the rig looks at. */
TEST(buffered_epochs_keep_the_epochs_of_stores_that_wait)
{
	RIG_UNDER(rig, "vi", "store_buffer.entries=4", "persist.model=buffered-epoch");
	struct durable d = {.rig = &rig, .a = rig.nvram, .group = NVW_WORKITEM};

	rig_launch_on(&rig, store_and_persist, &d, 8, 4);
	rig_ok(nvw_persist(rig.machine));
	NVW_FOR(me, 8) {
		assert_durable(&rig, &d.a[64 * me], 4);
	}
	assert_true(emu_statistics(rig.machine)->checked_stores > 0);
}

TEST(strict_persistency_has_no_store_buffer)
{
	struct nvw_machine *m;

	assert_int_equal(rig_alone(NULL, SETTINGS("store_buffer.entries=1", "persist.model=strict"), &m),
		NVW_E_CONFIG);
	assert_error_has("store_buffer.entries");
}

/* ---- Races --------------------------------------------------------------------------------- */

/* A message, by release and acquire or without. */
KERNEL_ON(tell_and_read, struct shared, s)
{
	if (nvw_group_id() == 0) {
		nvw_store(s->x, 5);
		if (s->atomic) {
			nvw_atomic_store(s->y, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		}
		return;
	}
	while (s->atomic && !nvw_atomic_load(s->y, NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
	}
	s->got[1] = nvw_load(s->x);
}

static uint64_t races_of(bool atomic)
{
	RIG(rig);
	struct shared s = begin(&rig, "vi", SETTINGS("store_buffer.entries=1"));

	s.atomic = atomic;
	rig_ok(emu_check_races(rig.machine, EMU_RACES_CLAIMED));
	rig_launch_on(&rig, tell_and_read, &s, 2, 1);
	assert_true(!atomic || s.got[1] == 5);
	return emu_races(rig.machine)->races;
}

TEST(races_are_those_of_the_program)
{
	assert_int_equal(races_of(true), 0);
	assert_int_equal(races_of(false), 1);
}

/* ---- Stores that are put off on their way --------------------------------------------------- */

/* A store's action that waits once, and then, or never, goes on. */
static emu_time wait_a_while(const struct coh_request *r, emu_time t)
{
	struct coh_wait *const w = r->again ? NULL : coh_put_off(r, EMU_CAUSE_marker, t);

	if (!w) {
		return t;
	}
	coh_wake(r->m, w, t + 100000);
	return COH_NOT_YET;
}

static emu_time wait_for_ever(const struct coh_request *r, emu_time t)
{
	return coh_put_off(r, EMU_CAUSE_marker, t) ? COH_NOT_YET : t;
}

static void store_two_values(const void *args)
{
	struct shared *const s = *(struct shared *const *)args;

	for (uint64_t i = 1; i <= 3; i++) {
		nvw_store(s->x, i);
		nvw_store(s->y, 10 * i);
	}
	s->got[0] = nvw_load(s->x);
}

static int run_with_an_action(emu_time (*carry_out)(const struct coh_request *, emu_time), struct shared *s)
{
	const struct coh_action_info action = {carry_out, "wait", COH_PART_ACCESS};
	struct shared *const args = s;
	RIG(rig);
	struct coh_row row;
	int r;

	*s = begin(&rig, "gd", SETTINGS("store_buffer.entries=4"));
	row = *rig.machine->rows[COH_STORE][COH_RELAXED][NVW_SCOPE_WORKITEM][COH_PLACE_L2];
	row.steps[1] = row.steps[0];
	row.steps[0] = &action;
	rig.machine->rows[COH_STORE][COH_RELAXED][NVW_SCOPE_WORKITEM][COH_PLACE_L2] = &row;
	r = nvw_launch(rig.machine, "store_two_values", store_two_values, &args, 1, 1);
	if (r == 0) {
		assert_visible(&rig, s->x, 3);
		assert_visible(&rig, s->y, 30);
		assert_counted(&rig, waits_marker, 6);
	}
	return r;
}

TEST(a_store_may_be_put_off_when_it_has_left)
{
	struct shared s;

	rig_ok(run_with_an_action(wait_a_while, &s));
	assert_int_equal(s.got[0], 3);
}

TEST(a_store_that_nobody_wakes_is_named)
{
	struct shared s;

	assert_int_equal(run_with_an_action(wait_for_ever, &s), NVW_E_DEADLOCK);
	assert_error_has("(store_two_values): \"wait\" of line");
	assert_error_has("to be woken by the acknowledgement of its marker");
}

/* ---- Orders that a scheduler chooses ------------------------------------------------------- */

struct schedule {
	unsigned choice[64], count[64], length, at;
};

static unsigned choose(void *context, unsigned count)
{
	struct schedule *const c = context;

	assert_true(c->at < 64);
	if (c->at == c->length) {
		c->choice[c->length++] = 0;
	}
	c->count[c->at] = count;
	return c->choice[c->at++];
}

static bool next_schedule(struct schedule *c)
{
	while (c->length && c->choice[c->length - 1] + 1 == c->count[c->length - 1]) {
		c->length--;
	}
	c->at = 0;
	return c->length && ++c->choice[c->length - 1];
}

KERNEL_ON(store_then_load, struct shared, s)
{
	const uint64_t me = nvw_group_id();

	nvw_store(me ? s->y : s->x, 1);
	s->got[me] = nvw_load(me ? s->x : s->y);
}

/* Bit 2a + b: work-item 0 has got a, work-item 1 b, in some order of all that could be next. */
static unsigned outcomes(const char *entries)
{
	struct schedule schedule = {0};
	unsigned seen = 0;

	do {
		RIG(rig);
		struct shared s = begin(&rig, "directory", SETTINGS(entries));

		emu_set_scheduler(rig.machine, choose, &schedule);
		rig_launch_on(&rig, store_then_load, &s, 2, 1);
		seen |= 1u << (2 * s.got[0] + s.got[1]);
	} while (next_schedule(&schedule));
	return seen;
}

TEST(when_a_store_leaves_is_a_choice_of_the_scheduler)
{
	assert_int_equal(outcomes("store_buffer.entries=0"), 0xe);
	assert_int_equal(outcomes("store_buffer.entries=1"), 0xf);
}
