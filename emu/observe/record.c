/* SPDX-License-Identifier: BSD-3-Clause */
/* Persist log and durability checker. See record.h. */
#include "record.h"

#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/rows.h"
#include "core/search.h"
#include "../memory/device_memory.h"
#include "../time/order.h"

enum { SITES_MIN = 256, HOST_PIECE = 4096 };

/* The stores of one epoch of one stream that are not durable yet. */
struct bucket {
	uint32_t epoch, outstanding;
	uint32_t next; /* the stream's next epoch with stores */
	uint32_t stream;
};

/* A work-item, a work-group or a kernel. */
struct stream {
	uint32_t first, last; /* buckets, oldest epoch first; only the last may be empty */
	uint32_t issued;      /* highest epoch of which a store has been issued, plus 1 */
	bool closed;
};

/* A store that is not durable yet. */
struct store {
	uint32_t next;       /* in its line's or write's chain */
	uint32_t buckets[3]; /* of work-item, work-group, kernel */
	uint64_t bytes;      /* of the line */
	const struct nvw_site *site;
};

struct site_number {
	const struct nvw_site *site;
	uint32_t id;
};

struct emu_record {
	struct nvw_log_writer *log; /* NULL: no log */
	bool check;
	uint64_t logged_stores;
	struct nvw_rows buckets, streams, stores;
	uint64_t outstanding;      /* stores that are not durable yet */
	struct site_number *sites; /* hash by address */
	uint32_t site_count, site_mask;
	const struct nvw_site *last_site;
	uint32_t last_site_id;
};

/* A stream's first and last bucket are there, or neither. */
__attribute__((unused)) static bool is_stream_valid(const struct stream *s)
{
	return (s->first == 0) == (s->last == 0);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static uint32_t row_take(struct nvw_machine *m, struct nvw_rows *rows)
{
	const uint32_t i = nvw_rows_take(rows);

	if (!i && !m->error) {
		m->error = nvw_fail(NVW_E_MEMORY,
			"no memory for more than %u records of the durability checker", rows->count);
	}
	return i;
}

static struct bucket *bucket_at(const struct emu_record *r, uint32_t i)
{
	return nvw_row(&r->buckets, i);
}

static struct stream *stream_at(const struct emu_record *r, uint32_t i)
{
	return nvw_row(&r->streams, i);
}

static struct store *store_at(const struct emu_record *r, uint32_t i)
{
	return nvw_row(&r->stores, i);
}

/* ---- Streams and epochs -------------------------------------------------------------------- */

static void model_violation(struct nvw_machine *m, const struct nvw_site *site, const char *what)
{
	if (!m->error) {
		m->error =
			nvw_fail(NVW_E_MODEL, "at %llu ps the store of %s:%u %s (gope18, equations 1 to 3)",
				(unsigned long long)m->now, site->file, site->line, what);
	}
}

/* The bucket of the stream's epoch; makes the stream if *stream is 0. */
static uint32_t bucket_for(
	struct nvw_machine *m, uint32_t *stream, uint32_t epoch, const struct nvw_site *site)
{
	struct emu_record *const r = m->record;
	uint32_t last, i;

	if (!*stream) {
		*stream = row_take(m, &r->streams);
	}
	if (epoch + 1 < stream_at(r, *stream)->issued) {
		model_violation(m, site, "comes after a store of a later epoch was sent to the NVRAM");
	}
	NVW_DEEP_INVARIANT(is_stream_valid(stream_at(r, *stream)));
	NVW_DEEP_INVARIANT(!stream_at(r, *stream)->closed);
	last = stream_at(r, *stream)->last;
	if (last && bucket_at(r, last)->epoch == epoch) {
		return last;
	}
	/* Slow members of a group may store in an epoch before the newest. */
	for (i = stream_at(r, *stream)->first, last = 0; i && bucket_at(r, i)->epoch < epoch;
		i = bucket_at(r, i)->next) {
		last = i;
	}
	if (i && bucket_at(r, i)->epoch == epoch) {
		return i;
	}
	const uint32_t made = row_take(m, &r->buckets);

	*bucket_at(r, made) = (struct bucket){.epoch = epoch, .next = i, .stream = *stream};
	if (last) {
		bucket_at(r, last)->next = made;
	} else {
		stream_at(r, *stream)->first = made;
	}
	if (!i) {
		stream_at(r, *stream)->last = made;
	}
	return made;
}

/* Drops empty epochs at the stream's start, and the stream if it is complete. */
static void stream_trim(struct emu_record *r, uint32_t stream)
{
	struct stream *const s = stream_at(r, stream);

	while (s->first && !bucket_at(r, s->first)->outstanding) {
		const uint32_t empty = s->first;

		s->first = bucket_at(r, empty)->next;
		if (!s->first) {
			s->last = 0;
		}
		nvw_rows_give(&r->buckets, empty);
	}
	NVW_DEEP_INVARIANT(is_stream_valid(s));
	if (s->closed && !s->first) {
		nvw_rows_give(&r->streams, stream);
	}
}

static void stream_close(struct emu_record *r, uint32_t *stream)
{
	if (*stream) {
		stream_at(r, *stream)->closed = true;
		stream_trim(r, *stream);
		*stream = 0;
	}
}

/* ---- Stores -------------------------------------------------------------------------------- */

static uint32_t site_id(struct nvw_machine *m, const struct nvw_site *site);

static void log_append(struct nvw_machine *m, const struct nvw_log_record *record)
{
	const int r = nvw_log_append(m->record->log, record);

	if (r < 0 && !m->error) {
		m->error = r;
	}
}

static void log_store(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, nvw_off off,
	unsigned bytes, uint64_t value)
{
	NVW_DEEP_INVARIANT(lane < NVW_COUNT(wf->epoch_kr));

	const struct nvw_log_record record = {.kind = NVW_LOG_STORE,
		.time_ps = m->now,
		.store = {.site = site_id(m, wf->requests.site[lane]),
			.kernel = m->exec.number,
			.work_item = wf->first_global + lane,
			.group = wf->group->id,
			.epoch_wi = wf->epoch_wi[lane],
			.epoch_wg = wf->epoch_wg[lane],
			.epoch_kr = wf->epoch_kr[lane],
			.bytes = bytes,
			.off = off,
			.value = value}};

	m->record->logged_stores++;
	log_append(m, &record);
}

uint64_t record_stores(const struct nvw_machine *m)
{
	return m->record ? m->record->logged_stores : 0;
}

static void chain(struct emu_record *r, struct emu_line *line, uint32_t first, uint32_t last)
{
	NVW_DEEP_INVARIANT(first && last && !line->stores == !line->stores_tail);
	if (line->stores) {
		store_at(r, line->stores_tail)->next = first;
	} else {
		line->stores = first;
	}
	line->stores_tail = last;
}

void record_store(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, struct emu_line *line,
	nvw_off off, unsigned bytes, uint64_t value)
{
	NVW_DEEP_INVARIANT(lane < NVW_COUNT(wf->epoch_kr));

	struct emu_record *const r = m->record;
	const struct nvw_site *const site = wf->requests.site[lane];
	uint32_t buckets[3], i;

	if (!r) {
		return;
	}
	if (r->log) {
		log_store(m, wf, lane, off, bytes, value);
	}
	if (!r->check) {
		return;
	}
	m->stats.checked_stores++;
	buckets[0] = bucket_for(m, &wf->stream[lane], wf->epoch_wi[lane], site);
	buckets[1] = bucket_for(m, &wf->group->stream, wf->epoch_wg[lane], site);
	buckets[2] = bucket_for(m, &m->exec.stream, wf->epoch_kr[lane], site);
	i = row_take(m, &r->stores);
	if (m->error) {
		return;
	}
	NVW_FOR(k, 3) {
		store_at(r, i)->buckets[k] = buckets[k];
		bucket_at(r, buckets[k])->outstanding++;
	}
	r->outstanding++;
	NVW_DEEP_INVARIANT(bytes > 0 && off % EMU_LINE + bytes <= EMU_LINE);
	store_at(r, i)->site = site;
	store_at(r, i)->bytes = ((UINT64_C(1) << bytes) - 1) << off % EMU_LINE;
	chain(r, line, i, i);
}

void record_move(struct nvw_machine *m, struct emu_line *to, struct emu_line *from)
{
	if (from->stores) {
		chain(m->record, to, from->stores, from->stores_tail);
		from->stores = from->stores_tail = 0;
	}
}

void record_split(struct nvw_machine *m, struct emu_line *to, struct emu_line *from, uint64_t bytes)
{
	uint32_t next, i = from->stores;

	to->stores = to->stores_tail = from->stores = from->stores_tail = 0;
	for (; i; i = next) {
		struct store *const store = store_at(m->record, i);

		next = store->next;
		store->next = 0;
		if (store->bytes & bytes && store->bytes & ~bytes) {
			model_violation(m, store->site, "was sent to the NVRAM in parts");
		}
		chain(m->record, store->bytes & ~bytes ? from : to, i, i);
	}
}

/* ---- Write-backs --------------------------------------------------------------------------- */

static void check_issue(struct nvw_machine *m, const struct store *store)
{
	struct emu_record *const r = m->record;

	NVW_FOR(k, 3) {
		const struct bucket *const b = bucket_at(r, store->buckets[k]);
		struct stream *const s = stream_at(r, b->stream);

		stream_trim(r, b->stream);
		if (s->first != store->buckets[k]) {
			static const char *const of[] = {"its work-item", "its work-group", "the kernel"};
			char what[160];

			snprintf(what, sizeof what,
				"was sent to the NVRAM while stores of an earlier epoch of %s are not "
				"durable",
				of[k]);
			model_violation(m, store->site, what);
		}
		if (b->epoch + 1 > s->issued) {
			s->issued = b->epoch + 1;
		}
	}
}

void record_issue(struct nvw_machine *m, const struct emu_nvram_write *write)
{
	struct emu_record *const r = m->record;

	if (!r) {
		return;
	}
	if (r->log) {
		const struct nvw_log_record record = {.kind = NVW_LOG_ISSUE,
			.time_ps = m->now,
			.issue = {.write = write->number,
				.off = emu_line_off(m, write->line),
				.mask = write->mask,
				.data = write->data}};

		log_append(m, &record);
	}
	for (uint32_t i = write->stores; i; i = store_at(r, i)->next) {
		check_issue(m, store_at(r, i));
	}
}

void record_done(struct nvw_machine *m, const struct emu_nvram_write *write)
{
	struct emu_record *const r = m->record;
	uint32_t next;

	if (!r) {
		return;
	}
	if (r->log) {
		const struct nvw_log_record record = {
			.kind = NVW_LOG_DONE, .time_ps = write->done, .done = {.write = write->number}};

		log_append(m, &record);
	}
	for (uint32_t i = write->stores; i; i = next) {
		const struct store store = *store_at(r, i);

		next = store.next;
		NVW_EACH(buckets, store.buckets, 3) {
			struct bucket *const b = bucket_at(r, *buckets);

			if (--b->outstanding == 0) {
				stream_trim(r, b->stream);
			}
		}
		NVW_DEEP_INVARIANT(r->outstanding > 0);
		nvw_rows_give(&r->stores, i);
		r->outstanding--;
	}
}

uint64_t record_outstanding(const struct nvw_machine *m)
{
	if (!m->record) {
		return 0;
	}
	return m->record->outstanding;
}

/* ---- Kernels, barriers, the host ----------------------------------------------------------- */

/* The position of a site in a table of mask + 1 entries: where it is, or would be. */
static uint32_t site_index(const struct site_number *sites, uint32_t mask, const struct nvw_site *site)
{
	NVW_DEEP_INVARIANT(!(mask & (mask + 1)));
	return (uint32_t)NVW_PROBE(
		i, nvw_mix64((uintptr_t)site), (uint64_t)mask + 1, !sites[i].site || sites[i].site == site);
}

/* Makes room for twice as many places. */
static void grow_sites(struct nvw_machine *m)
{
	struct emu_record *const r = m->record;
	const uint32_t mask = 2 * r->site_mask + 1;
	struct site_number *const grown = calloc(mask + 1, sizeof *grown);

	if (!grown) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for %u source places", mask);
		return;
	}
	for (uint32_t i = 0; i <= r->site_mask; i++) {
		if (r->sites[i].site) {
			grown[site_index(grown, mask, r->sites[i].site)] = r->sites[i];
		}
	}
	free(r->sites);
	r->sites = grown;
	r->site_mask = mask;
}

static void add_site(struct nvw_machine *m, uint32_t place, const struct nvw_site *site)
{
	struct emu_record *const r = m->record;
	const struct nvw_log_record record = {.kind = NVW_LOG_SITE,
		.time_ps = m->now,
		.site = {.id = ++r->site_count,
			.line = site->line,
			.file = site->file,
			.function = site->function}};

	log_append(m, &record);
	NVW_DEEP_INVARIANT(!r->sites[place].site && r->site_count <= r->site_mask);
	r->sites[place] = (struct site_number){site, r->site_count};
	if (r->site_count > r->site_mask / 2) {
		grow_sites(m);
	}
}

/* The log's number of a site; the first use logs the site. */
static uint32_t site_id(struct nvw_machine *m, const struct nvw_site *site)
{
	struct emu_record *const r = m->record;

	if (site != r->last_site) {
		const uint32_t place = site_index(r->sites, r->site_mask, site);

		if (!r->sites[place].site) {
			add_site(m, place, site);
		}
		r->last_site = site;
		r->last_site_id = r->sites[site_index(r->sites, r->site_mask, site)].id;
	}
	return r->last_site_id;
}

void record_launch(struct nvw_machine *m, uint64_t work_items)
{
	const struct nvw_log_record record = {.kind = NVW_LOG_LAUNCH,
		.time_ps = m->now,
		.launch = {.kernel = m->exec.number,
			.group_size = m->exec.group_size,
			.work_items = work_items,
			.name = m->exec.name}};

	if (m->record && m->record->log) {
		log_append(m, &record);
	}
}

void record_kernel_finish(struct nvw_machine *m)
{
	const struct nvw_log_record record = {
		.kind = NVW_LOG_FINISH, .time_ps = m->now, .finish = {.kernel = m->exec.number}};

	if (m->record) {
		if (m->record->log) {
			log_append(m, &record);
		}
		stream_close(m->record, &m->exec.stream);
	}
}

void record_close_wavefront(struct nvw_machine *m, struct emu_wavefront *wf)
{
	if (m->record && m->record->check) {
		NVW_EACH(stream, wf->stream, EMU_LANES) {
			stream_close(m->record, stream);
		}
	}
}

void record_close_group(struct nvw_machine *m, struct emu_group *group)
{
	if (m->record) {
		stream_close(m->record, &group->stream);
	}
}

void record_barrier(struct nvw_machine *m, const struct record_barrier *b, bool persisted)
{
	if (m->order) {
		emu_order_barrier(m, b);
	}
	if (m->record && m->record->log) {
		const struct nvw_log_record record = {.kind = persisted ? NVW_LOG_PERSISTED : NVW_LOG_BARRIER,
			.time_ps = m->now,
			.barrier = {.site = site_id(m, b->site),
				.kernel = m->exec.number,
				.scope = b->scope,
				.work_item = b->work_item,
				.group = b->group,
				.work_items = b->work_items,
				.epoch = b->epoch,
				.lanes = b->lanes}};

		log_append(m, &record);
	}
}

void record_ack(struct nvw_machine *m, const struct record_ack *ack)
{
	const bool is_logged = m->record && m->record->log;
	const struct nvw_log_record record = {.kind = NVW_LOG_ACK,
		.time_ps = m->now,
		.ack = {.first = ack->first,
			.count = ack->count,
			.kernel = ack->kernel,
			.site = is_logged && ack->site ? site_id(m, ack->site) : 0,
			.work_item = ack->work_item,
			.group = ack->group,
			.epoch_wi = ack->epoch_wi,
			.epoch_wg = ack->epoch_wg,
			.epoch_kr = ack->epoch_kr}};

	if (is_logged) {
		log_append(m, &record);
	}
}

void record_drained(struct nvw_machine *m)
{
	const struct nvw_log_record record = {.kind = NVW_LOG_DRAINED, .time_ps = m->now};

	if (m->record && m->record->log) {
		log_append(m, &record);
	}
}

void record_host_write(struct nvw_machine *m, nvw_off off, const uint8_t *data, uint64_t n)
{
	if (!m->record || !m->record->log) {
		return;
	}
	while (n && !m->error) {
		const uint32_t bytes = (uint32_t)nvw_min(n, HOST_PIECE);
		const struct nvw_log_record record = {.kind = NVW_LOG_HOST,
			.time_ps = m->now,
			.host = {.off = off, .bytes = bytes, .data = data}};

		log_append(m, &record);
		off += bytes;
		data += bytes;
		n -= bytes;
	}
}

/* ---- Set-up -------------------------------------------------------------------------------- */

int record_init(struct nvw_machine *m, struct nvw_log_writer *log)
{
#ifdef EMU_DEBUG
	const bool is_default = true;
#else
	const bool is_default = false;
#endif
	bool check = m->config.persist_check;
	struct emu_record *r;

	if (m->config.persist_check == EMU_AUTO) {
		check = is_default;
	}
	if (!log && !check) {
		return 0;
	}
	m->record = r = calloc(1, sizeof *r);
	NVW_ALLOCATED(r, "no memory for the persist log");
	r->log = log;
	r->check = check && m->config.nvram.domain != EMU_DOMAIN_eadr;
	r->buckets.row_bytes = sizeof(struct bucket);
	r->streams.row_bytes = sizeof(struct stream);
	r->stores.row_bytes = sizeof(struct store);
	r->site_mask = SITES_MIN - 1;
	r->sites = calloc(SITES_MIN, sizeof *r->sites);
	NVW_ALLOCATED(r->sites, "no memory for the persist log");
	return 0;
}

void record_finish(struct nvw_machine *m)
{
	if (m->record) {
		nvw_rows_finish(&m->record->buckets);
		nvw_rows_finish(&m->record->streams);
		nvw_rows_finish(&m->record->stores);
		free(m->record->sites);
		free(m->record);
	}
}
