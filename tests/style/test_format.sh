#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_format.sh ROOT: every C file is as .clang-format lays it out, and a file that is not is found. Tables that read
# as their paper prints them stand between "clang-format off" and "clang-format on".
set -eu
n=0

# ok CONDITION-STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

if ! command -v clang-format >/dev/null; then
	echo "1..0 # SKIP clang-format is not installed"
	exit 0
fi
cd "$1"

# formatted FOLDERS...: is every C file below as the formatter would leave it? Names those that are not.
formatted() {
	find "$@" -name '*.[ch]' -not -path '*/build*/*' -print0 | xargs -0 clang-format --dry-run -Werror 2>&1 |
		sed -n 's/^\([^ ]*\): error: .*/# \1: run clang-format -i on it/p' | sort -u >"$found"
	head -n 10 "$found"
	[ ! -s "$found" ]
}

found=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$found" "$folder"' EXIT
echo 1..2
formatted bench cli crashtest docs emu host lib litmus papers recovery tests workloads && status=0 || status=$?
ok "$status" every_c_file_is_formatted
cp .clang-format "$folder"
printf 'int  f( void ) { return 1; }\n' >"$folder/a.c"
formatted "$folder" >/dev/null && status=1 || status=0
ok "$status" a_file_that_is_not_formatted_is_found
