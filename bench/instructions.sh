#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# instructions.sh NVWAVE BENCH_SPEED: instructions per operation of this build, by valgrind's cachegrind. Each figure is the difference of two
# runs of different length, so that the start of the program is not in it. Counts are the same on a busy machine.
#
# Of coalesced hits and of scattered accesses an operation is an access of a work-item. An operation of kv and btree is an insertion with all
# memory accesses that it makes.
set -eu
nvwave=$1
speed=$2
part=${PART:-1}

if ! command -v valgrind >/dev/null; then
	echo "# skipped: instructions: valgrind is not installed"
	exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# count COMMAND...: the instructions of a run. A process that was forked goes on from the count of its parent: the largest count is the run's.
count() {
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$@" >"$folder/out" 2>"$folder/err" ||
		{ cat "$folder/out" "$folder/err" >&2; exit 1; }
	sed -n 's/.*I *refs: *//p' "$folder/err" | tr -d , | sort -n | tail -n 1
}

# row NAME OPERATIONS_OF_A_STEP SHORT LONG COMMAND... LAST: the command with SHORT and with LONG steps, whose number follows LAST
row() {
	name=$1 operations=$2 short=$3 long=$4
	shift 4
	first=$(count "$@$short")
	second=$(count "$@$long")
	echo "$name $(((second - first) / (operations * (long - short))))" | awk '{printf "%-22s %12d\n", $1, $2}'
}

few=$((20 / part > 1 ? 20 / part : 1))
ops=$((2000 / part > 20 ? 2000 / part : 20))
printf '%-22s %12s\n' "" "instructions"
row coalesced-hits 10240 "$few" $((3 * few)) "$speed" hits=
row scattered 10240 "$few" $((3 * few)) "$speed" scattered=
row kv 1 "$ops" $((3 * ops)) "$nvwave" run kv --count=
row btree 1 "$ops" $((3 * ops)) "$nvwave" run btree --count=
