/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persist log's writer: records are packed into a buffer of one block; a full block is compressed, sealed
 * and written. It needs the memory of two blocks, whatever the length of the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"

#include "format.h"
#include "stop.h"

/* Negative levels trade size for speed: most of the time of a logged run must be spent on the run. */
enum { COMPRESSION_LEVEL = -3 };

struct nvw_log_writer {
	int fd;
	int error; /* the first failure; nothing is written after it */
	char *path;
	bool operations, callers, layouts; /* as in info */
	ZSTD_CCtx *zstd;
	uint64_t blocks, records, stop_after;
	uint32_t block_records;
	uint64_t block_time_ps;
	struct log_context context;
	uint8_t *p; /* where the next record goes in raw */
	size_t stored_capacity;
	uint8_t *stored;
	uint8_t raw[LOG_RAW_MAX];
};

/* What is not written yet is in raw, with its records. */
__attribute__((unused)) static bool writer_is_valid(const struct nvw_log_writer *w)
{
	return w->p >= w->raw && w->p <= w->raw + LOG_RAW_MAX &&
	       (w->p == w->raw) == (w->block_records == 0) && w->block_records <= w->records && w->error <= 0;
}

static int fail_write(struct nvw_log_writer *w)
{
	if (errno == ENOSPC || errno == EDQUOT) {
		w->error = nvw_fail(NVW_E_FULL, "%s: no space is left for the persist log", w->path);
	} else {
		w->error = nvw_fail_errno("%s: cannot write the persist log", w->path);
	}
	NVW_DEEP_INVARIANT(w->error < 0);
	return w->error;
}

static int write_all(struct nvw_log_writer *w, const uint8_t *from, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(w->fd, from, n);

		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done <= 0) {
			if (done == 0) {
				errno = ENOSPC;
			}
			return fail_write(w);
		}
		from += done;
		n -= (size_t)done;
	}
	return 0;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Completes the block header before n stored bytes and writes both. */
static int seal_block(struct nvw_log_writer *w, enum log_block_kind kind, size_t n, size_t raw,
	uint32_t records, uint64_t time_ps)
{
	uint8_t *h = w->stored;

	NVW_INVARIANT(LOG_BLOCK_HEADER_BYTES + n <= w->stored_capacity);
	NVW_INVARIANT((kind == LOG_BLOCK_TRAILER) == (records == 0));
	log_put32(h + 8, (uint32_t)n);
	log_put32(h + 12, (uint32_t)raw);
	log_put32(h + 16, records);
	log_put32(h + 20, kind);
	log_put64(h + 24, time_ps);
	log_put64(h, XXH64(h + 8, LOG_BLOCK_HEADER_BYTES - 8 + n, log_block_seed(w->blocks)));
	w->blocks++;
	return write_all(w, h, LOG_BLOCK_HEADER_BYTES + n);
}

static int flush_block(struct nvw_log_writer *w)
{
	const size_t raw = (size_t)(w->p - w->raw);
	const uint64_t time_ps = w->context.time_ps;

	NVW_DEEP_INVARIANT(writer_is_valid(w));
	if (raw == 0) {
		return 0;
	}
	const size_t n = ZSTD_compress2(w->zstd, w->stored + LOG_BLOCK_HEADER_BYTES,
		w->stored_capacity - LOG_BLOCK_HEADER_BYTES, w->raw, raw);
	if (ZSTD_isError(n)) {
		w->error = nvw_fail(NVW_E_MEMORY, "%s: zstd: %s", w->path, ZSTD_getErrorName(n));
		return w->error;
	}
	const int error = seal_block(w, LOG_BLOCK_RECORDS, n, raw, w->block_records, w->block_time_ps);

	w->p = w->raw;
	w->block_records = 0;
	w->block_time_ps = time_ps;
	log_context_reset(&w->context, time_ps);
	return error;
}

static int write_trailer(struct nvw_log_writer *w)
{
	uint8_t *body = w->stored + LOG_BLOCK_HEADER_BYTES;

	NVW_INVARIANT(w->p == w->raw); /* no record comes after it */
	log_put64(body, w->records);
	log_put64(body + 8, w->blocks);
	return seal_block(w, LOG_BLOCK_TRAILER, 16, 16, 0, w->context.time_ps);
}

/* ---- Records --------------------------------------------------------------------------------- */

static inline void put_varint(struct nvw_log_writer *w, uint64_t v)
{
	NVW_DEEP_INVARIANT(w->p < w->raw + LOG_RAW_MAX);
	while (v >= 0x80) {
		*w->p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*w->p++ = (uint8_t)v;
}

static inline void put_difference(struct nvw_log_writer *w, uint64_t now, uint64_t before)
{
	put_varint(w, log_zigzag(now - before));
}

static void put_bytes(struct nvw_log_writer *w, const void *from, size_t n)
{
	NVW_DEEP_INVARIANT(n <= (size_t)(w->raw + LOG_RAW_MAX - w->p));
	memcpy(w->p, from, n);
	w->p += n;
}

static void put_string(struct nvw_log_writer *w, const char *s)
{
	const char *const text = NVW_OR(s, "");
	const size_t n = strnlen(text, LOG_STRING_MAX);

	put_varint(w, n);
	put_bytes(w, text, n);
}

/* The tag, and the time if it has changed. */
static inline void put_tag(struct nvw_log_writer *w, const struct nvw_log_record *r, unsigned flags)
{
	const bool same = r->time_ps == w->context.time_ps;

	const unsigned kind = nvw_min((unsigned)r->kind, NVW_LOG_THREADS);

	*w->p++ = (uint8_t)(kind | flags | (same ? LOG_SAME_TIME : 0));
	if (!same) {
		put_varint(w, r->time_ps - w->context.time_ps);
		w->context.time_ps = r->time_ps;
	}
}

static void put_site(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	const bool called = w->callers && r->site.caller != 0;

	const bool laid_out = w->layouts && r->site.layout && *r->site.layout != '\0';

	put_tag(w, r, called * LOG_CALLED | laid_out * LOG_LAID_OUT);
	put_varint(w, r->site.id);
	put_varint(w, r->site.line);
	put_string(w, r->site.file);
	put_string(w, r->site.function);
	if (called) {
		put_varint(w, r->site.caller);
	}
	if (laid_out) {
		put_string(w, r->site.layout);
	}
}

static void put_fields(struct nvw_log_writer *w, const struct nvw_log_record *r, unsigned list)
{
	NVW_DEEP_INVARIANT(list < LOG_FIELD_LISTS);
	for (const struct log_field *f = log_fields[list]; f->type != LOG_END_OF_FIELDS; f++) {
		const void *const field = (const char *)r + f->at;

		switch (f->type) {
		case LOG_U64:
			put_varint(w, *(const uint64_t *)field);
			break;
		case LOG_NAME:
			put_string(w, *(const char *const *)field);
			break;
		default:
			put_varint(w, *(const uint32_t *)field);
		}
	}
}

static void put_plain(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	put_tag(w, r, 0);
	put_fields(w, r, r->kind);
}

/* The lanes of a wavefront store in sequence, so most fields of a record are as in the preceding one. */
static void put_store(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	struct log_context *c = &w->context;
	const uint64_t stride = r->store.off - c->store_off;
	const bool same_site = r->store.site == c->site;
	const bool same_group = r->store.kernel == c->kernel && r->store.group == c->group;
	const bool same_epochs = r->store.epoch_wi == c->epoch_wi && r->store.epoch_wg == c->epoch_wg &&
				 r->store.epoch_kr == c->epoch_kr;
	const bool next_item = r->store.work_item == c->work_item + 1;
	const bool same_stride = stride == c->store_stride;
	const bool of_wider = w->layouts && (r->store.at != 0 || r->store.whole != r->store.bytes);

	NVW_DEEP_INVARIANT(r->store.bytes > 0 && r->store.off % 8 + r->store.bytes <= 8);
	put_tag(w, r,
		same_site * LOG_SAME_SITE | same_group * LOG_SAME_GROUP | same_epochs * LOG_SAME_EPOCHS);
	*w->p++ = (uint8_t)((r->store.bytes - 1) | next_item * LOG_NEXT_ITEM | same_stride * LOG_SAME_STRIDE |
			    of_wider * LOG_OF_WIDER);
	if (!same_site) {
		put_varint(w, r->store.site);
		c->site = r->store.site;
	}
	if (!same_group) {
		put_varint(w, r->store.kernel);
		put_difference(w, r->store.group, c->group);
		c->kernel = r->store.kernel;
		c->group = r->store.group;
	}
	if (!same_epochs) {
		put_varint(w, r->store.epoch_wi);
		put_varint(w, r->store.epoch_wg);
		put_varint(w, r->store.epoch_kr);
		c->epoch_wi = r->store.epoch_wi;
		c->epoch_wg = r->store.epoch_wg;
		c->epoch_kr = r->store.epoch_kr;
	}
	if (!next_item) {
		put_difference(w, r->store.work_item, c->work_item);
	}
	if (!same_stride) {
		put_varint(w, log_zigzag(stride));
		c->store_stride = stride;
	}
	if (of_wider) {
		put_varint(w, r->store.at);
		put_varint(w, r->store.whole);
	}
	c->work_item = r->store.work_item;
	c->store_off = r->store.off;
	log_put64(w->p, r->store.value);
	w->p += r->store.bytes;
}

static void put_issue(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	struct log_context *c = &w->context;
	uint8_t words;
	const bool whole = log_bytes_to_words(r->issue.mask, &words);
	const bool next = r->issue.write == c->issue_write + 1;

	NVW_DEEP_INVARIANT(r->issue.off % NVW_LOG_LINE_BYTES == 0);
	put_tag(w, r, whole * LOG_WHOLE_WORDS | next * LOG_NEXT_WRITE);
	if (!next) {
		put_difference(w, r->issue.write, c->issue_write);
	}
	put_difference(w, r->issue.off / NVW_LOG_LINE_BYTES, c->issue_off / NVW_LOG_LINE_BYTES);
	c->issue_write = r->issue.write;
	c->issue_off = r->issue.off;
	if (whole) {
		*w->p++ = words;
		NVW_FOR(i, 8) {
			if (words >> i & 1) {
				put_bytes(w, r->issue.data + 8 * i, 8);
			}
		}
		return;
	}
	log_put64(w->p, r->issue.mask);
	w->p += 8;
	NVW_FOR(i, NVW_LOG_LINE_BYTES) {
		if (r->issue.mask >> i & 1) {
			*w->p++ = r->issue.data[i];
		}
	}
}

static void put_done(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	put_tag(w, r, 0);
	put_difference(w, r->done.write, w->context.done_write);
	w->context.done_write = r->done.write;
}

static void put_barrier(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	NVW_DEEP_INVARIANT(r->barrier.scope <= NVW_KERNEL);
	put_tag(w, r, 0);
	put_fields(w, r, NVW_LOG_BARRIER);
}

static void put_ack(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	const bool of_thread = w->operations && r->ack.kernel == 0;

	put_tag(w, r, of_thread * LOG_OF_THREAD);
	put_difference(w, r->ack.first, w->context.ack_next);
	put_varint(w, r->ack.count);
	w->context.ack_next = r->ack.first + r->ack.count;
	put_varint(w, r->ack.kernel);
	if (of_thread || r->ack.kernel != 0) {
		put_fields(w, r, LOG_ACK_BY);
	}
	if (r->ack.kernel != 0) {
		put_fields(w, r, LOG_ACK_IN);
	}
}

static void put_host(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	put_tag(w, r, 0);
	put_difference(w, r->host.off, w->context.host_off);
	put_varint(w, r->host.bytes);
	put_bytes(w, r->host.data, r->host.bytes);
	w->context.host_off = r->host.off + r->host.bytes;
}

static void put_flush(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	put_tag(w, r, r->flush.ordered * LOG_ORDERED);
	put_fields(w, r, NVW_LOG_FLUSH);
}

static void put_range(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	NVW_DEEP_INVARIANT(r->range.what < NVW_RANGE_KINDS);
	put_tag(w, r, LOG_OF_RANGE);
	put_fields(w, r, NVW_LOG_RANGE);
}

static void put_end(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	put_tag(w, r, r->end.interrupted * LOG_INTERRUPTED);
}

static void (*const put_record[])(struct nvw_log_writer *, const struct nvw_log_record *) = {
	[NVW_LOG_BEGIN] = put_plain,
	[NVW_LOG_SITE] = put_site,
	[NVW_LOG_LAUNCH] = put_plain,
	[NVW_LOG_FINISH] = put_plain,
	[NVW_LOG_STORE] = put_store,
	[NVW_LOG_ISSUE] = put_issue,
	[NVW_LOG_DONE] = put_done,
	[NVW_LOG_BARRIER] = put_barrier,
	[NVW_LOG_PERSISTED] = put_barrier,
	[NVW_LOG_ACK] = put_ack,
	[NVW_LOG_HOST] = put_host,
	[NVW_LOG_DRAINED] = put_plain,
	[NVW_LOG_FLUSH] = put_flush,
	[NVW_LOG_FENCE] = put_plain,
	[NVW_LOG_END] = put_end,
	[NVW_LOG_THREADS] = put_plain,
	[NVW_LOG_RANGE] = put_range,
};

int nvw_log_append(struct nvw_log_writer *w, const struct nvw_log_record *record)
{
	if (w->error) {
		return w->error;
	}
	if (w->p > w->raw + LOG_RAW_MAX - LOG_RECORD_MAX && flush_block(w)) {
		return w->error;
	}
	NVW_INVARIANT(record->kind < NVW_COUNT(put_record) && put_record[record->kind]);
	put_record[record->kind](w, record);
	NVW_INVARIANT(w->p <= w->raw + LOG_RAW_MAX);
	w->block_records++;
	w->records++;
	NVW_DEEP_INVARIANT(writer_is_valid(w));
	if (w->records == w->stop_after) {
		nvw__log_stop();
	}
	return 0;
}

void nvw__log_stop_after(struct nvw_log_writer *w, uint64_t number)
{
	NVW_DEEP_INVARIANT(writer_is_valid(w));
	w->stop_after = number;
}

/* Not inlined, and not empty for the compiler. */
__attribute__((noinline)) void nvw__log_stop(void)
{
	__asm__ volatile("" : : : "memory");
}

uint64_t nvw_log_records(const struct nvw_log_writer *w)
{
	NVW_DEEP_INVARIANT(writer_is_valid(w));
	return w->records;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int write_header(struct nvw_log_writer *w, const struct nvw_log_info *info)
{
	const char *const strings[LOG_STRINGS] = {
		info->workload, info->options, info->machine, info->protocol, info->model, info->domain};
	uint8_t *h = w->stored;
	uint8_t *p = h + LOG_HEADER_FIXED_BYTES;

	memcpy(h, LOG_MAGIC, LOG_MAGIC_BYTES);
	log_put32(h + 8, NVW_LOG_VERSION + info->operations * NVW_LOG_WITH_OPERATIONS +
				 info->callers * NVW_LOG_WITH_CALLERS + info->layouts * NVW_LOG_WITH_LAYOUTS +
				 info->ranges * NVW_LOG_WITH_RANGES);
	log_put64(h + 16, info->seed);
	log_put64(h + 24, info->pool_bytes);
	log_put32(h + 32, info->atomicity);
	NVW_EACH(string, strings, LOG_STRINGS) {
		const char *const text = NVW_OR(*string, "");
		const size_t n = strnlen(text, LOG_STRING_MAX);

		*p++ = (uint8_t)n;
		*p++ = (uint8_t)(n >> 8);
		memcpy(p, text, n);
		p += n;
	}
	NVW_INVARIANT(p - h + 8 <= LOG_HEADER_MAX);
	log_put32(h + 12, (uint32_t)(p - h) + 8);
	log_put64(p, XXH64(h, (size_t)(p - h), 0));
	return write_all(w, h, (size_t)(p - h) + 8);
}

static void writer_free(struct nvw_log_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	free(w->stored);
	free(w->path);
	free(w);
}

static struct nvw_log_writer *writer_new(int fd, const char *name)
{
	struct nvw_log_writer *w = calloc(1, sizeof *w);

	if (!w) {
		return NULL;
	}
	w->fd = fd;
	w->p = w->raw;
	w->stored_capacity = LOG_BLOCK_HEADER_BYTES + ZSTD_compressBound(LOG_RAW_MAX);
	w->path = strdup(name);
	w->zstd = ZSTD_createCCtx();
	w->stored = malloc(w->stored_capacity);
	if (!w->path || !w->zstd || !w->stored ||
		ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, COMPRESSION_LEVEL))) {
		writer_free(w);
		return NULL;
	}
	return w;
}

int nvw_log_create_fd(
	int fd, const char *name, const struct nvw_log_info *info, struct nvw_log_writer **ret_writer)
{
	struct nvw_log_writer *w = writer_new(fd, name);

	if (!w) {
		close(fd);
		return nvw_fail(NVW_E_MEMORY, "%s: no memory for the persist log's writer", name);
	}
	w->operations = info->operations;
	w->callers = info->callers;
	w->layouts = info->layouts;
	const int error = write_header(w, info);

	if (error) {
		close(fd);
		writer_free(w);
		return error;
	}
	*ret_writer = w;
	return 0;
}

int nvw_log_create(const char *path, const struct nvw_log_info *info, struct nvw_log_writer **ret_writer)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s: cannot create the persist log", path);
	return nvw_log_create_fd(fd, path, info, ret_writer);
}

int nvw_log_flush(struct nvw_log_writer *w)
{
	NVW_TRY(w->error);
	return flush_block(w);
}

/* Writes what is buffered and the trailer; closes and frees. */
static int finish(struct nvw_log_writer *w)
{
	if (!w->error && !flush_block(w)) {
		write_trailer(w);
	}
	NVW_INVARIANT(w->error < 0 || w->p == w->raw);
	if (close(w->fd) && !w->error) {
		fail_write(w);
	}
	const int error = w->error;

	writer_free(w);
	return error;
}

static int end_log(struct nvw_log_writer *w, uint64_t time_ps, bool interrupted)
{
	if (!w) {
		return 0;
	}
	/* An interrupted run may have logged what comes after now. */
	const struct nvw_log_record end = {.kind = NVW_LOG_END,
		.time_ps = nvw_max(time_ps, w->context.time_ps),
		.end.interrupted = interrupted};
	const int error = nvw_log_append(w, &end); /* the writer keeps the error too */
	const int at_end = finish(w);

	return NVW_OR(error, at_end);
}

int nvw_log_close(struct nvw_log_writer *w, uint64_t time_ps)
{
	return end_log(w, time_ps, false);
}

int nvw_log_interrupt(struct nvw_log_writer *w, uint64_t time_ps)
{
	return end_log(w, time_ps, true);
}

void nvw_log_abandon(struct nvw_log_writer *w)
{
	if (w) {
		finish(w);
	}
}
