/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool on each of two NVRAM devices: each has its latencies, its domain and its statistics, and a barrier
 * waits for both. A further DRAM device beside them.
 */
#include "common/rig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvw/kernel.h>

#include "memory/device_memory.h"
#include "machine.h"

enum { FAR = EMU_DEVICES_NAMED, BIG, HEAP_BYTES = 1 << 20 };

/* nvram: 50 ns to read, 100 ns to write, domain adr. far: 700 ns, 5 us, domain device. big: 80 ns. */
static const char machine_text[] =
	"[persist]\ncheck = on\n"
	"[nvram]\nread = 50ns\nwrite = 100ns\ndomain = adr\n"
	"[device far]\nkind = nvram\nread = 700ns\nwrite = 5us\ndomain = device\nwrite_energy = 5nJ\n"
	"[device big]\nkind = dram\nread = 80ns\nwrite = 80ns\nsize = 1MiB\n";

struct two {
	struct rig rig;             /* config, pool (the first), machine */
	uint64_t *near, *far, *big; /* a line of each device */
};

static void remove_pools(const char *path)
{
	char second[80];

	snprintf(second, sizeof second, "%s.1", path);
	unlink(path);
	unlink(second);
}

static void machine_config(struct emu_config *c, const char *const *settings)
{
	rig_ok(rig_load_text(c, machine_text));
	c->seed = 1;
	rig_set(c, settings);
}

/* The machine, with so many pools. */
static void make(
	struct two *t, const char *const *settings, const struct nvw_pool_params *params, unsigned count)
{
	*t = (struct two){0};
	machine_config(&t->rig.config, settings);
	strcpy(t->rig.pool_path, test_pool());
	remove_pools(t->rig.pool_path);
	rig_ok(nvw_pool_create_several(t->rig.pool_path, params, count, &t->rig.pool));
	rig_ok(emu_create(&t->rig.config, t->rig.pool, NULL, &t->rig.machine));
}

static void begin(struct two *t, const char *const *settings)
{
	const struct nvw_pool_params params[] = {{.heap_bytes = HEAP_BYTES, .layout = "test"},
		{.heap_bytes = HEAP_BYTES, .layout = "test", .device = "far"}};
	struct nvw_pmem near, far;

	make(t, settings, params, 2);

	rig_ok(nvw_pmem_attach(t->rig.machine, &near));
	rig_ok(nvw_pmem_attach_to(t->rig.machine, 1, &far));
	t->near = nvw_at(&near, uint64_t, near.geometry.chunks);
	t->far = nvw_at(&far, uint64_t, far.geometry.chunks);
	t->big = nvw_alloc_on(t->rig.machine, "big", 64);
	assert_non_null(t->big);
}

static void end(struct two *t)
{
	emu_destroy(t->rig.machine);
	nvw_pool_close(t->rig.pool);
	remove_pools(t->rig.pool_path);
}
#define TWO(name) struct two name __attribute__((cleanup(end)))
/* The same, which has begun, with settings or without. */
#define TWO_BEGUN(name, ...) \
	TWO(name);           \
	begin(&name, SETTINGS(__VA_ARGS__))

/* When a read of the line is done that comes at time 0. */
static emu_time read_at(const struct two *t, const void *at)
{
	uint8_t data[EMU_LINE];

	return emu_memory_read(t->rig.machine, rig_line(&t->rig, at), data, 0);
}

static struct emu_device_stats stats_of(const struct two *t, unsigned device)
{
	struct emu_device_stats stats;

	assert_non_null(emu_device_statistics(t->rig.machine, device, &stats));
	return stats;
}

/* The durable word, read in its own pool. */
static uint64_t durable(const struct two *t, const uint64_t *address)
{
	const nvw_off off = (nvw_off)((const char *)address - nvw_nvram_base(t->rig.machine));
	const struct nvw_pool *pool = t->rig.pool;

	if (off >= nvw_pool_begin(nvw_pool_number(pool, 1))) {
		pool = nvw_pool_number(pool, 1);
	}
	return nvw_pool_word(pool, off - nvw_pool_begin(pool));
}

/* ---- Place, latency, statistics ------------------------------------------------------------ */

TEST(each_pool_is_on_its_device_and_the_range_of_the_run_is_one)
{
	TWO_BEGUN(t);

	const struct nvw_machine *const m = t.rig.machine;
	const struct nvw_pool *const second = nvw_pool_number(t.rig.pool, 1);

	assert_ptr_equal(emu_device_at(m, (char *)t.near), &m->device[EMU_NVRAM]);
	assert_ptr_equal(emu_device_at(m, (char *)t.far), &m->device[FAR]);
	assert_ptr_equal(emu_device_at(m, (char *)t.big), &m->device[BIG]);
	assert_int_equal(nvw_pool_begin(second), nvw_pool_geometry(t.rig.pool)->bytes);
	assert_string_equal(nvw_pool_device(second), "far");
	assert_int_equal(emu_line_off(m, rig_line(&t.rig, t.far)),
		nvw_pool_begin(second) + nvw_pool_geometry(second)->chunks);
	assert_true(emu_is_persistent(m, rig_line(&t.rig, t.near)));
	assert_true(emu_is_persistent(m, rig_line(&t.rig, t.far)));
	assert_false(emu_is_persistent(m, rig_line(&t.rig, t.big)));
}

TEST(each_device_reads_in_its_own_time_and_counts_its_own_lines)
{
	TWO_BEGUN(t);
	assert_int_equal(read_at(&t, t.near), 50000);
	assert_int_equal(read_at(&t, t.far), 700000);
	assert_int_equal(read_at(&t, t.big), 80000);
	assert_int_equal(stats_of(&t, EMU_NVRAM).reads, 1);
	assert_int_equal(stats_of(&t, FAR).reads, 1);
	assert_int_equal(stats_of(&t, BIG).reads, 1);
	assert_int_equal(stats_of(&t, EMU_DRAM).reads, 0);
	assert_counted(&t.rig, nvram_reads, 2);
	assert_counted(&t.rig, dram_reads, 1);
}

TEST(hops_take_network_time_each_way)
{
	TWO_BEGUN(t, "far.hops=3", "far.shared=off", "network.hop=10ns", "nvram.hops=2");
	uint8_t data[EMU_LINE] = {7};
	const emu_line_id near = rig_line(&t.rig, t.near), far = rig_line(&t.rig, t.far);

	assert_int_equal(read_at(&t, t.far), 700000 + 2 * 30000);
	assert_int_equal(stats_of(&t, FAR).flit_hops, 3 * 4); /* a flit there, and three back with the line */
	/* The L2 learns of the acceptance when the answer is there; the write is durable before that. */
	assert_int_equal(emu_nvram_write(t.rig.machine, near, data, 0xff, 0, 0, 0), 40000);
	emu_nvram_complete(t.rig.machine, 19999);
	assert_int_equal(durable(&t, t.near), 0);
	emu_nvram_complete(t.rig.machine, 20000);
	assert_int_equal(durable(&t, t.near), 7);
	assert_int_equal(emu_nvram_write(t.rig.machine, far, data, 0xff, 0, 0, 0), 60000);
	assert_int_equal(emu_nvram_settled_at(t.rig.machine), 5000000 + 2 * 30000);
}

struct stores {
	uint64_t *first, *second;
};

KERNEL(store_both, const struct stores, s)
{
	nvw_store(s->first, 1);
	nvw_store(s->second, 2);
	nvw_p_barrier(NVW_WORKITEM);
}

TEST(a_write_is_charged_to_the_device_that_it_goes_to)
{
	TWO_BEGUN(t);

	nvw_begin_measurement(t.rig.machine);
	struct stores s = {t.near, t.far};

	rig_launch(&t.rig, store_both, &s, 1, 1);
	assert_int_equal(stats_of(&t, EMU_NVRAM).writes, 1);
	assert_int_equal(stats_of(&t, EMU_NVRAM).words, 1);
	assert_int_equal(stats_of(&t, FAR).writes, 1);
	assert_int_equal(stats_of(&t, FAR).words, 1);
	/* A word of nvram is 1076 pJ, of far 5 nJ; reads of both lines are 1265 pJ each. */
	assert_int_equal(stats_of(&t, FAR).energy - stats_of(&t, EMU_NVRAM).energy, 5000 - 1076);
	assert_counted(&t.rig, energy_nvram, stats_of(&t, FAR).energy + stats_of(&t, EMU_NVRAM).energy);
}

/* ---- Durability ---------------------------------------------------------------------------- */

TEST(a_barrier_waits_for_what_is_stored_on_each_device)
{
	NVW_FOR(i, 3) {
		TWO_BEGUN(t);
		uint64_t before, took;
		struct stores s = {i != 1 ? t.near : t.far, i != 0 ? t.far : t.near};

		nvw_begin_measurement(t.rig.machine);
		before = nvw_time_ps(t.rig.machine);
		rig_launch(&t.rig, store_both, &s, 1, 1);
		took = nvw_time_ps(t.rig.machine) - before;
		if (i == 0) {
			assert_true(took < 5000000); /* nothing on the far device */
			assert_int_equal(stats_of(&t, FAR).barrier_wait_ps, 0);
		} else {
			assert_true(took >= 5000000);
			assert_int_equal(durable(&t, t.far) != 0, 1);
			assert_true(stats_of(&t, FAR).barrier_wait_ps > 4000000);
			assert_true(stats_of(&t, EMU_NVRAM).barrier_wait_ps < 1000000);
		}
	}
}

enum { ROUNDS = 3 };

/* Each round stores to a line of each device, a barrier after each store. */
KERNEL(there_and_back, const struct stores, s)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		nvw_store(s->first, round);
		nvw_p_barrier(NVW_WORKITEM);
		nvw_store(s->second, round);
		nvw_p_barrier(NVW_WORKITEM);
	}
}

static void cut_power(void *context)
{
	longjmp(*(jmp_buf *)context, 1);
}

/* Neither pool is ahead of the other by more than the stores between two barriers. */
static void cut_at(emu_time time_ps, bool far_first, const char *model)
{
	static struct two t;
	static jmp_buf out;
	struct emu_power_cut power = {.time_ps = time_ps, .seed = time_ps, .die = cut_power, .context = &out};
	uint64_t first, second;

	begin(&t, SETTINGS(model));
	static struct stores s;

	s = far_first ? (struct stores){t.far, t.near} : (struct stores){t.near, t.far};
	emu_set_power_cut(t.rig.machine, &power);
	if (setjmp(out) == 0) {
		rig_launch(&t.rig, there_and_back, &s, 1, 1);
	}
	first = durable(&t, s.first);
	second = durable(&t, s.second);
	if (first < second || first > second + 1) {
		fail_msg("%s, cut at %llu ps: %llu, then %llu", model, (unsigned long long)time_ps,
			(unsigned long long)first, (unsigned long long)second);
	}
	end(&t);
}

TEST(no_power_cut_shows_one_pool_ahead_of_the_other_across_a_barrier)
{
	static const char *const models[] = {
		"persist.model=strict", "persist.model=epoch", "persist.model=buffered-epoch"};

	for_each(model, models) {
		for (emu_time t = 100000; t < 18000000; t += 600000) {
			cut_at(t, false, *model);
			cut_at(t, true, *model);
		}
	}
}

TEST(a_dram_only_machine_has_dram_behind_both_pools)
{
	TWO_BEGUN(t);
	nvw_machine_set_volatile(t.rig.machine);
	assert_int_equal(read_at(&t, t.near), 25000);
	assert_int_equal(read_at(&t, t.far), 25000);
	assert_int_equal(read_at(&t, t.big), 80000);
	assert_counted(&t.rig, dram_reads, 3);
	assert_counted(&t.rig, energy_dram, 3 * 16000);
	assert_counted(&t.rig, nvram_reads, 0);
}

/* ---- The host ------------------------------------------------------------------------------ */

TEST(a_copy_does_not_go_on_from_pool_to_pool)
{
	TWO_BEGUN(t);
	uint64_t out[16] = {1}, in[16];
	struct nvw_machine *const m = t.rig.machine;
	char *const begin_of_far = m->device[FAR].base;

	assert_int_equal(nvw_write(m, begin_of_far - 64, out, sizeof out), NVW_E_USAGE);
	rig_ok(nvw_write(m, t.far, out, sizeof out));
	rig_ok(nvw_read(m, in, t.far, sizeof in));
	assert_memory_equal(in, out, sizeof out);
	assert_int_equal(durable(&t, t.far), 1);
}

TEST(allocations_name_the_dram_device_that_they_are_on)
{
	TWO_BEGUN(t);

	struct nvw_machine *const m = t.rig.machine;
	uint64_t value = 9;

	rig_ok(nvw_write(m, t.big, &value, sizeof value));
	value = 0;
	rig_ok(nvw_read(m, &value, t.big, sizeof value));
	assert_int_equal(value, 9);
	assert_null(nvw_alloc_on(m, "big", 2 << 20));
	assert_error_has("1048576 (big.size)");
	assert_null(nvw_alloc_on(m, "bigg", 64));
	assert_error_has("has no device bigg; did you mean big?");
	assert_null(nvw_alloc_on(m, "far", 64));
	assert_error_has("the device far is NVRAM");
}

static void refused(const char *first, const char *second, const char *message)
{
	struct nvw_pool_params params[] = {{.layout = "test"}, {.layout = "test"}};
	struct nvw_machine *m;
	struct nvw_pool *pool;
	struct emu_config c;
	const char *const path = test_pool();

	machine_config(&c, NULL);
	remove_pools(path);
	snprintf(params[0].device, sizeof params[0].device, "%s", first);
	snprintf(params[1].device, sizeof params[1].device, "%s", second);
	rig_ok(nvw_pool_create_several(path, params, 2, &pool));
	assert_true(emu_create(&c, pool, NULL, &m) < 0);
	assert_error_has(message);
	nvw_pool_close(pool);
	remove_pools(path);
}

TEST(a_pool_without_a_device_of_its_own_is_refused)
{
	refused("", "farr", "has no device farr; did you mean far?");
	refused("", "nvram", "the device nvram has a pool already");
	refused("far", "far", "the device far has a pool already");
	refused("", "big", "the device big is DRAM: expected an NVRAM device");
}

TEST(the_first_pool_may_be_on_another_device_too)
{
	const struct nvw_pool_params params = {.layout = "test", .device = "far"};
	TWO(t);

	make(&t, NULL, &params, 1);
	assert_int_equal(read_at(&t, nvw_nvram_base(t.rig.machine)), 700000);
	assert_null(nvw_pool_number(nvw_machine_pool(t.rig.machine), 1));
}

/*
 * Eight windows of line numbers, all of them in use. The first line of a device is never allocated, so the
 * last one would be.
 */
TEST(no_device_has_the_line_whose_number_means_none)
{
	static const char *const sizes[] = {"64GiB", "68719476672B" /* a line less */};

	NVW_FOR(i, 2) {
		struct nvw_machine *m = NULL;
		char setting[48];
		struct emu_config c;
		int r;

		snprintf(setting, sizeof setting, "big.size=%s", sizes[i]);
		machine_config(&c, SETTINGS("dram.size=64GiB", setting));
		r = emu_create(&c, NULL, NULL, &m);
		assert_int_equal(r, i == 0 ? NVW_E_CONFIG : 0);
		if (r == 0) {
			emu_destroy(m);
		} else {
			assert_error_has("larger than its line numbers reach");
		}
	}
}
