/* SPDX-License-Identifier: BSD-3-Clause */
/* External checkers. See checker.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check/check.h>
#include <nvw/checker.h>

#include "checker.h"
#include "descendants.h"
#include "fork_server.h"
#include "image.h"
#include "output.h"

/* ---- Library ------------------------------------------------------------------------------------------------ */

static int write_image(void *context, uint64_t off, const void *from, size_t n)
{
	const uint8_t *bytes = from;

	while (n > 0) {
		const size_t left = 8 - off % 8, piece = n < left ? n : left;

		if (ct_image_write(context, off, bytes, piece)) {
			return -1;
		}
		off += piece;
		bytes += piece;
		n -= piece;
	}
	return 0;
}

/* Output of a library is not part of the report. Called in the judging process, which prints nothing
 * itself. */
static void silence(void)
{
	static bool done;
	const int fd = done ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	done = true;
}

static int judge_by_library(const struct ct_checker *c, struct ct_image *image, struct nvw_findings *findings)
{
	char message[CT_TEXT_BYTES] = "";
	struct nvw_check check = {
		.image = image->ro,
		.bytes = c->bytes,
		.write = write_image,
		.context = image,
		.message = message,
		.message_bytes = sizeof message,
	};

	silence();
	if (c->check(&check) == 0) {
		return 0;
	}
	message[sizeof message - 1] = '\0';
	message[strcspn(message, "\r\n")] = '\0'; /* a finding is one line */
	return nvw_violation(findings, 0, "%s",
		*message ? message : "the checker found an inconsistency but printed no description");
}

/* ---- Command ------------------------------------------------------------------------------------------------ */

/* The state file of this process. */
struct state_file {
	pid_t pid;
	char path[NVW__FOLDER_PATH + 32];
	uint8_t *map;
	uint64_t bytes;
	dev_t device;
	ino_t inode;
};

static int make_file(struct state_file *f, const struct ct_checker *c)
{
	struct stat s;

	if (f->map != NULL) {
		munmap(f->map, f->bytes);
		f->map = NULL;
	}
	f->pid = getpid();
	f->bytes = c->bytes;
	snprintf(f->path, sizeof f->path, "%s/state-%d", c->folder.path, (int)f->pid);
	unlink(f->path);
	const int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 || posix_fallocate(fd, 0, (off_t)c->bytes) || fstat(fd, &s)) {
		const int error = nvw_fail_errno("%s", f->path);

		if (fd >= 0) {
			close(fd);
		}
		return error;
	}
	void *map = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (map == MAP_FAILED) {
		return nvw_fail_errno("%s", f->path);
	}
	f->map = map;
	f->device = s.st_dev;
	f->inode = s.st_ino;
	return 0;
}

/* True if the checker left the file in place with its old length. */
static bool is_in_place(const struct state_file *f)
{
	struct stat s;

	return lstat(f->path, &s) == 0 && s.st_dev == f->device && s.st_ino == f->inode &&
	       (uint64_t)s.st_size == f->bytes;
}

/* Makes the file equal to the state where it differs. */
static int fill_file(struct state_file *f, const struct ct_checker *c, const struct ct_image *image)
{
	enum { PAGE = 4096 };

	if (f->map == NULL || f->pid != getpid() || !is_in_place(f)) {
		const int error = make_file(f, c);

		if (error) {
			return error;
		}
	}
	for (uint64_t at = 0; at < c->bytes; at += PAGE) {
		const uint64_t n = c->bytes - at < PAGE ? c->bytes - at : PAGE;

		if (memcmp(f->map + at, image->rw + at, n) != 0) {
			memcpy(f->map + at, image->rw + at, n);
		}
	}
	return 0;
}

/* Splits a command that needs no shell into words: false if it needs one, or has too many words. */
static bool split(char *command, char *words[32])
{
	unsigned n = 0;
	char *word;

	if (strpbrk(command, "|&;<>()$`\\\"'*?[]#~=%!{}\n") != NULL) {
		return false;
	}
	while ((word = strtok_r(command, " \t", &command)) != NULL) {
		if (n == 30) {
			return false;
		}
		words[n++] = word;
	}
	words[n] = NULL;
	return n > 0;
}

/* A command as words that point into text; run by a shell if it needs one. */
struct command {
	char *words[32];
	char text[4096];
};

static void make_command(const struct ct_checker *c, const char *path, struct command *ret_command)
{
	static char shell[] = "/bin/sh", option[] = "-c", name[] = "sh";
	unsigned n = 0;

	if (c->by_shell) {
		snprintf(ret_command->text, sizeof ret_command->text, "%s \"$1\"", c->command);
		ret_command->words[n++] = shell;
		ret_command->words[n++] = option;
		ret_command->words[n++] = ret_command->text;
		ret_command->words[n++] = name;
	} else {
		snprintf(ret_command->text, sizeof ret_command->text, "%s", c->command);
		split(ret_command->text, ret_command->words);
		while (ret_command->words[n] != NULL) {
			n++;
		}
	}
	ret_command->words[n] = (char *)(uintptr_t)path;
	ret_command->words[n + 1] = NULL;
}

static pid_t start(const struct command *command, int output)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		setpgid(0, 0); /* so that its children can be ended with it */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ct_output_redirect(output);
		execvp(command->words[0], command->words);
		_exit(127);
	}
	return pid;
}

/* How a command ended. */
struct answer {
	bool in_time; /* false: it had to be killed */
	int status;   /* as from waitpid() */
	char line[CT_LINE_BYTES];
};

static void finish(pid_t pid, unsigned timeout_ms, struct answer *ret_answer)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	ret_answer->in_time = fd < 0 || ct_output_wait(fd, (int)timeout_ms);
	if (fd >= 0) {
		kill(-pid, SIGKILL); /* its remaining processes too: the next state is a new one */
		close(fd);
	}
	while (waitpid(pid, &ret_answer->status, 0) < 0 && errno == EINTR) {
	}
	ct_end_descendants(ct_fork_server_pid()); /* also descendants that left the group */
}

/* Makes the file and runs the command, forked if that is wanted and possible. Returns 1, 0 if it cannot be
 * run, or an error. */
static int ask(
	const struct ct_checker *c, const struct ct_image *image, bool forked, struct answer *ret_answer)
{
	static struct state_file file; /* of this process, which has only one checker */
	static struct command command;
	int error = fill_file(&file, c, image);

	if (error) {
		return error;
	}
	const int output = ct_output_begin();

	make_command(c, file.path, &command);
	if (forked) {
		if (!ct_fork_server_run(command.words, output, c->timeout_ms, &ret_answer->status,
			    &ret_answer->in_time)) {
			return 0;
		}
	} else {
		prctl(PR_SET_CHILD_SUBREAPER, 1); /* in the judging process */
		const pid_t pid = start(&command, output);

		if (pid < 0) {
			return nvw_fail_errno("the checker cannot be started");
		}
		finish(pid, c->timeout_ms, ret_answer);
	}
	ct_output_line(ret_answer->line);
	return 1;
}

/* For this process's first states always, then less and less often. */
static bool is_compared(void)
{
	static pid_t owner;
	static uint64_t states;

	if (owner != getpid()) {
		owner = getpid();
		states = 0;
	}
	const uint64_t n = states++;

	return n < 4 || (n & (n - 1)) == 0;
}

static bool is_same(const struct answer *a, const struct answer *b)
{
	return a->in_time == b->in_time && (!a->in_time || a->status == b->status);
}

/* The command's answer, forked or executed: 0 or an error. */
static int ask_either(const struct ct_checker *c, const struct ct_image *image, struct answer *ret_answer)
{
	const bool compared = is_compared();
	struct answer executed;
	int error = c->by_shell || c->shared->differs ? 0 : ask(c, image, true, ret_answer);

	if (error == 1 && !compared) {
		c->shared->relied = 1;
	} else if (error == 1) {
		error = ask(c, image, false, &executed);
		c->shared->differs |= error == 1 && !is_same(ret_answer, &executed);
		*ret_answer = executed;
	} else if (error == 0) {
		error = ask(c, image, false, ret_answer);
	}
	if (error == 1 && c->shared->differs && c->shared->relied) {
		return nvw_fail(NVW_E_SYSTEM, "the checker gives different answers when it is forked");
	}
	return error < 0 ? error : 0;
}

/* Killed by the signal itself, or according to a shell's exit status. */
static bool was_killed(const struct answer *a)
{
	return a->in_time && (WIFSIGNALED(a->status) ? WTERMSIG(a->status) == SIGKILL :
						       WEXITSTATUS(a->status) == 128 + SIGKILL);
}

static bool was_not_executed(const struct answer *a)
{
	return a->in_time && WIFEXITED(a->status) &&
	       (WEXITSTATUS(a->status) == 126 || WEXITSTATUS(a->status) == 127);
}

static int judge_by_command(
	const struct ct_checker *c, const struct ct_image *image, struct nvw_findings *findings)
{
	struct answer a = {.in_time = false};
	int error = ask_either(c, image, &a);

	for (unsigned i = 1; i < CT_KILLS_MAX && !error && was_killed(&a); i++) {
		error = ask_either(c, image, &a);
	}
	if (error) {
		return error;
	}
	if (was_killed(&a)) {
		return nvw_fail(CT_NO_ANSWER,
			"the checker was killed by SIGKILL %u times in one state (was memory short?)",
			CT_KILLS_MAX);
	}
	if (was_not_executed(&a)) {
		return nvw_fail(NVW_E_INPUT, "the checker could not be executed (status %d)%s%s",
			WEXITSTATUS(a.status), *a.line ? ": " : "", a.line);
	}
	if (!a.in_time) {
		return nvw_violation(findings, 0, "the checker does not terminate");
	}
	if (WIFSIGNALED(a.status)) {
		return nvw_violation(findings, 0, "the checker was killed by signal %d (%s)",
			WTERMSIG(a.status), strsignal(WTERMSIG(a.status)));
	}
	if (WEXITSTATUS(a.status) == 0) {
		return 0;
	}
	return *a.line ?
		       nvw_violation(findings, 0, "%s", a.line) :
		       nvw_violation(findings, 0, "the checker exited with status %d", WEXITSTATUS(a.status));
}

int ct_checker_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct ct_checker *const c = context;

	(void)acks;
	*phase = CT_PHASE_CHECK;
	return c->check ? judge_by_library(c, image, findings) : judge_by_command(c, image, findings);
}

/* ---- Beginning and end ---------------------------------------------------------------------------------------- */

static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	char path[4096];
	bool found = at == NULL;

	while (!found && *at != '\0') {
		const size_t part = strcspn(at, ":");

		snprintf(path, sizeof path, "%.*s%s%s", (int)part, at, part ? "/" : "", name);
		found = access(path, X_OK) == 0;
		at += part + (at[part] == ':');
	}
	return found;
}

/* A builtin of the shell, such as exec; word has no characters special to the shell. */
static bool is_of_shell(const char *word)
{
	char text[4096];

	snprintf(text, sizeof text, "command -v %s >/dev/null 2>&1", word);
	return system(text) == 0;
}

/* A missing command would be a finding in every state. For a shell command, only the shell can tell. */
static int check_command(const char *command, bool *ret_by_shell)
{
	char text[4000], *words[32];

	if (strlen(command) >= sizeof text) {
		return nvw_fail(NVW_E_USAGE, "--check: the command is too long");
	}
	snprintf(text, sizeof text, "%s", command);
	*ret_by_shell = true;
	if (!split(text, words)) {
		return 0;
	}
	if (strchr(words[0], '/') ? access(words[0], X_OK) == 0 : is_in_path(words[0])) {
		*ret_by_shell = false;
		return 0;
	}
	return !strchr(words[0], '/') && is_of_shell(words[0]) ?
		       0 :
		       nvw_fail(NVW_E_USAGE, "--check: %s: expected an executable program", words[0]);
}

static int make_shared(struct ct_checker *c)
{
	void *const at =
		mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	c->shared = at == MAP_FAILED ? NULL : at;
	return c->shared ? 0 : nvw_fail_errno("no memory for a checker");
}

bool ct_checker_begins_anew(struct ct_checker *c)
{
	const bool anew = c->shared != NULL && c->shared->differs && c->shared->relied;

	if (anew) {
		c->shared->relied = 0;
	}
	return anew;
}

int ct_checker_create(const char *command, const char *library_path, uint64_t bytes, unsigned timeout_ms,
	struct ct_checker *ret_checker)
{
	struct ct_checker c = {.command = command, .bytes = bytes, .timeout_ms = timeout_ms};

	if (command != NULL) {
		int error = check_command(command, &c.by_shell);

		error = error ? error : make_shared(&c);
		/* In memory rather than on a disk, because the file is written once per state. */
		error = error ? error : nvw_folder_make("check", true, &c.folder);
		*ret_checker = c;
		return error;
	}
	c.library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
	if (c.library == NULL) {
		return nvw_fail(NVW_E_USAGE, "%s", dlerror());
	}
	*(void **)&c.check = dlsym(c.library, "nvw_check");
	if (c.check == NULL) {
		dlclose(c.library);
		return nvw_fail(
			NVW_E_USAGE, "%s: expected a function nvw_check (nvw/checker.h)", library_path);
	}
	*ret_checker = c;
	return 0;
}

void ct_checker_destroy(struct ct_checker *c)
{
	nvw_folder_remove(&c->folder);
	if (c->shared != NULL) {
		munmap(c->shared, sizeof *c->shared);
	}
	if (c->library != NULL) {
		dlclose(c->library);
	}
	*c = (struct ct_checker){0};
}
