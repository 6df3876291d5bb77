/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of checkers. See output.h. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>
#include <unistd.h>

#include <xxhash.h>

#include "core/invariant.h"

#include "output.h"
#include "process.h"

/* A fork does not inherit it: parent and child would read each other's output. */
static struct {
	pid_t owner;
	int from, to;
	size_t kept;
	char line[CT_LINE_BYTES];
	bool whole;
	uint64_t bytes;
	size_t text_kept;
	XXH64_state_t *hash; /* made when it is first wanted */
	char text[1 << 16];
} output;

static void keep_whole(const char *text, size_t n)
{
	const size_t room = sizeof output.text - output.text_kept, taken = MIN(n, room);

	NVW_INVARIANT(output.text_kept <= sizeof output.text);
	memcpy(output.text + output.text_kept, text, taken);
	output.text_kept += taken;
	output.bytes += n;
	if (output.hash) {
		XXH64_update(output.hash, text, n);
	}
}

static void keep(const char *text, size_t n)
{
	const size_t room = sizeof output.line - 1 - output.kept, taken = MIN(n, room);

	NVW_INVARIANT(output.kept < sizeof output.line);
	memcpy(output.line + output.kept, text, taken);
	output.kept += taken;
	if (output.whole) {
		keep_whole(text, n);
	}
}

static void drain(void)
{
	char text[4096];
	ssize_t n;

	while ((n = read(output.from, text, sizeof text)) > 0) {
		keep(text, (size_t)n);
	}
}

int ct_output_begin(bool whole)
{
	int fd[2];

	if (output.owner != getpid()) {
		if (pipe2(fd, O_CLOEXEC)) {
			return -1;
		}
		fcntl(fd[0], F_SETFL, O_NONBLOCK);
		output.from = fd[0];
		output.to = fd[1];
		output.owner = getpid();
	}
	drain();
	output.kept = output.text_kept = output.bytes = 0;
	output.whole = whole;
	if (whole && !output.hash) {
		output.hash = XXH64_createState();
	}
	if (output.hash) {
		XXH64_reset(output.hash, 0);
	}
	if (whole && !output.hash) {
		return -1;
	}
	return output.to;
}

bool ct_output_wait(int fd, int timeout_ms)
{
	const double end = ct_wall_seconds() + 1e-3 * timeout_ms;
	const bool reads = output.owner == getpid();
	int left_ms = timeout_ms;

	while (left_ms >= 0) {
		struct pollfd p[2] = {
			{.fd = fd, .events = POLLIN}, {.fd = reads ? output.from : -1, .events = POLLIN}};

		if (poll(p, 2, left_ms) > 0 && p[1].revents != 0) {
			drain();
		}
		if (p[0].revents != 0) {
			return true;
		}
		const double left = end - ct_wall_seconds();

		left_ms = left > 0 ? (int)(1e3 * left) + 1 : -1;
	}
	return false;
}

void ct_output_line(char line[CT_LINE_BYTES])
{
	NVW_INVARIANT(output.kept < CT_LINE_BYTES);
	if (output.owner == getpid()) {
		drain();
	}
	memcpy(line, output.line, output.kept);
	line[output.kept] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	ct_output_blank(line);
}

void ct_output_blank(char *line)
{
	for (; *line; line++) {
		if ((unsigned char)*line < ' ') {
			*line = ' ';
		}
	}
}

void ct_output_whole(struct ct_output *ret)
{
	*ret = (struct ct_output){.bytes = output.bytes, .text = output.text, .kept = output.text_kept};
	if (output.whole && output.hash) {
		ret->hash = XXH64_digest(output.hash);
	}
}

void ct_output_redirect(int fd)
{
	const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int nothing_out = output.whole ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

	if (nothing > STDIN_FILENO) {
		dup2(nothing, STDIN_FILENO);
	}
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(output.whole && nothing_out >= 0 ? nothing_out : fd, STDERR_FILENO);
	}
}
