/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of GPM's library (include/libgpm.cuh): each by itself, or all of a program in one, which
 * NVWAVE_GPM_POOL names. A crash test looks at one file, and the state of a program with several is that of
 * all at one instant.
 *
 * The one file begins with a table of names. An entry counts once its length is not 0, which is stored last;
 * so a crash leaves the entry, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

#define POOL_VARIABLE "NVWAVE_GPM_POOL"

enum { PAGE = 4096, NAME = 112, ENTRIES = 31 };

struct entry {
	char name[NAME];
	uint64_t offset, bytes;
};
struct table {
	uint64_t kind;
	char unused[120];
	struct entry entry[ENTRIES];
};
_Static_assert(sizeof(struct table) == PAGE, "the table has a page");
#define KIND UINT64_C(0x314c4f4f504d5047) /* "GPMPOOL1" */

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);

static struct mapped {
	struct mapped *next;
	char *start;
	size_t bytes;
} * mapped;

void nvw_gpm_persist(void *address, size_t len)
{
	nvw_cuda_record_persist(address, len, __builtin_return_address(0));
}

/* ---- One file ----------------------------------------------------------------------------------------- */

static void *complain(const char *path, const char *what)
{
	fprintf(stderr, "nvwave: %s: %s\n", path, what);
	return NULL;
}

static void *map(const char *path, int fd, uint64_t offset, size_t bytes)
{
	void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED) {
		return complain(path, strerror(errno));
	}
	return at;
}

static void *map_alone(const char *path, size_t *len, bool create)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC | create * O_CREAT, 0666);
	struct stat s;
	void *at = NULL;

	if (fd < 0 || (create && ftruncate(fd, (off_t)*len)) || fstat(fd, &s)) {
		complain(path, strerror(errno));
	} else if (!create && !s.st_size) {
		complain(path, "expected a file that gpm_map_file() has created, found an empty one");
	} else {
		*len = (size_t)s.st_size;
		at = map(path, fd, 0, *len);
	}
	if (fd >= 0) {
		close(fd);
	}
	return at;
}

/* ---- All files in one --------------------------------------------------------------------------- */

/* The table, mapped once; it is made in an empty file. NULL, with a message: it is none. */
static struct table *open_table(const char *pool, int fd)
{
	static struct table *table;
	struct stat s;

	if (table) {
		return table;
	}
	if (fstat(fd, &s) || (s.st_size < PAGE && ftruncate(fd, PAGE))) {
		return complain(pool, strerror(errno));
	}
	struct table *const found = map(pool, fd, 0, PAGE);

	if (found && !found->kind) {
		found->kind = KIND;
		nvw_gpm_persist(&found->kind, sizeof found->kind);
	}
	if (found && found->kind != KIND) {
		munmap(found, PAGE);
		return complain(
			pool, "expected an empty file, or one that " POOL_VARIABLE " has named before");
	}
	return table = found;
}

static struct entry *find(struct table *table, const char *path)
{
	return NVW_FIND(e, table->entry, NVW_COUNT(table->entry), e->bytes && !strncmp(e->name, path, NAME));
}

static uint64_t end_of(const struct table *table)
{
	uint64_t end = PAGE;

	NVW_EACH_IN(e, table->entry) {
		if (e->bytes) {
			end = nvw_max(end, (e->offset + e->bytes + PAGE - 1) / PAGE * PAGE);
		}
	}
	return end;
}

static struct entry *add(struct table *table, const char *path, size_t bytes, int fd)
{
	const uint64_t offset = end_of(table);
	struct entry *const free_one = NVW_FIND(e, table->entry, ENTRIES, !e->bytes);

	if (!free_one || strlen(path) >= NAME) {
		return complain(path,
			"expected at most 31 files, with names of at most 111 bytes, in " POOL_VARIABLE);
	}
	if (ftruncate(fd, (off_t)((offset + bytes + PAGE - 1) / PAGE * PAGE))) {
		return complain(path, strerror(errno));
	}
	memcpy(free_one->name, path, strlen(path) + 1);
	free_one->offset = offset;
	nvw_gpm_persist(free_one, sizeof *free_one);
	free_one->bytes = bytes;
	nvw_gpm_persist(&free_one->bytes, sizeof free_one->bytes);
	return free_one;
}

static void *map_in_pool(const char *pool, const char *path, size_t *len, bool create)
{
	const int fd = open(pool, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct table *const table = fd < 0 ? complain(pool, strerror(errno)) : open_table(pool, fd);
	struct entry *e = table ? find(table, path) : NULL;
	void *at = NULL;

	if (table && e && create && e->bytes != *len) {
		complain(path, "is there already, with another size");
	} else if (table && !e && !create) {
		complain(path, "expected a file that gpm_map_file() has created");
	} else if (table && (e || (e = add(table, path, *len, fd)))) {
		*len = e->bytes;
		at = map(path, fd, e->offset, e->bytes);
	}
	if (fd >= 0) {
		close(fd);
	}
	return at;
}

/* ---- The calls ---------------------------------------------------------------------------------- */

void *nvw_gpm_map(const char *path, size_t *len, int create)
{
	const char *const pool = getenv(POOL_VARIABLE);
	struct mapped *m;

	if ((create != 0) != (*len != 0)) {
		static const char *const wrong[] = {"gpm_map_file(): expected a length of 0 to open it",
			"gpm_map_file(): expected a length of more than 0 to create it"};

		return complain(path, wrong[create != 0]);
	}
	m = calloc(1, sizeof *m);
	if (!m) {
		return complain(path, "no memory");
	}
	if (pool && *pool) {
		m->start = map_in_pool(pool, path, len, create);
	} else {
		m->start = map_alone(path, len, create);
	}
	m->bytes = *len;
	if (!m->start || cudaHostRegister(m->start, m->bytes, 0)) {
		free(m);
		return NULL;
	}
	m->next = mapped;
	mapped = m;
	return m->start;
}

/* Nothing else of the program is left behind: what host code has stored is flushed. */
int nvw_gpm_unmap(void *address, size_t len)
{
	for (struct mapped **m = &mapped; *m; m = &(*m)->next) {
		struct mapped *const found = *m;

		if (found->start == address) {
			nvw_gpm_persist(address, nvw_min(len, found->bytes));
			cudaHostUnregister(address);
			munmap(address, found->bytes);
			*m = found->next;
			free(found);
			return 0;
		}
	}
	return -1;
}

int nvw_gpm_is_mapped(const void *address, size_t len)
{
	const char *const at = address;

	for (const struct mapped *m = mapped; m; m = m->next) {
		if (at >= m->start && at + len <= m->start + m->bytes) {
			return 1;
		}
	}
	return 0;
}
