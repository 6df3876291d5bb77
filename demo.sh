#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs what is missing, builds, and crash-tests two structures on an emulated GPU with persistent memory: as they
# are, and with a persist barrier left out. On Debian 12, as root.
set -eu
cd "$(dirname "$0")"
. scripts/dependencies.sh

install_dependencies
[ -f build/build.ninja ] || meson setup build >build-setup.log 2>&1 || { cat build-setup.log; exit 2; }
rm -f build-setup.log
ninja -C build >/dev/null
nvwave=build/cli/nvwave

try() {
	echo
	echo "\$ nvwave $*"
	status=0
	"$nvwave" "$@" || status=$?
	[ "$status" -lt 2 ]
}

try crash kv --mode=kill --count=2000 --batch=64 --states=50
try crash kv --mode=observed --count=2000 --preload=500 --batch=64
try crash kv --mode=observed --count=2000 --preload=500 --batch=64 --mutate=publish-before-value
try crash btree --mode=observed --count=600 --preload=300 --batch=200 --group-size=64
try crash btree --mode=observed --count=600 --preload=300 --batch=200 --group-size=64 --mutate=update-before-log
# What this machine's hardware hides, and the model permits: a barrier of too narrow a scope.
try crash btree --count=600 --preload=300 --batch=200 --group-size=64 --mutate=narrow-scope --model=buffered-epoch
