#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# count_tests.sh TESTLOG: prints "PASSED FAILED SKIPPED" for the subtests in a TAP log (meson-logs/testlog.txt).
# A subtest counts once. It is skipped if its line says "# SKIP", or if it printed a "# skipped:" line before it
# (tests/common/skip.h). A whole test that is skipped ("1..0 # SKIP") counts as one.
set -eu
awk '
	/^# skipped:/ { lacks_input = 1 }
	/^ok / {
		if (lacks_input || $0 ~ /# *[Ss][Kk][Ii][Pp]/)
			skipped++
		else
			passed++
		lacks_input = 0
	}
	/^not ok / { failed++; lacks_input = 0 }
	/^1\.\.0( |$)/ { skipped++ }
	END { print passed + 0, failed + 0, skipped + 0 }' "$1"
