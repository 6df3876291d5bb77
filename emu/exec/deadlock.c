/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a deadlock, when no event is left but work-items are: where they wait, and for what. */
#include <stdio.h>

#include "core/each.h"
#include "core/invariant.h"

#include "../memory/device_memory.h"
#include "../machine.h"
#include "../protocol/protocol.h"
#include "store_buffer.h"

enum { REPORT_PLACES = 8, REPORT_REQUESTS = 3 };

struct place {
	const struct nvw_site *site;
	uint64_t group, work_items;
};

/* Adds the waiting work-items of a work-group, by source line, to places; returns the number of places. */
static unsigned collect(
	const struct nvw_machine *m, const struct emu_group *group, struct place *places, unsigned count)
{
	const struct emu_wavefront *const contexts =
		group->saved ? (const struct emu_wavefront *)(const void *)group->saved :
			       group->slot->wavefronts;
	NVW_INVARIANT(count <= REPORT_PLACES);

	NVW_EACH(context, contexts, m->exec.group_wavefronts) {
		NVW_EACH_BIT(lane, context->parked) {
			const struct nvw_site *const site = context->requests.site[lane];
			unsigned k = 0;

			while (k < count && (places[k].site != site || places[k].group != group->id)) {
				k++;
			}
			if (k == count && count < REPORT_PLACES) {
				places[count++] = (struct place){.site = site, .group = group->id};
			}
			if (k < count) {
				places[k].work_items++;
			}
		}
	}
	return count;
}

static const char *action_of(const struct coh_request *r)
{
	if (r->steps) {
		return r->steps[r->step]->name;
	}
	return "the instruction";
}

static void describe(const struct coh_wait *w, char *text, size_t room)
{
	const struct coh_request *const r = &w->request;
	const unsigned lane = emu_first(r->lanes);
	const struct nvw_site *const site =
		r->stored ? emu_stored_site(r->stored, lane) : r->wf->requests.site[lane];

	snprintf(text, room,
		"%d work-items of work-group %llu, the first is %llu, wait at %s:%u (%s): \"%s\" of line %#x "
		"(%s offset %#llx) was put off at %llu ps, to be woken by %s",
		__builtin_popcountll(r->lanes), (unsigned long long)r->wf->group->id,
		(unsigned long long)(r->wf->first_global + lane), site->file, site->line, site->function,
		action_of(r), r->line, emu_device_of(r->m, r->line)->name,
		(unsigned long long)emu_line_off(r->m, r->line), (unsigned long long)w->since,
		emu_cause_waker(w->cause));
}

/* Delayed requests that were never woken. Returns text. */
static const char *report_requests(const struct nvw_machine *m, char *text, size_t room)
{
	size_t n = 0;
	unsigned count = 0;

	text[0] = 0;
	for (const struct coh_wait *w = m->waits; w && n + 1 < room; w = w->older) {
		if (count++ < REPORT_REQUESTS) {
			n += (size_t)snprintf(text + n, room - n, "\n  ");
			describe(w, text + n, room - n);
			n += strlen(text + n);
		}
	}
	if (count > REPORT_REQUESTS && n < room) {
		snprintf(text + n, room - n, "\n  and %u requests more", count - REPORT_REQUESTS);
	}
	return text;
}

int emu_deadlock(struct nvw_machine *m)
{
	struct place places[REPORT_PLACES];
	unsigned count = 0;
	uint64_t live = 0, returned = 0;
	char text[1024], requests[1024];
	int n = 0;
	NVW_INVARIANT(m->exec.groups_done < m->exec.groups);

	for (const struct emu_group *g = m->exec.live_groups; g; g = g->next_all) {
		live++;
		returned += g->returned;
		count = collect(m, g, places, count);
	}
	text[0] = 0;
	for (unsigned i = 0; i < count && n >= 0 && (size_t)n < sizeof text; i++) {
		n += snprintf(text + n, sizeof text - (size_t)n,
			"%s\n  %llu work-items of work-group %llu wait at %s:%u (%s)", i ? "," : "",
			(unsigned long long)places[i].work_items, (unsigned long long)places[i].group,
			places[i].site->file, places[i].site->line, places[i].site->function);
	}
	return m->error = nvw_fail(NVW_E_DEADLOCK,
		       "kernel %s is deadlocked in %llu of its %llu work-groups; %llu of their work-items "
		       "have "
		       "returned:%s%s%s",
		       m->exec.name, (unsigned long long)live, (unsigned long long)m->exec.groups,
		       (unsigned long long)returned, report_requests(m, requests, sizeof requests), text,
		       count == REPORT_PLACES ? "\n  and perhaps more" : "");
}
