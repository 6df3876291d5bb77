#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: revision.sh VERSION. The version with the revision of this tree: 0.1.0-888-g7ed8afe is commit 7ed8afe, the 888th after the
# version's tag (v0.1.0), or without one after the first commit; -dirty: with changes that are not committed. A tarball has the revision of
# the tree that it was made of in the file REVISION, which meson dist calls this script for.
set -eu

version=$1
export GIT_OPTIONAL_LOCKS=0
if [ -n "${MESON_DIST_ROOT-}" ]; then
	dist=$MESON_DIST_ROOT
	unset MESON_DIST_ROOT
	"$0" "$version" >"$dist/REVISION"
	exit
fi
cd "$(dirname "$0")/.."
# A tree within another one's repository is none of its revisions.
if ! top=$(git rev-parse --show-toplevel 2>/dev/null) || ! [ "$top" -ef . ] || ! git rev-parse -q --verify HEAD >/dev/null; then
	cat REVISION 2>/dev/null || echo "$version (revision unknown: built without git)"
	exit
fi
if described=$(git describe --tags --long --dirty --abbrev=7 --match="v$version" 2>/dev/null); then
	echo "${described#v}"
	exit
fi
# A clone without its history cannot be counted.
count=-$(($(git rev-list --count HEAD) - 1))
[ "$(git rev-parse --is-shallow-repository)" = false ] || count=
echo "$version$count-g$(git describe --always --dirty --abbrev=7 --exclude='*')"
