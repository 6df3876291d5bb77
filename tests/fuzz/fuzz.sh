#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh [--times=N] [TARGET...]: builds the fuzz targets with clang in build-fuzz and runs each, by default all of them,
# for a fixed number of inputs with a fixed seed: half a minute in all. --times=100 does a hundred times as many. What a
# target finds is left in build-fuzz/crash-TARGET-*. The last line says "N targets passed, N failed".
set -eu
cd "$(dirname "$0")/../.."
times=1
targets=
for word in "$@"; do
	case $word in
	--times=*) times=${word#--times=} ;;
	*) targets="$targets $word" ;;
	esac
done

# runs TARGET: how many inputs take some seconds.
runs() {
	case $1 in
	machine) echo 2500 ;;
	pool) echo 5000 ;;
	keys) echo 15000 ;;
	litmus) echo 20000 ;;
	*) echo 40000 ;;
	esac
}

[ -n "$targets" ] || targets="machine keys ycsb graph litmus log finding store_log pool"
programs=cli/nvwave
for target in $targets; do
	programs="$programs tests/fuzz/fuzz_$target"
done
[ -f build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dfuzz=true -Dbuildtype=debug -Doptimization=1 \
	-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all >/dev/null
# shellcheck disable=SC2086
ninja -C build-fuzz $programs >build-fuzz/build.log 2>&1 || { tail -n 40 build-fuzz/build.log; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tests/fuzz/pools.sh build-fuzz/cli/nvwave "$work"
passed=0
failed=0
for target in $targets; do
	mkdir "$work/corpus"
	if FUZZ_POOLS=$work "build-fuzz/tests/fuzz/fuzz_$target" -runs=$(($(runs "$target") * times)) -seed=1 \
		-max_len=4096 -timeout=20 -rss_limit_mb=3000 -close_fd_mask=0 -verbosity=0 \
		-artifact_prefix="build-fuzz/crash-$target-" "$work/corpus" "tests/fuzz/seeds/$target" \
		>"$work/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "fuzz_$target:"
		tail -n 40 "$work/log"
	fi
	rm -rf "$work/corpus"
done
echo "$passed targets passed, $failed failed"
[ "$failed" -eq 0 ]
