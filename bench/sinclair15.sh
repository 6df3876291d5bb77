#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sinclair15, figures 2 to 4, on the machine "sinclair15": time, dynamic energy and network traffic under GPU coherence (gd, gh)
# and DeNovo (dd, dd+ro, dh). sinclair15.sh NVWAVE [ITERATIONS [SEED...]]: of the synchronization benchmarks, each
# work-group's in the kernel (100, as in the paper; global mutexes have a fifth of it, for all their sections are alike),
# and what is averaged over (1 2 3). FIGURES: those to be measured ("2 3 4").
set -eu
nvwave=$1
iterations=${2:-100}
[ $# -gt 2 ] && shift 2 || set -- 1 2 3
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# measure FIGURE NAME PROTOCOLS WORKLOAD OPTIONS...: a line "FIGURE NAME PROTOCOL SEED statistic value" for each number
measure() {
	figure=$1 name=$2 protocols=$3
	shift 3
	case ${FIGURES:-2 3 4} in *$figure*) ;; *) return 0 ;; esac
	for protocol in $protocols; do
		for seed in $seeds; do
			"$nvwave" run "$@" --machine=sinclair15 --protocol="$protocol" --seed="$seed" --output-format=json |
				awk -v id="$figure $name $protocol $seed" -F '[":, ]+' '
					$2 == "verdict" && $3 != "verified" { print id ": " $3 >"/dev/stderr" }
					$3 ~ /^[0-9.]+$/ { print id, $2, $3 }' >>"$results"
		done
	done
}

seeds=$1
for kernel in backprop pathfinder lud nw sgemm stencil hotspot nn srad lavamd; do
	measure 2 $kernel "gd dd" $kernel
done
seeds=$*
for lock in FAM:fetch-add SLM:sleep SPM:spin SPMBO:spin-backoff; do
	measure 3 "${lock%:*}_G" "gd dd" mutex --sharing=global --kind="${lock#*:}" --iterations=$(((iterations + 4) / 5))
	measure 4 "${lock%:*}_L" "gd gh dd dd+ro dh" mutex --sharing=local --kind="${lock#*:}" --iterations="$iterations"
done
measure 4 SS_L "gd gh dd dd+ro dh" semaphore --kind=spin --iterations="$iterations"
measure 4 SSBO_L "gd gh dd dd+ro dh" semaphore --kind=spin-backoff --iterations="$iterations"
measure 4 TB_LG "gd gh dd dd+ro dh" tree-barrier --exchange=off --iterations="$iterations"
measure 4 TBEX_LG "gd gh dd dd+ro dh" tree-barrier --exchange=local --iterations="$iterations"
measure 4 UTS "gd gh dd dd+ro dh" uts

awk '
	function take(figure, name, protocol, what) {
		return v[figure, name, protocol, what] / runs[figure, name, protocol]
	}
	# The measures of a run, in their order: what the paper sums up, without DRAM.
	function measured(f, n, p, i) {
		if (i == 1)
			return take(f, n, p, "sim_time_ns")
		if (i == 2)
			return take(f, n, p, "energy.core") + take(f, n, p, "energy.l1") + take(f, n, p, "energy.l2") + take(f, n, p, "energy.network")
		if (i == 3)
			return take(f, n, p, "network.flit_hops")
		if (i == 4)
			return take(f, n, p, "network.hops_atomic")
		return take(f, n, p, "network.hops_read") + take(f, n, p, "network.hops_write") + take(f, n, p, "network.hops_register")
	}
	# One measure of all protocols over that of gd, and the geometric mean of the ratios.
	function figure(f, heading, protocols, i, paper,   n, k, p, b, s, sum) {
		if (!count[f])
			return
		printf "\n%s\n%-11s", heading, ""
		n = split(protocols, p)
		for (k = 1; k <= n; k++)
			printf " %8s", p[k]
		print ""
		for (b = 1; b <= count[f]; b++) {
			printf "%-11s", bench[f, b]
			for (k = 1; k <= n; k++) {
				s = measured(f, bench[f, b], p[k], i) / measured(f, bench[f, b], "gd", i)
				sum[k] += log(s)
				printf " %8.3f", s
			}
			print ""
		}
		printf "%-11s", "mean"
		for (k = 1; k <= n; k++)
			printf " %8.3f", exp(sum[k] / count[f])
		print "\nsinclair15: " paper
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
				all = take(f, bench[f, b], "gd", "network.flit_hops")
				printf "%-11s %-6s", k == 1 ? bench[f, b] : "", p[k]
				for (i = 1; i <= c; i++)
					printf " %9.3f", take(f, bench[f, b], p[k], "network.hops_" class[i]) / all
				print ""
			}
	}
	{
		if (!(($1, $2) in seen)) {
			seen[$1, $2] = 1
			bench[$1, ++count[$1]] = $2
		}
		v[$1, $2, $3, $5] += $6
		runs[$1, $2, $3] += $5 == "sim_time_ns"
	}
	END {
		figure(2, "Figure 2a: time without synchronization, over gd", "dd", 1, "1.005")
		figure(2, "Figure 2b: energy of cores, L1s, L2 and network", "dd", 2, "1.005")
		figure(2, "Figure 2c: flit crossings", "dd", 3, "0.95")
		figure(3, "Figure 3a: time with global synchronization, over gd", "dd", 1, "0.72")
		figure(3, "Figure 3b: energy", "dd", 2, "0.49")
		figure(3, "Figure 3c: flit crossings", "dd", 3, "0.19")
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
