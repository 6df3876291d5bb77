/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persist log's reader: one block at a time, checked before it is decoded. All input is treated as
 * hostile: a wrong length or reference is reported as damage with its offset, even if the checksum matches.
 *
 * The file is read by position (pread), so that a forked process can continue to read with its own copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvw/input.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "format.h"

struct site {
	uint32_t line;
	char *file, *function, *layout;
};

struct nvw_log_reader {
	int fd;
	char *path;
	ZSTD_DCtx *zstd;
	struct nvw_log_info info;
	char *strings[LOG_STRINGS]; /* of info */
	uint64_t first_block_off;

	uint64_t block_off, next_off; /* in the file: of this block and of the one after it */
	uint64_t blocks, records;
	uint32_t block_records; /* remaining in this block */
	bool ended;             /* the trailer has been read */
	struct log_context context;
	const uint8_t *p, *end; /* unread part of raw */

	struct site *sites; /* number i at i - 1 */
	uint32_t site_count, site_capacity;

	char name[LOG_STRING_MAX + 1]; /* of a launch, or of an operation */
	uint8_t line[NVW_LOG_LINE_BYTES];
	size_t stored_capacity;
	uint8_t *stored;
	uint8_t raw[LOG_RAW_MAX];
};

/* What is left of a block is part of raw, whatever the file holds. */
__attribute__((unused)) static bool reader_is_valid(const struct nvw_log_reader *r)
{
	return r->p >= r->raw && r->p <= r->end && r->end <= r->raw + sizeof r->raw &&
	       r->site_count <= r->site_capacity && r->block_off <= r->next_off &&
	       r->first_block_off <= r->block_off;
}

static int damaged(const struct nvw_log_reader *r, uint64_t off, const char *what)
{
	return nvw_fail(NVW_E_DAMAGED, "%s: offset %llu: %s", r->path, (unsigned long long)off, what);
}

/* Reads up to n bytes; *ret_got is less only at the end of the file. */
static int read_at(const struct nvw_log_reader *r, uint64_t off, void *to, size_t n, size_t *ret_got)
{
	size_t got = 0;

	while (got < n) {
		const ssize_t done = pread(r->fd, (char *)to + got, n - got, (off_t)(off + got));

		if (done < 0 && errno == EINTR) {
			continue;
		}
		NVW_FAIL_ERRNO_IF(done < 0, "%s: cannot read", r->path);
		if (done == 0) {
			break;
		}
		got += (size_t)done;
	}
	*ret_got = got;
	return 0;
}

/* ---- Header ---------------------------------------------------------------------------------- */

static int parse_strings(struct nvw_log_reader *r, const uint8_t *p, const uint8_t *end)
{
	NVW_EACH(string, r->strings, LOG_STRINGS) {
		const size_t n = end - p < 2 ? SIZE_MAX : (size_t)(p[0] | p[1] << 8);

		if (n > LOG_STRING_MAX || n > (size_t)(end - p) - 2) {
			return damaged(r, LOG_HEADER_FIXED_BYTES, "the header's strings overrun the header");
		}
		*string = strndup((const char *)p + 2, n);
		NVW_FAIL_IF(!*string, NVW_E_MEMORY, "%s: no memory", r->path);
		p += 2 + n;
	}
	if (p != end) {
		return damaged(r, LOG_HEADER_FIXED_BYTES, "the header is longer than its strings");
	}
	return 0;
}

/* The order matters: a foreign file is not "damaged", and another version may use another checksum. */
static int read_header(struct nvw_log_reader *r)
{
	uint8_t *h = r->stored;
	size_t got;
	NVW_TRY(read_at(r, 0, h, LOG_HEADER_MAX, &got));
	NVW_FAIL_IF(got < LOG_MAGIC_BYTES || memcmp(h, LOG_MAGIC, LOG_MAGIC_BYTES) != 0, NVW_E_DAMAGED,
		"%s: offset 0: expected a persist log (magic number), found other bytes", r->path);
	if (got < LOG_HEADER_FIXED_BYTES) {
		return damaged(r, got, "the file ends within the header");
	}
	NVW_FAIL_IF(log_get32(h + 8) < NVW_LOG_VERSION || log_get32(h + 8) > NVW_LOG_VERSION_LAST,
		NVW_E_VERSION, "%s: offset 8: expected persist log version %d to %d, found %u", r->path,
		NVW_LOG_VERSION, NVW_LOG_VERSION_LAST, log_get32(h + 8));
	const uint32_t bytes = log_get32(h + 12);

	if (bytes < LOG_HEADER_FIXED_BYTES + 8 || bytes > LOG_HEADER_MAX) {
		return damaged(r, 12, "the header's length is impossible");
	}
	if (bytes > got) {
		return damaged(r, got, "the file ends within the header");
	}
	if (XXH64(h, bytes - 8, 0) != log_get64(h + bytes - 8)) {
		return damaged(r, bytes - 8, "the header does not match its checksum");
	}
	r->first_block_off = bytes;
	return parse_strings(r, h + LOG_HEADER_FIXED_BYTES, h + bytes - 8);
}

static void fill_info(struct nvw_log_reader *r)
{
	const uint32_t with = log_get32(r->stored + 8) - NVW_LOG_VERSION;

	r->info = (struct nvw_log_info){
		.workload = r->strings[0],
		.options = r->strings[1],
		.machine = r->strings[2],
		.protocol = r->strings[3],
		.model = r->strings[4],
		.domain = r->strings[5],
		.seed = log_get64(r->stored + 16),
		.pool_bytes = log_get64(r->stored + 24),
		.atomicity = log_get32(r->stored + 32),
		.operations = with & NVW_LOG_WITH_OPERATIONS,
		.callers = with & NVW_LOG_WITH_CALLERS,
		.layouts = with & NVW_LOG_WITH_LAYOUTS,
		.ranges = with & NVW_LOG_WITH_RANGES,
	};
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static int check_trailer(struct nvw_log_reader *r, const uint8_t *body, size_t n)
{
	uint8_t more;
	size_t got;

	if (n != 16 || log_get64(body) != r->records || log_get64(body + 8) != r->blocks) {
		return damaged(r, r->block_off, "the trailer's record count is not the number of records");
	}
	NVW_TRY(read_at(r, r->next_off, &more, 1, &got));
	if (got > 0) {
		return damaged(r, r->next_off, "there are bytes after the trailer");
	}
	r->ended = true;
	return 0;
}

static int inflate_block(struct nvw_log_reader *r, size_t stored, size_t raw)
{
	NVW_DEEP_INVARIANT(raw <= sizeof r->raw && stored <= r->stored_capacity - LOG_BLOCK_HEADER_BYTES);

	const uint8_t *h = r->stored;
	const size_t n = ZSTD_decompressDCtx(r->zstd, r->raw, raw, h + LOG_BLOCK_HEADER_BYTES, stored);

	if (ZSTD_isError(n) || n != raw) {
		return damaged(r, r->block_off, "the block does not decompress to its length");
	}
	r->p = r->raw;
	r->end = r->raw + raw;
	r->block_records = log_get32(h + 16);
	log_context_reset(&r->context, log_get64(h + 24));
	return 0;
}

/* Makes the next block current, or records the end. */
static int read_block(struct nvw_log_reader *r)
{
	uint8_t *h = r->stored;
	size_t got;

	NVW_INVARIANT(r->block_records == 0 && !r->ended);
	r->block_off = r->next_off;
	NVW_TRY(read_at(r, r->block_off, h, LOG_BLOCK_HEADER_BYTES, &got));
	if (got < LOG_BLOCK_HEADER_BYTES) {
		return damaged(r, r->block_off + got, "the file ends before the log's trailer");
	}
	const size_t stored = log_get32(h + 8), raw = log_get32(h + 12);

	if (stored > r->stored_capacity - LOG_BLOCK_HEADER_BYTES || raw > LOG_RAW_MAX) {
		return damaged(r, r->block_off, "the block's length is impossible");
	}
	NVW_TRY(read_at(r, r->block_off + LOG_BLOCK_HEADER_BYTES, h + LOG_BLOCK_HEADER_BYTES, stored, &got));
	if (got < stored) {
		return damaged(
			r, r->block_off + LOG_BLOCK_HEADER_BYTES + got, "the file ends within a block");
	}
	if (XXH64(h + 8, LOG_BLOCK_HEADER_BYTES - 8 + stored, log_block_seed(r->blocks)) != log_get64(h)) {
		return damaged(r, r->block_off, "the block does not match its checksum");
	}
	r->next_off = r->block_off + LOG_BLOCK_HEADER_BYTES + stored;
	if (log_get32(h + 20) == LOG_BLOCK_TRAILER) {
		return check_trailer(r, h + LOG_BLOCK_HEADER_BYTES, stored);
	}
	r->blocks++;
	return inflate_block(r, stored, raw);
}

/* ---- Records: the parsers return false if the record does not fit in the block or the pool --- */

static inline bool get_varint(struct nvw_log_reader *r, uint64_t *ret)
{
	NVW_DEEP_INVARIANT(r->p <= r->end);

	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
		const uint8_t byte = *r->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static inline bool get_u32(struct nvw_log_reader *r, uint32_t *ret)
{
	uint64_t v;

	if (!get_varint(r, &v) || v > UINT32_MAX) {
		return false;
	}
	*ret = (uint32_t)v;
	return true;
}

/* Adds a stored difference to *value. */
static inline bool get_difference(struct nvw_log_reader *r, uint64_t *value)
{
	uint64_t z;

	if (!get_varint(r, &z)) {
		return false;
	}
	*value += log_unzigzag(z);
	return true;
}

static bool get_string(struct nvw_log_reader *r, const char **ret, size_t *ret_n)
{
	uint64_t n;

	if (!get_varint(r, &n) || n > LOG_STRING_MAX || n > (uint64_t)(r->end - r->p)) {
		return false;
	}
	*ret = (const char *)r->p;
	*ret_n = n;
	r->p += n;
	NVW_DEEP_INVARIANT(r->p <= r->end);
	return true;
}

/* Until the next record. */
static const char *keep_name(struct nvw_log_reader *r, const char *name, size_t n)
{
	NVW_DEEP_INVARIANT(n < sizeof r->name);
	memcpy(r->name, name, n);
	r->name[n] = '\0';
	return r->name;
}

static bool in_logged_pool(const struct nvw_log_reader *r, uint64_t off, uint64_t n)
{
	return n <= r->info.pool_bytes && off <= r->info.pool_bytes - n;
}

static bool known_site(const struct nvw_log_reader *r, uint32_t id)
{
	return id >= 1 && id <= r->site_count;
}

static bool add_site(struct nvw_log_reader *r, uint32_t line, const char *file, size_t file_n,
	const char *function, size_t function_n)
{
	if (!NVW_ROOM(r->sites, r->site_capacity, r->site_count + 1)) {
		return false;
	}
	NVW_DEEP_INVARIANT(r->site_count < r->site_capacity);
	struct site *s = &r->sites[r->site_count];

	s->line = line;
	s->file = strndup(file, file_n);
	s->function = strndup(function, function_n);
	s->layout = NULL;
	r->site_count++; /* even if incomplete, so that it is freed */
	return s->file != NULL && s->function;
}

static bool get_caller(struct nvw_log_reader *r, unsigned tag, uint32_t *ret_caller)
{
	*ret_caller = 0;
	return !(tag & LOG_CALLED) ||
	       (r->info.callers && get_u32(r, ret_caller) && known_site(r, *ret_caller));
}

/* Reads the layout of the site that was added last. */
static bool get_layout(struct nvw_log_reader *r, unsigned tag, const char **ret_layout)
{
	const char *text;
	size_t n;

	*ret_layout = NULL;
	NVW_DEEP_INVARIANT(r->site_count > 0);
	if (!(tag & LOG_LAID_OUT)) {
		return true;
	}
	if (!r->info.layouts || !get_string(r, &text, &n)) {
		return false;
	}
	*ret_layout = r->sites[r->site_count - 1].layout = strndup(text, n);
	return *ret_layout != NULL;
}

static bool get_site(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	const char *file, *function;
	size_t file_n, function_n;

	if (!get_u32(r, &ret->site.id) || !get_u32(r, &ret->site.line) || !get_string(r, &file, &file_n) ||
		!get_string(r, &function, &function_n) || ret->site.id != r->site_count + 1 ||
		!get_caller(r, tag, &ret->site.caller) ||
		!add_site(r, ret->site.line, file, file_n, function, function_n) ||
		!get_layout(r, tag, &ret->site.layout)) {
		return false;
	}
	ret->site.file = r->sites[r->site_count - 1].file;
	ret->site.function = r->sites[r->site_count - 1].function;
	return true;
}

static bool get_field(struct nvw_log_reader *r, enum log_field_type type, void *ret)
{
	const char *name;
	size_t n;

	switch (type) {
	case LOG_U64:
		return get_varint(r, ret);
	case LOG_NAME:
		if (!get_string(r, &name, &n)) {
			return false;
		}
		*(const char **)ret = keep_name(r, name, n);
		return true;
	case LOG_SITE:
		return get_u32(r, ret) && known_site(r, *(uint32_t *)ret);
	case LOG_SITE_OR_NONE:
		return get_u32(r, ret) && (*(uint32_t *)ret == 0 || known_site(r, *(uint32_t *)ret));
	default:
		return get_u32(r, ret);
	}
}

static bool get_fields(struct nvw_log_reader *r, unsigned list, struct nvw_log_record *ret)
{
	NVW_DEEP_INVARIANT(list < LOG_FIELD_LISTS);
	for (const struct log_field *f = log_fields[list]; f->type != LOG_END_OF_FIELDS; f++) {
		if (!get_field(r, f->type, (char *)ret + f->at)) {
			return false;
		}
	}
	return true;
}

static bool get_plain(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	return get_fields(r, ret->kind, ret);
}

/* Fields omitted by put_store() are as in the preceding store. */
static bool get_store_context(struct nvw_log_reader *r, unsigned tag, unsigned how)
{
	struct log_context *c = &r->context;

	if (!(tag & LOG_SAME_SITE) && !get_u32(r, &c->site)) {
		return false;
	}
	if (!(tag & LOG_SAME_GROUP) && (!get_u32(r, &c->kernel) || !get_difference(r, &c->group))) {
		return false;
	}
	if (!(tag & LOG_SAME_EPOCHS) &&
		(!get_u32(r, &c->epoch_wi) || !get_u32(r, &c->epoch_wg) || !get_u32(r, &c->epoch_kr))) {
		return false;
	}
	if (how & LOG_NEXT_ITEM) {
		c->work_item++;
	} else if (!get_difference(r, &c->work_item)) {
		return false;
	}
	if (!(how & LOG_SAME_STRIDE)) {
		c->store_stride = 0;
		if (!get_difference(r, &c->store_stride)) {
			return false;
		}
	}
	c->store_off += c->store_stride;
	return known_site(r, c->site);
}

static bool get_wider(struct nvw_log_reader *r, unsigned how, struct nvw_log_record *ret)
{
	return !(how & LOG_OF_WIDER) ||
	       (r->info.layouts && get_varint(r, &ret->store.at) && get_varint(r, &ret->store.whole));
}

static bool get_store(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	const struct log_context *c = &r->context;

	if (r->p == r->end) {
		return false;
	}
	const unsigned how = *r->p++;
	const uint32_t bytes = (how & LOG_STORE_BYTES) + 1;

	ret->store.at = 0;
	ret->store.whole = bytes;
	if (!get_store_context(r, tag, how) || !get_wider(r, how, ret) || (size_t)(r->end - r->p) < bytes ||
		!in_logged_pool(r, c->store_off, bytes) || (c->store_off & 7) + bytes > 8) {
		return false;
	}
	ret->store.site = c->site;
	ret->store.kernel = c->kernel;
	ret->store.work_item = c->work_item;
	ret->store.group = c->group;
	ret->store.epoch_wi = c->epoch_wi;
	ret->store.epoch_wg = c->epoch_wg;
	ret->store.epoch_kr = c->epoch_kr;
	ret->store.bytes = bytes;
	ret->store.off = c->store_off;
	ret->store.value = 0;
	NVW_FOR(i, bytes) {
		ret->store.value |= (uint64_t)r->p[i] << 8 * i;
	}
	r->p += bytes;
	NVW_DEEP_INVARIANT(r->p <= r->end);
	return true;
}

static bool get_issue_data(struct nvw_log_reader *r, unsigned tag, uint64_t *ret_mask)
{
	const size_t left = (size_t)(r->end - r->p);
	const size_t head = tag & LOG_WHOLE_WORDS ? 1 : 8;
	uint64_t mask;

	if (left < head) {
		return false;
	}
	if (head == 1) {
		mask = log_words_to_bytes(*r->p);
	} else {
		mask = log_get64(r->p);
	}

	r->p += head;
	if (left - head < (size_t)__builtin_popcountll(mask)) {
		return false;
	}
	NVW_DEEP_INVARIANT(r->p <= r->end);
	memset(r->line, 0, sizeof r->line);
	NVW_FOR(i, NVW_LOG_LINE_BYTES) {
		if (mask >> i & 1) {
			r->line[i] = *r->p++;
		}
	}
	*ret_mask = mask;
	return true;
}

static bool get_issue(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	struct log_context *c = &r->context;
	uint64_t line = c->issue_off / NVW_LOG_LINE_BYTES;

	if (tag & LOG_NEXT_WRITE) {
		c->issue_write++;
	} else if (!get_difference(r, &c->issue_write)) {
		return false;
	}
	if (!get_difference(r, &line) || line > UINT64_MAX / NVW_LOG_LINE_BYTES ||
		!get_issue_data(r, tag, &ret->issue.mask)) {
		return false;
	}
	c->issue_off = line * NVW_LOG_LINE_BYTES;
	ret->issue.write = c->issue_write;
	ret->issue.off = c->issue_off;
	ret->issue.data = r->line;
	return in_logged_pool(r, c->issue_off, NVW_LOG_LINE_BYTES);
}

static bool get_done(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	if (!get_difference(r, &r->context.done_write)) {
		return false;
	}
	ret->done.write = r->context.done_write;
	return true;
}

static bool get_barrier(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	return get_fields(r, NVW_LOG_BARRIER, ret) && ret->barrier.scope <= NVW_KERNEL;
}

static bool get_begin(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	return r->info.operations && get_fields(r, NVW_LOG_BEGIN, ret);
}

static bool get_ack(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	struct log_context *c = &r->context;

	ret->ack.first = c->ack_next;
	if (!get_difference(r, &ret->ack.first) || !get_varint(r, &ret->ack.count) ||
		!get_u32(r, &ret->ack.kernel)) {
		return false;
	}
	c->ack_next = ret->ack.first + ret->ack.count;
	ret->ack.site = 0;
	ret->ack.work_item = ret->ack.group = 0;
	ret->ack.epoch_wi = ret->ack.epoch_wg = ret->ack.epoch_kr = 0;
	const bool of_kernel = ret->ack.kernel != 0, of_thread = r->info.operations && tag & LOG_OF_THREAD;

	return !(of_thread && of_kernel) && ((!of_thread && !of_kernel) || get_fields(r, LOG_ACK_BY, ret)) &&
	       (!of_kernel || get_fields(r, LOG_ACK_IN, ret));
}

static bool get_host(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	struct log_context *c = &r->context;

	ret->host.off = c->host_off;
	if (!get_difference(r, &ret->host.off) || !get_u32(r, &ret->host.bytes) ||
		!in_logged_pool(r, ret->host.off, ret->host.bytes) ||
		ret->host.bytes > (size_t)(r->end - r->p)) {
		return false;
	}
	ret->host.data = r->p;
	r->p += ret->host.bytes;
	NVW_DEEP_INVARIANT(r->p <= r->end);
	c->host_off = ret->host.off + ret->host.bytes;
	return true;
}

static bool get_flush(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	ret->flush.ordered = tag & LOG_ORDERED;
	return get_fields(r, NVW_LOG_FLUSH, ret) && in_logged_pool(r, ret->flush.off, ret->flush.bytes);
}

static bool get_threads(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	if (!(tag & LOG_OF_RANGE)) {
		return get_fields(r, NVW_LOG_THREADS, ret);
	}
	ret->kind = NVW_LOG_RANGE;
	return r->info.ranges && get_fields(r, NVW_LOG_RANGE, ret) && ret->range.what < NVW_RANGE_KINDS &&
	       in_logged_pool(r, ret->range.off, ret->range.bytes);
}

static bool get_end(struct nvw_log_reader *r, unsigned tag, struct nvw_log_record *ret)
{
	ret->end.interrupted = tag & LOG_INTERRUPTED;
	return true;
}

static bool (*const get_record[LOG_KIND_MASK + 1])(
	struct nvw_log_reader *, unsigned, struct nvw_log_record *) = {
	[NVW_LOG_BEGIN] = get_begin,
	[NVW_LOG_SITE] = get_site,
	[NVW_LOG_LAUNCH] = get_plain,
	[NVW_LOG_FINISH] = get_plain,
	[NVW_LOG_STORE] = get_store,
	[NVW_LOG_ISSUE] = get_issue,
	[NVW_LOG_DONE] = get_done,
	[NVW_LOG_BARRIER] = get_barrier,
	[NVW_LOG_PERSISTED] = get_barrier,
	[NVW_LOG_ACK] = get_ack,
	[NVW_LOG_HOST] = get_host,
	[NVW_LOG_DRAINED] = get_plain,
	[NVW_LOG_FLUSH] = get_flush,
	[NVW_LOG_FENCE] = get_plain,
	[NVW_LOG_END] = get_end,
	[NVW_LOG_THREADS] = get_threads,
};

static bool parse_record(struct nvw_log_reader *r, struct nvw_log_record *ret)
{
	uint64_t later;

	if (r->p == r->end) {
		return false;
	}
	const unsigned tag = *r->p++;

	ret->kind = (enum nvw_log_kind)(tag & LOG_KIND_MASK);
	if (!get_record[ret->kind]) {
		return false;
	}
	if (!(tag & LOG_SAME_TIME)) {
		if (!get_varint(r, &later)) {
			return false;
		}
		r->context.time_ps += later;
	}
	ret->time_ps = r->context.time_ps;
	return get_record[ret->kind](r, tag, ret);
}

int nvw_log_next(struct nvw_log_reader *r, struct nvw_log_record *ret_record)
{
	struct nvw_log_record record;

	NVW_DEEP_INVARIANT(reader_is_valid(r));
	while (r->block_records == 0) {
		if (r->p != r->end) {
			return damaged(r, r->block_off, "the block has bytes after its last record");
		}
		if (r->ended) {
			return 0;
		}
		NVW_TRY(read_block(r));
	}
	if (!parse_record(r, &record)) {
		return damaged(r, r->block_off, "the block holds an impossible record");
	}
	NVW_DEEP_INVARIANT(reader_is_valid(r));
	r->block_records--;
	r->records++;
	*ret_record = record;
	return 1;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

const struct nvw_log_info *nvw_log_info(const struct nvw_log_reader *r)
{
	NVW_DEEP_INVARIANT(reader_is_valid(r));
	return &r->info;
}

static void forget_sites(struct nvw_log_reader *r)
{
	NVW_EACH(site, r->sites, r->site_count) {
		free(site->file);
		free(site->function);
		free(site->layout);
	}
	r->site_count = 0;
}

int nvw_log_rewind(struct nvw_log_reader *r)
{
	NVW_INVARIANT(r->first_block_off >= LOG_HEADER_FIXED_BYTES); /* its header has been read */
	forget_sites(r);
	r->block_off = r->next_off = r->first_block_off;
	r->blocks = r->records = 0;
	r->block_records = 0;
	r->ended = false;
	r->p = r->end = r->raw;
	return 0;
}

void nvw_log_reader_close(struct nvw_log_reader *r)
{
	if (!r) {
		return;
	}
	forget_sites(r);
	free(r->sites);
	NVW_EACH(string, r->strings, LOG_STRINGS) {
		free(*string);
	}
	ZSTD_freeDCtx(r->zstd);
	free(r->stored);
	free(r->path);
	close(r->fd);
	free(r);
}

static struct nvw_log_reader *reader_new(int fd, const char *name)
{
	struct nvw_log_reader *r = calloc(1, sizeof *r);

	if (!r) {
		close(fd);
		return NULL;
	}
	r->fd = fd;
	r->stored_capacity = LOG_BLOCK_HEADER_BYTES + ZSTD_compressBound(LOG_RAW_MAX);
	r->path = strdup(name);
	r->zstd = ZSTD_createDCtx();
	r->stored = malloc(r->stored_capacity);
	if (!r->path || !r->zstd || !r->stored) {
		nvw_log_reader_close(r);
		return NULL;
	}
	return r;
}

int nvw_log_open_fd(int fd, const char *name, struct nvw_log_reader **ret_reader)
{
	struct nvw_log_reader *r = reader_new(fd, name);

	NVW_ALLOCATED(r, "%s: no memory for the persist log's reader", name);
	const int error = read_header(r);

	if (error) {
		nvw_log_reader_close(r);
		return error;
	}
	fill_info(r);
	if (r->info.atomicity != 8 && r->info.atomicity != 64) {
		nvw_log_reader_close(r);
		return nvw_fail(NVW_E_DAMAGED, "%s: offset 32: expected an atomicity of 8 or 64 bytes", name);
	}
	*ret_reader = r;
	return nvw_log_rewind(r);
}

int nvw_log_open(const char *path, struct nvw_log_reader **ret_reader)
{
	int fd;
	NVW_TRY(nvw_input_open(path, O_RDONLY, &fd));
	return nvw_log_open_fd(fd, path, ret_reader);
}
