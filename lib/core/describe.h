/* SPDX-License-Identifier: BSD-3-Clause */
/* The list behind struct nvw_description (nvw/recovery.h); its creator prints it. Not thread-safe. */
#ifndef NVW_CORE_DESCRIBE_H
#define NVW_CORE_DESCRIBE_H

#include <nvw/recovery.h>

enum nvw__value_type { NVW__VALUE_U64, NVW__VALUE_REAL, NVW__VALUE_TEXT };

struct nvw__value {
	char *name, *unit, *meaning; /* unit may be "" */
	enum nvw__value_type type;
	union {
		uint64_t u64;
		double real;
		char *text;
	};
};

struct nvw_description {
	struct nvw__value *values;
	unsigned count, capacity;
};

/* Frees the values; the description itself is the caller's. */
void nvw__description_clear(struct nvw_description *description);

#endif
