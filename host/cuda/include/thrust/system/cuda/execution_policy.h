/* SPDX-License-Identifier: BSD-3-Clause */
#include <thrust/execution_policy.h>
