#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# alsop16, figures 1, 4 to 6, 9 and 10 and table 6, on the machine "alsop16": work stealing under scopes, remote-scope promotion,
# DeNovo-B and hLRC. alsop16.sh NVWAVE [DIRECTORY|- [ROW...]]: graphs that are not in the directory are generated; rows are
# those of table 6. NVWAVE_OPTIONS: other options of the workloads than the documented ones (docs/results.md).
set -eu
nvwave=$1
data=${2:--}
[ $# -gt 2 ] && shift 2 || set -- sssp-1 sssp-2 sssp-3 color-1 color-2 color-3 pr-1 pr-2 pr-3
options=${NVWAVE_OPTIONS:---chunk=32 --victims=2 --max-iterations=3}
results=$(mktemp)
trap 'rm -f "$results"' EXIT

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

# measure ROW NAME PROTOCOL SCENARIO OPTIONS...: a line "ROW NAME statistic value" for each number
measure() {
	row=$1 name=$2 protocol=$3 scenario=$4
	shift 4
	case $row in pr-*) workload=pagerank ;; *) workload=${row%-*} ;; esac
	# shellcheck disable=SC2086
	"$nvwave" run "$workload" --machine=alsop16 --graph="$(graph_of "$row")" --protocol="$protocol" \
		--scenario="$scenario" --output-format=json $options "$@" |
		awk -v row="$row" -v name="$name" -F '[":, ]+' '
			$2 == "verdict" && $3 != "verified" { print row, name ": " $3 >"/dev/stderr" }
			$3 ~ /^[0-9.]+$/ { print row, name, $2, $3 }' >>"$results"
}

small="--set=gpu.cus=8 --set=network.columns=4 --queues=8"
lru="--set=l1.replacement=lru --set=l2.replacement=lru"
last="--set=l1.replacement=registered-last --set=l2.replacement=registered-last"
echo "options: $options"
for row; do
	echo "$row: $(basename "$(graph_of "$row")")"
	for scenario in baseline scope-only steal-only rsp; do
		measure "$row" $scenario rsp $scenario
	done
	# shellcheck disable=SC2086
	{
		measure "$row" denovo-b denovo-b denovo-b $lru
		measure "$row" denovo-rprio denovo-b denovo-b $last
		measure "$row" hlrc hlrc hlrc $last
		measure "$row" hlrc-noprio hlrc hlrc $lru
		measure "$row" hlrc-scoped hlrc-scoped hlrc-scoped $last
		measure "$row" baseline-8 rsp baseline $small
		measure "$row" rsp-8 rsp rsp $small
	}
done

awk -v rows="$*" '
	function title(text) { printf "\n%s\n%-9s", text, "" }
	function heads(names,   n, i, name) {
		n = split(names, name)
		for (i = 1; i <= n; i++)
			printf " %12s", name[i]
		print ""
	}
	# Speedup of each name over its base: "name" over the baseline, "name/base" over another.
	function speedups(text, names, paper,   n, r, i, name, pair, base, s, sum) {
		title(text)
		heads(names)
		n = split(names, name)
		for (r = 1; r <= count; r++) {
			printf "%-9s", row[r]
			for (i = 1; i <= n; i++) {
				base = split(name[i], pair, "/") > 1 ? pair[2] : "baseline"
				s = v[row[r], base, "sim_time_ns"] / v[row[r], pair[1], "sim_time_ns"]
				sum[i] += log(s)
				printf " %12.3f", s
			}
			print ""
		}
		printf "%-9s", "mean"
		for (i = 1; i <= n; i++)
			printf " %12.3f", exp(sum[i] / count)
		printf "\n%-9s", "alsop16"
		heads(paper)
	}
	# Sums over causes, of the baseline, then the share of each cause.
	function causes(text, kind, all,   n, c, r, i, k, name, cause, base) {
		title(text)
		n = split("baseline scope-only steal-only rsp denovo-b hlrc", name)
		heads("baseline scope-only steal-only rsp denovo-b hlrc")
		c = split(all, cause)
		for (r = 1; r <= count; r++) {
			base = 0
			for (k = 1; k <= c; k++)
				base += v[row[r], "baseline", kind "." cause[k]]
			for (k = 1; k <= c; k++) {
				printf "%-9s", k == 1 ? row[r] : ""
				for (i = 1; i <= n; i++)
					printf " %12.3f", v[row[r], name[i], kind "." cause[k]] / base
				print "  " cause[k]
			}
		}
	}
	function latencies(text, what,   n, r, i, name) {
		title(text)
		n = split("baseline scope-only steal-only rsp denovo-b hlrc", name)
		heads("baseline scope-only steal-only rsp denovo-b hlrc")
		for (r = 1; r <= count; r++) {
			printf "%-9s", row[r]
			for (i = 1; i <= n; i++)
				printf " %12.3f", v[row[r], name[i], what] / v[row[r], "baseline", what]
			print ""
		}
	}
	{ v[$1, $2, $3] = $4 }
	END {
		count = split(rows, row)
		speedups("Figure 4: speedup over the baseline", "scope-only steal-only rsp denovo-b hlrc", "1.07 1.16 0.96 1.21 1.29")
		causes("Figure 5: invalidations of L1s, by cause, over all of the baseline", "invalidations", "kernel acquire remote atomic_in")
		causes("Figure 6: flushes of L1s and registrations of stores, likewise", "flushes", "kernel release remote atomic_out")
		latencies("Figure 7, loads: latency of all, over the baseline", "latency.load")
		latencies("Figure 8: latency of all atomics with their acquires and releases, over the baseline", "latency.atomic")
		speedups("Figure 9: replacement", "denovo-b denovo-rprio hlrc-noprio hlrc", "1.21 1.03 1.22 1.29")
		speedups("Figure 10: scopes as hints, over hLRC and over the baseline", "hlrc-scoped/hlrc hlrc-scoped", "1.00 1.29")
		speedups("Figure 1: RSP over the baseline on 8 CUs and on 128", "rsp-8/baseline-8 rsp", "above_1 0.96")
		title("Table 6: where the synchronization accesses of hLRC hit, percent")
		heads("L1 L2/memory remote_L1 evictions alsop16:_L1 L2/memory remote_L1")
		split("95.7 97.8 76.0 92.3 85.3 74.3 96.6 80.7 82.4", l1)
		split("0.8 0.3 4.6 0.32 1.0 5.6 1.0 4.3 6.4", l2)
		split("3.6 1.9 19.4 7.4 13.7 20.0 2.4 15.0 11.2", remote)
		n = split("sssp-1 sssp-2 sssp-3 color-1 color-2 color-3 pr-1 pr-2 pr-3", all)
		for (i = 1; i <= n; i++)
			place[all[i]] = i
		for (r = 1; r <= count; r++) {
			i = place[row[r]]
			ops = v[row[r], "hlrc", "sync.ops"] / 100
			printf "%-9s %12.1f %12.1f %12.1f %12.2f %12s %12s %12s\n", row[r], v[row[r], "hlrc", "sync.l1"] / ops,
				v[row[r], "hlrc", "sync.l2"] / ops, v[row[r], "hlrc", "sync.remote"] / ops,
				v[row[r], "hlrc", "sync.evictions"] / ops, l1[i], l2[i], remote[i]
		}
	}' "$results"
