/* SPDX-License-Identifier: BSD-3-Clause */
/* Driving host readers. See drive.h. */
#include "readers/drive.h"

#include "core/clock.h"
#include "core/each.h"
#include "core/histogram.h"
#include "core/invariant.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nvw/random.h>

enum { SCAN_KEYS = 16, FAULT_TEXT = 200 };

/* ---- Observations ---------------------------------------------------------------------------- */

/* A reader's last observation of a key: the version plus one, or 0 while the other fields are being written,
 * because the power may be cut at any time. */
struct seen {
	uint64_t version, state;
};

struct reader_area {
	uint64_t reads;
	uint64_t faults;
	char fault[FAULT_TEXT]; /* the first one */
};

struct nvw__sightings {
	uint64_t bytes, keys;
	unsigned readers;
	struct reader_area reader[NVW__READERS_MAX];
	/* The newest observation of each key by any reader, as code_of() encodes it; then a struct seen per
	 * reader and key. */
	uint64_t newest[];
};

static struct seen *seen_by(const struct nvw__sightings *s, unsigned reader)
{
	NVW_DEEP_INVARIANT(reader < s->readers);
	return (struct seen *)(void *)(s->newest + s->keys) + reader * s->keys;
}

struct nvw__sightings *nvw__sightings_create(
	const struct nvw_workload *workload, void *plan, unsigned readers)
{
	struct nvw__sightings *s;
	uint64_t keys, bytes;

	if (!workload->serving) {
		nvw_fail(NVW_E_USAGE, "%s does not support host readers", workload->name);
		return NULL;
	}
	if (workload->serving->keys(plan, &keys) < 0) {
		return NULL;
	}
	bytes = sizeof *s + keys * sizeof s->newest[0] + readers * keys * sizeof(struct seen);
	s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s == MAP_FAILED) {
		nvw_fail_errno(
			"no memory for the observations of %u readers of %" PRIu64 " keys", readers, keys);
		return NULL;
	}
	s->bytes = bytes;
	s->keys = keys;
	s->readers = readers;
	return s;
}

void nvw__sightings_destroy(struct nvw__sightings *s)
{
	if (s) {
		munmap(s, s->bytes);
	}
}

uint64_t nvw__sightings_reads(const struct nvw__sightings *s)
{
	uint64_t reads = 0;

	NVW_EACH(reader, s->reader, s->readers) {
		reads += reader->reads;
	}
	return reads;
}

/* The newest observation of a key by any reader; false if there is none. */
static bool newest_seen(const struct nvw__sightings *s, uint64_t number, struct nvw_sighting *ret)
{
	bool any = false;

	NVW_DEEP_INVARIANT(number < s->keys);
	*ret = (struct nvw_sighting){.number = number};
	NVW_FOR(i, s->readers) {
		const struct seen *const one = &seen_by(s, i)[number];

		if (one->version && (!any || one->version - 1 > ret->version)) {
			ret->version = one->version - 1;
			ret->state = one->state;
			any = true;
		}
	}
	return any;
}

uint64_t nvw__sightings_keys(const struct nvw__sightings *s)
{
	struct nvw_sighting ignored;
	uint64_t keys = 0;

	NVW_FOR(n, s->keys) {
		keys += newest_seen(s, n, &ignored);
	}
	return keys;
}

int nvw__sightings_judge(const struct nvw__sightings *s, const struct nvw_workload *workload, void *plan,
	struct nvw_pool *pool, struct nvw_findings *findings)
{
	int error = 0;

	NVW_FOR(i, s->readers) {
		if (s->reader[i].faults) {
			error = nvw_violation(findings, 0, "host reader %u: %s (%" PRIu64 " in all)", i,
				s->reader[i].fault, s->reader[i].faults);
		}
	}
	NVW_FOR(n, s->keys) {
		struct nvw_sighting seen;
		int r = 0;

		if (newest_seen(s, n, &seen)) {
			r = workload->serving->judge(plan, pool, &seen, findings);
		}
		if (r) {
			error = r;
		}
		if (r && r != NVW_E_INCONSISTENT) {
			return r;
		}
	}
	return error;
}

/* ---- A reader -------------------------------------------------------------------------------- */

struct reader {
	struct nvw__drive *drive;
	pthread_t thread;
	unsigned index;
	struct nvw_random random;
	struct nvw_histogram lookups, scans;
	uint64_t pairs; /* pairs found by scans */
};

struct nvw__drive {
	const struct nvw_workload *workload;
	void *plan;
	struct nvw_readers *readers;
	struct nvw__sightings *sightings;
	unsigned scans; /* percent of reads */
	unsigned started;
	unsigned ready; /* atomic: readers that have read something */
	bool stop;      /* atomic */
	uint64_t began_ns, ended_ns;
	struct reader reader[NVW__READERS_MAX];
};

/* Versions in order, with present and absent keys distinguished; 0: no observation. */
static uint64_t code_of(const struct nvw_sighting *s)
{
	return (s->version + 1) << 1 | s->present;
}

static uint64_t *newest_of(const struct reader *r, uint64_t number)
{
	return &r->drive->sightings->newest[number];
}

static void fault(const struct reader *r, const char *text)
{
	struct reader_area *const area = &r->drive->sightings->reader[r->index];

	if (!area->faults++) {
		snprintf(area->fault, sizeof area->fault, "%s", text);
	}
}

static void remember_sighting(const struct reader *r, const struct nvw_sighting *s)
{
	struct seen *const seen = &seen_by(r->drive->sightings, r->index)[s->number];
	uint64_t *const newest = newest_of(r, s->number);
	uint64_t known = __atomic_load_n(newest, __ATOMIC_RELAXED);

	if (seen->version != s->version + 1) {
		__atomic_store_n(&seen->version, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&seen->state, s->state, __ATOMIC_RELEASE);
		__atomic_store_n(&seen->version, s->version + 1, __ATOMIC_RELEASE);
	}
	while (known < code_of(s) && !__atomic_compare_exchange_n(newest, &known, code_of(s), false,
					     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
	}
}

/* (1), (2): at least the version known when the read began. */
static void judge(const struct reader *r, const struct nvw_sighting *s, uint64_t known, const char *what)
{
	static const char *const presence[] = {"absent", "present"};

	if (code_of(s) < known) {
		char text[FAULT_TEXT];

		snprintf(text, sizeof text,
			"a %s of key number %" PRIu64 " found version %" PRIu64 " (%s) after version %" PRIu64
			" (%s) had been seen",
			what, s->number, s->version, presence[s->present], (known >> 1) - 1,
			presence[known & 1]);
		fault(r, text);
	}
	remember_sighting(r, s);
}

static bool look_up(struct reader *r, uint64_t number, struct nvw_sighting *ret)
{
	struct nvw__drive *const d = r->drive;
	const uint64_t known = __atomic_load_n(newest_of(r, number), __ATOMIC_ACQUIRE), began = nvw__now_ns();
	int error;

	nvw_reader_enter(d->readers);
	error = d->workload->serving->lookup(d->plan, number, ret);
	nvw_reader_leave(d->readers);
	nvw_histogram_add(&r->lookups, nvw__now_ns() - began);
	if (error) {
		fault(r, nvw_error_message());
		return false;
	}
	judge(r, ret, known, "look-up");
	return true;
}

/* A key that was present before the scan and is missing from it must have changed since. */
static void ask_again(struct reader *r, uint64_t number, uint64_t known)
{
	struct nvw_sighting s;

	if (known & 1 && look_up(r, number, &s) && code_of(&s) <= known) {
		char text[FAULT_TEXT];

		snprintf(text, sizeof text, "a scan left out key number %" PRIu64 ", which was and is there",
			number);
		fault(r, text);
	}
}

static void judge_scan(struct reader *r, uint64_t first, const struct nvw_sighting *found, unsigned count,
	const uint64_t *known)
{
	const uint64_t keys = r->drive->sightings->keys;
	/* A scan that reached its limit did not look beyond its last pair. */
	const uint64_t last = count == SCAN_KEYS ? found[count - 1].number : keys - 1;
	unsigned at = 0;

	NVW_FOR(i, count) {
		if (found[i].number < first || (i && found[i].number <= found[i - 1].number)) {
			fault(r, "a scan's keys do not ascend");
			return;
		}
	}
	for (unsigned i = 0; i < SCAN_KEYS && first + i <= last; i++) {
		if (at < count && found[at].number == first + i) {
			judge(r, &found[at++], known[i], "scan");
		} else {
			ask_again(r, first + i, known[i]);
		}
	}
	for (; at < count; at++) {
		remember_sighting(r, &found[at]);
	}
}

static void scan(struct reader *r, uint64_t number)
{
	struct nvw__drive *const d = r->drive;
	struct nvw_sighting found[SCAN_KEYS];
	uint64_t known[SCAN_KEYS], began;
	unsigned count = 0;
	int error;

	for (unsigned i = 0; i < SCAN_KEYS && number + i < d->sightings->keys; i++) {
		known[i] = __atomic_load_n(newest_of(r, number + i), __ATOMIC_ACQUIRE);
	}
	began = nvw__now_ns();
	nvw_reader_enter(d->readers);
	error = d->workload->serving->scan(d->plan, number, SCAN_KEYS, found, &count);
	nvw_reader_leave(d->readers);
	nvw_histogram_add(&r->scans, nvw__now_ns() - began);
	if (error) {
		fault(r, nvw_error_message());
		return;
	}
	NVW_EACH(one, found, count) {
		r->pairs += one->present;
	}
	judge_scan(r, number, found, count, known);
}

static void *read_on(void *context)
{
	struct reader *const r = context;
	struct nvw__drive *const d = r->drive;

	nvw_reader_join();
	for (uint64_t i = 0; i == 0 || !__atomic_load_n(&d->stop, __ATOMIC_ACQUIRE); i++) {
		const uint64_t number = nvw_random_below(&r->random, d->sightings->keys);
		struct nvw_sighting ignored;

		if (nvw_random_below(&r->random, 100) < d->scans) {
			scan(r, number);
		} else {
			look_up(r, number, &ignored);
		}
		d->sightings->reader[r->index].reads++;
		if (i == 0) {
			__atomic_fetch_add(&d->ready, 1, __ATOMIC_RELEASE);
		}
	}
	nvw_reader_quit();
	return NULL;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int start_threads(struct nvw__drive *d, uint64_t seed)
{
	d->began_ns = nvw__now_ns();
	for (; d->started < d->sightings->readers; d->started++) {
		struct reader *const r = &d->reader[d->started];
		int error;

		*r = (struct reader){
			.drive = d, .index = d->started, .random = {nvw_mix64(seed + d->started)}};
		error = pthread_create(&r->thread, NULL, read_on, r);
		NVW_FAIL_IF(
			error, NVW_E_SYSTEM, "cannot start host reader %u: %s", d->started, strerror(error));
	}
	while (__atomic_load_n(&d->ready, __ATOMIC_ACQUIRE) < d->started) {
		usleep(50);
	}
	return 0;
}

int nvw__drive_start(const struct nvw_workload *workload, void *plan, struct nvw_machine *machine,
	struct nvw__sightings *sightings, unsigned scans, uint64_t seed, struct nvw__drive **ret_drive)
{
	struct nvw__drive *d;
	int error;

	NVW_FAIL_IF(nvw_machine_is_volatile(machine), NVW_E_USAGE,
		"%s: host readers read durable data, but this workload keeps nothing in NVRAM",
		workload->name);
	NVW_FAIL_IF(!sightings->keys, NVW_E_USAGE, "%s: host readers have no key to look up", workload->name);
	d = calloc(1, sizeof *d);
	NVW_ALLOCATED(d, "no memory for host readers");
	d->workload = workload;
	d->plan = plan;
	d->sightings = sightings;
	d->scans = scans;
	error = nvw_readers_create(sightings->keys, &d->readers);
	if (error == 0) {
		error = workload->serving->begin(plan, machine, d->readers);
	}
	if (error == 0) {
		error = start_threads(d, seed);
	}
	if (error) {
		nvw__drive_destroy(d);
		return error;
	}
	*ret_drive = d;
	return 0;
}

int nvw__drive_acknowledged(struct nvw__drive *d, uint64_t first, uint64_t count)
{
	return d->workload->serving->acknowledged(d->plan, first, count);
}

void nvw__drive_stop(struct nvw__drive *d)
{
	if (!d) {
		return;
	}
	__atomic_store_n(&d->stop, true, __ATOMIC_RELEASE);
	for (; d->started; d->started--) {
		pthread_join(d->reader[d->started - 1].thread, NULL);
	}
	if (!d->ended_ns) {
		d->ended_ns = nvw__now_ns();
	}
}

void nvw__drive_destroy(struct nvw__drive *d)
{
	if (!d) {
		return;
	}
	nvw__drive_stop(d);
	if (d->readers) {
		d->workload->serving->end(d->plan);
		nvw_readers_destroy(d->readers);
	}
	free(d);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static double a_second(uint64_t count, double seconds)
{
	if (seconds > 0) {
		return (double)count / seconds;
	}
	return 0;
}

static int describe_kind(
	const struct nvw_histogram *h, const char *kind, double seconds, struct nvw_description *description)
{
	static const struct {
		const char *name, *meaning;
		unsigned of_1000;
	} quantiles[] = {{"p50", "half of them took at most this", 500}, {"p99", "99 of 100", 990},
		{"p999", "999 of 1000", 999}, {"max", "all of them", 1000}};
	char name[64];

	snprintf(name, sizeof name, "host_readers.%ss", kind);
	NVW_TRY(nvw_describe_u64(
		description, name, h->count, "count", "by all readers while the kernels ran"));
	snprintf(name, sizeof name, "host_readers.%s_rate", kind);
	NVW_TRY(nvw_describe_real(
		description, name, a_second(h->count, seconds), "1/s", "of these a second of real time"));
	NVW_EACH_IN(quantile, quantiles) {
		snprintf(name, sizeof name, "host_readers.%s_%s", kind, quantile->name);
		NVW_TRY(nvw_describe_u64(description, name, nvw_histogram_quantile(h, quantile->of_1000),
			"ns", quantile->meaning));
	}
	return 0;
}

static int describe_counts(
	const struct nvw__drive *d, uint64_t acknowledged, struct nvw_description *description)
{
	const struct nvw_readers_figures figures = nvw_readers_figures(d->readers);
	uint64_t pairs = 0;

	NVW_EACH(reader, d->reader, d->sightings->readers) {
		pairs += reader->pairs;
	}
	const struct {
		const char *name;
		uint64_t value;
		const char *unit, *meaning;
	} rows[] = {
		{"host_readers.threads", d->sightings->readers, "count", "host threads that read"},
		{"host_readers.gpu_operations", acknowledged, "count",
			"operations that the GPU made durable meanwhile"},
		{"host_readers.pairs", pairs, "count", "keys that scans found"},
		{"host_readers.published", figures.published, "count", "records put into the readers' index"},
		{"host_readers.reclaimed", figures.freed, "count",
			"of these, replaced and freed after a grace period"},
		{"host_readers.grace_periods", figures.grace_periods, "count",
			"that the host waited for between kernels"},
		{"host_readers.grace_time", figures.grace_ns, "ns", "real time of these waits"},
	};

	NVW_EACH_IN(row, rows) {
		NVW_TRY(nvw_describe_u64(description, row->name, row->value, row->unit, row->meaning));
	}
	return 0;
}

/* Describes one kind of reads, lookups or scans, of all readers together. */
static int describe_reads(const struct nvw__drive *d, const char *kind, size_t offset, double seconds,
	struct nvw_description *description)
{
	struct nvw_histogram *const all = calloc(1, sizeof *all);
	int error;

	NVW_ALLOCATED(all, "no memory for the readers' latencies");
	NVW_EACH(reader, d->reader, d->sightings->readers) {
		nvw_histogram_merge(all, (const void *)((const char *)reader + offset));
	}
	error = describe_kind(all, kind, seconds, description);
	free(all);
	return error;
}

int nvw__drive_describe(
	const struct nvw__drive *d, uint64_t acknowledged, struct nvw_description *description)
{
	const double seconds = (double)(d->ended_ns - d->began_ns) * 1e-9;

	NVW_TRY(describe_counts(d, acknowledged, description));
	NVW_TRY(nvw_describe_real(description, "host_readers.gpu_rate", a_second(acknowledged, seconds),
		"1/s", "operations of the GPU a second of real time"));
	NVW_TRY(describe_reads(d, "lookup", offsetof(struct reader, lookups), seconds, description));
	return describe_reads(d, "scan", offsetof(struct reader, scans), seconds, description);
}
