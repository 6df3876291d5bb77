#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fetches the source package of the fio that is installed, unpacks and configures it: fetch_fio.sh DIR leaves in DIR
# what -Dfio_src=DIR takes (docs/fio-engine.md). On Debian, as root. The machine's own sources of packages say where from; its
# lists of packages stay as they are. Does nothing when DIR has been configured already.
set -eu

if [ $# -ne 1 ]; then
	echo "usage: $0 DIR" >&2
	exit 2
fi
if [ -f "$1/config-host.h" ]; then
	exit 0
fi
. "$(dirname "$0")/dependencies.sh"
install_dependencies fio dpkg-dev make
installed=$(dpkg-query -W -f='${Version}' fio)
source=$(dpkg-query -W -f='${source:Version}' fio)

# Of the line "fio | VERSION | ADDRESS SUITE/COMPONENT ARCHITECTURE Packages", where the sources are.
origin() {
	apt-cache madison fio | awk -F' *\\| *' -v version="$installed" \
		'$2 == version && $3 ~ /Packages$/ { split($3, word, " "); split(word[2], place, "/"); print word[1], place[1], place[2]; exit }'
}
from=$(origin)
if [ -z "$from" ]; then
	apt-get update -qq
	from=$(origin)
fi
if [ -z "$from" ]; then
	echo "$0: fio $installed is installed, but no source of packages has it (apt-cache madison fio)" >&2
	exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt fetches as another user
mkdir -p "$work/lists/partial" "$work/archives/partial"
echo "deb-src $from" >"$work/sources"
own_apt() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
		-o Dir::Cache="$work" -o APT::Sandbox::User=root "$@"
}
own_apt update
(cd "$work" && own_apt source --only-source "fio=$source" >log 2>&1) || { cat "$work/log" >&2; exit 1; }
(cd "$work"/fio-*/ && ./configure --disable-native >../log 2>&1) || { tail -n 20 "$work/log" >&2; exit 1; }
mkdir -p "$(dirname "$1")"
rm -rf "$1"
mv "$work"/fio-*/ "$1"
