/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of named values. See describe.h and nvw/recovery.h. */
#include "describe.h"

#include "core/each.h"
#include "core/invariant.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* Values are added one by one, and taken away all at once. */
__attribute__((unused)) static bool description_is_valid(const struct nvw_description *d)
{
	return d->count <= d->capacity && (d->values != NULL) == (d->capacity > 0);
}

static struct nvw__value *add(struct nvw_description *d, const char *name, enum nvw__value_type type,
	const char *unit, const char *meaning)
{
	struct nvw__value *v;

	NVW_DEEP_INVARIANT(description_is_valid(d));
	if (!NVW_ROOM(d->values, d->capacity, d->count + 1)) {
		return NULL;
	}
	v = &d->values[d->count];
	*v = (struct nvw__value){
		.name = strdup(name), .unit = strdup(unit), .meaning = strdup(meaning), .type = type};
	d->count++;
	if (!v->name || !v->unit || !v->meaning) {
		return NULL;
	}
	return v;
}

int nvw_describe_u64(struct nvw_description *description, const char *name, uint64_t value, const char *unit,
	const char *meaning)
{
	struct nvw__value *const v = add(description, name, NVW__VALUE_U64, unit, meaning);

	NVW_ALLOCATED(v, "no memory for a description");
	v->u64 = value;
	return 0;
}

int nvw_describe_real(struct nvw_description *description, const char *name, double value, const char *unit,
	const char *meaning)
{
	struct nvw__value *const v = add(description, name, NVW__VALUE_REAL, unit, meaning);

	NVW_ALLOCATED(v, "no memory for a description");
	v->real = value;
	return 0;
}

int nvw_describe_text(
	struct nvw_description *description, const char *name, const char *value, const char *meaning)
{
	struct nvw__value *const v = add(description, name, NVW__VALUE_TEXT, "", meaning);

	NVW_ALLOCATED(v, "no memory for a description");
	v->text = strdup(value);
	NVW_ALLOCATED(v->text, "no memory for a description");
	return 0;
}

void nvw__description_clear(struct nvw_description *d)
{
	NVW_DEEP_INVARIANT(description_is_valid(d));
	NVW_EACH(value, d->values, d->count) {
		free(value->name);
		free(value->unit);
		free(value->meaning);
		if (value->type == NVW__VALUE_TEXT) {
			free(value->text);
		}
	}
	free(d->values);
	*d = (struct nvw_description){0};
}
