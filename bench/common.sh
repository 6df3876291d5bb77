# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Sourced by the scripts that print a paper's figures: gope18.sh, alsop16.sh, sinclair15.sh, hechtman14-mttop.sh, trees.sh. Runs are kept as lines "ID SEED STATISTIC VALUE".
# SEEDS	what is averaged over (1 2 3)
# RESULTS	a file for the lines: it is added to, and what it has already is not run again (a temporary file)
# shellcheck disable=SC2034,SC2154
seeds=${SEEDS:-1 2 3}
if [ -n "${RESULTS:-}" ]; then
	results=$RESULTS
	touch "$results"
	run=$(mktemp)
	trap 'rm -f "$run"' EXIT
else
	results=$(mktemp)
	run=$(mktemp)
	trap 'rm -f "$run" "$results"' EXIT
fi

# measure ID SEEDS COMMAND...: "nvwave run COMMAND" for each seed. A run that is wrong, or fails, ends the script.
measure() {
	id=$1 wanted=$2
	shift 2
	for seed in $wanted; do
		grep -q "^$id $seed sim_time_ns " "$results" && continue
		# shellcheck disable=SC2154
		"$nvwave" run "$@" --seed="$seed" --output-format=json >"$run" || { cat "$run" >&2; exit 1; }
		awk -v id="$id $seed" -F '[":, ]+' '$3 ~ /^-?[0-9]+[.]?[0-9]*$/ { print id, $2, $3 }' "$run" >>"$results"
	done
}

# Functions of the awk programs that print: what is spread over seeds, and how.
# shellcheck disable=SC2016,SC2034
spread='
	# One more value of a key.
	function add(key, x) {
		if (!(key in seen) || x < low[key])
			low[key] = x
		if (!(key in seen) || x > high[key])
			high[key] = x
		seen[key]++
		sum[key] += x
	}
	function mean(key) {
		return sum[key] / seen[key]
	}
	# "mean (lowest to highest)"; of one seed, the value.
	function spread(key, format) {
		if (!(key in seen))
			return "-"
		if (seen[key] == 1)
			return sprintf(format, mean(key))
		return sprintf(format " (" format " " format ")", mean(key), low[key], high[key])
	}
	# The runs: v[id, seed, statistic], and their seeds.
	function take() {
		v[$1, $2, $3] = $4
		if (!(($1, $2) in known)) {
			known[$1, $2] = 1
			seed[$1, ++runs[$1]] = $2
		}
	}
	# Adds a statistic of a run over that of another with the same seed, for each seed that both have.
	function add_ratio(key, id, base, what,   i, s) {
		for (i = 1; i <= runs[id]; i++) {
			s = seed[id, i]
			if (v[base, s, what] > 0)
				add(key, v[id, s, what] / v[base, s, what])
		}
	}
'
