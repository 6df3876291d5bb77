/* SPDX-License-Identifier: BSD-3-Clause */
/* Observed and permitted mode of a workload: one logged run, then explorations of its log. See modes.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../explain/cure.h"
#include "../explain/finding.h"
#include "../judge/go_on.h"
#include "../judge/hang.h"
#include "modes.h"
#include "../explore/robust.h"
#include "../judge/oracle.h"
#include "../judge/process.h"
#include "../run.h"

/* The log must account for every byte of the pool, or the explored states would not be those of the run. */
static int compare_final(const struct ct_bench *b, const uint8_t *replayed)
{
	struct nvw_pool *pool;
	char path[512];

	uint64_t at = 0;

	ct_bench_pool_path(b, 0, path, sizeof path);
	NVW_TRY(nvw_pool_open(path, NVW_POOL_READ, &pool));
	NVW_FOR(i, b->pool_count) {
		const struct nvw_pool *const its = nvw_pool_number(pool, i);
		const nvw_off begin = nvw_pool_begin(its), end = begin + b->pool_bytes[i];
		const uint8_t *const real = nvw_pool_base(its);

		while (at >= begin && at < end && real[at - begin] == replayed[at]) {
			at++;
		}
	}
	nvw_pool_close(pool);
	NVW_FAIL_IF(at < b->bytes, NVW_E_MODEL,
		"the persist log does not account for the pool's final byte at offset %llu", (ull)at);
	return 0;
}

/* Caches are inside the domain for all NVRAM devices or for none (emu/config/config_devices.c). */
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
		*ret_model = ct_model_for(CT_USE_KEPT_CACHES);
		return true;
	}
	return emu_model_info(s->config->model)->meets &&
	       ct_model_find(emu_model_info(s->config->model)->name, ret_model);
}

static int explore_to_the_end(const struct ct_exploration *e, struct ct_result *ret_result)
{
	uint8_t *const final = malloc(e->bytes);

	NVW_INVARIANT(e->bench);
	NVW_ALLOCATED(final, "no memory for a pool of %llu bytes", (ull)e->bytes);
	int error = ct_explore_assumed(e, final, ret_result);

	if (!error && ct_model_info(e->rules.model)->replays) {
		error = compare_final(e->bench, final);
	}
	free(final);
	return error;
}

static int explore_and_cure(const struct ct_exploration *e, struct ct_result *ret_result)
{
	enum ct_model model;

	NVW_TRY(explore_to_the_end(e, ret_result));
	ret_result->sim_time_ps = e->recorded->end_ps - e->recorded->begin_ps;
	if (!e->options.cures || e->options.shards > 0 ||
		!proof_model(e->bench->subject, &e->rules, &model)) {
		return 0;
	}
	return ct_cure(e, model, ret_result);
}

static bool is_whole(const struct ct_options *o)
{
	return o->nested || o->whole || o->robust || o->go_on > 0;
}

static int explore(const struct ct_logged *l, const struct ct_rules *rules, const struct ct_options *options,
	struct ct_result *ret_result)
{
	const struct ct_bench *const b = &l->bench;
	struct ct_oracle oracle = {
		.workload = b->subject->workload, .plan = b->plan, .nested = options->nested};
	struct ct_go_on go_on = {0};
	struct ct_robust *robust = NULL;
	ct_judge judge = ct_oracle_judge;
	void *context = &oracle;
	struct ct_hangs hangs = {0};
	struct ct_rules timed = *rules;

	if (options->robust) {
		NVW_TRY(ct_robust_create(
			l->log_fd, l->shared->syncs_fd, rules, b->subject->workload, b->plan, &robust));
	}
	if (options->go_on > 0) {
		NVW_TRY(ct_go_on_make(
			&oracle, b->subject->config, options->go_on, options->crash_again, &go_on));
		judge = ct_go_on_judge;
		context = &go_on;
	}

	timed.begin_ps = l->shared->begin_ps;
	json_t *const head = ct_finding_subject(b->subject, options, b->subject->command);
	const struct ct_exploration e = {
		.rules = timed,
		.log_fd = l->log_fd,
		.initial = b->initial,
		.bytes = b->bytes,
		.first_record = l->shared->first_record,
		.judge = judge,
		.context = context,
		.tells_reads = options->go_on == 0, /* a machine reads its copy */
		.bench = b,
		.recorded = l->shared,
		.in_parts = is_whole(options) ? NULL : b->subject->workload,
		.plan = b->plan,
		.options = *options,
		.robust = robust,
		.head = head,
		.hangs = &hangs,
	};
	int error = explore_and_cure(&e, ret_result);

	if (!error) {
		error = ct_coverage_of(ct_run_executed(l->shared), &ret_result->coverage);
	}
	ct_unlogged_of_run(&l->shared->undo, &ret_result->unlogged);
	ret_result->robust = options->robust;
	ret_result->go_on = options->go_on;
	ret_result->crashes_again = options->crash_again;
	ret_result->has_recoveries = ret_result->states_distinct > 0 && !options->robust;
	json_decref(head);
	ct_go_on_end(&go_on);
	ct_robust_destroy(robust);
	return error;
}

/* All that was tested passes; what goes on from some of the states decides now. */
static int go_on_from_some(const struct ct_logged *l, const struct ct_rules *rules,
	const struct ct_options *options, struct ct_result *result)
{
	struct ct_result *const further = calloc(1, sizeof *further);
	struct ct_options o = *options;

	NVW_ALLOCATED(further, "no memory for a crash test");
	o.states = MIN(options->go_on_states, options->states);
	o.nested = false;
	o.resume = o.exports = NULL;
	const int error = explore(l, rules, &o, further);

	if (error == 0 && (further->finding_count > 0 || further->states_undecided > 0)) {
		ct_result_free(result);
		*result = *further;
	} else {
		result->go_on = further->go_on;
		result->crashes_again = further->crashes_again;
		result->recoveries.worked_on = further->recoveries.worked_on;
		result->interrupted |= further->interrupted;
		ct_result_free(further);
	}
	free(further);
	return error;
}

int ct_logged_explore(const struct ct_logged *l, const struct ct_rules *rules,
	const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_options o = *options;

	if (options->go_on == 0 || options->go_on_states == 0) {
		return explore(l, rules, options, ret_result);
	}
	o.go_on = 0;
	NVW_TRY(explore(l, rules, &o, ret_result));
	const bool passes = ret_result->finding_count == 0 && ret_result->states_undecided == 0 &&
			    !ret_result->without_crash && !ret_result->interrupted;
	const bool is_part = options->slice > 0 || options->slices || options->shards > 0;

	return passes && !is_part ? go_on_from_some(l, rules, options, ret_result) : 0;
}

static int run_logged(struct ct_logged *l, const struct ct_options *options)
{
	NVW_TRY(ct_run_shared_create(CT_ACK_RANGES_MAX, &l->shared));
	NVW_TRY(ct_log_file(&l->log_fd));
	if (options->robust) {
		NVW_TRY(ct_log_file(&l->shared->syncs_fd));
	}
	ct_tell(options, "emulating", 0, 0, 0);
	return ct_run_whole(&l->bench, l->log_fd, NULL, l->shared);
}

int ct_logged_create(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_logged *ret_logged)
{
	*ret_logged = (struct ct_logged){.log_fd = -1};
	NVW_TRY(ct_bench_create(subject, true, &ret_logged->bench));
	const int error = run_logged(ret_logged, options);

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
	if (l->shared && l->shared->syncs_fd > 0) {
		close(l->shared->syncs_fd);
	}
	ct_run_shared_destroy(l->shared);
	ct_bench_destroy(&l->bench);
}

int ct_run_logged(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	const struct ct_rules rules = {
		.model = options->mode == CT_PERMITTED ? options->model : ct_model_for(CT_USE_TIMING),
		.unit_bytes = options->atomicity};
	struct ct_logged logged;

	NVW_TRY(ct_logged_create(subject, options, &logged));
	const int error = ct_logged_explore(&logged, &rules, options, ret_result);

	ct_logged_destroy(&logged);
	return error;
}

static int check_permitted(const struct ct_subject *subject, enum ct_model model)
{
	const struct ct_model_info *const info = ct_model_info(model);

	NVW_FAIL_IF(!info->of_runs && info->use != CT_USE_TIMING, NVW_E_USAGE,
		"--model: %s is for store logs (--store-log)", info->name);
	NVW_FAIL_IF(!emu_model_info(subject->config->model)->meets, NVW_E_USAGE,
		"--mode=permitted needs a run whose barriers stall: remove "
		"persist.model=buffered-epoch");
	return 0;
}

static int make_folder(const char *path)
{
	NVW_FAIL_ERRNO_IF(mkdir(path, 0777) != 0 && errno != EEXIST, "%s", path);
	return 0;
}

static void set_defaults(const struct ct_subject *subject, struct ct_options *o)
{
	const bool keeps = subject && keeps_caches(subject);

	if (o->go_on_states > 0 && subject && !subject->workload->go_on) {
		o->go_on = 0;
	}
	/* One in which the machine loses what it can lose. */
	o->model = ct_model_or(o->model, keeps ? CT_USE_KEPT_CACHES : CT_USE_RUNS);
	if (o->states == 0) {
		o->states = o->mode == CT_KILL ? 100 : 20000;
	}
	if (o->timeout_ms == 0) {
		o->timeout_ms = 10000;
	}
	o->jobs = MAX(o->jobs, 1);
}

int ct_options_complete(const struct ct_subject *subject, struct ct_options *o)
{
	if (subject && o->mode == CT_PERMITTED) {
		NVW_TRY(check_permitted(subject, o->model));
	}
	NVW_FAIL_IF(o->nested && o->mode == CT_KILL, NVW_E_USAGE,
		"--nested: expected --mode=observed or --mode=permitted");
	NVW_FAIL_IF(o->go_on > 0 && o->robust, NVW_E_USAGE,
		"--and-then has no effect with --oracle=robust: it judges what was read");
	NVW_FAIL_IF(o->robust && (o->nested || o->save), NVW_E_USAGE,
		"--oracle=robust cannot be combined with --nested and --save: a saved state "
		"does not have the order of the run");
	NVW_FAIL_IF(o->go_on > 0 && o->mode == CT_KILL, NVW_E_USAGE,
		"--and-then: expected --mode=observed or --mode=permitted");
	if (o->save) {
		NVW_TRY(make_folder(o->save));
	}
	if (o->slice > 0) {
		NVW_TRY(make_folder(o->slices));
	}
	set_defaults(subject, o);
	NVW_FAIL_IF(o->jobs > 64 || o->states > (uint64_t)1 << 30, NVW_E_USAGE,
		"at most 64 jobs and 2^30 states");
	return 0;
}

int ct_run(const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	const double began = ct_wall_seconds();
	struct ct_options o = *options;

	NVW_TRY(ct_options_complete(subject, &o));
	int (*const run)(const struct ct_subject *, const struct ct_options *, struct ct_result *) =
		o.mode == CT_KILL ? ct_run_kill : ct_run_logged;

	const int error = run(subject, &o, ret_result);

	ret_result->host_seconds = ct_wall_seconds() - began;
	return ct_or_undecided(error, &o, ret_result);
}
