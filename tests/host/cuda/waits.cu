// SPDX-License-Identifier: BSD-3-Clause
// waits late: a kernel waits for a store that host code makes behind the launch. waits thread: another thread makes it. waits sleep: __nanosleep().
#include <cstdio>
#include <cstring>
#include <pthread.h>

__global__ void wait(volatile int *flag)
{
	while (*flag == 0) { // line 9
	}
}
__global__ void sleep_for(unsigned ns)
{
	__nanosleep(ns);
}

static void *store(void *flag)
{
	*(volatile int *)flag = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	int *flag;
	pthread_t thread;

	cudaHostAlloc(&flag, sizeof *flag, 0);
	*flag = 0;
	if (argc > 1 && !strcmp(argv[1], "sleep")) {
		sleep_for<<<1, 32>>>(5000);
		return cudaDeviceSynchronize();
	}
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, store, flag);
	}
	wait<<<1, 32>>>(flag);
	*flag = 1;
	printf("%d\n", cudaDeviceSynchronize());
	return 0;
}
