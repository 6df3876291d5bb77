#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# gope18, figures 5 and 6 and table 3, on the machine "gope18": run time over the DRAM-only baseline, in percent.
# As many keys are inserted, in one kernel, as the tree holds before. gope18.sh NVWAVE [KEYS...]
set -eu
nvwave=$1
shift
[ $# -gt 0 ] || set -- 4000 40000 200000

# time_of KEYS OPTIONS...: simulated time in ps
time_of() {
	keys=$1
	shift
	"$nvwave" run btree --preload="$keys" --count="$keys" --batch="$keys" "$@" | awk '$1 == "sim_time" { print $2 }'
}

over() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.1f", 100 * (a / b - 1) }'
}

dram="--set=nvram.read=25ns --set=nvram.write=25ns"
printf '%-10s %9s | %10s %10s | %10s %10s | %10s %10s %10s\n' keys 'tree MB' 'Alg 2 wg' 'Alg 1 kr' '+undo wg' '+undo kr' \
	'wg, DRAM' 'wg, 500ns' 'wg, 1us'
for keys; do
	base=$(time_of "$keys" --scope=workgroup --persist=off)
	bytes=$("$nvwave" run btree --preload="$keys" --count="$keys" --batch="$keys" | awk '$1 == "btree.bytes" { printf "%.2f", $2 / 1e6 }')
	# shellcheck disable=SC2086
	printf '%-10s %9s | %10s %10s | %10s %10s | %10s %10s %10s\n' "$keys" "$bytes" \
		"$(over "$(time_of "$keys" --scope=workgroup --undo=off)" "$base")" \
		"$(over "$(time_of "$keys" --scope=kernel --undo=off)" "$base")" \
		"$(over "$(time_of "$keys" --scope=workgroup)" "$base")" \
		"$(over "$(time_of "$keys" --scope=kernel)" "$base")" \
		"$(over "$(time_of "$keys" --scope=workgroup --undo=off $dram)" "$base")" \
		"$(over "$(time_of "$keys" --scope=workgroup --undo=off --set=nvram.write=500ns)" "$base")" \
		"$(over "$(time_of "$keys" --scope=workgroup --undo=off --set=nvram.write=1us)" "$base")"
done
printf '%-10s %9s | %10s %10s | %10s %10s | %10s %10s %10s\n' gope18 '' '8..10' 'about 25' '' '' 'under 3-4' 'up to 20' 'above 20'
