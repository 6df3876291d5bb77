#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_maps.sh ROOT: the README of a folder names each C file, and a file without a name and a name without a file are found.
set -eu
here=$(dirname "$0")
. "$here/tap.sh"

# says TEXT FILE README: what is said of a tree with this file and this text in its folder's README; "" for nothing.
says() {
	rm -rf "$folder"/*
	mkdir -p "$folder/${2%/*}"
	touch "$folder/$2"
	echo "exec.c" >"$folder/ARCHITECTURE.md"
	mkdir -p "$folder/emu"
	touch "$folder/emu/exec.c"
	echo "$3" >"$folder/${2%/*}/README.md"
	[ "$("$here/maps.py" "$folder")" = "$1" ]
}

echo 1..6
"$here/maps.py" "$1" && status=0 || status=$?
ok "$status" the_readme_of_each_folder_names_its_files
says "cli/a.c: no README names it" cli/a.c "Nothing." && status=0 || status=1
ok "$status" a_file_without_a_name_is_found
says "cli/README.md: there is no b.c" cli/a.c "\`a.c\`, \`b.c\`" && status=0 || status=1
ok "$status" a_name_without_a_file_is_found
says "" cli/cmd_run.c "A command is \`cmd_NAME.c\`." && status=0 || status=1
ok "$status" capitals_stand_for_any_name
says "emu/exec.c: no README names it" emu/exec.c "The machine." && status=0 || status=1
ok "$status" architecture_stands_for_no_readme
says "cli/exec.c: no README names it" cli/exec.c "Nothing." && status=0 || status=1
ok "$status" a_file_of_the_same_name_elsewhere_does_not_count
