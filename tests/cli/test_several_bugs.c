/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs with several bugs at once (host/examples/ledger.c): a bug does not hide another, and none is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "command.h"

static const char *ledger;

/* The crash test of six transfers with bugs, "" for none: exit status, and what its output has to have. */
static void crash(const char *bugs, int status, const char *out)
{
	char words[2048];

	snprintf(words, sizeof words, "crash --exec=%s~%%D/pool~6~%s --image=%%D/pool --check=%s", ledger,
		bugs, ledger);
	command_expect(words, status, out, "");
}

static void the_ledger_without_bugs_is_consistent_in_every_state(void **state)
{
	crash("", 0, "100 %");
}

static void each_bug_of_the_ledger_is_found(void **state)
{
	crash("entry-unflushed", 1, "counts and is not whole");
	crash("count-first", 1, "counts and is not whole");
	crash("undo-unfenced", 1, "account");
	crash("applied-early", 1, "account");
	crash("no-undo", 1, "account");
}

static int begin(void **state)
{
	char line[2048];

	ledger = getenv("HOST_LEDGER");
	if (ledger == NULL || !command_begin()) {
		fputs("HOST_LEDGER or NVWAVE names no program\n", stderr);
		return -1;
	}
	snprintf(line, sizeof line, "%s %s/pool 2", ledger, command_dir());
	return system(line);
}

static int end(void **state)
{
	command_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ledger_without_bugs_is_consistent_in_every_state),
		cmocka_unit_test(each_bug_of_the_ledger_is_found),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
