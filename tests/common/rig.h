/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine with a new pool, for tests that run kernels; and options from text. */
#ifndef TESTS_COMMON_RIG_H
#define TESTS_COMMON_RIG_H

#include "common/test.h"

#include <emu.h>
#include <nvw/host.h>
#include <nvw/persist_log.h>

#include "memory/line.h"

/* A list of settings, where it is needed; it may be empty. */
#define SETTINGS(...) (&(const char *const[]){NULL, ##__VA_ARGS__, NULL}[1])

struct rig {
	struct emu_config config;
	char pool_path[64], log_path[64];
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct nvw_log_reader *reader; /* while the log is read */
	struct nvw_machine *machine;
	void *nvram; /* device address of the first chunk */
	uint64_t nvram_bytes;
};

/* Applies settings ("section.key=value", NULL ends), of which some may be the protocol and the seed. */
void rig_set(struct emu_config *config, const char *const *settings);

/* Loads a machine file of this text, over the defaults. */
int rig_load_text(struct emu_config *config, const char *text);
/* A machine without a pool, of a machine file (NULL: none) and settings. */
int rig_alone(const char *file, const char *const *settings, struct nvw_machine **ret_machine);

/* The defaults of gope18, seed and settings ("section.key=value", NULL ends) applied; the durability checker
 * is on. */
void rig_begin(struct rig *rig, uint64_t seed, const char *const *settings);
/* The defaults under a protocol. */
void rig_begin_under(struct rig *rig, const char *protocol);
/* The same, with a seed and settings. */
void rig_begin_under_with(struct rig *rig, const char *protocol, uint64_t seed, const char *const *settings);
/* The same as rig_begin, writing a persist log to rig->log_path. */
void rig_begin_logged(struct rig *rig, uint64_t seed, const char *const *settings);
/* The same with settings that are written there. */
#define rig_begin_set(rig, seed, ...)           rig_begin(rig, seed, SETTINGS(__VA_ARGS__))
#define rig_begin_under_set(rig, protocol, ...) rig_begin_under_with(rig, protocol, 0, SETTINGS(__VA_ARGS__))
#define rig_begin_logged_set(rig, seed, ...)    rig_begin_logged(rig, seed, SETTINGS(__VA_ARGS__))
/* Ends the machine in order: closes the log, removes the pool (not the log).
 * Does nothing if the machine has not begun, or has ended. */
void rig_end(struct rig *rig);
/* Ends the machine, and reads its log record by record; false: it has ended well, and is gone. */
bool rig_next_record(struct rig *rig, struct nvw_log_record *ret_record);
/* A rig that ends with its block. */
#define RIG(name) struct rig name __attribute__((cleanup(rig_end))) = {0}
/* The same, which has begun, with settings or without. */
#define RIG_BEGUN(name, seed, ...) \
	RIG(name);                 \
	rig_begin(&name, seed, SETTINGS(__VA_ARGS__))
#define RIG_UNDER(name, protocol, ...) \
	RIG(name);                     \
	rig_begin_under_with(&name, protocol, 0, SETTINGS(__VA_ARGS__))
#define RIG_LOGGED(name, seed, ...) \
	RIG(name);                  \
	rig_begin_logged(&name, seed, SETTINGS(__VA_ARGS__))

/* Fails the test with the library's message if r is negative. */
#define rig_ok(r) rig_check((r), #r, __FILE__, __LINE__)
void rig_check(int r, const char *what, const char *file, int line);

#define for_each_protocol(p) \
	for (const struct coh_protocol *const *p##_at = coh_protocols, *p; (p = *p##_at) != NULL; p##_at++)

/* A launch that has to succeed. */
#define rig_launch(rig, kernel, args, groups, group_size) \
	rig_ok(nvw_launch((rig)->machine, #kernel, kernel, args, groups, group_size))
/* The same of a kernel by KERNEL_ON(). */
#define rig_launch_on(rig, kernel, on, groups, group_size) \
	rig_launch(rig, kernel, ((__typeof__(on) const[]){on}), groups, group_size)

/* The durable 8-byte word behind a device address of the pool. */
uint64_t rig_durable(const struct rig *rig, const void *device);
/* The visible one. */
uint64_t rig_visible(const struct rig *rig, const void *device);
#define assert_durable(rig, device, value) assert_int_equal(rig_durable(rig, device), value)
#define assert_visible(rig, device, value) assert_int_equal(rig_visible(rig, device), value)

/* The host stores it. */
void rig_write(const struct rig *rig, void *device, uint64_t value);
/* A statistic of the machine. */
#define assert_counted(rig, statistic, n) assert_int_equal(emu_statistics((rig)->machine)->statistic, n)
/* The line that a device address is in. */
emu_line_id rig_line(const struct rig *rig, const void *device);
/* What memory has behind the caches. */
uint64_t rig_in_memory(const struct nvw_machine *m, const uint64_t *device);

#endif
