#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_random.sh PROGRAM: the random tester finds every value right under every kind of protocol, and a wrong one where an
# L1 keeps its copies (a planted fault).
set -eu
program=$1
n=0

# ok STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

few="gpu.cus=4 l1.size=64KiB footprint=131072 length=400 episodes=4"
protocols="vi gd rsp dd dh hlrc rfo wt quickrelease stc-nv tcs"
echo 1..4
status=0
for protocol in $protocols; do
	# shellcheck disable=SC2086
	"$program" $few lanes=16 length=60 protocol="$protocol" >/dev/null || status=1
done
ok "$status" every_value_is_right_under_every_kind_of_protocol
# shellcheck disable=SC2086
said=$("$program" $few fault="invalidate local L1" 2>&1 >/dev/null) && status=1 || status=0
ok "$status" a_stale_copy_ends_with_another_status
case $said in *"wrong values; episode "*" instead of "*) status=0 ;; *) status=1 ;; esac
[ "$status" -eq 0 ] || echo "# $said"
ok "$status" a_stale_copy_is_named_with_its_word
said=$("$program" footprint=10 2>&1 >/dev/null) && status=1 || status=0
case $said in *"footprint"*) ;; *) status=1 ;; esac
ok "$status" a_footprint_that_is_too_small_is_refused
