/* SPDX-License-Identifier: BSD-3-Clause */
/* A store to shared memory that was announced: once it has been executed, its value goes to the group's place. */
#include <string.h>

#include "runtime.h"

static struct {
	char *address, *place; /* place NULL: none */
	size_t n;
} pending;

void nvw_cuda_announce(void *address, void *place, size_t n)
{
	pending.address = address;
	pending.place = place;
	pending.n = n;
}

void nvw_cuda_settle(void)
{
	if (pending.place) {
		memcpy(pending.place, pending.address, pending.n);
		pending.place = NULL;
	}
}
