#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# matrix.sh NVCC SOURCES [COMPILER...]: builds and runs programs that check themselves with each compiler (clang++-14, -16 and -19), level of
# optimization, with -g and without, and standard of the language. In TAP; what is not installed is skipped, visibly.
set -u
nvcc=$1 sources=$2
shift 2
[ $# -gt 0 ] || set -- clang++-14 clang++-16 clang++-19
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
number=0
failed=0

# try COMPILER OPTIONS
try() {
	number=$((number + 1))
	if ! command -v "$1" >/dev/null; then
		echo "ok $number - $1 # SKIP $1 is not installed"
		return
	fi
	for program in language ptx; do
		if ! NVWAVE_CLANG=$1 "$nvcc" $2 --extended-lambda -w -o "$folder/$program" "$sources/$program.cu" >"$folder/messages" 2>&1 ||
			! "$folder/$program" >"$folder/messages" 2>&1 || ! grep -q '^all hold$' "$folder/messages" ||
			! NVWAVE_CUDA_LIBRARY=${nvcc%/*}/libnvwave-cuda-machine.so "$folder/$program" >"$folder/messages" 2>&1; then
			sed 's/^/# /' "$folder/messages"
			echo "not ok $number - $program by $1 $2"
			failed=1
			return
		fi
	done
	echo "ok $number - $1 $2"
}

echo "1..$((4 * $#))"
for compiler; do
	try "$compiler" "-O0 -g -std=c++17"
	try "$compiler" "-O1 -std=c++14"
	try "$compiler" "-O2 -g -std=c++20"
	try "$compiler" "-O3 -std=c++17"
done
exit $failed
