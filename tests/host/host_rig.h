/* SPDX-License-Identifier: BSD-3-Clause */
/* The subject under nvwave exec, in a folder of the test's own: its runs, reports and files. */
#ifndef TESTS_HOST_HOST_RIG_H
#define TESTS_HOST_HOST_RIG_H

#include "common/test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/shell.h"

static const char *nvwave, *subject;

static inline const char *in_dir(const char *name)
{
	static char path[4][160];
	static unsigned next;
	char *const p = path[next++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", dir, name);
	return p;
}

static inline void clean(void)
{
	run("rm -rf -- *");
}

/* Records a mode of the subject on the file "pool"; the report is in "report". The exit status. */
static inline int record(const char *mode, unsigned number)
{
	return run("%s exec --delays=off --record=log --report=report --output-format=json -- %s %s pool %u",
		nvwave, subject, mode, number);
}

static inline json_t *report(void)
{
	json_t *const o = json_load_file(in_dir("report"), 0, NULL);

	assert_non_null(o);
	return o;
}

static inline uint8_t *read_whole(const char *name, size_t *ret_n)
{
	const int fd = open(in_dir(name), O_RDONLY);
	struct stat s;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &s), 0);
	uint8_t *const bytes = malloc((size_t)s.st_size + 64);

	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)s.st_size), s.st_size);
	close(fd);
	*ret_n = (size_t)s.st_size;
	return bytes;
}

static int begin(void **state)
{
	nvwave = getenv("NVWAVE");
	subject = getenv("HOST_SUBJECT");
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	snprintf(dir, sizeof dir, "/tmp/nvwave-host-XXXXXX");
	return nvwave && subject && mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	clean();
	return rmdir(dir);
}

#endif
