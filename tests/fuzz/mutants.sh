#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mutants.sh NVWAVE RUNS FOLDER PLANTED TARGET...: every reader of files with mutants of its seeds, in this build's
# sanitizers and without libFuzzer (mutate.c). FOLDER has the programs. The target PLANTED, if that is not empty, has a
# mistake, which must be seen.
set -u
nvwave=$1
runs=$2
programs=$3
planted=$4
shift 4
seeds=$(dirname "$0")/seeds
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
"$(dirname "$0")/pools.sh" "$nvwave" "$work" || exit 1
echo "1..$(($# + 1))"
if [ -z "$planted" ]; then
	echo "ok 1 - a_mistake_of_a_reader_is_seen # SKIP no address sanitizer"
elif ! "$programs/mutate_$planted" "$runs" "$seeds/$planted" "$work/input" >"$work/log" 2>&1 && [ -s "$work/input" ] && grep -q heap-buffer-overflow "$work/log"; then
	echo "ok 1 - a_mistake_of_a_reader_is_seen"
else
	echo "not ok 1 - a_mistake_of_a_reader_is_seen"
fi
number=1
for target in "$@"; do
	number=$((number + 1))
	if FUZZ_POOLS=$work "$programs/mutate_$target" "$runs" "$seeds/$target" "$programs/crash-$target" >"$work/log" 2>&1; then
		echo "ok $number - ${target}_reads_every_mutant_without_a_fault"
	else
		echo "not ok $number - ${target}_reads_every_mutant_without_a_fault"
		tail -n 40 "$work/log" | sed 's/^/# /'
	fi
done
