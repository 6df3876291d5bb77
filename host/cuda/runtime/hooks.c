/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compiler has put before every load and store of kernels: the functions of the thread sanitizer,
 * which is not linked.
 *
 * Global memory is plain memory. A shared variable has one address for all work-groups and a place per
 * work-group: a load's hook brings the value to that address, where the load that follows finds it; a store's
 * hook leaves a note, and the next hook, or whatever else lets others run, takes the stored value to the
 * group's place. Nothing else runs between a hook and its access.
 */
#include <alloca.h>
#include <stdarg.h>

#include "runtime.h"

/* What hooks.S knows of C's structures. */
#define AT(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #field " is elsewhere: short_way.h")
AT(struct nvw_cuda_span, start, NVW_CUDA_SPAN_START);
AT(struct nvw_cuda_span, bytes, NVW_CUDA_SPAN_BYTES);
AT(struct nvw_cuda_span, at, NVW_CUDA_SPAN_AT);
AT(struct nvw_cuda_span, touched, NVW_CUDA_SPAN_TOUCHED);
AT(struct nvw_cuda_short_way, span, 0);
AT(struct nvw_cuda_short_way, self, NVW_CUDA_WAY_SELF);
AT(struct nvw_cuda_short_way, issue, NVW_CUDA_WAY_ISSUE);
AT(struct nvw_cuda_machine, short_way, 0);
AT(struct nvw__request, address, NVW_CUDA_REQUEST_ADDRESS);
AT(struct nvw__request, value, NVW_CUDA_REQUEST_VALUE);
AT(struct nvw__request, compare, NVW_CUDA_REQUEST_COMPARE);
AT(struct nvw__request, site, NVW_CUDA_REQUEST_SITE);
AT(struct nvw__request, op, NVW_CUDA_REQUEST_OP);
AT(struct nvw_cuda_pending, address, NVW_CUDA_PENDING_ADDRESS);
AT(struct nvw_cuda_pending, place, NVW_CUDA_PENDING_PLACE);
AT(struct nvw_cuda_pending, n, NVW_CUDA_PENDING_N);
AT(struct nvw_cuda_pending, is_volatile, NVW_CUDA_PENDING_VOLATILE);
AT(struct nvw_cuda_pending, from, NVW_CUDA_PENDING_FROM);
AT(struct nvw_cuda_pending, at, NVW_CUDA_PENDING_AT);
AT(struct nvw_cuda_pending, site, NVW_CUDA_PENDING_SITE);
AT(struct nvw_cuda_pending, op, NVW_CUDA_PENDING_OP);
AT(struct nvw_cuda_known_site, site, 8);
AT(struct nvw_cuda_lanes, span, NVW_CUDA_LANES_SPAN);
AT(struct nvw_cuda_lanes, turn, NVW_CUDA_LANES_TURN);
AT(struct emu_turn, end, NVW_CUDA_TURN_END);
AT(struct emu_turn, frame_bytes, NVW_CUDA_TURN_FRAME_BYTES);
AT(struct launch, dynamic, NVW_CUDA_LAUNCH_DYNAMIC);
AT(struct item, group, NVW_CUDA_ITEM_GROUP);
AT(struct group, places, NVW_CUDA_GROUP_PLACES);
_Static_assert(sizeof(struct nvw_cuda_known_site) == 16 && sizeof(struct nvw_cuda_span) == 32 &&
		       NVW_CUDA_PAGE >> NVW_CUDA_SPAN_SHIFT == sizeof(struct nvw_cuda_span) &&
		       (NVW_CUDA_SPANS - 1) * sizeof(struct nvw_cuda_span) == NVW_CUDA_SPAN_MASK &&
		       1 << NVW_CUDA_LINE_SHIFT == NVW_CUDA_LINE,
	"sizes are others: short_way.h");
_Static_assert(DYNAMIC_MAX == NVW_CUDA_DYNAMIC_MAX && NVW__LOAD == NVW_CUDA_OP_LOAD &&
		       NVW__STORE == NVW_CUDA_OP_STORE && NVW_CUDA_POISON == (NVW_CUDA_POISON_WORD & 0xff),
	"values are others: short_way.h");

enum { COPY_PIECE = 256 };

static inline void settle(void)
{
	if (__builtin_expect(nvw_cuda_pending.n != 0, 0)) {
		nvw_cuda_settle();
	}
}

/* A fence after it acquires what it read. */
static void note_volatile(void *address, size_t n, int cost)
{
	if (cost == VOLATILE_COST && n <= 8) {
		nvw_cuda_now->seen = address;
		nvw_cuda_now->seen_bytes = (uint8_t)n;
	}
}

static __attribute__((noinline)) void load_from_machine(void *address, size_t n, int cost, const void *from)
{
	if (nvw_cuda_machine_has(address, n)) {
		nvw_cuda_learn_site(from);
		nvw_cuda_machine_load(address, n, cost == VOLATILE_COST, from);
		note_volatile(address, n, cost);
		return;
	}
	if (cost == VOLATILE_COST && nvw_cuda_now) {
		nvw_cuda_machine_pass(from); /* whoever spins on a shared variable lets its writer run */
	}
	char *const place = nvw_cuda_translate(address, n);

	if (place != address) {
		memcpy(address, place, n);
	}
}

static __attribute__((noinline)) void announce_to_machine(void *address, size_t n, int cost, const void *from)
{
	if (nvw_cuda_machine_has(address, n)) {
		nvw_cuda_learn_site(from);
		nvw_cuda_announce_to_machine(address, n, cost == VOLATILE_COST, from);
		return;
	}
	char *const place = nvw_cuda_translate(address, n);

	if (place != address) {
		nvw_cuda_announce(address, place, n);
	}
}

_Noreturn void nvw_cuda_end_misaligned(const void *address, const void *from)
{
	nvw_cuda_report(from, "accesses %p, which is not aligned to the size of the access", address);
	nvw_cuda_end_kernel(cudaErrorMisalignedAddress);
}

static inline void read_by_itself(void *address, size_t n, int cost)
{
	nvw_cuda_spend(cost);
	char *const place = nvw_cuda_translate(address, n);

	if (__builtin_expect(place != address, 0)) {
		memcpy(address, place, n);
	}
}

static inline void write_by_itself(void *address, size_t n, int cost, const void *from)
{
	nvw_cuda_spend(cost);
	if (__builtin_expect(nvw_cuda_is_recorded(address), 0)) {
		nvw_cuda_record_store(address, n, from);
		return;
	}
	char *const place = nvw_cuda_translate(address, n);

	if (__builtin_expect(place != address, 0)) {
		nvw_cuda_announce(address, place, n);
	}
}

static inline void before_read(void *address, size_t n, int cost, const void *from)
{
	settle();
	if (cost == VOLATILE_COST) {
		nvw_cuda_wait_on(from);
	}
	if (__builtin_expect(nvw_cuda_machine != NULL, 0)) {
		load_from_machine(address, n, cost, from);
	} else {
		read_by_itself(address, n, cost);
	}
}

static inline void before_write(void *address, size_t n, int cost, const void *from)
{
	settle();
	nvw_cuda_works();
	if (__builtin_expect(nvw_cuda_machine != NULL, 0)) {
		announce_to_machine(address, n, cost, from);
	} else {
		write_by_itself(address, n, cost, from);
	}
}

void nvw_cuda_before_read(void *address, size_t n, bool is_volatile, const void *place)
{
	before_read(address, n, is_volatile ? VOLATILE_COST : 1, place);
}

void nvw_cuda_before_write(void *address, size_t n, bool is_volatile, const void *place)
{
	before_write(address, n, is_volatile ? VOLATILE_COST : 1, place);
}

#define HERE __builtin_return_address(0)

/* Where hooks.S goes in place of an access, as if it were called from there. */
_Noreturn void nvw_cuda_misaligned(const void *address)
{
	nvw_cuda_end_misaligned(address, HERE);
}

/* Plain accesses: hooks.S has the functions that kernels call, which come here by themselves, and for the
 * long way to the machine. */
#define PLAIN(n)                                                       \
	void nvw_cuda_read##n##_by_itself(void *p)                     \
	{                                                              \
		settle();                                              \
		read_by_itself(p, n, 1);                               \
	}                                                              \
	void nvw_cuda_write##n##_by_itself(void *p)                    \
	{                                                              \
		settle();                                              \
		nvw_cuda_works();                                      \
		write_by_itself(p, n, 1, HERE);                        \
	}                                                              \
	void nvw_cuda_read##n##_on_machine(void *p, const void *from)  \
	{                                                              \
		load_from_machine(p, n, 1, from);                      \
	}                                                              \
	void nvw_cuda_write##n##_on_machine(void *p, const void *from) \
	{                                                              \
		announce_to_machine(p, n, 1, from);                    \
	}
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define HOOK(kind, access, n)                               \
	void nvw_tsan_##kind##_##access##n(void *p)         \
	{                                                   \
		before_##access(p, n, VOLATILE_COST, HERE); \
	}
#define HOOKS(n)                \
	HOOK(volatile, read, n) \
	HOOK(volatile, write, n) HOOK(unaligned_volatile, read, n) HOOK(unaligned_volatile, write, n)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

/* A structure that is passed by value (compiler/announce.c). */
void nvw_cuda_before_copy(void *p, size_t n)
{
	before_read(p, n, 1, HERE);
}

static bool has_place_elsewhere(void *p, size_t n)
{
	return nvw_cuda_machine_has(p, n) || nvw_cuda_translate(p, n) != p;
}

/*
 * Several structures of one call: pairs of address and size. Others may run while one of them is brought, and
 * may overwrite those before it: a shared variable has one address for all blocks. So all are put in place
 * again in the end, when nobody else runs.
 */
void nvw_cuda_before_copies(int count, ...)
{
	struct {
		void *at, *kept;
		size_t n;
	} *const all = alloca((size_t)count * sizeof *all);
	va_list list;

	NVW_INVARIANT(count > 1); /* compiler/announce.c */
	va_start(list, count);
	NVW_EACH(one, all, count) {
		one->at = va_arg(list, void *);
		one->n = va_arg(list, size_t);
		one->kept = alloca(one->n + 1);
		before_read(one->at, one->n, 1, HERE);
		memcpy(one->kept, one->at, one->n);
	}
	va_end(list);
	NVW_EACH(one, all, count) {
		if (has_place_elsewhere(one->at, one->n)) {
			memcpy(one->at, one->kept, one->n);
		}
	}
}

/* A store of a size that the sanitizer does not know. */
void nvw_cuda_before_store(void *p, size_t n)
{
	before_write(p, n, 1, HERE);
}

void nvw_tsan_vptr_read(void *p)
{
	before_read(p, sizeof(void *), 1, HERE);
}

void nvw_tsan_vptr_update(void *p, void *value)
{
	before_write(p, sizeof(void *), 1, HERE);
}

void nvw_tsan_init(void)
{
}

/* ---- Copies: calls, which do the whole of it ---------------------------------------------------- */

/* Where the bytes of an address are now: those in the machine are brought into the window. */
static void *fetched(void *from, size_t n, const void *place)
{
	if (nvw_cuda_machine_has(from, n)) {
		nvw_cuda_machine_load(from, n, false, place);
		return from;
	}
	return nvw_cuda_translate(from, n);
}

static void copy_piece(char *to, const char *from, size_t n, const void *place)
{
	char copy[COPY_PIECE]; /* others may run in between */

	memcpy(copy, fetched((void *)(uintptr_t)from, n, place), n);
	memcpy(nvw_cuda_translate(to, n), copy, n);
	if (nvw_cuda_machine_has(to, n)) {
		nvw_cuda_machine_store(to, n, false, place);
	}
}

/* From the end, if the copy lies over what comes later of the original. */
static void copy_on_machine(char *to, const char *from, size_t n, const void *place)
{
	const bool from_end = to > from && to < from + n;

	for (size_t done = 0; done < n;) {
		const size_t piece = nvw_min(n - done, COPY_PIECE);
		const size_t at = from_end ? n - done - piece : done;

		copy_piece(to + at, from + at, piece, place);
		done += piece;
	}
}

static void *move(void *to, const void *from, size_t n, const void *place)
{
	nvw_cuda_settle();
	if (nvw_cuda_machine) {
		copy_on_machine(to, from, n, place);
		return to;
	}
	nvw_cuda_spend((int)nvw_min(n / 8, TURN));
	if (nvw_cuda_is_recorded(to)) {
		nvw_cuda_record_store(to, n, place);
	}
	memmove(nvw_cuda_translate(to, n), nvw_cuda_translate((void *)(uintptr_t)from, n), n);
	return to;
}

static void *fill(void *to, int byte, size_t n, const void *place)
{
	nvw_cuda_settle();
	nvw_cuda_spend((int)nvw_min(n / 8, TURN));
	if (nvw_cuda_is_recorded(to)) {
		nvw_cuda_record_store(to, n, place);
	}
	memset(nvw_cuda_translate(to, n), byte, n);
	if (nvw_cuda_machine_has(to, n)) {
		nvw_cuda_machine_store(to, n, false, place);
	}
	return to;
}

/* The program's calls (nvwave-nvcc), and those that the sanitizer makes. */
#define COPIES(prefix)                                               \
	void *prefix##_memcpy(void *to, const void *from, size_t n)  \
	{                                                            \
		return move(to, from, n, HERE);                      \
	}                                                            \
	void *prefix##_memmove(void *to, const void *from, size_t n) \
	{                                                            \
		return move(to, from, n, HERE);                      \
	}                                                            \
	void *prefix##_memset(void *to, int byte, size_t n)          \
	{                                                            \
		return fill(to, byte, n, HERE);                      \
	}
COPIES(nvw_cuda)
COPIES(nvw_tsan)
