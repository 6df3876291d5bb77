#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# stc, figures 8 to 12, on machine stc: one line per seed, workload and protocol. Further arguments go to every run; SEEDS,
# WORKLOADS and PROTOCOLS take others.
# usage: stc.sh NVWAVE [OPTION...]
set -eu
nvwave=$1
shift
echo "seed workload protocol time_ps changes change_ps hits misses uncached turn_ps bsq_most flits lease_ps"
for seed in ${SEEDS:-1 2 3}; do
	for workload in ${WORKLOADS:-fg-share cache-reuse vec-cpy bc fw mis fft nn dgemm lulesh-proxy snap-proxy hpgmg-proxy}; do
		for protocol in ${PROTOCOLS:-gd wt no-l1 stc-nv stc-es stc-ab stc-mb tcs}; do
			"$nvwave" run "$workload" --machine=stc --protocol="$protocol" --seed="$seed" "$@" |
				awk -v run="$seed $workload $protocol" '
				{ value[$1] = $2 }
				END {
					print run, value["sim_time"], value["stc.changes"], value["stc.change_time"],
						value["l1.load_hits"], value["l1.load_misses"], value["stc.uncached"],
						value["wait.turn_time"], value["stc.bsq_most"], value["network.flits"],
						value["wait.lease_time"]
				}'
		done
	done
done
