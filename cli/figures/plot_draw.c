/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of gnuplot that draws a figure. See plot.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/newfile.h"
#include "core/stop.h"
#include "../../host/program.h"
#include "plot.h"
#include "report/words.h"

enum { MESSAGE_BYTES = 400 };

/* ---- gnuplot ------------------------------------------------------------------------------------- */

int plot_find_gnuplot(void)
{
	NVW_FAIL_IF(host_program_look("gnuplot", NULL, 0) == HOST_PROGRAM_MISSING, NVW_E_USAGE,
		"plot: there is no gnuplot: install it (on Debian, the package gnuplot-nox)");
	return 0;
}

static int check_end(int status, int messages)
{
	char text[MESSAGE_BYTES + 1];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return 0;
	}
	const ssize_t n = pread(messages, text, MESSAGE_BYTES, 0);

	text[n > 0 ? n : 0] = 0;
	for (char *c = text; (c = strchr(c, '\n'));) {
		*c = ' ';
	}
	return nvw_fail(NVW_E_SYSTEM, "plot: gnuplot failed: %s", words_or(text, "it said nothing"));
}

static void become_gnuplot(int script, int output, int messages)
{
	nvw_stop_leave_to_parent();
	if (dup2(script, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
		dup2(messages, STDERR_FILENO) >= 0) {
		execlp("gnuplot", "gnuplot", "-d", "-", NULL);
	}
	_exit(127);
}

static int run_gnuplot(int script, int output)
{
	const int messages = memfd_create("gnuplot", MFD_CLOEXEC);
	int status, r;
	pid_t pid;

	NVW_FAIL_ERRNO_IF(messages < 0 || lseek(script, 0, SEEK_SET) < 0, "cannot start gnuplot");
	pid = fork();
	if (pid == 0) {
		become_gnuplot(script, output, messages);
	}
	r = pid < 0 ? nvw_fail_errno("cannot start gnuplot") : nvw_stop_wait(pid, &status);
	r = NVW_OR(r, check_end(status, messages));
	close(messages);
	return r;
}

static int keep_script(const struct plot *p, const char *path, const char *script)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(script, false, &f));
	return nvw_new_file_end(&f, plot_script(p, path, true, f.file));
}

static int copy_picture(int picture, const struct nvw_new_file *to)
{
	char part[1 << 14];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(picture, part, sizeof part, at)) > 0) {
		NVW_FAIL_ERRNO_IF(fwrite(part, 1, (size_t)n, to->file) != (size_t)n, "%s", to->path);
		at += n;
	}
	NVW_FAIL_ERRNO_IF(n < 0, "cannot read gnuplot's picture");
	NVW_FAIL_IF(at == 0, NVW_E_SYSTEM, "plot: gnuplot drew nothing");
	return 0;
}

/* gnuplot does not say when its output has no room: it draws into memory. */
static int draw_into(int script, const struct nvw_new_file *to)
{
	const int picture = memfd_create("picture", MFD_CLOEXEC);
	int r;

	NVW_FAIL_ERRNO_IF(picture < 0, "cannot start gnuplot");
	r = run_gnuplot(script, picture);
	r = NVW_OR(r, copy_picture(picture, to));
	close(picture);
	return r;
}

static int draw_with(FILE *commands, const struct plot *p, const char *path, const char *script)
{
	struct nvw_new_file f;

	NVW_TRY(plot_script(p, path, false, commands));
	if (script) {
		NVW_TRY(keep_script(p, path, script));
	}
	NVW_TRY(nvw_new_file_begin(path, false, &f));
	return nvw_new_file_end(&f, draw_into(fileno(commands), &f));
}

int plot_draw(const struct plot *p, const char *path, const char *script)
{
	FILE *const commands = tmpfile();

	NVW_FAIL_ERRNO_IF(!commands, "cannot write gnuplot's script");
	const int r = draw_with(commands, p, path, script);

	fclose(commands);
	return r;
}
