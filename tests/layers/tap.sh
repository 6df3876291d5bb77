# SPDX-License-Identifier: BSD-3-Clause
# For tests of the tree: a folder of their own, and lines of TAP.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0

# ok CONDITION-STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}
