#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fetches the source package of the fio that is installed, unpacks and configures it: fetch_fio.sh DIR leaves in DIR
# what "meson configure -Dfio_src=DIR" takes. On Debian, as root (dpkg-dev is installed if it is missing). The machine's own
# sources of packages say where from; its lists of packages stay as they are. Does nothing when DIR is there already.
set -eu

if [ $# -ne 1 ]; then
	echo "usage: $0 DIR" >&2
	exit 2
fi
if [ -f "$1/config-host.h" ]; then
	exit 0
fi
. "$(dirname "$0")/dependencies.sh"
install_dependencies fio dpkg-dev gcc libc6-dev make
version=$(dpkg-query -W -f='${Version}' fio)
# "fio | VERSION | ADDRESS SUITE/COMPONENT ARCHITECTURE Packages"
binary=$(apt-cache madison fio | awk -F'|' -v version="$version" '$2 ~ version && $3 ~ /Packages/ { print $3; exit }')
if [ -z "$binary" ]; then
	echo "$0: no source of packages has fio $version (apt-cache madison fio)" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
chmod 755 "$work" # apt fetches as another user
echo "$binary" | awk '{ split($2, place, "/"); print "deb-src", $1, place[1], place[2] }' >"$work/sources"
own_apt() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
		-o Dir::Cache="$work" "$@"
}
own_apt update
(cd "$work" && own_apt -o APT::Sandbox::User=root source --only-source "fio=$version" >source.log 2>&1) ||
	{ cat "$work/source.log" >&2; exit 1; }
(cd "$work"/fio-*/ && ./configure >configure.log 2>&1) || { tail -n 20 "$work"/fio-*/configure.log >&2; exit 1; }
mkdir -p "$(dirname "$1")"
rm -rf "$1"
mv "$work"/fio-*/ "$1"
