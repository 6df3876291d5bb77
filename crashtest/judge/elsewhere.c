/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of instructions. See elsewhere.h. Only one is in use at a time: the process has one thread. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "elsewhere.h"

enum { AREA = 4096, SLOT = 64 };

static uint8_t *area; /* NULL: none */
static size_t at;     /* the next slot: the processor does not like code that has just run to change */

void ct_elsewhere_begin(void)
{
	void *const map =
		mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area = map == MAP_FAILED ? NULL : map;
}

/* lea: it leaves the flags as they are. */
static uint8_t *put_back(uint8_t *to, unsigned base, int32_t distance)
{
	const uint8_t number = base & 7;

	*to++ = base & 8 ? 0x4D : 0x48;
	*to++ = 0x8D;
	*to++ = (uint8_t)(0x80 | number << 3 | number);
	if (number == 4) {
		*to++ = 0x24;
	}
	memcpy(to, &distance, sizeof distance);
	return to + sizeof distance;
}

/* To an address behind the instruction. */
static void jump(uint8_t *to, uint64_t target)
{
	static const uint8_t code[] = {0xFF, 0x25, 0, 0, 0, 0};

	memcpy(to, code, sizeof code);
	memcpy(to + sizeof code, &target, sizeof target);
}

bool ct_elsewhere(ucontext_t *c, const struct ct_access *a, int64_t distance)
{
	greg_t *const r = c->uc_mcontext.gregs;
	const int32_t back = (int32_t)-distance;

	if (!area || !a->movable || -distance != back) {
		return false;
	}
	uint8_t *const slot = area + at, *next = slot + a->length;

	at = (at + SLOT) % AREA;
	memcpy(slot, (const void *)(uintptr_t)r[REG_RIP], a->length);
	if (!a->loads_base) {
		next = put_back(next, a->base, back);
	}
	jump(next, (uint64_t)r[REG_RIP] + a->length);
	r[ct_register_of(a->base)] += (greg_t)distance;
	r[REG_RIP] = (greg_t)(uintptr_t)slot;
	return true;
}
