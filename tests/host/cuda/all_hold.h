// SPDX-License-Identifier: BSD-3-Clause
// Programs that check themselves name what of them does not hold. An argument names the only claim that is
// looked at, or, with - in front, the one that is not.
#include <stdio.h>
#include <string.h>

struct claim {
	const char *name;
	bool (*holds)();
};

template <int N> static int all_hold(const claim (&claims)[N], const char *argument = nullptr)
{
	int failed = 0;

	for (const claim &c : claims) {
		if (argument && (argument[0] == '-' ? !strcmp(argument + 1, c.name) :
						      strcmp(argument, c.name) != 0)) {
			continue;
		}
		if (!c.holds()) {
			printf("%s does not hold\n", c.name);
			failed = 1;
		}
	}
	printf("%s\n", failed ? "failed" : "all hold");
	return failed;
}
