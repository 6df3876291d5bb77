/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The origin of a call: the innermost frame that is in the program and not in a persistent-memory library;
 * with stacks, also the frames that called it. A site is a place with its callers, so equal stacks have the
 * same number.
 *
 * Unwinding takes a microsecond for a frame or two, so its result is cached, with the stack positions of all
 * return addresses that it passed. A later call from the same place is considered equal if all these
 * positions hold the same addresses: then its frames are the same.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "core/each.h"
#include "preload.h"

enum { CHAINS = 4096, PROBES = 8, DEPTH = 48, FRAMES = 40 };

struct chain {
	/* of the first one, where stacks count: the stack may end before links of a deeper one */
	uintptr_t frame;
	void *first; /* the call's return address; NULL: unused entry */
	uint32_t site;
	unsigned count; /* of the others */
	struct link {
		ptrdiff_t at; /* offset from the call's frame */
		void *address;
	} link[DEPTH];
};

static struct chain chains[CHAINS]; /* under the lock */

struct walk {
	const struct host_caller *caller;
	struct chain chain;
	bool met, whole;     /* the caller's frame was reached; every link can be checked again */
	void *frame[FRAMES]; /* of the program, innermost first: the first one is the place */
	unsigned count;
};

/* ---- Modules -------------------------------------------------------------------------------------- */

static bool is_library(const char *path)
{
	static const char *const names[] = {
		"libpmem", "libnvwave", "libc.so", "libc-", "ld-linux", "libpthread"};
	const char *const name = basename(path);

	return NVW_ANY(one, names, NVW_COUNT(names), strncmp(name, *one, strlen(*one)) == 0);
}

/* The object that contains an address, and its load offset. */
static bool object_of(void *address, const char **ret_path, uint64_t *ret_base)
{
	const struct link_map *const map = host_object_of((char *)address - 1);

	if (map == NULL) {
		return false;
	}
	*ret_path = map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
	*ret_base = map->l_addr;
	return true;
}

static uint32_t module_of(const char *path)
{
	NVW_INVARIANT(host_control->module_count <= HOST_MODULES_MAX);

	struct host_control *const c = host_control;
	char name[512];

	if (strcmp(path, "/proc/self/exe") == 0) {
		host_read_link(path, name, sizeof name);
		path = name;
	}
	NVW_FOR(i, c->module_count) {
		if (strncmp(c->module[i].path, path, sizeof c->module[i].path - 1) == 0) {
			return i + 1;
		}
	}
	if (c->module_count == HOST_MODULES_MAX) {
		return 0;
	}
	snprintf(c->module[c->module_count].path, sizeof c->module[0].path, "%s", path);
	return ++c->module_count;
}

/* The entry of a site in the index, or the free one where it would be. The index is half empty at least. */
static uint32_t *slot_of(uint32_t module, uint64_t offset, uint32_t caller)
{
	NVW_INVARIANT(host_control->site_count <= HOST_SITES_MAX); /* half of the index is free */

	struct host_control *const c = host_control;
	uint64_t i = (offset * 31 + module * 7 + caller) * UINT64_C(0x9e3779b97f4a7c15) >> 49;

	for (;; i++) {
		uint32_t *const slot = &c->site_index[i % (2 * HOST_SITES_MAX)];
		const struct host_site *const s = &c->site[*slot - 1];

		if (*slot == 0 || (s->module == module && s->offset == offset && s->caller == caller)) {
			return slot;
		}
	}
}

/* With a caller, 0 if there is no room for it. */
static uint32_t number_of(void *address, uint32_t caller)
{
	struct host_control *const c = host_control;
	const char *path = NULL;
	uint64_t base = 0;
	uint32_t module = 0;

	if (object_of(address, &path, &base)) {
		module = module_of(path);
	}
	const uint64_t offset = (uint64_t)(uintptr_t)address - base;
	uint32_t *const slot = slot_of(module, offset, caller);

	NVW_INVARIANT(caller <= host_control->site_count); /* callers come first */
	if (*slot != 0) {
		return *slot;
	}
	uint32_t room = HOST_SITES_MAX, alone = 0;

	if (caller != 0) {
		room -= HOST_SITES_KEPT;
		alone = number_of(address, 0);
	}
	if (c->site_count >= room) {
		return 0;
	}
	c->site[c->site_count] = (struct host_site){.module = module,
		.offset = offset,
		.caller = caller,
		.place = NVW_OR(alone, c->site_count + 1)};
	*slot_of(module, offset, caller) = c->site_count + 1;
	return ++c->site_count;
}

/* A place with its callers, the outermost first; without them if there is no room. */
static uint32_t number_of_frames(void *const *frame, unsigned count)
{
	NVW_INVARIANT(count > 0 && count <= FRAMES);

	uint32_t site = 0;

	for (unsigned i = count; i > 0; i--) {
		site = number_of(frame[i - 1], site);
		if (site == 0) {
			return number_of(frame[0], 0);
		}
	}
	return site;
}

/* ---- Unwinding ------------------------------------------------------------------------------------ */

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *to)
{
	struct walk *const w = to;
	struct chain *const c = &w->chain;
	int interrupted; /* by a signal */
	void *const address = (void *)_Unwind_GetIPInfo(context, &interrupted);
	const uintptr_t slot = (uintptr_t)_Unwind_GetCFA(context) - sizeof(void *);
	const char *path;
	uint64_t base;

	if (interrupted) {
		/* It may be in code that nvwave-cc has inserted, which cannot be unwound. */
		return _URC_END_OF_STACK;
	}
	w->met = w->met || address == w->caller->address;
	if (slot >= w->caller->frame - sizeof(void *) && c->count < DEPTH && *(void **)slot == address) {
		c->link[c->count].at = (ptrdiff_t)(slot - w->caller->frame);
		c->link[c->count++].address = address;
	} else if (w->met && w->count > 0) {
		/* It is behind main(), or a frame that is not like others, which could not be checked
		 * again. */
		return _URC_END_OF_STACK;
	} else if (w->met) {
		w->whole = false;
	}
	const bool known = object_of(address, &path, &base);

	if (!w->met || (known && is_library(path)) || (!known && w->count > 0)) {
		return _URC_NO_REASON;
	}
	w->frame[w->count++] = address;
	const bool goes_on = host_control->stacks && w->count < FRAMES && c->count < DEPTH;

	return goes_on ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static inline uintptr_t frame_of(const struct host_caller *caller)
{
	return host_control->stacks ? caller->frame : 0;
}

static inline bool is_same(const struct chain *c, const struct host_caller *caller, uintptr_t frame)
{
	if (c->first != caller->address || c->frame != frame) {
		return false;
	}
	for (const struct link *l = c->link, *const end = l + c->count; l < end; l++) {
		if (*(void **)(caller->frame + (uintptr_t)l->at) != l->address) {
			return false;
		}
	}
	return true;
}

/* Kept at to, if it can be checked again. */
__attribute__((noinline)) static uint32_t walk_from(const struct host_caller *caller, struct chain *to)
{
	struct walk w = {.caller = caller,
		.chain = {.frame = frame_of(caller), .first = caller->address},
		.whole = true};

	if (caller->frame == 0) {
		w.met = true;
	} else {
		_Unwind_Backtrace(step, &w);
	}
	NVW_INVARIANT(w.count <= FRAMES && w.chain.count <= DEPTH);
	w.chain.site = w.count > 0 ? number_of_frames(w.frame, w.count) : number_of(caller->address, 0);
	if (w.whole && w.met) {
		*to = w.chain;
	}
	return w.chain.site;
}

uint32_t host_site(const struct host_caller *caller)
{
	NVW_DEEP_INVARIANT(host_self.inside);

	const uintptr_t frame = frame_of(caller);
	const size_t hash = (((uintptr_t)caller->address ^ frame << 20) * UINT64_C(0x9e3779b97f4a7c15)) >> 52;
	struct chain *room = &chains[hash]; /* of an older one if there is no other */

	NVW_FOR(i, PROBES) {
		struct chain *const c = &chains[(hash + i) % CHAINS];

		if (is_same(c, caller, frame)) {
			return c->site;
		}
		if (c->first == NULL) {
			room = c;
			break;
		}
	}
	return walk_from(caller, room);
}
