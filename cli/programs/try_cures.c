/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures that are run. See try_cures.h. */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "core/invariant.h"
#include "core/folder.h"
#include "core/print.h"
#include "core/stop.h"

#include "../report/patch/patch.h"
#include "../session.h"
#include "try_cures.h"
#include "../report/words.h"

enum { BUILD_SECONDS = 600, RUN_FACTOR = 20, RUN_SECONDS = 10, COPY_MIB = 1024, POLL_MS = 20 };

struct copy {
	struct nvw_folder folder;
	char tree[320], output[320]; /* the copy of the working directory; what the build printed */
	char from[PATH_MAX];
	char program[256];
};

/* ---- Running commands ---------------------------------------------------------------------------- */

/* Waits for a process group that may take so long: its status, -1 if it was ended. */
static int end_late(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

static int wait_for(pid_t pid, double limit)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	const double began = ct_wall_seconds();
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (ct_wall_seconds() - began > limit || nvw_stopping()) {
			return end_late(pid);
		}
		nanosleep(&pause, NULL);
	}
	return status;
}

static int run(char *const argv[], const char *folder, const char *output)
{
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		const int to = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
			  from = open("/dev/null", O_RDONLY | O_CLOEXEC);

		setpgid(0, 0);
		nvw_stop_leave_to_parent();
		if (to >= 0 && from >= 0 && dup2(from, 0) == 0 && dup2(to, 1) == 1 && dup2(to, 2) == 2 &&
			chdir(folder) == 0) {
			execvp(argv[0], argv);
		}
		_exit(127);
	}
	if (pid < 0) {
		return -1;
	}
	setpgid(pid, pid); /* whichever process is first */
	return wait_for(pid, BUILD_SECONDS);
}

/* The line of what a command printed that says most: the first one with an error, or else the last one. */
static void tell_output(const char *output, char *ret_text, size_t bytes)
{
	FILE *const f = fopen(output, "re");
	char line[256];
	bool found = false;

	ret_text[0] = '\0';
	while (f && !found && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		found = strstr(line, "error") != NULL;
		if (line[0] != '\0') {
			snprintf(ret_text, bytes, "%.150s", line);
		}
	}
	if (f) {
		fclose(f);
	}
}

/* ---- The copy ------------------------------------------------------------------------------------ */

static size_t program_length(const char *exec)
{
	return strcspn(exec, " \t");
}

int cli_try_cures_check(const char *exec)
{
	const size_t n = program_length(exec);

	NVW_FAIL_IF(!memchr(exec, '/', n) || exec[0] == '/' || memmem(exec, n, "..", 2), NVW_E_USAGE,
		"--try-cures: expected --exec to begin with the program's path below the working "
		"directory, as ./PROGRAM, found \"%.*s\"",
		(int)n, exec);
	return 0;
}

/* nftw() passes nothing on. */
static uint64_t found_bytes;
static const char *left_out;

static int count_bytes(const char *path, const struct stat *s, int type, struct FTW *at)
{
	if (type == FTW_F && strcmp(path, left_out) != 0) {
		found_bytes += (uint64_t)s->st_blocks * 512;
	}
	return found_bytes > (uint64_t)COPY_MIB << 20;
}

static int check_folder(const struct copy *c, const char *image)
{
	NVW_FAIL_IF(strcmp(c->from, "/") == 0 || path_below(c->folder.path, c->from), NVW_E_USAGE,
		"the working directory, %s, is what is copied, and has the temporary files (TMPDIR) "
		"in it: run nvwave in the folder of the sources",
		c->from);
	found_bytes = 0;
	left_out = image;
	NVW_FAIL_IF(nftw(c->from, count_bytes, 32, FTW_PHYS | FTW_MOUNT) != 0, NVW_E_USAGE,
		"the working directory, %s, is what is copied, and has more than %d MiB, or cannot "
		"be read: run nvwave in the folder of the sources",
		c->from, COPY_MIB);
	return 0;
}

/* With the times of its files, by which a build tells what is new. */
static int copy_tree(struct copy *c, const char *image)
{
	char program[] = "cp", options[] = "-a", end[] = "--", from[] = ".";
	char *const argv[] = {program, options, end, from, c->tree, NULL};
	const char *const pool_name = path_below(image, c->from);
	char text[160], pool[2 * PATH_MAX];

	if (run(argv, c->from, c->output) != 0) {
		tell_output(c->output, text, sizeof text);
		return nvw_fail(NVW_E_SYSTEM, "%s cannot be copied: %s", c->from, text);
	}
	if (pool_name) {
		NVW_PRINT(pool, "%s/%s", c->tree, pool_name);
		unlink(pool);
	}
	return 0;
}

static int begin(const struct cure_trial *t, struct copy *c)
{
	NVW_TRY(cli_try_cures_check(t->exec));
	NVW_FAIL_ERRNO_IF(!getcwd(c->from, sizeof c->from), "the working directory");
	NVW_TRY(nvw_folder_make("cures", false, &c->folder));
	NVW_PRINT(c->tree, "%s/tree", c->folder.path);
	NVW_PRINT(c->output, "%s/output", c->folder.path);
	NVW_PRINT(c->program, "%.*s", (int)program_length(t->exec), t->exec);
	NVW_TRY(check_folder(c, t->image));
	return copy_tree(c, t->image);
}

/* ---- The build and the run ----------------------------------------------------------------------- */

struct outcome {
	enum ct_cure_outcome run;
	char text[CT_CURE_TEXT];
	struct ct_result *result;
};

/* Returns the command's status; -1 if it does not return. */
static int run_build(const struct cure_trial *t, const struct copy *c)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *const command = strdup(t->command);
	char *const argv[] = {shell, option, command, NULL};
	int status = -1;

	setenv("NVWAVE_SOURCES", c->from, 1);
	setenv("NVWAVE_COPY", c->tree, 1);
	if (command) {
		status = run(argv, c->tree, c->output);
	}
	unsetenv("NVWAVE_SOURCES");
	unsetenv("NVWAVE_COPY");
	free(command);
	return status;
}

/* The program is removed before, so that the one that is there was built from the copy. False: why not is in
 * the outcome. */
static bool build(const struct cure_trial *t, const struct copy *c, struct outcome *o)
{
	char program[600], said[160];

	NVW_PRINT(program, "%s/%s", c->tree, c->program);
	unlink(program);
	const int status = run_build(t, c);

	tell_output(c->output, said, sizeof said);
	if (nvw_stopping()) {
		NVW_PRINT(o->text, "nvwave was stopped");
	} else if (status == -1) {
		NVW_PRINT(o->text, "the build of a copy with it took longer than %d s", BUILD_SECONDS);
	} else if (status != 0) {
		NVW_PRINT(o->text, "a copy with it does not build (status %d)%s%s", cli_exit_status(status),
			words_if(said[0], ": "), said);
	} else if (access(program, X_OK) != 0) {
		NVW_PRINT(o->text, "the build of a copy with it made no %.100s there", c->program);
	}
	return o->text[0] == '\0';
}

static void tell_end(int status, int expected, struct outcome *o)
{
	o->run = CT_CURE_REFUTED;
	if (WIFSIGNALED(status)) {
		NVW_PRINT(o->text, "the program is ended by signal %d", WTERMSIG(status));
	} else {
		NVW_PRINT(o->text, "the program ends with status %d, and not as before with %d",
			WEXITSTATUS(status), cli_exit_status(expected));
	}
}

static void tell_result(const struct ct_result *r, struct outcome *o)
{
	const char *const text = r->finding_count > 0 ? r->finding[0].text : "";

	NVW_INVARIANT(o->run == CT_CURE_NOT_RUN);
	if (r->interrupted || r->gave_up) {
		NVW_PRINT(o->text, "the test of a copy with it did not end");
	} else if (r->unlogged.count > 0) {
		o->run = CT_CURE_REFUTED;
		NVW_PRINT(o->text, "the store at %.120s:%u is still in no added range",
			r->unlogged.at[0].file, r->unlogged.at[0].line);
	} else if (ct_is_consistent(r)) {
		o->run = CT_CURE_HOLDS;
	} else if (r->finding_count == 0) {
		NVW_PRINT(o->text, "the run with it has no verdict: %.150s", r->undecided);
	} else if (r->without_crash) {
		o->run = CT_CURE_REFUTED;
		NVW_PRINT(o->text, "the final state is wrong without a crash (%.150s)", text);
	} else {
		o->run = CT_CURE_REFUTED;
		NVW_PRINT(o->text, "%llu of %llu tested states still fail (%.150s)", (ull)r->states_failing,
			(ull)r->states_tested, text);
	}
}

static int run_copy(const struct cure_trial *t, const struct copy *c, struct outcome *o)
{
	const double limit = fmax(RUN_FACTOR * t->seconds, RUN_SECONDS);
	bool timed_out = false;
	int status = t->status;

	NVW_FAIL_ERRNO_IF(chdir(c->tree) != 0, "%s", c->tree);
	const int error = t->run(t->context, limit, o->result, &status, &timed_out);

	NVW_FAIL_ERRNO_IF(chdir(c->from) != 0, "%s", c->from);
	if (timed_out) {
		o->run = CT_CURE_REFUTED;
		NVW_PRINT(o->text, "the program does not end within %.0f s", limit);
	} else if (status != t->status) {
		tell_end(status, t->status, o);
	} else if (error) {
		NVW_PRINT(o->text, "a copy with it cannot be tested: %.150s", nvw_error_message());
	} else {
		tell_result(o->result, o);
	}
	return 0;
}

/* ---- What it says of each cure ------------------------------------------------------------------- */

/* Findings that the copy may still have, since it has no cure of theirs. */
static unsigned left_in(const struct ct_result *r, const char *const *why)
{
	unsigned left = 0;

	NVW_INVARIANT(r->finding_count <= CT_FINDINGS_MAX);
	NVW_EACH(one, why, r->finding_count) {
		left += *one != NULL;
	}
	NVW_FOR(i, r->unlogged.count) {
		left += why[CT_FINDINGS_MAX + i] != NULL;
	}
	return left;
}

/* The states are those of the run now. */
static void note_held(const struct ct_result *run, unsigned applied, struct ct_cure *c)
{
	c->others = applied - 1;
	c->assumed = 0;
	c->states = run->states_tested;
	c->possible_log2 = run->states_possible_log2;
	c->possible_exact = run->states_possible_exact;
	c->exhaustive = ct_covers_all(run) && run->states_possible_exact;
}

/* Notes the outcome of a verified cure that the copy had. left: findings whose cures it did not have. */
static void note_refuted(const struct outcome *o, unsigned left, struct ct_cure *c)
{
	c->run = CT_CURE_NOT_RUN;
	NVW_PRINT(c->run_text, "%.170s; the copy has no cure of %u other finding%s", o->text, left,
		plural(left));
}

static void note_run(const struct outcome *o, unsigned applied, unsigned left, struct ct_cure *c)
{
	/* What fails without the cures of others refutes nobody's. */
	if (o->run == CT_CURE_REFUTED && left > 0) {
		note_refuted(o, left, c);
		return;
	}
	c->run = o->run;
	NVW_PRINT(c->run_text, "%s", o->text);
	if (c->run == CT_CURE_HOLDS) {
		note_held(o->result, applied, c);
	}
}

/* Notes the outcome of a store that the copy has added to the undo log. */
static void note_range(const struct outcome *o, unsigned left, struct ct_unlogged *u)
{
	const bool refuted = o->run == CT_CURE_REFUTED && left == 0;

	u->run = o->run == CT_CURE_HOLDS || refuted ? o->run : CT_CURE_NOT_RUN;
	u->states = o->result->states_tested;
	NVW_PRINT(u->run_text, "%s", o->text);
}

static void note_ranges(struct ct_result *r, const char *const *why, const struct outcome *o, unsigned left)
{
	NVW_FOR(i, r->unlogged.count) {
		struct ct_unlogged *const u = &r->unlogged.at[i];

		if (!why[CT_FINDINGS_MAX + i]) {
			note_range(o, left, u);
		} else {
			NVW_PRINT(u->run_text, "there is no patch of it: %s", why[CT_FINDINGS_MAX + i]);
		}
	}
}

static void note(struct ct_result *r, const char *const *why, const struct outcome *o)
{
	const unsigned left = left_in(r, why);
	unsigned applied = 0;

	note_ranges(r, why, o, left);
	NVW_FOR(i, r->finding_count) {
		applied += !why[i] && r->finding[i].cure.verified;
	}
	NVW_FOR(i, r->finding_count) {
		struct ct_cure *const c = &r->finding[i].cure;

		if (c->verified && !why[i]) {
			note_run(o, applied, left, c);
		} else if (c->verified) {
			NVW_PRINT(c->run_text, "there is no patch of it: %s", why[i]);
		}
	}
}

/* Its tree may be deeper than what nvw_folder_remove() removes. */
static void drop(struct copy *c)
{
	char program[] = "rm", options[] = "-rf", end[] = "--";
	char *const argv[] = {program, options, end, c->tree, NULL};

	if (c->folder.path[0] != '\0') {
		run(argv, "/", c->output);
		nvw_folder_remove(&c->folder);
	}
}

static int try_copy(const struct cure_trial *t, struct ct_result *r, struct copy *c,
	const char *why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX], struct outcome *o)
{
	NVW_TRY(begin(t, c));
	const int lines = cli_patch_apply(r, c->from, c->tree, why);

	if (lines <= 0 || !build(t, c, o)) {
		return lines < 0 ? lines : 0;
	}
	return run_copy(t, c, o);
}

void cli_try_cures(const struct cure_trial *t, struct ct_result *r)
{
	NVW_INVARIANT(t->run && t->seconds >= 0);

	const char *why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX] = {NULL};
	struct outcome o = {.result = calloc(1, sizeof *o.result)};
	struct copy c = {.from = ""};

	if (!o.result) {
		return;
	}
	if (try_copy(t, r, &c, why, &o)) {
		o.run = CT_CURE_NOT_RUN;
		NVW_PRINT(o.text, "%s", nvw_error_message());
	}
	note(r, why, &o);
	ct_result_free(o.result);
	free(o.result);
	drop(&c);
}
