/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of host programs: nvwave exec runs each with a new file, one after another, and its report has the
 * latencies of the operations that the program acknowledges (nvw/ack.h). See bench.h.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../report/words.h"
#include "bench.h"
#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/text_stream.h"

static const char pibench[] = "pibench:", command[] = "exec:";

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool bench_is_host(const char *reference)
{
	return begins(reference, pibench) || begins(reference, command);
}

bool bench_host_has(const char *axis)
{
	return !strcmp(axis, "machine") || begins(axis, "nvram.");
}

void bench_host_name(const char *reference, char *ret_name, size_t bytes)
{
	NVW_INVARIANT(strchr(reference, ':') != NULL);

	const char *const words = strchr(reference, ':') + 1;
	const size_t n = strcspn(words, " ");
	const char *const slash = memrchr(words, '/', n), *const name = slash ? slash + 1 : words;

	snprintf(ret_name, bytes, "%.*s", (int)(words + n - name), name);
}

/* ---- The command line ---------------------------------------------------------------------- */

static int add_machine(const struct bench *b, const struct bench_row *row, struct sweep_words *w)
{
	if (cli_given(b->given, CLI_machine)) {
		NVW_TRY(sweep_words_add(w, "--machine=%s", cli_text(b->given, CLI_machine)));
	}
	NVW_EACH(setting, b->given->setting, b->given->setting_count) {
		NVW_TRY(sweep_words_add(w, "--set=%s", *setting));
	}
	NVW_FOR(i, b->axis_count) {
		const char *const name = bench_axis_name(b, i);

		if (bench_host_has(name)) {
			NVW_TRY(sweep_words_add(w, strchr(name, '.') ? "--set=%s=%s" : "--%s=%s", name,
				bench_axis_value(b, row, i)));
		}
	}
	return 0;
}

/* nvwave-pibench is beside nvwave. What the user says of the library comes first, so that the row is what it
 * says. */
static int add_pibench(const struct bench *b, const struct bench_row *row, unsigned seed, const char *file,
	struct sweep_words *w)
{
	NVW_INVARIANT(begins(b->of[row->of].reference, pibench));

	const struct bench_case *const of = &b->of[row->of];
	char self[PATH_MAX], *const words = strdup(of->reference + strlen(pibench)), *rest = words;

	nvw_own_folder(self, sizeof self);
	int r = sweep_words_add(w, "%s/nvwave-pibench", self);

	for (char *word; r == 0 && words && (word = strtok_r(rest, " ", &rest));) {
		r = sweep_words_add(w, "%s", word);
	}
	free(words);
	NVW_TRY(r);
	NVW_TRY(sweep_words_add(w, "--mix=%s", of->mix));
	NVW_TRY(sweep_words_add(w, "--records=%llu", (ull)b->records));
	NVW_TRY(sweep_words_add(w, "--operations=%llu", (ull)b->operations));
	NVW_TRY(sweep_words_add(w, "--seed=%u", seed + 1));
	return sweep_words_add(w, "--pool=%s", file);
}

/* {} is the file. */
static int add_command(const char *text, const char *file, struct sweep_words *w)
{
	struct text_stream whole;

	NVW_FAIL_IF(!text_begin(&whole), NVW_E_MEMORY, SWEEP_NO_MEMORY);
	for (const char *gap; (gap = strstr(text, "{}")); text = gap + 2) {
		fprintf(whole.to, "%.*s%s", (int)(gap - text), text, file);
	}
	fputs(text, whole.to);
	int r = text_end(&whole) ? sweep_words_add(w, "/bin/sh") : nvw_fail(NVW_E_MEMORY, SWEEP_NO_MEMORY);

	r = NVW_OR(r, sweep_words_add(w, "-c"));
	r = NVW_OR(r, sweep_words_add(w, "%s", whole.text));
	free(whole.text);
	return r;
}

static int add_words(const struct bench *b, const struct bench_row *row, unsigned seed, const char *folder,
	struct sweep_words *w)
{
	NVW_INVARIANT(!b->of[row->of].workload);

	const char *const reference = b->of[row->of].reference;
	char file[PATH_MAX];

	NVW_PRINT(file, "%s/file", folder);
	NVW_TRY(sweep_words_add(w, "exec"));
	NVW_TRY(sweep_words_add(w, "--output-format=json"));
	NVW_TRY(sweep_words_add(w, "--report=%s/report.json", folder));
	NVW_TRY(add_machine(b, row, w));
	NVW_TRY(sweep_words_add(w, "--"));
	return begins(reference, pibench) ? add_pibench(b, row, seed, file, w) :
					    add_command(reference + strlen(command), file, w);
}

/* ---- The result ---------------------------------------------------------------------------- */

static double number_of(const json_t *operations, const char *name)
{
	return json_number_value(json_object_get(operations, name));
}

static void take_operations(const json_t *operations, double ret[BENCH_METRIC_COUNT])
{
	static const struct {
		enum bench_metric metric;
		const char *name;
		double unit;
	} taken[] = {{BENCH_P50, "p50", 1000}, {BENCH_P99, "p99", 1000}, {BENCH_P999, "p999", 1000},
		{BENCH_LONGEST, "longest", 1000}, {BENCH_LINES, "lines_per_op", 1},
		{BENCH_BARRIERS, "fences_per_op", 1}};
	const double seconds = number_of(operations, "seconds");

	NVW_EACH_IN(one, taken) {
		ret[one->metric] = one->unit * number_of(operations, one->name);
	}
	if (seconds > 0) {
		ret[BENCH_THROUGHPUT] = number_of(operations, "count") / seconds;
	}
}

/* The last line that is not empty, without its end. Changes the text. */
static const char *last_line(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n') {
		text[--n] = 0;
	}
	const char *const line = strrchr(text, '\n');

	return line ? line + 1 : text;
}

/* One seed's. A program that ends otherwise than with 0 had a wrong result. */
static int take_outcome(struct bench_row *row, unsigned seed, const char *folder, struct sweep_outcome *o)
{
	char path[PATH_MAX], reason[1024];

	NVW_INVARIANT(row->of_seed);
	NVW_PRINT(path, "%s/report.json", folder);
	json_t *const report = json_load_file(path, 0, NULL);
	const json_t *const operations = json_object_get(report, "operations");
	const bool is_right = report && member_number(report, "status") == 0;
	const char *said = last_line(*o->err ? o->err : o->out);
	int r = 0;

	if (json_is_object(operations)) {
		take_operations(operations, row->of_seed[seed]);
	} else if (is_right) {
		said = "it acknowledged no operation (nvw/ack.h)";
	}
	if (o->timed_out) {
		said = "timed out";
	}
	if (!is_right || !json_is_object(operations)) {
		NVW_PRINT(reason, "%s", *said ? said : "it did not end with status 0");
		r = bench_set_status(row, json_is_object(operations) ? BENCH_LOSES : BENCH_FAILED, reason);
	}
	json_decref(report);
	return r;
}

static int run_seed(
	const struct bench *b, struct bench_row *row, unsigned seed, const char *folder, uint64_t timeout_ms)
{
	struct sweep_words words = {.whose = "bench: a host program"};
	struct sweep_outcome outcome = {0};
	int r = add_words(b, row, seed, folder, &words);

	r = NVW_OR(r, sweep_run_words(&words, timeout_ms, &outcome));
	r = NVW_OR(r, take_outcome(row, seed, folder, &outcome));
	sweep_outcome_end(&outcome);
	sweep_words_end(&words);
	return r;
}

static int run_row(const struct bench *b, struct bench_row *row, uint64_t timeout_ms)
{
	struct nvw_folder folder = {.path = ""};
	int r = bench_begin_numbers(b, row);

	for (unsigned seed = 0; r == 0 && seed < b->seeds; seed++) {
		r = nvw_folder_make("bench", true, &folder);
		r = NVW_OR(r, run_seed(b, row, seed, folder.path, timeout_ms));
		nvw_folder_remove(&folder);
	}
	return r;
}

int bench_host_run(struct bench *b, uint64_t timeout_ms)
{
	NVW_EACH(row, b->row, b->row_count) {
		if (!b->of[row->of].workload) {
			NVW_TRY(run_row(b, row, timeout_ms));
		}
	}
	return 0;
}
