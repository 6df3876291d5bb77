/* SPDX-License-Identifier: BSD-3-Clause */
/* A torture program's machine: small caches and FIFOs, so that rare events happen often, and settings that
 * follow each other, since some of them depend on what earlier ones have chosen. */

#include <stdarg.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "torture_draw.h"

struct torture_promises torture_promises_of(const char *protocol)
{
	const enum emu_scopes scopes = emu_protocol_scopes(protocol);

	return (struct torture_promises){
		.scopes = scopes != EMU_SCOPES_WIDENED,
		.remote = scopes != EMU_SCOPES_KEPT,
	};
}

__attribute__((format(printf, 2, 3))) static int set(struct torture_program *p, const char *format, ...)
{
	const size_t n = strlen(p->machine);
	char setting[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(setting, sizeof setting, format, arguments);
	va_end(arguments);
	snprintf(p->machine + n, sizeof p->machine - n, "%s%s", n > 0 ? " " : "", setting);
	return emu_config_set(&p->config, setting);
}

/* A key whose value is drawn: a word, or least and up to bound - 1 more, or as many times doubled. */
struct draw {
	const char *key;
	const char *const *words;
	unsigned least, bound;
	bool doubled;
	const char *unit;
};
#define SUM(key, least, bound, unit)                 \
	{                                            \
		key, NULL, least, bound, false, unit \
	}
#define DOUBLED(key, least, bound, unit)            \
	{                                           \
		key, NULL, least, bound, true, unit \
	}
#define WORD(key, words)                                   \
	{                                                  \
		key, words, 0, NVW_COUNT(words), false, "" \
	}

static int draw_key(struct torture_program *p, struct nvw_random *random, const struct draw *draw)
{
	const unsigned n = torture_drawn(random, draw->bound);

	NVW_INVARIANT(draw->bound > 0);
	if (draw->words) {
		return set(p, "%s=%s", draw->key, draw->words[n]);
	}
	return set(p, "%s=%u%s", draw->key, draw->doubled ? draw->least << n : draw->least + n, draw->unit);
}

static int draw_keys(
	struct torture_program *p, struct nvw_random *random, const struct draw *draws, unsigned count)
{
	NVW_EACH(draw, draws, count) {
		NVW_TRY(draw_key(p, random, draw));
	}
	return 0;
}
#define DRAW(p, random, draws) draw_keys((p), (random), (draws), NVW_COUNT(draws))

/* Small caches and FIFOs, so that rare events happen often. */
static int draw_caches(struct torture_program *p, struct nvw_random *random)
{
	static const char *const domains[] = {"device", "device", "adr", "eadr"};
	static const char *const topologies[] = {"crossbar", "mesh", "torus"};
	static const char *const replacements[] = {"auto", "lru", "registered-last"};
	static const struct draw cus[] = {SUM("gpu.cus", 1, 6, "")};
	static const struct draw caches[] = {
		DOUBLED("l1.size", 256, 4, "B"),
		DOUBLED("l1.ways", 1, 3, ""),
		SUM("l1.sfifo", 1, 8, ""),
		SUM("l1.nvw_fifo", 1, 8, ""),
		WORD("l1.replacement", replacements),
		DOUBLED("l2.size", 1024, 5, "B"),
		DOUBLED("l2.ways", 1, 3, ""),
		DOUBLED("l2.banks", 1, 3, ""),
		SUM("l2.sfifo", 1, 8, ""),
		SUM("l2.nvw_fifo", 1, 8, ""),
		WORD("l2.replacement", replacements),
		WORD("network.topology", topologies),
	};
	static const struct draw nvram[] = {WORD("nvram.domain", domains), SUM("nvram.queue", 1, 8, "")};

	p->machine[0] = 0;
	p->config.seed = 0;
	if (torture_chance(random, 75)) {
		p->config.seed = nvw_random_u64(random) >> 32;
	}
	NVW_TRY(DRAW(p, random, cus));
	NVW_TRY(set(
		p, "gpu.wavefront_width=%u", torture_chance(random, 80) ? 1 + torture_drawn(random, 4) : 8));
	NVW_TRY(DRAW(p, random, caches));
	NVW_TRY(set(p, "network.banks=%s", torture_chance(random, 50) ? "apart" : "beside"));
	return DRAW(p, random, nvram);
}

/* Called when the L2 is known: buffered epochs need two ways of it. */
static int draw_model(struct torture_program *p, struct nvw_random *random)
{
	static const char *const models[] = {"epoch", "buffered-epoch"};
	const bool buffered = torture_chance(random, 50) && p->config.l2.ways > 1;

	NVW_TRY(set(p, "persist.model=%s", models[buffered]));
	NVW_TRY(set(p, "persist.check=on"));
	return set(p, "dram.size=1MiB");
}

static int draw_store_buffer(struct torture_program *p, struct nvw_random *random)
{
	static const char *const orders[] = {"fifo", "unordered"};
	static const char *const loads[] = {"forward", "pass", "wait"};
	static const struct draw buffer[] = {SUM("store_buffer.entries", 1, 4, ""),
		WORD("store_buffer.order", orders), WORD("store_buffer.loads", loads)};

	if (torture_drawn(random, 4) || p->config.model == EMU_MODEL_strict) {
		return 0;
	}
	return DRAW(p, random, buffer);
}

/* Few and narrow bands, short epochs, and queues that are often full. */
static int draw_turns(struct torture_program *p, struct nvw_random *random)
{
	static const struct draw bits[] = {SUM("stc.bits", 1, 3, "")};
	static const struct draw turns[] = {SUM("stc.seb", 6, 3, ""), SUM("stc.at_once", 1, 3, ""),
		SUM("stc.wakeup", 1, 40, "cycles"), SUM("stc.bsq", 1, 6, "")};

	NVW_TRY(DRAW(p, random, bits));
	NVW_TRY(set(p, "stc.seb_least=6"));
	return DRAW(p, random, turns);
}

/* Leases that end early and late; but where time decides, a work-item that polls must not do so too long for
 * one of them. */
static int draw_leases(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = torture_drawn_apart(seed + UINT64_C(0x6c6561736573));

	NVW_TRY(set(p, "tcs.lease=%ucycles", 5u << torture_drawn(&random, p->schedule ? 10 : 6)));
	NVW_TRY(set(p, "tcs.most=%ucycles", p->schedule ? 8000 : 160));
	NVW_TRY(set(p, "tcs.step=%ucycles", torture_drawn(&random, 40)));
	return set(p, "tcs.mshrs=%u", 8u << torture_drawn(&random, 3));
}

/* Options of machines: store buffers, a bound on loads in flight, an L3. */
static int draw_options(struct torture_program *p, uint64_t seed)
{
	static const char *const splits[] = {"off", "on"};
	static const struct draw loads[] = {SUM("gpu.loads", 1, 4, "")};
	static const struct draw l3[] = {DOUBLED("l3.size", 2048, 3, "B"), DOUBLED("l3.ways", 1, 3, ""),
		SUM("l3.sfifo", 1, 8, ""), WORD("l3.split", splits)};
	struct nvw_random random = torture_drawn_apart(seed);

	NVW_TRY(draw_store_buffer(p, &random));
	if (torture_drawn(&random, 2)) {
		NVW_TRY(DRAW(p, &random, loads));
	}
	if (torture_drawn(&random, 4) == 0) {
		NVW_TRY(DRAW(p, &random, l3));
	}
	return draw_turns(p, &random);
}

/* Every second machine of a protocol with a directory has one of its own, of a few entries. */
static int draw_directory(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = torture_drawn_apart(seed + UINT64_C(0x6469726563));
	const unsigned ways = 1u << torture_drawn(&random, 3);

	if (!emu_protocol_has_owners(p->config.protocol) || !torture_drawn(&random, 2)) {
		return 0;
	}
	NVW_TRY(set(p, "directory.ways=%u", ways));
	NVW_TRY(set(p, "directory.lines=%u", ways << torture_drawn(&random, 7)));
	return set(p, "directory.mshrs=%u", 1u << torture_drawn(&random, 4));
}

/* Where caches are apart, write caches of a few lines. */
static int draw_write_caches(struct torture_program *p, uint64_t seed)
{
	const unsigned least = (unsigned)emu_model_info(p->config.model)->l2_ways;
	const struct draw caches[] = {DOUBLED("l1.write_size", 256, 3, "B"),
		DOUBLED("l1.write_ways", 1, 3, ""), DOUBLED("l2.write_size", 512, 4, "B"),
		DOUBLED("l2.write_ways", NVW_OR(least, 1), 2, "")};
	struct nvw_random random = torture_drawn_apart(seed + 1);

	return emu_protocol_is_apart(p->config.protocol) ? DRAW(p, &random, caches) : 0;
}

/* Every second machine has a consistency model if its protocol lets it. */
static int draw_consistency(struct torture_program *p, uint64_t seed)
{
	static const char *const of[] = {"sc-simple", "sc-wb", "tso", "rmo"};
	struct nvw_random random = torture_drawn_apart(seed + UINT64_C(0x636f6e736973));
	const unsigned model = torture_drawn(&random, 8);

	if (model >= NVW_COUNT(of) || !emu_protocol_has_owners(p->config.protocol) ||
		p->config.model == EMU_MODEL_strict) {
		return 0;
	}
	return set(p, "gpu.consistency=%s", of[model]);
}

static int apply(struct torture_program *p)
{
	for (const char *const *setting = p->settings; setting && *setting; setting++) {
		NVW_TRY(emu_config_set(&p->config, *setting));
	}
	return 0;
}

static int apply_checked(struct torture_program *p)
{
	NVW_TRY(apply(p));
	return emu_config_check(&p->config);
}

static unsigned wavefronts_per_group(const struct torture_program *p)
{
	const unsigned width = (unsigned)p->config.wavefront_width;

	return (p->group_size + width - 1) / width;
}

/* Number of work-groups, and whether all of them are resident. */
static int draw_groups(struct torture_program *p, struct nvw_random *random)
{
	const unsigned cus = (unsigned)p->config.cus;

	p->groups = 1 + torture_drawn(random, torture_chance(random, 30) ? 4 * cus : cus + 2);
	p->groups = (unsigned)nvw_min(p->groups, TORTURE_GROUPS_MAX);
	p->group_size = 1 + torture_drawn(random, TORTURE_GROUP_SIZE_MAX);
	p->crowded = p->groups > cus && torture_chance(random, 20);
	p->schedule = torture_drawn(random, 3);
	return set(p, "gpu.wavefronts_per_cu=%u",
		wavefronts_per_group(p) * (p->crowded ? 1 : (p->groups + cus - 1) / cus));
}

/* Settings may leave less room than was drawn. */
static bool is_crowded(const struct torture_program *p)
{
	return p->config.wavefronts_per_cu / wavefronts_per_group(p) * p->config.cus < p->groups;
}

/* The options of the machine that may depend on its protocol and model. */
static int draw_additions(struct torture_program *p)
{
	NVW_TRY(draw_options(p, p->seed));
	NVW_TRY(draw_write_caches(p, p->seed));
	NVW_TRY(draw_consistency(p, p->seed));
	NVW_TRY(draw_directory(p, p->seed));
	return apply_checked(p);
}

static int draw_settings(struct torture_program *p, struct nvw_random *random)
{
	NVW_TRY(draw_caches(p, random));
	NVW_TRY(apply(p));
	NVW_TRY(draw_model(p, random));
	NVW_TRY(apply(p)); /* they may name the model */
	NVW_TRY(draw_additions(p));
	NVW_TRY(draw_groups(p, random));
	NVW_TRY(draw_leases(p, p->seed));
	return apply_checked(p);
}

int torture_draw_machine(struct torture_program *p, const char *protocol, struct nvw_random *random)
{
	p->promises = torture_promises_of(protocol);
	emu_config_default(&p->config);
	NVW_PRINT(p->config.protocol, "%s", protocol);
	NVW_TRY(draw_settings(p, random));
	p->crowded = p->crowded || is_crowded(p);
	return 0;
}
