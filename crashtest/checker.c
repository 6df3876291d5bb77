/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkers from elsewhere. See checker.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include "fork_server.h"
#include "image.h"

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

	if (c->check(&check) == 0) {
		return 0;
	}
	message[sizeof message - 1] = '\0';
	return nvw_violation(findings, 0, "%s",
		*message ? message : "the checker finds an inconsistency and does not say which");
}

/* ---- Command ------------------------------------------------------------------------------------------------ */

/* The file of this process. */
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

/* True if the checker has left the file in its place, and as long as it was. */
static bool is_in_place(const struct state_file *f)
{
	struct stat s;

	return lstat(f->path, &s) == 0 && s.st_dev == f->device && s.st_ino == f->inode &&
	       (uint64_t)s.st_size == f->bytes;
}

/* Makes the file equal to the state, wherever it differs. */
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

/* The words of a command that needs no shell: false if it does, or has too many. */
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

enum { LINE_BYTES = 160, OUTPUT_BYTES = 16 << 20 };

/* What commands of this process write: kept apart from the report, and the reason for a finding. Writes beyond its size fail. */
static int output_file(void)
{
	static const char nothing[LINE_BYTES];
	static pid_t owner;
	static int fd = -1;

	if (owner != getpid()) { /* or parent and child would write into one */
		fd = memfd_create("output of the checker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		owner = getpid();
		if (fd >= 0 && (ftruncate(fd, OUTPUT_BYTES) ||
				       fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))) {
			return -1;
		}
	}
	if (fd >= 0 && (pwrite(fd, nothing, sizeof nothing, 0) != sizeof nothing || lseek(fd, 0, SEEK_SET))) {
		return -1;
	}
	return fd;
}

/* The first line that the command wrote; "" if there is none. */
static void first_line(int fd, char *line, size_t n)
{
	const ssize_t got = fd >= 0 ? pread(fd, line, n - 1, 0) : 0;

	line[got > 0 ? got : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	for (char *c = line; *c != '\0'; c++) {
		*c = (unsigned char)*c < ' ' ? ' ' : *c;
	}
}

/* A command, cut into words; text is what they point into. By a shell if it needs one. */
struct command {
	char *words[32];
	char text[4096];
	bool direct;
};

static void make_command(const struct ct_checker *c, const char *path, struct command *ret_command)
{
	static char shell[] = "/bin/sh", option[] = "-c", name[] = "sh";
	unsigned n = 0;

	snprintf(ret_command->text, sizeof ret_command->text, "%s", c->command);
	ret_command->direct = split(ret_command->text, ret_command->words);
	while (ret_command->direct && ret_command->words[n] != NULL) {
		n++;
	}
	if (!ret_command->direct) {
		snprintf(ret_command->text, sizeof ret_command->text, "%s \"$1\"", c->command);
		ret_command->words[n++] = shell;
		ret_command->words[n++] = option;
		ret_command->words[n++] = ret_command->text;
		ret_command->words[n++] = name;
	}
	ret_command->words[n] = (char *)(uintptr_t)path;
	ret_command->words[n + 1] = NULL;
}

static pid_t start(const struct command *command, int output)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		setpgid(0, 0); /* what it starts ends with it */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ct_no_input();
		if (output >= 0) {
			dup2(output, STDOUT_FILENO);
			dup2(output, STDERR_FILENO);
		}
		execvp(command->words[0], command->words);
		_exit(127);
	}
	return pid;
}

/* Waits; false if the command had to be killed. */
static bool finish(pid_t pid, unsigned timeout_ms, int *ret_status)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool in_time = true;
	int ready;

	if (p.fd >= 0) {
		do {
			ready = poll(&p, 1, (int)timeout_ms);
		} while (ready < 0 && errno == EINTR);
		in_time = ready != 0;
		close(p.fd);
	}
	if (p.fd >= 0) {
		kill(-pid, SIGKILL); /* and what it has left: the next state is another's */
	}
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
	}
	return in_time;
}

static void fill_or_exit(struct state_file *file, const struct ct_checker *c, const struct ct_image *image)
{
	if (fill_file(file, c, image)) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
		_exit(2);
	}
}

/* Runs the command on the state; false if it had to be killed. */
static bool run(struct state_file *file, const struct ct_checker *c, const struct ct_image *image, int output,
	int *ret_status)
{
	static struct command command;
	bool in_time;

	fill_or_exit(file, c, image);
	make_command(c, file->path, &command);
	if (command.direct &&
		ct_fork_server_run(command.words, output, c->timeout_ms, ret_status, &in_time)) {
		return in_time;
	}
	fill_or_exit(file, c, image); /* one that cannot be served has worked on it */
	const pid_t pid = start(&command, output);

	if (pid < 0) {
		fprintf(stderr, "nvwave: the checker cannot be started: %s\n", strerror(errno));
		_exit(2);
	}
	return finish(pid, c->timeout_ms, ret_status);
}

static int judge_by_command(
	const struct ct_checker *c, const struct ct_image *image, struct nvw_findings *findings)
{
	static struct state_file file; /* of this process, which has one checker */
	char line[LINE_BYTES];
	int status = 0;

	const int output = output_file();

	if (!run(&file, c, image, output, &status)) {
		return nvw_violation(findings, 0, "the checker does not end");
	}
	if (WIFSIGNALED(status)) {
		return nvw_violation(findings, 0, "the checker dies of signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	}
	if (WEXITSTATUS(status) == 0) {
		return 0;
	}
	first_line(output, line, sizeof line);
	return *line ? nvw_violation(findings, 0, "%s", line) :
		       nvw_violation(findings, 0, "the checker ends with status %d", WEXITSTATUS(status));
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

/* What is not there would be a finding in every state. Of a shell's command, only the shell knows. */
static int check_command(const char *command)
{
	char text[4096], *words[32];

	if (strlen(command) >= 4000) {
		return nvw_fail(NVW_E_USAGE, "--check: the command is too long");
	}
	snprintf(text, sizeof text, "%s", command);
	if (!split(text, words) ||
		(strchr(words[0], '/') ? access(words[0], X_OK) == 0 : is_in_path(words[0]))) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE, "--check: %s: expected a program that can be executed", words[0]);
}

int ct_checker_create(const char *command, const char *library_path, uint64_t bytes, unsigned timeout_ms,
	struct ct_checker *ret_checker)
{
	struct ct_checker c = {.command = command, .bytes = bytes, .timeout_ms = timeout_ms};

	if (command != NULL) {
		int error = check_command(command);

		/* In memory rather than on a disk: the files are written once a state. */
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
	if (c->library != NULL) {
		dlclose(c->library);
	}
	*c = (struct ct_checker){0};
}
