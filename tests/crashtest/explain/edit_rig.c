/* SPDX-License-Identifier: BSD-3-Clause */
/* See edit_rig.h. */
#include "edit_rig.h"
#include "../memory_log.h"

#include <string.h>
#include <unistd.h>

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
	struct nvw_log_writer *w;
	struct nvw_log_record r;
	const int fd = begin_log("random", POOL_BYTES, &w);

	for (unsigned line = 1; line <= LINE_GROUP; line++) {
		r = site_record(line, line, "src/r.c");
		assert_ok(nvw_log_append(w, &r));
	}
	r = launch_record(1, GROUP, ITEMS, "random");
	if (!h->host) {
		assert_ok(nvw_log_append(w, &r));
	}
	NVW_FOR(i, h->events) {
		r = record_of(h, &h->event[i]);
		r.time_ps = 1000 * (i + 1);
		assert_ok(nvw_log_append(w, &r));
	}
	assert_ok(nvw_log_close(w, 1000 * (h->events + 1)));
	return fd;
}

void explore(const struct ct_edited *edited, enum ct_model model)
{
	static const uint8_t initial[POOL_BYTES];
	static struct ct_result result;
	const struct ct_exploration e = {
		.rules = {.model = model, .unit_bytes = 8, .limits = edited->limits},
		.log_fd = edited->log_fd,
		.first_record = edited->first_record,
		.initial = initial,
		.bytes = POOL_BYTES,
		.judge = note,
		.options = {.states = 1 << 20, .seed = 1, .jobs = 1, .timeout_ms = 10000},
	};

	explored->count = 0;
	assert_ok(ct_explore(&e, NULL, &result));
	assert_int_equal(result.instants, result.instants_exhausted);
	ct_result_free(&result);
}

struct ct_edit edit_of(enum ct_edit_kind kind, unsigned a, unsigned b, enum nvw_group scope)
{
	return (struct ct_edit){.kind = kind,
		.scope = scope,
		.a = {.file = "r.c", .line = a},
		.b = {.file = "r.c", .line = b}};
}
