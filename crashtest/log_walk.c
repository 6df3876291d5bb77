/* SPDX-License-Identifier: BSD-3-Clause */
/* See log_walk.h. */
#include <sys/param.h>
#include <unistd.h>

#include "core/invariant.h"

#include "log_walk.h"

int ct_log_walk(int log_fd, ct_log_visit *visit, void *context)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t number = 1;
	int end;

	NVW_INVARIANT(log_fd >= 0);
	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &reader));
	while ((end = nvw_log_next(reader, &r)) == 1 && (end = visit(context, &r, number)) == 0) {
		number++;
	}
	nvw_log_reader_close(reader);
	return MIN(end, 0);
}

bool ct_record_by(const struct nvw_log_record *r, struct ct_by *ret)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		*ret = (struct ct_by){r->store.kernel, r->store.site, r->store.work_item, r->store.group};
		return true;
	case NVW_LOG_ACK:
		*ret = (struct ct_by){r->ack.kernel, r->ack.site, r->ack.work_item, r->ack.group};
		return true;
	case NVW_LOG_BARRIER:
	case NVW_LOG_PERSISTED:
		*ret = (struct ct_by){
			r->barrier.kernel, r->barrier.site, r->barrier.work_item, r->barrier.group};
		return true;
	case NVW_LOG_BEGIN:
		*ret = (struct ct_by){.site = r->begin.site, .work_item = r->begin.thread};
		return true;
	case NVW_LOG_FLUSH:
		*ret = (struct ct_by){.site = r->flush.site, .work_item = r->flush.thread};
		return true;
	case NVW_LOG_FENCE:
		*ret = (struct ct_by){.site = r->fence.site, .work_item = r->fence.thread};
		return true;
	default:
		return false;
	}
}
