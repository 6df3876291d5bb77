#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_stored.py AS: the assembler stage of nvwave-cc knows what an instruction stores, in AT&T and in Intel syntax alike.

The table has instructions that store, with the least number of bytes that has to be announced. Each is assembled in AT&T syntax as it
stands here, and in Intel syntax as objdump writes it; the stage's text tells what it announces.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok

STAGE = os.path.realpath(sys.argv[1])
STORES = """
1 movb %al, (%rdi)
2 movw %ax, 8(%rdi)
4 movl $7, (%rdi,%rsi,4)
8 movq %rax, (%rdi)
8 movq $7, (%rdi)
4 addl %eax, (%rdi)
8 adcq $1, (%rdi)
8 subq %rbx, (%rdi)
1 sbbb $1, (%rdi)
4 andl $3, (%rdi)
4 orl %ecx, (%rdi)
8 xorq %rax, (%rdi)
4 incl (%rdi)
8 decq (%rdi)
4 negl (%rdi)
4 notl (%rdi)
4 shll %cl, (%rdi)
4 sarl %cl, (%rdi)
8 rolq %cl, (%rdi)
8 rclq %cl, (%rdi)
4 rcrl %cl, (%rdi)
8 btsq %rax, (%rdi)
4 btcl $3, (%rdi)
1 setne (%rdi)
4 xaddl %eax, (%rdi)
8 cmpxchgq %rbx, (%rdi)
8 cmpxchg8b (%rdi)
16 cmpxchg16b (%rdi)
8 lock cmpxchg8b (%rdi)
8 lock addq $1, (%rdi)
4 xchgl %eax, (%rdi)
8 shldq $3, %rax, (%rdi)
4 movbel %eax, (%rdi)
16 movups %xmm1, (%rdi)
16 movdqa %xmm1, (%rdi)
32 vmovdqu %ymm1, (%rdi)
64 vmovdqu64 %zmm1, (%rdi)
64 vmovdqu8 %zmm1, (%rdi){%k1}
4 movss %xmm1, (%rdi)
8 movsd %xmm1, (%rdi)
8 vmovsd %xmm1, (%rdi)
4 movd %xmm1, (%rdi)
8 movq %xmm1, (%rdi)
8 vmovq %xmm1, (%rdi)
8 movq %mm1, (%rdi)
8 movhps %xmm1, (%rdi)
8 movlpd %xmm1, (%rdi)
2 pextrw $1, %xmm1, (%rdi)
4 vextractps $1, %xmm1, (%rdi)
16 vextractf128 $1, %ymm1, (%rdi)
16 vmaskmovps %xmm1, %xmm2, (%rdi)
16 vpmaskmovd %xmm1, %xmm2, (%rdi)
16 vpmovqd %ymm1, (%rdi)
8 vcvtps2ph $0, %xmm1, (%rdi)
1 kmovb %k1, (%rdi)
2 kmovw %k1, (%rdi)
4 kmovd %k1, (%rdi)
8 kmovq %k1, (%rdi)
4 fsts (%rdi)
8 fstl (%rdi)
4 fstps (%rdi)
8 fstpl (%rdi)
10 fstpt (%rdi)
2 fists (%rdi)
4 fistl (%rdi)
2 fistps (%rdi)
4 fistpl (%rdi)
8 fistpll (%rdi)
2 fisttps (%rdi)
4 fisttpl (%rdi)
8 fisttpll (%rdi)
10 fbstp (%rdi)
2 fnstcw (%rdi)
2 fnstsw (%rdi)
4 stmxcsr (%rdi)
8 movnti %rax, (%rdi)
16 movntdq %xmm1, (%rdi)
32 vmovntps %ymm1, (%rdi)
8 movntq %mm1, (%rdi)
1 stosb
4 stos %eax, (%rdi)
8 stosq
4 movsl
8 rep stosq
"""
LOADS = """
movl (%rdi), %eax
movq (%rdi), %xmm1
vmovdqu (%rdi), %ymm1
cmpl %eax, (%rdi)
testl %eax, (%rdi)
btl $3, (%rdi)
movzbl (%rdi), %eax
fldl (%rdi)
fildl (%rdi)
fstp %st(1)
fldcw (%rdi)
fnstsw %ax
kmovw (%rdi), %k1
kmovq %rax, %k1
lea 8(%rdi), %rax
prefetcht0 (%rdi)
pushq (%rdi)
pextrw $1, %xmm1, %eax
"""
folder = tempfile.TemporaryDirectory(prefix="nvwave-stored-")
os.chdir(folder.name)


def announced(instructions, syntax):
    """The bytes that the stage announces for each; None: nothing."""
    with open("keep", "w") as f:
        f.write('#!/bin/sh\nfor last; do :; done\ncat "$last" >out\n')
    os.chmod("keep", 0o755)
    found = []
    with open("in.s", "w") as f:
        f.write(".intel_syntax noprefix\n" if syntax == "Intel" else "")
        f.writelines("i%d: %s\n" % (n, i) for n, i in enumerate(instructions))
    subprocess.run([STAGE, "in.s"], env=dict(os.environ, NVWAVE_CC_AS=os.path.abspath("keep")), check=True)
    with open("out") as f:
        lines = [l for l in f if re.match(r"i\d+:", l)]
    for line in lines:
        pushed = re.search(r"push \$?(\d+); call __nvwave_cc_instruction", line)
        found.append(int(pushed.group(1)) >> 8 if pushed else None)
    subprocess.run(["as", "out"], check=True)  # what was inserted is assembled
    return found


def in_intel(instructions):
    """As objdump writes them."""
    with open("plain.s", "w") as f:
        f.writelines("%s\n" % i for i in instructions)
    subprocess.run(["as", "-o", "plain.o", "plain.s"], check=True)
    text = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn", "plain.o"], check=True, capture_output=True, text=True)
    return [m.group(1).strip() for m in re.finditer(r"^\s*[0-9a-f]+:\t(.*)$", text.stdout, re.M)]


if not shutil.which("objdump") or not shutil.which("as"):
    print("1..0 # SKIP binutils are missing")
    sys.exit(0)
print("1..4")
stores = [line.split(None, 1) for line in STORES.split("\n") if line]
for syntax in ("AT&T", "Intel"):
    texts = [text for _, text in stores]
    texts = in_intel(texts) if syntax == "Intel" else texts
    got = announced(texts, syntax)
    wrong = ["%s: %s announced, %s bytes stored" % (text, "nothing" if g is None else "%d bytes" % g, bytes)
             for text, g, (bytes, _) in zip(texts, got, stores) if g is None or g < int(bytes)]
    ok(len(got) == len(stores) and not wrong, "each_store_is_announced_in_%s_syntax" % syntax.replace("&", ""), *wrong)
    texts = [line for line in LOADS.split("\n") if line]
    texts = in_intel(texts) if syntax == "Intel" else texts
    got = announced(texts, syntax)
    wrong = ["%s: %s bytes announced" % (text, g) for text, g in zip(texts, got) if g is not None]
    ok(len(got) == len(texts) and not wrong, "what_only_loads_is_not_announced_in_%s_syntax" % syntax.replace("&", ""), *wrong)
