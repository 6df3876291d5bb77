#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_manual.sh NVWAVE MANUAL: the manual page has every command and option that --help shows, and
# no others; mandoc, where it is installed, has no warning of it; its examples of sweeps and figures run.
set -eu
nvwave=$(realpath "$1")
manual=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
commands=$("$nvwave" --help | sed -n 's/^  nvwave \([a-z]*\).*/\1/p' | sort -u)

for command in $commands; do
	"$nvwave" "$command" --help
done 2>&1 | grep -o -e '--[a-z][a-z-]*' | sort -u >"$folder/shown"
# Fl -name is how the manual page writes --name.
grep -o 'Fl -[a-z][a-z-]*' "$manual" | sed 's/^Fl -/--/' | sort -u >"$folder/written"
# Of every command; in "options are written --name=value"; of the programs that --oracle=replay asks; of nvwave-cc.
printf '%s\n' --help --name --recover-and-print --loads >"$folder/general"

echo 1..5
for command in $commands; do
	grep -q "^\.Cm $command" "$manual" || echo "# no $command in the manual page"
done >"$folder/lacking"
cat "$folder/lacking"
[ ! -s "$folder/lacking" ] && [ -n "$commands" ] && echo "ok 1 - every_command_is_in_the_manual_page" ||
	echo "not ok 1 - every_command_is_in_the_manual_page"
sort -u "$folder/written" "$folder/general" | comm -23 "$folder/shown" - | sed 's/^/# only in the help: /' >"$folder/lacking"
cat "$folder/lacking"
[ ! -s "$folder/lacking" ] && echo "ok 2 - every_option_of_the_help_is_in_the_manual_page" ||
	echo "not ok 2 - every_option_of_the_help_is_in_the_manual_page"
sort -u "$folder/shown" "$folder/general" | comm -13 - "$folder/written" | sed 's/^/# only in the manual page: /' >"$folder/lacking"
cat "$folder/lacking"
[ ! -s "$folder/lacking" ] && [ -s "$folder/shown" ] && echo "ok 3 - every_option_of_the_manual_page_is_in_the_help" ||
	echo "not ok 3 - every_option_of_the_manual_page_is_in_the_help"
if command -v mandoc >/dev/null; then
	mandoc -T lint -W warning "$manual" && echo "ok 4 - mandoc_has_no_warning" || echo "not ok 4 - mandoc_has_no_warning"
else
	echo "ok 4 - mandoc_has_no_warning # SKIP no mandoc"
fi
sed -n 's/^\.Dl nvwave \(sweep\|plot\)/\1/p' "$manual" | sed 's/\\e/\\/g; s/\\-/-/g' >"$folder/examples"
name=the_sweep_of_the_examples_and_its_figure_are_made
if ! command -v gnuplot >/dev/null; then
	echo "ok 5 - $name # SKIP no gnuplot"
	exit 0
fi
cd "$folder"
while read -r words; do
	# shellcheck disable=SC2086
	"$nvwave" $words </dev/null 2>&1 || echo "failed: nvwave $words"
done <examples | sed 's/^/# /' >said
cat said
[ -s scopes.csv ] && [ -s scopes.svg ] && ! grep -q "failed: " said && echo "ok 5 - $name" || echo "not ok 5 - $name"
