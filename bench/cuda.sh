#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The same kernels by the two doors: CUDA sources by nvwave-nvcc under nvwave exec, and nvwave's macros. Work-item memory operations per second of
# user time beside each other, in pairs that take turns: medians, least and greatest. The pairs share the machine's noise, so ratios are
# steadier than times; where it does much besides, even they spread.
#	cuda.sh NVWAVE NVCC MACROS CUDA-SOURCE [LAUNCHES]
# PART=N does 1/N of the work: one pair of one launch.
set -eu
nvwave=$1
nvcc=$2
macros=$3
source=$4
launches=${5:-8}
pairs="1 2 3 4 5"
if [ "${PART:-1}" -gt 1 ]; then
	pairs=1
	launches=1
fi
if ! "$nvcc" -x cu -M /dev/null >/dev/null 2>&1; then
	echo "# skipped: there is no clang++ with its LLVM"
	exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/nvwave-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM
"$nvcc" -O2 -I "$(dirname "$source")" -o "$dir/cuda" "$source"

echo "hlrc on gope18, 65536 work-items, $launches launches: operations per second of user time, CUDA beside macros"
for kernel in saxpy sum hash; do
	: >"$dir/pairs"
	for _ in $pairs; do
		"$nvwave" exec --report="$dir/report" --machine=gope18 --protocol=hlrc -- "$dir/cuda" $kernel "$launches" >"$dir/one"
		"$macros" gope18 hlrc $kernel "$launches" >"$dir/other"
		paste -d ' ' "$dir/one" "$dir/other" >>"$dir/pairs"
	done
	awk '{ print $4 / $1, $1, $4, $3, $6 }' "$dir/pairs" | sort -n | awk -v kernel=$kernel '
		{ ratio[NR] = $1; cuda[NR] = $2; macro[NR] = $3; operations = $4; others = $5 }
		END { m = int((NR + 1) / 2)
			printf "%-6s %5.2f (%.2f to %.2f)  ns an operation: %6.1f and %6.1f  operations: %d and %d\n", kernel,
				ratio[m], ratio[1], ratio[NR], cuda[m], macro[m], operations, others }'
done
