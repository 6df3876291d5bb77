#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_locks.sh NVWAVE NVWAVE-CC PROGRAM.c: recording takes no lock of the dynamic linker while it holds its own. A thread that runs a
# constructor for dlopen() has the linker's lock; it maps or flushes a file while another thread does, and neither waits for ever.
set -eu
nvwave=$(readlink -f "$1")
wrapper=$(readlink -f "$2")
source=$(readlink -f "$3")
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/nvwave-locks-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM
cd "$dir"
n=0
cc -O1 -g -fPIC -shared -DLIBRARY -o library.so "$source" -pthread
cc -O1 -g -o plain "$source" -pthread -ldl
"$wrapper" cc -O1 -g -o announced "$source" -pthread -ldl

echo 1..4
for program in plain announced; do
	for what in map flush; do
		n=$((n + 1))
		rm -f pool
		status=0
		timeout -k 1 60 "$nvwave" exec --delays=off --report=report --record="log-$program-$what" -- \
			"./$program" ./library.so $what pool || status=$?
		[ $status -eq 0 ] && echo "ok $n - ${program}_${what}_in_a_constructor_of_dlopen_and_beside_it_end" ||
			echo "not ok $n - ${program}_${what}_in_a_constructor_of_dlopen_and_beside_it_end # status $status"
	done
done
