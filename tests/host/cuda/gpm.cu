// SPDX-License-Identifier: BSD-3-Clause
// Programs by the names of GPM's library.
//
//	gpm functions            every function does what its header says
//	gpm move BATCHES [BUG]   transactions in two files, accounts and their log; BUG: unlogged, early (the log is cleared before the new
//	                         values are durable), outside (persists where data direct I/O is on)
//	gpm read                 a kernel reads a word of a file and one of pinned memory
//	gpm late                 a file is mapped between two kernels
//	gpm copy, copied         copies of the host into a file, unordered; their check
//	gpm check                recovers, and finds every pair of accounts with its sum
#include <libgpm.cuh>
#include <libgpmcp.cuh>
#include <libgpmlog.cuh>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, SUM = 200 };

#define CHECK(condition)                                                      \
	do {                                                                  \
		if (!(condition)) {                                           \
			printf("line %d: not so: %s\n", __LINE__, #condition); \
			exit(1);                                              \
		}                                                             \
	} while (0)

// ---- Functions

__global__ void copies(char *pm, char *from, int *is_pm)
{
	gpm_memcpy(pm + 1, from, 13, cudaMemcpyDeviceToDevice);
	gpm_memcpy_nodrain(pm + 16, from, 21, cudaMemcpyDeviceToDevice);
	gpm_memset(pm + 40, 0x5a, 11);
	gpm_persist();
	gpm_persist(pm, 64);
	gpm_drain();
	*is_pm = gpm_is_pmem(pm, 64) && !gpm_is_pmem(from, 64);
}

static void check_copies(void)
{
	size_t len = 64, found = 0;
	char *pm = (char *)gpm_map_file("copies.dat", len, true), text[64], *from;
	int *is_pm;

	memset(pm, 0, len);
	for (int i = 0; i < 64; i++) {
		text[i] = (char)(i + 1);
	}
	cudaMalloc(&from, 64);
	cudaMallocManaged(&is_pm, sizeof *is_pm);
	cudaMemcpy(from, text, 64, cudaMemcpyHostToDevice);
	gpm_persist_begin();
	copies<<<1, 1>>>(pm, from, is_pm);
	gpm_persist_end();
	CHECK(cudaDeviceSynchronize() == cudaSuccess && *is_pm);
	CHECK(pm[0] == 0 && !memcmp(pm + 1, text, 13) && pm[14] == 0);
	CHECK(!memcmp(pm + 16, text, 21) && pm[37] == 0 && pm[39] == 0 && pm[40] == 0x5a && pm[50] == 0x5a && pm[51] == 0);
	CHECK(gpm_memset(pm, 7, 9) == cudaSuccess && pm[8] == 7 && pm[9] == text[8]);
	CHECK(gpm_memcpy(pm + 3, text, 60, cudaMemcpyHostToDevice) == cudaSuccess && !memcmp(pm + 3, text, 60));
	CHECK(gpm_unmap("copies.dat", pm, len) == cudaSuccess);
	pm = (char *)gpm_map_file("copies.dat", found, false);
	CHECK(pm && found == 64 && !memcmp(pm + 3, text, 60));
	CHECK(gpm_unmap(pm, found) == cudaSuccess);
	found = 0;
	CHECK(!gpm_map_file("missing.dat", found, false));
}

struct entry {
	int item;
	char text[6];
};

__global__ void push(gpmlog *log, int partition)
{
	entry e = {(int)threadIdx.x, "abcde"};

	gpmlog_insert(log, &e, sizeof e, partition < 0 ? -1 : (int)threadIdx.x % partition);
	e.item += 1000;
	gpmlog_insert(log, &e, sizeof e, partition < 0 ? -1 : (int)threadIdx.x % partition);
}

__global__ void pop(gpmlog *log, int partitions, int *seen, int *bad)
{
	entry e = {};
	const int p = partitions < 0 ? -1 : (int)threadIdx.x % partitions;

	for (int i = 0; i < 2; i++) {
		if (gpmlog_read(log, &e, sizeof e, p) != sizeof e || gpmlog_read_remove(log, &e, sizeof e, p) != sizeof e ||
			e.text[4] != 'e') {
			atomicAdd(bad, 1);
		} else {
			atomicAdd(&seen[e.item % 1000], 1);
		}
	}
	__syncthreads();
	if (!gpmlog_is_empty(log, p) || gpmlog_get_size(log, p) != 0 || gpmlog_remove(log, 1, p) != -1) {
		atomicAdd(bad, 1);
	}
}

__global__ void fill_and_clear(gpmlog *log, int *fits)
{
	int word = 1;

	while (gpmlog_insert(log, &word, sizeof word, 0) == sizeof word) {
		++*fits;
	}
	gpmlog_clear(log, 0);
	*fits += gpmlog_is_empty(log, 0) ? 1000 : 0;
	*fits += gpmlog_insert(log, &word, sizeof word, gpmlog_get_partitions(log)) == -1 ? 10000 : 0;
}

static void check_log(bool coalesced)
{
	int *count;
	size_t len = 4096;
	const char *const path = coalesced ? "hcl.log" : "conv.log";
	gpmlog *log = coalesced ? gpmlog_create_managed(path, len, 1, 64) : gpmlog_create(path, len, 8);

	cudaMallocManaged(&count, 66 * sizeof *count);
	memset(count, 0, 66 * sizeof *count);
	push<<<1, 64>>>(log, coalesced ? -1 : 8);
	CHECK(cudaDeviceSynchronize() == cudaSuccess);
	gpmlog_close(log);
	log = gpmlog_open(path);
	CHECK(log && gpmlog_get_partitions(log) == (coalesced ? 64 : 8));
	if (coalesced) {
		pop<<<1, 64>>>(log, -1, count, &count[64]);
	} else { // a stack of others, too: one work-item each
		pop<<<1, 8>>>(log, 8, count, &count[64]);
		CHECK(cudaDeviceSynchronize() == cudaSuccess && count[64] == 8);
		gpmlog_close(log);
		log = gpmlog_create("conv.log", len, 8);
		push<<<1, 8>>>(log, 8);
		memset(count, 0, 66 * sizeof *count);
		pop<<<1, 8>>>(log, 8, count, &count[64]);
	}
	CHECK(cudaDeviceSynchronize() == cudaSuccess && count[64] == 0);
	for (int i = 0; i < (coalesced ? 64 : 8); i++) {
		CHECK(count[i] == 2);
	}
	fill_and_clear<<<1, 1>>>(log, &count[65]);
	CHECK(cudaDeviceSynchronize() == cudaSuccess);
	CHECK(count[65] == 11000 + (coalesced ? 16 : 128));
	gpmlog_close(log);
}

static void check_checkpoints(void)
{
	float *a, *b, back[100];
	gpmcp *cp = gpmcp_create("state.cp", 300 * sizeof(float), 2, 1);

	cudaMalloc(&a, 100 * sizeof *a);
	cudaMalloc(&b, 200 * sizeof *b);
	CHECK(gpmcp_register(cp, a, 100 * sizeof *a, 0) == 0 && gpmcp_register(cp, b, 200 * sizeof *b, 0) == 1);
	CHECK(gpmcp_register(cp, b, 4, 0) == -1 && gpmcp_register(cp, b, 4, 1) == -1);
	CHECK(gpmcp_restore(cp, 0) == -1);
	for (int version = 1; version <= 3; version++) {
		cudaMemset(a, version, 100 * sizeof *a);
		cudaMemset(b, 16 + version, 200 * sizeof *b);
		CHECK(gpmcp_checkpoint(cp, 0) == 0);
	}
	cudaMemset(a, 0, 100 * sizeof *a);
	gpmcp_close(cp);
	cp = gpmcp_open("state.cp");
	CHECK(gpmcp_register(cp, a, 100 * sizeof *a, 0) == 0 && gpmcp_register(cp, b, 200 * sizeof *b, 0) == 1);
	CHECK(gpmcp_restore(cp, 0) == 0);
	cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost);
	CHECK(((unsigned char *)back)[0] == 3 && ((unsigned char *)back)[399] == 3);
	cudaMemcpy(back, b + 100, sizeof back, cudaMemcpyDeviceToHost);
	CHECK(((unsigned char *)back)[399] == 19);
	gpmcp_close(cp);
}

// ---- Transactions

__global__ void move(long long *account, gpmlog *log, int bug)
{
	long long old[2] = {account[threadIdx.x], account[threadIdx.x + N / 2]}, now = old[0] - 1;

	if (bug != 1) {
		gpmlog_insert(log, old, sizeof old);
	}
	gpm_memcpy(&account[threadIdx.x], &now, sizeof now, cudaMemcpyDeviceToDevice);
	now = old[1] + 1;
	gpm_memcpy_nodrain(&account[threadIdx.x + N / 2], &now, sizeof now, cudaMemcpyDeviceToDevice);
	if (bug != 2) {
		gpm_persist();
	}
	gpmlog_clear(log);
}

__global__ void recover(long long *account, gpmlog *log)
{
	long long old[2];

	if (!gpmlog_is_empty(log)) {
		gpmlog_read(log, old, sizeof old);
		gpm_memcpy(&account[threadIdx.x], &old[0], sizeof *old, cudaMemcpyDeviceToDevice);
		gpm_memcpy(&account[threadIdx.x + N / 2], &old[1], sizeof *old, cudaMemcpyDeviceToDevice);
		gpmlog_clear(log);
	}
}

static int move_all(int batches, const char *bug)
{
	size_t len = (N + 1) * sizeof(long long), log_len = 2 * N * sizeof(long long);
	long long *const account = (long long *)gpm_map_file("accounts", len, true);
	gpmlog *const log = gpmlog_create_managed("accounts.log", log_len, 1, N / 2);

	if (!account || !log) {
		return 2;
	}
	for (int i = 0; i < N; i++) {
		account[i] = SUM / 2;
	}
	pmem_mt_persist(account, len);
	account[N] = 1;
	pmem_mt_persist(&account[N], sizeof *account);
	if (strcmp(bug, "outside")) {
		gpm_persist_begin();
	}
	for (int i = 0; i < batches; i++) {
		move<<<1, N / 2>>>(account, log, !strcmp(bug, "unlogged") ? 1 : !strcmp(bug, "early") ? 2 : 0);
	}
	gpm_persist_end();
	return cudaDeviceSynchronize() != cudaSuccess;
}

static int check(void)
{
	size_t len = 0;
	long long *const account = (long long *)gpm_map_file("accounts", len, false);
	gpmlog *const log = account ? gpmlog_open("accounts.log") : NULL;

	if (!log || !account[N]) {
		printf("it has not begun\n");
		return 0;
	}
	recover<<<1, N / 2>>>(account, log);
	if (cudaDeviceSynchronize() != cudaSuccess) {
		return 2;
	}
	for (int i = 0; i < N / 2; i++) {
		if (account[i] + account[i + N / 2] != SUM) {
			printf("accounts %d and %d have %lld and %lld\n", i, i + N / 2, account[i], account[i + N / 2]);
			return 1;
		}
	}
	printf("all pairs have their sum\n");
	return 0;
}

__global__ void read_both(const int *file, const int *pinned, int *sum)
{
	*sum = *file + *pinned;
}

static int read_words(void)
{
	size_t len = 4096;
	int *const file = (int *)gpm_map_file("words", len, true), *pinned, *sum;

	cudaMallocHost(&pinned, 4096);
	cudaMalloc(&sum, 4);
	read_both<<<1, 1>>>(file, pinned, sum);
	return cudaDeviceSynchronize() != cudaSuccess;
}

__global__ void walk(const int *at, long long *times, int *sum)
{
	times[0] = clock64();
	for (int i = 0; i < 16; i++) {
		atomicAdd(sum, at[16 * i]);
	}
	times[1] = clock64();
}

// A file that is mapped between two kernels: time goes on, and the second kernel finds what the first brought into the L2.
static int map_late(void)
{
	size_t len = 1 << 20;
	long long *times, first;
	int *at, *sum;

	CHECK(gpm_map_file("early", len, true));
	cudaMallocManaged(&times, 2 * sizeof *times);
	cudaMalloc(&at, 1024);
	cudaMalloc(&sum, 4);
	walk<<<1, 1>>>(at, times, sum);
	first = times[1] - times[0];
	const long long ended = times[1];

	CHECK(gpm_map_file("late", len, true));
	walk<<<1, 1>>>(at, times, sum);
	printf("%s, %s\n", times[0] > ended ? "later" : "earlier", times[1] - times[0] < first ? "warm" : "cold");
	return 0;
}

// The host's copies: a value, and behind it, in a line of its own, that it is there.
static int copy_words(void)
{
	size_t len = 4096;
	long long *const word = (long long *)gpm_map_file("copied", len, true), value = 17;

	if (!word) {
		return 2;
	}
	cudaMemcpy(word, &value, sizeof value, cudaMemcpyHostToDevice);
	cudaMemset(word + 8, 1, sizeof value);
	return gpm_unmap(word, len) != cudaSuccess;
}

static int check_copied(void)
{
	size_t len = 0;
	const long long *const word = (long long *)gpm_map_file("copied", len, false);

	return word && word[8] && word[0] != 17;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "move")) {
		return move_all(atoi(argv[2]), argc > 3 ? argv[3] : "");
	}
	if (argc > 1 && !strcmp(argv[1], "check")) {
		return check();
	}
	if (argc > 1 && !strcmp(argv[1], "read")) {
		return read_words();
	}
	if (argc > 1 && !strcmp(argv[1], "copy")) {
		return copy_words();
	}
	if (argc > 1 && !strcmp(argv[1], "copied")) {
		return check_copied();
	}
	if (argc > 1 && !strcmp(argv[1], "late")) {
		return map_late();
	}
	check_copies();
	check_log(false);
	check_log(true);
	check_checkpoints();
	printf("all hold\n");
	return 0;
}
