/* SPDX-License-Identifier: BSD-3-Clause */
/* The violations reported by a check. See check.h. */
#include <stdio.h>

#include "check.h"
#include "core/invariant.h"

int nvw_violation(struct nvw_findings *findings, nvw_off off, const char *format, ...)
{
	if (!findings) {
		return NVW_E_INCONSISTENT;
	}
	NVW_INVARIANT(findings->kept <= NVW__FINDINGS_MAX && findings->kept <= findings->count);
	findings->count++;
	if (findings->kept < NVW__FINDINGS_MAX) {
		struct nvw__finding *f = &findings->finding[findings->kept++];
		va_list args;

		f->off = off;
		va_start(args, format);
		vsnprintf(f->text, sizeof f->text, format, args);
		va_end(args);
	}
	return NVW_E_INCONSISTENT;
}
