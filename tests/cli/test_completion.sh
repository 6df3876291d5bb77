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

echo 1..22
offers "crash" a_command_is_completed nvwave cr
offers "--states= --stop-after= --store-log=" a_command_s_options_are_completed nvwave crash --st
offers "kill" a_choice_is_completed nvwave crash --mode=k
offers "failure" a_place_of_gdb_is_completed nvwave replay --at=fa
offers "btree" a_workload_is_completed nvwave run btr
offers "--keys= --key-column=" a_workload_s_options_are_completed nvwave run kv --key
offers "protocols" a_list_is_completed nvwave list prot
offers "hlrc-scoped" a_protocol_is_completed nvwave run kv --protocol=hlrc-
offers "each" each_protocol_is_a_value_where_it_is_one nvwave crash kv --protocol=ea
offers "alsop16" a_machine_is_completed nvwave bench --machine=als
offers "update-before-log" a_mutation_of_the_workload_is_completed nvwave crash btree --mutate=update-b
offers "" mutations_of_other_workloads_are_not nvwave crash kv --mutate=update-b
offers "nvram.domain=" a_key_of_the_machine_is_completed nvwave run kv --set=nvram.dom
offers "workitem workgroup" a_choice_of_a_workload_is_completed nvwave run kv --scope=work
offers "writers=" an_axis_is_completed nvwave sweep workload=kv writ
offers "gh" a_value_of_an_axis_is_completed nvwave sweep protocol=gh
offers "vi,gh" values_of_an_axis_are_a_list nvwave sweep protocol=vi,gh
offers "workitem workgroup" a_value_of_a_comparison_is_completed nvwave bench --against=scope=work
offers "sim_time,nvram.words" a_metric_is_completed nvwave sweep --metrics=sim_time,nvram.wor
offers "hechtman14" a_paper_is_completed nvwave reproduce hech
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT && printf 'scope,sim_time,spill\n' >t.csv
offers "sim_time" a_column_of_the_table_is_completed nvwave plot t.csv --y=si
printf '\357\273\277scope,sim_time\n' >mark.csv
offers "scope" a_column_behind_a_byte_order_mark_is_completed nvwave plot mark.csv --x=sc
