# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: which symbols of the two halves get which names. Reads the list of device variables ("shared NAME", "device NAME",
# "extern NAME": without a size, "elsewhere NAME"), those of functions and of their arguments, then nm -S of the host half and of the device half. Writes to the folder tmp
#
#	host.rename host.globalize device.rename localize      lists for objcopy
#	table.s                                                what the runtime looks up
#
# Everything that the device half defines gets the suffix .dev, so that functions for both sides are two functions; what only this
# file may see gets one of its own, and is local again in the end. Device variables keep their names; the host's shadows of them
# get others.

function kernel_of(stub,    at, length_) {
	if (stub ~ /^__device_stub__/) { # extern "C"
		return substr(stub, 16)
	}
	# _ZN1a16__device_stub__kEv: the number is the length of the name that follows
	match(stub, /[0-9]+__device_stub__/)
	at = RSTART
	if (substr(stub, 1, at - 1) ~ /_GLOBAL__N_$/) { # its own digit
		at++
		RLENGTH--
	}
	length_ = substr(stub, at, RLENGTH - 15)
	return substr(stub, 1, at - 1) (length_ - 15) substr(stub, at + RLENGTH)
}

function is_own(name) { # of this file alone
	return name ~ /^_ZL/ || name ~ /^_ZZL/ || name ~ /_GLOBAL__N_/
}

function device_name(name) {
	return name (is_own(name) || own[name] ? ".dev." suffix : ".dev")
}

# How the compiler passes each parameter of a kernel: i in an integer register, c s b and C S likewise, but a signed or (capital, b)
# unsigned number of 8, 16 or 1 bits that is extended; w a number of two words; f in a floating register; m in memory; x a long double,
# in memory, too.
function passed(parameter) {
	if (parameter ~ / byval/) {
		return "m"
	}
	if (parameter ~ /^(float|double|half|<[^>]*>)( |$)/) { # no pointer
		return "f"
	}
	if (parameter ~ /^i128 /) {
		return "w"
	}
	if (parameter ~ /^x86_fp80 /) {
		return "x"
	}
	if (parameter ~ /^i1 /) {
		return "b"
	}
	if (parameter ~ /^i8 .*signext/ || parameter ~ /^i16 .*signext/) {
		return parameter ~ /^i8 / ? "c" : "s"
	}
	if (parameter ~ /^i8 .*zeroext/ || parameter ~ /^i16 .*zeroext/) {
		return parameter ~ /^i8 / ? "C" : "S"
	}
	return "i"
}

function all_passed(text,    result, depth, i, c, start) {
	start = 1
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c ~ /[({\[]/ || (c == "<")) {
			depth++
		} else if (c ~ /[)}\]]/ || c == ">") {
			if (depth-- == 0) {
				break
			}
		} else if (c == "," && depth == 0) {
			result = result passed(substr(text, start, i - start))
			start = i + 2
		}
	}
	return i > start ? result passed(substr(text, start, i - start)) : result
}

FILENAME ~ /functions$/ {
	name = $0
	sub(/^[^@]*@"?/, "", name)
	rest = name
	sub(/"?\(.*/, "", name)
	sub(/^[^(]*\(/, "", rest)
	parameters[name] = all_passed(rest)
	if (match($0, /!dbg ![0-9]+/)) {
		described[name] = substr($0, RSTART + 5, RLENGTH - 5)
	}
	next
}

# The debugger's description of each function's arguments: which function, the number of one. Empty structures are there, too.
FILENAME ~ /arguments$/ {
	count_of[$1] = $2 > count_of[$1] + 0 ? $2 : count_of[$1]
	next
}

FILENAME ~ /variables$/ {
	kind[$2] = kind[$2] == "extern" ? "extern" : $1
	next
}

{ type = $(NF - 1); name = $NF }

FILENAME ~ /host.names$/ {
	if (type ~ /[Uw]/) {
		next
	}
	host[name] = type
	next
}

{ # the device half
	if (type ~ /[Uw]/) {
		undefined[name] = 1
	} else if (type ~ /[TWVDBRtdbrGSgsu]/) {
		device[name] = type
		bytes[name] = $2
	}
	# A shared variable that only one function knows.
	own[name] = kind[name] == "shared" && type !~ /[VWu]/
}

END {
	renamed = tmp "/device.rename"; localized = tmp "/localize"; table = tmp "/table.s"
	host_renamed = tmp "/host.rename"; globalized = tmp "/host.globalize"
	# objcopy wants no empty list.
	print "nvw_cuda_none", "nvw_cuda_none" > renamed; print "nvw_cuda_none" > localized
	print "nvw_cuda_nothing", "nvw_cuda_nothing" > host_renamed; print "nvw_cuda_nothing" > globalized
	print "\t.section nvw_kernels,\"aw\",@progbits" > table

	for (name in device) {
		if (kind[name] == "device") {
			continue
		}
		if (name ~ /^_Z/ || kind[name] == "shared" || name in host) {
			print name, device_name(name) > renamed
			if (is_own(name) || own[name]) {
				print device_name(name) > localized
			}
		}
	}
	for (name in undefined) {
		if (kind[name] == "extern") {
			print name, "nvw_cuda_dynamic_shared" > renamed
		} else if (name ~ /^_Z/ && kind[name] != "elsewhere" && name !~ /^_ZTVN10__cxxabiv1/) {
			print name, device_name(name) > renamed
		} else if (name ~ /^(memcpy|memmove|memset|(frexp|modf|sincos)f?)$/) { # whose stores nothing announces
			print name, "nvw_cuda_" name > renamed
		}
	}
	for (name in host) {
		if (name !~ /__device_stub__/) {
			continue
		}
		stub = name
		kernel = kernel_of(name)
		if (!(kernel in device)) {
			continue # a declaration
		}
		if (host[name] ~ /[a-z]/) {
			stub = name ".host." suffix
			print name, stub > host_renamed
			print stub > globalized
			print stub > localized
		}
		target = kernel ~ /^_Z/ || kernel in host ? device_name(kernel) : kernel
		names = names "\n.Lname" ++count ":\t.asciz \"" kernel "\"\n.Lpassed" count ":\t.asciz \"" parameters[kernel] "\""
		print "\t.quad " stub ", " target ", .Lname" count ", .Lpassed" count ", " arch ", " count_of[described[kernel]] + 0 > table
	}
	print "\t.section nvw_variables,\"aw\",@progbits" > table
	for (name in kind) {
		if (kind[name] == "device" && name in device) {
			shadow = name
			if (name in host) {
				shadow = name ".host." suffix
				print name, shadow > host_renamed
				print shadow > globalized
				print shadow > localized
			}
			if (is_own(name)) {
				print name, name ".dev." suffix > renamed
				print name ".dev." suffix > localized
			}
			print "\t.quad " shadow ", " (is_own(name) ? name ".dev." suffix : name) ", 0x" bytes[name] > table
		}
	}
	print "\t.section .rodata.nvw_kernels,\"a\",@progbits" names > table
	print "\t.section .note.GNU-stack,\"\",@progbits" > table
}
