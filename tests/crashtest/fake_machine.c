/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine without GPU. See fake_machine.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <crashtest/parts/parts.h>
#include <emu.h>
#include <nvw/random.h>

#include "fake_machine.h"

/* ---- Pools of raw bytes -------------------------------------------------------------------------------- */

struct nvw_pool {
	struct nvw_pool_geometry geometry;
	struct nvw_pool_image image;
	uint8_t *mapped; /* NULL for an image */
};

static int map_file(const char *path, enum nvw_pool_mode mode, struct nvw_pool **ret_pool)
{
	const int fd = open(path, O_RDWR);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		return nvw_fail_errno("%s", path);
	}
	struct nvw_pool *p = calloc(1, sizeof *p);

	p->geometry.bytes = (uint64_t)st.st_size;
	p->mapped = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		mode == NVW_POOL_WRITE ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	p->image.image = p->mapped;
	close(fd);
	*ret_pool = p;
	return 0;
}

int nvw_pool_create_several(
	const char *path, const struct nvw_pool_params *params, unsigned count, struct nvw_pool **ret_pool)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)params->bytes)) {
		return nvw_fail_errno("%s", path);
	}
	close(fd);
	return map_file(path, NVW_POOL_WRITE, ret_pool);
}

int nvw_pool_open(const char *path, enum nvw_pool_mode mode, struct nvw_pool **ret_pool)
{
	return map_file(path, mode, ret_pool);
}

int nvw_pool_open_image(const struct nvw_pool_image *image, struct nvw_pool **ret_pool)
{
	struct nvw_pool *p = calloc(1, sizeof *p);

	p->geometry.bytes = image->bytes;
	p->image = *image;
	*ret_pool = p;
	return 0;
}

void nvw_pool_close(struct nvw_pool *p)
{
	if (p->mapped != NULL) {
		munmap(p->mapped, p->geometry.bytes);
	}
	free(p);
}

const struct nvw_pool_geometry *nvw_pool_geometry(const struct nvw_pool *p)
{
	return &p->geometry;
}

const void *nvw_pool_base(const struct nvw_pool *p)
{
	return p->image.image;
}

struct nvw_pool *nvw_pool_number(const struct nvw_pool *first, unsigned i)
{
	return i == 0 ? (struct nvw_pool *)(uintptr_t)first : NULL;
}

nvw_off nvw_pool_begin(const struct nvw_pool *p)
{
	return 0;
}

uint64_t nvw_pool_run_bytes(const struct nvw_pool *p)
{
	return p->geometry.bytes;
}

void nvw_pool_copy_run(const struct nvw_pool *p, void *to)
{
	memcpy(to, p->image.image, p->geometry.bytes);
}

int nvw_pool_write(struct nvw_pool *p, nvw_off off, const void *from, uint64_t n)
{
	if (p->mapped == NULL) {
		return p->image.write(p->image.context, off, from, n);
	}
	memcpy(p->mapped + off, from, n);
	return 0;
}

uint64_t nvw_pool_words_written(const struct nvw_pool *p)
{
	return 0;
}

int nvw_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	return 0;
}

/* ---- The machine ------------------------------------------------------------------------------ */

enum { FLIGHT_MAX = 64 };

struct nvw_machine {
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct emu_power_cut cut;
	uint64_t time_ps, write;
	unsigned sites;
	struct {
		uint64_t write, value;
		nvw_off off;
	} flight[FLIGHT_MAX];
	unsigned flights;
};

static void append(struct nvw_machine *m, struct nvw_log_record r)
{
	r.time_ps = m->time_ps;
	if (m->log != NULL && nvw_log_append(m->log, &r)) {
		abort();
	}
}

static void step(struct nvw_machine *m)
{
	struct nvw_random r = {m->cut.seed};

	m->time_ps += 1000;
	if (m->time_ps <= m->cut.time_ps) {
		return;
	}
	NVW_EACH(flight, m->flight, m->flights) {
		if (nvw_random_u64(&r) & 1) {
			memcpy(m->pool->mapped + flight->off, &flight->value, 8);
		}
	}
	m->cut.die(m->cut.context);
}

int emu_create(const struct emu_config *config, struct nvw_pool *pool, struct nvw_log_writer *log,
	struct nvw_machine **ret_machine)
{
	struct nvw_machine *m = calloc(1, sizeof *m);

	m->pool = pool;
	m->log = log;
	m->cut.time_ps = UINT64_MAX;
	for (unsigned line = 1; line <= 4; line++) {
		append(m, (struct nvw_log_record){.kind = NVW_LOG_SITE,
				  .site = {.id = line, .line = line, .file = "fake.c", .function = "put"}});
	}
	append(m, (struct nvw_log_record){.kind = NVW_LOG_LAUNCH, .launch = {.kernel = 1, .name = "put"}});
	*ret_machine = m;
	return 0;
}

void emu_destroy(struct nvw_machine *m)
{
	free(m);
}

/* Work-items meet at its barriers under every model. */
const struct emu_model_info *emu_model_info(uint64_t model)
{
	static const struct emu_model_info models[] = {
#define MACHINE_MODEL(id, symbol, text) {.name = text, .meets = true},
#define STATE_MODEL(id, symbol, text)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
	};

	return &models[model];
}

void emu_narrow_barriers(struct nvw_machine *m, const char *file, uint32_t line, unsigned by)
{
}

void emu_insert_barriers(struct nvw_machine *m, const struct emu_inserted *inserted, unsigned count)
{
}

int emu_set_order(struct nvw_machine *m, const struct emu_order *order, struct emu_order_seen *seen)
{
	return 0;
}

int emu_check_races(struct nvw_machine *m, enum emu_race_model model)
{
	return 0;
}

const struct emu_race_report *emu_races(const struct nvw_machine *m)
{
	return NULL;
}

void emu_tell_syncs(
	struct nvw_machine *m, void (*told)(void *context, const struct emu_sync *sync), void *context)
{
}

uint64_t emu_inserted_met(const struct nvw_machine *m)
{
	return 0;
}

int emu_check_undo(struct nvw_machine *m)
{
	return 0;
}

const struct emu_undo_report *emu_undo(const struct nvw_machine *m)
{
	static const struct emu_undo_report nothing;

	return &nothing;
}

void emu_set_clock(struct nvw_machine *m, const struct emu_clock *clock)
{
}

const struct emu_stats *emu_statistics(struct nvw_machine *m)
{
	static const struct emu_stats none;

	return &none;
}

void emu_set_power_cut(struct nvw_machine *m, const struct emu_power_cut *cut)
{
	m->cut = *cut;
}

void emu_set_host_fault(
	struct nvw_machine *m, void (*told)(void *context, const char *message), void *context)
{
}

int nvw_persist(struct nvw_machine *m)
{
	while (m->flights > 0) {
		fake_complete(m);
	}
	return 0;
}

void nvw_begin_measurement(struct nvw_machine *m)
{
}

uint64_t nvw_time_ps(const struct nvw_machine *m)
{
	return m->time_ps;
}

int nvw_acknowledge(struct nvw_machine *m, uint64_t first, uint64_t count)
{
	append(m, (struct nvw_log_record){.kind = NVW_LOG_ACK, .ack = {.first = first, .count = count}});
	if (m->cut.acknowledged != NULL) {
		m->cut.acknowledged(m->cut.context, first, count);
	}
	return 0;
}

void fake_store(struct nvw_machine *m, unsigned line, uint64_t item, nvw_off off, uint64_t value)
{
	uint64_t words[8] = {0};

	step(m);
	append(m, (struct nvw_log_record){.kind = NVW_LOG_STORE,
			  .store = {.site = line,
				  .kernel = 1,
				  .work_item = item,
				  .bytes = 8,
				  .off = off,
				  .value = value}});
	words[off % 64 / 8] = value;
	append(m, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
			  .issue = {.write = ++m->write,
				  .off = off & ~(nvw_off)63,
				  .mask = (uint64_t)0xff << off % 64,
				  .data = (const uint8_t *)words}});
	m->flight[m->flights].write = m->write;
	m->flight[m->flights].off = off;
	m->flight[m->flights++].value = value;
}

void fake_complete(struct nvw_machine *m)
{
	step(m);
	memcpy(m->pool->mapped + m->flight[0].off, &m->flight[0].value, 8);
	append(m, (struct nvw_log_record){.kind = NVW_LOG_DONE, .done = {.write = m->flight[0].write}});
	memmove(m->flight, m->flight + 1, --m->flights * sizeof m->flight[0]);
}

/* ---- No check in parts: its pools are none ------------------------------------------------------------ */

int ct_parts_of(const struct ct_exploration *e, struct ct_medium *medium, struct ct_parts **ret_parts)
{
	*ret_parts = NULL;
	return 0;
}

void ct_parts_free(struct ct_parts *parts)
{
}

const struct ct_parts_count *ct_parts_count(const struct ct_parts *parts)
{
	return NULL;
}

int ct_parts_try(struct ct_parts *parts, void (*began)(void *context, uint64_t part), void *context)
{
	return 0;
}

uint64_t ct_parts_crowd(const struct ct_parts *parts)
{
	return 0;
}

uint64_t ct_parts_troubles(const struct ct_parts *parts, const struct ct_part_trouble **ret_troubles)
{
	return 0;
}

bool ct_parts_remake(struct ct_parts *parts, uint64_t part, uint32_t evaluation,
	struct nvw_findings *findings, unsigned *levels)
{
	return false;
}

uint64_t ct_parts_shape(const struct nvw_findings *findings, unsigned i)
{
	return i + 1;
}

void ct_parts_name(const struct ct_parts *parts, uint64_t part, char ret_name[CT_PART_NAME])
{
}

int emu_config_dump(const struct emu_config *config, FILE *to)
{
	return 0;
}

void emu_config_default(struct emu_config *config)
{
	*config = (struct emu_config){.name = "fake"};
}

int emu_config_load(struct emu_config *config, const char *name_or_path)
{
	return nvw_fail(NVW_E_CONFIG, "%s: a fake machine has no file", name_or_path);
}
