#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stands in for pmreorder in test_benchmark.sh: runs the checker seven times under ReorderFull, else three times.
set -eu
while [ $# -gt 0 ]; do
	case $1 in
	-r) engine=$2 ;;
	-p) checker=$2 ;;
	-l) log=$2 ;;
	esac
	shift 2
done
file=$(tr '|' '\n' <"$log" | sed -n 's/^REGISTER_FILE;\([^;]*\).*/\1/p' | head -n 1)
times=3
[ "$engine" != ReorderFull ] || times=7
while [ "$times" -gt 0 ]; do
	"$checker" "$file"
	times=$((times - 1))
done
