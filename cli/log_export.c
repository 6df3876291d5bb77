/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See log_export.h. The format: START, operations, STOP, each ended by '|'; fields of an operation are
 * separated by ';', numbers are hexadecimal, and the stack follows the last field: here one frame, "function
 * (file:line)".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crashtest/states/model.h>
#include <nvw/persist_log.h>

#include "report/words.h"
#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "log_export.h"
#include "session.h"

enum { LINE = 64 };

static const unsigned long long mapped_at = 0x100000000000; /* any address will do */

struct exporter {
	const char *path;
	bool words;
	char **frame; /* of site i at i - 1 */
	uint32_t frames, room;
	/* The bytes of one STORE that is not written yet: adjacent words. */
	uint8_t value[LINE];
	uint64_t off, group;
	uint32_t bytes, site;
};

static void write_store(uint64_t off, const uint8_t *value, uint32_t bytes)
{
	printf("STORE;0x%llx;0x", mapped_at + off);
	for (uint32_t i = bytes; i > 0; i--) {
		printf("%02x", value[i - 1]);
	}
	printf(";0x%x", bytes);
}

static void write_frame(const struct exporter *e, uint32_t site)
{
	printf(";%s|", e->frame[site - 1]);
}

static void write_pending(struct exporter *e)
{
	if (e->bytes > 0) {
		write_store(e->off, e->value, e->bytes);
		write_frame(e, e->site);
	}
	e->bytes = 0;
}

/* pmemcheck writes the lines that the processor flushes. */
static void write_flush(uint64_t off, uint64_t bytes)
{
	const uint64_t first = off / LINE * LINE, end = (off + bytes + LINE - 1) / LINE * LINE;

	printf("FLUSH;0x%llx;0x%llx", mapped_at + first, (ull)(end - first));
}

static int add_site(struct exporter *e, const struct nvw_log_record *r)
{
	char *const frame = text_made("%s (%s:%u)", r->site.function, r->site.file, r->site.line);

	NVW_INVARIANT(r->kind == NVW_LOG_SITE);
	if (!frame || !NVW_ROOM(e->frame, e->room, e->frames + 1)) {
		free(frame);
		return nvw_fail(NVW_E_MEMORY, "no memory for the sites of the log");
	}
	e->frame[e->frames++] = frame;
	for (char *at = frame; (at = strpbrk(at, ";|\n"));) {
		*at = '_';
	}
	return 0;
}

static void store(struct exporter *e, const struct nvw_log_record *r)
{
	const bool goes_on = e->bytes > 0 && !e->words && r->store.group == e->group &&
			     r->store.off == e->off + e->bytes && e->bytes + r->store.bytes <= LINE;

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	if (!goes_on) {
		write_pending(e);
		e->off = r->store.off;
		e->group = r->store.group;
		e->site = r->store.site;
	}
	memcpy(e->value + e->bytes, &r->store.value, r->store.bytes);
	e->bytes += r->store.bytes;
}

static int is_kernels(const struct exporter *e)
{
	return nvw_fail(NVW_E_INPUT,
		"%s: expected the log of a program on the host, found a kernel's: a store log has no kernels",
		e->path);
}

static int export_record(struct exporter *e, const struct nvw_log_record *r)
{
	if (r->kind == NVW_LOG_STORE && r->store.kernel == 0) {
		store(e, r);
		return 0;
	}
	write_pending(e);
	switch (r->kind) {
	case NVW_LOG_SITE:
		return add_site(e, r);
	case NVW_LOG_FLUSH:
		write_flush(r->flush.off, r->flush.bytes);
		write_frame(e, r->flush.site);
		return 0;
	case NVW_LOG_FENCE:
		fputs("FENCE", stdout);
		write_frame(e, r->fence.site);
		return 0;
	case NVW_LOG_HOST: /* durable at once */
		write_store(r->host.off, r->host.data, r->host.bytes);
		putchar('|');
		write_flush(r->host.off, r->host.bytes);
		fputs("|FENCE|", stdout);
		return 0;
	case NVW_LOG_THREADS:
	case NVW_LOG_RANGE:
	case NVW_LOG_END:
		return 0;
	default:
		return is_kernels(e);
	}
}

static int export(struct exporter *e, struct nvw_log_reader *reader, const char *file)
{
	const struct nvw_log_info *const info = nvw_log_info(reader);
	struct nvw_log_record r;
	int error;

	if (*info->machine != '\0') {
		return is_kernels(e);
	}
	NVW_FAIL_IF(strcmp(info->model, ct_model_info(ct_model_for(CT_USE_FILES))->name) == 0, NVW_E_INPUT,
		"%s: expected a program that flushes by the processor, found one that syncs a file: "
		"a store log has no syncs, and no sizes",
		e->path);
	file = NVW_OR(file, info->options);
	NVW_FAIL_IF(*file == '\0' || strpbrk(file, ";|\n"), NVW_E_INPUT,
		"%s: expected the name of the file that was recorded, without ; and |, found \"%s\"", e->path,
		file);
	printf("START|REGISTER_FILE;%s;0x%llx;0x%llx;0x0|", file, mapped_at, (ull)info->pool_bytes);
	while ((error = nvw_log_next(reader, &r)) == 1 && (error = export_record(e, &r)) == 0) {
	}
	if (error == 0) {
		write_pending(e);
		puts("STOP");
	}
	return error;
}

static void exporter_end(struct exporter *e)
{
	NVW_EACH(frame, e->frame, e->frames) {
		free(*frame);
	}
	free(e->frame);
}

int log_export(const char *path, const char *file, bool words)
{
	struct exporter e = {.path = path, .words = words};
	struct nvw_log_reader *reader;

	NVW_TRY(nvw_log_open(path, &reader));
	const int error = export(&e, reader, file);

	exporter_end(&e);
	nvw_log_reader_close(reader);
	return NVW_OR(error, cli_flush());
}
