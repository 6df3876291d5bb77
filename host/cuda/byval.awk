# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: the device half after its optimization and instrumentation. A structure that is passed by value is copied by the call
# itself, which nothing announces, and the optimizer may have it copied straight out of device memory. So a call that announces it
# is put before each such call: one for all structures of the call, since others may run while one of them is announced.
#
# Likewise for loads and stores of a size that the thread sanitizer leaves out: 3, 5, 6, 7 or 12 bytes, which the optimizer makes of small structures,
# and more than 16, which it makes of several values that are added up.

# A structure of the call that follows. Typed pointers become those of bytes.
function note_structure(type, pointer, value, debug,    name) {
	structures++
	if (pointer == "ptr") {
		list = list ", ptr " value ", i64 ptrtoint (ptr getelementptr (" type ", ptr null, i64 1) to i64)"
	} else {
		name = "%nvw.byval." ++casts
		print "  " name " = bitcast " type "* " value " to i8*" debug
		list = list ", i8* " name ", i64 ptrtoint (" type "* getelementptr (" type ", " type "* null, i64 1) to i64)"
	}
}

function announce_structures(debug) {
	if (structures == 1) {
		single++
		print "  call void @nvw_cuda_before_copy(" substr(list, 3) ")" debug
	} else if (structures) {
		several++
		print "  call void (i32, ...) @nvw_cuda_before_copies(i32 " structures list ")" debug
	}
}

# The operand at the beginning of text: a name, or a constant expression, which ends with the parenthesis that closes its first one.
function operand(text,    i, depth, c) {
	if (text ~ /^[%@]/) {
		match(text, /^[%@]("[^"]*"|[^ ,)]*)/)
		return substr(text, 1, RLENGTH)
	}
	for (i = index(text, "("); i && i <= length(text); i++) {
		c = substr(text, i, 1)
		depth += c == "(" ? 1 : c == ")" ? -1 : 0
		if (depth == 0) {
			return substr(text, 1, i)
		}
	}
	return ""
}

/^  (%[^ ]+ = )?(tail |musttail |notail )?(call|invoke) .* byval\(/ {
	debug = match($0, /, !dbg ![0-9]+/) ? substr($0, RSTART, RLENGTH) : ""
	rest = $0
	structures = 0
	list = ""
	while (match(rest, /[^ (,]+\*? (noundef |nonnull |nocapture |readonly |readnone |noalias |align [0-9]+ |dereferenceable\([0-9]+\) )*byval\([^)]*\)( (noundef|nonnull|nocapture|readonly|readnone|noalias|align [0-9]+|dereferenceable\([0-9]+\)))* /)) {
		found = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		type = found
		sub(/.*byval\(/, "", type)
		sub(/\).*/, "", type)
		value = operand(rest)
		if (value !~ /^[%@]|^(getelementptr|bitcast|addrspacecast|inttoptr) /) {
			print "nvwave-nvcc: byval: " found rest > "/dev/stderr"
			exit 1
		}
		note_structure(type, found ~ /^ptr / ? "ptr" : "typed", value, debug)
	}
	announce_structures(debug)
	opaque = opaque || found ~ /^ptr /
}

BEGIN {
	fixed["half"] = fixed["bfloat"] = 16
	fixed["float"] = 32
	fixed["double"] = fixed["ptr"] = 64
	fixed["x86_fp80"] = 80
}

# Bits of a type as it is stored; 0: one that the sanitizer knows, or has no fixed size.
function odd_bits(type,    parts, element, count, bits) {
	count = 1
	element = type
	if (type ~ /^</) {
		split(substr(type, 2, length(type) - 2), parts, " x ")
		count = parts[1]
		element = parts[2]
	}
	if (element ~ /^i[0-9]+$/) {
		bits = substr(element, 2)
	} else if (element ~ /\*$/) {
		bits = 64
	} else {
		bits = fixed[element]
	}
	bits *= count
	return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? 0 : bits
}

function announce_odd(is_store,    type, pattern, bytes, value, debug, pointer) {
	debug = match($0, /, !dbg ![0-9]+/) ? substr($0, RSTART, RLENGTH) : ""
	match($0, /(load|store) (volatile )?(<[^>]*>|[a-z0-9_]+)/)
	type = substr($0, RSTART, RLENGTH)
	sub(/^(load|store) (volatile )?/, "", type)
	bytes = int((odd_bits(type) + 7) / 8)
	if (!bytes) {
		return
	}
	pattern = type
	gsub(/\*/, "\\*", pattern)
	value = $0
	sub(is_store ? ".*, (" pattern "\\*|ptr) " : ".* (load|store) (volatile )?" pattern ", (" pattern "\\*|ptr) ", "", value)
	pointer = $0 ~ (", ptr ") ? "ptr" : "typed"
	value = operand(value)
	opaque = opaque || pointer == "ptr"
	if (pointer == "ptr") {
		print "  call void @nvw_cuda_before_" (is_store ? "store" : "copy") "(ptr " value ", i64 " bytes ")" debug
	} else {
		print "  %nvw.odd." ++count " = bitcast " type "* " value " to i8*"
		print "  call void @nvw_cuda_before_" (is_store ? "store" : "copy") "(i8* %nvw.odd." count ", i64 " bytes ")" debug
	}
	odd[is_store]++
}

/^  %[^ ]+ = load (volatile )?(i[0-9]+|x86_fp80|<[^>]*>), / { announce_odd(0) }
/^  store (volatile )?(i[0-9]+|x86_fp80|<[^>]*>) / { announce_odd(1) }

{ print }

END {
	if (odd[1]) {
		print "declare void @nvw_cuda_before_store(" (opaque ? "ptr" : "i8*") ", i64)"
	}
	if (single || odd[0]) {
		print "declare void @nvw_cuda_before_copy(" (opaque ? "ptr" : "i8*") ", i64)"
	}
	if (several) {
		print "declare void @nvw_cuda_before_copies(i32, ...)"
	}
}
