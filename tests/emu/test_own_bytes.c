/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of work-items that own bytes of lines that they share: neighbours in order, or nearly so,
 * of all sizes, by some of the lanes, under every protocol and random settings. Each value is known: it is
 * what the work-item has stored last.
 */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include <nvw/kernel.h>
#include <nvw/random.h>

#include "machine.h"
#include "protocol/protocol.h"

enum {
	ROWS = 6,
	STEPS = 30,
	ITEMS_MAX = 400,
	SLACK = 12,
	ROW_BYTES = 8 * (ITEMS_MAX + SLACK),
	PROGRAMS = 150
};
enum what { LOAD, STORE, ADD, EXCHANGE, LATE, PERSIST, WHATS };

/* Each work-item owns an object: so many bytes at its place. */
struct row {
	char *base;
	uint8_t now[ROW_BYTES];
	unsigned bytes;
	uint16_t place[ITEMS_MAX];
	bool is_nvram;
};

struct step {
	enum what what;
	unsigned row, other, size, part, order;
	uint64_t lanes, salt;
};

struct program {
	struct row row[ROWS];
	struct step step[STEPS];
	unsigned items, group, steps, wrong;
	struct nvw_random random;
};

/* ---- The kernel ------------------------------------------------------------------------------ */

/* clang-format off */
#define BY_SIZE(bytes, USE) \
	((bytes) == 8   ? USE(uint64_t) : \
	 (bytes) == 4 ? USE(uint32_t) : \
	 (bytes) == 2 ? USE(uint16_t) : \
			USE(uint8_t))
/* clang-format on */

static uint64_t offset_of(const struct row *r, const struct step *s, uint64_t id)
{
	return (uint64_t)r->place[id] * r->bytes + (uint64_t)(s->part % (r->bytes / s->size)) * s->size;
}

static uint64_t expected(const struct row *r, uint64_t offset, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, r->now + offset, size);
	return value;
}

static void store(struct row *r, const struct step *s, uint64_t id, uint64_t v)
{
	const uint64_t offset = offset_of(r, s, id);

	memcpy(r->now + offset, &v, s->size);
	store_bytes(r->base + offset, s->size, v);
}

static uint64_t change(struct row *r, const struct step *s, uint64_t offset, uint64_t v)
{
	const uint64_t new = s->what == ADD ? expected(r, offset, s->size) + v : v;
	char *const at = r->base + offset;

	memcpy(r->now + offset, &new, s->size);
#define ADD_AS(type)      nvw_atomic_add((type *)(void *)at, (type)v, s->order, NVW_SCOPE_AGENT)
#define EXCHANGE_AS(type) nvw_atomic_exchange((type *)(void *)at, (type)v, s->order, NVW_SCOPE_WORKGROUP)
	return s->what == ADD ? BY_SIZE(s->size, ADD_AS) : BY_SIZE(s->size, EXCHANGE_AS);
#undef ADD_AS
#undef EXCHANGE_AS
}

/* Stores elsewhere, maybe to the same object, between the issue of a load and its use. */
static uint64_t load_late(struct program *p, const struct step *s, const char *at, uint64_t id, uint64_t v)
{
	struct step between = *s;
	struct nvw_issued issued;

	between.size = p->row[s->other].bytes;
#define ISSUE_AS(type) (issued = nvw_load_issue((const type *)(const void *)at), 0)
	(void)BY_SIZE(s->size, ISSUE_AS);
#undef ISSUE_AS
	store(&p->row[s->other], &between, id, v);
#define USE_AS(type) nvw_load_use(issued, type)
	return BY_SIZE(s->size, USE_AS);
#undef USE_AS
}

static void take_step(struct program *p, const struct step *s, uint64_t id)
{
	struct row *const r = &p->row[s->row];
	const uint64_t offset = offset_of(r, s, id), v = nvw_mix64(s->salt ^ id),
		       before = expected(r, offset, s->size);

	switch (s->what) {
	case LOAD:
		p->wrong += load_bytes(r->base + offset, s->size) != before;
		break;
	case STORE:
		store(r, s, id, v);
		break;
	case LATE:
		p->wrong += load_late(p, s, r->base + offset, id, v) != before;
		break;
	case PERSIST:
		nvw_p_barrier_wi();
		break;
	default:
		p->wrong += change(r, s, offset, v) != before;
	}
}

KERNEL_ON(take_steps, struct program, p)
{
	const uint64_t id = nvw_global_id();

	NVW_FOR(i, p->steps) {
		if (p->step[i].lanes >> id % 64 & 1) {
			take_step(p, &p->step[i], id);
		}
	}
}

/* ---- Choices --------------------------------------------------------------------------------- */

static unsigned below(struct program *p, unsigned bound)
{
	return (unsigned)nvw_random_below(&p->random, bound);
}

/* In order from some place on, backwards, or with a few or many exchanged. */
static void choose_places(struct program *p, struct row *r)
{
	static const unsigned exchanges[] = {0, 0, 0, 2, ITEMS_MAX};
	const unsigned begin = below(p, SLACK), kind = below(p, 5);

	NVW_FOR(i, p->items) {
		r->place[i] = (uint16_t)(begin + (kind == 2 ? p->items - 1 - i : i));
	}
	for (unsigned k = exchanges[kind]; k > 0; k--) {
		const unsigned a = below(p, p->items), b = below(p, p->items);
		const uint16_t place = r->place[a];

		r->place[a] = r->place[b];
		r->place[b] = place;
	}
}

static void choose_rows(struct program *p, struct rig *rig)
{
	NVW_FOR(i, ROWS) {
		struct row *const r = &p->row[i];

		r->is_nvram = i % 2;
		r->bytes = below(p, 2) ? 8 : 1u << below(p, 3);
		r->base = r->is_nvram ? (char *)rig->nvram + i * (ROW_BYTES + 64 - ROW_BYTES % 64) :
					nvw_alloc(rig->machine, ROW_BYTES);
		choose_places(p, r);
		NVW_EACH(now, r->now, ROW_BYTES) {
			*now = (uint8_t)below(p, 256);
		}
		rig_ok(nvw_write(rig->machine, r->base, r->now, ROW_BYTES));
	}
}

static uint64_t choose_lanes(struct program *p)
{
	const uint64_t some = nvw_random_u64(&p->random), others = nvw_random_u64(&p->random);

	switch (below(p, 6)) {
	case 0:
		return some;
	case 1:
		return some & others;
	case 2:
		return some | others;
	case 3:
		return UINT64_C(1) << below(p, 64);
	default:
		return UINT64_MAX;
	}
}

static void choose_steps(struct program *p)
{
	p->steps = 1 + below(p, STEPS);
	NVW_FOR(i, p->steps) {
		struct step *const s = &p->step[i];

		s->what = below(p, 2) ? (enum what)below(p, 2) : (enum what)below(p, WHATS);
		s->row = i > 0 && below(p, 2) ? s[-1].row : below(p, ROWS);
		s->other = below(p, ROWS);
		s->size = p->row[s->row].bytes >> (below(p, 2) ? 0 : below(p, 3));
		s->size += !s->size;
		s->part = below(p, 8);
		s->order = below(p, 2) ? NVW_RELAXED : below(p, NVW_SEQ_CST + 1);
		s->lanes = choose_lanes(p);
		s->salt = nvw_random_u64(&p->random);
	}
}

static const char *choose_setting(struct program *p)
{
	static const char *const settings[] = {"store_buffer.entries=1", "store_buffer.entries=3",
		"store_buffer.order=unordered", "store_buffer.loads=pass", "gpu.wavefront_width=1",
		"gpu.wavefront_width=7", "gpu.wavefront_width=32", "gpu.cus=1", "gpu.cus=65", "gpu.loads=2",
		"l2.banks=3", "nvram.domain=adr", "nvram.domain=eadr", "nvram.channels=3", "nvram.shared=on",
		"network.topology=mesh", "network.topology=torus", "network.banks=beside", "l1.nvw_fifo=1",
		"l2.nvw_fifo=1", "l1.sfifo=1", "l1.sfifo_unit=words", "l1.occupancy=0cycles",
		"l2.latency=500cycles", "nvram.write=0ns", "stc.bsq=4", "tcs.lease=20cycles"};

	return settings[below(p, NVW_COUNT(settings))];
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void compare(const struct program *p, const struct rig *rig)
{
	NVW_EACH(one, p->row, ROWS) {
		uint8_t visible[ROW_BYTES];
		const struct row *const r = one;

		rig_ok(nvw_read(rig->machine, visible, r->base, ROW_BYTES));
		assert_memory_equal(visible, r->now, ROW_BYTES);
		for (unsigned k = 0; r->is_nvram && k < ROW_BYTES; k += 8) {
			assert_durable(rig, r->base + k, expected(r, k, 8));
		}
	}
}

static void run_program(unsigned number, const char *protocol)
{
	static struct program program;
	struct program *const p = &program;
	char size[32], ways[32];
	const char *settings[8] = {size, ways, "gpu.wavefronts_per_cu=100",
		number % 2 ? "store_buffer.entries=64" : "store_buffer.entries=0"};
	unsigned l1_ways, more;
	RIG(rig);

	*p = (struct program){.random = {number}};
	l1_ways = 1 + below(p, 16);
	more = below(p, 4);
	snprintf(ways, sizeof ways, "l1.ways=%u", l1_ways);
	snprintf(size, sizeof size, "l1.size=%uB", 64 * l1_ways * (1 + below(p, 4)));
	NVW_FOR(i, more) {
		settings[4 + i] = choose_setting(p);
	}
	rig_begin_under_with(&rig, protocol, number % 3, settings);
	p->group = 1 + below(p, 100);
	p->items = p->group * (1 + below(p, ITEMS_MAX / 100));
	choose_rows(p, &rig);
	NVW_FOR(launch, 2) {
		choose_steps(p);
		rig_launch(&rig, take_steps, &p, p->items, p->group);
		assert_int_equal(p->wrong, 0);
		rig_ok(nvw_persist(rig.machine));
		compare(p, &rig);
	}
}

TEST(each_work_item_finds_what_it_has_stored_to_its_own_bytes)
{
	unsigned protocols = 0;

	while (coh_protocols[protocols]) {
		protocols++;
	}
	NVW_FOR(number, PROGRAMS) {
		print_message("# program %u\n", number);
		run_program(number, coh_protocols[number % protocols]->name);
	}
}
