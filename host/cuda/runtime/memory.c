/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory: a range of addresses of its own. Each allocation has its own pages and ends, rounded up to
 * 256 bytes, where they end, with nothing behind it. While no kernel and no copy runs, nothing can access it,
 * so host code that dereferences a device pointer faults, as with a GPU. Managed and pinned memory lies
 * elsewhere and is plain memory for both sides.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/array.h"
#include "core/order.h"
#include "core/search.h"
#include "runtime.h"

enum { PAGE = 4096, ALIGNED = 256, LARGE_FROM = 4 << 20, LARGE_PART = 8 };
/* Of addresses. Where there are fewer (a limit, valgrind) the arena is smaller. */
#define ARENA_BYTES_MAX (UINT64_C(1) << 40)

enum memory_kind { DEVICE, MANAGED, PINNED, REGISTERED, PITCHED /* in a file: pitched.c */ };

struct block {
	char *pages, *start; /* REGISTERED: no pages of ours */
	size_t page_bytes, bytes;
	enum memory_kind kind;
	unsigned open; /* copies of it that are under way */
	bool is_kept;  /* by the machine, which has what the last kernel has left there */
	size_t changed,
		changed_end; /* DEVICE: where copies have written since the last kernel on the machine */
	uint64_t number;     /* in the order of their making, which no address has */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, kernels = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks; /* by address */
static size_t block_count, block_room;
static uint64_t block_numbers;
static char *arena;
static size_t arena_bytes;
static unsigned open_count;

void nvw_cuda_lock(void)
{
	pthread_mutex_lock(&kernels);
}

void nvw_cuda_unlock(void)
{
	pthread_mutex_unlock(&kernels);
}

/* ---- Opening and closing ------------------------------------------------------------------------ */

static void protect_all(int protection)
{
	NVW_EACH(b, blocks, block_count) {
		if (b->kind == DEVICE && !b->open) {
			mprotect(b->pages, b->page_bytes, protection);
		}
	}
}

void nvw_cuda_open_memory(void)
{
	pthread_mutex_lock(&mutex);
	if (open_count++ == 0) {
		protect_all(PROT_READ | PROT_WRITE);
	}
	pthread_mutex_unlock(&mutex);
}

void nvw_cuda_close_memory(void)
{
	pthread_mutex_lock(&mutex);
	NVW_INVARIANT(open_count > 0);
	if (--open_count == 0) {
		protect_all(PROT_NONE);
	}
	pthread_mutex_unlock(&mutex);
}

bool nvw_cuda_is_device_memory(const void *address)
{
	return arena && (const char *)address >= arena && (const char *)address < arena + arena_bytes;
}

/* ---- The list ----------------------------------------------------------------------------------- */

static bool insert(size_t at, const struct block *block)
{
	NVW_INVARIANT(at <= block_count && block_count <= block_room);
	NVW_INVARIANT(at == 0 || blocks[at - 1].start < block->start);
	NVW_INVARIANT(at == block_count || blocks[at].start >= block->start);
	if (!NVW_ROOM(blocks, block_room, block_count + 1)) {
		return false;
	}
	memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof *blocks);
	blocks[at] = *block;
	blocks[at].number = block_numbers++;
	block_count++;
	return true;
}

/* How many begin before an address. */
static size_t place_for(const char *start)
{
	const size_t at = NVW_FIRST(i, 0, block_count, blocks[i].start >= start);

	NVW_DEEP_INVARIANT(at == block_count || blocks[at].start >= start);
	return at;
}

static struct block *find(const void *start)
{
	const size_t at = place_for(start);

	return at < block_count && blocks[at].start == start ? &blocks[at] : NULL;
}

static void forget(struct block *block)
{
	NVW_INVARIANT(block >= blocks && block < blocks + block_count);
	memmove(block, block + 1, (size_t)(blocks + block_count - block - 1) * sizeof *blocks);
	block_count--;
}

/* The block that an address is in, or the last one that begins before it. */
static struct block *nearest(const void *address)
{
	const size_t before = place_for((const char *)address + 1);

	if (!block_count) {
		return NULL;
	}
	return &blocks[before - (before > 0)];
}

/* The block of device memory that an address is in, for a copy: a program with many allocations copies
 * often. */
static struct block *device_block(const void *p)
{
	struct block *const b = nearest(p);

	return b && b->kind == DEVICE && nvw_cuda_is_device_memory(p) ? b : NULL;
}

/* What a kernel has left there comes first: on the machine a copy waits for the running one. */
static void open_block(const void *p)
{
	struct block *b;

	if (nvw_cuda_machine) {
		nvw_cuda_lock();
	}
	pthread_mutex_lock(&mutex);
	b = device_block(p);
	if (b && b->open++ == 0 && !open_count) {
		mprotect(b->pages, b->page_bytes, PROT_READ | PROT_WRITE);
	}
	if (b && b->is_kept) {
		nvw_cuda_machine->give_back(b->start);
		b->is_kept = false;
	}
	pthread_mutex_unlock(&mutex);
	if (nvw_cuda_machine) {
		nvw_cuda_unlock();
	}
}

static void close_block(const void *p)
{
	struct block *b;

	pthread_mutex_lock(&mutex);
	b = device_block(p);
	if (b && --b->open == 0 && !open_count) {
		mprotect(b->pages, b->page_bytes, PROT_NONE);
	}
	pthread_mutex_unlock(&mutex);
}

/* The first gap in the arena, with an unused page behind. */
static char *gap(size_t page_bytes)
{
	char *from = arena + PAGE;

	NVW_INVARIANT(page_bytes && page_bytes % PAGE == 0);
	NVW_EACH(b, blocks, block_count) {
		if (b->kind != DEVICE) {
			continue;
		}
		if ((size_t)(b->pages - from) >= page_bytes + PAGE) {
			return from;
		}
		from = b->pages + b->page_bytes + PAGE;
	}
	return (size_t)(arena + arena_bytes - from) >= page_bytes + PAGE ? from : NULL;
}

/* Pages of zeros, in place of those at an address if there is one. */
static char *map(char *at, size_t bytes, int protection)
{
	const int in_place = at ? MAP_FIXED : 0;
	char *const pages =
		mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | in_place, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static bool make_arena(void)
{
	for (size_t bytes = ARENA_BYTES_MAX; !arena && bytes > PAGE; bytes /= 2) {
		arena = map(NULL, bytes, PROT_NONE);
		arena_bytes = bytes;
	}
	return arena;
}

static size_t round_up(size_t bytes, size_t to)
{
	NVW_INVARIANT(to && !(to & (to - 1)));
	return (bytes + to - 1) / to * to;
}

/*
 * Kernels access tables anywhere, and every launch opens and closes all pages, so large ones are cheaper. Not
 * for more than a part of the computer's memory: of such an allocation a program may touch little, and would
 * get much.
 */
static void ask_for_large_pages(const struct block *b)
{
	if (b->page_bytes >= LARGE_FROM &&
		b->page_bytes / PAGE <= (size_t)sysconf(_SC_PHYS_PAGES) / LARGE_PART) {
		(void)madvise(b->pages, b->page_bytes, MADV_HUGEPAGE);
	}
}

static cudaError_t allocate_device(size_t bytes, void **ret)
{
	const size_t aligned = round_up(bytes, ALIGNED), page_bytes = round_up(aligned, PAGE);
	struct block b = {.bytes = bytes, .page_bytes = page_bytes, .kind = DEVICE, .changed_end = bytes};

	if (aligned < bytes || !make_arena() || page_bytes >= arena_bytes || !(b.pages = gap(page_bytes))) {
		return cudaErrorMemoryAllocation;
	}
	b.start = b.pages + page_bytes - aligned;
	NVW_INVARIANT((uintptr_t)b.start % ALIGNED == 0 && b.start >= b.pages);
	if (!map(b.pages, page_bytes, open_count ? PROT_READ | PROT_WRITE : PROT_NONE) ||
		!insert(place_for(b.start), &b)) {
		return cudaErrorMemoryAllocation;
	}
	ask_for_large_pages(&b);
	*ret = b.start;
	return cudaSuccess;
}

static cudaError_t allocate_kind(size_t bytes, enum memory_kind kind, void **ret)
{
	struct block b = {.bytes = bytes, .page_bytes = round_up(bytes, PAGE), .kind = kind};

	if (kind == DEVICE) {
		return allocate_device(bytes, ret);
	}
	if (b.page_bytes >= bytes && kind == PITCHED) {
		b.pages = nvw_cuda_map_pitched(b.page_bytes);
	} else if (b.page_bytes >= bytes) {
		b.pages = map(NULL, b.page_bytes, PROT_READ | PROT_WRITE);
	}
	b.start = b.pages;
	if (!b.pages || !insert(place_for(b.start), &b)) {
		return cudaErrorMemoryAllocation;
	}
	*ret = b.start;
	return cudaSuccess;
}

/* An error of the call, or of a kernel before it. */
static cudaError_t told(cudaError_t error)
{
	if (error) {
		return nvw_cuda_fail(error);
	}
	return nvw_cuda_failed();
}

static cudaError_t allocate(size_t bytes, enum memory_kind kind, void **ret)
{
	cudaError_t error;
	void *made = NULL;

	if (!ret) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	*ret = NULL;
	if (!bytes) {
		return cudaSuccess;
	}
	pthread_mutex_lock(&mutex);
	error = allocate_kind(bytes, kind, &made);
	pthread_mutex_unlock(&mutex);
	*ret = made;
	return told(error);
}

cudaError_t cudaFree(void *p)
{
	struct block *b;
	cudaError_t error = cudaSuccess;

	if (!p) {
		return cudaSuccess;
	}
	open_block(p); /* the machine keeps nothing of it */
	close_block(p);
	pthread_mutex_lock(&mutex);
	b = find(p);
	if (!b || b->kind == REGISTERED) {
		error = cudaErrorInvalidValue;
	} else {
		if (b->kind == DEVICE) { /* the range stays ours */
			(void)map(b->pages, b->page_bytes, PROT_NONE);
		} else {
			munmap(b->pages, b->page_bytes);
		}
		forget(b);
	}
	pthread_mutex_unlock(&mutex);
	return told(error);
}

/* __managed__ variables are one allocation, made before all others. */
extern char __start_nvw_managed[] __attribute__((weak)), __stop_nvw_managed[] __attribute__((weak));

__attribute__((constructor)) static void take_managed_variables(void)
{
	if (__start_nvw_managed) {
		const size_t bytes = (size_t)(__stop_nvw_managed - __start_nvw_managed);

		(void)insert(place_for(__start_nvw_managed),
			&(struct block){.start = __start_nvw_managed, .bytes = bytes, .kind = MANAGED});
	}
}

/* ---- Allocation --------------------------------------------------------------------------------- */

/* In a program with thrust (include/nvw_cuda_thrust.h), whose algorithms run on the host. */
extern int nvw_cuda_has_thrust __attribute__((weak));

cudaError_t cudaMalloc(void **ret, size_t bytes)
{
	return allocate(bytes, &nvw_cuda_has_thrust ? MANAGED : DEVICE, ret);
}

cudaError_t cudaMallocPitch(void **ret, size_t *ret_pitch, size_t width, size_t height)
{
	*ret_pitch = round_up(width, ALIGNED);
	return allocate(*ret_pitch * height, nvw_cuda_pitched_is_file() ? PITCHED : DEVICE, ret);
}

cudaError_t cudaMallocManaged(void **ret, size_t bytes, unsigned flags)
{
	return allocate(bytes, MANAGED, ret);
}

cudaError_t cudaMallocHost(void **ret, size_t bytes, unsigned flags)
{
	return allocate(bytes, PINNED, ret);
}

cudaError_t cudaHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	return cudaMallocHost(ret, bytes, flags);
}

cudaError_t cudaFreeHost(void *p)
{
	return cudaFree(p);
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
	const struct block b = {.start = p, .bytes = bytes, .kind = REGISTERED};
	cudaError_t error = cudaSuccess;

	if (!p || !bytes) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	pthread_mutex_lock(&mutex);
	if (find(p)) {
		error = cudaErrorHostMemoryAlreadyRegistered;
	} else if (!insert(place_for(p), &b)) {
		error = cudaErrorMemoryAllocation;
	}
	pthread_mutex_unlock(&mutex);
	return nvw_cuda_unless(error, !error);
}

cudaError_t cudaHostUnregister(void *p)
{
	struct block *b;

	pthread_mutex_lock(&mutex);
	b = find(p);
	if (b && b->kind == REGISTERED) {
		forget(b);
	} else {
		b = NULL;
	}
	pthread_mutex_unlock(&mutex);
	return nvw_cuda_unless(cudaErrorHostMemoryNotRegistered, b);
}

cudaError_t cudaHostGetDevicePointer(void **ret, void *host, unsigned flags)
{
	*ret = host; /* unified addressing */
	return cudaSuccess;
}

/* Copies the block at hand, since another thread may move the list. */
static bool copy_nearest(const void *address, struct block *ret)
{
	pthread_mutex_lock(&mutex);
	const struct block *const b = nearest(address);

	if (b) {
		*ret = *b;
	}
	pthread_mutex_unlock(&mutex);
	return b;
}

static bool has(const struct block *b, const void *p, size_t n)
{
	return (const char *)p >= b->start && (const char *)p + n <= b->start + b->bytes;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *p)
{
	static const enum cudaMemoryType types[] = {[DEVICE] = cudaMemoryTypeDevice,
		[MANAGED] = cudaMemoryTypeManaged,
		[PINNED] = cudaMemoryTypeHost,
		[REGISTERED] = cudaMemoryTypeHost,
		[PITCHED] = cudaMemoryTypeDevice};
	struct block b;

	memset(ret, 0, sizeof *ret);
	if (copy_nearest(p, &b) && has(&b, p, 1)) {
		ret->type = types[b.kind];
		ret->devicePointer = (void *)(uintptr_t)p;
		if (b.kind != DEVICE) {
			ret->hostPointer = ret->devicePointer;
		}
	}
	return cudaSuccess;
}

/* A longer way from an allocation says nothing about what was meant. */
enum { NEAR_BYTES = 1 << 20 };

static bool is_near(const struct block *b, const char *at)
{
	if (at < b->start) {
		return (size_t)(b->start - at) <= NEAR_BYTES;
	}
	return (uintptr_t)at - (uintptr_t)b->start <= b->bytes + NEAR_BYTES;
}

/* For the handler of faults: no access that may fault is made under the lock. */
void nvw_cuda_describe_address(const void *address, char *ret_text, size_t n)
{
	const char *const at = address;
	struct block block = {.bytes = 0};
	const bool any = copy_nearest(address, &block);
	const struct block *const b = &block;

	if ((uintptr_t)address < PAGE) {
		snprintf(ret_text, n, "a null pointer");
	} else if (!any) {
		snprintf(ret_text, n, "nothing is allocated");
	} else if (!is_near(b, at)) {
		snprintf(ret_text, n, "no allocation is within 1 MiB of it");
	} else if (at < b->start) {
		snprintf(ret_text, n, "%zu bytes before the allocation of %zu bytes at %p",
			(size_t)(b->start - at), b->bytes, (void *)b->start);
	} else if (at < b->start + b->bytes) {
		snprintf(ret_text, n, "byte %zu of the allocation of %zu bytes at %p",
			(size_t)(at - b->start), b->bytes, (void *)b->start);
	} else {
		snprintf(ret_text, n, "%zu bytes behind the end of the allocation of %zu bytes at %p",
			(size_t)(at - b->start - b->bytes), b->bytes, (void *)b->start);
	}
}

/* ---- Copies ------------------------------------------------------------------------------------- */

/* Host code can write to device memory by copies alone, so it knows all changes. */
static void note_change(const void *to, size_t n)
{
	struct block *b;

	pthread_mutex_lock(&mutex);
	b = device_block(to);
	if (b) {
		const size_t at = (size_t)((const char *)to - b->start);

		if (b->changed >= b->changed_end) { /* nothing yet */
			b->changed = at;
		}
		b->changed = nvw_min(b->changed, at);
		b->changed_end = nvw_max(b->changed_end, at + n);
	}
	pthread_mutex_unlock(&mutex);
}

/* Whether both ends fit the kind. */
static bool is_right_kind(const void *to, const void *from, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
		return !nvw_cuda_is_device_memory(to) && !nvw_cuda_is_device_memory(from);
	case cudaMemcpyHostToDevice:
		return !nvw_cuda_is_device_memory(from);
	case cudaMemcpyDeviceToHost:
		return !nvw_cuda_is_device_memory(to);
	default:
		return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
	}
}

/* Whether the range lies in one allocation, if it is device memory. */
static bool is_inside(const void *p, size_t n)
{
	struct block b;

	return !nvw_cuda_is_device_memory(p) || (copy_nearest(p, &b) && has(&b, p, n));
}

static cudaError_t copy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, const void *place)
{
	if (nvw_cuda_failed()) {
		return nvw_cuda_failed();
	}
	if (!n) {
		return cudaSuccess;
	}
	if (!is_right_kind(to, from, kind)) {
		return nvw_cuda_fail(cudaErrorInvalidMemcpyDirection);
	}
	if (!to || !from || !is_inside(to, n) || !is_inside(from, n)) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	open_block(to);
	open_block(from);
	nvw_cuda_host_copy(to, from, n, place);
	note_change(to, n);
	close_block(from);
	close_block(to);
	return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
	return copy(to, from, n, kind, __builtin_return_address(0));
}

cudaError_t cudaMemcpyAsync(
	void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(to, from, n, kind, __builtin_return_address(0));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	size_t height, enum cudaMemcpyKind kind)
{
	cudaError_t error = cudaSuccess;

	if (width > to_pitch || width > from_pitch) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	open_block(to);
	open_block(from);
	for (size_t row = 0; row < height && !error; row++) {
		error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind,
			__builtin_return_address(0));
	}
	close_block(from);
	close_block(to);
	return error;
}

static cudaError_t fill(void *to, int byte, size_t n, const void *place)
{
	if (nvw_cuda_failed()) {
		return nvw_cuda_failed();
	}
	if (n && (!to || !is_inside(to, n))) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	open_block(to);
	nvw_cuda_host_fill(to, byte, n, place);
	note_change(to, n);
	close_block(to);
	return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t n)
{
	return fill(to, byte, n, __builtin_return_address(0));
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t n, cudaStream_t stream)
{
	return fill(to, byte, n, __builtin_return_address(0));
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
	size_t used = 0;

	pthread_mutex_lock(&mutex);
	NVW_EACH(b, blocks, block_count) {
		if (b->kind == DEVICE) {
			used += b->page_bytes;
		}
	}
	pthread_mutex_unlock(&mutex);
	*ret_total = UINT64_C(16) << 30;
	*ret_free = *ret_total - nvw_min(*ret_total, used);
	return cudaSuccess;
}

/* ---- Variables of the device -------------------------------------------------------------------- */

static cudaError_t describe_symbol(const void *symbol, struct variable_entry *ret)
{
	const struct variable_entry *const v = nvw_cuda_variable_of(symbol);

	memset(ret, 0, sizeof *ret);
	if (!v) {
		return nvw_cuda_fail(cudaErrorInvalidSymbol);
	}
	*ret = *v;
	return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void **ret, const void *symbol)
{
	struct variable_entry v;
	const cudaError_t error = describe_symbol(symbol, &v);

	*ret = v.variable;
	return error;
}

cudaError_t cudaGetSymbolSize(size_t *ret, const void *symbol)
{
	struct variable_entry v;
	const cudaError_t error = describe_symbol(symbol, &v);

	*ret = v.bytes;
	return error;
}

static cudaError_t in_symbol(const void *symbol, size_t n, size_t offset, char **ret)
{
	struct variable_entry v;
	const cudaError_t error = describe_symbol(symbol, &v);

	if (error) {
		return error;
	}
	if (n > v.bytes || offset > v.bytes - n) {
		return nvw_cuda_fail(cudaErrorInvalidValue);
	}
	*ret = (char *)v.variable + offset;
	return nvw_cuda_failed();
}

cudaError_t cudaMemcpyToSymbol(
	const void *symbol, const void *from, size_t n, size_t offset, enum cudaMemcpyKind kind)
{
	char *to = NULL;
	const cudaError_t error = in_symbol(symbol, n, offset, &to);

	return NVW_OR(error, cudaMemcpy(to, from, n, kind));
}

cudaError_t cudaMemcpyFromSymbol(
	void *to, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind)
{
	char *from = NULL;
	const cudaError_t error = in_symbol(symbol, n, offset, &from);

	return NVW_OR(error, cudaMemcpy(to, from, n, kind));
}

/* ---- For the machine ---------------------------------------------------------------------------- */

extern char __start_nvw_device[] __attribute__((weak)), __stop_nvw_device[] __attribute__((weak));

/* Whether the bytes at an address are those of a file that other processes see. */
static bool is_file(const char *address)
{
	FILE *const maps = fopen("/proc/self/maps", "re");
	unsigned long from, to, inode = 0;
	char line[512], shared = 'p';
	bool found = false;

	while (maps && !found && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %*3c%c %*x %*x:%*x %lu", &from, &to, &shared, &inode) == 4) {
			found = (uintptr_t)address >= from && (uintptr_t)address < to;
		}
	}
	if (maps) {
		fclose(maps);
	}
	return found && shared == 's' && inode != 0;
}

static int by_number(const void *a, const void *b)
{
	const struct block *const x = a, *const y = b;

	return NVW_ORDER(x->number, y->number);
}

static struct nvw_cuda_range range_of(const struct block *b)
{
	NVW_INVARIANT(b->changed <= b->changed_end);
	const bool persistent = b->kind == PITCHED || (b->kind == REGISTERED && is_file(b->start));
	struct nvw_cuda_range range = {.start = b->start,
		.bytes = b->bytes,
		.persistent = persistent,
		.pinned = !persistent && (b->kind == PINNED || b->kind == REGISTERED),
		.by_copies = b->kind == DEVICE,
		.changed_end = b->bytes};

	if (range.by_copies) {
		range.changed = b->changed;
		range.changed_end = b->changed_end;
	}
	return range;
}

static size_t list_ranges(struct nvw_cuda_range *to, struct block *in_order)
{
	const size_t n = block_count;

	NVW_INVARIANT(n <= block_room && n <= block_numbers); /* each has had a number */
	memcpy(in_order, blocks, n * sizeof *blocks);
	qsort(in_order, n, sizeof *in_order, by_number);
	NVW_FOR(i, n) {
		to[i] = range_of(&in_order[i]);
		blocks[i].changed = blocks[i].changed_end = 0;
		blocks[i].is_kept = blocks[i].kind == DEVICE;
	}
	return n;
}

/* In the order in which they were made, so that the machine's places do not depend on addresses. For a
 * kernel, which takes over the changes. */
struct nvw_cuda_range *nvw_cuda_ranges(size_t *ret_count)
{
	struct nvw_cuda_range *all;
	struct block *in_order;
	size_t n = 0;

	pthread_mutex_lock(&mutex);
	all = calloc(block_count + 1, sizeof *all);
	in_order = calloc(block_count + 1, sizeof *in_order);
	if (all && in_order) {
		n = list_ranges(all, in_order);
	}
	pthread_mutex_unlock(&mutex);
	if (all && __start_nvw_device) {
		const size_t bytes = (size_t)(__stop_nvw_device - __start_nvw_device);

		all[n++] = (struct nvw_cuda_range){
			.start = __start_nvw_device, .bytes = bytes, .changed_end = bytes};
	}
	free(in_order);
	*ret_count = n;
	return all;
}
