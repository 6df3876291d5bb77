/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a protocol's grid calls impossible: when it happens, the run ends, in every build. The tests bring
 * protocols of their own: the shipped ones with one cell taken out. meson.build builds this file twice, the
 * second time with grid.c compiled as for a release.
 */
#include "common/rig.h"
#include "common/skip.h"

#include <string.h>

#include "protocol/protocol.h"

enum { CELLS_MAX = 256, LINES = 512, WORK_ITEMS = 128, GROUP = 64 };

/* A copy of a protocol whose grids can be changed. */
struct variant {
	struct coh_protocol protocol;
	struct coh_cell l1[CELLS_MAX], l2[CELLS_MAX];
};

static void copy(struct variant *v, const struct coh_protocol *p)
{
	const unsigned l1 = p->l1_state_count * COH_L1_EVENT_COUNT,
		       l2 = p->l2_state_count * COH_L2_EVENT_COUNT;

	assert_true(l1 <= CELLS_MAX && l2 <= CELLS_MAX);
	memcpy(v->l1, p->l1, l1 * sizeof *v->l1);
	memcpy(v->l2, p->l2, l2 * sizeof *v->l2);
	v->protocol = *p;
	v->protocol.l1 = v->l1;
	v->protocol.l2 = v->l2;
}

struct memory {
	uint64_t *dram, *nvram;
};

/* Loads, stores, atomics and barriers of every scope, on more lines than the caches have. */
KERNEL(exercise, const struct memory, p)
{
	const uint64_t me = nvw_global_id();

	NVW_FOR(i, 8) {
		uint64_t *const far = &p->dram[(me * 37 + i * 211) % LINES * 8],
				*const near = &p->nvram[(me * 53 + i * 101) % LINES * 8 + me % 8];
		const enum nvw_scope scope = i % 2 ? NVW_SCOPE_AGENT : NVW_SCOPE_WORKGROUP;

		nvw_store(near, nvw_load(near) + 1);
		(void)nvw_load_read_only(&p->dram[LINES * 8 + i]);
		(void)nvw_load(&p->dram[LINES * 8 + i]);
		nvw_atomic_add(far, 1, NVW_ACQ_REL, scope);
		(void)nvw_atomic_load(far, NVW_ACQUIRE, scope);
		nvw_store(far + 1, i);
		(void)nvw_load(far + 2);
		if (i % 4 == 3) {
			nvw_p_barrier_wg();
		}
	}
	nvw_barrier(NVW_KERNEL);
}

/* The run's result under a protocol. */
static int run_under(const struct coh_protocol *protocol)
{
	struct memory p;
	RIG(rig);

	rig_begin_under_with(&rig, protocol->name, 1,
		SETTINGS("gpu.cus=4", "gpu.wavefronts_per_cu=1", "l1.size=1KiB", "l1.sfifo=8",
			"l1.nvw_fifo=8", "l2.size=8KiB", "l2.banks=2"));
	rig.machine->protocol = protocol;
	NVW_FOR(n, COH_INSTRUCTION_COUNT * COH_ORDERS * COH_SCOPES * COH_PLACES) {
		(&rig.machine->rows[0][0][0][0])[n] =
			coh_row_find(protocol, n / (COH_ORDERS * COH_SCOPES * COH_PLACES),
				n / (COH_SCOPES * COH_PLACES) % COH_ORDERS, n / COH_PLACES % COH_SCOPES,
				n % COH_PLACES);
	}
	p.dram = nvw_alloc(rig.machine, (LINES + 2) * EMU_LINE);
	p.nvram = rig.nvram;
	NVW_TRY(nvw_launch(rig.machine, "exercise", exercise, &p, WORK_ITEMS, GROUP));
	return nvw_persist(rig.machine);
}

TEST(the_message_names_protocol_state_and_event)
{
	struct variant v;

	copy(&v, coh_protocol_find("vi"));
	v.l1[1 * COH_L1_EVENT_COUNT + COH_L1_EVICT].possible = false; /* [V][EVICT] = NEVER */
	assert_int_equal(run_under(&v.protocol), NVW_E_MODEL);
	assert_error_has("protocol vi");
	assert_error_has("event EVICT (replace) in state V of an L1");
	assert_error_has("NEVER");
	copy(&v, coh_protocol_find("vi"));
	v.l2[2 * COH_L2_EVENT_COUNT + COH_L2_FLUSH].possible = false;
	assert_int_equal(run_under(&v.protocol), NVW_E_MODEL);
	assert_error_has("event FLUSH (flush) in state D of the L2");
}

/*
 * Takes out each cell in turn: the run ends with the message, or never needed the cell; nothing hangs or
 * dies. Returns whether so many were needed, or half where there are few.
 */
static bool missed(struct variant *v, struct coh_cell *cells, unsigned count, unsigned least)
{
	unsigned needed = 0, possible = 0;

	NVW_EACH(cell, cells, count) {
		int r;

		if (!cell->possible) {
			continue;
		}
		possible++;
		cell->possible = false;
		r = run_under(&v->protocol);
		if (r) {
			assert_int_equal(r, NVW_E_MODEL);
			assert_error_has("NEVER");
			assert_error_has(v->protocol.name);
			needed++;
		}
		cell->possible = true;
	}
	return needed >= least || needed >= possible / 2;
}

TEST(a_run_that_needs_a_cell_that_is_never_ends_under_every_protocol)
{
	for_each_protocol(p) {
		struct variant v;

		if ((p_at - coh_protocols) % NEXT_PROTOCOL) {
			continue;
		}
		copy(&v, p);
		assert_int_equal(run_under(&v.protocol), 0);
		assert_true(missed(&v, v.l1, v.protocol.l1_state_count * COH_L1_EVENT_COUNT, 5));
		assert_true(missed(&v, v.l2, v.protocol.l2_state_count * COH_L2_EVENT_COUNT, 4));
	}
}
