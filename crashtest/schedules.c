/* SPDX-License-Identifier: BSD-3-Clause */
/* What a schedule is: its number, its name, and its place in a saved finding. See schedules.h. */
#include <emu.h>
#include <nvw/random.h>

#include "core/each.h"
#include "schedules.h"
#include "core/invariant.h"
#include "core/member.h"

const char *ct_schedule_kind_name(enum ct_schedule_kind kind)
{
#define X(name, text) text,
	static const char *const names[] = {CT_SCHEDULE_KINDS(X)};

	NVW_INVARIANT(kind < NVW_COUNT(names));
#undef X

	return names[kind];
}

static enum emu_order_kind kind_of(uint64_t number)
{
	if (number == 0) {
		return EMU_ORDER_TIME;
	}
	return number % 2 ? EMU_ORDER_PCT : EMU_ORDER_RANDOM;
}

const char *ct_schedule_way(uint64_t number, bool every)
{
	static const char *const ways[] = {
		[EMU_ORDER_TIME] = "by time", [EMU_ORDER_PCT] = "PCT", [EMU_ORDER_RANDOM] = "random"};

	return every ? "one of all" : ways[kind_of(number)];
}

void ct_schedule_order(uint64_t number, unsigned depth, uint64_t seed, struct emu_order *ret_order)
{
	*ret_order = (struct emu_order){
		.kind = kind_of(number), .depth = depth, .seed = nvw_mix64(nvw_mix64(seed) + number)};
}

json_t *ct_schedule_json(const struct ct_schedule_named *n)
{
	return json_pack("{s:I, s:s, s:I, s:i, s:s*}", "number", (json_int_t)n->number, "way",
		ct_schedule_way(n->number, n->turns), "seed", (json_int_t)n->seed, "depth", (int)n->depth,
		"turns", n->turns);
}

bool ct_schedule_from_json(const json_t *o, struct ct_schedule_named *ret)
{
	const json_int_t depth = member_number(o, "depth");

	*ret = (struct ct_schedule_named){.number = member_count(o, "number"),
		.seed = member_count(o, "seed"),
		.depth = (unsigned)depth,
		.turns = member_string(o, "turns")};
	return json_is_object(o) && depth >= 1 && depth <= EMU_ORDER_DEPTH_MAX;
}
