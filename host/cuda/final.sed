# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: the device half, optimized and announced, as it is compiled.
#
# Its hooks have names of their own, beside those of host code. Its functions ask before they make a frame, whether there is room for it
# (runtime/stack.S); the compiler cannot do that for variadic ones.

s/@__tsan_/@nvw_tsan_/g
/^define .*\.\.\.\) /!s/^(define .*) (#[0-9]+)/\1 "split-stack" \2/
