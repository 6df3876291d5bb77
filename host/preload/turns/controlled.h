/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library of interposed operations (interposed.h) calls in the other one (controlled.c). */
#ifndef HOST_PRELOAD_CONTROLLED_H
#define HOST_PRELOAD_CONTROLLED_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../schedule.h"

/* A point of this thread: it is about to change something, has tried in vain, only polls. False: its turns
 * are not controlled, nor is anything that it does. */
enum { NVWAVE_TURN_SYNC, NVWAVE_TURN_LOOK, NVWAVE_TURN_YIELD };
extern bool nvwave_turn_1(unsigned what, void *place);
/* Waits until the object is woken: false if the time until (0: none) comes first. */
extern bool nvwave_wait_1(unsigned wait, const void *object, uint64_t until, void *place);
/* Waits until one of the descriptors is ready. What they have for results is overwritten. */
extern bool nvwave_wait_for_1(struct pollfd *fds, unsigned n, uint64_t until, void *place);
/* Other descriptors may be ready now. */
extern void nvwave_descriptors_1(void);
/* The thread is about to tell others something, by a socket. */
extern void nvwave_tells_1(void);
/* Another process may make descriptors ready; has: what this one does depends on it. */
extern void nvwave_outside_1(bool has);
/* The first n that wait for it can go on. changes: others may poll for it, too. */
extern void nvwave_wake_1(const void *object, unsigned n, bool changes);
/* The time of the schedule, of all clocks. False: it is the computer's. */
extern bool nvwave_now_1(uint64_t *ret_ns);
extern bool nvwave_sleep_1(uint64_t until);
/* What to wait for until a thread has ended; NULL: it is not known. */
extern const void *nvwave_thread_1(pthread_t thread, bool *ret_ended);
/* Ends a controlled program, for this reason. */
extern void nvwave_refuse_1(const char *why);

#endif
