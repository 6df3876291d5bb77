/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several NVRAM devices in one machine: each has its latency, its queue and its persistence domain; the pool
 * is one.
 */
#include "common/rig.h"

#include <nvw/kernel.h>

#include "memory/device_memory.h"
#include "machine.h"
#include "protocol/protocol.h"

/* The pool's metadata on a fast device inside the domain, the heap on a slow one outside of it. */
#define FAST_THEN_SLOW                                                                   \
	"nvram.read=50ns", "nvram.write=100ns", "nvram.domain=adr", "nvram2.holds=heap", \
		"nvram2.read=700ns", "nvram2.write=5us", "nvram2.domain=device"
/* The other way round. */
#define SLOW_THEN_FAST                                                                     \
	"nvram.read=700ns", "nvram.write=5us", "nvram.domain=device", "nvram2.holds=heap", \
		"nvram2.read=50ns", "nvram2.write=100ns", "nvram2.domain=adr"

/* A line of each NVRAM device: the pool's root words, and the heap. */
struct lines {
	uint64_t *first, *second;
	emu_line_id id[2];
};

static struct lines lines_of(const struct rig *rig)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(rig->pool);

	void *const first = (char *)rig->nvram - g->chunks + g->roots;

	return (struct lines){first, rig->nvram, {rig_line(rig, first), rig_line(rig, rig->nvram)}};
}

/* ---- Latency, queue, domain ---------------------------------------------------------------- */

TEST(each_device_has_its_own_latency_and_counts_its_own_traffic)
{
	uint8_t data[EMU_LINE];
	const struct emu_stats *s;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW);
	const struct lines at = lines_of(&rig);

	assert_int_equal(emu_memory_read(rig.machine, at.id[0], data, 0), 50000);
	assert_int_equal(emu_memory_read(rig.machine, at.id[1], data, 0), 700000);
	assert_int_equal(
		emu_memory_read(rig.machine, at.id[1] + 1, data, 0), 705000); /* the channel was taken */
	s = emu_statistics(rig.machine);
	assert_int_equal(s->nvram_reads, 3);
	assert_int_equal(s->nvram2_reads, 2);
	assert_int_equal(s->nvram_read_wait_ps, 5000);
	assert_int_equal(s->nvram2_read_wait_ps, 5000);
}

TEST(a_write_waits_in_the_queue_of_its_own_device)
{
	emu_time done;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW, "nvram.queue=4", "nvram2.queue=0");
	const struct lines at = lines_of(&rig);

	struct emu_device *const first = &rig.machine->device[EMU_NVRAM];
	struct emu_device *const second = &rig.machine->device[EMU_NVRAM2];

	NVW_FOR(i, 5) {
		assert_int_equal(emu_channel_write(rig.machine, first, at.id[0], 0, &done), 0);
		assert_int_equal(done, 100000 + 5000 * i);
	}
	NVW_FOR(i, 5) {
		assert_int_equal(emu_channel_write(rig.machine, second, at.id[1], 0, &done), 5000 * i);
		assert_int_equal(done, 5000000 + 5000 * i);
	}
}

/* A line either way takes the time of a line, and writes of a line stay in their order. */
TEST(reads_and_writes_of_a_shared_channel_take_turns)
{
	uint8_t data[EMU_LINE];
	emu_time done;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW, "nvram.shared=on");
	const struct lines at = lines_of(&rig);

	struct emu_device *const first = &rig.machine->device[EMU_NVRAM];
	struct emu_device *const second = &rig.machine->device[EMU_NVRAM2];

	NVW_FOR(i, 4) {
		emu_channel_write(rig.machine, first, at.id[0], 0, &done);
		assert_int_equal(done, 100000 + 10000 * i);
		assert_int_equal(emu_memory_read(rig.machine, at.id[0], data, 0), 50000 + 10000 * i + 5000);
		emu_channel_write(rig.machine, second, at.id[1], 0, &done);
		assert_int_equal(done, 5000000 + 5000 * i); /* the key is of the device */
	}
	emu_channel_write(rig.machine, first, at.id[0], 60000, &done); /* the channel is idle between */
	assert_int_equal(done, 160000);
	assert_int_equal(
		emu_memory_read(rig.machine, at.id[0], data, 45000), 95000); /* a time that is left */
	emu_channel_write(rig.machine, first, at.id[0], 50000, &done);
	assert_int_equal(done, 165000); /* behind the write that came before it, though there is room */
}

TEST(the_queue_of_a_shared_channel_takes_a_write_when_one_has_left_it)
{
	uint8_t data[EMU_LINE];
	emu_time done;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW, "nvram.shared=on", "nvram.queue=4");
	const struct lines at = lines_of(&rig);

	NVW_FOR(i, 12) {
		assert_int_equal(
			emu_channel_write(rig.machine, &rig.machine->device[EMU_NVRAM], at.id[0], 0, &done),
			i > 4 ? 10000 * (i - 4) : 0);
		assert_int_equal(done, 100000 + 10000 * i);
		(void)emu_memory_read(rig.machine, at.id[0], data, 0);
	}
}

/*
 * docs/timeline.md, as measured against another simulator: a channel is two that share nothing, one for each
 * direction.
 */
TEST(reads_of_a_channel_do_not_wait_for_its_writes)
{
	uint8_t data[EMU_LINE];
	emu_time done;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW, "nvram.shared=off");
	const struct lines at = lines_of(&rig);

	NVW_FOR(i, 4) {
		emu_channel_write(rig.machine, &rig.machine->device[EMU_NVRAM], at.id[0], 0, &done);
		assert_int_equal(done, 100000 + 5000 * i);
		assert_int_equal(emu_memory_read(rig.machine, at.id[0], data, 0), 50000 + 5000 * i);
	}
}

/* As the controller accepts it (adr), or as the device has completed it. */
TEST(a_write_is_durable_when_the_domain_of_its_device_says_so)
{
	static const uint8_t data[EMU_LINE] = {7};

	NVW_FOR(i, 2) {
		RIG(rig);

		rig_begin(&rig, 1, i ? SETTINGS(SLOW_THEN_FAST) : SETTINGS(FAST_THEN_SLOW));
		const struct lines at = lines_of(&rig);

		emu_nvram_write(rig.machine, at.id[0], data, 0xff, 0, 0, 0);
		emu_nvram_write(rig.machine, at.id[1], data, 0xff, 0, 0, 0);
		emu_nvram_complete(rig.machine, 0);
		assert_durable(&rig, at.first, i ? 0 : 7);
		assert_durable(&rig, at.second, i ? 7 : 0);
		emu_nvram_complete(rig.machine, 4999999);
		assert_int_equal(rig.machine->nvram.in_flight, 1);
		emu_nvram_complete(rig.machine, 5000000);
		assert_durable(&rig, at.first, 7);
		assert_durable(&rig, at.second, 7);
		assert_counted(&rig, nvram2_words, 1);
	}
}

/* ---- Barriers and power cuts across devices ------------------------------------------------ */

enum { ROUNDS = 3 };

/* Each round stores to a line of each device, a barrier after each store. */
KERNEL(there_and_back, const struct lines, at)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		nvw_store(at->first, round);
		nvw_p_barrier(NVW_WORKITEM);
		nvw_store(at->second, round);
		nvw_p_barrier(NVW_WORKITEM);
	}
}

/*
 * The words of the two devices as a power cut leaves them: neither is ahead by more than the stores between
 * two barriers.
 */
static void cut_at(emu_time time_ps, const char *const *settings)
{
	static struct rig rig;
	const struct emu_power_cut power = {.time_ps = time_ps, .seed = time_ps};
	struct lines at;
	uint64_t first, second;

	rig_begin(&rig, 1, settings);
	at = lines_of(&rig);
	emu_set_power_cut(rig.machine, &power);
	const int end = nvw_launch(rig.machine, "there_and_back", there_and_back, &at, 1, 1);

	assert_true(end == 0 || end == NVW_E_STOPPED);
	first = rig_durable(&rig, lines_of(&rig).first);
	second = rig_durable(&rig, lines_of(&rig).second);
	if (first < second || first > second + 1) {
		fail_msg("cut at %llu ps: %llu on nvram, %llu on nvram2", (unsigned long long)time_ps,
			(unsigned long long)first, (unsigned long long)second);
	}
	rig_end(&rig);
}

TEST(no_power_cut_shows_one_device_ahead_of_the_other_across_a_barrier)
{
	static const char *const models[] = {
		"persist.model=strict", "persist.model=epoch", "persist.model=buffered-epoch"};

	for_each(model, models) {
		for (emu_time t = 100000; t < 18000000; t += 400000) {
			cut_at(t, SETTINGS(FAST_THEN_SLOW, *model));
			cut_at(t, SETTINGS(SLOW_THEN_FAST, *model));
		}
	}
}

static void store_once(const void *args)
{
	uint64_t *const word = *(uint64_t *const *)args;

	nvw_store(word, 1);
	nvw_p_barrier(NVW_WORKITEM);
}

TEST(a_barrier_takes_as_long_as_the_device_that_it_waits_for)
{
	uint64_t before, fast;
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW);
	const struct lines at = lines_of(&rig);

	before = nvw_time_ps(rig.machine);
	rig_launch(&rig, store_once, &at.first, 1, 1);
	fast = nvw_time_ps(rig.machine) - before;
	before = nvw_time_ps(rig.machine);
	rig_launch(&rig, store_once, &at.second, 1, 1);
	assert_true(fast < 5000000);
	assert_true(nvw_time_ps(rig.machine) - before >= 5000000);
}

/* ---- One pool ------------------------------------------------------------------------------ */

TEST(the_host_s_copies_go_on_from_device_to_device_and_end_with_the_pool)
{
	uint64_t out[16], in[16];
	RIG_BEGUN(rig, 1, "nvram2.holds=half");

	struct nvw_machine *const m = rig.machine;
	char *const second = m->device[EMU_NVRAM2].base, *const end = second + m->device[EMU_NVRAM2].bytes;

	assert_int_equal((second - nvw_nvram_base(m)) % 4096, 0);
	assert_int_equal(end - nvw_nvram_base(m), nvw_pool_geometry(rig.pool)->bytes);
	assert_int_equal(emu_line_off(m, rig_line(&rig, second + 128)), second + 128 - nvw_nvram_base(m));
	NVW_FOR(i, 16) {
		out[i] = 100 + i;
	}
	rig_ok(nvw_write(m, second - 64, out, sizeof out));
	rig_ok(nvw_read(m, in, second - 64, sizeof in));
	assert_memory_equal(in, out, sizeof out);
	assert_durable(&rig, second - 8, 107);
	assert_durable(&rig, second, 108);
	assert_int_equal(nvw_read(m, in, end - 64, 72), NVW_E_USAGE);
}

static void store_across(const void *args)
{
	nvw_store((uint64_t *)(void *)(*(char *const *)args - 4), 1);
}

TEST(a_store_across_two_devices_crosses_a_line)
{
	RIG_BEGUN(rig, 1, "nvram2.holds=heap");

	assert_int_equal(
		nvw_launch(rig.machine, "store_across", store_across, &rig.nvram, 1, 1), NVW_E_KERNEL);
	assert_error_has("crosses a 64-byte line");
}

TEST(caches_are_inside_the_domain_for_both_devices_or_for_neither)
{
	struct emu_config c;

	emu_config_default(&c);
	rig_ok(emu_config_set(&c, "nvram.domain=eadr"));
	rig_ok(emu_config_check(&c)); /* there is no second device */
	rig_ok(emu_config_set(&c, "nvram2.holds=half"));
	assert_int_equal(emu_config_check(&c), NVW_E_CONFIG);
	assert_error_has("nvram2.domain: device, but nvram.domain is eadr");
	rig_ok(emu_config_set(&c, "nvram2.domain=eadr"));
	rig_ok(emu_config_check(&c));
	assert_string_equal(emu_domain_name(&c), "eadr");
	rig_ok(emu_config_set(&c, "nvram.domain=adr"));
	rig_ok(emu_config_set(&c, "nvram2.domain=device"));
	assert_string_equal(emu_domain_name(&c), "adr, nvram2 device");
}

TEST(a_dram_only_machine_has_dram_behind_both)
{
	uint8_t data[EMU_LINE];
	RIG_BEGUN(rig, 1, FAST_THEN_SLOW);
	const struct lines at = lines_of(&rig);

	nvw_machine_set_volatile(rig.machine);
	assert_int_equal(emu_memory_read(rig.machine, at.id[0], data, 0), 25000);
	assert_int_equal(emu_memory_read(rig.machine, at.id[1], data, 0), 25000);
	assert_counted(&rig, dram_reads, 2);
	assert_counted(&rig, nvram_reads, 0);
	assert_counted(&rig, nvram2_reads, 0);
}

/* ---- Traffic and time ------------------------------------------------------------------------ */

struct arrays {
	uint64_t *counters, *from, *to;
};

KERNEL(load_store_and_count, const struct arrays, a)
{
	enum { WORDS = EMU_LINE / 8 };

	NVW_FOR(i, 4) {
		const uint64_t line = WORDS * (4 * nvw_global_id() + i);

		nvw_store(&a->to[line], nvw_load(&a->from[line]));
		nvw_atomic_add(&a->counters[line], 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	}
}

/*
 * What is left of a line's time on the channel of a device, after the lines that may still wait in its queue.
 */
static emu_time least_time(const struct nvw_machine *m, unsigned device, uint64_t lines)
{
	const struct emu_channels *const c = &m->device[device].channels;
	const uint64_t waiting = m->config.device[device].queue + 1;

	return lines > waiting ? (lines - waiting) * c->line_ps : 0;
}

static void expect_time_for_traffic(const char *protocol, unsigned device, const char *shared)
{
	enum { ITEMS = 128, BYTES = 4 * ITEMS * EMU_LINE };
	RIG(rig);
	struct arrays a;

	rig_begin_under_with(&rig, protocol, 1,
		SETTINGS("dram.bandwidth=100MB/s", "nvram.bandwidth=100MB/s", "dram.queue=2", "nvram.queue=2",
			shared));
	a.counters = device == EMU_NVRAM ? rig.nvram : nvw_alloc(rig.machine, BYTES);
	a.from = device == EMU_NVRAM ? a.counters + BYTES / 8 : nvw_alloc(rig.machine, BYTES);
	a.to = device == EMU_NVRAM ? a.from + BYTES / 8 : nvw_alloc(rig.machine, BYTES);
	rig_launch(&rig, load_store_and_count, &a, ITEMS, 16);
	const struct emu_traffic *const t = &rig.machine->device[device].traffic;
	const bool is_shared = rig.config.device[device].shared;
	const uint64_t lines = is_shared ? t->reads + t->writes : t->reads > t->writes ? t->reads : t->writes;

	assert_true(t->reads > 0);
	if (rig.machine->now < least_time(rig.machine, device, lines)) {
		fail_msg("%s, %s, %s: %llu lines in %llu ps", protocol, rig.machine->device[device].name,
			shared, (unsigned long long)lines, (unsigned long long)rig.machine->now);
	}
}

TEST(no_protocol_is_faster_than_its_channels_carry_its_lines)
{
	for_each_protocol(p) {
		expect_time_for_traffic(p->name, EMU_DRAM, "dram.shared=off");
		expect_time_for_traffic(p->name, EMU_DRAM, "dram.shared=on");
		expect_time_for_traffic(p->name, EMU_NVRAM, "nvram.shared=off");
		expect_time_for_traffic(p->name, EMU_NVRAM, "nvram.shared=on");
	}
}
