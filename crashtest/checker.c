/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkers from elsewhere. See checker.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check/check.h>
#include <nvw/checker.h>

#include "checker.h"
#include "image.h"

/* ---- Library ------------------------------------------------------------------------------------------------ */

static int write_image(void *context, uint64_t off, const void *from, size_t n)
{
	const uint8_t *bytes = from;

	while (n > 0) {
		const size_t left = 8 - off % 8, piece = n < left ? n : left;

		if (ct_image_write(context, off, bytes, piece)) {
			return -1;
		}
		off += piece;
		bytes += piece;
		n -= piece;
	}
	return 0;
}

/* Output of a library is not part of the report. Called in the judging process, which prints nothing
 * itself. */
static void silence(void)
{
	static bool done;
	const int fd = done ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	done = true;
}

/* The program's operations as passed to the library. */
struct told {
	struct nvw_check check; /* first: the library has its address */
	const struct nvw_acks *acks;
	const struct ct_operations *operations;
};

static const struct told *told_of(const struct nvw_check *check)
{
	return (const struct told *)(const void *)check;
}

static int is_acknowledged(const struct nvw_check *check, uint64_t operation)
{
	return nvw_acked(told_of(check)->acks, operation);
}

static int is_in_flight(const struct nvw_check *check, uint64_t operation)
{
	return nvw__acks_in_flight(told_of(check)->acks, operation);
}

static const char *name_of(const struct nvw_check *check, uint64_t operation)
{
	const struct ct_operation *const o = ct_operations_find(told_of(check)->operations, operation);

	return o ? o->name : "";
}

static int judge_by_library(const struct ct_checker *c, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings)
{
	char message[CT_TEXT_BYTES] = "";
	const struct ct_operations *const o = c->operations;
	struct told told = {
		.check = {.image = image->ro,
			.bytes = c->asked.bytes,
			.write = write_image,
			.context = image,
			.message = message,
			.message_bytes = sizeof message,
			.operations = o && o->count ? o->at[o->count - 1].number + 1 : 0,
			.is_acknowledged = is_acknowledged,
			.is_in_flight = is_in_flight,
			.name = name_of},
		.acks = acks,
		.operations = o,
	};

	silence();
	if (c->check(&told.check) == 0) {
		return 0;
	}
	message[sizeof message - 1] = '\0';
	message[strcspn(message, "\r\n")] = '\0'; /* a finding is one line */
	return nvw_violation(findings, 0, "%s",
		*message ? message : "the checker found an inconsistency but printed no description");
}

/* ---- Command ------------------------------------------------------------------------------------------------ */

static int judge_by_command(const struct ct_checker *c, const struct ct_image *image,
	const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct ct_answer a;
	const int error = ct_ask(&c->asked, image, acks, &a);

	if (error || ct_answer_note(&a, findings)) {
		return error ? error : NVW_E_INCONSISTENT;
	}
	if (WEXITSTATUS(a.status) == 0) {
		return 0;
	}
	return *a.line ?
		       nvw_violation(findings, 0, "%s", a.line) :
		       nvw_violation(findings, 0, "the checker exited with status %d", WEXITSTATUS(a.status));
}

int ct_checker_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct ct_checker *const c = context;

	*phase = CT_PHASE_CHECK;
	return c->check ? judge_by_library(c, image, acks, findings) :
			  judge_by_command(c, image, acks, findings);
}

/* ---- Beginning and end ---------------------------------------------------------------------------------------- */

int ct_checker_create(const struct ct_checker_is *is, struct ct_checker *ret_checker)
{
	struct ct_checker *const c = ret_checker;

	*c = (struct ct_checker){.operations = is->operations};
	if (is->command != NULL) {
		const int error = ct_command_make(is->command, "--check", &c->asked.command);

		return error ? error : ct_asked_make(is->bytes, is->timeout_ms, is->operations, &c->asked);
	}
	c->asked.bytes = is->bytes;
	c->library = dlopen(is->library, RTLD_NOW | RTLD_LOCAL);
	if (c->library == NULL) {
		return nvw_fail(NVW_E_USAGE, "%s", dlerror());
	}
	*(void **)&c->check = dlsym(c->library, "nvw_check");
	if (c->check == NULL) {
		return nvw_fail(
			NVW_E_USAGE, "%s: expected a function nvw_check (nvw/checker.h)", is->library);
	}
	return 0;
}

void ct_checker_destroy(struct ct_checker *c)
{
	ct_asked_destroy(&c->asked);
	if (c->library != NULL) {
		dlclose(c->library);
	}
	*c = (struct ct_checker){0};
}
