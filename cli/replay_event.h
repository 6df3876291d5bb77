/* SPDX-License-Identifier: BSD-3-Clause */
/* An event of a run's persist log, and how a debugger meets it. */
#ifndef CLI_REPLAY_EVENT_H
#define CLI_REPLAY_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

struct replay_event {
	/* The record behind which to stop. For a work-item's event it is the last one that the work-item
	 * caused at an earlier time, or its kernel's launch: the work-item then comes to the line next. */
	uint64_t after;
	bool of_work_item; /* else of the machine or the host: after is the event itself */
	char file[256];
	uint32_t line;
	uint64_t work_item;
};

/* Event number, from 1, of a log. NVW_E_USAGE: it has not so many. */
NVW_CHECKED int replay_find_event(const char *log, uint64_t number, struct replay_event *ret_event);

#endif
