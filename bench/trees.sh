#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hechtman14, chapter 5: TREES against programs that do without it (figures 5.7 to 5.9; tables H10 and H11 of docs/results.md), and its
# cost model (5.4.2), on the machine "gope18". trees.sh NVWAVE [SIZES [PARTS]]: of the sorts ("1k 4k 16k"), and what is measured
# ("searches sorts sizes fit"). SHARED_DATA/graphs: real graphs, where they are. SEEDS and RESULTS: bench/common.sh.
set -eu
nvwave=$1
sizes=${2:-1k 4k 16k}
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
parts=${3:-searches sorts sizes fit}
graphs=${SHARED_DATA:-$(dirname "$0")/../../shared/data}/graphs

wants() {
	case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# Figures 5.7 and 5.8: when launches take no time, and when they do.
search() {
	for launch in 0 2 10; do
		for algorithm in bfs sssp; do
			for way in trees list; do
				measure "7/$1-$algorithm/$launch/$way" "$seeds" $way-$algorithm --graph="$2" --set=gpu.launch=${launch}us \
					--set=host.copy=$((launch / 2))us
			done
		done
	done
}

if wants searches; then
	search rmat:11:8 rmat:11:8
	search road:3000 road:3000
	for graph in wiki-Vote.txt bips98_606.mtx 4elt.graph; do
		if [ -r "$graphs/$graph" ]; then
			search "${graph%%.*}" "$graphs/$graph"
		else
			echo "skipped: $graph: no such file in $graphs"
		fi
	done
	for way in trees-uts uts; do
		measure "7/uts/0/${way%-uts}" "$seeds" $way
	done
fi
if wants sorts; then
	for size in $sizes; do
		for way in trees-msort trees-msort-map trees-bitonic bitonic; do
			entries=
			[ "$way" = bitonic ] || entries=--entries=400k
			# shellcheck disable=SC2086
			measure "9/sort/$size/$way" "$seeds" $way --size="$size" $entries
		done
	done
fi
if wants sizes; then
	for n in 10 14 18 22; do
		measure "4/fib/$n/fib" "$seeds" trees-fib --n=$n
	done
	for log2 in 6 8 10 12; do
		measure "4/fft/$log2/fft" "$seeds" trees-fft --log2=$log2
	done
fi
# Where memory is no limit: with gope18's one DRAM channel a single CU reaches its bandwidth.
if wants fit; then
	for n in 16 18 20; do
		for cus in 1 2 4 8; do
			for width in 8 16 32 64; do
				measure "fit/$n/$cus/$width" "$seeds" trees-fib --n=$n --set=gpu.cus=$cus --set=gpu.wavefront_width=$width \
					--set=dram.bandwidth=1000GB/s --set=dram.channels=16 --set=l2.banks=64 --set=l2.size=16MiB
			done
		done
	done
fi

awk "$spread"'
	function ratio(key, id, base) {
		add_ratio(key, id, base, "sim_time_ns")
		return spread(key, "%.2f")
	}
	# The work of a run as the model has it; width 0: T1 log2(W) / (P W). Else T1 / P, of that width alone.
	function work(id, s, width,   f) {
		split(id, f, "/")
		if (width && f[4] != width)
			return 0
		return v[id, s, "tasks.run"] / f[3] * (width ? 1 : log(f[4]) / log(2) / f[4])
	}
	# The model by least squares of relative errors: o1 and oinf, in ns, for the runs of a seed.
	function fit(s, width,   id, i, t, x, y, xx, xy, yy, xt, yt, d, e, worst, total, many) {
		for (i = 1; i <= points; i++) {
			id = point[i]
			t = v[id, s, "sim_time_ns"]
			if (!t || !work(id, s, width))
				continue
			x = work(id, s, width) / t
			y = v[id, s, "tasks.epochs"] / t
			xx += x * x; xy += x * y; yy += y * y; xt += x; yt += y
		}
		d = xx * yy - xy * xy
		if (d == 0)
			return
		o1 = (xt * yy - yt * xy) / d
		oinf = (yt * xx - xt * xy) / d
		for (i = 1; i <= points; i++) {
			id = point[i]
			t = v[id, s, "sim_time_ns"]
			if (!t || !work(id, s, width))
				continue
			e = (o1 * work(id, s, width) + oinf * v[id, s, "tasks.epochs"]) / t - 1
			e = e < 0 ? -e : e
			worst = e > worst ? e : worst
			total += e
			many++
		}
		add("o1" width, o1)
		add("oinf" width, oinf)
		add("mean" width, 100 * total / many)
		add("worst" width, 100 * worst)
	}
	function fitted(what, width) {
		printf "%-34s o1 %s ns, oinf %s ns; relative error: mean %s %%, worst %s %%\n", what, spread("o1" width, "%.2f"),
			spread("oinf" width, "%.0f"), spread("mean" width, "%.1f"), spread("worst" width, "%.1f")
	}
	# Measured and modelled, of a seed: a row per size and number of CUs, a column per width.
	function show(s, width,   i, id, f) {
		printf "\n%s, measured us / model us\n%4s %4s %8s %5s\n", width ? "by width" : "one for all widths", "n", "P", "T1", "Tinf"
		for (i = 1; i <= points; i++) {
			id = point[i]
			split(id, f, "/")
			if (f[4] == 8)
				printf "%4d %4d %8d %5d ", f[2], f[3], v[id, s, "tasks.run"], v[id, s, "tasks.epochs"]
			fit(s, width ? f[4] : 0)
			printf " %6.1f /%6.1f%s", v[id, s, "sim_time_ns"] / 1e3, (o1 * work(id, s, width ? f[4] : 0) + oinf * v[id, s, "tasks.epochs"]) / 1e3,
				f[4] == 64 ? "\n" : ""
		}
	}
	{
		new = !($1 in runs)
		take()
		split($1, f, "/")
		if (new && f[1] == "fit")
			point[++points] = $1
		if (new && f[1] == "7" && f[4] != "trees")
			search[++searches] = f[2] "/" f[3]
		if (new && f[1] == "9" && f[4] == "bitonic")
			sort[++sorts] = f[3]
		if (new && f[1] == "4")
			single[++singles] = $1
		if (!($2 in used)) {
			used[$2] = 1
			order[++seeds_used] = $2
		}
	}
	END {
		if (searches)
			print "Figures 5.7, 5.8 (H10): TREES over work lists, and uts; the thesis: at most 1.06\ngraph-algorithm / us per launch"
		for (i = 1; i <= searches; i++) {
			base = "7/" search[i] "/" (search[i] == "uts/0" ? "uts" : "list")
			printf "%-28s %s\n", search[i], ratio("7" search[i], "7/" search[i] "/trees", base)
		}
		if (sorts)
			print "Figure 5.9 (H11): merge sort as tasks over bitonic sort; the thesis: naive vastly worse, with map 2 to 3"
		for (i = 1; i <= sorts; i++)
			printf "%-8s naive %-22s merges by map %-22s bitonic sort by map %s\n", sort[i],
				ratio("9n" sort[i], "9/sort/" sort[i] "/trees-msort", "9/sort/" sort[i] "/bitonic"),
				ratio("9m" sort[i], "9/sort/" sort[i] "/trees-msort-map", "9/sort/" sort[i] "/bitonic"),
				ratio("9b" sort[i], "9/sort/" sort[i] "/trees-bitonic", "9/sort/" sort[i] "/bitonic")
		if (singles)
			print "Figures 5.4 to 5.6: simulated ns per task, over sizes"
		for (i = 1; i <= singles; i++) {
			for (j = 1; j <= runs[single[i]]; j++) {
				s = seed[single[i], j]
				add("4" single[i], v[single[i], s, "sim_time_ns"] / v[single[i], s, "tasks.run"])
			}
			split(single[i], f, "/")
			printf "%-4s %-4s %8d tasks, %4d epochs: %s\n", f[2], f[3], v[single[i], seed[single[i], 1], "tasks.run"],
				v[single[i], seed[single[i], 1], "tasks.epochs"], spread("4" single[i], "%.2f")
		}
		if (points) {
			print "5.4.2: time = o1 * T1 * log2(W) / (P * W) + oinf * Tinf, of fib(16), fib(18), fib(20); W = 8, 16, 32, 64"
			for (i = seeds_used; i >= 1; i--)
				for (width = 0; width <= 64; width = width ? 2 * width : 8)
					fit(order[i], width)
			fitted("all widths, T1 log2(W) / (P W):", 0)
			for (width = 8; width <= 64; width *= 2)
				fitted("W = " width ", T1 / P:", width)
			show(order[1], 0)
			show(order[1], 1)
		}
	}' "$results"
