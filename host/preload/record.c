/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording: the bytes of a mapping that changed since the last event, and the events themselves.
 *
 * A page is protected until the program first writes to it. Then it is *hot*: it is writable, and every fence
 * compares it with its shadow, which costs less than a fault. When it has not changed for a while, it is
 * protected again:
 *
 *	         fault: made writable            idle for long
 *	CLEAN ------------------------> HOT ------------------> COOLING
 *	  ^                             | ^                      |   |
 *	  +-----------------------------+ +----------------------+   |
 *	  |  unmapped, or protected          a fault, or it differs  |
 *	  |  by the program                  from its shadow         |
 *	  +----------------------------------------------------------+
 *	              protected, and equal to its shadow
 *
 * Faults change the state without the lock, so each change is a compare-and-exchange. A fault puts its page
 * into a list of fresh pages; under the lock they move to the list of hot ones.
 *
 * Where everything that the process stores is announced (announced.c), a page that an announced store makes
 * writable is neither compared at fences nor protected again: it is ANNOUNCED. What has been announced is
 * known without. Under this is a net for what should not be there: such pages are compared when the mapping
 * or the process ends, and each of their lines when it is flushed or stored to. A store that is found in this
 * way is late, and the session says so. From then on, as after a fault, which no announced store has, all
 * written pages are hot.
 *
 * A flush compares the lines that it flushes. That is enough: the order of stores to different lines between
 * two fences does not change what a crash may leave.
 *
 * Guarantees
 *   (1) Every store that a comparison can see is recorded before the next fence of any thread, as a change of
 *       its line, or else before the mapping ends, and the session knows that it was late.
 *   (2) The bytes recorded, written to the shadow, and read from the mapping are the same.
 *   (3) No page is writable unless it is in the list of hot pages, on its way there, or ANNOUNCED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

enum {
	HOT_MANY = 1 << 10,     /* beyond this, a page is removed as soon as it does not change */
	IDLE_MAX = 32,          /* comparisons without a change */
	ADMITTED_MAX = 1 << 10, /* pages made writable one by one; then a mapping as a whole */
};

static struct {
	struct host_page *hot; /* in the order in which they became hot */
	struct host_page **hot_end;
	unsigned hot_count;
} my = {.hot_end = &my.hot};

/* Pages made hot by a fault, newest first, that are not in the list yet. */
static struct host_page *fresh;

bool host_announced;
bool host_foreign;
static unsigned admitted; /* pages */

/* ---- Hot pages ------------------------------------------------------------------------------------ */

static struct host_page *page_of(const struct host_mapping *m, uintptr_t address)
{
	NVW_DEEP_INVARIANT(address - m->start < m->length);
	return &m->page[(address - m->start) / HOST_PAGE];
}

/* False: the page was in another state. */
static bool becomes(struct host_page *p, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n(&p->state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Appends the pages that faults have added since, oldest first, to the list. */
static void take_fresh(void)
{
	struct host_page *newest = __atomic_exchange_n(&fresh, NULL, __ATOMIC_ACQUIRE), *oldest = NULL;

	NVW_DEEP_INVARIANT(*my.hot_end == NULL);
	while (newest != NULL) {
		struct host_page *const next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	*my.hot_end = oldest;
	while (*my.hot_end != NULL) {
		(*my.hot_end)->idle = 0;
		my.hot_end = &(*my.hot_end)->next;
		my.hot_count++;
	}
}

static void make_writable(uintptr_t page)
{
	if (host_protect(page, HOST_PAGE, PROT_READ | PROT_WRITE)) {
		static const char text[] = "nvwave exec: a page cannot be made writable: too many mappings\n";

		if (write(STDERR_FILENO, text, sizeof text - 1) >= 0) {
			abort();
		}
	}
}

/*
 * Protects a page that has not changed for a while; false if it changed, or was written to in the meantime. A
 * thread that faults between the two steps makes the page hot again.
 */
static bool cool(struct host_page *p, const struct host_mapping *m)
{
	NVW_DEEP_INVARIANT(p->address % HOST_PAGE == 0 && p->address - m->start < m->length);

	const size_t at = p->address - m->start;

	__atomic_store_n(&p->state, HOST_COOLING, __ATOMIC_SEQ_CST);
	if (host_protect(p->address, HOST_PAGE, PROT_READ) == 0 &&
		memcmp(m->alias + at, m->shadow + at, HOST_PAGE) == 0 &&
		becomes(p, HOST_COOLING, HOST_CLEAN)) {
		return true;
	}
	__atomic_store_n(&p->state, HOST_HOT, __ATOMIC_SEQ_CST);
	make_writable(p->address);
	return false;
}

/* Keeps pages hot that a flush found changed, because the fence after it will not. */
static void stay_hot(const struct host_mapping *m, size_t from, size_t to)
{
	NVW_DEEP_INVARIANT(from < to && to <= m->length);
	for (size_t page = from / HOST_PAGE; page <= (to - 1) / HOST_PAGE; page++) {
		m->page[page].idle = 0;
	}
}

/* Compares all hot pages of a range; idle ones leave the list. */
static void compare_hot(uintptr_t start, uintptr_t end, enum host_event_kind kind, uint32_t site)
{
	const unsigned patience = my.hot_count > HOT_MANY ? 1 : IDLE_MAX;
	struct host_page **link = &my.hot;

	take_fresh();
	while (*link != NULL) {
		struct host_page *const p = *link,
					*const next = p->next; /* once it is clean, a fault may link it */
		const struct host_mapping *const m =
			p->address - start < end - start ? host_find((void *)p->address) : NULL;

		if (m != NULL) {
			const size_t at = p->address - m->start;

			p->idle = host_compare(m, at, at + HOST_PAGE, kind, site) ? 0 : p->idle + 1;
		}
		if (m == NULL || p->idle < patience || !cool(p, m)) {
			link = &p->next;
			continue;
		}
		*link = next;
		my.hot_count--;
	}
	my.hot_end = link;
	NVW_DEEP_INVARIANT((my.hot == NULL) == (my.hot_count == 0));
}

/* ---- Pages whose stores are announced ------------------------------------------------------------- */

static void check_page(const struct host_mapping *m, size_t page)
{
	if (__atomic_load_n(&m->page[page].state, __ATOMIC_SEQ_CST) == HOST_ANNOUNCED) {
		host_compare(m, page * HOST_PAGE, (page + 1) * HOST_PAGE, HOST_CHANGE, 0);
	}
}

/* Under the lock: looks for stores that nothing has announced in the pages of a mapping that are not
 * compared; NULL: of all. */
static void check_announced(const struct host_mapping *m)
{
	NVW_INVARIANT(host_self.inside);
	NVW_EACH_IN(one, host_mapping) {
		const bool is_checked = admitted > 0 && one->file >= 0 && (m == NULL || m == one);

		for (size_t page = 0; is_checked && page < one->length / HOST_PAGE; page++) {
			check_page(one, page);
		}
	}
}

static void push_fresh(struct host_page *p, uintptr_t address)
{
	NVW_DEEP_INVARIANT(address % HOST_PAGE == 0);
	p->address = address;
	p->next = __atomic_load_n(&fresh, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&fresh, &p->next, p, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
	}
}

/* Makes an announced page hot, whoever else does so. */
static void heat(const struct host_mapping *m, size_t page)
{
	if (becomes(&m->page[page], HOST_ANNOUNCED, HOST_HOT)) {
		push_fresh(&m->page[page], m->start + page * HOST_PAGE);
	}
}

void host_compare_always(const char *why)
{
	if (!host_announced) {
		return;
	}
	NVW_INVARIANT(host_self.inside);
	check_announced(NULL);
	host_announced = false;
	NVW_EACH_IN(m, host_mapping) {
		for (size_t page = 0; m->file >= 0 && page < m->length / HOST_PAGE; page++) {
			heat(m, page);
		}
	}
	HOST_COPY_TEXT(host_control->compared, why);
}

static void forget_announced(uintptr_t start, uintptr_t end)
{
	const struct host_mapping *const m = admitted > 0 ? host_find_slowly(start) : NULL;

	for (uintptr_t at = start; m != NULL && at < end && at - m->start < m->length; at += HOST_PAGE) {
		struct host_page *const p = page_of(m, at);

		if (p->state == HOST_ANNOUNCED) {
			p->state = HOST_CLEAN;
		}
	}
}

void host_forget_hot(uintptr_t start, uintptr_t end)
{
	NVW_INVARIANT(host_self.inside && start <= end);

	struct host_page **link = &my.hot;

	host_forget_stores(start, end);
	forget_announced(start, end);
	take_fresh();
	while (*link != NULL) {
		struct host_page *const p = *link;

		if (p->address - start < end - start) {
			*link = p->next;
			p->state = HOST_CLEAN;
			my.hot_count--;
		} else {
			link = &p->next;
		}
	}
	my.hot_end = link;
}

/* Makes a page hot, also one whose stores are announced if it is not by a fault. */
static bool make_hot(void *address, bool faulted)
{
	/* Also of a thread that runs the emulator. */
	const struct host_mapping *const m = host_control ? host_find_slowly((uintptr_t)address) : NULL;

	if (m == NULL || m->file < 0 || m->read_only) {
		return false;
	}
	const uintptr_t page = host_down((uintptr_t)address, HOST_PAGE);
	struct host_page *const p = page_of(m, page);

	if (faulted && host_announced) {
		__atomic_store_n(&host_foreign, true, __ATOMIC_RELAXED);
	}
	/* After being made writable the page must be hot: it may have been cooled in between. */
	do {
		if (!faulted) {
			heat(m, (page - m->start) / HOST_PAGE);
		}
		if (becomes(p, HOST_CLEAN, HOST_HOT)) {
			push_fresh(p, page);
		} else {
			becomes(p, HOST_COOLING, HOST_HOT);
		}
		make_writable(page);
		const uint8_t now = __atomic_load_n(&p->state, __ATOMIC_SEQ_CST);

		if (now == HOST_HOT || now == HOST_ANNOUNCED) {
			return true;
		}
	} while (true);
}

bool host_page_fault(void *address)
{
	return make_hot(address, true);
}

void host_touch(void *address, size_t n)
{
	const uintptr_t end = (uintptr_t)address + n;

	for (uintptr_t at = host_down((uintptr_t)address, HOST_PAGE); at < end; at += HOST_PAGE) {
		make_hot((void *)at, false);
	}
}

static void admit_all(const struct host_mapping *m)
{
	NVW_INVARIANT(host_announced);
	NVW_EACH(one, m->page, m->length / HOST_PAGE) {
		becomes(one, HOST_CLEAN, HOST_ANNOUNCED);
	}
	if (host_protect(m->start, m->length, PROT_READ | PROT_WRITE)) {
		make_writable(m->start); /* which says what is wrong */
	}
}

void host_admit_clean(const struct host_mapping *m, size_t at, size_t n)
{
	NVW_DEEP_INVARIANT(host_self.inside && at + n <= m->length);
	for (size_t page = at / HOST_PAGE; page <= (at + n - 1) / HOST_PAGE; page++) {
		const uintptr_t address = m->start + page * HOST_PAGE;

		if (__atomic_load_n(&m->page[page].state, __ATOMIC_RELAXED) != HOST_CLEAN) {
			continue;
		}
		if (!host_announced) {
			make_hot((void *)address, false);
		} else if (++admitted > ADMITTED_MAX) {
			admit_all(m);
		} else if (becomes(&m->page[page], HOST_CLEAN, HOST_ANNOUNCED)) {
			make_writable(address);
		}
	}
}

/* ---- Events --------------------------------------------------------------------------------------- */

/* Counts lines of the range without a store since their last flush; marks them as flushed. */
static uint64_t flush_lines(const struct host_mapping *m, size_t from, size_t to)
{
	NVW_DEEP_INVARIANT(from <= to && to <= m->length);

	uint64_t idle = 0;

	for (size_t i = from / HOST_LINE; i < to / HOST_LINE; i++) {
		idle += m->lines[i] == 0;
		m->lines[i] = 0;
	}
	return idle;
}

void host_record_change(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller)
{
	NVW_DEEP_INVARIANT(host_self.inside);

	size_t from, to;

	if (m->file >= 0 && n > 0) {
		const uint32_t site = host_site(caller);

		host_settle();
		if (host_control->instrumented) {
			host_stored(m, address, n, site);
		}
		host_lines_of(m, (uintptr_t)address - m->start, n, &from, &to);
		host_compare(m, from, to, HOST_CHANGE, site);
		memset(m->lines + from / HOST_LINE, 1,
			(to - from) / HOST_LINE); /* stored to, even if unchanged */
	}
}

void host_record_flush(const struct host_mapping *m, const void *address, size_t n,
	const struct host_caller *caller, enum host_flush how)
{
	NVW_DEEP_INVARIANT(host_self.inside);

	size_t from, to;

	if (m->file < 0 || n == 0) {
		return;
	}
	const uint32_t site = host_site(caller);

	host_control->file[m->file].flushed |= !host_self.syncing;
	if (how != HOST_FLUSH_STREAMED) {
		host_settle();
	}
	host_lines_of(m, (uintptr_t)address - m->start, n, &from, &to);
	if ((how == HOST_FLUSH_CALLED || how == HOST_FLUSH_IN_ORDER) &&
		host_compare(m, from, to, HOST_CHANGE, site)) {
		stay_hot(m, from, to);
	}
	const uint64_t idle = flush_lines(m, from, to);

	host_self.stats->idle_lines += idle;
	if (idle == (to - from) / HOST_LINE) {
		host_self.stats->idle_flushes++;
	}
	if (site > 0) {
		host_place(site)->flushes++;
		host_place(site)->idle_flushes += idle == (to - from) / HOST_LINE;
	}
	if (how != HOST_FLUSH_STREAMED) {
		host_event(how == HOST_FLUSH_IN_ORDER ? HOST_FLUSH_ORDERED : HOST_FLUSH, m->file,
			m->off + from, to - from, site);
	}
}

void host_record_all(enum host_event_kind kind, uint32_t site)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	host_settle();
	if (__atomic_load_n(&host_foreign, __ATOMIC_RELAXED)) {
		host_compare_always("something was stored that nothing had announced");
	}
	compare_hot(0, UINTPTR_MAX, kind, site);
}

void host_record_fence(const struct host_caller *caller)
{
	const uint32_t site = host_site(caller);

	if (site > 0) {
		host_place(site)->fences++;
		host_place(site)->empty_fences += !host_self.flushed;
	}
	host_record_all(HOST_CHANGE, site);
	host_event(HOST_FENCE, 0, 0, 0, site);
}

void host_record_range(enum host_event_kind kind, const struct host_mapping *m, const void *start,
	size_t bytes, const struct host_caller *caller)
{
	NVW_INVARIANT(m->file >= 0 && (uintptr_t)start - m->start < m->length);

	const uint32_t site = host_site(caller);

	host_control->ranges = true;
	host_record_all(HOST_CHANGE, site);
	host_event(kind, m->file, m->off + ((uintptr_t)start - m->start), bytes, site);
}

void host_record_operation(
	enum host_event_kind kind, uint64_t number, const char *name, const struct host_caller *caller)
{
	NVW_INVARIANT(kind == HOST_BEGIN || kind == HOST_DURABLE);

	const uint32_t site = host_site(caller);

	host_control->operations = true;
	host_record_all(HOST_CHANGE, site);
	host_event_of(kind, 0, number, name, strnlen(name, HOST_OPERATION_NAME_MAX), site);
}

void host_record_rest(const struct host_mapping *m)
{
	NVW_INVARIANT(host_self.inside && m->file >= 0);
	host_thread();
	host_next_call();
	host_settle();
	check_announced(m);
	compare_hot(m->start, m->start + m->length, HOST_CHANGE, 0);
}

void host_settle_last(void)
{
	if (host_recording && host_control->instrumented && !host_self.inside && host_enter()) {
		host_thread();
		host_settle();
		check_announced(NULL);
		host_leave();
	}
}

void host_record_written(const struct host_mapping *m, size_t n)
{
	NVW_INVARIANT(host_self.inside && n <= m->length);

	const bool quiet = host_control->file[m->file].mappings == 0;

	host_thread();
	host_next_call();
	host_compare(m, 0, host_up(n, HOST_LINE), quiet ? HOST_WRITTEN : HOST_CHANGE, 0);
}
