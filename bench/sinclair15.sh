#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sinclair15, figures 2 to 4, on the machine "sinclair15": time, dynamic energy and network traffic under GPU coherence (gd, gh)
# and DeNovo (dd, dd+ro, dh). sinclair15.sh NVWAVE [ITERATIONS]: of the synchronization benchmarks, each work-group's in the
# kernel (100, as in the paper; global mutexes have a fifth of it). The kernels of figure 2 have no seed. FIGURES: those to be
# measured ("2 3 4"). GAPS: figure 3 again, with so many more cycles between two polls, which no paper states (none).
# SEEDS and RESULTS: bench/common.sh.
set -eu
nvwave=$1
iterations=${2:-100}
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

# under FIGURE NAME PROTOCOLS SEEDS WORKLOAD OPTIONS...
under() {
	figure=$1 name=$2 protocols=$3 wanted=$4
	shift 4
	case ${FIGURES:-2 3 4} in *"${figure%-*}"*) ;; *) return 0 ;; esac
	for protocol in $protocols; do
		measure "$figure/$name/$protocol" "$wanted" "$@" --machine=sinclair15 --protocol="$protocol"
	done
}

for kernel in backprop pathfinder lud nw sgemm stencil hotspot nn srad lavamd; do
	under 2 $kernel "gd dd" 1 $kernel
done
global=$(((iterations + 4) / 5))
all="gd gh dd dd+ro dh"
for lock in FAM:fetch-add SLM:sleep SPM:spin SPMBO:spin-backoff; do
	under 3 "${lock%:*}_G" "gd dd" "$seeds" mutex --sharing=global --kind="${lock#*:}" --iterations="$global"
	for gap in ${GAPS:-}; do
		under "3-$gap" "${lock%:*}_G" "gd dd" "$seeds" mutex --sharing=global --kind="${lock#*:}" --iterations="$global" --poll-gap="$gap"
	done
	under 4 "${lock%:*}_L" "$all" "$seeds" mutex --sharing=local --kind="${lock#*:}" --iterations="$iterations"
done
under 4 SS_L "$all" "$seeds" semaphore --kind=spin --iterations="$iterations"
under 4 SSBO_L "$all" "$seeds" semaphore --kind=spin-backoff --iterations="$iterations"
under 4 TB_LG "$all" "$seeds" tree-barrier --exchange=off --iterations="$iterations"
under 4 TBEX_LG "$all" "$seeds" tree-barrier --exchange=local --iterations="$iterations"
under 4 UTS "$all" "$seeds" uts

awk -v gaps="${GAPS:-}" "$spread"'
	# The measures of a run, in their order: what the paper sums up, without DRAM.
	function measured(f, n, p, s, i,   id) {
		id = f "/" n "/" p
		if (i == 1)
			return v[id, s, "sim_time_ns"]
		if (i == 2)
			return v[id, s, "energy.core"] + v[id, s, "energy.l1"] + v[id, s, "energy.l2"] + v[id, s, "energy.network"]
		if (i == 3)
			return v[id, s, "network.flit_hops"]
		if (i == 4)
			return v[id, s, "network.hops_atomic"]
		return v[id, s, "network.hops_read"] + v[id, s, "network.hops_write"] + v[id, s, "network.hops_register"]
	}
	# One measure of all protocols over that of gd with the same seed: mean, lowest, highest of the seeds; and the geometric
	# mean of the benchmarks, one for each seed.
	function figure(f, heading, protocols, i, paper,   n, k, p, b, s, id, j, ratio, logs, many) {
		if (!count[f])
			return
		printf "\n%s\n%-11s", heading, ""
		n = split(protocols, p)
		for (k = 1; k <= n; k++)
			printf " %22s", p[k]
		print ""
		for (b = 1; b <= count[f]; b++) {
			printf "%-11s", bench[f, b]
			for (k = 1; k <= n; k++) {
				id = f "/" bench[f, b] "/" p[k]
				for (j = 1; j <= runs[id]; j++) {
					s = seed[id, j]
					ratio = measured(f, bench[f, b], p[k], s, i) / measured(f, bench[f, b], "gd", s, i)
					add(heading id, ratio)
					logs[k, s] += log(ratio)
					many[k, s]++
				}
				printf " %22s", spread(heading id, "%.3f")
			}
			print ""
		}
		printf "%-11s", "mean"
		for (k = 1; k <= n; k++) {
			for (s in seeds_used)
				if (many[k, s] == count[f])
					add(heading p[k], exp(logs[k, s] / count[f]))
			printf " %22s", spread(heading p[k], "%.3f")
		}
		print "\nsinclair15: " paper
	}
	# The mean over the seeds of a statistic.
	function statistic(f, n, p, what,   id, i, total) {
		id = f "/" n "/" p
		for (i = 1; i <= runs[id]; i++)
			total += v[id, seed[id, i], what]
		return total / runs[id]
	}
	# Where the traffic of a protocol goes, over all of gd.
	function classes(f, protocols,   n, c, k, i, b, p, class, all) {
		if (!count[f])
			return
		n = split(protocols, p)
		c = split("read register write atomic control", class)
		printf "\nFigure %s: traffic by class, over all of gd\n%-11s %-6s", f, "", ""
		for (i = 1; i <= c; i++)
			printf " %9s", class[i]
		print ""
		for (b = 1; b <= count[f]; b++)
			for (k = 1; k <= n; k++) {
				all = statistic(f, bench[f, b], "gd", "network.flit_hops")
				printf "%-11s %-6s", k == 1 ? bench[f, b] : "", p[k]
				for (i = 1; i <= c; i++)
					printf " %9.3f", statistic(f, bench[f, b], p[k], "network.hops_" class[i]) / all
				print ""
			}
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
		print "Over gd with the same seed; means over the seeds, in brackets the lowest and the highest"
		figure(2, "Figure 2a: time without synchronization, over gd", "dd", 1, "1.005")
		figure(2, "Figure 2b: energy of cores, L1s, L2 and network", "dd", 2, "1.005")
		figure(2, "Figure 2c: flit crossings", "dd", 3, "0.95")
		figure(3, "Figure 3a: time with global synchronization, over gd", "dd", 1, "0.72")
		figure(3, "Figure 3b: energy", "dd", 2, "0.49")
		figure(3, "Figure 3c: flit crossings", "dd", 3, "0.19")
		n = split(gaps, gap)
		for (i = 1; i <= n; i++)
			figure("3-" gap[i], "Figure 3a with " gap[i] " more cycles between two polls", "dd", 1, "0.72")
		all = "gh dd dd+ro dh"
		figure(4, "Figure 4a: time with local synchronization, over gd", all, 1, "gh 0.54, dd 0.57 (gh 6 % below it), dd+ro as gh, dh the best")
		figure(4, "Figure 4b: energy", all, 2, "gh 0.58, dd 0.60 (gh 4 % below it), dd+ro as gh")
		figure(4, "Figure 4c: flit crossings", all, 3, "not in the text")
		figure(4, "Figure 4c: of atomics", "gh", 4, "0.06")
		figure(4, "Figure 4c: of data", "gh", 5, "0.22")
		classes(2, "gd dd")
		classes(3, "gd dd")
		classes(4, "gd gh dd dd+ro dh")
	}' "$results"
