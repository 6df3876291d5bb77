#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hechtman14, figures 4.4 to 4.11, on the machine "hechtman14-apu": no L1, WT, QuickRelease and RFO over no L1, for the kernels of
# chapter 4 that there are. hechtman14-apu.sh NVWAVE [KERNELS]: those to be measured (all, and two of
# them in four sizes). PLACES: where a kernel's first work-group
# goes (gpu.first_cu; random, and first for comparison). SEEDS and RESULTS: bench/common.sh.
set -eu
nvwave=$1
kernels=${2:-backprop lud nw sgemm hotspot nn srad bfs kmeans histogram reduction dct spmv sort apsp}
protocols="no-l1 wt quickrelease rfo"
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

for place in ${PLACES:-random first}; do
	for kernel in $kernels; do
		for protocol in $protocols; do
			measure "$place/$kernel/$protocol" "$seeds" "$kernel" --machine=hechtman14-apu --protocol="$protocol" --set=gpu.first_cu="$place"
		done
	done
done
[ $# -gt 1 ] || for kernel in reduction nn; do
	for size in 8k 32k 128k 512k; do
		for protocol in $protocols; do
			measure "size/$kernel-$size/$protocol" "$seeds" "$kernel" --machine=hechtman14-apu --protocol="$protocol" --size="$size"
		done
	done
done

awk "$spread"'
	# The measures of a run, by figure.
	function measured(id, s, what) {
		if (what == "directory")
			return v[id, s, "l2.load_misses"] + v[id, s, "l2.writeback_evict"] + v[id, s, "l2.writeback_sfifo"] + v[id, s, "l2.writeback_release"] + \
				v[id, s, "l2.writeback_read"] + v[id, s, "l2.writeback_through"]
		if (what == "arriving")
			return 64 * v[id, s, "l1.load_misses"] + 8 * v[id, s, "l1.probes"]
		if (what == "probes")
			return 8 * v[id, s, "l1.probes"]
		if (what == "dram")
			return v[id, s, "dram.reads"] + v[id, s, "dram.writes"]
		return v[id, s, what]
	}
	# Of each kernel what the protocols have over the base, or, for speed, the base over what they have; and the geometric means.
	function figure(f, heading, list, base, what, under, over, faster,   n, p, b, k, i, id, s, x, y, many, logs) {
		if (!count[f])
			return
		printf "\n%s\n%-16s", heading, ""
		n = split(list, p)
		for (k = 1; k <= n; k++)
			printf " %22s", p[k]
		print ""
		for (b = 1; b <= count[f]; b++) {
			printf "%-16s", bench[f, b]
			for (k = 1; k <= n; k++) {
				id = f "/" bench[f, b] "/" p[k]
				for (i = 1; i <= runs[id]; i++) {
					s = seed[id, i]
					x = measured(id, s, what)
					y = measured(f "/" bench[f, b] "/" base, s, over ? over : what)
					if (faster) {
						s1 = x; x = y; y = s1
					}
					if (y > 0) {
						add(heading id, x / y)
						if (x > 0) {
							logs[k, s] += log(x / y)
							many[k, s]++
						}
					}
				}
				printf " %22s", spread(heading id, "%.2f")
			}
			print ""
		}
		printf "%-16s", "mean"
		for (k = 1; k <= n; k++) {
			for (s in seeds_used)
				if (many[k, s])
					add(heading "/" p[k], exp(logs[k, s] / many[k, s]))
			printf " %22s", spread(heading "/" p[k], "%.3f")
		}
		print "\nhechtman14: " under
	}
	# L1 read hits over reads.
	function reuse(f,   b, id, i, s) {
		if (!count[f])
			return
		printf "\nFigure 4.4 (%s): L1 read hits over reads; of the write cache\n%-16s %22s %22s %22s %22s\n", f, "", "rfo", "wt", "quickrelease", "its wL1"
		for (b = 1; b <= count[f]; b++) {
			printf "%-16s", bench[f, b]
			for (i = 1; i <= 4; i++)
				printf " %22s", hits(f "/" bench[f, b] "/" (i == 1 ? "rfo" : i == 2 ? "wt" : "quickrelease"), i == 4 ? "l1.write_hits" : "l1.load_hits")
			print ""
		}
	}
	function hits(id, what,   i, s, reads) {
		for (i = 1; i <= runs[id]; i++) {
			s = seed[id, i]
			reads = v[id, s, "l1.load_hits"] + v[id, s, "l1.load_misses"]
			if (reads > 0)
				add(what id, v[id, s, what] / reads)
		}
		return spread(what id, "%.2f")
	}
	{
		take()
		split($1, id, "/")
		if (!((id[1], id[2]) in benches)) {
			benches[id[1], id[2]] = 1
			bench[id[1], ++count[id[1]]] = id[2]
		}
		seeds_used[$2] = 1
	}
	END {
		print "Means over the seeds, in brackets the lowest and the highest; means of kernels are geometric"
		n = split("random first", place)
		for (q = 1; q <= n; q++) {
			f = place[q]
			reuse(f)
			figure(f, "Figure 4.5 (" f "): speed over no L1", "wt quickrelease rfo", "no-l1", "sim_time_ns", "wt 1.05, quickrelease 1.07 over wt, rfo 0.94", "", 1)
			figure(f, "H4, H7 (" f "): speed of quickrelease over wt", "quickrelease", "wt", "sim_time_ns", "1.07", "", 1)
			figure(f, "H6 (" f "): speed of quickrelease over rfo", "quickrelease", "rfo", "sim_time_ns", "1.20", "", 1)
			figure(f, "Figure 4.6 (" f "): lines between L2 and directory, over no L1", "wt quickrelease rfo", "no-l1", "directory", "not in the text")
			figure(f, "H8 (" f "): lines between L2 and directory, quickrelease over wt", "quickrelease", "wt", "directory", "0.48")
			figure(f, "Figure 4.7 (" f "): lines written to DRAM, over no L1", "wt quickrelease", "no-l1", "dram.writes", "quickrelease below wt, equal on nn and nw")
			figure(f, "Figure 4.8, H9 (" f "): bytes arriving at L1s, quickrelease over wt", "quickrelease", "wt", "arriving", "1.03, at most 3")
			figure(f, "Figure 4.8 (" f "): of these, invalidations", "quickrelease", "wt", "probes", "not in the text", "arriving")
			figure(f, "Figure 4.9 (" f "): lines read from and written to DRAM, over no L1", "wt quickrelease rfo", "no-l1", "dram", "rfo has the fewest reads")
		}
		figure("size", "Figures 4.10, 4.11: speed over no L1 by size", "wt quickrelease rfo", "no-l1", "sim_time_ns", "equal when small; quickrelease ahead of wt and rfo when large", "", 1)
	}
' "$results"
