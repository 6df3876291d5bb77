/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave fio: the shipped fio jobs on the emulated NVRAM: requested vs. measured values, and the same without
 * delays, which is the cost of fio and this computer.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/order.h"
#include "core/print.h"
#include "core/units.h"
#include "programs/fio_run.h"
#include "laboratory/sweep.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"
#include "report/words.h"

static void print_help(void)
{
	puts("nvwave fio latency|bandwidth|mixed|verify [options]\n\n"
	     "Runs a job of workloads/fio with fio's libpmem engine on the emulated NVRAM.\n\n"
	     "  latency                     one block at a time, at random: requested vs. measured latency\n"
	     "  bandwidth                   sequential writes and reads of several threads: requested vs. "
	     "measured bandwidth\n"
	     "  mixed                       70 % reads and 30 % writes of several threads\n"
	     "  verify                      kill a writing fio, and have fio verify what a crash could leave "
	     "of acknowledged blocks\n");
	cli_options_help("fio", 0);
	puts("\nExit status: 0; 1 if verify finds acknowledged blocks lost; 2 if fio is missing or fails, or "
	     "the input is bad.");
}

enum { LIST_MAX = 16, ROWS_MAX = 4 * LIST_MAX, REPEAT_MAX = 99 };

/* ---- Requested latency and bandwidth ------------------------------------------------------------- */

struct row {
	const char *op;
	uint64_t bytes;  /* bytes per block */
	bool sweep;      /* not the machine's own figure */
	double asked;    /* ns, or bytes per second */
	double exec_p50; /* ns, from the session's own histogram; 0: no delay */
	struct fio_measured with, without;
};

/* Measurements of one run. */
struct sample {
	struct fio_measured fio;
	double exec_p50;
};

struct list {
	uint64_t value[LIST_MAX];
	unsigned count;
};

typedef int parse_value(const char *word, uint64_t *ret_value);

/* A job, and what of it is compared. */
struct test {
	const char *name, *asked_name; /* JSON name of the requested value */
	const char *sizes, *sweep;     /* the default lists */
	bool one_size;                 /* --bs is no list */
	const char *job;               /* of reads and writes; NULL: each has its own */
	double (*asked)(const struct emu_config *machine, const char *op, uint64_t bytes);
	parse_value *parse_sweep;
	int (*set)(struct emu_config *machine, uint64_t value); /* a swept value */
	const char *head;
	void (*print)(const struct row *row);
	const char *starred;
};

struct measuring {
	const struct test *test;
	const struct fio_request *request;
	struct fio_place place;
	struct list sizes, sweep;
	struct sweep_manner manner; /* of the progress */
	char version[32];
	unsigned runs, row_count;
	struct sweep_progress progress;
	struct row row[ROWS_MAX];
};

static double rate_of(const struct emu_config *m)
{
	return (double)m->nvram.bandwidth * (double)m->nvram.channels;
}

/* A write is, if it is durable on the device alone. */
static bool is_delayed(const struct emu_config *m, const char *op)
{
	return strcmp(op, "write") || m->nvram.domain == EMU_DOMAIN_device;
}

static double asked_ns(const struct emu_config *m, const char *op, uint64_t bytes)
{
	const double lines = (double)((bytes + HOST_LINE - 1) / HOST_LINE);
	const uint64_t ps = strcmp(op, "write") ? m->nvram.read : m->nvram.write;

	return is_delayed(m, op) ? 1e-3 * (double)ps + (lines - 1) * 1e9 * HOST_LINE / rate_of(m) : 0;
}

static double asked_rate(const struct emu_config *m, const char *op, uint64_t bytes)
{
	return rate_of(m);
}

static int parse_word(const char *at, size_t n, parse_value *parse, struct list *list)
{
	char word[32];

	NVW_FAIL_IF(n >= sizeof word, NVW_E_USAGE, "\"%.40s\" is too long", at);
	NVW_FAIL_IF(list->count == LIST_MAX, NVW_E_USAGE, "more than %d values", LIST_MAX);
	NVW_PRINT(word, "%.*s", (int)n, at);
	return parse(word, &list->value[list->count++]);
}

/* A comma-separated list, each word parsed by parse(); "none" is an empty list. The message begins with the
 * option's name. */
static int parse_list(const char *option, const char *text, parse_value *parse, struct list *ret_list)
{
	int error = 0;

	*ret_list = (struct list){0};
	if (!strcmp(text, "none")) {
		return 0;
	}
	for (const char *at = text; *at != '\0' && !error;) {
		const size_t n = strcspn(at, ",");

		error = parse_word(at, n, parse, ret_list);
		at += n + (at[n] == ',');
	}
	NVW_FAIL_IF(error, NVW_E_USAGE, "%s: %s", option, nvw_error_message());
	return 0;
}

static int parse_latency(const char *word, uint64_t *ret_ps)
{
	bool cycles = false;

	NVW_TRY(nvw_parse_time(word, ret_ps, &cycles));
	NVW_FAIL_IF(cycles, NVW_E_USAGE, "expected a time like 250ns, found \"%s\"", word);
	return 0;
}

static int parse_rate(const char *word, uint64_t *ret_rate)
{
	NVW_TRY(nvw_parse_rate(word, ret_rate));
	NVW_FAIL_IF(*ret_rate == 0, NVW_E_USAGE, "expected a rate like 1GB/s, found \"%s\"", word);
	return 0;
}

static int set_latency(struct emu_config *machine, uint64_t ps)
{
	machine->nvram.read = machine->nvram.write = ps;
	return 0;
}

static int set_bandwidth(struct emu_config *machine, uint64_t rate)
{
	machine->nvram.bandwidth = rate / machine->nvram.channels;
	return emu_config_check(machine);
}

/* ---- Runs ---------------------------------------------------------------------------------------- */

/* One run of the job file; the caller frees its results. */
static int run_once(
	struct measuring *m, const struct emu_config *machine, bool delays, struct fio_run *ret_run)
{
	char keep[4200];

	*ret_run = (struct fio_run){.machine = machine, .delays = delays};
	if (m->request->keep) {
		NVW_PRINT(keep, m->runs ? "%.4000s.%u" : "%.4000s", m->request->keep, m->runs + 1);
		ret_run->keep = keep;
	}
	const int error = fio_run(&m->place, ret_run);

	ret_run->keep = NULL;
	m->runs++;
	m->progress.ended = m->runs;
	sweep_show(&m->manner, &m->progress, false);
	NVW_PRINT(m->version, "%s", fio_version(ret_run));
	return error;
}

static const struct host_delays *delays_of(const struct host_thread *sum, const char *op)
{
	return strcmp(op, "write") ? &sum->read : &sum->write;
}

/* For the job with the row's operation, or the only job. */
static int measure(
	const struct measuring *m, const struct fio_run *run, const char *op, struct sample *ret_sample)
{
	ret_sample->exec_p50 = (double)host_percentile(&delays_of(&run->sum, op)->achieved, 0.5);
	return fio_measured(run, words_or(m->test->job, op), op, &ret_sample->fio);
}

static int by_median(const void *a_, const void *b_)
{
	const struct sample *const a = a_, *const b = b_;

	return NVW_ORDER(a->fio.p50_ns, b->fio.p50_ns);
}

/* A read and a write of one run, with or without delays. */
static int sample_rows(struct measuring *m, const struct emu_config *machine, bool with,
	const struct row rows[2], struct sample ret_sample[2])
{
	struct fio_run run;
	int error = run_once(m, machine, with, &run);

	error = NVW_OR(error, measure(m, &run, rows[0].op, &ret_sample[0]));
	error = NVW_OR(error, measure(m, &run, rows[1].op, &ret_sample[1]));
	fio_run_end(&run);
	return error;
}

static void keep_median(struct sample *samples, uint64_t count, bool with, struct row *row)
{
	NVW_INVARIANT(count > 0);
	qsort(samples, count, sizeof *samples, by_median);
	samples += count / 2;
	if (with) {
		row->with = samples->fio;
		row->exec_p50 = samples->exec_p50;
	} else {
		row->without = samples->fio;
	}
}

/* A read and a write, with or without delays: of the repeated runs, the one with the median p50. */
static int run_rows(struct measuring *m, const struct emu_config *machine, bool with, struct row rows[2])
{
	const uint64_t repeat = NVW_OR(m->request->repeat, 1);
	struct sample sample[2][REPEAT_MAX], both[2];

	NVW_INVARIANT(repeat <= REPEAT_MAX);
	NVW_FOR(r, repeat) {
		NVW_TRY(sample_rows(m, machine, with, rows, both));
		sample[0][r] = both[0];
		sample[1][r] = both[1];
	}
	NVW_FOR(i, 2) {
		keep_median(sample[i], repeat, with, &rows[i]);
	}
	return 0;
}

/* Two rows, a read and a write. without: results of the same job without delays; NULL: it has to be run. */
static int add_rows(
	struct measuring *m, const struct emu_config *machine, uint64_t bytes, const struct row without[2])
{
	static const char *const ops[] = {"read", "write"};
	struct row *const rows = &m->row[m->row_count];

	NVW_INVARIANT(bytes > 0);
	NVW_FAIL_IF(m->row_count + 2 > ROWS_MAX, NVW_E_USAGE, "more than %d rows", ROWS_MAX);
	NVW_FOR(i, 2) {
		rows[i] = (struct row){.op = ops[i],
			.bytes = bytes,
			.sweep = without != NULL,
			.asked = m->test->asked(machine, ops[i], bytes)};
		if (without) {
			rows[i].without = without[i].without;
		}
	}
	m->row_count += 2;
	if (!without) {
		NVW_TRY(run_rows(m, machine, false, rows));
	}
	return run_rows(m, machine, true, rows);
}

static int write_job(const struct measuring *m, uint64_t bytes)
{
	struct fio_lines lines = m->request->lines;
	char bs[32];

	NVW_PRINT(bs, "%llu", (ull)bytes);
	fio_add_line(&lines, "bs", bs);
	return fio_write_job(&m->place, m->test->name, &lines);
}

/* Each size with the machine as it is; the first one also with the swept values. */
static int run_jobs(struct measuring *m)
{
	struct emu_config machine = *m->request->machine;

	NVW_INVARIANT(m->sizes.count > 0);
	NVW_EACH(bytes, m->sizes.value, m->sizes.count) {
		NVW_TRY(write_job(m, *bytes));
		NVW_TRY(add_rows(m, &machine, *bytes, NULL));
	}
	NVW_TRY(write_job(m, m->sizes.value[0]));
	NVW_EACH(value, m->sweep.value, m->sweep.count) {
		NVW_TRY(m->test->set(&machine, *value));
		NVW_TRY(add_rows(m, &machine, m->sizes.value[0], m->row));
	}
	return 0;
}

/* ---- Reports ------------------------------------------------------------------------------------- */

/* "-" without a delay: none was requested, or the call took as long without one. */
static const char *exec_text(const struct row *r, char text[16])
{
	snprintf(text, 16, r->exec_p50 > 0 ? "%.0f" : "-", r->exec_p50);
	return text;
}

static void print_over_request(const struct row *r)
{
	if (r->asked > 0) {
		printf("%+9.1f%s\n", 100 * (r->with.p50_ns / r->asked - 1),
			words_if(r->without.p50_ns > r->asked, " *"));
	} else {
		puts("        -");
	}
}

static void latency_row(const struct row *r)
{
	char exec[16];

	printf("%-6s %8llu %11.0f %8s %8.0f %8.0f %8.0f ", r->op, (ull)r->bytes, r->asked, exec_text(r, exec),
		r->with.p50_ns, r->without.p50_ns, r->with.p99_ns);
	print_over_request(r);
}

static void bandwidth_row(const struct row *r)
{
	printf("%-6s %8llu %11.0f %8.0f %8.0f %+9.1f%s\n", r->op, (ull)r->bytes, 1e-6 * r->asked,
		1e-6 * r->with.bytes_per_s, 1e-6 * r->without.bytes_per_s,
		100 * (r->with.bytes_per_s / r->asked - 1),
		words_if(r->without.bytes_per_s < r->asked, " *"));
}

static void mixed_row(const struct row *r)
{
	char exec[16];

	printf("%-6s %8llu %11.0f %8s %8.0f %8.0f %8.0f %9.0f %15.0f\n", r->op, (ull)r->bytes, r->asked,
		exec_text(r, exec), r->with.p50_ns, r->without.p50_ns, r->with.p99_ns, r->with.iops,
		r->without.iops);
}

static json_t *measured_json(const struct fio_measured *m)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "operations", m->count, "p50_ns", m->p50_ns, "p99_ns",
		m->p99_ns, "iops", m->iops, "bytes_per_s", m->bytes_per_s);
}

static const struct test tests[] = {
	{"latency", "asked_ns", "64,256,4k", "100ns,250ns,500ns,1us,3us", false, NULL, asked_ns,
		parse_latency, set_latency,
		"                  requested   exec's    fio's  without    fio's  fio over\n"
		"op        bytes          ns      p50      p50   delays      p99 request %",
		latency_row, "without delays, this computer already takes longer than requested"},
	{"bandwidth", "asked_bytes_per_s", "256k", "500MB/s,1GB/s,2GB/s", true, NULL, asked_rate, parse_rate,
		set_bandwidth,
		"                  requested    fio's  without  fio over\n"
		"op        bytes        MB/s     MB/s   delays request %",
		bandwidth_row, "without delays, this computer does not reach the requested bandwidth"},
	{"mixed", "asked_ns", "4k", "none", true, "mixed", asked_ns, NULL, NULL,
		"                  requested   exec's    fio's  without    fio's                   IOPS\n"
		"op        bytes          ns      p50      p50   delays      p99      IOPS  without delays",
		mixed_row, NULL},
};

static int print_text(const struct measuring *m)
{
	const struct test *const t = m->test;
	const struct emu_config *const machine = m->request->machine;

	NVW_INVARIANT(m->row_count > 0);
	printf("%s of %s on %s: NVRAM %.0f ns read, %.0f ns write, %.1f GB/s, domain %s\n", t->name,
		m->version, machine->name, 1e-3 * (double)machine->nvram.read,
		1e-3 * (double)machine->nvram.write, 1e-9 * rate_of(machine), cli_domain_name(machine));
	puts(t->head);
	NVW_FOR(i, m->row_count) {
		if (i > 0 && m->row[i].sweep && !m->row[i - 1].sweep) {
			puts("swept values:");
		}
		t->print(&m->row[i]);
	}
	cli_print_made_by(machine);
	if (t->starred) {
		printf("*: %s\n", t->starred);
	} else {
		printf("The bandwidth allows at most %.0f IOPS.\n",
			rate_of(machine) / (double)m->row[0].bytes);
	}
	return 0;
}

static json_t *row_json(const struct test *t, const struct row *r)
{
	return json_pack("{s:s, s:I, s:b, s:f, s:f, s:o, s:o}", "op", r->op, "bytes", (json_int_t)r->bytes,
		"sweep", r->sweep, t->asked_name, r->asked, "exec_p50_ns", r->exec_p50, "fio",
		measured_json(&r->with), "fio_without_delays", measured_json(&r->without));
}

static int print_json(const struct measuring *m)
{
	const struct test *const t = m->test;
	const struct emu_config *const machine = m->request->machine;
	json_t *const rows = JSON_LIST(row, m->row, m->row_count, row_json(t, row));

	NVW_INVARIANT(m->row_count <= ROWS_MAX);
	json_t *const o = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:o, s:o}", "test", t->name,
		"fio_version", m->version, "machine", machine->name, "domain", cli_domain_name(machine),
		"read_ns", 1e-3 * (double)machine->nvram.read, "write_ns",
		1e-3 * (double)machine->nvram.write, "bytes_per_s", rate_of(machine), "rows", rows, "made_by",
		cli_provenance(machine, NULL));

	return cli_print_json(o, stdout);
}

static int take_lists(struct measuring *m)
{
	const struct test *const t = m->test;
	const char *const bs = m->request->bs, *expected = NULL;

	NVW_TRY(parse_list("--bs", words_or(bs, t->sizes), cli_parse_block, &m->sizes));
	NVW_TRY(parse_list("--sweep", words_or(m->request->sweep, t->sweep), t->parse_sweep, &m->sweep));
	if (m->sizes.count == 0) {
		expected = "a size";
	} else if (m->sizes.count > 1 && t->one_size) {
		expected = "one size (only latency takes a list)";
	}
	NVW_FAIL_IF(expected, NVW_E_USAGE, "--bs: expected %s, found \"%s\"", expected, bs);
	return 0;
}

static int run_test(struct measuring *m)
{
	const unsigned repeat = (unsigned)NVW_OR(m->request->repeat, 1);
	int error = fio_place_begin(&m->place);

	NVW_INVARIANT(m->row_count == 0);
	/* Each size with and without delays, and the swept values with them. */
	m->progress = (struct sweep_progress){
		.what = "runs of fio", .to_run = (2 * m->sizes.count + m->sweep.count) * repeat};
	m->manner.progress = isatty(STDERR_FILENO);
	if (!error) {
		sweep_show(&m->manner, &m->progress, false);
		error = run_jobs(m);
		sweep_show(&m->manner, &m->progress, true);
	}
	fio_place_end(&m->place);
	NVW_TRY(error);
	return m->request->json ? print_json(m) : print_text(m);
}

static int execute(const struct test *t, const struct fio_request *request)
{
	struct measuring *const m = calloc(1, sizeof *m);

	NVW_ALLOCATED(m, "no memory for the measurements");
	m->test = t;
	m->request = request;
	const int error = NVW_OR(take_lists(m), run_test(m));
	free(m);
	return error;
}

/* ---- The command line ---------------------------------------------------------------------------- */

/* Options that are lines of the job file. */
static void take_lines(struct fio_request *q, const struct cli_options *given)
{
	static const struct {
		enum cli_option_id id;
		const char *name;
	} lines[] = {{CLI_size, "size"}, {CLI_io_size, "io_size"}, {CLI_threads, "numjobs"},
		{CLI_number_ios, "number_ios"}};

	NVW_EACH_IN(line, lines) {
		if (cli_given(given, line->id)) {
			fio_add_line(&q->lines, line->name, cli_text(given, line->id));
		}
	}
}

static struct fio_request request_of(const struct cli_session *s)
{
	const struct cli_options *const given = &s->given;
	struct fio_request q = {.machine = &s->config,
		.json = s->json,
		.bs = cli_text(given, CLI_bs),
		.sweep = cli_text(given, CLI_sweep),
		.kills = cli_number(given, CLI_kills),
		.states = cli_number(given, CLI_fio_states),
		.repeat = cli_number(given, CLI_repeat),
		.keep = cli_text(given, CLI_json),
		.fault = cli_given(given, CLI_fio_fault)};

	take_lines(&q, given);
	return q;
}

static int verify(struct fio_request *q)
{
	uint64_t bytes;

	if (q->bs) {
		NVW_FAIL_IF(cli_parse_block(q->bs, &bytes), NVW_E_USAGE, "--bs: %s", nvw_error_message());
		fio_add_line(&q->lines, "bs", q->bs);
	}
	return fio_verify(q);
}

static int check_arguments(const struct cli_options *o)
{
	static const char *const names[] = {"latency", "bandwidth", "mixed", "verify"};
	const char *const name = words_or(o->argument[0], "");

	NVW_FOR(i, 4) {
		if (!strcmp(name, names[i])) {
			NVW_TRY(cli_options_at_most(o, 1));
			return cli_options_check_use(o, cli_at(CLI_AT_LATENCY + i, true));
		}
	}
	return nvw_fail(NVW_E_USAGE, "fio: expected latency, bandwidth, mixed or verify, found \"%s\"", name);
}

static int measure_or_verify(const struct cli_session *session)
{
	const char *const name = words_or(session->given.argument[0], "");
	const struct test *const test = NVW_FIND(one, tests, NVW_COUNT(tests), !strcmp(name, one->name));
	char seed[32];

	NVW_TRY(check_arguments(&session->given));
	struct fio_request request = request_of(session);

	if (strcmp(name, "bandwidth") != 0) {
		NVW_PRINT(seed, "%llu", (ull)session->config.seed);
		fio_add_line(&request.lines, "randseed", seed);
	}
	return test ? execute(test, &request) : verify(&request);
}

static int help_or_run(const struct cli_session *session)
{
	if (session->help) {
		print_help();
		return 0;
	}
	return measure_or_verify(session);
}

static int fio_main(const struct cli_command *command, int argc, char **argv)
{
	struct cli_session session;
	const int result =
		NVW_OR(cli_session_begin(&session, CLI_NO_WORKLOAD, argc, argv), help_or_run(&session));
	cli_session_end(&session);
	return cli_status(result);
}

const struct cli_command cmd_fio = {.main = fio_main};
