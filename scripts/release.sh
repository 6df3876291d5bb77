#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: release.sh --check [TREE]   do meson.build, CHANGELOG.md, CITATION.cff, docs/stable.md, debian/changelog and tests/kept name the same version?
#        release.sh FOLDER           checks that, makes the tarball in a new FOLDER, and builds and tests what is in it, without git
# It tags and uploads nothing: HACKING.md says what comes next.
set -eu

# differs FILE WHAT VERSION
differs() {
	echo "$1: found $2, expected version $3 as in meson.build" >&2
	exit 1
}

check() {
	version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$1/meson.build" | head -n 1)
	top=$(sed -n 's/^## //p' "$1/CHANGELOG.md" | head -n 1)
	[ "$top" = "$version" ] || differs CHANGELOG.md "\"$top\" at the top" "$version"
	cited=$(sed -n 's/^version: //p' "$1/CITATION.cff")
	[ "$cited" = "$version" ] || differs CITATION.cff "\"$cited\"" "$version"
	stable=$(sed -n 's/^The release is \([0-9.]*[0-9]\)\..*/\1/p' "$1/docs/stable.md")
	[ "$stable" = "$version" ] || differs docs/stable.md "\"$stable\"" "$version"
	packaged=$(sed -n '1s/^nvwave (\(.*\)) .*/\1/p' "$1/debian/changelog")
	[ "$packaged" = "$version" ] || differs debian/changelog "\"$packaged\"" "$version"
	[ -e "$1/tests/kept/$version/kept.json" ] || differs tests/kept "no folder of it" "$version"
}

here=$(cd "$(dirname "$0")/.." && pwd)
if [ "${1-}" = --check ]; then
	check "${2-$here}"
	echo "$version"
	exit
fi
if [ $# -ne 1 ]; then
	sed -n 's/^# usage: /usage: /p; s/^#        /       /p' "$0" >&2
	exit 2
fi
check "$here"
mkdir "$1"
out=$(cd "$1" && pwd)
cd "$here"
meson setup "$out/dist" >/dev/null
# Tests run below, where their output is.
meson dist -C "$out/dist" --formats=xztar --no-tests
mv "$out/dist/meson-dist/nvwave-$version.tar.xz"* "$out"
tar -xf "$out/nvwave-$version.tar.xz" -C "$out"
cd "$out/nvwave-$version"
# A repository around the folder is not this tree's.
export GIT_DIR=/nonexistent
meson setup build -Dtests=true -Dwerror=true >/dev/null
ninja -C build all tests >build/build.log || {
	tail -n 40 build/build.log
	exit 1
}
build/cli/nvwave --version
MALLOC_PERTURB_=0 meson test -C build --no-rebuild --print-errorlogs
echo "$out/nvwave-$version.tar.xz builds and passes its tests; HACKING.md says how it is published"
