/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels in epochs, for tests of persistency models. */
#ifndef TESTS_EMU_EPOCHS_H
#define TESTS_EMU_EPOCHS_H

#include "common/rig.h"

struct words {
	uint64_t *a;
	enum nvw_group group;
	unsigned rounds;
};

/* Round r stores r to the work-item's two lines, a barrier between them. */
void ladder(const void *args);

/* Each round adds one to the work-item's line. */
void update_in_epochs(const void *args);

#endif
