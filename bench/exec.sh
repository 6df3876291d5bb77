#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nvwave exec: delays asked for and achieved, what a call costs, and how much recording slows programs down. Figures of
# a machine that does other things besides are no worse than they look: delays are medians of single calls, and the
# slow-down of transactions is in CPU time.
#	exec.sh NVWAVE CALLS TRANSACTIONS [STORES STORES-BY-NVWAVE-CC]
set -eu
nvwave=$1
calls=$2
transactions=$3
stores=${4-}
watched=${5-}
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/nvwave-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM

run() {
	"$nvwave" exec --report="$dir/report" "$@"
}

echo "median of single calls, in ns   persist  drain  copy 256  chase 64"
row() {
	# shellcheck disable=SC2046
	printf '%-32s %6s %6s %9s %9s\n' "$1" $2
}
row "without nvwave" "$(PMEM_IS_PMEM_FORCE=1 "$calls" "$dir/pool")"
row "counted, --delays=off" "$(run --delays=off -- "$calls" "$dir/pool")"
for ns in 100 250 500 1000 3000; do
	row "asked for $ns" "$(run --set nvram.write=${ns}ns --set nvram.read=${ns}ns -- "$calls" "$dir/pool")"
done

echo
echo "CPU time of a libpmemobj transaction, in ns"
"$transactions" "$dir/objects" 1 >/dev/null 2>&1 || true
plain=$(PMEM_IS_PMEM_FORCE=1 "$transactions" "$dir/objects" 50000)
recorded=$(run --delays=off --record="$dir/log" -- "$transactions" "$dir/objects" 50000)
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

if ! command -v fio >/dev/null; then
	echo "fio is not installed: its slow-down is not measured"
	exit 0
fi
job="--name=w --ioengine=libpmem --direct=1 --iodepth=1 --rw=randwrite --bs=4k --size=64m --loops=16 --refill_buffers
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
