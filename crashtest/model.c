/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of models and axioms. See model.h. */
#include <stddef.h>

#include "model.h"

const struct ct_model_info *ct_model_info(enum ct_model model)
{
	static const struct ct_model_info models[] = {
#define X(id, name, who, axioms) [CT_MODEL_##id] = {name, who, axioms},
		CT_MODELS(X)
#undef X
	};

	return &models[model];
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

	if (i >= sizeof axioms / sizeof axioms[0]) {
		return NULL;
	}
	*ret_name = axioms[i].name;
	return axioms[i].text;
}
