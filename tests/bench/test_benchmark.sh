#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_benchmark.sh NAME PROGRAM [ARGS]: a benchmark at its smallest size runs to its end without a complaint and prints
# numbers. What they are is not judged, except the runs of a checker that fake_pmreorder.sh makes.
set -eu
name=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PART=1000
export PMREORDER="$here/fake_pmreorder.sh"
export ENGINES="ReorderFull ReorderPartial"
n=0

# ok STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

status=0
"$@" >"$folder/out" 2>"$folder/err" || status=$?
[ "$name" = pmreorder ] && echo 1..4 || echo 1..3
[ "$status" -eq 0 ] || echo "# exit status $status"
ok "$status" the_benchmark_ends_with_status_0
sed 's/^/# /' "$folder/err"
[ ! -s "$folder/err" ] && status=0 || status=1
ok "$status" the_benchmark_complains_of_nothing
# skipped: a tool that is not there is the machine's affair; the reason is printed
if grep '^# skipped' "$folder/out"; then
	ok 0 the_benchmark_says_why_it_was_skipped
	exit 0
fi
grep -q '[0-9]' "$folder/out" && ! grep -qwE -e '-?(nan|inf)%?' "$folder/out" && status=0 || status=1
[ "$status" -eq 0 ] || sed 's/^/# /' "$folder/out"
ok "$status" the_benchmark_prints_numbers
if [ "$name" = pmreorder ]; then
	grep -q 'log, ReorderFull  *7 ' "$folder/out" && grep -q 'log, ReorderPartial  *3 ' "$folder/out" && status=0 || status=1
	[ "$status" -eq 0 ] || sed 's/^/# /' "$folder/out"
	ok "$status" the_checks_of_an_engine_are_counted
fi
