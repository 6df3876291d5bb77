/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash WORKLOAD: the shared command line, then the crash tester. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "crash_command.h"
#include "session.h"

#include <emu.h>

static const char own_help[] =
	"  --mode                   kill (SIGKILL and recovery in new processes), observed (what this run's timing could leave) or\n"
	"                           permitted (what the persistency model lets its stores leave) [observed]\n"
	"  --model                  strict, epoch, buffered-epoch or eadr: which states are permitted [epoch]\n"
	"  --atomicity              bytes that persist together in permitted mode: 8 or line [as the machine's NVRAM]\n"
	"  --states                 how many crash states to test [20000 observed, 100 kill]\n"
	"  --jobs                   processes side by side [1]\n"
	"  --timeout                for recovery and check of one state [10s]\n"
	"  --intervals              lists every interval between instants: its states, and how they were accounted for\n"
	"  --matrix                 the verdict under each model and domain, and with each barrier narrower\n"
	"  --self-test              of the workload, or of all: are the seeded bugs found, and nothing else?\n"
	"  --exec                   a program that uses libpmem instead of a workload: 'PROGRAM ARGS', run once on a copy of\n"
	"                           the image, whose path in ARGS, or {}, becomes the copy's; or\n"
	"  --store-log              a store log of pmemcheck, or what nvwave exec --record wrote; with\n"
	"    --image                the file as it was before the program began; --exec may create it\n"
	"    --check                a command that is given a file's path: exit status 0, consistent\n"
	"    --check-lib            or a shared object with nvw_check() (nvw/checker.h); a log of the fio engine needs neither\n"
	"    --model                x86 (with eviction), pmreorder (its full engine), eadr [x86]\n"
	"  --nested                 crashes recovery before each of its writes, too, and demands the same pool in the end\n"
	"  --symmetric              takes work-items for alike whose stores come from the same places: skips, does not cover\n"
	"  --shard                  I/N: part I of N of the states; nvwave crash --merge REPORT.json ... puts them together\n"
	"  --resume                 file to go on from; written when interrupted (SIGINT) and now and then, removed at the end\n"
	"  --html                   writes the report as one HTML page, with timelines and source lines\n"
	"  --save                   directory for a file a finding, for nvwave replay\n";

static int own(const char *arg, void *context)
{
	return crash_option(arg, context);
}

/* The command line again, for the report; under one protocol of --protocol=each, with its name. */
static char *command_text(int argc, char **argv, const char *protocol)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = open_memstream(&text, &bytes);

	for (int i = 0; f && i < argc; i++) {
		const bool each = protocol && !strcmp(argv[i], "--protocol=each");

		fprintf(f, "%s%s%s", i ? " " : "nvwave ", each ? "--protocol=" : argv[i],
			each ? protocol : "");
	}
	return f && fclose(f) == 0 ? text : NULL;
}

static int crash(const struct cli_session *s, struct crash_request *request, int argc, char **argv)
{
	char *const command = command_text(argc, argv, s->config.protocol);
	const struct ct_subject subject = {.workload = s->workload,
		.options = s->options,
		.options_text = s->options_text,
		.config = &s->config,
		.reference = s->reference,
		.command = command,
		.mutation = s->mutation};
	const struct crash_heading heading = {.workload = s->workload->name,
		.machine = s->config.name,
		.protocol = s->config.protocol,
		.model = cli_model_name(&s->config),
		.mutation = s->mutation < 0 ? "" : s->workload->mutations[s->mutation].name,
		.command = command ? command : "",
		.intervals = request->intervals,
		.atomicity = (unsigned)s->config.atomicity,
		.seed = s->config.seed};
	int status;

	request->options.seed = s->config.seed;
	status = crash_execute(&subject, request, &heading, s->json);
	free(command);
	return status;
}

/* The worst of the reports under every protocol; of JSON, one array of them. */
static int crash_under_each(struct cli_session *s, struct crash_request *request, int argc, char **argv)
{
	unsigned protocols = 0, clean = 0;
	const char *name, *citation, *summary;
	int worst = STATUS_CLEAN;

	if (request->html || request->options.save || request->options.resume || request->options.shards) {
		nvw_fail(NVW_E_USAGE,
			"--protocol=each makes a report a protocol: --html, --save, --resume and --shard want one protocol");
		return cli_fail();
	}
	for (; emu_protocol_info(protocols, &name, &citation, &summary) && worst != STATUS_INPUT;
		protocols++) {
		int status;

		snprintf(s->config.protocol, sizeof s->config.protocol, "%s", name);
		fputs(s->json ? (protocols ? "," : "[") : (protocols ? "\n" : ""), stdout);
		status = crash(s, request, argc, argv);
		clean += status == STATUS_CLEAN;
		worst = status > worst ? status : worst;
	}
	if (s->json) {
		fputs("]\n", stdout);
	} else if (worst != STATUS_INPUT) {
		printf("\n%s: consistent under %u of %u protocols\n", s->workload->name, clean, protocols);
	}
	return worst;
}

static int store_log(const struct cli_session *s, struct crash_request *request, int argc, char **argv)
{
	char *const command = command_text(argc, argv, NULL);
	int status;

	if (s->workload) {
		nvw_fail(NVW_E_USAGE, "%s is a run by itself: a workload (%s) has no place beside it",
			request->exec ? "--exec" : "--store-log", s->workload->name);
		status = cli_fail();
	} else {
		request->options.seed = s->config.seed;
		status = request->exec ? crash_exec(&s->config, request, command ? command : "", s->json) :
					 crash_store_log(request, command ? command : "", s->json);
	}
	free(command);
	return status;
}

static int self_test(const struct cli_session *s, struct crash_request *request)
{
	bool good;

	request->options.seed = s->config.seed;
	if (crash_self_test(s->workload, &s->config, &request->options, s->json, &good)) {
		return cli_fail();
	}
	return good ? STATUS_CLEAN : STATUS_INCONSISTENT;
}

int cmd_crash(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--merge")) {
		return crash_merge(argc - 2, argv + 2);
	}
	struct crash_request request = {.options = {.mode = CT_OBSERVED, .jobs = 1}};
	struct cli_session session;
	int r = cli_session_begin(&session, argc, argv, own, &request);
	int status = STATUS_CLEAN;

	if (r == 0 && (session.pool_path || session.log_path)) {
		r = nvw_fail(NVW_E_USAGE,
			"crash makes many pools and logs, all temporary: --pool and --log belong to nvwave run");
	}
	if (r < 0) {
		status = cli_fail();
	} else if (session.help) {
		cli_session_help("crash", session.workload, own_help);
	} else if (request.store_log || request.exec) {
		status = store_log(&session, &request, argc, argv);
	} else if (request.self_test) {
		status = self_test(&session, &request);
	} else if (session.each_protocol) {
		status = crash_under_each(&session, &request, argc, argv);
	} else {
		status = crash(&session, &request, argc, argv);
	}
	cli_session_end(&session);
	return status;
}
