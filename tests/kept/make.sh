#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make.sh BUILD FOLDER: makes the files that later revisions have to read (README.md), and kept.json, which says what they read today.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir "$2"
cd "$2"
# Files name the commands that made them: these have no folders in their names.
PATH=$build/cli:$PATH

# A run that --limit cuts off leaves its pool as a power cut would.
cut_off() {
	nvwave run "$@" >run.out 2>&1 || grep -q -- --limit run.out
	rm run.out
}
cut_off btree --count=64 --preload=40 --batch=64 --group-size=16 --limit=10us --pool=btree --log=btree.log
cut_off kv --count=60 --preload=20 --batch=60 --mix=put=60,delete=40 --limit=10us --pool=kv
cut_off tiered --count=64 --words=2 --groups=1 --group-size=16 --machine=near-far --table-device=far --limit=5us --pool=tiered
nvwave crash btree --count=40 --preload=40 --batch=40 --group-size=8 --states=300 --mutate=update-before-log --cures=off --save=found >crash.out || true
mv found/finding-1 btree.finding
cp "$build/host/append_log" .
rm -f /tmp/append
nvwave exec --delays=off --record=append.log -- ./append_log /tmp/append 3 >exec.out 2>&1
rm -r found /tmp/append append_log ./*.out
xz -9e btree kv tiered tiered.1 append.log.image
"$here/../cli/test_kept.py" nvwave "$build/host/append_log" . --make
