/* SPDX-License-Identifier: BSD-3-Clause */
/* NVW__TSAN is defined in a build with thread sanitizer, by either compiler. */
#ifndef NVW_CORE_TSAN_H
#define NVW_CORE_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define NVW__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NVW__TSAN 1
#endif
#endif

#endif
