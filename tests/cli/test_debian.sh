#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_debian.sh ROOT BUILD: the Debian package is made by dpkg-buildpackage, from what is built already, and its command runs without
# an installation. With EVERY_CASE in the environment (./test.sh --all) all of it is built anew, as a user would.
set -u
root=$1
build=$2
if ! command -v dpkg-buildpackage >/dev/null || ! command -v fakeroot >/dev/null || ! (cd "$root" && dpkg-checkbuilddeps); then
	echo "# skipped: dpkg-buildpackage or a package to build with is missing: the Debian package is not made"
	echo "1..1"
	echo "ok 1 - the_package_is_built # SKIP no dpkg-buildpackage"
	exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$root/meson.build" | head -n 1)
n=0

# report CONDITION NAME: a TAP line; what was printed, if it fails
report() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$folder/said" | tail -n 40
		echo "not ok $n - $2"
	fi
}

mkdir "$folder/nvwave"
if [ -n "${EVERY_CASE-}" ]; then
	(cd "$root" && tar -cf - --exclude='./build*' --exclude=./.git --exclude="./$(basename "$build")" .) | tar -xf - -C "$folder/nvwave"
	unset BUILD BUILT
else
	cp -r "$root/debian" "$folder/nvwave"
	export BUILD="$build" BUILT=yes DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
fi
unset DESTDIR MAKEFLAGS MAKELEVEL
echo 1..4
(cd "$folder/nvwave" && dpkg-buildpackage -us -uc -b) >"$folder/said" 2>&1
report $? dpkg_buildpackage_makes_the_package
package=$(find "$folder" -maxdepth 1 -name "nvwave_${version}_*.deb")
dpkg-deb --field "$package" >"$folder/said" 2>&1 && grep -q '^Depends:.*libpmem1.*libarchive13' "$folder/said"
report $? it_depends_on_the_libraries_that_it_needs
mkdir "$folder/tree"
dpkg-deb -x "$package" "$folder/tree" && command=$(find "$folder/tree" -path '*/bin/nvwave') &&
	"$command" run kv --count=20 --batch=10 >"$folder/said" 2>&1 && "$command" run vec-cpy >>"$folder/said" 2>&1 && "$command" --version | grep -q "^nvwave $version" &&
	find "$folder/tree" -path '*/man1/nvwave.1' | grep -q . && find "$folder/tree" -name _nvwave | grep -q . &&
	[ -e "$folder/tree/usr/share/doc/nvwave/copyright" ]
report $? the_command_of_the_package_runs_beside_its_manual_and_completion
for needed in $(sh -c '. "$1/scripts/dependencies.sh"; echo $dependencies' _ "$root"); do
	case $needed in procps | gnuplot-nox | fonts-*) continue ;; esac
	grep -q "[ ,]$needed[,]*" "$root/debian/control" || echo "$needed is no Build-Depends"
done >"$folder/said"
[ ! -s "$folder/said" ] && grep -q "^nvwave ($version) " "$root/debian/changelog"
report $? it_names_the_version_and_what_it_is_built_with
