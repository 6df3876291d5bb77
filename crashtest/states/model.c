/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of models and axioms. See model.h. */
#include <stddef.h>
#include <string.h>

#include "models/models.h"

static const struct ct_model_rules *const models[] = {
#define MACHINE_MODEL(id, symbol, name) &ct_model_##symbol,
#define STATE_MODEL(id, symbol, name)   &ct_model_##symbol,
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
};

const struct ct_model_info *ct_model_info(enum ct_model model)
{
	NVW_DEEP_INVARIANT(model < CT_MODEL_COUNT);
	return &models[model]->info;
}

const struct ct_model_info *ct_model_find(const char *name, enum ct_model *ret_model)
{
	NVW_FOR(i, CT_MODEL_COUNT) {
		if (!strcmp(models[i]->info.name, name)) {
			*ret_model = i;
			return &models[i]->info;
		}
	}
	return NULL;
}

enum ct_model ct_model_for(enum ct_use use)
{
	enum ct_model model = 0;

	while (models[model]->info.use != use) {
		model++;
		NVW_INVARIANT(model < CT_MODEL_COUNT);
	}
	return model;
}

enum ct_model ct_model_or(enum ct_model named, enum ct_use use)
{
	return ct_model_info(named)->use == CT_USE_TIMING ? ct_model_for(use) : named;
}

bool ct_model_has_threads(enum ct_model model)
{
	return ct_model_info(model)->of_programs && !ct_model_info(model)->of_runs;
}

bool ct_model_names_threads(const char *name)
{
	enum ct_model model;

	return ct_model_find(name, &model) && ct_model_has_threads(model);
}

bool ct_model_keeps_caches(enum ct_model model)
{
	return ct_model_info(model)->axioms & CT_A(AT_ONCE);
}

const char *ct_axiom_text(unsigned i, const char **ret_name)
{
	static const struct {
		const char *name, *text;
	} axioms[] = {
#define X(id, name, text) {name, text},
		CT_AXIOMS(X)
#undef X
	};

	if (i >= NVW_COUNT(axioms)) {
		return NULL;
	}
	*ret_name = axioms[i].name;
	return axioms[i].text;
}
