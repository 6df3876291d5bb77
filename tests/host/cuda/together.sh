#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# together.sh COMMAND SOURCE...: compiles programs of a source each, NAME.cu, as one by "COMMAND -o together together.cu", which then has a link of
# each name. Most of the time that a small program takes is that of CUDA's headers. Each but the first is in a namespace, of_NAME, behind the
# headers that they all have in angle brackets. A main() has to return, and what runs at exit does so for each.
set -eu
command=$1
shift
first=$1

name_of() { # SOURCE
	name=${1##*/}
	echo "${name%.*}"
}

{
	cat "$@" | grep '^#include <' | sort -u
	printf '#define main program\n#include "%s"\n' "$first"
	calls="	if (!strcmp(own, \"$(name_of "$first")\")) { return call(program, count, words); }
"
	shift
	for source; do
		name=$(name_of "$source")
		printf 'namespace of_%s {\n#include "%s"\n}\n' "$name" "$source"
		calls="$calls	if (!strcmp(own, \"$name\")) { return call(of_$name::program, count, words); }
"
	done
	cat <<EOF
#undef main
static int call(int (*program)(), int, char **) { return program(); }
static int call(int (*program)(int, char **), int count, char **words) { return program(count, words); }
int main(int count, char **words)
{
	const char *const own = strrchr(words[0], '/') + 1;

$calls	return 99;
}
EOF
} >together.cu
$command -o together together.cu
for source in "$first" "$@"; do
	ln -f together "$(name_of "$source")"
done
