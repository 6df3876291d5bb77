/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that have several files in a folder.
 *
 *	folder_subject steps FOLDER STEPS	carries out STEPS, as test_host_folders.py makes them
 *	folder_subject see NOTES FOLDER		notes names and contents in FOLDER as a file's name in NOTES
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint8_t bytes[1 << 16];

static int sync_open(const char *path, int flags)
{
	const int fd = open(path, flags);

	return fd < 0 || fsync(fd) || close(fd);
}

static int write_at(const char *path, unsigned off, unsigned n, unsigned byte)
{
	const int fd = open(path, O_RDWR);

	memset(bytes, (int)byte, n);
	return fd < 0 || pwrite(fd, bytes, n, (off_t)off) != (ssize_t)n || close(fd);
}

/* Ten bytes by sendfile(), or 600 by copy_file_range(), the latter to off. */
static int copy(const char *from, const char *to, int ranges, unsigned off)
{
	const int a = open(from, O_RDONLY), b = open(to, O_WRONLY);
	off64_t from_off = 0, to_off = off;
	ssize_t n = -1;

	if (a >= 0 && b >= 0 && ranges) {
		n = copy_file_range(a, &from_off, b, &to_off, 600, 0);
	} else if (a >= 0 && b >= 0) {
		n = sendfile(b, a, NULL, 10);
	}
	return n < 0 || close(a) || close(b);
}

/* By the number of the call. */
static int write_by_number(const char *path)
{
	const int fd = open(path, O_RDWR);

	return fd < 0 || syscall(SYS_pwrite64, fd, bytes, 8, 0) != 8 || close(fd);
}

static int write_by_stdio(const char *path)
{
	FILE *const f = fopen(path, "w");

	return f == NULL || fputs("text", f) < 0 || fclose(f);
}

/* A name below a folder is written with a colon. */
static void put_slashes(char *name)
{
	for (; *name != '\0'; name++) {
		if (*name == ':') {
			*name = '/';
		}
	}
}

/* "c A" creates, "w A OFF LEN BYTE", "s A", "D [A]" syncs a folder, "r A B", "x A B" exchanges, "u A",
 * "l A B", "t A" cuts to nothing, "o A" by open(), "f A" by stdio, "m A" makes a folder, "v A" removes it,
 * "y A B" makes a link, "p A B" by sendfile(), "k A B OFF" by
 * copy_file_range(), "n A" by syscall(). */
static int carry_out(const char *step)
{
	char a[32] = "", b[32] = "";
	unsigned off = 0, n = 0, byte = 0;

	sscanf(step + 1, "%31[^,],%31[^,],%u", a, b, &byte);
	put_slashes(a);
	put_slashes(b);
	switch (*step) {
	case 'c':
		return close(open(a, O_RDWR | O_CREAT | O_EXCL, 0644));
	case 'w':
		return sscanf(step + 1, "%*[^,],%u,%u,%u", &off, &n, &byte) != 3 || write_at(a, off, n, byte);
	case 's':
		return sync_open(a, O_RDONLY);
	case 'D':
		return sync_open(*a ? a : ".", O_RDONLY | O_DIRECTORY);
	case 'r':
		return rename(a, b);
	case 'x':
		return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	case 'u':
		return unlink(a);
	case 'l':
		return link(a, b);
	case 't':
		return truncate(a, 0);
	case 'o':
		return close(open(a, O_RDWR | O_TRUNC));
	case 'f':
		return write_by_stdio(a);
	case 'm':
		return mkdir(a, 0755);
	case 'v':
		return rmdir(a);
	case 'y':
		return symlink(b, a);
	case 'p':
		return copy(a, b, 0, 0);
	case 'k':
		return copy(a, b, 1, byte);
	case 'n':
		return write_by_number(a);
	default:
		return 1;
	}
}

static int steps(const char *folder, char *text)
{
	if (chdir(folder)) {
		return 3;
	}
	for (char *rest = text, *step; (step = strtok_r(rest, "/", &rest)) != NULL;) {
		if (carry_out(step)) {
			fprintf(stderr, "%s failed\n", step);
			return 3;
		}
	}
	return 0;
}

/* Runs of equal bytes: "BYTExCOUNT-...". */
static int note(const char *path, char *to, int room)
{
	const int fd = open(path, O_RDONLY);
	const ssize_t size = pread(fd, bytes, sizeof bytes, 0);
	int n = 0;

	for (ssize_t at = 0, end; at < size && n < room; at = end) {
		for (end = at; end < size && bytes[end] == bytes[at]; end++) {
		}
		n += snprintf(to + n, (size_t)(room - n), "%ux%ld-", bytes[at], (long)(end - at));
	}
	close(fd);
	return n;
}

enum { ROOM = 4096 };

/* The entries of a folder behind what is there; before: what their names begin with. Those of a folder follow
 * it, with ":" for "/". */
static int note_all(const char *folder, const char *before, char *to, int n)
{
	char path[ROOM], text[64];
	struct dirent **entry;
	struct stat s;
	const int count = scandir(folder, &entry, NULL, alphasort);

	for (int i = 0; i < count && n < 3000; i++) {
		if (*entry[i]->d_name == '.') {
			continue;
		}
		snprintf(path, sizeof path, "%.2000s/%.255s", folder, entry[i]->d_name);
		lstat(path, &s);
		n += snprintf(to + n, (size_t)(ROOM - n), "%s%.32s=", before, entry[i]->d_name);
		if (S_ISDIR(s.st_mode)) {
			n += snprintf(to + n, (size_t)(ROOM - n), "folder,");
			snprintf(text, sizeof text, "%.20s%.32s:", before, entry[i]->d_name);
			n = note_all(path, text, to, n);
			continue;
		}
		if (S_ISLNK(s.st_mode)) {
			const ssize_t size = readlink(path, text, sizeof text - 1);

			n += snprintf(to + n, (size_t)(ROOM - n), "to %.*s", (int)size, text);
		} else {
			n += note(path, to + n, 800);
		}
		n += snprintf(to + n, (size_t)(ROOM - n), ",");
	}
	return n;
}

static int see(const char *notes, const char *folder)
{
	char name[ROOM];

	note_all(folder, "", name, snprintf(name, sizeof name, "%s/=", notes));
	return close(open(name, O_WRONLY | O_CREAT, 0600));
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "steps") == 0) {
		return steps(argv[2], argv[3]);
	}
	if (argc > 3 && strcmp(argv[1], "see") == 0) {
		return see(argv[2], argv[3]);
	}
	fprintf(stderr, "folder_subject steps|see ...\n");
	return 2;
}
