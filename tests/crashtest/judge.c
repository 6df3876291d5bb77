/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For second_definition.py: runs a workload, explores its crash states, and judges states that somebody else
 * has made.
 *
 * 	judge FOLDER MODEL,... STATES WORKLOAD SEED MUTATION [--OPTION=VALUE]...
 *
 * FOLDER/log gets the persist log, FOLDER/initial the pool before it. Standard output: "first N", the first
 * record of the measured part; a line for each model, explored as a whole and in parts. Then each line of
 * standard input is a state, and gets a line, "pass" or "fail": "OFFSET VALUE ... | FIRST COUNT ...", 8-byte
 * words that differ from the pool before the run, and acknowledged operations. Exit status 3: the run with
 * this bug does not end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/check.h>
#include <config/config.h>
#include <crashtest/states/image.h>
#include <crashtest/requests/modes.h>
#include <crashtest/judge/oracle.h>

#include "core/options.h"
#include "shipped.h"

extern const struct nvw_workload nvw_workload; /* the tutorial's queue */

static void end_badly(const char *what)
{
	fprintf(stderr, "judge: %s: %s\n", what, nvw_error_message());
	exit(2);
}

static const struct nvw_workload *find_workload(const char *name)
{
	NVW_EACH_IN(workload, shipped) {
		if (strcmp((*workload)->name, name) == 0) {
			return *workload;
		}
	}
	if (strcmp(nvw_workload.name, name) == 0) {
		return &nvw_workload;
	}
	fprintf(stderr, "judge: no workload %s\n", name);
	exit(2);
}

static int find_mutation(const struct nvw_workload *w, const char *name)
{
	for (int i = 0; w->mutations[i].name != NULL; i++) {
		if (strcmp(w->mutations[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

static void set_options(struct nvw_options *options, char **argument)
{
	for (; *argument; argument++) {
		char *const name = *argument + 2, *const value = strchr(name, '=');

		if (value == NULL) {
			end_badly(*argument);
		}
		*value = '\0';
		if (nvw__options_set(options, name, value + 1)) {
			end_badly(name);
		}
	}
}

static void save(const char *folder, const char *name, const void *bytes, uint64_t count)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *const f = fopen(path, "w");

	if (f == NULL || fwrite(bytes, 1, count, f) != count || fclose(f) != 0) {
		end_badly(path);
	}
}

static void save_log(const char *folder, int fd)
{
	const off_t bytes = lseek(fd, 0, SEEK_END);
	char *const all = malloc((size_t)bytes + 1);

	if (all == NULL || pread(fd, all, (size_t)bytes, 0) != bytes) {
		end_badly("the log");
	}
	save(folder, "log", all, (uint64_t)bytes);
	free(all);
}

/* By parts, and state by state. */
static void explore(const struct ct_subject *subject, enum ct_model model, uint64_t states)
{
	NVW_FOR(whole, 2) {
		static struct ct_result r;
		const struct ct_options options = {.mode = CT_PERMITTED,
			.model = model,
			.states = states,
			.seed = 1,
			.jobs = 1,
			.whole = whole,
			.unexplained = true};

		if (ct_run(subject, &options, &r)) {
			end_badly("exploring");
		}
		printf("%s %s: %d exhausted, %llu failing, %.0f possible, %d exact\n",
			ct_model_info(model)->name, whole ? "whole" : "parts",
			r.instants_exhausted == r.instants, (unsigned long long)r.states_failing,
			r.states_possible, r.states_possible_exact);
		ct_result_free(&r);
	}
}

/* One state of standard input; false at its end. */
static bool judge(struct ct_oracle *oracle, struct ct_image *image)
{
	static struct nvw_findings findings;
	static char line[1 << 16];
	struct nvw_acks acks = {0};
	volatile uint32_t phase = 0;
	int error = 0, n;
	unsigned long long first, second;

	if (fgets(line, sizeof line, stdin) == NULL) {
		return false;
	}
	const char *at = line;

	for (; sscanf(at, "%llu %llu%n", &first, &second, &n) == 2; at += n) {
		ct_image_set(image, first, second);
	}
	at = strchr(at, '|');
	for (at += at != NULL; at && sscanf(at, "%llu %llu%n", &first, &second, &n) == 2 && !error; at += n) {
		error = nvw__acks_add(&acks, first, second);
	}
	if (at == NULL || error) {
		end_badly("a state");
	}
	nvw__findings_clear(&findings);
	puts(ct_oracle_judge(oracle, image, &acks, &findings, &phase) != 0 || findings.count > 0 ? "fail" :
												   "pass");
	fflush(stdout);
	ct_image_undo(image, 0);
	nvw__acks_free(&acks);
	return true;
}

int main(int count, char **argument)
{
	const struct ct_options options = {.mode = CT_PERMITTED, .states = 1, .seed = 1, .jobs = 1};
	struct emu_config config;
	struct nvw_options *given = NULL;
	struct ct_logged logged;
	struct ct_image image;
	enum ct_model model;

	if (count < 7) {
		fprintf(stderr, "judge: too few arguments\n");
		return 2;
	}
	const struct nvw_workload *const w = find_workload(argument[4]);

	emu_config_default(&config);
	if (emu_config_load(&config, "gope18") || nvw__options_create(w->options, &given)) {
		end_badly("the machine");
	}
	config.seed = strtoull(argument[5], NULL, 10);
	set_options(given, argument + 7);
	const struct ct_subject subject = {.workload = w,
		.options = given,
		.config = &config,
		.mutation = find_mutation(w, argument[6])};

	if (ct_logged_create(&subject, &options, &logged)) {
		fprintf(stderr, "judge: %s\n", nvw_error_message());
		return 3;
	}
	save_log(argument[1], logged.log_fd);
	save(argument[1], "initial", logged.bench.initial, logged.bench.bytes);
	printf("first %llu\n", (unsigned long long)logged.shared->first_record);
	for (char *name = strtok(argument[2], ","); name; name = strtok(NULL, ",")) {
		if (ct_model_find(name, &model) == NULL) {
			end_badly(name);
		}
		explore(&subject, model, strtoull(argument[3], NULL, 10));
	}
	puts("explored");
	fflush(stdout);
	struct ct_oracle oracle = {.workload = w, .plan = logged.bench.plan};

	if (ct_image_create(logged.bench.initial, NULL, logged.bench.bytes, &image)) {
		end_badly("the image");
	}
	while (judge(&oracle, &image)) {
	}
	ct_image_destroy(&image);
	ct_logged_destroy(&logged);
	nvw__options_free(given);
	return 0;
}
