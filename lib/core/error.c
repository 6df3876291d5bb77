/* SPDX-License-Identifier: BSD-3-Clause */
/* Error numbers and the thread's last message. See nvw/errors.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <nvw/errors.h>

static _Thread_local char message[1024];

const char *nvw_strerror(int error)
{
	switch (error) {
	case NVW_OK:
		return "no error";
#define X(name, number, meaning) \
	case NVW_E_##name:       \
		return meaning;
		NVW_ERRORS(X)
#undef X
	}
	if (error < 0) {
		return strerror(-error);
	}
	return "not an error number";
}

const char *nvw_error_message(void)
{
	return message;
}

int(nvw_fail)(int error, const char *format, ...)
{
	char text[sizeof message]; /* the arguments may contain the old message */
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	memcpy(message, text, sizeof message);
	return error;
}

int(nvw_fail_errno)(const char *format, ...)
{
	const int saved = errno;
	char text[sizeof message / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	errno = saved;
	return nvw_fail(NVW_E_SYSTEM, "%s: %s", text, strerror(saved));
}
