#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nvwave exec: delays asked for and achieved, what a call costs, and how much recording slows programs down. Figures of
# a machine that does other things besides are no worse than they look: delays are medians of single calls, and the
# slow-down of transactions is in CPU time.
#	exec.sh NVWAVE CALLS TRANSACTIONS [STORES STORES-BY-NVWAVE-CC INSERTS INSERTS-BY-NVWAVE-CC THREADS THREADS-BY-NVWAVE-CC]
# PART=N does 1/N of the work: every run once, one latency.
set -eu
nvwave=$1
calls=$2
transactions=$3
stores=${4-}
watched=${5-}
inserts=${6-}
inserts_watched=${7-}
threads=${8-}
threads_watched=${9-}
part=${PART:-1}
asked="100 250 500 1000 3000"
three="1 2 3"
five="1 2 3 4 5"
if [ "$part" -gt 1 ]; then
	asked=1000
	three=1
	five=1
fi
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/nvwave-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM

run() {
	"$nvwave" exec --report="$dir/report" "$@"
}

# What was asked for, then figures: up to four with the difference in %, unless nothing was asked for.
row() {
	echo "$@" | awk '{ printf "%-16s", $1
		for (i = 2; i <= NF; i++)
			printf " %15s", ($1 + 0 && i < 6 ? sprintf("%d (%+.0f %%)", $i, 100 * ($i - $1) / $1) : $i)
		print "" }'
}
# The median of three runs, column by column.
medians() {
	for _ in $three; do
		"$@" "$calls" "$dir/pool"
	done | awk '{ for (i = 1; i <= NF; i++) v[i, NR] = $i }
		END { for (i = 1; i <= NF; i++) {
			if (NR < 3) { print v[i, 1]; continue }
			low = v[i, 1] < v[i, 2] ? v[i, 1] : v[i, 2]; high = v[i, 1] + v[i, 2] - low
			print (v[i, 3] < low ? low : v[i, 3] > high ? high : v[i, 3]) } }'
}
latency() {
	ns=$1
	shift
	run --set nvram.write="${ns}ns" --set nvram.read="${ns}ns" -- "$@"
}

echo "median of single calls, in ns"
printf '%-16s %15s %15s %15s %15s %15s\n' "asked for" persist "copy 256" "chase in cache" "chase beyond" "empty drain"
# shellcheck disable=SC2046
{
	row without-nvwave $(medians env PMEM_IS_PMEM_FORCE=1)
	row --delays=off $(medians run --delays=off --)
	for ns in 0 $asked; do
		row $ns $(medians latency $ns)
	done
}

# The least of five: the mean of many calls has all that the machine does besides.
mean() {
	for _ in $five; do
		"$@" "$calls" "$dir/pool" loop $((5000000 / part))
	done | sort -n | head -n 1
}
echo
echo "mean of many persists, in ns"
echo "without nvwave, no flush $(mean env PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1), --delays=off $(mean run --delays=off --), \
latencies of 0 $(mean latency 0)"

echo
echo "CPU time of a libpmemobj transaction, in ns"
"$transactions" "$dir/objects" 1 >/dev/null 2>&1 || true
plain=$(PMEM_IS_PMEM_FORCE=1 "$transactions" "$dir/objects" $((50000 / part)))
recorded=$(run --delays=off --record="$dir/log" -- "$transactions" "$dir/objects" $((50000 / part)))
echo "without nvwave $plain, recorded $recorded: $(awk "BEGIN { printf \"%.1f\", $recorded / $plain }") times"

if [ -n "$watched" ]; then
	echo
	echo "CPU time of a step of sorting, and of appending 8 words with clflush and mfence, in ns"
	echo "compiled as ever            $("$stores" "$dir/stores")"
	echo "by nvwave-cc                $("$watched" "$dir/stores")"
	echo "in nvwave exec              $(run --delays=off -- "$watched" "$dir/stores")"
	echo "in nvwave exec, recorded    $(run --delays=off --record="$dir/log" -- "$watched" "$dir/stores")"
	rm -f "$dir/log" "$dir/log.image" "$dir/stores"
fi

# The least of three, each with a new file.
inserted() {
	for _ in $three; do
		rm -f "$dir/inserts"
		"$@" "$dir/inserts"
	done | sort -n | head -n 1
}
if [ -n "$inserts_watched" ]; then
	echo
	echo "CPU time of an insertion into sorted leaves, in ns"
	plain=$(inserted "$inserts")
	over() { awk "BEGIN { printf \"%d, %.1f times\", $1, $1 / $plain }"; }
	echo "compiled as ever                                 $plain"
	echo "by nvwave-cc                                     $(over "$(inserted "$inserts_watched")")"
	echo "in nvwave exec                                   $(over "$(inserted run --delays=off -- "$inserts_watched")")"
	echo "recorded                                         $(over "$(inserted run --delays=off --record="$dir/log" -- "$inserts_watched")")"
	echo "recorded, pages compared at every fence          $(over "$(inserted run --delays=off --compare=fences --record="$dir/log" -- "$inserts_watched")")"
	rm -f "$dir/log" "$dir/log.image" "$dir/inserts"
fi

# CPU time of a command and what it has started, in ms: the least of three.
cpu() {
	for _ in $three; do
		("$@" >"$dir/out" 2>&1 && times) | awk 'NR == 2 { sub("s", "", $1); sub("s", "", $2); split($1, u, "m"); split($2, s, "m")
			print 1000 * (60 * (u[1] + s[1]) + u[2] + s[2]) }'
	done | sort -n | head -n 1
}
if [ -n "$threads_watched" ]; then
	echo
	echo "CPU time of four threads under a schedule, with the log that it leaves, in ms"
	for loop in "stores 4000000" "persists 400000" "inserts 200000"; do
		name=${loop% *}
		count=$((${loop#* } / part))
		plain=$(cpu "$threads" "$dir/threads" "$name" "$count")
		begun=$(cpu run --schedules=1 -- "$threads_watched" "$dir/threads" "$name" 1)
		turns=$(cpu run --schedules=1 -- "$threads_watched" "$dir/threads" "$name" $((count / 10)))
		# A tenth of the work; schedule 1 is run twice.
		echo "$name $plain $begun $turns" | awk '{ t = ($4 - $3) * 10 / 2; printf "%-10s plain %6d, a schedule %6d: %.1f times\n", $1, $2, t, ($2 > 0 ? t / $2 : 0) }'
	done
	rm -f "$dir/threads"
fi

if ! command -v fio >/dev/null; then
	echo "fio is not installed: nothing is measured by it"
	exit 0
fi
# Completion latency of 64 bytes as fio has it: of five runs the one that was disturbed least.
clat() {
	rw=$1
	shift
	for _ in $five; do
		"$@" fio --name=l --rw="$rw" --bs=64 --size=32k --loops=$((384 / part + 1)) --norandommap=1 --iodepth=1 --direct=1 --sync=1 \
			--percentile_list=50 --filename="$dir/small" --output-format=json --output="$dir/json" $engine
		awk '/"50.000000"/ { print $3 + 0 }' "$dir/json"
	done | sort -n | head -n 1
}
echo
echo "fio, completion latency of 64 bytes at p50, in ns; own: with the engine that does nothing"
engine=--ioengine=null
own="$(clat randwrite env) $(clat randread env)"
engine=--ioengine=libpmem
less() {
	echo "$own $1 $2" | awk '{ print $3, $4, $3 - $1, $4 - $2 }'
}
printf '%-16s %15s %15s %15s %15s\n' "asked for" write read "write less own" "read less own"
# shellcheck disable=SC2046,SC2086
{
	row own $own
	row --delays=off $(less $(clat randwrite run --delays=off --) $(clat randread run --delays=off --))
	for ns in $asked; do
		row $ns $(less $(clat randwrite latency $ns) $(clat randread latency $ns))
	done
}

job="--name=w --ioengine=libpmem --direct=1 --iodepth=1 --rw=randwrite --bs=4k --size=$((part > 1 ? 1 : 64))m --loops=$((part > 1 ? 1 : 16)) --refill_buffers
	--filename=$dir/fio --output-format=terse --terse-version=3"
echo
echo "fio, libpmem engine, 4 KiB random writes, KiB/s"
rate() {
	awk -F';' '/^3;/ { print $48 }'
}
# shellcheck disable=SC2086
plain=$(PMEM_IS_PMEM_FORCE=1 fio $job | rate)
# shellcheck disable=SC2086
recorded=$(run --delays=off --record="$dir/log" -- fio $job | rate)
echo "without nvwave $plain, recorded $recorded: $(awk "BEGIN { printf \"%.1f\", $plain / $recorded }") times slower"
