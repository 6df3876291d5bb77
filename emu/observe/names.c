/* SPDX-License-Identifier: BSD-3-Clause */
/* See names.h. */
#include <nvw/kernel.h>
#include <stddef.h>

#include "names.h"

const char *const emu_kind_names[] = {
#define X(name, text) text,
	NVW__KINDS(X)
#undef X
		NULL};
const char *const emu_order_names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst", NULL};
const char *const emu_scope_names[] = {
	"work-item", "work-group", "agent", "system", "remote agent", "remote system", NULL};
