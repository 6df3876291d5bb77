#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sanitized.sh NVCC LIBRARY SOURCES: CUDA kernels on a machine that has been built with the address and undefined sanitizers. The programs
# have none, so the sanitizer's library is loaded before them.
set -u
nvcc=$(readlink -f "$1") library=$(readlink -f "$2") sources=$(readlink -f "$3")
if ! "$nvcc" -x cu -M /dev/null >/dev/null 2>&1; then
	echo "1..0 # SKIP there is no clang++ with its LLVM"
	exit 0
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/nvwave-sanitized.XXXXXX") || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
count=0

# What ends it is told, and nothing else: programs leave memory to the end of their process.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 NVWAVE_CUDA_LIBRARY="$library" NVWAVE_CUDA_MACHINE=machine.ini

holds() { # NAME EXPECTED COMMAND...
	name=$1 expected=$2
	shift 2
	count=$((count + 1))
	LD_PRELOAD=$(gcc -print-file-name=libasan.so) "$@" >said 2>&1
	if grep -q "$expected" said && ! grep -q -e "runtime error" -e "ERROR: AddressSanitizer" said; then
		echo "ok $count - $name"
	else
		sed 's/^/# /' said
		echo "not ok $count - $name"
	fi
}

"$nvcc" -O1 -o machine "$sources/machine.cu" && "$nvcc" -O1 -o semantics "$sources/semantics.cu" "$sources/parts.cu" &&
	"$nvcc" -O1 -o bad "$sources/bad.cu" && "$nvcc" -O1 -o deep "$sources/deep.cu" && "$nvcc" -O1 -o changes "$sources/changes.cu" || exit 1
for protocol in hlrc vi; do
	printf '[gpu]\nprotocol = %s\n' $protocol >machine.ini
	holds "loads_find_what_stores_left_under_$protocol" "^0 wrong$" ./machine loads
	holds "what_programs_rely_on_holds_under_$protocol" "^all hold$" ./semantics -locks
	holds "files_are_nvram_under_$protocol" "^7 64 1$" ./machine persist1 pool-$protocol
	holds "kernels_see_what_the_host_has_changed_under_$protocol" "^wrong: 0, cudaSuccess" ./changes
	holds "a_stack_that_is_too_deep_is_told_under_$protocol" "(descend): kernel recursion.*its stack of 131072 bytes" ./deep recursion 600
	holds "a_stack_that_is_not_ends_well_under_$protocol" "^cudaSuccess 1" ./deep recursion 200
	holds "a_mistake_ends_the_kernel_under_$protocol" "112 bytes behind the end of the allocation" ./bad behind
done
echo "1..$count"
