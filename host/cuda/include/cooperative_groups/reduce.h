/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce() is in cooperative_groups.h. */
#include <cooperative_groups.h>
