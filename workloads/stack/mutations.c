/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bugs of the stacks: for each, the steps that it replaces. */
#define NVW_NOT_COVERED
#include <assert.h>

#include "steps.h"

/* ---- Push ----------------------------------------------------------------------------------------- */

static void fill_nothing(const struct stack_args *a, const struct stack_push *push)
{
}

static void order_own_words(void)
{
	nvw_barrier(NVW_WORKGROUP);
	nvw_p_barrier_wi();
}

static void link_unordered(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	nvw_store(&push->words[0], first);
}

static void link_and_fill(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	nvw_store(&push->words[0], first);
	nvw_p_barrier_wi();
	stack_fill_node(a, push);
}

/* A link of 0 has not been stored yet. */
static void link_once(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	if (nvw_load(&push->words[0]) == 0) {
		nvw_store(&push->words[0], first);
	}
	nvw_p_barrier_wi();
}

static uint64_t publish_and_fill(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	const uint64_t seen = STACK_COMPARE_EXCHANGE(
		push->head, first, stack_node(&a->layout, push->node), NVW_SCOPE_AGENT);

	if (seen == first) {
		stack_fill_node(a, push);
	}
	return seen;
}

static uint64_t publish_racily(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	const uint64_t seen = nvw_atomic_load(push->head, NVW_ACQUIRE, NVW_SCOPE_AGENT);

	if (seen == first) {
		nvw_atomic_store(
			push->head, stack_node(&a->layout, push->node), NVW_RELEASE, NVW_SCOPE_AGENT);
	}
	return seen;
}

static uint64_t publish_in_group(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	return STACK_COMPARE_EXCHANGE(
		push->head, first, stack_node(&a->layout, push->node), NVW_SCOPE_WORKGROUP);
}

static void acknowledge_push_first(const struct stack_push *push)
{
	nvw_ack(push->node);
	nvw_p_barrier_wi();
}

/* ---- Take ----------------------------------------------------------------------------------------- */

static void announce_nothing(const struct stack_take *take)
{
}

static void announce_unordered(const struct stack_take *take)
{
	nvw_store(take->announcement, stack_announcement_word(take->node, take->stack));
}

static void announce_in_halves(const struct stack_take *take)
{
	uint32_t *const half = (uint32_t *)take->announcement;

	nvw_store(&half[0], (uint32_t)take->node + 1);
	nvw_store(&half[1], (uint32_t)take->stack);
	nvw_p_barrier_wi();
}

static uint64_t unlink_and_announce(const struct stack_take *take)
{
	const uint64_t seen = STACK_COMPARE_EXCHANGE(take->head, take->first, take->next, NVW_SCOPE_AGENT);

	if (seen == take->first) {
		nvw_store(take->announcement, stack_announcement_word(take->node, take->stack));
	}
	return seen;
}

static void acknowledge_take_first(const struct stack_args *a, const struct stack_take *take)
{
	nvw_ack(a->plan->count + take->node);
	nvw_p_barrier_wi();
}

static int forget_taking(const struct stack_plan *p, struct nvw_machine *machine, uint64_t node)
{
	return 0;
}

/* ---- The table ------------------------------------------------------------------------------------ */

const struct nvw_mutation stack_mutations[] = {
	[STACK_PUBLISH_UNORDERED] = {"publish-unordered",
		"no persist barrier between a node and the head that leads to it", "epoch", NULL},
	[STACK_FILL_AFTER_BARRIER] = {"fill-after-barrier",
		"the payload is stored behind the barrier that should order it before the head", "epoch",
		NULL},
	[STACK_FILL_AFTER_PUBLISH] = {"fill-after-publish",
		"the payload is stored when the head leads to its node already", "observed", NULL},
	[STACK_NARROW_SCOPE] = {"narrow-scope",
		"work-item scope where work-items push nodes that others of the group wrote",
		"buffered-epoch", "count=48 stacks=4 groups=2 group-size=16 scope=workgroup"},
	[STACK_PUSH_ACK_EARLY] = {"push-ack-early",
		"pushes are acknowledged before the barrier that makes them durable", "observed", NULL},
	[STACK_RACY_PUSH] = {"racy-push",
		"the head is compared and stored in two steps: a push of another work-item gets lost", "kill",
		NULL},
	[STACK_STALE_LINK] = {"stale-link",
		"a push that has to be tried again keeps its first link: it loses what was pushed meanwhile",
		"kill", NULL},
	[STACK_LOCAL_HEAD] = {"local-head",
		"pushes exchange the head with work-group scope: other CUs do not see them", "kill", NULL},
	[STACK_TAKE_UNORDERED] = {"take-unordered",
		"no persist barrier between the announcement of a node and its removal", "epoch", NULL},
	[STACK_TAKE_FIRST] = {"take-first", "nodes are announced when they are removed already", "observed",
		NULL},
	[STACK_TORN_ANNOUNCEMENT] = {"torn-announcement", "an announcement is written in two halves", "epoch",
		NULL},
	[STACK_TAKE_ACK_EARLY] = {"take-ack-early",
		"takings are acknowledged before the barrier that makes them durable", "observed", NULL},
	[STACK_FORGOTTEN_TAKING] = {"forgotten-taking",
		"after a crash, work-items announce again before the taking that they had announced is "
		"finished",
		"and-then", "count=96 stacks=4 groups=2 group-size=16"},
	{NULL, NULL, NULL, NULL},
};

/* As the sources above say; not from what the tester printed. */
const struct nvw_lack stack_lacks[] = {
	{"publish-unordered", "barrier work-item link_unordered|fill_word publish"},
	{"fill-after-barrier", "barrier work-item fill_word publish"},
	{"fill-after-publish", "exchange fill_word publish_and_fill"},
	{"narrow-scope", "barrier work-group fill_word publish|link"},
	{"push-ack-early", "barrier work-item publish ack"},
	{"racy-push", "none"},
	{"stale-link", "none"},
	{"local-head", "none"},
	{"take-unordered", "barrier work-item announce_unordered unlink"},
	{"take-first", "exchange unlink_and_announce unlink_and_announce"},
	{"torn-announcement", "atomic announce_in_halves; exchange announce_in_halves announce_in_halves"},
	{"take-ack-early", "barrier work-item unlink ack"},
	{NULL, NULL},
};

const struct stack_steps *stack_replaced(enum stack_mutation mutation)
{
	static const struct stack_steps none,
		replaced[] = {
			[STACK_PUBLISH_UNORDERED] = {.link = link_unordered},
			[STACK_FILL_AFTER_BARRIER] = {.fill = fill_nothing, .link = link_and_fill},
			[STACK_FILL_AFTER_PUBLISH] = {.fill = fill_nothing, .publish = publish_and_fill},
			[STACK_NARROW_SCOPE] = {.order_group = order_own_words},
			[STACK_PUSH_ACK_EARLY] = {.complete_push = acknowledge_push_first},
			[STACK_RACY_PUSH] = {.publish = publish_racily},
			[STACK_STALE_LINK] = {.link = link_once},
			[STACK_LOCAL_HEAD] = {.publish = publish_in_group},
			[STACK_TAKE_UNORDERED] = {.announce = announce_unordered},
			[STACK_TAKE_FIRST] = {.announce = announce_nothing, .unlink = unlink_and_announce},
			[STACK_TORN_ANNOUNCEMENT] = {.announce = announce_in_halves},
			[STACK_TAKE_ACK_EARLY] = {.complete_take = acknowledge_take_first},
			[STACK_FORGOTTEN_TAKING] = {.finish_taking = forget_taking},
		};

	assert(mutation == STACK_UNMUTATED || (size_t)mutation < sizeof(replaced) / sizeof(*replaced));
	return mutation == STACK_UNMUTATED ? &none : &replaced[mutation];
}
