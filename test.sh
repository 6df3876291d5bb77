#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing, builds in three ways and runs the tests: optimised with gcc, as demo.sh does;
# debug with address and undefined sanitizers (the emulator's own checks are on in it); and what has threads with thread
# sanitizer. Each test runs in one of the first two (tests/meson.build). clang reads every file without a warning.
# On Debian 12, as root.
# A few planted faults are tried (tests/faults). With --all each test runs in both builds, and there are also: every
# planted fault, a few mutants, libFuzzer, hundreds of random CUDA kernels, each action of each protocol left out, 60 small
# runs of each structure with parts, whose states are all tried, 94 runs whose states a second definition makes, four
# bugs at once, a cluster (Slurm), every table read by R, and CUDA programs by clang 14, 16 and 19, which it installs where they can be had.
# Each stage says how long it took. The last line says "N passed, N failed, N skipped".
set -eu
cd "$(dirname "$0")"
faults=--sample=3
# A build's targets and suites; with --all everything. "default": what it builds by default, and what these tests need.
plain="default --no-suite=sanitized"
sanitized="sanitized-tests --suite=sanitized"
if [ $# -gt 0 ]; then
	if [ "$*" != --all ]; then
		echo "usage: ./test.sh [--all]" >&2
		exit 2
	fi
	faults=--all
	plain="all tests --suite=unit"
	sanitized=$plain
fi
. scripts/dependencies.sh

install_dependencies clang llvm-14-dev liblmdb-dev libsqlite3-dev libleveldb-dev libcu++-dev libcub-dev libthrust-dev clang-format libclang-rt-14-dev fio gdb mandoc protobuf-compiler zsh
if [ "$faults" = --all ]; then
	# The matrix of CUDA compilers; each by itself, since not every Debian has each.
	install_optional python3-clang-14 # tests/faults/mutants.py
	install_optional clang-14
	install_optional clang-16 llvm-16-dev
	install_optional clang-19 llvm-19-dev
	install_optional r-base-core
	install_optional afl++
	install_optional slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
	export FOUR_BUGS=1 CLUSTER=1 EVERY_CASE=1
fi
passed=0
failed=0
skipped=0
# What failed is named once more at the end, where a reader of a long log looks first.
failures=$(mktemp)
besides=$(mktemp -d)
trap 'rm -rf "$failures" "$besides"' EXIT

# count FOLDER STATUS: adds up the subtests of a build's last test run, which ended with this status.
count() {
	log=$1/meson-logs/testlog.txt
	# shellcheck disable=SC2046
	set -- "$1" "$2" $(scripts/count_tests.sh "$log")
	passed=$((passed + $3))
	failed=$((failed + $4))
	skipped=$((skipped + $5))
	# A test that dies or hangs has no line of its own.
	if [ "$2" -ne 0 ] && [ "$4" -eq 0 ]; then
		failed=$((failed + 1))
	fi
	grep '^# skipped:' "$log" || true
	if [ "$status" -ne 0 ]; then
		scripts/failed_tests.py "${log%.txt}.json" | sed "s|^failed: |failed: $folder: |" >>"$failures"
	fi
}

# setup FOLDER MESON-OPTIONS...
setup() {
	[ -f "$1/build.ninja" ] || meson setup -Dtests=true "$@" >/dev/null
}

# build_and_test FOLDER "TARGETS SUITE" MESON-OPTIONS...
build_and_test() {
	folder=$1
	targets=${2% *}
	suite=${2##* }
	began=$(date +%s)
	shift 2
	echo "== $folder: $*"
	setup "$folder" "$@"
	case $targets in
	default) targets=$(scripts/default_targets.py "$folder") ;;
	esac
	# shellcheck disable=SC2086
	ninja -C "$folder" $targets >"$folder/build.log" 2>&1 || {
		tail -n 40 "$folder/build.log"
		echo "failed: $folder: it does not build" >>"$failures"
		failed=$((failed + 1))
		return 0
	}
	status=0
	# Two more at once than there are cores: many a test waits for what it has started. Meson has malloc() fill what it
	# gives and takes, which doubles the time of tests with large results: the address sanitizer fills as well.
	MALLOC_PERTURB_=0 meson test -C "$folder" --no-rebuild "$suite" --print-errorlogs --timeout-multiplier 3 --num-processes "$(($(nproc) + 2))" || status=$?
	count "$folder" "$status"
	echo "== took $(($(date +%s) - began)) s"
}

# fio's headers, for its ioengine; without them the engine's tests are skipped.
fio_src=
if scripts/fetch_fio.sh build-fio; then
	fio_src=build-fio
fi
# one_of NAME COMMAND...: a stage that passes or fails as one.
one_of() {
	stage=$1
	began=$(date +%s)
	echo "== $stage"
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "failed: $stage" >>"$failures"
		failed=$((failed + 1))
	fi
	echo "== took $(($(date +%s) - began)) s"
}

# beside NAME COMMAND...: the same beside the stages that follow, where these leave a core idle. It is reported and counted at the end.
beside() {
	{
		passed=0
		failed=0
		one_of "$@"
		echo "$passed $failed" >"$besides/$1.count"
	} >"$besides/$1.log" 2>&1 &
}

readers_with_tsan() {
	setup build-tsan -Dwerror=true -Doptimization=1 -Db_sanitize=thread -Dc_args=-g1
	nice ninja -C build-tsan tests/test_host-readers >build-tsan/build.log 2>&1 || {
		tail -n 40 build-tsan/build.log
		return 1
	}
	nice build-tsan/tests/test_host-readers
}

beside build-tsan readers_with_tsan

# Sanitized code makes gcc warn of what is not there; the other builds have warnings as errors. A higher level of
# optimisation would take twice as long to compile as it would save in the tests. Variables in the debugging information,
# and checks of objects' sizes, which the address sanitizer does as well, would make half more to compile. Undefined
# behaviour ends a program by SIGILL, without a text: the texts make programs three times as large (HACKING.md).
set -- -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined "-Dc_args=-g1 -fno-sanitize=object-size -fsanitize-undefined-trap-on-error"
# What fails here is built again by its stage, and reported there.
{ setup build-sanitize "$@" && nice ninja -C build-sanitize "${sanitized% *}"; } >/dev/null 2>&1 &
ahead=$!

build_and_test build-release "$plain" -Dwerror=true -Dfio_src="$fio_src"

# All of them in a copy of the tree a core, four at most: each copy is built.
copies=1
if [ "$faults" = --all ]; then
	copies=$(nproc)
	[ "$copies" -le 4 ] || copies=4
fi
beside "planted faults: $faults" tests/faults/faults.py "$faults" "--jobs=$copies"
beside "clang reads every file without a warning" tests/style/clang.py build-release

# Freed memory is watched until another 8 MiB are freed: the default of 256 MiB makes each fork slow.
export ASAN_OPTIONS=quarantine_size_mb=8
wait "$ahead" || true
build_and_test build-sanitize "$sanitized" "$@"
if [ "$faults" = --all ]; then
	one_of "fuzz targets" tests/fuzz/fuzz.sh
	one_of "causes of all seeded bugs" tests/crashtest/causes.py --own --states=1000 --least=95 --nvwave build-release/cli/nvwave --tree .
	one_of "states of small runs by a second definition of the models" tests/crashtest/second_definition.py --runs=94 --most=4000 build-release/cli/nvwave build-release/tests/judge
	one_of "patches of the cures of all seeded bugs" tests/crashtest/patches.py --all --nvwave build-release/cli/nvwave --build "$PWD/build-release" --tree .
	one_of "10,000 damaged pools" tests/cli/test_damage.py build-release/cli/nvwave build-release/tests/cli/unsaid.so 10000
	one_of "every state of small runs, by parts and as a whole" env PARTS_SEEDS=60 build-release/tests/test_parts-exact
	one_of "every seeded bug by parts alone, under every model" env PARTS_SEEDS=1 build-release/tests/test_parts-bugs
fi
if [ "$faults" = --all ]; then
	if [ -e /usr/lib/python3/dist-packages/clang/cindex.py ]; then
		one_of "a sample of mutants" tests/faults/mutants.py --folder="$PWD/build-mutants" --sample=20 --most=15 --least=40
	fi
	one_of "the whole suite with a protocol added as docs/protocols.md says" tests/emu/new_protocol.sh
	one_of "each action of each protocol left out" build-release/cli/nvwave torture --faults
	one_of "random CUDA kernels" tests/host/cuda/test_random.py build-release/cli/nvwave build-release/host/cuda/nvwave-nvcc --programs=100
	one_of "random CUDA kernels, more of the language" tests/host/cuda/test_random.py build-release/cli/nvwave build-release/host/cuda/nvwave-nvcc --wide --programs=20 --kernels=12
	one_of "random CUDA kernels, arguments of all kinds" tests/host/cuda/test_random.py build-release/cli/nvwave build-release/host/cuda/nvwave-nvcc --arguments --programs=20 --kernels=12
	one_of "CUDA programs by each clang, at each level" tests/host/cuda/matrix.sh build-release/host/cuda/nvwave-nvcc tests/host/cuda
	one_of "litmus tests as CUDA sources" tests/host/cuda/litmus_cuda.py build-release/cli/nvwave build-release/host/cuda/nvwave-nvcc vi,gh,hlrc,dd tests/host/cuda/ptx.litmus
fi
wait
for log in "$besides"/*.log; do
	cat "$log"
	if [ -f "${log%.log}.count" ]; then
		read -r also_passed also_failed <"${log%.log}.count"
		passed=$((passed + also_passed))
		failed=$((failed + also_failed))
	else
		echo "failed: $(basename "$log" .log) ended before its count" >>"$failures"
		failed=$((failed + 1))
	fi
done

cat "$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
