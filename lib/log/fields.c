/* SPDX-License-Identifier: BSD-3-Clause */
/* The plain fields of records. See format.h. */
#include <stddef.h>

#include "format.h"

#define FIELD(type, member)                                         \
	{                                                           \
		LOG_##type, offsetof(struct nvw_log_record, member) \
	}

const struct log_field log_fields[LOG_FIELD_LISTS][LOG_FIELDS_MAX] = {
	[NVW_LOG_BEGIN] = {FIELD(SITE_OR_NONE, begin.site), FIELD(U64, begin.thread),
		FIELD(U64, begin.number), FIELD(NAME, begin.name)},
	[NVW_LOG_LAUNCH] = {FIELD(U32, launch.kernel), FIELD(U32, launch.group_size),
		FIELD(U64, launch.work_items), FIELD(NAME, launch.name)},
	[NVW_LOG_FINISH] = {FIELD(U32, finish.kernel)},
	[NVW_LOG_BARRIER] = {FIELD(SITE, barrier.site), FIELD(U32, barrier.kernel), FIELD(U32, barrier.scope),
		FIELD(U64, barrier.work_item), FIELD(U64, barrier.group), FIELD(U32, barrier.work_items),
		FIELD(U32, barrier.epoch), FIELD(U64, barrier.lanes)},
	[NVW_LOG_FLUSH] = {FIELD(SITE, flush.site), FIELD(U64, flush.thread), FIELD(U64, flush.off),
		FIELD(U64, flush.bytes)},
	[NVW_LOG_FENCE] = {FIELD(SITE, fence.site), FIELD(U64, fence.thread)},
	[NVW_LOG_THREADS] = {FIELD(U64, threads.count)},
	[NVW_LOG_RANGE] = {FIELD(U32, range.what), FIELD(U64, range.thread), FIELD(U64, range.off),
		FIELD(U64, range.bytes)},
	[LOG_ACK_BY] = {FIELD(SITE_OR_NONE, ack.site), FIELD(U64, ack.work_item)},
	[LOG_ACK_IN] = {FIELD(U64, ack.group), FIELD(U32, ack.epoch_wi), FIELD(U32, ack.epoch_wg),
		FIELD(U32, ack.epoch_kr)},
};
