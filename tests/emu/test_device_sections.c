/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections [device NAME] of machine files: values, defaults, and every mistake named with file and line; and
 * what no machine can have.
 */
#include "common/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config/config.h>

#define FAR "[device far]\nkind = nvram\nread = 300ns\nwrite = 2us\n"

TEST(a_device_has_the_values_of_its_section_and_defaults_for_the_rest)
{
	struct emu_config c;

	rig_ok(rig_load_text(&c,
		FAR "hops = 3\ndomain = adr\nread_energy = 2nJ\n[device big]\nkind = dram\nread = "
		    "8cycles\nwrite = "
		    "90ns\nsize = 2GiB\n"));
	assert_int_equal(c.device_count, EMU_DEVICES_NAMED + 2);

	const struct emu_device_config *const far = &c.device[EMU_DEVICES_NAMED], *const big = far + 1;

	assert_string_equal(far->name, "far");
	assert_int_equal(far->kind, EMU_KIND_nvram);
	assert_int_equal(far->read, 300000);
	assert_int_equal(far->write, 2000000);
	assert_int_equal(far->hops, 3);
	assert_int_equal(far->domain, EMU_DOMAIN_adr);
	assert_int_equal(far->channels, c.nvram.channels);
	assert_int_equal(far->bandwidth, c.nvram.bandwidth);
	assert_int_equal(far->queue, c.nvram.queue);
	assert_int_equal(far->read_energy, 2000000);
	assert_int_equal(far->write_energy, c.nvram.write_energy);
	assert_int_equal(big->kind, EMU_KIND_dram);
	assert_int_equal(big->size, UINT64_C(2) << 30);
	assert_int_equal(big->read_energy, c.dram.read_energy);
	assert_ok(emu_config_check(&c));
	assert_ok(emu_config_set(&c, "gpu.clock=500MHz"));
	assert_int_equal(big->read, 16000); /* 8 cycles still */
	assert_string_equal(emu_domain_name(&c), "device, far adr");
}

TEST(an_override_names_a_device_of_the_file_by_its_name)
{
	struct emu_config c;

	rig_ok(rig_load_text(&c, FAR));
	assert_ok(emu_config_set(&c, "far.write=3us"));
	assert_int_equal(c.device[EMU_DEVICES_NAMED].write, 3000000);
	assert_ok(emu_config_set(&c, "nvram.hops=2"));
	assert_int_equal(c.nvram.hops, 2);
}

/* Reads the machine, writes it, reads that, writes it again: the texts are the same, and have the part. */
static void round_trip(const char *text, const char *part)
{
	char *first = NULL, *second = NULL;
	size_t n;
	struct emu_config c;

	NVW_FOR(i, 2) {
		FILE *const f = open_memstream(i ? &second : &first, &n);

		rig_ok(rig_load_text(&c, i ? first : text));
		assert_ok(emu_config_dump(&c, f));
		assert_int_equal(fclose(f), 0);
	}
	assert_string_equal(first, second);
	assert_has(first, part);
	free(first);
	free(second);
}

TEST(a_machine_is_written_as_it_is_read_back)
{
	round_trip(FAR, "\n[device far]\nkind = nvram\nread = 300ns\n");
	round_trip("[nvram]\nhops = 2\n", "\ndomain = device\nhops = 2\n\n[nvram2]\n");
}

/* Without sections of its own a machine is written as ever. */
TEST(a_machine_without_further_devices_has_no_further_keys)
{
	char *text = NULL;
	size_t n;
	struct emu_config c;
	FILE *const f = open_memstream(&text, &n);

	emu_config_default(&c);
	assert_ok(emu_config_dump(&c, f));
	assert_int_equal(fclose(f), 0);
	assert_lacks(text, "device ");
	assert_lacks(text, "hops");
	assert_lacks(text, "energy");
	free(text);
}

TEST(every_mistake_in_a_section_is_named_with_its_line)
{
	static const struct {
		const char *text, *line, *message;
	} mistakes[] = {
		{FAR "raed = 1ns\n",
			".ini:5: ", "device far.raed: not a key of a device; did you mean read?"},
		{FAR "size = 1MiB\n", ".ini:5: ", "device far.size: a device of kind nvram has no such key"},
		{"[device d]\nkind = dram\nread = 1ns\nwrite = 1ns\ndomain = adr\n",
			".ini:5: ", "device d.domain: a device of kind dram has no such key"},
		{FAR FAR, ".ini:6: ", "device far.kind: there is a device far already"},
		{"[device far]\nread = 1ns\n", ".ini:2: ",
			"device far.read: there is no device far: a section with kind = dram or kind = "
			"nvram creates it"},
		{FAR "[device farr]\nread = 1ns\n", ".ini:6: ", "there is no device farr; did you mean far?"},
		{"\n[device far]\nkind = nvram\nread = 300ns\n",
			".ini:3: ", "device far: the key write is missing, and it has no default"},
		{"[device far]\nkind = nvram\n[device near]\nkind = nvram\nread = 1ns\nwrite = 1ns\n",
			".ini:2: ", "device far: the key read is missing"},
		{"[device far]\nkind = nvrma\n", ".ini:2: ", "\"nvrma\" is not one of dram, nvram"},
		{FAR "read = 300\n", ".ini:5: ", "device far.read: 300 has no unit"},
		{FAR "read_energy = 5\n",
			".ini:5: ", "5 has no unit; write an energy such as 1265pJ or 16nJ"},
		{"[device l2]\nkind = nvram\n", ".ini:2: ", "l2 is a section of every machine"},
		{"[device nvram]\nread = 1ns\n", ".ini:2: ", "nvram is a section of every machine"},
		{"[device Far]\nkind = nvram\n",
			".ini:2: ", "a device's name has 1 to 15 lower-case letters"},
		{"[device sixteen-letters-]\nkind = nvram\n", ".ini:2: ", "a device's name has 1 to 15"},
		{"[nvram]\nhosp = 1\n",
			".ini:2: ", "nvram.hosp is not a key of a machine; did you mean nvram.hops?"},
		{"[nvram]\nkind = dram\n", ".ini:2: ", "nvram.kind is not a key of a machine"},
	};

	NVW_FOR(i, NVW_COUNT(mistakes)) {
		struct emu_config c;

		assert_int_equal(rig_load_text(&c, mistakes[i].text), NVW_E_CONFIG);
		assert_error_has(mistakes[i].line);
		assert_error_has(mistakes[i].message);
		assert_int_equal(c.device_count, EMU_DEVICES_NAMED); /* unchanged */
	}
}

TEST(a_machine_has_a_bounded_number_of_devices)
{
	char text[1024] = "";
	struct emu_config c;

	NVW_FOR(i, EMU_DEVICES_MAX - EMU_DEVICES_NAMED + 1) {
		if (*text) {
			rig_ok(rig_load_text(&c, text));
			assert_int_equal(c.device_count, EMU_DEVICES_NAMED + i);
		}
		snprintf(text + strlen(text), sizeof text - strlen(text),
			"[device d%u]\nkind = nvram\nread = 1ns\nwrite = 1ns\n", i);
	}
	assert_int_equal(rig_load_text(&c, text), NVW_E_CONFIG);
	assert_error_has("at most 5 devices with sections of their own");
}

TEST(values_that_no_device_can_have_are_refused)
{
	static const struct {
		const char *setting, *message;
	} wrong[] = {
		{"far.channels=0", "far.channels: expected 1 to 1024, found 0"},
		{"far.bandwidth=0B/s", "far.bandwidth: expected more than 0"},
		{"far.hops=5000", "far.hops: expected 0 to 1000, found 5000"},
		{"far.domain=eadr",
			"far.domain: eadr, but nvram.domain is device: caches are inside the domain"},
		{"big.size=100B", "big.size (bytes): between 4096 and"},
		{"big.size=4100B", "big.size: a multiple of 64B, not 4100B"},
	};

	for_each(one, wrong) {
		struct emu_config c;

		rig_ok(rig_load_text(&c, FAR "[device big]\nkind = dram\nread = 1ns\nwrite = 1ns\n"));
		assert_ok(emu_config_set(&c, one->setting));
		assert_int_equal(emu_config_check(&c), NVW_E_CONFIG);
		assert_error_has(one->message);
	}
}

/* Each time the last value that there may be, and the next one. */
TEST(values_that_no_machine_can_have_are_refused_and_their_neighbours_taken)
{
	static const struct {
		const char *taken, *refused, *message;
	} limits[] = {
		{"directory.lines=24", "directory.lines=25",
			"directory.lines: 25 are not a multiple of directory.ways, 8"},
		{"directory.lines=8", "directory.lines=4",
			"directory.lines: 4 are not a multiple of directory.ways, 8"},
		{"stc.bsq=1", "stc.bsq=0", "stc.bsq: between 1 and 1048576, not 0"},
		{"stc.bsq=1048576", "stc.bsq=1048577", "stc.bsq: between 1 and 1048576, not 1048577"},
	};

	for_each(limit, limits) {
		struct emu_config c;

		emu_config_default(&c);
		assert_ok(emu_config_set(&c, "directory.ways=8"));
		assert_ok(emu_config_set(&c, limit->taken));
		assert_ok(emu_config_check(&c));
		assert_ok(emu_config_set(&c, limit->refused));
		assert_int_equal(emu_config_check(&c), NVW_E_CONFIG);
		assert_error_has(limit->message);
	}
}

/* Half of what 64 bits hold, so that sums of two latencies do not overflow. */
TEST(a_latency_in_cycles_that_64_bits_do_not_hold_in_picoseconds_is_refused)
{
	struct emu_config c;

	emu_config_default(&c);
	assert_ok(emu_config_set(&c, "gpu.clock=1GHz"));
	assert_ok(emu_config_set(&c, "l2.latency=9223372036854775cycles"));
	assert_int_equal(c.l2.latency, UINT64_C(9223372036854775000));
	assert_int_not_equal(emu_config_set(&c, "l2.latency=9223372036854776cycles"), 0);
	assert_error_has("\"9223372036854776cycles\" is too large");
	assert_int_not_equal(emu_config_set(&c, "l2.latency=18446744073709551615cycles"), 0);
	assert_int_equal(c.l2.latency, UINT64_C(9223372036854775000)); /* unchanged */
}

/* What nvwave list keys prints is what a machine file may say. */
TEST(every_key_is_listed_with_its_meaning_and_is_taken_with_its_default)
{
	struct emu_config c;
	struct emu_key key;
	unsigned listed = 0;
	char text[256];

	rig_ok(rig_load_text(&c, FAR));
	for (unsigned i = 0; emu_config_key(i, &key); i++) {
		const bool of_device = strncmp(key.name, "device.", 7) == 0;
		const bool is_set = key.value[0] != '\0' && strcmp(key.value, "kind") != 0;

		assert_true(strlen(key.meaning) > 4);
		if (!is_set || strcmp(key.name, "device.size") == 0) { /* far is no DRAM */
			continue;
		}
		snprintf(text, sizeof text, "%s%s=%s", of_device ? "far" : "",
			of_device ? key.name + 6 : key.name, key.value);
		if (emu_config_set(&c, text) < 0) {
			fail_msg("%s: %s", text, nvw_error_message());
		}
		listed++;
	}
	assert_true(listed > 90);
}
