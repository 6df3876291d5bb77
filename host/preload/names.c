/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of files below the folder that is the image: what open(), rename(), unlink(), link() and their kin
 * make of them is recorded, and so are syncs of folders. A file that open() creates is recorded from then on.
 * A call is made under the session's lock, as those that write are (writes.c). docs/files.md has the model.
 *
 * A folder is made and removed like a file, and has no other name: a call that renames one takes the verdict
 * away. What the C library creates by itself (fopen(), mkstemp()) is found at the end (host/files.c).
 */
#undef _FILE_OFFSET_BITS /* otherwise open() is another name of open64() */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload.h"

static bool watches(void)
{
	return host_recording && host_control->record && *host_control->folder != '\0' && !host_self.inside &&
	       !host_self.own;
}

static bool enters(void)
{
	if (!host_enter()) {
		return false;
	}
	host_thread();
	return true;
}

/* ---- Where a name is ------------------------------------------------------------------------------ */

enum { PLACE = 1024 };

/* The path below the folder, or NULL. The folder itself is "". */
static const char *below(const char *path)
{
	const size_t n = strlen(host_control->folder);

	if (strncmp(path, host_control->folder, n) != 0) {
		return NULL;
	}
	if (path[n] == '\0') {
		return path + n;
	}
	return path[n] == '/' ? path + n + 1 : NULL;
}

/* The same of a file that is part of the image. */
static const char *named_below(const char *path)
{
	const char *const name = below(path);

	return name != NULL && host_is_excepted(host_control->except, name) ? NULL : name;
}

/* The place of a name, whether a file has it or not. False: its folder cannot be opened. */
static bool find_place(int folder, const char *path, char ret[PLACE])
{
	char parent[PLACE] = ".", plain[PLACE];

	HOST_COPY_TEXT(plain, path);
	for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--) {
		plain[n - 1] = '\0'; /* mkdir("folder/") */
	}
	const char *const slash = strrchr(plain, '/'), *name = slash ? slash + 1 : plain;

	if (slash != NULL) {
		snprintf(parent, sizeof parent, "%.*s", (int)(slash - plain) + 1, plain);
	}
	const int fd = (int)syscall(SYS_openat, folder, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0) {
		return false;
	}
	host_path_of(fd, ret, PLACE);
	close(fd);
	const size_t n = strlen(ret);

	snprintf(ret + n, PLACE - n, "/%s", name);
	return true;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static void record_name(int file, enum host_name is, const char *name, uint32_t site)
{
	NVW_INVARIANT(is != HOST_NAME_OF_LINK); /* which has a text */
	host_event_of(HOST_NAME, is == HOST_NAME_OF_FILE ? file : HOST_NO_FILE, is, name, strlen(name), site);
}

static void record_link(const char *name, const char *to, uint32_t site)
{
	char both[2 * PLACE];
	const size_t n = strlen(name) + 1;

	snprintf(both, sizeof both, "%.*s", PLACE, name);
	snprintf(both + n, sizeof both - n, "%s", to);
	const size_t bytes = n + strlen(both + n);

	NVW_INVARIANT(bytes < sizeof both);
	host_event_of(HOST_NAME, HOST_NO_FILE, HOST_NAME_OF_LINK, both, bytes, site);
}

/* What happens to the folder as a whole is not followed. */
static void note_folder(const char *call, uint32_t site)
{
	NVW_INVARIANT(host_self.inside);

	struct stat s;

	if (stat(host_control->folder, &s) == 0) {
		host_note_unfollowed(-1, &s, call, site);
	}
}

/* ---- Files that are created ------------------------------------------------------------------------ */

static void opened(int fd, int flags, const struct stat *before, const struct host_caller *caller)
{
	NVW_INVARIANT(fd >= 0 && host_self.inside);

	char path[PLACE];
	struct stat s;

	host_path_of(fd, path, PLACE);
	if (fstat(fd, &s) || !S_ISREG(s.st_mode)) {
		return;
	}
	const char *const name = named_below(path);
	const uint32_t site = host_site(caller);
	const int known = host_known_file(&s);

	host_settle();
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		if (name != NULL) {
			note_folder("open with O_TMPFILE", site);
		}
		return;
	}
	if (before == NULL && name != NULL) {
		const int file = host_follow_created(fd, &s);

		if (file >= 0) {
			record_name(file, HOST_NAME_OF_FILE, name, site);
		}
	} else if (before != NULL && (flags & O_TRUNC) && known >= 0 && before->st_size > 0) {
		host_record_cut(fd, known, before, site);
	}
}

static int opens(int folder, const char *path, int flags, mode_t mode, const struct host_caller *caller)
{
	const bool changes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE;
	struct stat before;

	if (!changes || !watches()) {
		return REAL(openat64)(folder, path, flags, mode);
	}
	const int saved = errno;
	const bool existed = fstatat(folder, path, &before, 0) == 0;

	errno = saved;
	if ((existed && !S_ISREG(before.st_mode)) || !enters()) {
		return REAL(openat64)(folder, path, flags, mode);
	}
	const int fd = REAL(openat64)(folder, path, flags, mode);
	HOST_KEEPS_ERRNO;

	if (fd >= 0) {
		opened(fd, flags, existed ? &before : NULL, caller);
	}
	host_leave();
	return fd;
}

static mode_t mode_of(int flags, va_list list)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

#define OPENS(name, arguments, last, folder, more)                              \
	HOST_EXPORT int name arguments                                          \
	{                                                                       \
		va_list list;                                                   \
                                                                                \
		va_start(list, last);                                           \
		const mode_t mode = mode_of(flags, list);                       \
		va_end(list);                                                   \
		return opens(folder, path, flags | (more), mode, &HOST_CALLER); \
	}

OPENS(open, (const char *path, int flags, ...), flags, AT_FDCWD, 0)
OPENS(open64, (const char *path, int flags, ...), flags, AT_FDCWD, O_LARGEFILE)
OPENS(openat, (int folder, const char *path, int flags, ...), flags, folder, 0)
OPENS(openat64, (int folder, const char *path, int flags, ...), flags, folder, O_LARGEFILE)

HOST_EXPORT int creat(const char *path, mode_t mode)
{
	return opens(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode, &HOST_CALLER);
}

HOST_ALIAS(creat64, creat);

/* Programs built with _FORTIFY_SOURCE call these without O_CREAT. */
int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);

HOST_EXPORT int __open_2(const char *path, int flags)
{
	return opens(AT_FDCWD, path, flags, 0, &HOST_CALLER);
}

HOST_ALIAS(__open64_2, __open_2);

HOST_EXPORT int __openat_2(int folder, const char *path, int flags)
{
	return opens(folder, path, flags, 0, &HOST_CALLER);
}

HOST_ALIAS(__openat64_2, __openat_2);

/* ---- Names that are changed ------------------------------------------------------------------------ */

/* A name, and who has it before the call. */
struct named {
	char path[PLACE];
	const char *name; /* below the folder; NULL: it is not */
	bool exists;
	struct stat s;
};

/* False: it is not below the folder, or is not to be recorded. */
static bool look(int folder, const char *path, int flags, struct named *ret)
{
	HOST_KEEPS_ERRNO;

	ret->name = NULL;
	ret->exists = false;
	if (watches() && find_place(folder, path, ret->path)) {
		ret->name = named_below(ret->path);
		ret->exists = fstatat(folder, path, &ret->s, flags) == 0;
	}
	return ret->name != NULL;
}

/* Its last name is gone. */
static void lost_name(const struct named *n)
{
	const int file = n->exists ? host_known_file(&n->s) : -1;

	if (file >= 0 && n->s.st_nlink <= 1) {
		host_control->file[file].gone = true;
	}
}

static void removed(const struct named *n, const struct host_caller *caller)
{
	NVW_INVARIANT(n->name != NULL && n->exists);

	const uint32_t site = host_site(caller);

	host_settle();
	lost_name(n);
	record_name(HOST_NO_FILE, HOST_NAME_OF_NONE, n->name, site);
}

static int removes(int folder, const char *path, int flags, const struct host_caller *caller)
{
	struct named n;

	if (!look(folder, path, AT_SYMLINK_NOFOLLOW, &n) || !n.exists || !enters()) {
		return REAL(unlinkat)(folder, path, flags);
	}
	const int error = REAL(unlinkat)(folder, path, flags);
	HOST_KEEPS_ERRNO;

	if (!error) {
		removed(&n, caller);
	}
	host_leave();
	return error;
}

HOST_EXPORT int unlink(const char *path)
{
	return removes(AT_FDCWD, path, 0, &HOST_CALLER);
}

HOST_EXPORT int unlinkat(int folder, const char *path, int flags)
{
	return removes(folder, path, flags, &HOST_CALLER);
}

HOST_EXPORT int rmdir(const char *path)
{
	return removes(AT_FDCWD, path, AT_REMOVEDIR, &HOST_CALLER);
}

HOST_EXPORT int remove(const char *path)
{
	struct stat s;
	const bool is_folder = lstat(path, &s) == 0 && S_ISDIR(s.st_mode);

	return removes(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0, &HOST_CALLER);
}

static bool is_same(const struct named *a, const struct named *b)
{
	return a->exists && b->exists && a->s.st_dev == b->s.st_dev && a->s.st_ino == b->s.st_ino;
}

/* The file with this number has the name from now on. */
static void gave_name(int file, const struct named *to, uint32_t site)
{
	NVW_INVARIANT(file >= 0 && (uint32_t)file < host_control->file_count);
	record_name(file, HOST_NAME_OF_FILE, to->name, site);
	HOST_COPY_TEXT(host_control->file[file].path, to->path);
}

/* A symbolic link has another name, or one more. */
static void renamed_link(const struct named *from, const struct named *to, bool links, uint32_t site)
{
	NVW_INVARIANT(from->name != NULL && to->name != NULL);

	char text[PLACE];

	host_read_link(to->path, text, sizeof text);
	lost_name(to);
	record_link(to->name, text, site);
	if (!links) {
		record_name(HOST_NO_FILE, HOST_NAME_OF_NONE, from->name, site);
	}
}

static void renamed(const struct named *from, const struct named *to, bool exchanges, const char *call,
	const struct host_caller *caller)
{
	NVW_INVARIANT(from->name != NULL || to->name != NULL);

	const uint32_t site = host_site(caller);
	const int file = host_known_file(&from->s), other = exchanges ? host_known_file(&to->s) : -1;
	const bool links = strcmp(call, "link") == 0;

	host_settle();
	if (is_same(from, to) && !links) {
		return;
	}
	if (S_ISLNK(from->s.st_mode) && to->name != NULL && from->name != NULL && !exchanges) {
		renamed_link(from, to, links, site);
		return;
	}
	if (to->name == NULL || (from->name == NULL && !links) || file < 0 || (exchanges && other < 0) ||
		!S_ISREG(from->s.st_mode)) {
		note_folder(call, site); /* a folder, or what was not below it before */
		return;
	}
	if (!links && !exchanges) {
		lost_name(to);
	}
	gave_name(file, to, site);
	if (exchanges) {
		gave_name(other, from, site);
	} else if (!links) {
		record_name(HOST_NO_FILE, HOST_NAME_OF_NONE, from->name, site);
	}
}

static int renames(int from_folder, const char *from_path, int to_folder, const char *to_path, unsigned flags,
	const struct host_caller *caller)
{
	struct named from, to;
	const bool was_below = look(from_folder, from_path, AT_SYMLINK_NOFOLLOW, &from),
		   is_below = look(to_folder, to_path, AT_SYMLINK_NOFOLLOW, &to);

	if ((!was_below && !is_below) || !enters()) {
		return REAL(renameat2)(from_folder, from_path, to_folder, to_path, flags);
	}
	const int error = REAL(renameat2)(from_folder, from_path, to_folder, to_path, flags);
	HOST_KEEPS_ERRNO;

	if (!error) {
		renamed(&from, &to, flags & RENAME_EXCHANGE, "rename", caller);
	}
	host_leave();
	return error;
}

HOST_EXPORT int rename(const char *from, const char *to)
{
	return renames(AT_FDCWD, from, AT_FDCWD, to, 0, &HOST_CALLER);
}

HOST_EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return renames(from_folder, from, to_folder, to, 0, &HOST_CALLER);
}

HOST_EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	return renames(from_folder, from, to_folder, to, flags, &HOST_CALLER);
}

static int links(int from_folder, const char *from_path, int to_folder, const char *to_path, int flags,
	const struct host_caller *caller)
{
	const int look_flags =
		(flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) | (flags & AT_EMPTY_PATH);
	struct named from, to;
	const bool was_below = look(from_folder, from_path, look_flags, &from),
		   is_below = look(to_folder, to_path, AT_SYMLINK_NOFOLLOW, &to);

	if ((!was_below && !is_below) || !enters()) {
		return REAL(linkat)(from_folder, from_path, to_folder, to_path, flags);
	}
	const int error = REAL(linkat)(from_folder, from_path, to_folder, to_path, flags);
	HOST_KEEPS_ERRNO;

	if (!error) {
		renamed(&from, &to, false, "link", caller);
	}
	host_leave();
	return error;
}

HOST_EXPORT int link(const char *from, const char *to)
{
	return links(AT_FDCWD, from, AT_FDCWD, to, 0, &HOST_CALLER);
}

HOST_EXPORT int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	return links(from_folder, from, to_folder, to, flags, &HOST_CALLER);
}

/* ---- Folders and symbolic links --------------------------------------------------------------------- */

/* text NULL: a folder. */
static int make(int folder, const char *path, const char *text, mode_t mode)
{
	return text != NULL ? REAL(symlinkat)(text, folder, path) : REAL(mkdirat)(folder, path, mode);
}

static void made(const struct named *n, const char *text, const struct host_caller *caller)
{
	NVW_INVARIANT(n->name != NULL);

	const uint32_t site = host_site(caller);

	host_settle();
	if (text != NULL) {
		record_link(n->name, text, site);
	} else {
		record_name(HOST_NO_FILE, HOST_NAME_OF_FOLDER, n->name, site);
	}
}

static int makes(
	int folder, const char *path, const char *text, mode_t mode, const struct host_caller *caller)
{
	struct named n;

	if (!look(folder, path, AT_SYMLINK_NOFOLLOW, &n) || !enters()) {
		return make(folder, path, text, mode);
	}
	const int error = make(folder, path, text, mode);
	HOST_KEEPS_ERRNO;

	if (!error) {
		made(&n, text, caller);
	}
	host_leave();
	return error;
}

HOST_EXPORT int mkdir(const char *path, mode_t mode)
{
	return makes(AT_FDCWD, path, NULL, mode, &HOST_CALLER);
}

HOST_EXPORT int mkdirat(int folder, const char *path, mode_t mode)
{
	return makes(folder, path, NULL, mode, &HOST_CALLER);
}

HOST_EXPORT int symlink(const char *to, const char *path)
{
	return makes(AT_FDCWD, path, to, 0, &HOST_CALLER);
}

HOST_EXPORT int symlinkat(const char *to, int folder, const char *path)
{
	return makes(folder, path, to, 0, &HOST_CALLER);
}

/* ---- Syncs of folders ------------------------------------------------------------------------------ */

bool host_names_sync_begins(int fd, const struct host_caller *caller)
{
	char path[PLACE] = "";

	if (!watches()) {
		return false;
	}
	if (fd >= 0) {
		host_path_of(fd, path, PLACE);
	}
	const char *const name = fd >= 0 ? below(path) : path;

	if (name == NULL || !enters()) {
		return false;
	}
	host_event_of(HOST_SYNC_NAMES, HOST_NO_FILE, fd < 0, name, strlen(name), host_site(caller));
	host_leave();
	return true;
}

void host_names_sync_ended(bool failed, const struct host_caller *caller)
{
	if (!host_enter()) {
		return;
	}
	const uint32_t site = host_site(caller);

	if (failed) {
		note_folder("a failing sync", site);
	} else {
		host_event(HOST_SYNCED, HOST_NO_FILE, 0, 0, site);
	}
	host_leave();
}
