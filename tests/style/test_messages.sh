#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_messages.sh ROOT: every message that a user can meet, printed in a row, keeps to one idiom (scripts/messages.py).
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/cli"
n=0

# ok STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# refused CODE: is a message of this call found wanting?
refused() {
	echo "$1" >"$folder/cli/a.c"
	! "$root/scripts/messages.py" "$folder" >/dev/null && status=0 || status=1
}

echo 1..4
"$root/scripts/messages.py" "$root" >"$folder/all" && status=0 || status=1
grep -e '<--' -e ' messages, ' "$folder/all" | sed 's/^/# /'
ok "$status" every_message_keeps_to_the_idiom
refused 'nvw_fail(NVW_E_USAGE, "Too many options");'
ok "$status" a_capital_letter_is_found
refused 'return x ? nvw_fail(NVW_E_USAGE, "%s: too many"
	" options.", name) : 0;'
ok "$status" a_full_stop_is_found
refused 'nvw_fail(NVW_E_USAGE, "--a has no place beside --b");'
ok "$status" an_inverted_phrase_is_found
