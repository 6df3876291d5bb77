/* SPDX-License-Identifier: BSD-3-Clause */
/* The subject under nvwave exec, in a folder of the test's own: its runs, reports and files. */
#ifndef TESTS_HOST_HOST_RIG_H
#define TESTS_HOST_HOST_RIG_H

#include "common/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "common/shell.h"

/* Records a mode of the subject, ending with this status, on the file "pool"; the report is in "report". */
static inline void record_on(int status, const char *mode, unsigned number)
{
	exits(status,
		"$NVWAVE exec --delays=off --record=log --report=report --output-format=json -- "
		"$HOST_SUBJECT %s pool %u",
		mode, number);
}

/* The same in an empty folder. */
static inline void record(int status, const char *mode, unsigned number)
{
	clean();
	record_on(status, mode, number);
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

__attribute__((unused)) static int begin(void **state)
{
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	return shell_begin((const char *const[]){"NVWAVE", "HOST_SUBJECT", NULL});
}

#endif
