/* SPDX-License-Identifier: BSD-3-Clause */
/* Damage on purpose: one change of a pool's live bytes (recovery/live.h), drawn by a seed. */
#ifndef CLI_POOLS_DAMAGE_H
#define CLI_POOLS_DAMAGE_H

#include <jansson.h>

#include <nvw/random.h>

#include "../../recovery/live.h"

/* X(name, what it does). The names are values of --how. */
#define DAMAGES(X)                                     \
	X(FLIP, "flip", "one bit")                     \
	X(ZERO, "zero", "a word becomes 0")            \
	X(SWAP, "swap", "two words change places")     \
	X(TRUNCATE, "truncate", "the file ends there") \
	X(OLD_VERSION, "old-version", "both headers name format version 0, with a right checksum")

enum damage_how {
#define X(name, text, meaning) DAMAGE_##name,
	DAMAGES(X)
#undef X
		DAMAGE_HOWS
};

/* The names of REC_LIVE_..., and of DAMAGE_.... */
extern const char *const damage_what_names[REC_LIVE_KINDS];
extern const char *const damage_how_names[DAMAGE_HOWS];

/* The live bytes of the pools of a run. */
struct damage_places {
	struct damage_range {
		unsigned pool;
		nvw_off off;
		uint64_t bytes;
		bool needed;
	} * ranges[REC_LIVE_KINDS];
	size_t count[REC_LIVE_KINDS];
	uint64_t bytes[REC_LIVE_KINDS];
};

/* Release by damage_places_end(), also after an error. */
NVW_CHECKED int damage_places_of(const struct nvw_pool *first, struct damage_places *ret_places);
void damage_places_end(struct damage_places *places);

/* One damage. Its offsets are from the beginning of its pool. */
struct damage {
	unsigned pool;
	enum rec_live what;
	enum damage_how how;
	nvw_off off, other;     /* other: of SWAP */
	uint64_t before, after; /* the word at off; of TRUNCATE the file's bytes */
};

/*
 * Draws a damage of this kind which changes something. False if there is none: no such bytes, or all equal.
 * OLD_VERSION is one of the header alone.
 */
bool damage_draw(const struct nvw_pool *first, const struct damage_places *places, enum rec_live what,
	enum damage_how how, struct nvw_random *random, struct damage *ret);

/* Copies the pools of the run to new files at path, path.1 ... and does the damage to one of them. */
NVW_CHECKED int damage_copy(const struct nvw_pool *first, const struct damage *damage, const char *path);

json_t *damage_json(const struct damage *damage);

#endif
