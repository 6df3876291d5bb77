/* SPDX-License-Identifier: BSD-3-Clause */
/* What a checker is told of operations that are numbered from 0 on and acknowledged in their order. */
#ifndef TESTS_HOST_ACKNOWLEDGED_H
#define TESTS_HOST_ACKNOWLEDGED_H

#include <stdio.h>
#include <stdlib.h>

/* How many of them are acknowledged, of $NVWAVE_ACKNOWLEDGED: "0-16", "0" or nothing. */
static unsigned acknowledged(void)
{
	const char *const text = getenv("NVWAVE_ACKNOWLEDGED");
	unsigned first, last;

	if (text == NULL) {
		return 0;
	}
	switch (sscanf(text, "%u-%u", &first, &last)) {
	case 2:
		return last + 1;
	case 1:
		return first + 1;
	default:
		return 0;
	}
}

/* There are so many transactions: it says how many acknowledged ones are lost. 0: none. */
static inline int lost_transactions(unsigned have)
{
	if (have + 1 < acknowledged()) {
		printf("more than the last acknowledged transaction is lost\n");
		return 1;
	}
	if (have < acknowledged()) {
		printf("the last acknowledged transaction is lost\n");
		return 1;
	}
	return 0;
}

#endif
