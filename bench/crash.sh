#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Crash states a second: structures with their own recovery and check, and store logs with checkers from elsewhere.
# usage: crash.sh NVWAVE [CC]; PART=N does 1/N of the work.
set -eu

nvwave=$1
cc=${2:-cc}
part=${PART:-1}
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The verdict line says how many distinct images a second.
rate() { head -n 1 | sed 's/.*, \([0-9,]*\)\/s$/\1/'; }

row() { # name, arguments
	name=$1
	shift
	printf '%-44s %12s %12s\n' "$name" "$("$nvwave" crash "$@" --jobs=1 | rate)" "$("$nvwave" crash "$@" --jobs=2 | rate)"
}

printf '%-44s %12s %12s\n' 'distinct images a second, with recovery' '1 process' '2 processes'
for mode in --mode=observed --model=epoch --model=buffered-epoch; do
	row "kv, 600 puts, 0.5 MiB pool, ${mode#--*=}" kv --count=$((600 / part + 1)) --states=$((20000 / part + 1)) "$mode"
	row "kv, 4,000 puts, 1 MiB pool, ${mode#--*=}" kv --count=$((4000 / part + 1)) --states=$((10000 / part + 1)) "$mode"
	row "btree, 600 inserts, ${mode#--*=}" btree --count=$((600 / part + 1)) --states=$((20000 / part + 1)) "$mode"
	row "btree, 60,000 inserts, 9 MiB pool, ${mode#--*=}" btree --count=$((60000 / part + 1)) --states=$((2000 / part + 1)) "$mode"
done

# A store log of so many fences with so many flushed stores before each, in lines of their own.
make_log() { # stores a fence, fences
	awk -v n="$1" -v fences="$2" 'BEGIN {
		printf "START|REGISTER_FILE;%s;0x10000;0x100000;0x0|", "pool"
		for (f = 0; f < fences; f++) {
			for (i = 0; i < n; i++)
				printf "STORE;0x%x;0x%x;0x8|", 65536 + 64 * (f * n + i), f * n + i + 1
			for (i = 0; i < n; i++)
				printf "FLUSH;0x%x;0x40|", 65536 + 64 * (f * n + i)
			printf "FENCE|"
		}
		print "STOP"
	}' > "$dir/log"
}

printf '#include <nvw/checker.h>\nint nvw_check(struct nvw_check *c) { return c->bytes == 0; }\n' > "$dir/lib.c"
"$cc" -shared -fPIC -O2 "-I$here/lib" "$dir/lib.c" -o "$dir/lib.so"
head -c 1048576 /dev/zero > "$dir/pool"

permutations() { # sequences of up to n different stores
	awk -v n="$1" 'BEGIN { t = 1; for (k = 1; k <= n; k++) { p = 1; for (i = 0; i < k; i++) p *= n - i; t += p } print t }'
}

fences=$((part > 1 ? 2 : 50))
printf '\n%-34s %10s %12s %14s %16s\n' "store log, $fences fences, library" images 'images/s' 'checker runs' 'by permutation'
for n in 4 6 7 8; do
	make_log "$n" "$fences"
	"$nvwave" crash "--store-log=$dir/log" "--image=$dir/pool" "--check-lib=$dir/lib.so" --model=pmreorder > "$dir/out"
	images=$(sed -n '1s/^[^0-9]*\([0-9,]*\) .*/\1/p' "$dir/out")
	printf '%-34s %10s %12s %14s %16s\n' "$n stores a fence, pmreorder" "$images" "$(rate < "$dir/out")" "$images" \
		"$(($(permutations "$n") * fences))"
done
make_log $((part > 1 ? 4 : 20)) 1
row "$((part > 1 ? 4 : 20)) stores, library, x86" "--store-log=$dir/log" "--image=$dir/pool" "--check-lib=$dir/lib.so" --states=1048576
make_log 9 $((part > 1 ? 1 : 4))
row "9 stores, $((part > 1 ? 1 : 4)) fences, command, x86" "--store-log=$dir/log" "--image=$dir/pool" --check=true
