/* SPDX-License-Identifier: BSD-3-Clause */
/* The kind of an executable. See program.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/each.h"
#include "program.h"

enum { SCRIPTS_MAX = 4 };

static enum host_program look_at(const char *path, unsigned depth);

/* Examines the interpreter named in the first line of a script. */
static enum host_program look_at_script(const char *head, unsigned depth)
{
	char interpreter[256];

	if (depth == SCRIPTS_MAX || sscanf(head, "#! %255[^ \t\n]", interpreter) != 1) {
		return HOST_PROGRAM_FITS;
	}
	return look_at(interpreter, depth + 1);
}

static bool has_interpreter(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr p;

	NVW_FOR(i, (unsigned)e->e_phnum) {
		if (pread(fd, &p, sizeof p, (off_t)(e->e_phoff + i * sizeof p)) != sizeof p) {
			return false;
		}
		if (p.p_type == PT_INTERP) {
			return true;
		}
	}
	return false;
}

static enum host_program look_into(int fd, const char *path, unsigned depth)
{
#if defined(__x86_64__)
	const unsigned machine = EM_X86_64;
#else
	const unsigned machine = EM_AARCH64;
#endif
	union {
		Elf64_Ehdr elf;
		char text[300];
	} head = {.text = ""};
	struct stat s;

	if (fstat(fd, &s) || (s.st_mode & (S_ISUID | S_ISGID)) ||
		getxattr(path, "security.capability", NULL, 0) > 0) {
		return HOST_PROGRAM_SET_ID;
	}
	if (pread(fd, &head, sizeof head - 1, 0) < 4) {
		return HOST_PROGRAM_FITS; /* exec reports the error */
	}
	if (memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0) {
		return look_at_script(head.text, depth);
	}
	if (head.elf.e_ident[EI_CLASS] != ELFCLASS64 || head.elf.e_machine != machine) {
		return HOST_PROGRAM_FOREIGN;
	}
	if (!has_interpreter(fd, &head.elf)) {
		return HOST_PROGRAM_STATIC;
	}
	return HOST_PROGRAM_FITS;
}

static enum host_program look_at(const char *path, unsigned depth)
{
	struct stat s;

	if (stat(path, &s) || access(path, X_OK)) {
		return HOST_PROGRAM_MISSING;
	}
	if (S_ISDIR(s.st_mode)) {
		errno = EISDIR;
		return HOST_PROGRAM_MISSING;
	}
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return HOST_PROGRAM_FITS; /* executable, but not readable */
	}
	const enum host_program kind = look_into(fd, path, depth);

	close(fd);
	return kind;
}

/* Searches like execvp(): an empty part of the list is the current folder, and files that are not programs
 * are skipped. */
static bool find_in(const char *list, const char *name, char *ret_path, size_t n)
{
	for (const char *at = list;; at++) {
		const size_t part = strcspn(at, ":");
		struct stat s;

		snprintf(ret_path, n, "%.*s%s%.255s", (int)part, at, part ? "/" : "", name);
		if (access(ret_path, X_OK) == 0 && stat(ret_path, &s) == 0 && S_ISREG(s.st_mode)) {
			return true;
		}
		at += part;
		if (*at == '\0') {
			return false;
		}
	}
}

enum host_program host_program_look(const char *name, char *ret_path, size_t n)
{
	const char *list = getenv("PATH");
	char path[4096];

	if (list == NULL) {
		list = "/usr/local/bin:/usr/bin:/bin";
	}
	if (strchr(name, '/') != NULL) {
		snprintf(path, sizeof path, "%s", name);
	} else if (*name == '\0' || !find_in(list, name, path, sizeof path)) {
		errno = ENOENT;
		return HOST_PROGRAM_MISSING;
	}
	if (ret_path != NULL) {
		snprintf(ret_path, n, "%s", path);
	}
	return look_at(path, 0);
}
