# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: the device half after its optimization and instrumentation. A structure that is passed by value is copied by the call
# itself, which nothing announces, and the optimizer may have it copied straight out of device memory. So a call that announces it
# is put before each such call.

function announce(type, pointer, value, debug,    name) {
	name = "%nvw.byval." ++count
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

{ print }

END {
	if (count) {
		print "declare void @nvw_cuda_before_copy(" (opaque ? "ptr" : "i8*") ", i64)"
	}
}
