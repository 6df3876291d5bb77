#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_circles.sh ROOT BUILD: the calls between the files of a library go one way, and circles are found.
set -eu
here=$(dirname "$0")
. "$here/tap.sh"

# A library of three files of which each calls the next; "$1" is what the last one does.
library() {
	rm -rf "$folder"/*
	mkdir -p "$folder/build/lib/x.a.p"
	echo 'void b(void); void a(void); void a(void) { b(); }' >"$folder/a.c"
	echo 'void c(void); void b(void); void b(void) { c(); }' >"$folder/b.c"
	echo "$1" >"$folder/c.c"
	for i in a b c; do
		cc -c "$folder/$i.c" -o "$folder/build/lib/x.a.p/$i.c.o"
		echo "{\"directory\": \"$folder/build\", \"file\": \"../$i.c\", \"output\": \"lib/x.a.p/$i.c.o\"}"
	done | paste -s -d, | sed 's/.*/[&]/' >"$folder/build/compile_commands.json"
}

# circles KNOWN: prints what is wrong with the library.
circles() {
	printf '%s\n' "$1" >"$folder/known"
	"$here/circles.py" "$folder" "$folder/build" "$folder/known"
}

closed='void a(void); void c(void); void c(void) { a(); }'
open='void c(void); void c(void) { }'
table='void a(void); void c(void); void (*const c_table[])(void) = {a}; void c(void) { }'

echo 1..6
"$here/circles.py" "$1" "$2" >&2 && status=0 || status=$?
ok "$status" no_files_call_each_other_in_a_circle_but_those_that_are_listed
library "$closed"
circles '' | grep -q 'c.c calls a.c: a' && status=0 || status=1
ok "$status" a_circle_is_found_with_its_calls
circles '# a reason
a.c
b.c
c.c' >/dev/null && status=0 || status=1
ok "$status" a_listed_circle_may_stand
circles '# a reason
a.c
b.c' | grep -q 'does not list' && status=0 || status=1
ok "$status" a_listed_circle_may_not_grow
library "$open"
circles '# a reason
a.c
b.c
c.c' | grep -q '^b.c is listed' && status=0 || status=1
ok "$status" a_circle_that_is_gone_leaves_the_list
library "$table"
circles '' | grep -q 'c.c calls a.c' && status=0 || status=1
ok "$status" a_function_in_a_table_is_a_call_of_the_table_s_file
