/* SPDX-License-Identifier: BSD-3-Clause */
/* What is drawn of a cell's rows. */
#ifndef CLI_PLOT_MEASURE_H
#define CLI_PLOT_MEASURE_H

#include "plot.h"

/* The middle of each cell's rows, and how well it is known. */
void plot_measure_cells(struct plot *p);

/* Relative to the baseline's cells. Cells without a baseline, or with one of 0, vanish: what is relative
 * to nothing is no failure. NVW_E_USAGE if it names no place. */
NVW_CHECKED int plot_divide(struct plot *p);

#endif
