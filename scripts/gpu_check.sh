#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gpu_check.sh [--expect=FOLDER | --against=FOLDER] [BUILD]: does a real GPU do what nvwave says?
#
# Builds the tree's CUDA programs, random kernels and litmus tests with nvcc and runs them on the GPU of this machine. What a program prints, and
# its exit status, have to be those under nvwave; random kernels compare themselves with the host; a litmus test may have no final state that
# "nvwave litmus" shows under no protocol. Prints a table. Exit status: 0 all agree, 1 something differs, 2 usage or nvwave fails. Without a GPU or
# nvcc it says so and exits with 0.
#
# nvwave is taken from the build folder (build). Where it cannot be built, --expect=FOLDER on another machine writes what nvwave does (no GPU needed),
# and --against=FOLDER reads it. Needs python3. NVCC names another nvcc; PROGRAMS and ROUNDS are the numbers of random programs of each kind and of
# launches of each litmus test.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$PWD
build=build
expect=
against=
for argument; do
	case $argument in
	--expect=*) expect=$(realpath -m "${argument#*=}") ;;
	--against=*) against=$(realpath -m "${argument#*=}") ;;
	-*) echo "usage: gpu_check.sh [--expect=FOLDER | --against=FOLDER] [BUILD]" >&2; exit 2 ;;
	*) build=$argument ;;
	esac
done
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
count=${PROGRAMS:-40}
litmus="litmus/tests/hrf.litmus litmus/tests/consistency.litmus litmus/tests/loads.litmus"
work=$(mktemp -d)
pools=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$pools"' EXIT

# cudaHostRegister() takes the mapping of a file from a tmpfs (Linux does not pin pages of other file systems), so the file "pool" is there.
# What is run: NAME | SOURCES | OPTIONS | ARGUMENTS, each word of which is a run; + stands for a blank. Each program has a new file "pool".
# Left out: programs about mistakes and refusals, vectors of clang's own (wide.cu), functions of one name in two files (names.cu), and what only a machine with caches or the recorder shows.
programs='
semantics  | tests/host/cuda/semantics.cu tests/host/cuda/parts.cu | -rdc=true                           |
language   | tests/host/cuda/language.cu                           | -std=c++17 --expt-relaxed-constexpr |
intrinsics | tests/host/cuda/intrinsics.cu                         |                                     |
narrow     | tests/host/cuda/narrow.cu                             |                                     |
ptx        | tests/host/cuda/ptx.cu                                |                                     |
weak       | tests/host/cuda/weak.cu                               |                                     |
many       | tests/host/cuda/many.cu                               |                                     |
memory     | tests/host/cuda/memory.cu                             |                                     | copies
libraries  | tests/host/cuda/libraries.cu                          | -std=c++17                          |
library    | tests/host/cuda/library.cu tests/host/cuda/library_host.cpp |                               |
thrust     | tests/host/cuda/thrust.cu                             | -std=c++17 --extended-lambda        |
changes    | tests/host/cuda/changes.cu                            |                                     |
managed    | tests/host/cuda/managed.cu                            | -rdc=true                           |
scopes     | tests/host/cuda/scopes.cu                             |                                     | right race missed
waits      | tests/host/cuda/waits.cu                              |                                     | shared thread sleep
machine    | tests/host/cuda/machine.cu                            |                                     | fences sums many-fences fences-alone persist1 persist2 persist3
publish    | tests/host/cuda/publish.cu                            |                                     | ordered+pool check+pool
both       | tests/host/cuda/both.cu                               | -lpmem                              | run+pool check+pool
vector_add | host/cuda/examples/vector_add.cu                      |                                     |
histogram  | host/cuda/examples/histogram.cu                       |                                     |
matmul     | host/cuda/examples/matmul.cu                          |                                     |
reduction  | host/cuda/examples/reduction.cu                       |                                     |
scan       | host/cuda/examples/scan.cu                            |                                     |
log        | host/cuda/examples/log.cu                             |                                     | append+pool+5 check+pool append+pool+3+fence check+pool
queue      | host/cuda/examples/queue.cu                           |                                     | pass+pool+7 check+pool
hash_table | host/cuda/examples/hash_table.cu                      |                                     | insert+pool+7 check+pool
'

# rows: the table without blanks around its columns.
rows() { grep '|' <<<"$programs" | sed 's/ *| */|/g; s/ *$//'; }

# runs COMPILER NAME SOURCES OPTIONS ARGUMENTS: builds a program and prints what its runs print, each with its exit status.
runs() {
	local folder=$work/programs/$2 sources= source arguments
	mkdir -p "$folder"
	ln -sf "$pools/$2" "$folder/pool"
	for source in $3; do
		sources+=" $root/$source"
	done
	(
		cd "$folder" || exit 1
		# shellcheck disable=SC2086
		if ! $1 -O2 $4 -o "$2" $sources >built 2>&1; then
			echo "does not build: $(grep -m 8 -iE 'error|cannot|undefined' built)"
			exit
		fi
		for arguments in ${5:-+}; do
			echo "\$ ./$2 ${arguments//+/ }"
			# shellcheck disable=SC2086
			timeout 120 "./$2" ${arguments//+/ } 2>&1 | grep -v ' multiprocessors$' # its name differs
			echo "exit status ${PIPESTATUS[0]}"
		done
	)
}

# run_all COMPILER FOLDER: every program; FOLDER/NAME has what it printed.
run_all() {
	local name sources options arguments
	while IFS='|' read -r name sources options arguments; do
		runs "$1" "$name" "$sources" "$options" "$arguments" >"$2/$name" </dev/null &
	done < <(rows)
	wait
}

# expected FOLDER: what nvwave says.
expected() {
	local nvwave=$root/$build/cli/nvwave compiler=$root/$build/host/cuda/nvwave-nvcc
	mkdir -p "$1/programs" || exit 2
	[ -x "$nvwave" ] || { echo "gpu_check.sh: $build has no nvwave: build it, or take --against=FOLDER" >&2; exit 2; }
	run_all "$compiler" "$1/programs"
	# Exit status 1 is a forbidden outcome, which its own tests look for.
	# shellcheck disable=SC2086
	"$nvwave" litmus $litmus --protocol=each --output-format=json >"$1/litmus.json" || [ $? -eq 1 ] || exit 2
	"$nvwave" --version >"$1/version"
}

if [ -n "$expect" ]; then
	expected "$expect"
	exit
fi
if ! gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) || [ -z "$nvcc" ]; then
	echo "skipped: there is no NVIDIA GPU with nvcc here"
	exit 0
fi
if [ -z "$against" ]; then
	against=$work/expected
	expected "$against"
fi
[ -r "$against/version" ] || { echo "gpu_check.sh: $against has no version: expected a folder that --expect=FOLDER has written" >&2; exit 2; }
echo "$gpu; $("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/CUDA \1/p'); $(cat "$against/version"); $(date +%F)"
failed=0
export NVCC_APPEND_FLAGS="-arch=native --extended-lambda"
native="$nvcc -I$work/include"

# Of nvwave's headers nvcc needs this one alone.
mkdir "$work/seen" "$work/include"
cp host/cuda/include/nvw_persist.h "$work/include"
run_all "$native" "$work/seen"
printf '\n%-12s %s\n' program "on the GPU"
while IFS='|' read -r name sources options arguments; do
	if grep -q '^does not build' "$against/programs/$name"; then
		verdict="nvwave-nvcc: $(cat "$against/programs/$name")"
	elif grep -q '^does not build.*libpmem.h' "$work/seen/$name"; then
		verdict="left out: there is no libpmem.h here"
	elif difference=$(diff "$against/programs/$name" "$work/seen/$name"); then
		verdict="as under nvwave"
	else
		verdict="differs (<: nvwave, >: GPU)"$'\n'$(sed 's/^/    /' <<<"$difference" | head -n 40)
		failed=1
	fi
	printf '%-12s %s\n' "$name" "$verdict"
done < <(rows)

printf '\n%-12s %s\n' "random" "on the GPU, against the host"
for kind in random wide arguments; do
	words=
	[ $kind = random ] || words=--$kind
	# shellcheck disable=SC2086
	found=$(tests/host/cuda/test_random.py none "$nvcc" --programs="$count" --machine-every=0 $words 2>&1)
	differ=$(grep -cE '^# [a-z]+-[0-9]+-O[0-3]: ' <<<"$found")
	unbuilt=$(grep -c 'does not build' <<<"$found")
	printf '%-12s of %d programs of 6 kernels %d are right, %d differ, nvcc does not build %d\n' $kind "$count" $((count - differ - unbuilt)) "$differ" "$unbuilt"
	[ "$differ" -eq 0 ] || failed=1
	grep -E -A 6 '^# [a-z]+-[0-9]+-O[0-3]: |does not build' <<<"$found" | cut -c 1-160 | head -n 30
done

echo
# shellcheck disable=SC2086
if python3 tests/host/cuda/gpu_litmus.py source $litmus >"$work/litmus.cu" && $native -w -O2 -o "$work/litmus" "$work/litmus.cu" &&
	"$work/litmus" "${ROUNDS:-480}" 264 >"$work/rows"; then
	python3 tests/host/cuda/gpu_litmus.py judge "$against/litmus.json" "$work/rows" $litmus || failed=1
else
	echo "the litmus tests do not build or run"
	failed=1
fi
exit $failed
