#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hechtman14 5.4.2: time = o1 * T1 * log2(W) / (P * W) + oinf * Tinf, with P CUs and W work-items per wavefront, fitted by least squares of
# relative errors to the table of a sweep.
#   nvwave sweep papers/sweeps/hechtman14-model.ini && bench/tasks_fit.sh hechtman14-model.csv
set -eu
awk -F, '
	# One more value of a key.
	function add(key, x) {
		if (!(key in seen) || x < low[key])
			low[key] = x
		if (!(key in seen) || x > high[key])
			high[key] = x
		seen[key]++
		sum[key] += x
	}
	# "mean (lowest to highest)"
	function spread(key, format) {
		return sprintf(format " (" format " " format ")", sum[key] / seen[key], low[key], high[key])
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
	NR == 1 {
		for (i = 1; i <= NF; i++)
			column[$i] = i
		next
	}
	{
		s = $column["seed"]
		id = "fit/" $column["n"] "/" $column["gpu.cus"] "/" $column["gpu.wavefront_width"]
		v[id, s, "sim_time_ns"] = $column["sim_time"] / 1000
		v[id, s, "tasks.run"] = $column["tasks.run"]
		v[id, s, "tasks.epochs"] = $column["tasks.epochs"]
		if (!(id in known)) {
			known[id] = 1
			point[++points] = id
		}
		if (!(s in used)) {
			used[s] = 1
			order[++seeds_used] = s
		}
	}
	END {
		for (i = seeds_used; i >= 1; i--)
			for (width = 0; width <= 64; width = width ? 2 * width : 8)
				fit(order[i], width)
		fitted("all widths, T1 log2(W) / (P W):", 0)
		for (width = 8; width <= 64; width *= 2)
			fitted("W = " width ", T1 / P:", width)
		show(order[1], 0)
		show(order[1], 1)
	}' "$1"
