# SPDX-License-Identifier: BSD-3-Clause
# Installs what nvwave is built with, on Debian 12, as root. Sourced by demo.sh and test.sh; does nothing, and needs
# no network, when everything is there.

dependencies="gcc g++ libc6-dev meson ninja-build pkg-config python3-minimal libpmem-dev libpmem2-dev liburcu-dev libcmocka-dev
	libpmemobj-dev libinih-dev libjansson-dev libdw-dev libzstd-dev libxxhash-dev libarchive-dev libprotobuf-c-dev protobuf-c-compiler procps gnuplot-nox fonts-dejavu-core"

install_dependencies() {
	missing=
	for package in $dependencies "$@"; do
		if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
			missing="$missing $package"
		fi
	done
	if [ -z "$missing" ]; then
		return 0
	fi
	echo "installing:$missing"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# shellcheck disable=SC2086
	apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# install_optional PACKAGES...: what they are for is skipped, and says so, where they cannot be had.
install_optional() {
	(install_dependencies "$@") || echo "skipped: cannot be installed: $*"
}

# build TARGETS...: builds them in the folder build and shows how far it is: on a terminal in one line, else every
# fiftieth step and the last. Prints what the compiler says; fails if the build does.
build() {
	if [ -t 1 ]; then
		NINJA_STATUS='building %f of %t  ' ninja -C build "$@"
		return
	fi
	{ NINJA_STATUS='building %f of %t  ' ninja -C build "$@" 2>&1 || echo "the build failed"; } |
		awk '/^building/ { if ($2 % 50 == 0 || $2 == $4) { print "building " $2 " of " $4; fflush() } next }
			!/^ninja: / { print } /^the build failed/ { failed = 1 } END { exit failed }'
}
