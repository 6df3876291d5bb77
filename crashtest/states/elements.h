/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pmreorder model: any subset of the stores that were flushed before a fence, written in any order, on
 * top of all stores that were flushed before earlier fences. A store is one element, however wide.
 *
 * Stores that share an aligned word form one cell, whose versions are the different contents that the subsets
 * and orders of its stores give.
 */
#ifndef CRASHTEST_ELEMENTS_H
#define CRASHTEST_ELEMENTS_H

#include "medium.h"

NVW_CHECKED int ct_element_store(struct ct_medium *medium, const struct nvw_log_record *record);
NVW_CHECKED int ct_element_flush(struct ct_medium *medium, const struct nvw_log_record *record);
NVW_CHECKED int ct_element_fence(struct ct_medium *medium, const struct nvw_log_record *record);
/* Makes the cells of the interval that ends now. */
NVW_CHECKED int ct_element_cells(struct ct_medium *medium);

#endif
