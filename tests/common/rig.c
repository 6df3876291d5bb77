/* SPDX-License-Identifier: BSD-3-Clause */
#include "rig.h"

#include "memory/device_memory.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAP_BYTES = 4 << 20 };

void rig_check(int r, const char *what, const char *file, int line)
{
	if (r < 0) {
		fail_msg("%s:%d: %s: %s", file, line, what, nvw_error_message());
	}
}

static void temporary(char *path, size_t n, const char *what)
{
	static unsigned number;

	snprintf(path, n, "%s/nvwave-test-%ld-%u.%s", test_folder(), (long)getpid(), number++, what);
	unlink(path);
}

void rig_set(struct emu_config *config, const char *const *settings)
{
	for (; settings && *settings; settings++) {
		if (!strncmp(*settings, "protocol=", 9)) {
			snprintf(config->protocol, sizeof config->protocol, "%s", *settings + 9);
		} else if (!strncmp(*settings, "seed=", 5)) {
			config->seed = strtoull(*settings + 5, NULL, 10);
		} else {
			rig_ok(emu_config_set(config, *settings));
		}
	}
}

int rig_load_text(struct emu_config *config, const char *text)
{
	char path[64];
	FILE *f;

	/* Of the same name each time, which is the machine's. */
	snprintf(path, sizeof path, "%s/nvwave-test-%ld.ini", test_folder(), (long)getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	emu_config_default(config);
	const int r = emu_config_load(config, path);

	unlink(path);
	return r;
}

int rig_alone(const char *file, const char *const *settings, struct nvw_machine **ret_machine)
{
	struct emu_config config;

	emu_config_default(&config);
	if (file) {
		rig_ok(emu_config_load(&config, file));
	}
	rig_set(&config, settings);
	return emu_create(&config, NULL, NULL, ret_machine);
}

static void begin(
	struct rig *rig, const char *protocol, uint64_t seed, const char *const *settings, bool logged)
{
	const struct nvw_pool_params params = {
		.heap_bytes = HEAP_BYTES, .streams = 64, .log_entries = 16, .layout = "test"};
	const struct nvw_log_info info = {.workload = "test",
		.options = "",
		.machine = "gope18",
		.protocol = "vi",
		.model = "",
		.domain = "",
		.seed = seed,
		.atomicity = 8};

	*rig = (struct rig){0};
	emu_config_default(&rig->config);
	rig->config.seed = seed;
	rig_ok(emu_config_set(&rig->config, "persist.check=on"));
	/* Times in tests are those of the memory system alone. */
	rig_ok(emu_config_set(&rig->config, "gpu.instruction=0ns"));
	rig_ok(emu_config_set(&rig->config, "gpu.memory=0ns"));
	if (protocol) {
		snprintf(rig->config.protocol, sizeof rig->config.protocol, "%s", protocol);
	}
	rig_set(&rig->config, settings);
	temporary(rig->pool_path, sizeof rig->pool_path, "pool");
	rig_ok(nvw_pool_create(rig->pool_path, &params, &rig->pool));
	if (logged) {
		struct nvw_log_info filled = info;

		filled.pool_bytes = nvw_pool_geometry(rig->pool)->bytes;
		temporary(rig->log_path, sizeof rig->log_path, "nvl");
		rig_ok(nvw_log_create(rig->log_path, &filled, &rig->log));
	}
	rig_ok(emu_create(&rig->config, rig->pool, rig->log, &rig->machine));
	rig->nvram = (char *)(uintptr_t)nvw_nvram_base(rig->machine) + nvw_pool_geometry(rig->pool)->chunks;
	rig->nvram_bytes = HEAP_BYTES;
}

void rig_begin(struct rig *rig, uint64_t seed, const char *const *settings)
{
	begin(rig, NULL, seed, settings, false);
}

void rig_begin_under(struct rig *rig, const char *protocol)
{
	rig_begin_under_with(rig, protocol, 0, NULL);
}

void rig_begin_under_with(struct rig *rig, const char *protocol, uint64_t seed, const char *const *settings)
{
	begin(rig, protocol, seed, settings, false);
}

void rig_begin_logged(struct rig *rig, uint64_t seed, const char *const *settings)
{
	begin(rig, NULL, seed, settings, true);
}

void rig_end(struct rig *rig)
{
	if (rig->machine == NULL) {
		return;
	}
	if (rig->log) {
		rig_ok(nvw_log_close(rig->log, nvw_time_ps(rig->machine)));
	}
	emu_destroy(rig->machine);
	nvw_pool_close(rig->pool);
	unlink(rig->pool_path);
	rig->machine = NULL;
}

bool rig_next_record(struct rig *rig, struct nvw_log_record *ret_record)
{
	if (rig->reader == NULL) {
		rig_end(rig);
		rig_ok(nvw_log_open(rig->log_path, &rig->reader));
		unlink(rig->log_path);
	}

	const int r = nvw_log_next(rig->reader, ret_record);

	rig_ok(r);
	if (r == 0) {
		nvw_log_reader_close(rig->reader);
		rig->reader = NULL;
	}
	return r != 0;
}

uint64_t rig_durable(const struct rig *rig, const void *device)
{
	return nvw_pool_word(rig->pool, (nvw_off)((const char *)device - nvw_nvram_base(rig->machine)));
}

uint64_t rig_visible(const struct rig *rig, const void *device)
{
	uint64_t word = 0;

	rig_ok(nvw_read(rig->machine, &word, device, sizeof word));
	return word;
}

void rig_write(const struct rig *rig, void *device, uint64_t value)
{
	rig_ok(nvw_write(rig->machine, device, &value, sizeof value));
}

emu_line_id rig_line(const struct rig *rig, const void *device)
{
	emu_line_id id = EMU_NO_LINE;
	unsigned offset;

	assert_true(emu_locate(rig->machine, (uint64_t)(uintptr_t)device, 1, &id, &offset));
	return id;
}

uint64_t rig_in_memory(const struct nvw_machine *m, const uint64_t *device)
{
	uint8_t line[EMU_LINE];
	emu_line_id id = 0;
	unsigned offset = 0;
	uint64_t value;

	(void)emu_locate(m, (uint64_t)(uintptr_t)device, sizeof *device, &id, &offset);
	emu_memory_peek(m, id, line);
	memcpy(&value, line + offset, sizeof value);
	return value;
}
