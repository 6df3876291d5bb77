#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# new_protocol.sh [TEST...]: adds a protocol to a copy of the tree by the commands of docs/protocols.md, and builds and runs these tests, or all
# of them, there. The new protocol has to be in the command's list, and nothing may fail: its place in protocols.def is all that tests know of it.
set -eu
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$copy"
commands=$(sed -n '/^## Adding the next/,$s/^    //p' docs/protocols.md)
cd "$copy"
git init -q && git add -A # tests ask git for the tree's files
sh -euc "$commands"
meson setup build -Dtests=true -Dwerror=true >/dev/null
ninja -C build cli/nvwave >build.log || {
	tail -n 40 build.log
	exit 1
}
build/cli/nvwave list protocols | grep -q '^mine ' || {
	echo "the protocol is not in nvwave list protocols" >&2
	exit 1
}
meson test -C build --print-errorlogs "$@"
