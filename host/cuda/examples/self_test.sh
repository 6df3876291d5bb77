#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# self_test.sh [PROGRAM...]: builds log, hash_table and queue, or those named, in this folder, and runs nvwave crash --self-test of each with
# its list of bugs. Exit status 1 if a bug is missed or a right program has a finding, 2 if something does not run.
#
# NVWAVE, NVCC: the commands (nvwave, nvwave-nvcc). STATES: crash states of each row (500). OPTIONS: further options of nvwave crash, such as
# --model=epoch for kernels on the machine.
set -u
sources=$(cd "$(dirname "$0")" && pwd)
worst=0

if ! command -v "${NVWAVE_CLANG:-clang++}" >/dev/null && ! command -v clang++-14 >/dev/null; then
	echo "self_test.sh: skipped: there is no clang++" # and no row says that a bug was found
	exit 0
fi
[ $# -gt 0 ] || set -- log hash_table queue
for program; do
	case $program in
	log) work="append self_test.pool 2" ;;
	hash_table) work="insert self_test.pool 2" ;;
	queue) work="pass self_test.pool 3" ;;
	*)
		echo "self_test.sh: there is no program \"$program\": expected log, hash_table or queue" >&2
		exit 2
		;;
	esac
	if [ ! -x "$program" ] || [ -n "$(find "$sources/$program.cu" -newer "$program")" ]; then
		"${NVCC:-nvwave-nvcc}" -O1 -o "$program" "$sources/$program.cu" || exit 2
	fi
	"${NVWAVE:-nvwave}" crash --self-test --exec="./$program $work" --image=self_test.pool --check="./$program check" \
		--bugs="$sources/$program.bugs" --states="${STATES:-500}" ${OPTIONS:-}
	status=$?
	[ $status -le $worst ] || worst=$status
done
exit $worst
