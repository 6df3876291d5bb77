/* SPDX-License-Identifier: BSD-3-Clause */
/* See fuzz.h. The program's part is host/preload/fuzz.c. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../report/words.h"
#include "../../host/coverage.h"
#include "../../host/exec.h"
#include "../../host/program.h"
#include "core/bounds.h"
#include "core/copy.h"
#include "core/each.h"
#include "core/folder.h"
#include "core/granularity.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"
#include "fuzz.h"

enum { PATH_BYTES = 4096, WORDS_MAX = 300, MAP_LEAST = 1 << 16, MAP_MOST = 1 << 23 };

/* ---- Running it ------------------------------------------------------------------------------------ */

/* Its map has a byte for each byte of code: no more than the file has. */
static void set_map_size(const char *program)
{
	char path[PATH_BYTES], bytes[24];
	struct stat s = {0};

	if (host_program_look(program, path, sizeof path) == HOST_PROGRAM_FITS) {
		(void)!stat(path, &s);
	}
	const uint64_t rounded = ((uint64_t)s.st_size + MAP_LEAST - 1) / MAP_LEAST * MAP_LEAST;

	NVW_PRINT(bytes, "%llu", (ull)nvw_min(nvw_max(rounded, MAP_LEAST), MAP_MOST));
	setenv("AFL_MAP_SIZE", bytes, 1);
}

/* In the child. What is mapped is persistent memory, as it is to nvwave. */
static void set_environment(const struct cli_fuzz *f, const char *library)
{
	static const char *const settings[] = {"AFL_NO_UI", "AFL_SKIP_CPUFREQ", "AFL_NO_AFFINITY",
		"AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES", "AFL_SKIP_BIN_CHECK", "PMEM_IS_PMEM_FORCE"};

	NVW_EACH_IN(setting, settings) {
		setenv(*setting, "1", 1);
	}
	setenv(NVW_GRANULARITY_VARIABLE, NVW_GRANULARITY, 1);
	setenv("AFL_PRELOAD", library, 1);
	setenv("NVWAVE_FUZZ_IMAGE", f->image, 1);
	setenv("NVWAVE_FUZZ_FILE", f->file, 1);
	set_map_size(f->words[0]);
}

_Noreturn static void become(const struct cli_fuzz *f, const char *library, const char *log)
{
	char seconds[24], timeout[24], output[PATH_BYTES];
	char *words[WORDS_MAX + 16] = {"afl-fuzz", "-i", (char *)(uintptr_t)f->corpus, "-o", output, "-V",
		seconds, "-t", timeout, "-m", "none", "--"};
	unsigned n = 12;
	const int to = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	NVW_PRINT(seconds, "%llu", (ull)f->seconds);
	NVW_PRINT(timeout, "%u+", f->timeout_ms);
	NVW_PRINT(output, "%s/afl", f->folder);
	for (unsigned i = 0; f->words[i] && i < WORDS_MAX; i++) {
		words[n++] = f->words[i];
	}
	setpgid(0, 0);
	dup2(to, STDOUT_FILENO);
	dup2(to, STDERR_FILENO);
	set_environment(f, library);
	execvp(words[0], words);
	_exit(127);
}

/* Until it ends, or we are told to. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (nvw_stopping()) {
			kill(pid, SIGINT);
		}
		usleep(50000);
	}
	return status;
}

/* A line without its colours. */
static void take_text(const char *from, char *ret_text)
{
	while (*from != '\0' && *from != '\n') {
		if (*from == '\x1b') {
			from += strspn(from, "\x1b[0123456789;");
			from += *from == 'm';
		} else {
			*ret_text++ = *from++;
		}
	}
	*ret_text = '\0';
}

/* The last line in which AFL++ says what is wrong. */
static void find_cause(const char *log, char ret_cause[512])
{
	static const char begins[] = "PROGRAM ABORT : ";
	FILE *const from = fopen(log, "r");
	char line[512];

	snprintf(ret_cause, 512, "it says nothing");
	while (from && fgets(line, sizeof line, from)) {
		const char *const at = strstr(line, begins);

		if (at) {
			take_text(at + sizeof begins - 1, ret_cause);
		}
	}
	if (from) {
		fclose(from);
	}
}

/* A script may begin a program that has a map, so what has none is the cause only if AFL++ does not begin. */
static int fail_by(const char *program, const char *log)
{
	char cause[512], path[PATH_BYTES];

	find_cause(log, cause);
	NVW_FAIL_IF(host_program_look(program, path, sizeof path) == HOST_PROGRAM_FITS &&
			    !host_coverage_is_counted(path),
		NVW_E_INPUT, "--fuzz: %s: expected a program that nvwave-cc has built (afl-fuzz: %s)",
		program, cause);
	return nvw_fail(NVW_E_INPUT, "--fuzz: afl-fuzz ended early: %s", cause);
}

/* ---- What it has made ------------------------------------------------------------------------------- */

/* A name that the corpus does not have. */
static void name_input(const struct cli_fuzz *f, const char *kind, char *ret_path, size_t n)
{
	unsigned number = 0;

	do {
		snprintf(ret_path, n, "%s/fuzz-%s%06u", f->corpus, kind, number++);
	} while (access(ret_path, F_OK) == 0);
}

/* Those that it was given are in its queue, too. */
static int is_made(const struct dirent *e)
{
	return strncmp(e->d_name, "id:", 3) == 0 && !strstr(e->d_name, ",orig:");
}

/* What AFL++ has made of one kind. */
struct made {
	struct cli_fuzz *fuzz;
	const char *kind;
	char folder[PATH_BYTES];
};

static int keep_one(void *context, const char *name)
{
	const struct made *const m = context;
	char from[PATH_BYTES + 256], to[PATH_BYTES];

	NVW_PRINT(from, "%s/%s", m->folder, name);
	name_input(m->fuzz, m->kind, to, sizeof to);
	NVW_FAIL_ERRNO_IF(nvw_copy_file(from, to), "%s", to);
	m->fuzz->made++;
	return 0;
}

static int keep_folder(struct cli_fuzz *f, const char *of_afl, const char *kind)
{
	struct made m = {.fuzz = f, .kind = kind};

	NVW_PRINT(m.folder, "%s/afl/default/%s", f->folder, of_afl);
	return nvw_is_folder(m.folder) ? nvw_each_entry(m.folder, is_made, keep_one, &m) : 0;
}

int cli_fuzz_run(struct cli_fuzz *f)
{
	char library[PATH_BYTES], afl[PATH_BYTES], log[PATH_BYTES];

	NVW_INVARIANT(f->made == 0 && f->seconds > 0);
	NVW_FAIL_IF(host_program_look("afl-fuzz", afl, sizeof afl) == HOST_PROGRAM_MISSING, NVW_E_USAGE,
		"--fuzz: expected afl-fuzz of AFL++ (Debian: apt install afl++)");
	NVW_TRY(host_library_beside("libnvwave-fuzz.so", library, sizeof library));
	NVW_PRINT(log, "%s/afl.log", f->folder);
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		become(f, library, log);
	}
	NVW_FAIL_ERRNO_IF(pid < 0, "afl-fuzz");
	if (wait_for(pid) != 0 && !nvw_stopping()) {
		return fail_by(f->words[0], log);
	}
	NVW_TRY(keep_folder(f, "queue", ""));
	NVW_TRY(keep_folder(f, "crashes", "crash-"));
	return keep_folder(f, "hangs", "hang-");
}
