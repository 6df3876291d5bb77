/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics: CUDA's functions (include/nvw_cuda_atomics.h), and the compiler's own (std::atomic,
 * __atomic_fetch_add ...), which the thread sanitizer's names announce. Both do the whole operation. The host
 * may touch the same memory, so they are atomic there, too. A work-item that executes one lets others run now
 * and then.
 */
#include <core/atomic_value.h>

#include "../include/nvw_cuda_atomics.h"
#include "runtime.h"

/* ---- What an operation makes of a value --------------------------------------------------------- */

static unsigned bytes_of(unsigned size)
{
	return 1U << size;
}

_Static_assert((int)NVW_CUDA_LOAD == NVW__ATOMIC_LOAD && (int)NVW_CUDA_EXCHANGE == NVW__EXCHANGE &&
		       (int)NVW_CUDA_XOR == NVW__XOR && (int)NVW_CUDA_CAS == NVW__COMPARE_EXCHANGE,
	"operations have the machine's numbers");

/* Bits above the size have no meaning in the result. */
static uint64_t combine(unsigned operation, unsigned size, uint64_t old, uint64_t value, uint64_t compare)
{
	if (operation == NVW_CUDA_LOAD || (operation == NVW_CUDA_CAS && old != compare)) {
		return old;
	}
	return nvw_atomic_value(operation, bytes_of(size), old, value);
}

/* ---- Doing it ----------------------------------------------------------------------------------- */

/* The operation on a variable of so many bits; also what the value became. What changes nothing is not
 * written. */
#define MODIFY(bits)                                                                                   \
	static uint64_t modify##bits(void *address, unsigned operation, unsigned size, uint64_t value, \
		uint64_t compare, uint64_t *ret_new)                                                   \
	{                                                                                              \
		uint##bits##_t *const p = address, old = __atomic_load_n(p, __ATOMIC_SEQ_CST), new;    \
                                                                                                       \
		while ((new = (uint##bits##_t)combine(                                                 \
				operation, size, old, value, (uint##bits##_t)compare)) != old &&       \
			!__atomic_compare_exchange_n(                                                  \
				p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {            \
		}                                                                                      \
		*ret_new = new;                                                                        \
		return old;                                                                            \
	}
MODIFY(8)
MODIFY(16)
MODIFY(32)
MODIFY(64)

static uint64_t modify(
	void *address, unsigned operation, unsigned size, uint64_t value, uint64_t compare, uint64_t *ret_new)
{
	switch (bytes_of(size)) {
	case 1:
		return modify8(address, operation, size, value, compare, ret_new);
	case 2:
		return modify16(address, operation, size, value, compare, ret_new);
	case 4:
		return modify32(address, operation, size, value, compare, ret_new);
	default:
		return modify64(address, operation, size, value, compare, ret_new);
	}
}

struct request {
	unsigned operation, size, scope;
	void *address;
	uint64_t value, compare;
	enum nvw_cuda_order order;
	const void *place;
};

/* What follows a fence releases. */
static void meet_fence(struct request *r)
{
	struct item *const me = nvw_cuda_now;

	if (me->fenced && r->operation != NVW_CUDA_LOAD) {
		if (!(r->order & NVW_CUDA_RELEASE)) {
			r->order = (enum nvw_cuda_order)(r->order | NVW_CUDA_RELEASE | NVW_CUDA_BY_FENCE);
		}
		me->fenced = false;
	}
}

/* A store counts as a change, even of the same value. */
static void note(unsigned operation, bool changes, const void *place)
{
	if (changes || operation == NVW_CUDA_STORE) {
		nvw_cuda_works();
	} else {
		nvw_cuda_wait_on(place);
	}
}

static bool changes_something(const struct request *r, uint64_t old)
{
	NVW_DEEP_INVARIANT(bytes_of(r->size) <= 8);
	const uint64_t mask = nvw_low_bits(8 * bytes_of(r->size));

	return r->operation != NVW_CUDA_LOAD &&
	       ((combine(r->operation, r->size, old, r->value, r->compare) ^ old) & mask);
}

/* The machine has answered with what was there. A fence after a load acquires it. */
static uint64_t be_answered(const struct request *r, uint64_t old)
{
	struct item *const me = nvw_cuda_now;

	if (r->operation != NVW_CUDA_STORE) {
		me->seen = r->address;
		me->seen_bytes = bytes_of(r->size);
	}
	note(r->operation, changes_something(r, old), r->place);
	return old;
}

/* On the machine, of a variable that it does not have: whoever spins on one lets its writer run. */
static void take_a_cycle(const void *place)
{
	if (nvw_cuda_machine && nvw_cuda_now) {
		nvw_cuda_machine_pass(place);
	}
}

static uint64_t execute(struct request *r)
{
	const size_t n = bytes_of(r->size);
	uint64_t now;

	nvw_cuda_settle();
	if (nvw_cuda_machine_has(r->address, n)) {
		meet_fence(r);
		return be_answered(r, nvw_cuda_machine_atomic(r->operation, r->address, n, r->value,
					      r->compare, r->order, r->scope, r->place));
	}
	nvw_cuda_spend(VOLATILE_COST);
	const bool recorded =
		r->operation != NVW_CUDA_LOAD && nvw_cuda_record_begins(r->address, n, r->place);
	const uint64_t old =
		modify(nvw_cuda_translate(r->address, n), r->operation, r->size, r->value, r->compare, &now);

	if (recorded) {
		nvw_cuda_record_ends();
	}
	note(r->operation, now != old, r->place);
	if (now == old && r->operation != NVW_CUDA_STORE) {
		take_a_cycle(r->place);
	}
	return old;
}

/* ---- Without a stack (compiler/coroutines.c) ---------------------------------------------------- */

static struct request request_of(
	unsigned what, void *address, uint64_t value, uint64_t compare, const void *place)
{
	return (struct request){what & 0xff, what >> 8 & 0xff, what >> 16 & 0xff, address, value, compare,
		(enum nvw_cuda_order)(what >> 24), place};
}

bool nvw_cuda_lane_atomic(
	unsigned what, void *address, uint64_t value, uint64_t compare, const struct nvw_site **site)
{
	struct request r = request_of(what, address, value, compare, __builtin_return_address(0));

	nvw_cuda_settle();
	if (!nvw_cuda_machine_has(address, bytes_of(r.size))) {
		nvw_cuda_now->result = execute(&r);
		return false;
	}
	meet_fence(&r);
	if (!*site) {
		*site = nvw_cuda_machine->short_way->site(r.place);
	}
	nvw_cuda_machine->ask(
		r.operation, address, bytes_of(r.size), value, compare, r.order, r.scope, *site);
	return true;
}

uint64_t nvw_cuda_lane_result(void)
{
	return nvw_cuda_now->result;
}

uint64_t nvw_cuda_lane_answer(unsigned what, void *address, uint64_t value, uint64_t compare)
{
	const struct request r = request_of(what, address, value, compare, __builtin_return_address(0));

	return be_answered(&r, (*nvw_cuda_lane_self)->value);
}

/* ---- With a stack ------------------------------------------------------------------------------- */

uint64_t nvw_cuda_atomic_at(unsigned operation, unsigned size, unsigned scope, unsigned order, void *address,
	uint64_t value, uint64_t compare, const void *place)
{
	struct request r = {
		operation, size, scope, address, value, compare, (enum nvw_cuda_order)order, place};

	return execute(&r);
}

/* Where an atomic is one instruction: nobody else runs before it, and nobody has to know. */
static inline bool is_plain(void)
{
	return !nvw_cuda_machine && !nvw_cuda_is_recording && !nvw_cuda_pending.n &&
	       nvw_cuda_turn > VOLATILE_COST;
}

static __attribute__((noinline)) uint64_t wait_on(uint64_t old, const void *place)
{
	nvw_cuda_wait_on(place);
	return old;
}

static inline uint64_t end_shortly(uint64_t old, bool changes, const void *place)
{
	nvw_cuda_turn -= VOLATILE_COST;
	if (!changes) {
		return wait_on(old, place);
	}
	nvw_cuda_works();
	return old;
}

#define SHORTLY(bits)                                                                                  \
	static inline uint64_t add##bits(uint##bits##_t *p, uint##bits##_t value, const void *place)   \
	{                                                                                              \
		return end_shortly(__atomic_fetch_add(p, value, __ATOMIC_SEQ_CST), value != 0, place); \
	}                                                                                              \
	static inline uint64_t swap##bits(                                                             \
		uint##bits##_t *p, uint##bits##_t value, uint##bits##_t compare, const void *place)    \
	{                                                                                              \
		uint##bits##_t old = compare;                                                          \
		const bool swapped = __atomic_compare_exchange_n(                                      \
			p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
                                                                                                       \
		return end_shortly(old, swapped && value != compare, place);                           \
	}
SHORTLY(32)
SHORTLY(64)

static __attribute__((noinline)) uint64_t modify_shortly(
	unsigned what, void *address, uint64_t value, uint64_t compare, const void *place)
{
	const unsigned operation = what & 0xff;
	uint64_t now;
	const uint64_t old = modify(address, operation, what >> 8 & 0xff, value, compare, &now);

	return end_shortly(old, now != old || operation == NVW_CUDA_STORE, place);
}

#define OF(operation, size) ((operation) | (size) << 8)

/* The commonest ones first. */
static inline uint64_t execute_shortly(
	unsigned what, void *address, uint64_t value, uint64_t compare, const void *place)
{
	switch (what & 0xffff) {
	case OF(NVW_CUDA_ADD, NVW_CUDA_32):
		return add32(address, (uint32_t)value, place);
	case OF(NVW_CUDA_ADD, NVW_CUDA_64):
		return add64(address, value, place);
	case OF(NVW_CUDA_CAS, NVW_CUDA_32):
		return swap32(address, (uint32_t)value, (uint32_t)compare, place);
	case OF(NVW_CUDA_CAS, NVW_CUDA_64):
		return swap64(address, value, compare, place);
	default:
		return modify_shortly(what, address, value, compare, place);
	}
}

static __attribute__((noinline)) uint64_t execute_in_shared(
	unsigned what, void *address, uint64_t value, uint64_t compare, const void *place)
{
	return execute_shortly(
		what, nvw_cuda_translate_shared(address, bytes_of(what >> 8 & 0xff)), value, compare, place);
}

static __attribute__((noinline)) uint64_t execute_at_length(
	unsigned what, void *address, uint64_t value, uint64_t compare, const void *place)
{
	return nvw_cuda_atomic_at(
		what & 0xff, what >> 8 & 0xff, what >> 16 & 0xff, what >> 24, address, value, compare, place);
}

uint64_t nvw_cuda_atomic(unsigned what, void *address, uint64_t value, uint64_t compare)
{
	const void *const place = __builtin_return_address(0);

	if (!is_plain()) {
		return execute_at_length(what, address, value, compare, place);
	}
	if (nvw_cuda_is_in_shared(address)) {
		return execute_in_shared(what, address, value, compare, place);
	}
	return execute_shortly(what, address, value, compare, place);
}

/* ---- The compiler's ----------------------------------------------------------------------------- */

/* They have an order, but no scope: the widest. */
static uint64_t of_compiler(unsigned operation, unsigned size, void *address, uint64_t value,
	uint64_t compare, int order, const void *place)
{
	static const enum nvw_cuda_order orders[8] = {[__ATOMIC_RELAXED] = NVW_CUDA_RELAXED,
		[__ATOMIC_CONSUME] = NVW_CUDA_ACQUIRE,
		[__ATOMIC_ACQUIRE] = NVW_CUDA_ACQUIRE,
		[__ATOMIC_RELEASE] = NVW_CUDA_RELEASE,
		[__ATOMIC_ACQ_REL] = NVW_CUDA_ACQ_REL,
		[__ATOMIC_SEQ_CST] = NVW_CUDA_ACQ_REL};
	struct request r = {
		operation, size, NVW_CUDA_SYSTEM, address, value, compare, orders[order & 7], place};

	return execute(&r);
}

#define DO(bits, operation, v, c) \
	((uint##bits##_t)of_compiler(operation, NVW_CUDA_##bits, p, v, c, order, __builtin_return_address(0)))

#define OPERATION(bits, name, operation)                                                    \
	uint##bits##_t nvw_tsan_atomic##bits##_##name(void *p, uint##bits##_t v, int order) \
	{                                                                                   \
		return DO(bits, operation, v, 0);                                           \
	}

#define OF_SIZE(bits)                                                               \
	OPERATION(bits, fetch_add, NVW_CUDA_ADD)                                    \
	OPERATION(bits, fetch_sub, NVW_CUDA_SUB)                                    \
	OPERATION(bits, fetch_and, NVW_CUDA_AND)                                    \
	OPERATION(bits, fetch_or, NVW_CUDA_OR)                                      \
	OPERATION(bits, fetch_xor, NVW_CUDA_XOR)                                    \
	OPERATION(bits, exchange, NVW_CUDA_EXCHANGE)                                \
	OPERATION(bits, store, NVW_CUDA_STORE)                                      \
	uint##bits##_t nvw_tsan_atomic##bits##_load(void *p, int order)             \
	{                                                                           \
		return DO(bits, NVW_CUDA_LOAD, 0, 0);                               \
	}                                                                           \
	uint##bits##_t nvw_tsan_atomic##bits##_compare_exchange_val(                \
		void *p, uint##bits##_t c, uint##bits##_t v, int order, int failed) \
	{                                                                           \
		(void)failed;                                                       \
		return DO(bits, NVW_CUDA_CAS, v, c);                                \
	}
OF_SIZE(8)
OF_SIZE(16)
OF_SIZE(32)
OF_SIZE(64)
