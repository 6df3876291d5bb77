/* SPDX-License-Identifier: BSD-3-Clause */
/* Data in rows, and the order of critical sections as they observed it (rows.h). */
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>

int sync_history_make(struct sync_history *history, uint64_t sections)
{
	sync_history_free(history);
	NVW_FAIL_IF(sections >= SYNC_UNSEEN, NVW_E_USAGE,
		"--iterations: %" PRIu64 " critical sections are too many to number", sections);
	history->before = malloc((sections + 1) * sizeof(*history->before));
	NVW_ALLOCATED(history->before, "no memory for %" PRIu64 " critical sections", sections);
	history->sections = (uint32_t)sections;
	history->before[0] = 0;
	for (uint64_t i = 1; i <= sections; i++) {
		history->before[i] = SYNC_UNSEEN;
	}
	return 0;
}

void sync_history_free(struct sync_history *history)
{
	free(history->before);
	*history = (struct sync_history){0};
}

/* A work-item found these two sections in neighbouring rows. */
static void note(struct sync_history *history, uint32_t section, uint32_t before)
{
	if (section > history->sections || before > history->sections ||
		(history->before[section] != SYNC_UNSEEN && history->before[section] != before)) {
		history->wrong++;
	} else {
		history->before[section] = before;
	}
}

void sync_move_rows(struct sync_history *history, uint32_t *data, unsigned rows, uint32_t section)
{
	uint32_t *const column = data + sync_row_word(rows, 0, nvw_local_id());
	uint32_t before = 0;

	for (unsigned row = rows; row-- > 0;) {
		uint32_t *const from = column + row * SYNC_LINE_WORDS;
		const uint32_t value = row == 0 ? nvw_load_read_only(from) + section : nvw_load(from);

		nvw_store(from + SYNC_LINE_WORDS, value);
		if (row != rows - 1) {
			note(history, value, before);
		}
		before = value;
	}
}

uint32_t sync_history_length(const struct sync_history *history, uint32_t last)
{
	uint32_t length = 0;

	assert(history->before[0] == 0);
	while (last != 0) {
		if (last > history->sections || length == history->sections) {
			return SYNC_UNSEEN;
		}
		last = history->before[last];
		length++;
	}
	return length;
}
