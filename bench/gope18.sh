#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# gope18, figures 5 to 7 and table 3, on the machine "gope18", with nodes of 4 keys and of 14. As many keys are inserted,
# in one kernel, as the tree holds before. gope18.sh NVWAVE [KEYS...]: the sizes for nodes of 4 keys; nodes of 14 keys take 2.5
# times as many keys, for trees of about equal bytes. SEEDS and RESULTS: bench/common.sh.
set -eu
nvwave=$1
shift
[ $# -gt 0 ] || set -- 1600 16000 80000
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

# insert ID ORDER KEYS OPTIONS...; without undo logging, if the ID does not end in -undo
insert() {
	id=$1 order=$2 keys=$3
	shift 3
	case $id in *-undo) ;; *) set -- --undo=off "$@" ;; esac
	measure "$id" "$seeds" btree --order="$order" --preload="$keys" --count="$keys" --batch="$keys" "$@"
}

for size; do
	for order in 4 14; do
		keys=$size
		[ "$order" = 4 ] || keys=$((size * 5 / 2))
		at=$order/$size
		insert "$at/base" "$order" "$keys" --scope=workgroup --persist=off
		insert "$at/wg" "$order" "$keys" --scope=workgroup
		insert "$at/kr" "$order" "$keys" --scope=kernel
		insert "$at/wg-undo" "$order" "$keys" --scope=workgroup
		insert "$at/kr-undo" "$order" "$keys" --scope=kernel
		insert "$at/dram" "$order" "$keys" --scope=workgroup --set=nvram.read=25ns --set=nvram.write=25ns
		insert "$at/500ns" "$order" "$keys" --scope=workgroup --set=nvram.write=500ns
		insert "$at/1us" "$order" "$keys" --scope=workgroup --set=nvram.write=1us
		insert "$at/buffered" "$order" "$keys" --scope=workgroup --set=persist.model=buffered-epoch
		insert "$at/strict" "$order" "$keys" --scope=workgroup --set=persist.model=strict
	done
	for fifos in 32/128 64/256 128/512 256/1024; do
		insert "4/$size/fifos-$fifos" 4 "$size" --scope=workgroup --set=l1.nvw_fifo="${fifos%/*}" --set=l2.nvw_fifo="${fifos#*/}"
	done
done

awk -v sizes="$*" "$spread"'
	function key(order, size, name) {
		return order "/" size "/" name
	}
	# Percent over a base of the same seed.
	function over(id, base,   i, s, cell) {
		cell = id " over " base " " ++columns
		for (i = 1; i <= runs[id]; i++) {
			s = seed[id, i]
			add(cell, 100 * (v[id, s, "sim_time_ns"] / v[base, s, "sim_time_ns"] - 1))
		}
		return spread(cell, "%+.1f")
	}
	function row(order, size, names,   n, name, i) {
		n = split(names, name)
		for (i = 1; i <= n; i++)
			printf " | %22s", over(key(order, size, name[i]), key(order, size, "base"))
		print ""
	}
	function heads(text, names, paper,   n, name, value, i) {
		n = split(names, name)
		split(paper, value)
		printf "\n%s\n%-14s", text, "tree MB"
		for (i = 1; i <= n; i++)
			printf " | %22s", name[i]
		printf "\n%-14s", "gope18"
		for (i = 1; i <= n; i++)
			printf " | %22s", value[i]
		print ""
	}
	function figure(text, order, names, paper,   i) {
		heads("Nodes of " order " keys. " text, names, paper)
		for (i = 1; i <= count; i++) {
			printf "%-14.2f", v[key(order, size[i], "wg"), seed[key(order, size[i], "wg"), 1], "btree.bytes"] / 1e6
			row(order, size[i], names)
		}
	}
	function ordering(order,   i) {
		printf "\nNodes of %s keys. Section 6.1: persisting at barriers over ordering alone (gope18: 0..5)\n", order
		for (i = 1; i <= count; i++)
			printf "%-14s | %22s\n", v[key(order, size[i], "wg"), seed[key(order, size[i], "wg"), 1], "btree.bytes"] / 1e6,
				over(key(order, size[i], "wg"), key(order, size[i], "buffered"))
	}
	function writes(order, scope, level,   id, i) {
		id = key(order, size[count], scope)
		for (i = 1; i <= runs[id]; i++)
			add(id level, v[id, seed[id, i], "btree.nv_writes_a_scope." level])
		return spread(id level, "%.0f")
	}
	function table3(order,   n, i, level, wg, kr) {
		n = split("leaf leaf-1 leaf-2 leaf-3 leaf-4 leaf-5", level)
		split("5734 4748 2806 - 1198 582", wg)
		split("329359 80829 32076 - 10299 2095", kr)
		printf "\nTable 3: NV writes pending for each scope, nodes of %s keys, the largest tree\n", order
		printf "%-8s | %26s | %32s | %8s %8s\n", "level", "work-group", "kernel", "gope18", "gope18"
		for (i = 1; i <= n; i++)
			printf "%-8s | %26s | %32s | %8s %8s\n", level[i], writes(order, "wg", level[i]), writes(order, "kr", level[i]), wg[i], kr[i]
	}
	{ take() }
	END {
		count = split(sizes, size)
		print "Run time over the DRAM-only baseline in percent: mean (lowest highest) of the seeds"
		figure("Figure 5: work-group and kernel barriers, 75/250 ns, and both with undo logging", 4, "wg kr wg-undo kr-undo", "8..10 about_25 - -")
		figure("Figure 6: write latencies, work-group barriers; DRAM latencies: footnote 5", 4, "dram wg 500ns 1us", "under_3-4 8..10 up_to_20 above_20")
		figure("Figure 7: entries of the NVW-FIFOs of L1/L2, work-group barriers; wg has 16/64", 4, "wg fifos-32/128 fifos-64/256 fifos-128/512 fifos-256/1024", "8..10 same same same slightly_less")
		figure("Figure 5", 14, "wg kr wg-undo kr-undo", "8..10 about_25 - -")
		figure("Figure 6", 14, "dram wg 500ns 1us", "under_3-4 8..10 up_to_20 above_20")
		figure("Section 8.1: persistency models (wg is epoch persistency), work-group barriers", 4, "strict wg buffered", "- 8..10 -")
		figure("Section 8.1", 14, "strict wg buffered", "- 8..10 -")
		ordering(4)
		ordering(14)
		table3(4)
		table3(14)
	}' "$results"
