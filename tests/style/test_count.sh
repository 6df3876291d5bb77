#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_count.sh ROOT: scripts/count_tests.sh counts every subtest once, as what it was.
set -eu
root=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0

# counts EXPECTED NAME: the log on standard input has so many passed, failed and skipped
counts() {
	cat >"$log"
	n=$((n + 1))
	found=$("$root/scripts/count_tests.sh" "$log")
	[ "$found" = "$1" ] && echo "ok $n - $2" || echo "not ok $n - $2 (expected $1, found $found)"
}

echo 1..6
counts "2 0 0" passed_tests_count_as_passed <<'LOG'
1..2
ok 1 - one
ok 2 - two
LOG
counts "1 1 0" failed_tests_count_as_failed <<'LOG'
1..2
not ok 1 - one
# tests/a.c:1: error: Failure!
ok 2 - two
LOG
counts "1 0 1" a_test_that_lacks_its_input_is_skipped_and_not_passed <<'LOG'
1..2
# skipped: no traces here
ok 1 - traces
ok 2 - two
LOG
counts "1 0 2" tests_with_the_skip_directive_are_skipped_once <<'LOG'
1..3
ok 1 - one # SKIP
# skipped: no fio
ok 2 - two # SKIP no fio
ok 3 - three
LOG
counts "0 1 0" a_test_that_fails_after_it_wanted_to_be_skipped_has_failed <<'LOG'
1..1
# skipped: no fio
not ok 1 - one
LOG
counts "0 0 1" a_whole_test_that_is_skipped_counts_once <<'LOG'
1..0 # SKIP no python
LOG
