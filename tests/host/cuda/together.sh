#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# together.sh COMMAND SOURCE...: compiles several programs, of one source NAME.cu each, as one by "COMMAND -o together together.cu", and links it
# to each NAME: reading CUDA's headers is most of the time that a small program takes. The name decides which main() runs. All programs but the
# first are in a namespace, of_NAME; the headers that they include by angle brackets come before. main() must return a value. What one program runs
# at exit, all run.
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
