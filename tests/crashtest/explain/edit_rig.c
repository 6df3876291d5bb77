/* SPDX-License-Identifier: BSD-3-Clause */
/* See edit_rig.h. */
#include "edit_rig.h"
#include "../explored.h"
#include "../memory_log.h"

static struct nvw_log_record record_of(const struct history *h, const struct event *e)
{
	struct nvw_log_record r = {.kind = e->kind};
	const uint32_t kernel = h->host ? 0 : 1, group = h->host ? e->number : e->item / GROUP;

	switch (e->kind) {
	case NVW_LOG_STORE:
		r.store.site = e->line;
		r.store.kernel = kernel;
		r.store.work_item = e->item;
		r.store.group = group;
		r.store.epoch_wi = e->wi;
		r.store.epoch_wg = e->wg;
		r.store.bytes = 8;
		r.store.off = place(e->word);
		r.store.value = 100 + e->number;
		break;
	case NVW_LOG_ACK:
		r.ack.first = e->number;
		r.ack.count = 1;
		r.ack.kernel = kernel;
		r.ack.work_item = e->item;
		r.ack.group = group;
		r.ack.epoch_wi = e->wi;
		r.ack.epoch_wg = e->wg;
		break;
	case NVW_LOG_FLUSH:
		r.flush.site = e->line;
		r.flush.thread = e->item;
		r.flush.off = place(e->word) & ~(nvw_off)63;
		r.flush.bytes = 64;
		break;
	case NVW_LOG_FENCE:
		r.fence.site = e->line;
		r.fence.thread = e->item;
		break;
	case NVW_LOG_FINISH:
		r.finish.kernel = 1;
		break;
	default:
		r.barrier.site = e->line;
		r.barrier.kernel = 1;
		r.barrier.scope = e->of_group ? NVW_WORKGROUP : NVW_WORKITEM;
		r.barrier.work_item = e->item;
		r.barrier.group = e->item / GROUP;
		r.barrier.lanes = !e->of_group;
	}
	return r;
}

int write_log(const struct history *h)
{
	struct memory_log log = begin_log("random", POOL_BYTES);

	log_sites(&log, LINE_GROUP, 1, "src/r.c");
	if (!h->host) {
		log_launch(&log, 1, GROUP, ITEMS);
	}
	NVW_EACH(event, h->event, h->events) {
		log_append(&log, record_of(h, event));
	}
	return log_end(&log);
}

void explore(const struct ct_edited *edited, enum ct_model model)
{
	struct ct_exploration e = exploration_of(edited->log_fd, POOL_BYTES, note, model);

	e.rules.limits = edited->limits;
	e.first_record = edited->first_record;
	explored->count = 0;
	const struct ct_result *const result = explored_by(&e);

	assert_int_equal(result->instants, result->instants_exhausted);
}

struct ct_edit edit_of(enum ct_edit_kind kind, unsigned a, unsigned b, enum nvw_group scope)
{
	return (struct ct_edit){.kind = kind,
		.scope = scope,
		.a = {.file = "r.c", .line = a},
		.b = {.file = "r.c", .line = b}};
}
