# SPDX-License-Identifier: BSD-3-Clause
# nvwave-nvcc: inline PTX in the device half, as LLVM's text before it is optimized. Each instruction becomes calls of the runtime's
# functions (runtime/ptx.c); what is not supported is an error with its source line. Reads the text twice: the lines are at its end.
#
# Registers are values of 64 bits: operands of the asm statement, and those that it declares. There is no control flow in it: under a
# predicate arithmetic is done and its result dropped, an access is asked for with the predicate. Of a predicate the lowest bit counts.
# A branch forwards makes a predicate of what lies before its label: only who has not jumped there executes it.

BEGIN {
	split("b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 pred", names, " ")
	for (i in names) {
		t = names[i]
		bytes = t == "pred" ? 1 : substr(t, 2) / 8
		# As enum ptx_type: log2 of the bytes, and the kind: bits, unsigned, signed, floating
		type_number[t] = (bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3) + 4 * index("us", substr(t, 1, 1)) + (t ~ /^f/ ? 12 : 0)
		type_bytes[t] = bytes
	}
	number(scope_number, "cta gpu sys", 1)
	number(order_number, "relaxed acquire release acq_rel", 0)
	# enum nvw_cuda_operation
	number(atomic_number, "add sub exch cas min max inc dec and or xor ld st", 0)
	# enum nvw_cuda_meeting; MATCH_ALL is 0 if they differ
	vote_kind["ballot"] = 1
	vote_kind["uni"] = 4
	number(vote_kind, "all any", 10)
	number(reduction_kind, "add min.u32 max.u32 min.s32 max.s32 and.b32 or.b32 xor.b32", 5)
	# enum ptx_operation
	number(compute_number, "mov add sub mul.lo mul.hi mul.wide mad.lo mad.hi mad.wide fma div rem min max abs neg and or xor not shl shr popc clz brev bfe bfi prmt selp sqrt rcp rsqrt ex2 lg2 sin cos cvt setp lop3", 0)
	number(compare_number, "eq ne lt le gt ge lo ls hi hs", 0)
	one = " mov abs neg not popc clz brev sqrt rcp rsqrt ex2 lg2 sin cos cvt "
	three = " mad.lo mad.hi mad.wide fma bfe prmt selp "
	# enum ptx_register
	number(special_number, "%tid.x %tid.y %tid.z %ntid.x %ntid.y %ntid.z %ctaid.x %ctaid.y %ctaid.z %nctaid.x %nctaid.y %nctaid.z %laneid %warpid %nwarpid %smid %nsmid %gridid %clock %clock_hi %clock64 %globaltimer %globaltimer_lo %globaltimer_hi %lanemask_eq %lanemask_lt %lanemask_le %lanemask_gt %lanemask_ge %dynamic_smem_size", 0)
}

function number(table, words, from,    list, count, i) {
	count = split(words, list, " ")
	for (i = 1; i <= count; i++) {
		table[list[i]] = from + i - 1
	}
}

FNR == NR {
	if (/^![0-9]+ = .*!DILocation\(/) {
		location[$1] = $0
	} else if (/^![0-9]+ = .*[(,] ?file: ![0-9]+/) {
		scope_file[$1] = reference($0, "file: ")
	} else if (/^![0-9]+ = .*!DIFile\(/) {
		match($0, /filename: "[^"]*"/)
		filename[$1] = substr($0, RSTART + 11, RLENGTH - 12)
	}
	next
}

function reference(text, what) {
	return match(text, what "![0-9]+") ? substr(text, RSTART + length(what), RLENGTH - length(what)) : ""
}

function field(text, what) {
	return match(text, what ": [0-9]+") ? substr(text, RSTART + length(what) + 2, RLENGTH - length(what) - 2) : ""
}

# ---- Errors

function refuse(what,    at) {
	at = location[reference($0, "!dbg ")]
	printf "%s:%s:%s: error: inline PTX: %s\n", filename[scope_file[reference(at, "scope: ")]], field(at, "line"), field(at, "column"), what > "/dev/stderr"
	failed = 1
	return "0"
}

# ---- Values: all of i64

function emit(text) {
	print "  " text debug
}

function fresh() {
	return "%nvw.ptx." ++count
}

# An operand of the statement, given with its type.
function widen(type, value,    wide, bits) {
	if (type == "i64") {
		return value
	}
	wide = fresh()
	if (type ~ /\*$/ || type == "ptr") {
		emit(wide " = ptrtoint " type " " value " to i64")
	} else if (type == "double") {
		emit(wide " = bitcast double " value " to i64")
	} else if (type == "float") {
		bits = fresh()
		emit(bits " = bitcast float " value " to i32")
		emit(wide " = zext i32 " bits " to i64")
	} else if (type ~ /^i[0-9]+$/) {
		emit(wide " = zext " type " " value " to i64")
	} else {
		return refuse("an operand of type " type " is not supported")
	}
	return wide
}

function narrow(type, value, name,    bits) {
	if (type == "i64") {
		emit(name " = add i64 " value ", 0")
	} else if (type ~ /\*$/ || type == "ptr") {
		emit(name " = inttoptr i64 " value " to " type)
	} else if (type == "double") {
		emit(name " = bitcast i64 " value " to double")
	} else if (type == "float") {
		bits = fresh()
		emit(bits " = trunc i64 " value " to i32")
		emit(name " = bitcast i32 " bits " to float")
	} else if (type ~ /^i[0-9]+$/) {
		emit(name " = trunc i64 " value " to " type)
	} else {
		refuse("a result of type " type " is not supported")
	}
}

function ask(arguments, function_,    result) {
	result = fresh()
	emit(result " = call i64 @" function_ "(" arguments ")")
	used[function_] = arguments
	return result
}

# A source operand.
function value_of(operand, type,    name, number_) {
	if (operand ~ /^\$[0-9]+$/ || (operand in current)) {
		if (!(operand in current)) {
			return refuse(operand ": read before it is written")
		}
		return current[operand]
	}
	if (operand in declared) {
		return refuse(operand ": read before it is written")
	}
	if (operand ~ /^-?[0-9]+U?$/) {
		sub(/U$/, "", operand)
		if (operand ~ /^0[0-7]+$/) {
			return refuse("the number " operand " is octal: not supported")
		}
		return operand
	}
	if (operand ~ /^0[xX][0-9a-fA-F]+U?$/) {
		sub(/U$/, "", operand)
		return decimal(substr(operand, 3))
	}
	if (operand ~ /^0[fFdD][0-9a-fA-F]+$/) {
		return decimal(substr(operand, 3))
	}
	if (operand == "WARP_SZ") {
		return "32"
	}
	if (operand in special_number) {
		return ask("i64 " special_number[operand], "nvw_ptx_special")
	}
	return refuse(operand ~ /^%/ ? "the register " operand " is not supported" : "the operand " operand " is not supported")
}

# Of hexadecimal digits: awk's numbers have 53 bits, so in two halves.
function decimal(digits,    i, high, low, name) {
	low = high = 0
	while (length(digits) < 16) {
		digits = "0" digits
	}
	for (i = 1; i <= 8; i++) {
		high = 16 * high + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
		low = 16 * low + index("0123456789abcdef", tolower(substr(digits, i + 8, 1))) - 1
	}
	if (high == 0) {
		return sprintf("%.0f", low)
	}
	name = fresh()
	emit(name " = shl i64 " sprintf("%.0f", high) ", 32")
	emit(name ".whole = or i64 " name ", " sprintf("%.0f", low))
	return name ".whole"
}

function set(operand, value) {
	if (operand == "_") {
		return
	}
	if (operand !~ /^\$[0-9]+$/ && !(operand in declared)) {
		refuse("the destination " operand " is not supported")
	}
	if (guard != "") {
		if (!(operand in current)) {
			if (active == "") {
				refuse(operand ": written under a predicate before it has a value")
			}
			current[operand] = "0" # another branch writes it, or nobody reads it
		}
		value = ask("i64 " compute_number["selp"] + 256 * type_number["b64"] ", i64 " (negated ? current[operand] : value) ", i64 " (negated ? value : current[operand]) ", i64 " guard, "nvw_ptx_compute")
	}
	current[operand] = value
}

# Whether the instruction is executed: 0 or 1.
function condition(    bit) {
	if (guard == "") {
		return "1"
	}
	bit = fresh()
	emit(bit ".low = and i64 " guard ", 1")
	emit(bit " = xor i64 " bit ".low, " (negated ? 1 : 0))
	return bit
}

# "[$1+8]", "[r]": the address, plus.
function address_of(operand,    base, offset, sum) {
	if (operand !~ /^\[.*\]$/) {
		return refuse("expected an address, found " operand)
	}
	operand = substr(operand, 2, length(operand) - 2)
	gsub(/[ \t]/, "", operand)
	offset = 0
	if (match(operand, /[+].*$/)) {
		offset = substr(operand, RSTART + 1)
		operand = substr(operand, 1, RSTART - 1)
	}
	base = value_of(operand)
	if (offset == "0") {
		return base
	}
	if (offset !~ /^-?[0-9]+$/) {
		return refuse("the offset " offset " is not supported")
	}
	sum = fresh()
	emit(sum " = add i64 " base ", " offset)
	return sum
}

# ---- Instructions: words has the mnemonic, split at dots; operand the operands

# Takes the words that match away; the last of them.
function take(pattern,    i, found, rest) {
	found = ""
	rest = 0
	for (i = 1; i <= word_count; i++) {
		if (words[i] ~ pattern) {
			found = words[i]
		} else {
			words[++rest] = words[i]
		}
	}
	word_count = rest
	return found
}

function left_over(    i, text) {
	for (i = 1; i <= word_count; i++) {
		text = text "." words[i]
	}
	return text
}

function unsupported() {
	refuse("nvwave does not support " mnemonic)
}

function take_type(    t) {
	t = take("^(b8|u8|s8|b16|u16|s16|b32|u32|s32|b64|u64|s64|f32|f64)$")
	return t
}

function what_of(operation, t, order, scope) {
	return operation + 256 * type_number[t] + 65536 * scope + 16777216 * order
}

function elements(text, list,    n, i) { # of {a, b}, or one
	if (text ~ /^\{/) {
		text = substr(text, 2, length(text) - 2)
	}
	n = split(text, list, ",")
	for (i = 1; i <= n; i++) {
		gsub(/^[ \t]+|[ \t]+$/, "", list[i])
	}
	return n
}

function load_or_store(is_load,    order, scope, is_volatile, t, n, i, at, list, size, piece, value, vector, executed) {
	vector = take("^v[24]$")
	order = take("^(relaxed|acquire|release)$")
	scope = take("^(cta|gpu|sys)$")
	is_volatile = take("^volatile$") != ""
	take("^(weak|global|shared|local|const|param|ca|cg|cs|lu|cv|wb|wt|nc|L1::.*|L2::.*)$")
	t = take_type()
	if (word_count || t == "" || (order != "") != (scope != "") || (order == (is_load ? "release" : "acquire"))) {
		unsupported()
		return
	}
	size = type_bytes[t]
	n = elements(operand[is_load ? 1 : 2], list)
	at = address_of(operand[is_load ? 2 : 1])
	executed = condition()
	for (i = 1; i <= n; i++) {
		piece = at
		if (i > 1) {
			piece = fresh()
			emit(piece " = add i64 " at ", " size * (i - 1))
		}
		if (order != "") {
			value = what_of(atomic_number[is_load ? "ld" : "st"], t, order_number[order], scope_number[scope])
			value = ask("i64 " value ", i64 " piece ", i64 " (is_load ? "0" : value_of(list[i])) ", i64 0, i64 " executed, "nvw_ptx_atomic")
		} else if (is_load) {
			value = ask("i64 " piece ", i64 " type_number[t] ", i64 " is_volatile ", i64 " executed, "nvw_ptx_load")
		} else {
			ask("i64 " piece ", i64 " type_number[t] ", i64 " is_volatile ", i64 " value_of(list[i]) ", i64 " executed, "nvw_ptx_store")
		}
		if (is_load) {
			set(list[i], value)
		}
	}
}

function atomic(has_result,    order, scope, operation, t, first, value, compare) {
	order = take("^(relaxed|acquire|release|acq_rel)$")
	scope = take("^(cta|gpu|sys)$")
	take("^(global|shared)$")
	operation = take("^(add|exch|cas|min|max|inc|dec|and|or|xor)$")
	t = take_type()
	if (word_count || t == "" || operation == "") {
		unsupported()
		return
	}
	first = has_result ? 2 : 1
	value = value_of(operand[first + 1])
	compare = "0"
	if (operation == "cas") {
		compare = value
		value = value_of(operand[first + 2])
	}
	value = ask("i64 " what_of(atomic_number[operation], t, order == "" ? 0 : order_number[order], scope == "" ? 2 : scope_number[scope]) ", i64 " address_of(operand[first]) ", i64 " value ", i64 " compare ", i64 " condition(), "nvw_ptx_atomic")
	if (has_result) {
		set(operand[1], value)
	}
}

function fence(    scope, kind) {
	kind = take("^(sc|acq_rel)$")
	scope = take("^(cta|gpu|sys)$")
	if (word_count || scope == "") {
		unsupported()
		return
	}
	ask("i64 " scope_number[scope] ", i64 " (kind == "acq_rel") ", i64 " condition(), "nvw_ptx_fence")
}

function membar(    scope) {
	scope = take("^(cta|gl|sys|gpu)$")
	if (word_count || scope == "") {
		unsupported()
		return
	}
	ask("i64 " scope_number[scope == "gl" ? "gpu" : scope] ", i64 0, i64 " condition(), "nvw_ptx_fence")
}

function compare_registers(    t, how) {
	how = take("^(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)$")
	t = take_type()
	if (word_count || t == "" || how == "" || operand_count != 3) {
		unsupported()
		return
	}
	set(operand[1], ask("i64 " compute_number["setp"] + 256 * type_number[t] + 65536 * compare_number[how] ", i64 " value_of(operand[2]) ", i64 " value_of(operand[3]) ", i64 0", "nvw_ptx_compute"))
}

function convert(    to, from) {
	take("^(rn|rz|rni|rzi|ftz)$")
	if (word_count != 2 || !(words[1] in type_number) || !(words[2] in type_number)) {
		unsupported()
		return
	}
	to = words[1]
	from = words[2]
	if (mnemonic ~ /\.rni/ || (from ~ /^f/ && to !~ /^f/ && mnemonic !~ /\.rzi/) || (mnemonic ~ /\.rz\./)) {
		unsupported() # other roundings
		return
	}
	set(operand[1], ask("i64 " compute_number["cvt"] + 256 * type_number[to] + 65536 * type_number[from] ", i64 " value_of(operand[2]) ", i64 0, i64 0", "nvw_ptx_compute"))
}

# Of four sources: the last two in one.
function ask_four(operation,    t, last) {
	t = take_type()
	if (word_count || t == "" || operand_count != 5) {
		unsupported()
		return
	}
	last = fresh()
	emit(last " = shl i64 " value_of(operand[5]) ", 32")
	emit(last ".both = or i64 " last ", " value_of(operand[4]))
	set(operand[1], ask("i64 " compute_number[operation] + 256 * type_number[t] ", i64 " value_of(operand[2]) ", i64 " value_of(operand[3]) ", i64 " last ".both", "nvw_ptx_compute"))
}

# mov.b64 d, {low, high} and mov.b64 {low, high}, a
function pack(    list, n, i, bits, whole, value) {
	bits = type_bytes[take_type()] * 8
	n = elements(operand[operand[1] ~ /^\{/ ? 1 : 2], list)
	if (word_count || !bits) {
		unsupported()
		return
	}
	whole = operand[1] ~ /^\{/ ? value_of(operand[2]) : "0"
	for (i = 1; i <= n; i++) {
		value = fresh()
		if (operand[1] ~ /^\{/) {
			emit(value ".shifted = lshr i64 " whole ", " bits / n * (i - 1))
			emit(value " = and i64 " value ".shifted, " sprintf("%.0f", 2 ^ (bits / n) - 1))
			set(list[i], value)
		} else {
			emit(value ".low = and i64 " value_of(list[i]) ", " sprintf("%.0f", 2 ^ (bits / n) - 1))
			emit(value ".shifted = shl i64 " value ".low, " bits / n * (i - 1))
			emit(value " = or i64 " whole ", " value ".shifted")
			whole = value
		}
	}
	if (operand[1] !~ /^\{/) {
		set(operand[1], whole)
	}
}

function compute(name,    t, sources, b, c, suffix) {
	take("^(rn|ftz|approx|full|uni)$")
	if (name ~ /^(mul|mad)$/) {
		suffix = take("^(lo|hi|wide)$")
		name = name "." (suffix == "" ? "lo" : suffix)
	}
	t = take_type()
	if (t == "" && take("^pred$") != "") {
		t = "u8"
	}
	sources = index(one, " " name " ") ? 1 : index(three, " " name " ") ? 3 : 2
	if (word_count || t == "" || !(name in compute_number) || operand_count != sources + 1) {
		unsupported()
		return
	}
	b = sources > 1 ? value_of(operand[3]) : "0"
	c = sources > 2 ? value_of(operand[4]) : "0"
	set(operand[1], ask("i64 " compute_number[name] + 256 * type_number[t] ", i64 " value_of(operand[2]) ", i64 " b ", i64 " c, "nvw_ptx_compute"))
}

# A meeting of lanes: kind of enum nvw_cuda_meeting, how: 0 the value is a predicate, 1 of 32 bits, 2 of 64; of a shuffle its mode.
function ask_lanes(kind, mask, value, argument, how) {
	return ask("i64 " kind ", i64 " mask ", i64 " value ", i64 " argument ", i64 " how ", i64 " condition(), "nvw_ptx_meet")
}

# An operand that may be "!p".
function predicate_of(text,    is_negated, value, opposite) {
	is_negated = sub(/^![ \t]*/, "", text)
	value = value_of(text)
	if (is_negated) {
		opposite = fresh()
		emit(opposite " = xor i64 " value ", 1")
		return opposite
	}
	return value
}

# bar.sync 0; bar.red.popc.u32 d, 0, p; bar.red.and.pred d, 0, p
function barrier(    how, has_result, id, value) {
	take("^(cta|aligned|warp)$")
	if (mnemonic ~ /^bar\.warp\.sync/) {
		ask_lanes(0, value_of(operand[1]), "0", "0", 0)
		return
	}
	has_result = take("^red$") != ""
	how = has_result ? take("^(popc|and|or)$") : "sync"
	take("^sync$")
	if (has_result && take(how == "popc" ? "^u32$" : "^pred$") == "") {
		how = ""
	}
	id = operand[has_result ? 2 : 1]
	if (word_count || how == "") {
		unsupported()
	} else if (operand_count != (has_result ? 3 : 1) || id != "0") {
		refuse("nvwave does not support " mnemonic " of other barriers than 0, or of a part of the block")
	} else {
		value = has_result ? predicate_of(operand[3]) : "0"
		value = ask("i64 " (how == "popc" ? 1 : how == "and" ? 2 : how == "or" ? 3 : 0) ", i64 " value ", i64 " condition(), "nvw_ptx_barrier")
		if (has_result) {
			set(operand[1], value)
		}
	}
}

# redux.sync.add.u32 d, a, mask
function reduction(    how, t, kind) {
	take("^sync$")
	how = take("^(add|min|max|and|or|xor)$")
	t = take_type()
	kind = how (how == "add" && t ~ /^[us]32$/ ? "" : "." t)
	if (word_count || !(kind in reduction_kind) || operand_count != 3) {
		unsupported()
		return
	}
	set(operand[1], ask_lanes(reduction_kind[kind], value_of(operand[3]), value_of(operand[2]), "0", 1))
}

# match.any.sync.b32 d, a, mask; match.all.sync.b32 d|p, a, mask
function match_lanes(    how, t, both, value, is_any) {
	take("^sync$")
	how = take("^(any|all)$")
	t = take("^b(32|64)$")
	if (word_count || how == "" || t == "" || operand_count != 3) {
		unsupported()
		return
	}
	if (split(operand[1], both, "|") < 2) {
		both[2] = "_"
	}
	value = ask_lanes(how == "any" ? 3 : 4, value_of(operand[3]), value_of(operand[2]), "0", t == "b32" ? 1 : 2)
	set(both[1], value)
	if (both[2] != "_") {
		is_any = fresh()
		emit(is_any ".bit = icmp ne i64 " value ", 0")
		emit(is_any " = zext i1 " is_any ".bit to i64")
		set(both[2], is_any)
	}
}

# d|p, a, b, c, mask: the mode is in the upper half of c, which bounds the lanes.
function shuffle(kind,    both, mode, from) {
	if (split(operand[1], both, "|") < 2) {
		both[2] = "_"
	}
	mode = fresh()
	emit(mode " = or i64 " value_of(operand[4]) ", " kind * 65536)
	from = value_of(operand[3])
	set(both[1], ask_lanes(2, value_of(operand[5]), value_of(operand[2]), from, mode))
	if (both[2] != "_") {
		set(both[2], ask("i64 " from ", i64 " mode, "nvw_ptx_is_within"))
	}
}

# d, {!}a, mask; without .sync there is no mask, and the active lanes vote. kinds of enum nvw_cuda_meeting
function vote(mode,    t, mask, value) {
	t = take("^(pred|b32)$")
	if (word_count || !(mode in vote_kind) || t != (mode == "ballot" ? "b32" : "pred") || operand_count != (mnemonic ~ /\.sync\./ ? 3 : 2)) {
		unsupported()
		return
	}
	value = predicate_of(operand[2])
	mask = operand_count == 3 ? value_of(operand[3]) : ask("i64 " condition(), "nvw_ptx_active_mask")
	value = ask_lanes(vote_kind[mode], mask, value, "0", 0)
	if (mode == "uni") { # a mask, or 0
		mask = fresh()
		emit(mask ".bit = icmp ne i64 " value ", 0")
		emit(mask " = zext i1 " mask ".bit to i64")
		value = mask
	}
	set(operand[1], value)
}

function meet(name,    mode) {
	take("^(sync|aligned)$")
	mode = take("^(idx|up|down|bfly|ballot|all|any|uni)$")
	if (name == "vote") {
		vote(mode)
	} else if (mnemonic ~ /\.sync\./) {
		shuffle(mode == "idx" ? 0 : mode == "up" ? 1 : mode == "down" ? 2 : 3)
	} else {
		unsupported()
	}
}

function instruction(text,    rest, name) {
	mnemonic = text
	sub(/[ \t].*/, "", mnemonic)
	rest = substr(text, length(mnemonic) + 1)
	gsub(/^[ \t]+/, "", rest)
	operand_count = split_operands(rest)
	word_count = split(mnemonic, words, ".")
	name = words[1]
	take("^" name "$")
	if (name == "ld" || name == "ldu") {
		load_or_store(1)
	} else if (name == "st") {
		load_or_store(0)
	} else if (name == "atom" || name == "red") {
		atomic(name == "atom")
	} else if (name == "fence") {
		fence()
	} else if (name == "membar") {
		membar()
	} else if (name == "bar" || name == "barrier") {
		barrier()
	} else if (name == "shfl" || name == "vote") {
		meet(name)
	} else if (name == "redux") {
		reduction()
	} else if (name == "match") {
		match_lanes()
	} else if (mnemonic == "activemask.b32") {
		set(operand[1], ask("i64 " condition(), "nvw_ptx_active_mask"))
	} else if (name == "mov" && rest ~ /\{/) {
		pack()
	} else if (name == "setp") {
		compare_registers()
	} else if (name == "cvt") {
		convert()
	} else if (name == "bfi") {
		ask_four("bfi")
	} else if (name == "lop3") {
		look_up()
	} else if (name == "cvta") {
		set(operand[1], value_of(operand[2])) # addresses are generic
	} else if (name == "nanosleep") {
		ask("i64 " value_of(operand[1]) ", i64 " condition(), "nvw_ptx_sleep")
	} else if (name == "trap") {
		ask("i64 " condition(), "nvw_ptx_trap")
	} else if (mnemonic == "exit" && operand_count == 0) {
		ask("i64 " condition(), "nvw_ptx_exit")
	} else if (name == "prefetch" || name == "prefetchu" || name == "discard" || name == "pmevent") {
		return # hints
	} else {
		compute(name)
	}
}

function look_up() { # lop3.b32 d, a, b, c, table
	if (operand_count != 5 || mnemonic != "lop3.b32" || value_of(operand[5]) !~ /^[0-9%]/) {
		unsupported()
		return
	}
	operand[6] = operand[5]
	take("^b32$")
	words[++word_count] = "b32"
	ask_four("lop3")
}

# At commas outside of brackets and braces.
function split_operands(text,    i, c, depth, n, start) {
	n = 0
	start = 1
	depth = 0
	if (text == "") {
		return 0
	}
	for (i = 1; i <= length(text) + 1; i++) {
		c = i > length(text) ? "," : substr(text, i, 1)
		depth += c ~ /[{\[]/ ? 1 : c ~ /[}\]]/ ? -1 : 0
		if (c == "," && depth == 0) {
			operand[++n] = substr(text, start, i - start)
			gsub(/^[ \t]+|[ \t]+$/, "", operand[n])
			start = i + 1
		}
	}
	return n
}

function declare_registers(text,    list, n, i, name, times) {
	sub(/^\.reg[ \t]*\.[a-z0-9]+[ \t]*/, "", text)
	n = split(text, list, ",")
	for (i = 1; i <= n; i++) {
		name = list[i]
		gsub(/[ \t]/, "", name)
		if (name ~ /</) { # r<4>: r0 to r3
			times = name
			sub(/.*</, "", times)
			sub(/<.*/, "", name)
			for (times -= 1; times >= 0; times--) {
				declared[name times] = 1
			}
		} else {
			declared[name] = 1
		}
	}
}

# ---- Branches. active: whether this work-item executes what follows, "" if all do. waiting: who has jumped to a label that is to come.

function one_or_other(a, b,    value) {
	value = fresh()
	emit(value " = or i64 " a ", " b)
	return value
}

function branch(label,    jumps, stays, all) {
	if (label !~ /^[A-Za-z_$][A-Za-z0-9_$]*$/) {
		refuse("nvwave does not support branches to " label)
	} else if (label in passed) {
		refuse("nvwave does not support branches backwards: bra " label)
	} else {
		jumps = condition()
		all = (label in waiting) ? one_or_other(waiting[label], jumps) : jumps
		waiting[label] = all
		stays = fresh()
		emit(stays ".not = xor i64 " jumps ", 1")
		emit(stays " = and i64 " stays ".not, " (active == "" ? "1" : active))
		active = stays
	}
}

function arrive(label,    other) {
	passed[label] = 1
	if (label in waiting) {
		active = one_or_other(active, waiting[label])
		delete waiting[label]
	}
	for (other in waiting) {
		return
	}
	active = "" # nobody is elsewhere
}

function end_branches(    label) {
	for (label in waiting) {
		refuse("a branch to " label ", which is not in this asm statement")
	}
}

# The predicate before an instruction, and the branches before it: what guard and negated say. Returns the instruction.
function take_guard(text,    at, both) {
	guard = ""
	negated = 0
	if (text ~ /^@/) {
		at = index(text, " ")
		guard = substr(text, 2, at - 2)
		text = substr(text, at + 1)
		negated = sub(/^!/, "", guard)
		guard = value_of(guard)
	}
	if (active != "") {
		both = fresh()
		emit(both " = and i64 " active ", " condition())
		guard = both
		negated = 0
	}
	return text
}

function statement(text,    label) {
	gsub(/^[ \t{}]+/, "", text)
	gsub(/[ \t]+$/, "", text)
	gsub(/[ \t]+/, " ", text)
	while (match(text, /^[A-Za-z_$][A-Za-z0-9_$]* ?:/)) {
		label = substr(text, 1, RLENGTH - 1)
		text = substr(text, RLENGTH + 1)
		sub(/ $/, "", label)
		arrive(label)
		gsub(/^[ {}]+/, "", text)
	}
	if (text == "" || text == "}") {
		return
	}
	if (text ~ /^\.reg/) {
		declare_registers(text)
	} else if (text ~ /^\./) {
		refuse("nvwave does not support this directive: " text)
	} else {
		text = take_guard(text)
		if (text ~ /^bra(\.uni)? /) {
			sub(/^[^ ]+ /, "", text)
			branch(text)
		} else if (text ~ /^(call|ret|brx)([. ]|$)/) {
			refuse("nvwave does not support calls and returns: " text)
		} else {
			instruction(text)
		}
	}
}

# ---- asm statements

function unescape(text) {
	gsub(/\\09|\\0A|\\0D/, " ", text)
	gsub(/\\22/, "\"", text)
	gsub(/\\5C/, "\\", text)
	gsub(/\$\(/, "{", text)
	gsub(/\$\)/, "}", text)
	gsub(/\$\|/, "|", text)
	gsub(/\$\{:uid\}/, "_uid", text) # the number of the statement: its labels are its own
	return text
}

# Comments end with their line, so they go before lines are joined.
function without_comments(text) {
	gsub(/\/\/[^\\]*(\\09[^\\]*)*(\\0A|$)/, "\\0A", text)
	while (match(text, /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//)) {
		text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
	}
	return text
}

# The arguments between the parentheses: type and value each.
function read_arguments(text,    i, c, depth, start, n, piece) {
	n = 0
	start = 1
	depth = 0
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == ")" && depth == 0) {
			break
		}
		depth += c ~ /[({\[<]/ ? 1 : c ~ /[)}\]>]/ ? -1 : 0
		if (c == "," && depth == 0) {
			n = add_argument(n, substr(text, start, i - start))
			start = i + 2
		}
	}
	return i > start ? add_argument(n, substr(text, start, i - start)) : n
}

function add_argument(n, piece) {
	n++
	argument_type[n] = piece
	sub(/ .*/, "", argument_type[n])
	sub(/^[^ ]+ /, "", piece)
	gsub(/^((noundef|nonnull|nocapture|signext|zeroext) )+/, "", piece)
	argument_value[n] = piece
	return n
}

function deliver(result, type, outputs,    i, list, n, so_far, value, next_) {
	if (outputs == 0) {
		return
	}
	for (i = 0; i < outputs; i++) {
		if (!(("$" i) in current)) {
			current["$" i] = "0" # nothing has written it
		}
	}
	if (outputs == 1) {
		narrow(type, current["$0"], result)
		return
	}
	n = split(substr(type, 3, length(type) - 4), list, ", ")
	so_far = "undef"
	for (i = 1; i <= n; i++) {
		value = fresh()
		narrow(list[i], current["$" (i - 1)], value)
		next_ = i == n ? result : fresh()
		emit(next_ " = insertvalue " type " " so_far ", " list[i] " " value ", " i - 1)
		so_far = next_
	}
}

/^  (%[^ ]+ = )?(tail )?call .* asm / {
	line = $0
	debug = match(line, /, !dbg ![0-9]+/) ? substr(line, RSTART, RLENGTH) : ""
	result = line ~ /^  %/ ? $1 : ""
	type = line
	sub(/ asm .*/, "", type)
	sub(/^.*call /, "", type)
	rest = substr(line, index(line, " asm ") + 5)
	sub(/^((sideeffect|alignstack|inteldialect) )+/, "", rest)
	match(rest, /^"[^"]*"/)
	text = substr(rest, 2, RLENGTH - 2)
	rest = substr(rest, RLENGTH + 3)
	match(rest, /^"[^"]*"/)
	constraints = substr(rest, 2, RLENGTH - 2)
	rest = substr(rest, RLENGTH + 2)
	split("", current)
	split("", declared)
	split("", waiting)
	split("", passed)
	active = ""
	inputs = read_arguments(rest)
	n = split(constraints, list, ",")
	outputs = taken = 0
	for (i = 1; i <= n; i++) {
		if (list[i] ~ /^=/) {
			outputs++
		} else if (list[i] !~ /^~/) {
			taken++
			value = widen(argument_type[taken], argument_value[taken])
			current[list[i] ~ /^[0-9]+$/ ? "$" list[i] : "$" outputs + taken - 1] = value
		}
		if (list[i] ~ /\*|m/ && list[i] !~ /^~/) {
			refuse("operands in memory are not supported")
		}
	}
	statements = split(unescape(without_comments(text)), statement_text, ";")
	for (s = 1; s <= statements; s++) {
		statement(statement_text[s])
	}
	end_branches()
	guard = ""
	deliver(result, type, outputs)
	next
}

{ print }

END {
	for (function_ in used) {
		arguments = used[function_]
		gsub(/i64 [^,]+/, "i64", arguments)
		print "declare i64 @" function_ "(" arguments ") convergent nomerge"
	}
	exit failed
}
