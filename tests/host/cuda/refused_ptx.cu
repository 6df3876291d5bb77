// SPDX-License-Identifier: BSD-3-Clause
// Inline PTX that is not supported is named when it is compiled, each with its line.
__global__ void k(unsigned long long image)
{
	float v;
	unsigned u;
	asm volatile("tex.2d.v4.f32.f32 {%0, %0, %0, %0}, [%1, {%0, %0}];" : "=f"(v) : "l"(image));
	asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 %0, %0, %0;" : "=f"(v));
	asm volatile("L: bra L;");
	asm volatile("mov.u32 %0, %%pm0;" : "=r"(u));
	asm volatile("fence.proxy.async;" ::: "memory");
	asm volatile("bra AWAY;");
	asm volatile("bar.sync 1;");
	asm volatile("redux.sync.add.b32 %0, %0, -1;" : "+r"(u));
}
