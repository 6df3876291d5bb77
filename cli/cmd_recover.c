/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave recover POOL|FOLDER: the generic recovery, the structure's own, and a check of the result. */
#include <stdio.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/member.h"

#include "commands.h"
#include "pools/pool_command.h"
#include "pools/folder.h"
#include "pools/recover_one.h"
#include "report/words.h"
#include "session.h"

/* One sentence with the verdict. */
static void print_text(const json_t *report, const struct pool_recover_how *how)
{
	printf("%s: %lld epochs complete, %lld rolled back (%lld words), %lld log entries torn; %lld blocks "
	       "freed, %lld kept%s; structure %s: %s.\n%lld words %s; %lld log entries and %lld words of "
	       "tables read\n",
		member_string(report, "pool"), member_number(report, "epochs_completed"),
		member_number(report, "epochs_rolled_back"), member_number(report, "words_restored"),
		member_number(report, "entries_torn"), member_number(report, "blocks_freed"),
		member_number(report, "blocks_kept"),
		words_if(member_number(report, "header_repaired"), ", header restored from its copy"),
		member_string(report, "layout"), member_string(report, "structure"),
		member_number(report, "words_written"),
		how->dry_run ? "would have been written: nothing was changed (--dry-run)" : "written",
		member_number(report, "entries_read"), member_number(report, "words_read"));
	if (how->verify && member_number(report, "words_written_again") == 0) {
		puts("verified: a second recovery writes nothing");
	}
	pool_command_print_findings(report);
}

static int print_recovered(const struct cli_options *o, const json_t *report, struct pool_recover_how *how)
{
	if (cli_json(o)) {
		return pool_command_print(report, true);
	}
	print_text(report, how);
	return 0;
}

static int one_pool(const struct cli_options *o, struct pool_recover_how *how)
{
	json_t *report = NULL;
	const int r = pool_recover_one(how, o->argument[0], &report);
	const int printed = report ? print_recovered(o, report, how) : 0;

	json_decref(report);
	return NVW_OR(r, printed);
}

static int recover(struct cli_options *o)
{
	static const struct pool_column columns[] = {{"layout", "layout", -10},
		{"open epochs", "epochs_rolled_back", 11}, {"entries undone", "words_restored", 14},
		{"words written", "words_written", 13}, {"words read", "words_read", 10},
		{"structure", "structure", -12}, {NULL, NULL, 0}};
	struct pool_recover_how how = {cli_given(o, CLI_dry_run), cli_given(o, CLI_verify)};

	NVW_TRY(pool_command_named(o));
	if (nvw_is_folder(o->argument[0])) {
		return pool_folder_each(o->argument[0], pool_recover_one, &how, columns, cli_json(o));
	}
	return one_pool(o, &how);
}

const struct cli_command cmd_recover = {.main = cli_run_command,
	.help = "nvwave recover POOL|FOLDER [options]\n\n"
		"Rolls incomplete epochs back, frees what they allocated, runs the structure's own recovery "
		"and checks the\n"
		"result. Of a folder, each of its pools, in a process of its own: a table, and the worst "
		"exit status.\n",
	.run = recover};
