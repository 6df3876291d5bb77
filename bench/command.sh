#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command's own speed: command.sh NVWAVE
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
run kv --count=200000
run kv --count=400000
run btree --count=200000
run btree --count=400000
states kv --count=2000 --preload=500 --batch=64
states btree --count=600 --preload=300 --batch=200 --group-size=64
