/* SPDX-License-Identifier: BSD-3-Clause */
/* libstdc++ writes __noinline__ where CUDA's qualifier of that name makes no sense (host_defines.h). */
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
