/* SPDX-License-Identifier: BSD-3-Clause */
/* Executing a store later than its wavefront issued it: with its own requests and epochs. */
#include "../exec/store_buffer.h"

#include "core/each.h"
#include "core/invariant.h"

static void swap_words(uint32_t *a, uint32_t *b)
{
	const uint32_t word = *a;

	*a = *b;
	*b = word;
}

void emu_stored_swap(struct emu_stored *e)
{
	struct emu_wavefront *const wf = e->buffer->wf;

	NVW_EACH_BIT(lane, e->lanes) {
		const struct emu_saved_request request = emu_request_save(wf, lane);

		emu_request_restore(wf, lane, e->lane[lane].request);
		e->lane[lane].request = request;
		swap_words(&wf->epoch_wi[lane], &e->lane[lane].epoch_wi);
		swap_words(&wf->epoch_wg[lane], &e->lane[lane].epoch_wg);
		swap_words(&wf->epoch_kr[lane], &e->lane[lane].epoch_kr);
	}
}

void emu_stored_done(struct nvw_machine *m, struct emu_stored *e, emu_time t)
{
	e->is_of_event = true;
	emu_schedule(m, t, e->buffer->left, e);
}

const struct nvw_site *emu_stored_site(const struct emu_stored *e, unsigned lane)
{
	NVW_DEEP_INVARIANT(e->lanes >> lane & 1);
	return e->lane[lane].request.site;
}
