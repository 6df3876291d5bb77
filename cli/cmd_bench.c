/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave bench: structures by mixes of operations, as rows of one table. See bench.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "laboratory/bench.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "report/words.h"
#include "session.h"

/* "x.csv" -> "x.journal"; freed by the caller. */
static char *journal_of(const char *output)
{
	size_t n = strlen(output);

	if (n > 4 && !strcmp(output + n - 4, ".csv")) {
		n -= 4;
	}
	return text_made("%.*s.journal", (int)n, output);
}

/* Both sweeps' results are in one journal: their keys differ. Without --output none is kept. */
static int run_points(struct sweep *s, const struct cli_options *o, bool fresh)
{
	const struct sweep_manner manner = cli_manner(o);
	struct sweep_journal journal = {.fd = -1};
	int r = 0;

	if (s->count == 0) {
		return 0;
	}
	if (cli_given(o, CLI_bench_output)) {
		r = sweep_journal_open(s, journal_of(cli_text(o, CLI_bench_output)), fresh, &journal);
	}
	if (r == 0) {
		r = sweep_local_run(s, &manner, &journal);
	}
	sweep_journal_close(&journal);
	return r;
}

static int print_json(json_t *report)
{
	json_object_set_new(report, "made_by", cli_provenance(NULL, NULL));
	return cli_print_json(report, stdout);
}

static int print(const struct bench *b)
{
	if (cli_json(b->given)) {
		return print_json(bench_json(b));
	}
	bench_print(b, stdout);
	cli_print_made_by(NULL);
	return cli_flush();
}

static int measure(struct bench *b, const struct cli_options *o)
{
	NVW_TRY(bench_plan(b, o));
	if (cli_given(o, CLI_bench_output) && !cli_given(o, CLI_overwrite)) {
		NVW_TRY(bench_check_former(b, cli_text(o, CLI_bench_output)));
	}
	NVW_TRY(run_points(&b->runs, o, cli_given(o, CLI_fresh)));
	NVW_TRY(run_points(&b->crashes, o, false));
	NVW_TRY(bench_host_run(b, cli_manner(o).timeout_ms));
	NVW_TRY(bench_rows(b));
	if (cli_given(o, CLI_bench_output)) {
		NVW_TRY(bench_write_csv(b, cli_text(o, CLI_bench_output)));
	}
	NVW_TRY(print(b));
	return b->loses || b->failed ? NVW_E_INCONSISTENT : 0;
}

/* The circumstances of this command line. */
static uint64_t at(const struct cli_options *o)
{
	return cli_at(CLI_AT_UNCHECKED, cli_given(o, CLI_unchecked)) |
	       cli_at(CLI_AT_NO_OUTPUT, !cli_given(o, CLI_bench_output));
}

static int bench(struct cli_options *o)
{
	struct bench b = {.given = o};

	NVW_TRY(cli_options_check_use(o, at(o)));
	const int result = measure(&b, o);

	bench_end(&b);
	return result;
}

const struct cli_command cmd_bench = {.main = cli_run_with_output,
	.help = "nvwave bench [WORKLOAD|FILE.so|pibench:LIBRARY|exec:COMMAND...] "
		"[--against=NAME=VALUE,VALUE...] [-o FILE.csv] [options]\n\n"
		"A row per structure, mix of operations and value of --against: throughput, "
		"latencies, writes to NVRAM,\n"
		"barriers and energy per operation, all in simulated time. Each row is checked at "
		"its end, and a sample of\n"
		"its crash states is recovered and checked: what loses data comes last, and the exit "
		"status is 1.\n"
		"Rows of host programs (an index for PiBench, a program with nvw/ack.h; {} is a new "
		"file) are real time.\n",
	.run = bench};
