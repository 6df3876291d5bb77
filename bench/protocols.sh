#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# protocols.sh BENCH_PROTOCOLS: instructions of the host for a work-item operation under each protocol, over vi's, and with 128 CUs
# over 4. Counted by valgrind: the difference of two runs of different length, so that setting a machine up does not count.
# Without valgrind: processor times, compared within one run. PART=N: 1/N of the work; of more than 1, of vi and one kernel only.
set -eu
program=$1
part=${PART:-1}
command -v valgrind >/dev/null || exec "$program"

out=$(mktemp)
trap 'rm -f "$out"' EXIT

# instructions PROTOCOL KERNEL CUS ROUNDS: sets count, operations and hits
instructions() {
	set -- $(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --log-file="$out" \
		"$program" "$@") || exit 1
	operations=$1 hits=$2
	count=$(sed -n 's/.*I *refs: *//p' "$out" | tr -d ,)
}

# each PROTOCOL KERNEL CUS: sets per, instructions of an operation, and hits
each() {
	short=20
	[ "$2" != scatter ] || short=2
	short=$((short / part + 1))
	instructions "$@" "$short"
	less=$count fewer=$operations
	instructions "$@" $((3 * short))
	per=$(echo "$count $less $operations $fewer" | awk '{ printf "%.1f", ($1 - $2) / ($3 - $4) }')
}

over() {
	echo "$1 $2" | awk '{ printf "%.2f", $1 / $2 }'
}

protocols=$("$program" list | grep -vx vi)
kernels="hit mix scatter"
[ "$part" -eq 1 ] || protocols='' kernels=mix
printf '%-13s %s\n' protocol "instructions an operation, over vi's, L1 hits: $kernels; mix with 128 CUs over 4"
for protocol in vi $protocols; do
	line=$(printf '%-13s' "$protocol")
	for kernel in $kernels; do
		each "$protocol" "$kernel" 4
		[ "$protocol" != vi ] || eval "vi_$kernel=$per"
		eval "of_vi=\$vi_$kernel"
		[ "$kernel" != mix ] || few=$per
		line="$line  $per $(over "$per" "$of_vi") ($hits)"
	done
	each "$protocol" mix 128
	echo "$line  $(over "$per" "$few")"
done
