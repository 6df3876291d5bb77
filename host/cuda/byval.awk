# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: the device half after its optimization and instrumentation. A structure that is passed by value is copied by the call
# itself, which nothing announces, and the optimizer may have it copied straight out of device memory. So a call that announces it
# is put before each such call.
#
# Likewise for loads and stores of 3, 5, 6, 7 or 12 bytes, which the optimizer makes of small structures and the thread sanitizer leaves out.

function announce(type, pointer, value, debug,    name) {
	name = "%nvw.byval." ++calls
	if (pointer == "ptr") {
		print "  call void @nvw_cuda_before_copy(ptr " value ", i64 ptrtoint (ptr getelementptr (" type ", ptr null, i64 1) to i64))" debug
	} else {
		print "  " name " = bitcast " type "* " value " to i8*" debug
		print "  call void @nvw_cuda_before_copy(i8* " name ", i64 ptrtoint (" type "* getelementptr (" type ", " type "* null, i64 1) to i64))" debug
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
		announce(type, found ~ /^ptr / ? "ptr" : "typed", value, debug)
	}
	opaque = opaque || found ~ /^ptr /
}

function announce_odd(is_store,    parts, type, bytes, value, debug, pointer) {
	debug = match($0, /, !dbg ![0-9]+/) ? substr($0, RSTART, RLENGTH) : ""
	match($0, /(load|store) (volatile )?i[0-9]+/)
	type = substr($0, RSTART, RLENGTH)
	sub(/.* i/, "", type)
	if (type == 1 || type == 8 || type == 16 || type == 32 || type == 64 || type == 128) {
		return
	}
	bytes = int((type + 7) / 8)
	value = $0
	sub(is_store ? ".*, (i" type "\\*|ptr) " : ".* (load|store) (volatile )?i" type ", (i" type "\\*|ptr) ", "", value)
	pointer = $0 ~ (", ptr ") ? "ptr" : "typed"
	value = operand(value)
	opaque = opaque || pointer == "ptr"
	if (pointer == "ptr") {
		print "  call void @nvw_cuda_before_" (is_store ? "store" : "copy") "(ptr " value ", i64 " bytes ")" debug
	} else {
		print "  %nvw.odd." ++count " = bitcast i" type "* " value " to i8*"
		print "  call void @nvw_cuda_before_" (is_store ? "store" : "copy") "(i8* %nvw.odd." count ", i64 " bytes ")" debug
	}
	odd[is_store]++
}

/^  %[^ ]+ = load (volatile )?i[0-9]+, / { announce_odd(0) }
/^  store (volatile )?i[0-9]+ / { announce_odd(1) }

{ print }

END {
	if (odd[1]) {
		print "declare void @nvw_cuda_before_store(" (opaque ? "ptr" : "i8*") ", i64)"
	}
	if (calls || odd[0]) {
		print "declare void @nvw_cuda_before_copy(" (opaque ? "ptr" : "i8*") ", i64)"
	}
}
