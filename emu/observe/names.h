/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what operations ask for: lists by number, NULL ends each. */
#ifndef EMU_NAMES_H
#define EMU_NAMES_H

extern const char *const emu_kind_names[];  /* enum nvw__kind */
extern const char *const emu_order_names[]; /* enum nvw_order */
extern const char
	*const emu_scope_names[]; /* enum nvw_scope; behind them agent and system as remote scopes */

#endif
