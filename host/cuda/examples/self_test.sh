#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# self_test.sh [PROGRAM...]: builds log, hash_table and queue, or those named, in this folder, and crash-tests each as it should be and with each
# of its seeded bugs. A row for each; exit status 1 if a bug is missed or a right program has a finding, 2 if something does not run.
#
# NVWAVE, NVCC: the commands (nvwave, nvwave-nvcc). STATES: crash states of each row (500). OPTIONS: further options of nvwave crash, such as
# --model=epoch for kernels on the machine.
set -u
sources=$(cd "$(dirname "$0")" && pwd)
nvwave=${NVWAVE:-nvwave}
nvcc=${NVCC:-nvwave-nvcc}
states=${STATES:-500}
missed=0

if ! command -v "${NVWAVE_CLANG:-clang++}" >/dev/null && ! command -v clang++-14 >/dev/null; then
	echo "self_test.sh: skipped: there is no clang++" # and no row says that a bug was found
	exit 0
fi

# row PROGRAM BUG STATUS REPORT: the first finding's text and lines.
row() {
	awk -v program="$1" -v bug="$2" -v status="$3" '
		/^(IN)?CONSISTENT/ {
			for (i = 2; i <= NF; i++) {
				if ($i == "of" && failing == "") {
					failing = $(i - 1)
				}
				if ($i == "distinct") {
					distinct = $(i - 1)
				}
			}
		}
		/^ 1  / {
			text = substr($0, 5)
		}
		/  store of .*(durable|lost in flight)$/ && lines < 2 {
			sub(/^.*\//, "", $1)
			text = text (lines++ ? ", " : ": ") $1 " " ($NF == "durable" ? "durable" : "lost")
		}
		END {
			said = bug == "" ? (status ? "FALSE ALARM" : "clean") : (status ? "found" : "MISSED")
			printf "%-10s %-10s %-11s %4s of %4s states  %s\n", program, bug == "" ? "(none)" : bug, said, failing + 0, distinct, text
		}' "$4"
}

# try PROGRAM VERB BATCHES [BUG]
try() {
	rm -f self_test.pool
	"$nvwave" crash --exec="./$1 $2 self_test.pool $3 ${4:-}" --image=self_test.pool --check="./$1 check" --states="$states" ${OPTIONS:-} >self_test.report 2>&1
	status=$?
	rm -f self_test.pool
	if [ "$status" -gt 1 ]; then
		cat self_test.report
		exit 2
	fi
	row "$1" "${4:-}" "$status" self_test.report
	expected=0
	[ $# -lt 4 ] || expected=1
	[ "$status" -eq "$expected" ] || missed=1
	rm -f self_test.report
}

[ $# -gt 0 ] || set -- log hash_table queue
for program; do
	case $program in
	log) verb=append batches=2 bugs="unordered narrow" ;;
	hash_table) verb=insert batches=2 bugs="unordered narrow" ;;
	queue) verb=pass batches=3 bugs="unordered narrow reuse" ;;
	*)
		echo "self_test.sh: there is no program \"$program\": expected log, hash_table or queue" >&2
		exit 2
		;;
	esac
	if [ ! -x "$program" ] || [ -n "$(find "$sources/$program.cu" -newer "$program")" ]; then
		"$nvcc" -O1 -o "$program" "$sources/$program.cu" || exit 2
	fi
	try "$program" $verb $batches
	for bug in $bugs; do
		try "$program" $verb $batches "$bug"
	done
done
exit $missed
