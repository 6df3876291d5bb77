#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hechtman14, chapter 3: loads over stores (figure 3.1) and the consistency models (figure 3.4, rows H1 and H2), the nine kernels of
# Table 3.2 on machine hechtman14-mttop. hechtman14-mttop.sh NVWAVE [KERNEL...]. Thesis: sc-wb and tso within 5 percent of sc-simple,
# rmo well ahead on convolution and dijkstra alone, kmeans a little slower under weaker models.
# SEEDS="1 2 3", RESULTS=FILE: bench/common.sh. SETTINGS: further options of every run, "--set=gpu.cus=4".
set -eu
nvwave=$1
shift
kernels=${*:-barnes-hut sgemm dijkstra convolution fft nn hotspot kmeans bfs}
models="sc-simple sc-wb tso rmo"
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

for kernel in $kernels; do
	for model in $models; do
		# shellcheck disable=SC2086
		measure "$kernel/$model" "$seeds" "$kernel" --machine=hechtman14-mttop --set=gpu.consistency="$model" ${SETTINGS:-}
	done
done

awk -v kernels="$kernels" "$spread"'
	function speed(kernel, model,   i, s, key) {
		key = "speed " kernel " " model
		for (i = 1; i <= runs[kernel "/sc-simple"]; i++) {
			s = seed[kernel "/sc-simple", i]
			add(key, v[kernel "/sc-simple", s, "sim_time_ns"] / v[kernel "/" model, s, "sim_time_ns"])
		}
		return spread(key, "%.3f")
	}
	function ratio(kernel,   i, s, key) {
		key = "ratio " kernel
		for (i = 1; i <= runs[kernel "/sc-simple"]; i++) {
			s = seed[kernel "/sc-simple", i]
			add(key, v[kernel "/sc-simple", s, "latency.loads"] / v[kernel "/sc-simple", s, "latency.stores"])
		}
		return spread(key, "%.1f")
	}
	{ take() }
	END {
		print "Means over the seeds, in brackets the lowest and the highest"
		printf "%-12s  %-22s  %-22s  %-22s  %s\n", "kernel", "loads a store (3.1)", "sc-wb (3.4)", "tso", "rmo"
		n = split(kernels, k, " ")
		for (i = 1; i <= n; i++)
			printf "%-12s  %-22s  %-22s  %-22s  %s\n", k[i], ratio(k[i]), speed(k[i], "sc-wb"), speed(k[i], "tso"), speed(k[i], "rmo")
	}
' "$results"
