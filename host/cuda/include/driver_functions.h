/* SPDX-License-Identifier: BSD-3-Clause */
/* A name of the SDK for what is in driver_types.h. */
#include <driver_types.h>
