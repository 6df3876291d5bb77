#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# test_completion.sh COMPLETION: what bash offers behind some beginnings of a command line.
set -u
# shellcheck disable=SC1090
source "$1"
n=0

# offers EXPECTED NAME WORD...: the last word's completions are exactly the expected ones
offers() {
	local expected=$1 name=$2
	shift 2
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMP_LINE="$*"
	COMP_POINT=${#COMP_LINE}
	COMPREPLY=()
	_nvwave
	n=$((n + 1))
	if [ "${COMPREPLY[*]}" = "$expected" ]; then
		echo "ok $n - $name"
	else
		echo "# expected $expected, found ${COMPREPLY[*]}"
		echo "not ok $n - $name"
	fi
}

echo 1..6
offers "crash" a_command_is_completed nvwave cr
offers "--states= --stop-after= --store-log=" a_command_s_options_are_completed nvwave crash --st
offers "kill" a_choice_is_completed nvwave crash --mode=k
offers "btree" a_workload_is_completed nvwave run btr
offers "--keys= --key-column=" a_workload_s_options_are_completed nvwave run kv --key
offers "protocols" a_list_is_completed nvwave list prot
