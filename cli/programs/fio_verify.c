/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave fio verify: does fio find its acknowledged blocks after a crash?
 *
 * A run of verify.fio's [write] is recorded to its end, to count the events. Then it is killed at seeded
 * events. For each run, [check] gets the certainly durable state and some of the possible ones.
 *
 * The record, not fio, tells which blocks had been acknowledged: killed by SIGKILL, fio saves no state (and
 * its own trigger stops the job first). The job writes one block at a time, so when the flush of block n+1 is
 * in the record, fio has acknowledged n blocks. A run of the same job that ends after n blocks saves fio's
 * state for n, which [check] loads.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/crash.h>
#include <nvw/persist_log.h>
#include <nvw/random.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/stop.h"
#include "../crash_command.h"
#include "recording.h"
#include "fio_run.h"
#include "../laboratory/sweep.h"
#include "../report/json_report.h"
#include "../report/provenance.h"
#include "../session.h"
#include "../report/words.h"

enum { KILLS = 10, KILLS_MAX = 1000, STATES = 8 };

struct kill {
	uint64_t event, acknowledged, states, lost;
	char text[CT_TEXT_BYTES]; /* of the first state with a loss */
};

struct verify {
	const struct fio_request *request;
	struct fio_place place;
	char log[288], base[288], scratch[288], check[1024], version[32];
	uint64_t events, blocks; /* of the whole run */
	uint64_t kill_count, states, lost, undecided;
	struct kill kill[KILLS_MAX];
};

/* ---- Recorded runs ------------------------------------------------------------------------------- */

/* The number of flushes in the log: one per block, because the engine copies each block by one call. */
static int count_flushes(const char *path, uint64_t *ret_flushes)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int more;

	*ret_flushes = 0;
	NVW_TRY(nvw_log_open(path, &reader));
	while ((more = nvw_log_next(reader, &r)) > 0) {
		*ret_flushes += r.kind == NVW_LOG_FLUSH;
	}
	nvw_log_reader_close(reader);
	return more;
}

/* Writes up to the event; 0: to the end. *ret_flushes is 0 if fio was killed before it mapped its file. */
static int record(struct verify *v, uint64_t kill_at, uint64_t *ret_events, uint64_t *ret_flushes)
{
	/* Not const, as argv is not. */
	static char fio[] = "fio", quiet[] = "--eta=never", section[] = "--section=write";
	char output[320], aux[320];
	char *const words[] = {fio, quiet, section, output, aux, v->place.job, NULL};
	struct crash_recording r = {.machine = v->request->machine,
		.words = words,
		.path = v->place.pool,
		.log = v->log,
		.base = v->base,
		.kill_at = kill_at,
		.from_map = true, /* before it, fio fills the file */
		.model = HOST_MODEL_X86,
		.judged = true};

	NVW_PRINT(output, "--output=%s", v->place.output);
	NVW_PRINT(aux, "--aux-path=%s", v->place.folder.path);
	unlink(v->place.pool);
	const int found = crash_record(&r);

	*ret_events = r.events;
	*ret_flushes = 0;
	if (found == NVW_E_STOPPED) {
		return found;
	}
	if ((kill_at == 0 || WIFEXITED(r.status)) && fio_check(&v->place, r.status)) {
		return NVW_E_INPUT;
	}
	if (found > 0) {
		return count_flushes(v->log, ret_flushes);
	}
	return found;
}

/* A check that fails without a crash would report that everything is lost. */
static int try_check(const struct verify *v)
{
	char command[1500];

	NVW_PRINT(command, "%s '%s' >&2", v->check, v->scratch);
	NVW_FAIL_IF(system(command), NVW_E_INPUT, "without a crash, fio fails to verify what it wrote");
	return 0;
}

/* fio's own state after this many blocks, from the same job on another file. */
static int save_state(struct verify *v, uint64_t blocks)
{
	char number[48];
	struct fio_run run = {.machine = v->request->machine, .argument = {"--section=write", number, NULL}};

	NVW_PRINT(number, "--number_ios=%llu", (ull)blocks);
	setenv("NVRAM", v->scratch, 1);
	const int error = fio_run(&v->place, &run);

	setenv("NVRAM", v->place.pool, 1);
	NVW_PRINT(v->version, "%s", fio_version(&run));
	fio_run_end(&run);
	NVW_TRY(error);
	if (v->kill_count > 0) {
		return 0;
	}
	return try_check(v);
}

/* ---- A kill -------------------------------------------------------------------------------------- */

static int explore_kill(struct verify *v, struct kill *k, uint64_t seed)
{
	const struct fio_request *const q = v->request;
	const struct ct_foreign foreign = {
		.store_log = v->log, .image = v->base, .command = v->check, .last_only = true};
	const bool keeps_caches = q->machine->nvram.domain == EMU_DOMAIN_eadr;
	const enum ct_use use = keeps_caches ? CT_USE_KEPT_CACHES : CT_USE_PROGRAMS;
	const struct ct_options options = {
		.model = ct_model_for(use),
		.states = NVW_OR(q->states, STATES),
		.seed = seed,
		.jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.unexplained = true,
	};
	struct ct_result *const result = calloc(1, sizeof *result);

	NVW_ALLOCATED(result, "no memory for a result");
	const int error = ct_run_foreign(&foreign, &options, result);

	if (!error) {
		k->states = result->states_tested;
		k->lost = result->states_failing;
		v->undecided += result->states_undecided;
		NVW_PRINT(k->text, "%s", words_if(result->finding_count, result->finding[0].text));
		ct_result_free(result);
	}
	free(result);
	return error;
}

static int kill_once(struct verify *v, struct kill *k, uint64_t seed)
{
	uint64_t events, flushes;
	const int error = record(v, k->event, &events, &flushes);

	if (flushes > 0) {
		k->acknowledged = flushes - 1;
	}
	NVW_TRY(error);
	if (k->acknowledged == 0) {
		return 0;
	}
	NVW_TRY(save_state(v, k->acknowledged));
	return explore_kill(v, k, seed);
}

/*
 * The command gets the state's path as its argument. There is no session: fio is told that the file is
 * persistent memory. The path and --readonly are removed from its messages.
 */
static void make_check(struct verify *v)
{
	NVW_PRINT(v->check,
		"check() { NVRAM=\"$1\" PMEM_IS_PMEM_FORCE=1 fio --readonly --eta=never --section=check "
		"--output=/dev/null --aux-path='%s' '%s' 2>\"$1.said\"; status=$?; sed -e '/refusing to "
		"write/d' -e 's/ at file [^ ]*/ at/' \"$1.said\"; return $status; }; check",
		v->place.folder.path, v->place.job);
}

static int run_kill(struct verify *v, struct nvw_random *random, uint64_t seed)
{
	NVW_INVARIANT(v->kill_count < KILLS_MAX);

	struct kill *const k = &v->kill[v->kill_count];

	k->event = 1 + nvw_random_below(random, v->events);
	const int error = kill_once(v, k, seed + v->kill_count);

	v->states += k->states;
	v->lost += k->lost;
	v->kill_count += !error;
	return error;
}

static int run_kills(struct verify *v)
{
	const uint64_t seed = v->request->machine->seed, kills = NVW_OR(v->request->kills, KILLS);
	struct nvw_random random = {seed};

	NVW_INVARIANT(kills <= KILLS_MAX);
	NVW_TRY(record(v, 0, &v->events, &v->blocks));
	NVW_FAIL_IF(v->blocks == 0, NVW_E_INPUT, "fio wrote no block: nothing was recorded");
	const struct sweep_manner manner = {.progress = isatty(STDERR_FILENO)};
	struct sweep_progress progress = {.what = "kills", .to_run = (unsigned)kills};
	int error = 0;

	while (v->kill_count < kills && !nvw_stopping() && !error) {
		sweep_show(&manner, &progress, false);
		error = run_kill(v, &random, seed);
		progress.ended = v->kill_count;
	}
	sweep_show(&manner, &progress, true);
	NVW_TRY(error);
	NVW_FAIL_IF(!nvw_stopping() && v->states == 0, NVW_E_INPUT,
		"nothing was verified: no kill came after the first acknowledged block (the job "
		"writes %llu)",
		(ull)v->blocks);
	return 0;
}

/* ---- Reports ------------------------------------------------------------------------------------- */

/* Kills, and the states that one leaves, are a sample. */
static enum ct_verdict verdict_of(const struct verify *v)
{
	if (v->lost > 0) {
		return CT_VERDICT_INCONSISTENT;
	}
	return nvw_stopping() || v->undecided > 0 ? CT_VERDICT_UNDECIDED : CT_VERDICT_UNREFUTED;
}

/* What the verdict is said of. */
static void print_states(const struct verify *v)
{
	NVW_INVARIANT(v->lost <= v->states);
	if (v->lost > 0) {
		printf("   %llu of ", (ull)v->lost);
	} else {
		fputs(verdict_of(v) == CT_VERDICT_UNREFUTED ? " in " : "   ", stdout);
	}
	printf("%llu states after %llu kills", (ull)v->states, (ull)v->kill_count);
	if (v->undecided > 0) {
		printf(", %llu without an answer", (ull)v->undecided);
	}
}

static void print_kill(const struct kill *k)
{
	printf("%11llu %13llu %7llu %5llu%s%s\n", (ull)k->event, (ull)k->acknowledged, (ull)k->states,
		(ull)k->lost, words_if(k->text[0], "  "), k->text);
}

static int print_text(const struct verify *v)
{
	const struct emu_config *const m = v->request->machine;

	fputs(ct_verdict_words(verdict_of(v)), stdout);
	print_states(v);
	printf("%s\n"
	       "verify of %s on %s: domain %s, seed %llu%s; the whole job writes %llu blocks in %llu events\n"
	       "  killed at  acknowledged  states  lost\n",
		words_if(nvw_stopping(), ", interrupted"), words_or(v->version, "fio"), m->name,
		cli_domain_name(m), (ull)m->seed, words_if(v->request->fault, ", fault no-drain"),
		(ull)v->blocks, (ull)v->events);
	NVW_EACH(kill, v->kill, v->kill_count) {
		print_kill(kill);
	}
	cli_print_made_by(m);
	return 0;
}

static json_t *kills_json(const struct verify *v)
{
	return JSON_LIST(k, v->kill, v->kill_count,
		json_pack("{s:I, s:I, s:I, s:I, s:s}", "event", (json_int_t)k->event, "acknowledged",
			(json_int_t)k->acknowledged, "states", (json_int_t)k->states, "lost",
			(json_int_t)k->lost, "text", k->text));
}

static int print_json(const struct verify *v)
{
	const struct emu_config *const m = v->request->machine;
	json_t *const o = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:o}",
		"test", "verify", "fio_version", v->version, "machine", m->name, "domain", cli_domain_name(m),
		"seed", (json_int_t)m->seed, "verdict", ct_verdict_name(verdict_of(v)), "blocks",
		(json_int_t)v->blocks, "events", (json_int_t)v->events, "states", (json_int_t)v->states,
		"lost", (json_int_t)v->lost, "interrupted", nvw_stopping(), "kills", kills_json(v), "made_by",
		cli_provenance(m, NULL));

	return cli_print_json(o, stdout);
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static int begin_verify(struct verify *v)
{
	struct fio_lines lines = v->request->lines;

	NVW_TRY(fio_place_begin(&v->place));
	if (v->request->fault) {
		fio_add_line(&lines, "sync", "0");
	}
	NVW_FAIL_IF(v->request->kills > KILLS_MAX, NVW_E_USAGE, "--kills: expected at most %d", KILLS_MAX);
	NVW_FAIL_IF(strchr(v->place.folder.path, '\''), NVW_E_USAGE,
		"TMPDIR: expected a path without quotes, found %s", v->place.folder.path);
	NVW_PRINT(v->log, "%s/log", v->place.folder.path);
	NVW_PRINT(v->base, "%s/base", v->place.folder.path);
	NVW_PRINT(v->scratch, "%s/scratch", v->place.folder.path);
	make_check(v);
	return fio_write_job(&v->place, "verify", &lines);
}

static int kill_many(struct verify *v)
{
	NVW_TRY(begin_verify(v));
	return run_kills(v);
}

static int verify_and_print(struct verify *v)
{
	const int error = kill_many(v);

	nvw_stop_reporting();
	fio_place_end(&v->place);
	if (error && error != NVW_E_STOPPED) {
		return error;
	}
	NVW_TRY(v->request->json ? print_json(v) : print_text(v));
	return crash_status(verdict_of(v));
}

int fio_verify(const struct fio_request *request)
{
	struct verify *const v = calloc(1, sizeof *v);

	NVW_ALLOCATED(v, "no memory for the kills");
	v->request = request;
	const int result = verify_and_print(v);

	free(v);
	return result;
}
