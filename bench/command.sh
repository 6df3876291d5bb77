#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command's own speed: command.sh NVWAVE. PART=N does 1/N of the work.
set -eu
run() {
	printf '%-44s' "$*"
	"$nvwave" run "$@" | awk '/^host_op_rate/ { printf "%8.2f M operations/s\n", $2 / 1e6 }'
}
states() {
	printf '%-44s' "observed $*"
	"$nvwave" crash "$@" --mode=observed | head -n 1
}
nvwave=$1
part=${PART:-1}
for workload in kv btree; do
	run $workload --count=$((200000 / part))
	run $workload --count=$((400000 / part))
done
states kv --count=$((2000 / part + 1)) --preload=$((500 / part)) --batch=64
states btree --count=$((600 / part + 1)) --preload=$((300 / part)) --batch=200 --group-size=64
