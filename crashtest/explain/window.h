/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of atomicity: with nothing lost, a run fails from one event to another, so that a crash between the
 * two is found broken whatever persists first. The stores between them must be atomic, or the first one comes
 * too early.
 */
#ifndef CRASHTEST_WINDOW_H
#define CRASHTEST_WINDOW_H

#include "need_search.h"

typedef bool need_fails_so(struct need_search *s, uint64_t events);

/* The last event before end since which the state fails so; end if there is none. */
uint64_t window_beginning(struct need_search *s, uint64_t end, need_fails_so *fails_as);

/* It fails with nothing lost after so many events: finds the window around it. */
void window_find(struct need_search *s, uint64_t end);
/* The same whatever the text. False if no event before end begins one. */
bool window_find_any(struct need_search *s, uint64_t end);
/* Then no order helps. True if the crash fell into a window before event end that orders do not close, and a
 * store of one of two source places is in it. */
bool window_explains(struct need_search *s, uint64_t end, uint32_t lost, uint32_t early);

/* Event last is lost, and before it, it failed already: which store of its work-item before it must be lost
 * as well for the state to pass? In a state in which all others have gone on. */
void window_apart(struct need_search *s, uint64_t last);

/* The next store of the work-item of event first, if it fills in the same word and mends the state behind
 * first: the crash tore the word. Its event; 0: none. */
uint64_t window_torn(struct need_search *s, uint64_t first);

/* The crash fell between events first and last; try_reversed: does the other order fail, too? */
void window_note(struct need_search *s, uint64_t first, uint64_t last);
void window_try_reversed(struct need_search *s, uint64_t events, const struct ct_losses *losses,
	uint64_t first, uint64_t last);

#endif
