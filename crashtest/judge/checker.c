/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkers from elsewhere. See checker.h. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <check/check.h>
#include <nvw/checker.h>

#include "checker.h"
#include "../states/image.h"

/* ---- Library ------------------------------------------------------------------------------------------- */

static int write_image(void *context, uint64_t off, const void *from, size_t n)
{
	const uint8_t *bytes = from;

	while (n > 0) {
		const size_t left = 8 - off % 8, piece = MIN(n, left);

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
	static bool done; /* of this process: standard output is the process's, too */
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
	const struct ct_asking *asking; /* of a part; NULL: the whole image is there */
	char message[CT_TEXT_BYTES];
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

static const void *look(const struct nvw_check *check, uint64_t off, size_t n)
{
	const struct ct_asking *const asking = told_of(check)->asking;

	if (off > check->bytes || n > check->bytes - off) {
		return NULL;
	}
	if (asking) {
		asking->ask(asking->asker, off, n);
	}
	return (const uint8_t *)(asking ? asking->bytes : check->image) + off;
}

static int write_nothing(void *context, uint64_t off, const void *from, size_t n)
{
	return -1;
}

/* A checker is told this, and may write nothing. */
static void tell(const struct ct_checker *c, const struct nvw_acks *acks, struct told *ret)
{
	const struct ct_operations *const o = c->operations;

	*ret = (struct told){
		.check = {.bytes = c->asked.bytes,
			.message = ret->message,
			.message_bytes = sizeof ret->message,
			.operations = o && o->count ? o->at[o->count - 1].number + 1 : 0,
			.is_acknowledged = is_acknowledged,
			.is_in_flight = is_in_flight,
			.name = name_of,
			.look = look,
			.write = write_nothing},
		.acks = acks,
		.operations = o,
	};
}

static int violation(char message[CT_TEXT_BYTES], struct nvw_findings *findings)
{
	message[CT_TEXT_BYTES - 1] = '\0';
	message[strcspn(message, "\r\n")] = '\0'; /* a finding is one line */
	return nvw_violation(findings, 0, "%s",
		*message ? message : "the checker found an inconsistency but printed no description");
}

static int judge_by_library(const struct ct_checker *c, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings)
{
	struct told told;

	tell(c, acks, &told);
	told.check.image = image->ro;
	told.check.write = write_image;
	told.check.context = image;
	silence();
	return c->check(&told.check) == 0 ? 0 : violation(told.message, findings);
}

/* ---- Parts of the library's check ---------------------------------------------------------------------- */

static uint64_t count_parts(void *context)
{
	const struct ct_checker *const c = context;
	const struct nvw_acks none = {0};
	struct told told;

	tell(c, &none, &told);
	told.check.look = NULL;
	return c->parts(&told.check);
}

static int check_part(void *context, const struct ct_asking *image, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	const struct ct_checker *const c = context;
	struct told told;

	tell(c, acks, &told);
	told.asking = image;
	silence();
	return c->part(&told.check, part) == 0 ? 0 : violation(told.message, findings);
}

static void name_part(void *context, uint64_t part, char *ret_name, size_t n)
{
	const struct ct_checker *const c = context;

	snprintf(ret_name, n, "part %llu", (unsigned long long)part);
	if (c->part_name) {
		c->part_name(part, ret_name, n);
		ret_name[n - 1] = '\0';
	}
}

const struct ct_plain_parts *ct_checker_parts(const struct ct_checker *c)
{
	return c->part ? &c->in_parts : NULL;
}

/* ---- Command ------------------------------------------------------------------------------------------- */

static int judge_by_command(const struct ct_checker *c, const struct ct_image *image,
	const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct ct_answer a;

	NVW_TRY(ct_ask(&c->asked, image, acks, &a));
	if (ct_answer_note(&a, findings)) {
		return NVW_E_INCONSISTENT;
	}
	if (WEXITSTATUS(a.status) == 0) {
		return 0;
	}
	return *a.line ? nvw_violation(findings, 0, "%s%s", ct_answer_when(&a), a.line) :
			 nvw_violation(findings, 0, "%sthe checker exited with status %d", ct_answer_when(&a),
				 WEXITSTATUS(a.status));
}

int ct_checker_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct ct_checker *const c = context;

	*phase = CT_PHASE_CHECK;
	return c->check ? judge_by_library(c, image, acks, findings) :
			  judge_by_command(c, image, acks, findings);
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

static int find_parts(struct ct_checker *c, const char *path)
{
	*(void **)&c->parts = dlsym(c->library, "nvw_check_parts");
	*(void **)&c->part = dlsym(c->library, "nvw_check_part");
	*(void **)&c->part_name = dlsym(c->library, "nvw_check_part_name");
	c->in_parts = (struct ct_plain_parts){count_parts, check_part, name_part, c};
	return (!c->parts) == (!c->part) ?
		       0 :
		       nvw_fail(NVW_E_USAGE,
			       "%s: expected both nvw_check_parts and nvw_check_part, or neither "
			       "(nvw/checker.h)",
			       path);
}

int ct_checker_create(const struct ct_asked_is *is, const char *library, struct ct_checker *ret_checker)
{
	struct ct_checker *const c = ret_checker;

	*c = (struct ct_checker){.operations = is->operations};
	if (is->command) {
		return ct_asked_make(is, "--check", &c->asked);
	}
	c->asked.bytes = is->bytes;
	c->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	NVW_FAIL_IF(!c->library, NVW_E_USAGE, "%s", dlerror());
	*(void **)&c->check = dlsym(c->library, "nvw_check");
	NVW_FAIL_IF(!c->check, NVW_E_USAGE, "%s: expected a function nvw_check (nvw/checker.h)", library);
	return find_parts(c, library);
}

void ct_checker_destroy(struct ct_checker *c)
{
	ct_asked_destroy(&c->asked);
	if (c->library) {
		dlclose(c->library);
	}
	*c = (struct ct_checker){0};
}
