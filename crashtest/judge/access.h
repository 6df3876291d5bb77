/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that an instruction of x86-64 accesses through its address, where it has one such operand. What
 * is not known for certain is odd: strings, gathers, stores with masks, bits beyond their operand, saved
 * registers.
 */
#ifndef CRASHTEST_ACCESS_H
#define CRASHTEST_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

struct ct_access {
	bool odd;    /* nothing else is known */
	bool writes; /* it stores all of these bytes, and reads none of them */
	uint64_t at;
	unsigned bytes; /* 0: a flush, which reads nothing */
	/* It uses the register base for its address alone, so that a copy with another value there does the
	 * same elsewhere. */
	bool movable;
	bool loads_base; /* that register gets a value that is loaded, all of it */
	uint8_t base, length;
};

/* The index in a context of the register with this number. */
int ct_register_of(unsigned number);

struct ct_access ct_access_of(const ucontext_t *context);

#endif
