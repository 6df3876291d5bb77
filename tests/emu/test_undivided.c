/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores to NVRAM are not divided: where L1s register bytes, an atomic of a part of a word takes no part of a
 * store along.
 */
#include "common/rig.h"

#include <nvw/kernel.h>

#include "protocol/protocol.h"
#include "observe/record.h"

enum { WORDS = 8 /* of a line */ };

struct parts {
	uint64_t *word, *flags; /* flags: of the two work-items, on lines of their own */
	uint32_t *part, *other; /* the halves of the word */
	bool atomic_first;
};

static const uint64_t first_value = UINT64_C(0x1111111122222222), second_value = UINT64_C(0x3333333344444444);

static void tell(const struct parts *p, unsigned from, uint64_t turn)
{
	nvw_atomic_store(&p->flags[WORDS * from], turn, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void wait_for(const struct parts *p, unsigned from, uint64_t turn)
{
	while (nvw_atomic_load(&p->flags[WORDS * from], NVW_RELAXED, NVW_SCOPE_AGENT) < turn) {
	}
}

static void add(uint32_t *half)
{
	nvw_atomic_add(half, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void store_words(const struct parts *p)
{
	if (p->atomic_first) {
		add(p->part);
	}
	nvw_store(p->word, first_value);
	if (!p->atomic_first) {
		add(p->part);
	}
	tell(p, 0, 1);
	wait_for(p, 1, 1);
	nvw_store(p->word, second_value);
	tell(p, 0, 2);
}

/*
 * A work-item stores a word twice and adds to a half of it; one on another CU adds to that half in between,
 * and then to the other. They race: the last value may be either's.
 */
KERNEL(add_to_halves, const struct parts, p)
{
	if (nvw_group_id() == 0) {
		store_words(p);
		return;
	}
	wait_for(p, 0, 1);
	add(p->part);
	tell(p, 1, 1);
	wait_for(p, 0, 2);
	add(p->other);
}

static void add_under(const char *protocol, unsigned half, bool atomic_first)
{
	struct parts p = {.atomic_first = atomic_first};

	RIG_UNDER(rig, protocol);
	p.word = rig.nvram;
	p.part = (uint32_t *)p.word + half;
	p.other = (uint32_t *)p.word + !half;
	p.flags = nvw_alloc(rig.machine, 2 * 64);
	rig_launch(&rig, add_to_halves, &p, 2, 1);
	rig_ok(nvw_persist(rig.machine));
	assert_durable(&rig, p.word, rig_visible(&rig, p.word));
	assert_int_equal(record_outstanding(rig.machine), 0);
}

/* The durability checker would end the kernel. */
TEST(an_atomic_of_half_a_word_of_nvram_divides_no_store_of_the_word)
{
	for_each_protocol(p) {
		/* Under the others atomics and data share no write. */
		if (p->registration && !p->registration->apart) {
			NVW_FOR(k, 4) {
				add_under(p->name, k & 1, k >> 1);
			}
		}
	}
}

/* One kernel after the other; L1s have one line, so the load evicts the word's. */
KERNEL(add_on_the_first_cu, const struct parts, p)
{
	if (nvw_group_id() == 0) {
		add(p->part);
	}
}

KERNEL(store_a_half_on_the_second, const struct parts, p)
{
	if (nvw_group_id() == 1) {
		nvw_store(p->other, 7);
		(void)nvw_load(p->flags);
	}
}

KERNEL(store_the_word_on_the_first, const struct parts, p)
{
	if (nvw_group_id() == 0) {
		nvw_store(p->word, first_value);
		(void)nvw_load(p->flags);
	}
}

static struct parts begin_with_an_l1_of_one_line(struct rig *rig, const char *protocol)
{
	rig_begin_under_set(rig, protocol, "l1.size=64B", "l1.ways=1");
	return (struct parts){.word = rig->nvram,
		.part = rig->nvram,
		.other = (uint32_t *)rig->nvram + 1,
		.flags = nvw_alloc(rig->machine, 64)};
}

TEST(an_l1_that_loses_a_half_of_a_word_divides_no_store_of_it)
{
	for_each_protocol(protocol) {
		RIG(rig);
		struct parts p = begin_with_an_l1_of_one_line(&rig, protocol->name);

		rig_launch(&rig, add_on_the_first_cu, &p, 2, 1);
		rig_launch(&rig, store_a_half_on_the_second, &p, 2, 1);
		rig_launch(&rig, store_the_word_on_the_first, &p, 2, 1);
		rig_ok(nvw_persist(rig.machine));
		assert_durable(&rig, p.word, first_value);
	}
}

TEST(the_durability_checker_tells_a_store_that_is_sent_in_parts)
{
	static const struct nvw_site site = {.file = "parts.c", .function = "store", .line = 7};
	static const uint64_t sent[] = {0xff00, 0x0f00, 0x00ff};

	NVW_EACH(one, sent, NVW_COUNT(sent)) {
		struct emu_line from = {0}, to = {0};
		struct emu_group group = {0};
		struct emu_wavefront *wf;

		RIG_BEGUN(rig, 0);
		wf = &rig.machine->exec.wavefronts[0];
		wf->group = &group;
		wf->requests.site[0] = &site;
		record_store(rig.machine, wf, 0, &from, 8, 8, 1);
		record_split(rig.machine, &to, &from, *one);
		assert_int_equal(rig.machine->error, *one == 0x0f00 ? NVW_E_MODEL : 0);
		assert_int_equal(to.stores != 0, *one == 0xff00);
		if (rig.machine->error) {
			assert_error_has("parts.c:7 was sent to the NVRAM in parts");
		}
	}
}

/* The L1 has one line, so the load evicts the word's. */
KERNEL(store_add_evict, const struct parts, p)
{
	nvw_store(p->word, first_value);
	add(p->part);
	(void)nvw_load(p->flags);
	nvw_p_barrier_wi();
	nvw_store(p->word, second_value);
	add(p->part);
	nvw_p_barrier_wi();
}

TEST(a_line_that_is_evicted_divides_no_store_beside_an_atomic)
{
	for_each_protocol(protocol) {
		RIG(rig);
		struct parts p = begin_with_an_l1_of_one_line(&rig, protocol->name);

		rig_launch(&rig, store_add_evict, &p, 1, 1);
		assert_durable(&rig, p.word, second_value + 1);
	}
}

/* ---- Two stores ------------------------------------------------------------------------------ */

struct neighbours {
	const struct rig *rig;
	struct parts p;
	uint64_t first, second; /* what is durable of each */
};

/* The word of another CU is stored first, to the same line, and no barrier follows it. */
KERNEL_ON(store_neighbours, struct neighbours, n)
{
	if (nvw_group_id() == 0) {
		nvw_store(&n->p.word[0], first_value);
		tell(&n->p, 0, 1);
		return;
	}
	wait_for(&n->p, 0, 1);
	nvw_store(&n->p.word[1], second_value);
	nvw_p_barrier_wi();
	n->first = rig_durable(n->rig, &n->p.word[0]);
	n->second = rig_durable(n->rig, &n->p.word[1]);
}

/*
 * Where an L1 has its own bytes of a line only. So the models order stores to the same bytes alone
 * (tests/crashtest/test_leaves.c).
 */
TEST(bytes_of_a_unit_that_two_cus_have_stored_persist_apart)
{
	RIG_BEGUN(rig, 1, "protocol=vi", "nvram.atomicity=64B");
	struct neighbours n = {.rig = &rig};

	n.p.word = rig.nvram;
	n.p.flags = nvw_alloc(rig.machine, 2 * 64);
	rig_launch_on(&rig, store_neighbours, &n, 2, 1);
	assert_int_equal(n.second, second_value);
	assert_int_equal(n.first, 0);
}
