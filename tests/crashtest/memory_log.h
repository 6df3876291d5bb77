/* SPDX-License-Identifier: BSD-3-Clause */
/* Persist logs that a test writes into memory, record by record. */
#ifndef TESTS_CRASHTEST_MEMORY_LOG_H
#define TESTS_CRASHTEST_MEMORY_LOG_H

#include "common/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include <nvw/kernel.h>
#include <nvw/persist_log.h>

/* Where the line of this number begins. */
static inline nvw_off line_at(unsigned number)
{
	return 64 * (nvw_off)number;
}

struct memory_log {
	int fd;
	struct nvw_log_writer *w;
	uint64_t time_ps; /* of the last record */
	uint64_t write;   /* number of the last one that was issued */
};

static inline struct memory_log begin_log_as(const struct nvw_log_info *info)
{
	struct memory_log log = {.fd = memfd_create("log", MFD_CLOEXEC)};

	assert_true(log.fd >= 0);
	assert_ok(nvw_log_create_fd(dup(log.fd), "test log", info, &log.w));
	return log;
}

/* In units of 8 bytes. */
static inline struct memory_log begin_log(const char *workload, uint64_t pool_bytes)
{
	return begin_log_as(
		&(const struct nvw_log_info){.workload = workload, .pool_bytes = pool_bytes, .atomicity = 8});
}

/* Appends it, 1 ns after the record before it. */
static inline void log_append(struct memory_log *log, struct nvw_log_record record)
{
	record.time_ps = log->time_ps += 1000;
	assert_ok(nvw_log_append(log->w, &record));
}

/* Its file, which is the caller's. */
static inline int log_end(struct memory_log *log)
{
	assert_ok(nvw_log_close(log->w, log->time_ps));
	return log->fd;
}

/* ---- Records ---------------------------------------------------------------------------------------------
 */

/* Sites from number 1 on; each is so many lines behind the one before it. */
static inline void log_sites(struct memory_log *log, uint32_t count, uint32_t lines, const char *file)
{
	for (uint32_t id = 1; id <= count; id++) {
		log_append(
			log, (struct nvw_log_record){.kind = NVW_LOG_SITE,
				     .site = {.id = id, .line = lines * id, .file = file, .function = "f"}});
	}
}

static inline void log_launch(
	struct memory_log *log, uint32_t kernel, uint32_t group_size, uint64_t work_items)
{
	log_append(log, (struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
				.launch = {.kernel = kernel,
					.group_size = group_size,
					.work_items = work_items,
					.name = "k"}});
}

/* A word, by a work-item of kernel 1. */
static inline void log_store(
	struct memory_log *log, uint32_t site, uint64_t item, uint64_t group, nvw_off off, uint64_t value)
{
	log_append(log, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				.store = {.site = site,
					.kernel = 1,
					.work_item = item,
					.group = group,
					.epoch_wi = 1,
					.bytes = 8,
					.off = off,
					.value = value}});
}

/* A word leaves for the medium; the number of its write. */
static inline uint64_t log_issue(struct memory_log *log, nvw_off off, uint64_t value)
{
	uint64_t line[8] = {0};

	line[off % 64 / 8] = value;
	log_append(log, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
				.issue = {.write = ++log->write,
					.off = off & ~(nvw_off)63,
					.mask = (uint64_t)0xff << off % 64,
					.data = (const uint8_t *)line}});
	return log->write;
}

static inline void log_done(struct memory_log *log, uint64_t write)
{
	log_append(log, (struct nvw_log_record){.kind = NVW_LOG_DONE, .done = {.write = write}});
}

/* Host code flushes a line, and fences. */
static inline void log_flush(struct memory_log *log, uint64_t thread, nvw_off off)
{
	log_append(log, (struct nvw_log_record){.kind = NVW_LOG_FLUSH,
				.flush = {.site = 1, .thread = thread, .off = off, .bytes = 8}});
}

static inline void log_fence(struct memory_log *log, uint64_t thread)
{
	log_append(
		log, (struct nvw_log_record){.kind = NVW_LOG_FENCE, .fence = {.site = 1, .thread = thread}});
}

/* A barrier of this scope that the item meets, in groups of that size: its begin or its end. */
static inline void log_barrier(struct memory_log *log, enum nvw_log_kind kind, uint32_t kernel,
	enum nvw_group scope, unsigned item, unsigned group_size)
{
	const unsigned group = scope == NVW_KERNEL ? 0 : item / group_size;

	log_append(log, (struct nvw_log_record){.kind = kind,
				.barrier = {.site = 1,
					.kernel = kernel,
					.scope = scope,
					.work_item = scope == NVW_WORKITEM ? item : group * group_size,
					.group = group,
					.lanes = scope == NVW_WORKITEM}});
}

/* Does the item take part in such a barrier that another one meets? */
static inline bool log_is_member(enum nvw_group scope, unsigned by, unsigned item, unsigned group_size)
{
	return scope == NVW_KERNEL || item == by ||
	       (scope == NVW_WORKGROUP && item / group_size == by / group_size);
}

#endif
