# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: the device half as LLVM's text, before it is optimized.
#
# A __shared__ variable is the one kind that has no initial value (parts of others, their padding, may have none). It goes into a section, where the runtime finds it, and is no longer
# internal: an optimizer that knew all accesses would move some across barriers. A __device__ or __constant__ variable, which the
# host initializes, goes into a section, too.

/^@[^=]* = .* undef(, comdat(\([^)]*\))?)?(, align [0-9]+)?(, ![a-z]+ ![0-9]+)*$/ {
	s/^(@[^=]* = )internal /\1/
	s/ undef((, comdat(\([^)]*\))?)?(, align [0-9]+)?(, ![a-z]+ ![0-9]+)*)$/ undef, section "nvw_shared"\1/
}
/^@[^=]* = .*externally_initialized/ {
	/ external /! {
		s/^(@[^=]* = )internal /\1/
		s/((, comdat(\([^)]*\))?)?(, align [0-9]+)?(, ![a-z]+ ![0-9]+)*)$/, section "nvw_device"\1/
	}
}
