// SPDX-License-Identifier: BSD-3-Clause
// Drives the copy-on-write pages of beaver_gpu, published code. There is no recovery in it yet: the check
// recovers as the comment in beaver_cow.h says.
//
//	beaver write POOL N         page 5 of file 7 is written N times, with the write's number in each word
//	beaver check POOL           the page that the log's last entry names is whole, and not older than the last acknowledged write
//
//	nvwave crash --exec='./beaver write pool 3' --image=pool \
//		--check='./beaver check {}' --machine=gpm22 --states=3000
#include <cstdlib>
#include <cstring>
#include <nvw/ack.h>

#include "beaver_cow.h"

enum { FILE_NUMBER = 7, PAGE = 5, WORDS = BEAVER_PAGE_SIZE / 8, CAPACITY = 16 };

// As beaver_data_write() in beaver_f2fs.cu.
__global__ void write_page(beaver_cache_t *cache, beaver_log_t *log, const uint64_t *page)
{
	const uint64_t id = beaver_data_page_id(FILE_NUMBER, PAGE);
	beaver_holder_t *h = beaver_find_holder(cache, id);

	if (h == NULL) {
		h = beaver_holder_alloc(cache, id);
	}
	beaver_spin_lock(&h->gpu_lock);
	gpm_memcpy_nodrain(beaver_holder_write_addr(h), page, BEAVER_PAGE_SIZE);
	beaver_log_write(log, BLOG_DATA_FLIP, FILE_NUMBER, PAGE, h->cur < 0 ? 0 : (h->cur + 1) % 2);
	beaver_holder_flip(h);
	beaver_spin_unlock(&h->gpu_lock);
}

static const char *fault(void)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"),
		   *end = list == nullptr ? nullptr : strchr(list, '-');
	const uint64_t acknowledged =
		list == nullptr || *list == 0 ? 0 : atoi(end == nullptr ? list : end + 1);
	beaver_log_entry_t *last = nullptr;
	gpm_region_t pages, log;

	gpm_init();
	gpm_alloc(&pages, BEAVER_PAGE_SIZE, "cow");
	gpm_alloc(&log, CAPACITY * sizeof *last, "beaver_log");
	for (int i = 0; i < CAPACITY; i++) {
		beaver_log_entry_t *e = (beaver_log_entry_t *)log.addr + i;

		if (e->magic == BEAVER_LOG_MAGIC && (last == nullptr || e->seq > last->seq)) {
			last = e;
		}
	}
	if (last == nullptr) {
		return acknowledged == 0 ? nullptr : "the log is empty";
	}
	const uint64_t *page = (const uint64_t *)((char *)pages.addr + last->slot * BEAVER_PAGE_SIZE);
	for (int i = 0; i < WORDS; i++) {
		if (page[i] != page[0] || page[0] == 0) {
			return "the log names a page that is not whole";
		}
	}
	return page[0] < acknowledged ? "an acknowledged write is lost" : nullptr;
}

int main(int argc, char **argv)
{
	uint64_t *page;
	beaver_cache_t *cache;
	beaver_log_t *log;

	setenv("BEAVER_POOL", argv[2], 1);
	if (strcmp(argv[1], "check") == 0) {
		freopen("/dev/null", "w", stderr); // the pool is no device, of which gpm_init() warns
		const char *found = fault();
		printf("%s\n", found == nullptr ? "right" : found);
		return found != nullptr;
	}
	cudaMallocManaged(&cache, sizeof *cache);
	cudaMallocManaged(&log, sizeof *log);
	cudaMallocManaged(&page, BEAVER_PAGE_SIZE);
	if (beaver_cache_init(cache, 2) != BEAVER_SUCCESS || beaver_log_init(log, CAPACITY) != 0) {
		return 2;
	}
	for (int n = 1; n <= atoi(argv[3]); n++) {
		nvw_operation_begins(n, "write");
		for (int i = 0; i < WORDS; i++) {
			page[i] = n;
		}
		write_page<<<1, 1>>>(cache, log, page);
		cudaDeviceSynchronize();
		nvw_operation_is_durable(n);
	}
	return 0;
}
