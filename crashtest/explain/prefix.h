/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run again, up to any event of its log, without the stores that a crash has lost: every other store of
 * the prefix is durable. The event that makes such a state fail tells what relies on the lost stores
 * (need.h).
 */
#ifndef CRASHTEST_PREFIX_H
#define CRASHTEST_PREFIX_H

#include <check/check.h>

#include "../states/image.h"
#include "stores.h"

/* A store, a write of the host, or the beginning or the acknowledgement of an operation. */
struct ct_event {
	enum nvw_log_kind kind;
	struct ct_store
		store;  /* of an acknowledgement: off and value are its first operation; who, where, number */
	uint64_t count; /* of an acknowledgement; of a host's write: its place in data */
};

/* The stores from record from on to the unit at off are lost. */
struct ct_loss {
	nvw_off off; /* comes first: nvw_by_u64() orders by it */
	uint64_t from;
};

/* Sorted by off, each once. */
struct ct_losses {
	unsigned unit_bytes; /* 8 or 64 */
	unsigned count;
	struct ct_loss *loss;
};

struct ct_prefix {
	struct ct_image image; /* as events make it; else the bytes before the first event */
	struct nvw_acks acks;
	const struct nvw_acks *granted; /* no others are acknowledged; NULL: all that the events say */
	uint64_t only;                  /* no operation but this one, plus 1, is acknowledged; 0: all are */
	struct ct_event *event;
	uint64_t count, capacity;
	bool cut;      /* the log has more events */
	uint64_t here; /* events up to the record of the crash */
	uint8_t *data; /* of the host's writes */
	uint64_t data_bytes, data_capacity;
	struct nvw_acks before; /* acknowledged before the first event */
};

/*
 * Reads the log up to its record number records, and up to ahead events more. The first records, and of very
 * long logs the oldest events, are part of the bytes before the first event. granted stays the caller's.
 */
NVW_CHECKED int ct_prefix_read(int log_fd, const void *initial, const uint8_t *filled, uint64_t bytes,
	uint64_t first, uint64_t records, uint64_t ahead, const struct nvw_acks *granted,
	struct ct_prefix *ret_prefix);
void ct_prefix_free(struct ct_prefix *prefix);

/* Makes the state after the first stores events, with the acknowledgements among the first acks events.
 * losses may be NULL. Nothing else is made at the time. */
void ct_prefix_make(struct ct_prefix *prefix, uint64_t stores, uint64_t acks, const struct ct_losses *losses);
/* One store, or write of the host, more. */
void ct_prefix_add(struct ct_prefix *prefix, const struct ct_event *event);
/* Takes it all back, with what was written to the image since. */
void ct_prefix_undo(struct ct_prefix *prefix);

/* True if losses have the store. */
bool ct_prefix_loses(const struct ct_losses *losses, const struct ct_event *event);

#endif
