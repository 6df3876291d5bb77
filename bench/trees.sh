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
		for way in trees-msort trees-msort-map bitonic; do
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
if wants fit; then
	for n in 12 15 18; do
		for cus in 1 2 4 8; do
			for width in 8 16 32 64; do
				measure "fit/$n/$cus/$width" "$seeds" trees-fib --n=$n --set=gpu.cus=$cus --set=gpu.wavefront_width=$width
			done
		done
	done
fi

awk "$spread"'
	function ratio(key, id, base) {
		add_ratio(key, id, base, "sim_time_ns")
		return spread(key, "%.2f")
	}
	# The model of 5.4.2 by least squares of relative errors: o1 and oinf, in ns, for runs of one seed.
	function fit(s,   id, i, f, t, x, y, xx, xy, yy, xt, yt, d, e, part) {
		for (i = 1; i <= points; i++) {
			id = point[i]
			split(id, f, "/")
			t = v[id, s, "sim_time_ns"]
			if (!t)
				continue
			x = v[id, s, "tasks.run"] * log(f[4]) / log(2) / (f[3] * f[4]) / t
			y = v[id, s, "tasks.epochs"] / t
			xx += x * x; xy += x * y; yy += y * y; xt += x; yt += y
		}
		d = xx * yy - xy * xy
		if (d == 0)
			return
		o1 = (xt * yy - yt * xy) / d
		oinf = (yt * xx - xt * xy) / d
		worst = total = many = 0
		for (i = 1; i <= points; i++) {
			id = point[i]
			split(id, f, "/")
			t = v[id, s, "sim_time_ns"]
			if (!t)
				continue
			part = o1 * v[id, s, "tasks.run"] * log(f[4]) / log(2) / (f[3] * f[4])
			e = (part + oinf * v[id, s, "tasks.epochs"]) / t - 1
			e = e < 0 ? -e : e
			worst = e > worst ? e : worst
			total += e
			many++
		}
		printf "seed %s: o1 %.1f ns, oinf %.1f ns; relative error: mean %.1f %%, worst %.1f %%, of %d runs\n", s, o1, oinf,
			100 * total / many, 100 * worst, many
	}
	# Measured and modelled, of the first seed.
	function show(s,   i, id, f, part) {
		printf "%4s %4s %4s %8s %6s %12s %12s\n", "n", "P", "W", "T1", "Tinf", "measured ns", "model ns"
		for (i = 1; i <= points; i++) {
			id = point[i]
			split(id, f, "/")
			part = o1 * v[id, s, "tasks.run"] * log(f[4]) / log(2) / (f[3] * f[4])
			printf "%4d %4d %4d %8d %6d %12.0f %12.0f\n", f[2], f[3], f[4], v[id, s, "tasks.run"], v[id, s, "tasks.epochs"],
				v[id, s, "sim_time_ns"], part + oinf * v[id, s, "tasks.epochs"]
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
			printf "%-8s naive %-22s with map %s\n", sort[i], ratio("9n" sort[i], "9/sort/" sort[i] "/trees-msort", "9/sort/" sort[i] "/bitonic"),
				ratio("9m" sort[i], "9/sort/" sort[i] "/trees-msort-map", "9/sort/" sort[i] "/bitonic")
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
			print "5.4.2: time = o1 * T1 * log2(W) / (P * W) + oinf * Tinf, fib"
			for (i = seeds_used; i >= 1; i--)
				fit(order[i])
			show(order[1])
		}
	}' "$results"
