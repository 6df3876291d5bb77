/* SPDX-License-Identifier: BSD-3-Clause */
/* A name of the SDK for what is in vector_types.h. */
#include <vector_types.h>
