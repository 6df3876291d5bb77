/* SPDX-License-Identifier: BSD-3-Clause */
/* The shipped machine files (machines/), as text in the program: it needs no folder of its own to be found.
 */
#ifndef EMU_MACHINES_H
#define EMU_MACHINES_H

struct emu_text {
	const char *name, *text;
};

extern const struct emu_text emu_shipped_machines[]; /* ends with a NULL name */

#endif
