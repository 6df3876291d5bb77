/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checker in a shared object, for nvwave crash --check-lib=FILE.so: judges the file left by a crash. It is
 * called many thousand times per second in one process and must not harm that process (a checker that dies or
 * hangs is a finding).
 *
 * The object exports
 *
 *	int nvw_check(struct nvw_check *check);
 */
#ifndef NVW_CHECKER_H
#define NVW_CHECKER_H

#include <stddef.h>
#include <stdint.h>

struct nvw_check {
	const void *image; /* the file's bytes; read-only: a store to them ends the process */
	uint64_t bytes;
	/*
	 * Writes n bytes at an offset of the image, for a checker that recovers first. The write is visible
	 * through image at once and undone before the next state. Returns 0, or a negative number if the
	 * range is outside the image.
	 */
	int (*write)(void *context, uint64_t off, const void *from, size_t n);
	void *context;
	/* The violation, in the structure's own words; findings whose texts differ only in numbers are
	 * merged. */
	char *message;
	size_t message_bytes;
	/*
	 * The program's reports by nvw/ack.h before the crash: whether an operation was acknowledged as
	 * durable, whether it had begun and was not, and its name ("": none). Numbers are below operations,
	 * which is 0 if the program reported none.
	 */
	uint64_t operations;
	int (*is_acknowledged)(const struct nvw_check *check, uint64_t operation);
	int (*is_in_flight)(const struct nvw_check *check, uint64_t operation);
	const char *(*name)(const struct nvw_check *check, uint64_t operation);
};

/* Returns 0 if the image is consistent. The result must depend only on the image and the operations. */
int nvw_check(struct nvw_check *check);

#endif
