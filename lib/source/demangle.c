/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of C++ functions. See demangle.h. The C++ library knows the rules; it is loaded when the first such
 * name comes, since who tests C++ programs has it, and nobody else needs it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"

#include "demangle.h"

typedef char *demangle(const char *symbol, char *buffer, size_t *n, int *ret_status);

/* Looked up once, for the life of the process. */
static demangle *find_demangle(void)
{
	static demangle *found;
	static int looked;
	void *library;

	if (!looked) {
		looked = 1;
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (!library) {
			library = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
		}
		if (library) {
			*(void **)&found = dlsym(library, "__cxa_demangle");
		}
	}
	return found;
}

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Characters that look like brackets, and are the name of an operator or of a namespace. */
static size_t plain_length(const char *text)
{
	static const char *const plain[] = {"(anonymous namespace)", "operator()",
		"operator<<=", "operator>>=", "operator<=>", "operator<<", "operator>>",
		"operator<=", "operator>=", "operator->*", "operator->", "operator<", "operator>"};

	NVW_EACH_IN(one, plain) {
		if (begins(text, *one)) {
			return strlen(*one);
		}
	}
	return 0;
}

/* Where the parameters begin: at the first parenthesis outside of templates that is no part of the name. */
static size_t name_length(const char *name)
{
	unsigned depth = 0;
	size_t i = 0;

	while (name[i] != '\0' && (name[i] != '(' || depth > 0 || plain_length(name + i) > 0)) {
		const size_t plain = plain_length(name + i);

		depth += plain == 0 && name[i] == '<';
		depth -= plain == 0 && name[i] == '>' && depth > 0;
		i += NVW_OR(plain, 1);
	}
	return i;
}

void nvw__demangle(const char *symbol, size_t length, char *ret_name, size_t n)
{
	NVW_INVARIANT(n > 0 && length <= strlen(symbol));
	demangle *const function = begins(symbol, "_Z") ? find_demangle() : NULL;
	char *const whole = strndup(symbol, length);
	int status = -1;
	char *const name = function && whole ? function(whole, NULL, NULL, &status) : NULL;

	if (name && status == 0) {
		snprintf(ret_name, n, "%.*s", (int)name_length(name), name);
	} else {
		snprintf(ret_name, n, "%.*s", (int)length, symbol);
	}
	free(name);
	free(whole);
}
