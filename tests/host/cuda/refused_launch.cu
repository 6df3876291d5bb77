// SPDX-License-Identifier: BSD-3-Clause
// A kernel that launches another one: named when it is compiled.
__global__ void child(int *p) { *p = 1; }
__global__ void parent(int *p)
{
	child<<<1, 1>>>(p);
}
