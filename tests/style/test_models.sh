#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_models.sh ROOT: the lists of models that are typed by hand have the models of emu/persist/models.def, in its order.
set -eu
cd "${1:-.}"
list=emu/persist/models.def
n=0

# same NAME EXPECTED FOUND
same() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "# expected $2"
		echo "# found    $3"
	fi
}

# names PATTERN: the names of the rows that match, with | between them.
names() {
	sed -n "s/^$1(.*\"\\(.*\\)\")\$/\\1/p" "$list" | paste -s -d'|'
}

echo 1..3
# Observed mode has a word of its own.
same every_model_of_states_is_a_choice_of_the_option "$(names '[A-Z]*_MODEL' | sed 's/^observed|//')" \
	"$(sed -n 's/^OPTION(model, "model", CHOICE, "\([^"]*\)".*/\1/p' cli/options.def)"
same the_machine_files_page_has_every_model_of_machines "$(names MACHINE_MODEL)" \
	"$(sed -n 's/^| persist | `model` (\([^)]*\)).*/\1/p' docs/machine-files.md | sed 's/, /|/g')"
same every_row_of_the_list_is_read "$(grep -c '^[A-Z]*_MODEL(' "$list")" "$(names '[A-Z]*_MODEL' | tr '|' '\n' | wc -l)"
