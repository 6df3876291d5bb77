/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that store what an undo log cannot take back (struct ct_unlogged): one for each pair of lines. */
#include <string.h>

#include <emu.h>

#include "core/invariant.h"
#include "core/print.h"

#include "../crash.h"

static bool is_alike(const struct ct_unlogged *a, const struct ct_unlogged *b)
{
	return a->line == b->line && a->begun_line == b->begun_line && !strcmp(a->file, b->file) &&
	       !strcmp(a->begun_file, b->begun_file);
}

void ct_unlogged_add(struct ct_unlogged_list *list, const struct ct_unlogged *one)
{
	NVW_INVARIANT(list->count <= CT_UNLOGGED_MAX);
	NVW_EACH(each, list->at, list->count) {
		if (is_alike(each, one)) {
			each->times += one->times;
			if (strcmp(each->field.name, one->field.name) != 0) {
				each->field.name[0] = '\0';
			}
			return;
		}
	}
	if (list->count < CT_UNLOGGED_MAX) {
		list->at[list->count++] = *one;
	} else {
		list->more += one->times;
	}
}

static void add_of_run(struct ct_unlogged_list *list, const struct emu_unlogged *x)
{
	struct ct_unlogged u = {.log = CT_LOG_EPOCH,
		.line = x->store->line,
		.begun_line = x->begun->line,
		.bytes = x->bytes,
		.off = x->offset,
		.times = x->count};

	NVW_INVARIANT(x->count > 0);
	NVW_PRINT(u.file, "%s", x->store->file);
	NVW_PRINT(u.function, "%s", x->store->function);
	NVW_PRINT(u.begun_file, "%s", x->begun->file);
	NVW_PRINT(u.begun_function, "%s", x->begun->function);
	ct_unlogged_add(list, &u);
}

void ct_unlogged_of_run(const struct emu_undo_report *report, struct ct_unlogged_list *ret_list)
{
	*ret_list = (struct ct_unlogged_list){0};
	if (!report) {
		return;
	}
	ret_list->more = report->unlisted;
	NVW_EACH(store, report->store, report->count) {
		add_of_run(ret_list, store);
	}
}
