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
	/* The n bytes at an offset of the image; NULL if they are not all in it. */
	const void *(*look)(const struct nvw_check *check, uint64_t off, size_t n);
};

/* Returns 0 if the image is consistent. The result must depend only on the image and the operations. */
int nvw_check(struct nvw_check *check);

/*
 * The check in parts. Optional: an object that exports nvw_check_part() exports nvw_check_parts() as well.
 * Each part states something about few words, and together the parts state what nvw_check() does: it finds
 * something exactly if one of them does. The tester tries each part with every combination of what it looks
 * at, and so accounts for every permitted state under x86 and eadr (docs/parts.md). A part that fails is no
 * finding before nvw_check() fails as well.
 *
 * A part reads through look() alone (image is NULL, and write() fails), only what it needs, and remembers
 * nothing. It sees the image as the crash leaves it: if nvw_check() recovers first, a part computes what
 * recovery would make of a word. It may ask for operations.
 */

/* The number of parts: the same for the whole run, whatever the image holds. bytes and operations are known,
 * nothing else. */
uint64_t nvw_check_parts(const struct nvw_check *check);
/* Returns 0 if this part of the check passes. */
int nvw_check_part(struct nvw_check *check, uint64_t part);
/* Names the part for messages: "slot 17". Optional. */
void nvw_check_part_name(uint64_t part, char *name, size_t bytes);

#endif
