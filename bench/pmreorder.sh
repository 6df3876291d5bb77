#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The indexed log of host/examples/: time to record so many insertions and to test what a crash could leave between any
# two fences, and the same by pmemcheck and pmreorder. Where pmemcheck is not installed, pmreorder is given a store log that
# nvwave exports. A row: what, images tested, seconds of the whole command, images a second, what of the possible was tested.
#	pmreorder.sh NVWAVE INDEXED_LOG CHECKER.so [INSERTIONS]
# PMEMCHECK_VALGRIND is a valgrind that has pmemcheck, PMREORDER the command of pmreorder, ENGINES its engines to be run.
set -eu
nvwave=$1
program=$2
library=$3
insertions=${4:-1000}
valgrind=${PMEMCHECK_VALGRIND:-valgrind}
pmreorder=${PMREORDER:-pmreorder}
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/nvwave-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM
pool=$dir/pool
export PMEM_IS_PMEM_FORCE=1

now() {
	date +%s.%N
}
# seconds COMMAND: the least of five runs, each on the empty log.
seconds() {
	for _ in 1 2 3 4 5; do
		cp "$dir/empty" "$pool"
		began=$(now)
		"$@" >"$dir/out" 2>&1
		echo "$(now) $began"
	done | awk '{ s = $1 - $2; if (NR == 1 || s < least) least = s } END { printf "%.3f", least }'
}
# row NAME IMAGES SECONDS [REST]
row() {
	awk -v name="$1" -v n="$2" -v s="$3" -v rest="${4:-}" \
		'BEGIN { printf "%-62s %8d %8.2f %8.0f  %s\n", name, n, s, n / s, rest }'
}
# explore NAME OPTION...: distinct states, the time of all of the command.
explore() {
	name=$1
	shift
	began=$(now)
	"$nvwave" crash --states=1073741824 "$@" >"$dir/out" || { cat "$dir/out"; exit 1; }
	took=$(echo "$(now) $began" | awk '{ print $1 - $2 }')
	row "$name" "$(awk 'NR == 1 { gsub(",", ""); match($0, /[0-9]+/); print substr($0, RSTART, RLENGTH) }' "$dir/out")" "$took" \
		"$(sed -n 's/^possible: .*instants; \([0-9.]* %\).*/\1/p' "$dir/out")"
}

"$program" "$pool" 0
cp "$pool" "$dir/empty"
echo "$insertions insertions: the program by itself $(seconds "$program" "$pool" "$insertions") s, recorded \
$(seconds "$nvwave" exec --delays=off --report="$dir/report" --record="$dir/log" -- "$program" "$pool" "$insertions") s"
"$nvwave" log export "$dir/log" >"$dir/lines"
"$nvwave" log export --words "$dir/log" >"$dir/words"

if "$valgrind" --tool=pmemcheck --log-file=/dev/null true >/dev/null 2>&1; then
	recorder=pmemcheck
	echo "under pmemcheck $(seconds "$valgrind" --tool=pmemcheck -q --log-stores=yes --log-stores-stacktraces=yes \
		--print-summary=no --log-file="$dir/words" "$program" "$pool" "$insertions") s"
else
	recorder=export
	echo "pmemcheck is not installed (PMEMCHECK_VALGRIND): its time to record is not measured"
fi

echo
printf '%-62s %8s %8s %8s  %s\n' "every fence interval" images seconds images/s tested
cp "$dir/empty" "$pool"
explore "nvwave crash --exec, x86, checker a library" --exec="$program $pool $insertions" --image="$pool" --check-lib="$library"
explore "nvwave crash --exec, x86, checker served by fork" --exec="$program $pool $insertions" --image="$pool" --check="$program"
explore "nvwave crash --exec, x86, checker executed by a shell" --exec="$program $pool $insertions" --image="$pool" \
	--check="exec '$program'"
for log in lines words; do
	for model in x86 pmreorder; do
		explore "nvwave, $log of the store log, $model, checker a library" --store-log="$dir/$log" --image="$pool" \
			--model=$model --check-lib="$library"
	done
done
explore "nvwave, words of the store log, pmreorder, served by fork" --store-log="$dir/words" --image="$pool" \
	--model=pmreorder --check="$program"

# shellcheck disable=SC2086
if ! command -v ${pmreorder%% *} >/dev/null; then
	echo "pmreorder is not installed (PMREORDER): it is not measured"
	exit 0
fi
# engine ENGINE CHECKER: the stores are made in the file that the log names, beginning with the empty one.
engine() {
	cp "$dir/empty" "$pool"
	# shellcheck disable=SC2086
	$pmreorder -l "$dir/words" -o "$dir/out" -r "$1" -c prog -p "$2" || { cat "$dir/out"; exit 1; }
}
# How often the engine runs its checker is counted, not computed: what an engine skips is its own affair.
printf '#!/bin/sh\necho >>"%s"\n' "$dir/checks" >"$dir/count"
chmod +x "$dir/count"
for name in ${ENGINES:-NoReorderDoCheck ReorderAccumulative}; do
	: >"$dir/checks"
	engine "$name" "$dir/count"
	began=$(now)
	engine "$name" "$program"
	row "pmreorder on the $recorder's log, $name" "$(wc -l <"$dir/checks")" \
		"$(echo "$(now) $began" | awk '{ print $1 - $2 }')"
done
