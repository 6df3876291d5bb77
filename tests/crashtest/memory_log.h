/* SPDX-License-Identifier: BSD-3-Clause */
/* Persist logs that a test writes into memory, record by record. */
#ifndef TESTS_CRASHTEST_MEMORY_LOG_H
#define TESTS_CRASHTEST_MEMORY_LOG_H

#include "common/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include <nvw/persist_log.h>

/* Begins a log in units of 8 bytes; returns its file, which is the caller's. */
static inline int begin_log(const char *workload, uint64_t pool_bytes, struct nvw_log_writer **ret_writer)
{
	const struct nvw_log_info info = {.workload = workload, .pool_bytes = pool_bytes, .atomicity = 8};
	const int fd = memfd_create("log", MFD_CLOEXEC);

	assert_ok(nvw_log_create_fd(dup(fd), "test log", &info, ret_writer));
	return fd;
}

static inline struct nvw_log_record site_record(uint32_t id, uint32_t line, const char *file)
{
	return (struct nvw_log_record){
		.kind = NVW_LOG_SITE, .site = {.id = id, .line = line, .file = file, .function = "f"}};
}

static inline struct nvw_log_record launch_record(
	uint32_t kernel, uint32_t group_size, uint64_t work_items, const char *name)
{
	return (struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
		.launch = {
			.kernel = kernel, .group_size = group_size, .work_items = work_items, .name = name}};
}

#endif
