// SPDX-License-Identifier: BSD-3-Clause
// What host code changes between kernels, in every way that it has, the next kernel sees; a twin on the host says what is right.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 1 << 14 };
__device__ int variable[N];

__global__ void change(int *device, int *managed, int *pinned)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 3 == 0) { // not all lines
		device[i] = device[i] * 3 + managed[i] + pinned[i] + variable[i];
	}
	if (i % 100 == 0) {
		managed[i] += device[i];
		pinned[i] ^= managed[i];
		variable[i] += 1;
	}
}

static void change_twin(int *device, int *managed, int *pinned, int *symbol)
{
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0) {
			device[i] = (int)((unsigned)device[i] * 3 + managed[i] + pinned[i] + symbol[i]);
		}
		if (i % 100 == 0) {
			managed[i] = (int)((unsigned)managed[i] + device[i]);
			pinned[i] ^= managed[i];
			symbol[i] += 1;
		}
	}
}

static int device_twin[N], managed_twin[N], pinned_twin[N], symbol_twin[N], values[N], result[N];

static void copies(int *device, unsigned round)
{
	const unsigned at = rand() % N, n = rand() % (N - at), to = rand() % N, from = rand() % N;
	const unsigned moved = rand() % (N - (to > from ? to : from));

	for (unsigned i = 0; i < N; i++) {
		values[i] = rand();
	}
	if (round % 4 == 1) { // one line, and one far away
		cudaMemcpy(device + N - 5, values, 4 * sizeof(int), cudaMemcpyHostToDevice);
		memcpy(device_twin + N - 5, values, 4 * sizeof(int));
		cudaMemset(device + 7, 0x5a, sizeof(int));
		memset(device_twin + 7, 0x5a, sizeof(int));
	}
	if (round % 4 == 2) {
		cudaMemcpy(device + at, values + at, n * sizeof(int), cudaMemcpyHostToDevice);
		memcpy(device_twin + at, values + at, n * sizeof(int));
		cudaMemcpyToSymbol(variable, values, sizeof(int) * 100, 4 * at / 2);
		memcpy((char *)symbol_twin + 4 * at / 2, values, sizeof(int) * 100);
	}
	if (round % 4 == 3) { // columns of a matrix of 128 columns; then within the device
		cudaMemcpy2D(device + 3, 128 * sizeof(int), values, 64 * sizeof(int), 60 * sizeof(int), N / 128, cudaMemcpyHostToDevice);
		for (int row = 0; row < N / 128; row++) {
			memcpy(device_twin + 3 + 128 * row, values + 64 * row, 60 * sizeof(int));
		}
		cudaMemcpy(device + to, device + from, moved * sizeof(int), cudaMemcpyDeviceToDevice);
		memmove(device_twin + to, device_twin + from, moved * sizeof(int));
	}
}

// It makes a new machine, which must begin with what the old one had, also if nobody has copied that.
static void map_file()
{
	const int file = open("changes.file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (file >= 0 && ftruncate(file, 1 << 16) == 0) {
		cudaHostRegister(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), 1 << 16, 0);
	}
}

static int *device, wrong;

static void compare_device()
{
	cudaMemcpy(result, device, sizeof result, cudaMemcpyDeviceToHost);
	wrong += memcmp(result, device_twin, sizeof result) != 0;
}

// Device memory may be copied as late as this.
static struct at_end {
	~at_end()
	{
		compare_device();
		printf("wrong: %d, %s\n", wrong, cudaGetErrorName(cudaDeviceSynchronize()));
	}
} at_end;

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? atoi(argv[1]) : 40;
	int *managed, *pinned;

	cudaMalloc(&device, N * sizeof(int));
	cudaMallocManaged(&managed, N * sizeof(int));
	cudaMallocHost(&pinned, N * sizeof(int));
	cudaMemset(device, 0, N * sizeof(int));
	for (unsigned round = 0; round < rounds; round++) {
		copies(device, round);
		for (int i = 0; i < 20; i++) {
			const int at = rand() % N;

			managed[at] = managed_twin[at] = rand();
			pinned[N - 1 - at] = pinned_twin[N - 1 - at] = rand();
		}
		if ((round + 1) % 8 < 2) { // other memory, at the same address if need be, and again if nobody has looked at it
			cudaFree(device);
			cudaMalloc(&device, N * sizeof(int));
			memset(device_twin, 0, sizeof device_twin);
		}
		if (round == 20) {
			map_file();
		}
		change<<<N / 256, 256>>>(device, managed, pinned);
		change_twin(device_twin, managed_twin, pinned_twin, symbol_twin);
		if (round % 5 == 0) { // else the next kernel, machine or allocation comes first
			compare_device();
		}
		wrong += memcmp(managed, managed_twin, sizeof result) || memcmp(pinned, pinned_twin, sizeof result);
		cudaMemcpyFromSymbol(result, variable, sizeof result);
		wrong += memcmp(result, symbol_twin, sizeof result) != 0;
	}
	return 0;
}
