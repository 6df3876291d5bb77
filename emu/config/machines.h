/* SPDX-License-Identifier: BSD-3-Clause */
/* The shipped machine files (machines/), embedded in the program so that it needs no folder for them. */
#ifndef EMU_MACHINES_H
#define EMU_MACHINES_H

struct emu_text {
	const char *name, *text;
};

extern const struct emu_text emu_shipped_machines[]; /* ends with a NULL name */

#endif
