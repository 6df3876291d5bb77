/* SPDX-License-Identifier: BSD-3-Clause */
/* What a work-item takes of the host's memory while it waits. */
#include "words.h"

#include <stdio.h>
#include <unistd.h>

#include "common/skip.h"
#include "machine.h"

#if defined(EMU_ASAN) || defined(NVW__TSAN) || defined(EMU_FIBER_UCONTEXT) || !defined(__x86_64__)
#define STACKS_ARE_SMALL false
#else
#define STACKS_ARE_SMALL true
#endif

enum { RESIDENT_ITEMS = 128 * 16 * 64 };

/* Half way all of them are resident. */
KERNEL(meet_half_way, const struct words, w)
{
	nvw_store(&w->a[nvw_global_id()], 1);
	nvw_barrier(NVW_KERNEL);
	nvw_store(&w->a[nvw_global_id()], 2);
}

static uint64_t resident_bytes(void)
{
	FILE *const f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* So 1,000,000 of them take less than 2 GiB. */
TEST(a_resident_work_item_with_a_small_stack_takes_less_than_two_kib)
{
	if (!STACKS_ARE_SMALL) {
		skip_test("%s: stacks are larger here", __func__);
	}
	const uint64_t before = resident_bytes();

	RIG_BEGUN(rig, 1, "gpu.cus=128", "gpu.wavefronts_per_cu=16", "host.stack=1KiB");
	const struct words w = words_of(&rig, 8 * RESIDENT_ITEMS, 0);

	rig_launch(&rig, meet_half_way, &w, RESIDENT_ITEMS, 64);
	assert_true(resident_bytes() < before + RESIDENT_ITEMS * UINT64_C(2048));
	assert_visible(&rig, &w.a[RESIDENT_ITEMS - 1], 2);
}
