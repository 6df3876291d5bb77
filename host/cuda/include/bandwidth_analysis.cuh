/* SPDX-License-Identifier: BSD-3-Clause */
/* GPM's measurements of bandwidth, by hardware counters: here they do nothing. */
#ifndef NVW_BANDWIDTH_ANALYSIS_CUH
#define NVW_BANDWIDTH_ANALYSIS_CUH

/* What GPM's own header brings into programs, which rely on it. */
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
using namespace std;

#define START_BW_MONITOR
#define START_BW_MONITOR2(file)
#define STOP_BW_MONITOR

#endif
