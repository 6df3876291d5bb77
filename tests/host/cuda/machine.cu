// SPDX-License-Identifier: BSD-3-Clause
// What only a machine with caches, races and persistent memory shows, one a mode.
#include <fcntl.h>
#include <nvw_persist.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

__global__ void hand_over(int *data, volatile int *flag)
{
	if (blockIdx.x == 0) {
		*data = 42;
		__threadfence();
		*flag = 1;
	} else {
		while (!*flag) {
		}
		__threadfence();
		data[16] = *data;
	}
}

__global__ void hand_over_without_fences(int *data, volatile int *flag)
{
	if (blockIdx.x == 0) {
		*data = 42; // line 28
		*flag = 1;
	} else {
		data[32] = *data; // line 31: this CU has the line now, and with it the old value
		while (!*flag) {
		}
		data[16] = *data;
	}
}

__global__ void sums_up(int *p, int n)
{
	for (int i = 0; i < n; i++) {
		atomicAdd(p, 1);
	}
}

__global__ void appends(unsigned long long *log, unsigned mode)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	log[8 * i + 8] = i + 1;
	if (mode == 1) {
		nvw_persist_barrier();
	} else if (mode == 2) {
		nvw_persist_barrier_block();
	} else if (mode == 3) {
		__threadfence_system();
	} else { // SBRP's oFence and pRel; the mark is in another line
		asm volatile("fence.acq_rel.gpu;" ::: "memory");
		asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(&log[8 * (63 - i) + 10]), "l"(1ull) : "memory");
		return;
	}
	log[8 * i + 9] = 1;
}

// A load that no hook announces.
template <class T> __device__ __attribute__((noinline, no_sanitize("thread"))) T unannounced(const T *p)
{
	return *p;
}

// What a work-item has stored is in the machine alone when it loads it again, by accesses of all sizes, aligned and not.
template <class T> __global__ void stores_and_loads(volatile T *p, T *q)
{
	const unsigned i = threadIdx.x;

	q[i] = (T)(q[i] + i + 1);
	__syncthreads();
	p[64 + i] = unannounced(&q[i]);
	__syncthreads();
	q[64 + i] = (T)(q[(i + 1) % 64] + 1);
	p[i] = q[64 + i];
	p[i] = (T)(p[i] * 2);
}

struct __attribute__((packed)) odd {
	char before;
	int value;
	bool operator==(int other) const { return value == other; }
};

__global__ void stores_and_loads_odd(odd *q)
{
	const unsigned i = threadIdx.x;

	q[i].value += (int)i + 1;
	__syncthreads();
	q[64 + i].value = q[(i + 1) % 64].value + 1;
}

template <class T> static int wrong_loads(void *memory)
{
	T q[128], p[128], poison;
	int wrong = 0;

	memset(&poison, 0xa5, sizeof poison);
	for (int i = 0; i < 64; i++) {
		q[i] = (T)(3 * i);
	}
	cudaMemcpy(memory, q, sizeof q, cudaMemcpyHostToDevice);
	stores_and_loads<T><<<1, 64>>>((T *)memory + 128, (T *)memory);
	cudaMemcpy(q, memory, sizeof q, cudaMemcpyDeviceToHost);
	cudaMemcpy(p, (T *)memory + 128, sizeof p, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 64; i++) {
		wrong += q[64 + i] != (T)(4 * ((i + 1) % 64) + 2) || p[i] != (T)(2 * q[64 + i]) || p[64 + i] != poison;
	}
	return wrong;
}

static int wrong_odd_loads(void *memory)
{
	odd q[128] = {};
	int wrong = 0;

	cudaMemcpy(memory, q, sizeof q, cudaMemcpyHostToDevice);
	stores_and_loads_odd<<<1, 64>>>((odd *)memory);
	cudaMemcpy(q, memory, sizeof q, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 64; i++) {
		wrong += !(q[64 + i] == (i + 1) % 64 + 2);
	}
	return wrong;
}

// Of a crash state: what is marked is there.
static int check(const char *path)
{
	static unsigned long long log[8 * 65];
	FILE *const f = fopen(path, "r");

	if (!f || fread(log, sizeof *log, 8 * 65, f) == 0) {
		return 0; // not made yet
	}
	for (unsigned i = 0; i < 64; i++) {
		if (log[8 * (63 - i) + 10] && log[8 * i + 8] != i + 1) {
			printf("entry %u is marked and not there\n", i);
			return 1;
		}
	}
	return 0;
}

static int persistent(unsigned mode, const char *path)
{
	const size_t bytes = 64 * 65;
	const int fd = open(path, O_RDWR | O_CREAT, 0666);

	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		return 2;
	}
	unsigned long long *const log = (unsigned long long *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	cudaHostRegister(log, bytes, cudaHostRegisterMapped);
	log[0] = 7;
	appends<<<2, 32>>>(log, mode);
	const cudaError_t error = cudaDeviceSynchronize();

	printf("%llu %llu %llu\n", log[0], log[8 * 63 + 8], log[8 * 63 + 9]);
	return error != cudaSuccess;
}

// The second launch has more blocks, and no room for another mapping.
static void with_little_memory(int *p)
{
	struct rlimit before, little;
	long pages = 0;
	FILE *const f = fopen("/proc/self/statm", "r");

	sums_up<<<1, 32>>>(p, 1);
	if (!f || fscanf(f, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &before)) {
		printf("no limit\n");
		return;
	}
	little = before;
	little.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 10);
	setrlimit(RLIMIT_AS, &little);
	sums_up<<<64, 32>>>(p, 1);
	setrlimit(RLIMIT_AS, &before);
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}

__global__ void counts_between_fences(int *p)
{
	atomicAdd(p, 1);
	__threadfence_block();
	atomicAdd(p, 1);
	__threadfence();
}

// The fences of the two tell neither of the other: nothing has been read that the first one wrote.
__global__ void hand_over_by_fences_alone(int *data)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i == 0) {
		*data = 42; // line 203
		__threadfence();
	} else if (i == 4096) {
		for (int k = 0; k < 100; k++) {
			__threadfence();
		}
		data[16] = *data; // line 209
	}
}

// ---- Publication by an atomic, of which the other work-item takes no notice

enum publication { LAST, IN_BRANCHES };

static __device__ bool publish(int *head, int from, int to)
{
	return atomicCAS(head, from, to) == from; // publish
}

__global__ void published(int *head, publication how)
{
	if (blockIdx.x == 1) {
		*head = 4; // unpublished
	} else if (how == LAST) {
		atomicCAS(head, 0, 5); // the kernel's last call
	} else if (head[16]) {
		publish(head, 0, 6);
	} else {
		publish(head, 0, 7);
	}
}

// ---- Accesses past the L1, which may have the line, and keep it

static __device__ int past_the_l1(int *p, int how)
{
	int v;

	if (how == 0) {
		return __ldcg(p);
	}
	if (how == 1) {
		return __ldcv((int2 *)p).x;
	}
	asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

__global__ void hand_over_past_the_l1(int *p, int how)
{
	if (blockIdx.x == 1) {
		const int before = *p;

		while (past_the_l1(p, how) == 0) {
		}
		p[16] = past_the_l1(p, how) + before;
	} else if (p[512] == 0) { // the other has the line by then
		__stcg(p, 5 + how);
	}
}

__global__ void adds_one(int *p)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
// So many work-items, and the most memory that the process had, in KiB.
static int resident(unsigned n)
{
	struct rusage used;
	int *p, last;

	cudaMalloc(&p, n * sizeof *p);
	cudaMemset(p, 0, n * sizeof *p);
	adds_one<<<n / 256, 256>>>(p);
	cudaMemcpy(&last, p + n - 1, sizeof last, cudaMemcpyDeviceToHost);
	getrusage(RUSAGE_SELF, &used);
	printf("%ld\n", used.ru_maxrss);
	return last != 1;
}

int main(int argc, char **argv)
{
	const char *const mode = argc > 1 ? argv[1] : "";
	int *p, found[33];

	if (!strncmp(mode, "persist", 7)) {
		return persistent((unsigned)(mode[7] - '0'), argc > 2 ? argv[2] : "pool");
	}
	if (!strcmp(mode, "check")) {
		return check(argv[2]);
	}
	if (!strcmp(mode, "resident")) {
		return resident((unsigned)atoi(argv[2]));
	}
	cudaMalloc(&p, 4096);
	cudaMemset(p, 0, 4096);
	if (!strcmp(mode, "loads")) {
		printf("%d wrong\n", wrong_loads<unsigned char>(p) + wrong_loads<short>(p) + wrong_loads<int>(p) +
					     wrong_loads<long long>(p) + wrong_odd_loads(p));
		return cudaDeviceSynchronize() != cudaSuccess;
	}
	if (!strcmp(mode, "fences")) {
		hand_over<<<2, 1>>>(p, p + 512);
	} else if (!strcmp(mode, "no-fences")) {
		hand_over_without_fences<<<2, 1>>>(p, p + 512);
	} else if (!strncmp(mode, "past", 4)) {
		hand_over_past_the_l1<<<2, 1>>>(p, mode[4] - '0');
	} else if (!strcmp(mode, "published")) {
		published<<<2, 1>>>(p, LAST);
	} else if (!strcmp(mode, "published-in-branches")) {
		published<<<2, 1>>>(p, IN_BRANCHES);
	} else if (!strcmp(mode, "many-fences")) {
		counts_between_fences<<<65, 64>>>(p);
	} else if (!strcmp(mode, "fences-alone")) {
		hand_over_by_fences_alone<<<65, 64>>>(p);
	} else if (!strcmp(mode, "memory")) {
		with_little_memory(p);
		return 0;
	} else {
		sums_up<<<4, 64>>>(p, 3);
		sums_up<<<1, 64>>>(p, 1);
	}
	cudaMemcpy(found, p, sizeof found, cudaMemcpyDeviceToHost);
	printf("%d %d\n", found[0], found[16]);
	return cudaDeviceSynchronize() != cudaSuccess;
}
