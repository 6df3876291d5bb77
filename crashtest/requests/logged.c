/* SPDX-License-Identifier: BSD-3-Clause */
/* Observed and permitted mode of a workload: one logged run, then explorations of its log. See modes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <emu.h>

#include "../explain/cure.h"
#include "../explain/finding.h"
#include "../judge/hang.h"
#include "modes.h"
#include "../judge/oracle.h"
#include "../judge/process.h"
#include "../run.h"

enum { ACK_RANGES_MAX = 1 << 26 }; /* memory is used only as needed */

/* The log must account for every byte of the pool, or the explored states would not be those of the run. */
static int compare_final(const struct ct_bench *b, const uint8_t *replayed)
{
	struct nvw_pool *pool;
	char path[512];

	ct_bench_pool_path(b, 0, path, sizeof path);
	const int error = nvw_pool_open(path, NVW_POOL_READ, &pool);

	if (error) {
		return error;
	}
	uint64_t at = 0;

	for (unsigned i = 0; i < b->pool_count; i++) {
		const struct nvw_pool *const its = nvw_pool_number(pool, i);
		const nvw_off begin = nvw_pool_begin(its), end = begin + b->pool_bytes[i];
		const uint8_t *const real = nvw_pool_base(its);

		while (at >= begin && at < end && real[at - begin] == replayed[at]) {
			at++;
		}
	}
	nvw_pool_close(pool);
	return at == b->bytes ?
		       0 :
		       nvw_fail(NVW_E_MODEL,
			       "the persist log does not account for the pool's final byte at offset %llu",
			       (unsigned long long)at);
}

/* Caches are inside the domain for all NVRAM devices or for none (emu/config_devices.c). */
static bool keeps_caches(const struct ct_subject *s)
{
	return s->config->nvram.domain == EMU_DOMAIN_eadr;
}

/* Observed mode takes the machine's model: an edited log has no timing. False: no model can be explored. */
static bool proof_model(const struct ct_subject *s, const struct ct_rules *rules, enum ct_model *ret_model)
{
	*ret_model = rules->model;
	if (!ct_model_info(rules->model)->replays) {
		return true;
	}
	if (keeps_caches(s)) {
		*ret_model = CT_MODEL_EADR;
		return true;
	}
	return emu_model_info(s->config->model)->meets &&
	       ct_model_find(emu_model_info(s->config->model)->name, ret_model) != NULL;
}

int ct_logged_explore(const struct ct_logged *l, const struct ct_rules *rules,
	const struct ct_options *options, struct ct_result *ret_result)
{
	const struct ct_bench *const b = &l->bench;
	struct ct_oracle oracle = {
		.workload = b->subject->workload, .plan = b->plan, .nested = options->nested};
	struct ct_hangs hangs = {0};
	struct ct_rules timed = *rules;

	timed.begin_ps = l->shared->begin_ps;
	json_t *const head = ct_finding_subject(b->subject, options, b->subject->command);
	const struct ct_exploration e = {
		.rules = timed,
		.log_fd = l->log_fd,
		.initial = b->initial,
		.bytes = b->bytes,
		.first_record = l->shared->first_record,
		.judge = ct_oracle_judge,
		.context = &oracle,
		.tells_reads = true,
		.bench = b,
		.recorded = l->shared,
		.in_parts = options->nested || options->whole ? NULL : b->subject->workload,
		.plan = b->plan,
		.options = *options,
		.head = head,
		.hangs = &hangs,
	};
	uint8_t *final = malloc(b->bytes);
	int error = final ? ct_explore_assumed(&e, final, ret_result) :
			    nvw_fail(NVW_E_MEMORY, "no memory for a pool of %llu bytes",
				    (unsigned long long)b->bytes);

	if (!error && ct_model_info(rules->model)->replays) {
		error = compare_final(b, final);
	}
	enum ct_model model;

	ret_result->sim_time_ps = l->shared->end_ps - l->shared->begin_ps;
	if (!error && options->cures && options->shards == 0 && proof_model(b->subject, rules, &model)) {
		error = ct_cure(&e, model, ret_result);
	}
	ret_result->has_recoveries = ret_result->states_distinct > 0;
	json_decref(head);
	free(final);
	return error;
}

int ct_logged_create(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_logged *ret_logged)
{
	const struct ct_cut never = {.wanted = false};
	const struct ct_progress emulating = {.what = "emulating"};
	struct ct_logged l = {.log_fd = -1};
	int error = ct_bench_create(subject, &l.bench);

	if (error) {
		return error;
	}
	l.shared = ct_run_shared_create(ACK_RANGES_MAX);
	l.log_fd = ct_log_file();
	error = l.shared == NULL ? NVW_E_MEMORY : l.log_fd < 0 ? NVW_E_SYSTEM : 0;
	if (options->progress != NULL) {
		options->progress(options->context, &emulating);
	}
	if (!error) {
		error = ct_run_whole(&l.bench, 0, l.log_fd, &never, l.shared);
	}
	*ret_logged = l;
	if (error) {
		ct_logged_destroy(ret_logged);
	}
	return error;
}

void ct_logged_destroy(struct ct_logged *l)
{
	if (l->log_fd >= 0) {
		close(l->log_fd);
	}
	ct_run_shared_destroy(l->shared);
	ct_bench_destroy(&l->bench);
}

int ct_run_logged(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	const struct ct_rules rules = {
		.model = options->mode == CT_PERMITTED ? options->model : CT_MODEL_OBSERVED,
		.unit_bytes = options->atomicity};
	const double began = ct_wall_seconds();
	struct ct_logged logged;
	int error = ct_logged_create(subject, options, &logged);

	if (error) {
		return error;
	}
	error = ct_logged_explore(&logged, &rules, options, ret_result);
	ct_logged_destroy(&logged);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}

/* Sets defaults and refuses impossible options. */
int ct_options_complete(const struct ct_subject *subject, struct ct_options *o)
{
	if (subject != NULL && o->mode == CT_PERMITTED && !ct_model_info(o->model)->of_runs &&
		o->model != CT_MODEL_OBSERVED) {
		return nvw_fail(NVW_E_USAGE, "--model: %s is for store logs (--store-log)",
			ct_model_info(o->model)->name);
	}
	if (subject != NULL && o->mode == CT_PERMITTED && !emu_model_info(subject->config->model)->meets) {
		return nvw_fail(NVW_E_USAGE,
			"--mode=permitted needs a run whose barriers stall: remove persist.model=buffered-epoch");
	}
	if (o->nested && o->mode == CT_KILL) {
		return nvw_fail(NVW_E_USAGE, "--nested: expected --mode=observed or --mode=permitted");
	}
	if (o->save != NULL && mkdir(o->save, 0777) != 0 && errno != EEXIST) {
		return nvw_fail_errno("%s", o->save);
	}
	if (o->slice > 0 && mkdir(o->slices, 0777) != 0 && errno != EEXIST) {
		return nvw_fail_errno("%s", o->slices);
	}
	if (o->model == CT_MODEL_OBSERVED) { /* none named: one in which the machine loses what it can lose */
		o->model = subject != NULL && keeps_caches(subject) ? CT_MODEL_EADR : CT_MODEL_EPOCH;
	}
	o->states = o->states ? o->states : o->mode == CT_KILL ? 100 : 20000;
	o->jobs = o->jobs ? o->jobs : 1;
	o->timeout_ms = o->timeout_ms ? o->timeout_ms : 10000;
	if (o->jobs > 64 || o->states > (uint64_t)1 << 30) {
		return nvw_fail(NVW_E_USAGE, "at most 64 jobs and 2^30 states");
	}
	return 0;
}

int ct_or_undecided(int error, const struct ct_options *options, struct ct_result *result)
{
	if (error != NVW_E_STOPPED) {
		return error;
	}
	*result = (struct ct_result){
		.mode = options->mode, .model = options->model, .consistent = true, .interrupted = true};
	return 0;
}

int ct_run(const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_options o = *options;
	const int error = ct_options_complete(subject, &o);

	if (error) {
		return error;
	}
	return ct_or_undecided(o.mode == CT_KILL ? ct_run_kill(subject, &o, ret_result) :
						   ct_run_logged(subject, &o, ret_result),
		&o, ret_result);
}
