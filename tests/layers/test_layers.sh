#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_layers.sh ROOT: the tree keeps to ARCHITECTURE.md's layers, and includes that do not are found.
set -eu
here=$(dirname "$0")
. "$here/tap.sh"

# found FILE INCLUDE: is this include of this file, in a tree of its own, refused?
found() {
	rm -rf "$folder"/*
	mkdir -p "$folder/lib/pool" "$folder/lib/nvw" "$folder/emu" "$folder/workloads/kv" "$folder/host/preload" "$folder/crashtest/parts" "$folder/${1%/*}"
	touch "$folder/lib/pool/layout.h" "$folder/lib/nvw/pool.h" "$folder/emu/machine.h" "$folder/emu/config.h" \
		"$folder/workloads/kv/plan.h" "$folder/host/session.h" "$folder/crashtest/parts/parts.h"
	echo "#include \"$2\"" >"$folder/$1"
	"$here/layers.py" "$folder" | grep -q "^$1"
}

echo 1..10
"$here/layers.py" "$1" && status=0 || status=$?
ok "$status" no_file_includes_what_its_folder_may_not_know
found emu/a.c workloads/kv/plan.h && status=0 || status=1
ok "$status" the_emulator_is_not_to_know_a_workload
found workloads/kv/a.c pool/layout.h && status=0 || status=1
ok "$status" a_workload_is_not_to_know_the_library_s_internals
found workloads/kv/a.c nvw/pool.h && status=1 || status=0
ok "$status" a_workload_knows_the_public_headers
found recovery/a.c ../emu/machine.h && status=0 || status=1
ok "$status" recovery_is_not_to_know_the_emulator
found host/exec.c config.h && status=0 || status=1
ok "$status" the_host_side_is_not_to_know_the_emulator
found host/preload/libpmem.c nvw/pool.h && status=0 || status=1
ok "$status" what_is_preloaded_is_not_to_know_the_library
found newcomer/a.c stdio.h && status=0 || status=1
ok "$status" a_folder_without_a_layer_is_named
found crashtest/states/a.c ../parts/parts.h && status=0 || status=1
ok "$status" a_room_is_not_to_know_one_above_it
found crashtest/explore/a.c ../parts/parts.h && status=1 || status=0
ok "$status" a_room_knows_those_below_it
