#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# alsop16, figures 1 and 4 to 10 and table 6, on the machine "alsop16": work stealing under scopes, remote-scope promotion,
# DeNovo-B and hLRC. alsop16.sh NVWAVE [DIRECTORY|- [ROW...]]: graphs that are not in the directory are generated; rows are
# those of table 6. NVWAVE_OPTIONS: other options of the workloads than the documented ones (docs/results.md). Figures 1, 9 and 10
# are of the rows in FEW, whose graphs are small. SEEDS and RESULTS: bench/common.sh.
set -eu
nvwave=$1
data=${2:--}
if [ $# -gt 2 ]; then shift 2; else set -- sssp-1 sssp-2 sssp-3 color-1 color-2 color-3 pr-1 pr-2 pr-3; fi
options=${NVWAVE_OPTIONS:---chunk=32 --victims=2 --max-iterations=2}
few=${FEW:-sssp-3 color-2 color-3 pr-2 pr-3}
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"

# graph FILE GENERATED: what there is
graph() {
	if [ "$data" != - ] && [ -f "$data/$1" ]; then echo "$data/$1"; else echo "$2"; fi
}

# graph_of ROW: table 5; c-68, coAuthorsDBLP and OPF_10000 have stand-ins
graph_of() {
	case $1 in
	sssp-1 | pr-1) graph USA-road-BAY.pace.gr.xz road:321270 ;;
	sssp-2) graph USA-road-COL.pace.gr.xz road:435666 ;;
	sssp-3 | pr-2) graph bayer10.mtx rmat:14:7 ;;
	color-1) echo grid:1000x1000 ;;
	color-2) graph astro-ph.graph rmat:14:7 ;;
	color-3) graph dictionary28.reconstructed.graph rmat:16:2 ;;
	pr-3) graph bips98_606.mtx rmat:13:2 ;;
	*) echo "alsop16.sh: no row \"$1\": expected sssp-1 to -3, color-1 to -3, pr-1 to -3" >&2 && exit 2 ;;
	esac
}

# work ROW NAME PROTOCOL SCENARIO OPTIONS...
work() {
	row=$1 name=$2 protocol=$3 scenario=$4
	shift 4
	case $row in pr-*) workload=pagerank ;; *) workload=${row%-*} ;; esac
	# shellcheck disable=SC2086
	measure "$row/$name" "$seeds" "$workload" --machine=alsop16 --graph="$(graph_of "$row")" --protocol="$protocol" \
		--scenario="$scenario" $options "$@"
}

small="--set=gpu.cus=8 --set=network.columns=4 --queues=8"
lru="--set=l1.replacement=lru --set=l2.replacement=lru"
last="--set=l1.replacement=registered-last --set=l2.replacement=registered-last"
echo "options: $options; seeds: $seeds"
for row; do
	echo "$row: $(basename "$(graph_of "$row")")"
	for scenario in baseline scope-only steal-only rsp; do
		work "$row" $scenario rsp $scenario
	done
	# shellcheck disable=SC2086
	{
		work "$row" denovo-b denovo-b denovo-b $lru
		work "$row" hlrc hlrc hlrc $last
		case " $few " in *" $row "*)
			work "$row" denovo-rprio denovo-b denovo-b $last
			work "$row" hlrc-noprio hlrc hlrc $lru
			work "$row" hlrc-scoped hlrc-scoped hlrc-scoped $last
			work "$row" baseline-8 rsp baseline $small
			work "$row" rsp-8 rsp rsp $small
			;;
		esac
	}
done

awk -v rows="$*" -v few="$few" "$spread"'
	function title(text) {
		printf "\n%s\n%-9s", text, ""
	}
	function heads(names, width,   n, i, name) {
		n = split(names, name)
		for (i = 1; i <= n; i++)
			printf " %" width "s", name[i]
		print ""
	}
	function measured(r, name) {
		return (r "/" name) in runs
	}
	# A mean over the seeds of a statistic, or of several.
	function statistic(r, name, what,   id, i, k, n, part, total) {
		id = r "/" name
		n = split(what, part)
		for (i = 1; i <= runs[id]; i++)
			for (k = 1; k <= n; k++)
				total += v[id, seed[id, i], part[k]]
		return runs[id] ? total / runs[id] : 0
	}
	# Speedup of each name over the baseline, "name/base" over another: mean, lowest, highest of the seeds. The last line is
	# the geometric mean over the rows, one for each seed.
	function speedups(text, names, paper,   n, r, i, k, s, name, pair, base, id, key, ratio, logs) {
		title(text)
		heads(names, 22)
		n = split(names, name)
		for (r = 1; r <= count; r++) {
			for (i = 1; i <= n && measured(row[r], substr(name[1], 1, index(name[1] "/", "/") - 1)); i++) {
				base = row[r] "/" (split(name[i], pair, "/") > 1 ? pair[2] : "baseline")
				id = row[r] "/" pair[1]
				key = text name[i] row[r]
				for (k = 1; k <= runs[id]; k++) {
					s = seed[id, k]
					ratio = v[base, s, "sim_time_ns"] / v[id, s, "sim_time_ns"]
					add(key, ratio)
					logs[i, s] += log(ratio)
					rows_of[text, i, s]++
				}
				if (i == 1)
					printf "%-9s", row[r]
				printf " %22s", spread(key, "%.3f")
				if (i == n)
					print ""
			}
		}
		printf "%-9s", "mean"
		for (i = 1; i <= n; i++) {
			for (s in seeds_used)
				if (rows_of[text, i, s])
					add(text name[i], exp(logs[i, s] / rows_of[text, i, s]))
			printf " %22s", spread(text name[i], "%.3f")
		}
		printf "\n%-9s", "alsop16"
		heads(paper, 22)
	}
	# Parts of what is summed up, each over all of the baseline: a line for each part. A part is "name=statistic+statistic".
	function parts(text, all, total,   n, c, r, i, k, name, part, pair, base) {
		title(text)
		n = split("baseline scope-only steal-only rsp denovo-b hlrc", name)
		heads("baseline scope-only steal-only rsp denovo-b hlrc", 12)
		c = split(all, part)
		gsub("[+]", " ", total)
		for (r = 1; r <= count; r++) {
			base = statistic(row[r], "baseline", total)
			for (k = 1; k <= c; k++) {
				split(part[k], pair, "=")
				gsub("[+]", " ", pair[2])
				printf "%-9s", k == 1 ? row[r] : ""
				for (i = 1; i <= n; i++)
					printf " %12.3f", statistic(row[r], name[i], pair[2]) / base
				print "  " pair[1]
			}
		}
	}
	# The accesses of atomics: what is not their acquires and releases.
	{
		take()
		seeds_used[$2] = 1
		if ($3 == "latency.atomic" || $3 == "latency.acquire" || $3 == "latency.release")
			v[$1, $2, "latency.access"] += $3 == "latency.atomic" ? $4 : -$4
	}
	END {
		count = split(rows, row)
		print "\nMeans over the seeds; in brackets the lowest and the highest"
		speedups("Figure 4: speedup over the baseline", "scope-only steal-only rsp denovo-b hlrc", "1.07 1.16 0.96 1.21 1.29")
		parts("Figure 5: invalidations of L1s, by cause, over all of the baseline", "kernel=invalidations.kernel acquire=invalidations.acquire remote=invalidations.remote atomic_in=invalidations.atomic_in",
			"invalidations.kernel+invalidations.acquire")
		parts("Figure 6: flushes of L1s and registrations of stores, likewise", "kernel=flushes.kernel release=flushes.release remote=flushes.remote atomic_out=flushes.atomic_out",
			"flushes.kernel+flushes.release")
		parts("Figure 7: latency of loads and stores, over both of the baseline", "load=latency.load store=latency.store", "latency.load+latency.store")
		parts("Figure 8: latency of acquires with kernel starts, releases with kernel ends, and accesses of atomics, over all of the baseline",
			"acquire=latency.acquire+latency.kernel_begin release=latency.release+latency.kernel_end atomic=latency.access",
			"latency.atomic+latency.kernel_begin+latency.kernel_end")
		speedups("Figure 9: replacement", "denovo-rprio denovo-b hlrc-noprio hlrc", "1.03 1.21 1.22 1.29")
		speedups("Figure 10: scopes as hints, over hLRC and over the baseline", "hlrc-scoped/hlrc hlrc-scoped", "1.00 1.29")
		speedups("Figure 1: RSP over the baseline on 8 CUs and on 128", "rsp-8/baseline-8 rsp", "above_1 0.96")
		title("Table 6: where the synchronization accesses of hLRC hit, percent")
		heads("L1 L2/memory remote_L1 evictions alsop16:_L1 L2/memory remote_L1", 12)
		split("95.7 97.8 76.0 92.3 85.3 74.3 96.6 80.7 82.4", l1)
		split("0.8 0.3 4.6 0.32 1.0 5.6 1.0 4.3 6.4", l2)
		split("3.6 1.9 19.4 7.4 13.7 20.0 2.4 15.0 11.2", remote)
		n = split("sssp-1 sssp-2 sssp-3 color-1 color-2 color-3 pr-1 pr-2 pr-3", all)
		for (i = 1; i <= n; i++)
			place[all[i]] = i
		for (r = 1; r <= count; r++) {
			i = place[row[r]]
			ops = statistic(row[r], "hlrc", "sync.ops") / 100
			printf "%-9s %12.1f %12.1f %12.1f %12.2f %12s %12s %12s\n", row[r], statistic(row[r], "hlrc", "sync.l1") / ops,
				statistic(row[r], "hlrc", "sync.l2") / ops, statistic(row[r], "hlrc", "sync.remote") / ops,
				statistic(row[r], "hlrc", "sync.evictions") / ops, l1[i], l2[i], remote[i]
		}
	}' "$results"
