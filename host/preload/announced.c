/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether everything that this process can store to a mapping is announced before it happens. Then written
 * pages need not be compared at every fence.
 *
 * It is so if
 *   - the program and every shared object from which it calls a function were built by nvwave-cc, each with
 *     all of its object files, as the linker stage found (cc/ld.in); or
 *   - what it calls elsewhere is in the list below: functions of the C library and of libpmem that store to
 *     nothing but their own memory, or that this library interposes;
 *   - none of its objects defines the functions that hand out memory, since other libraries would store to
 *     that; and
 *   - none looks functions up at run time: dlopen() is not in the list, and the assembler stage sees dlsym(),
 *     which the runtime of nvwave-cc calls itself.
 *
 * The list is of names that are known to be harmless, so a function that it lacks costs speed and no store.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "preload.h"

enum { OBJECTS_MAX = 64 };

/* Those that told so themselves, by their load addresses. */
static uintptr_t watched[OBJECTS_MAX];
static unsigned watched_count;

/* A '*' stands for any letters; what is behind it may be followed by more. */
/* clang-format off */
static const char *const harmless[] = {
	/* interposed here: fills.c, libc.c, libpmem.c, mapped_locks.c, threads.c */
	"memcpy", "memmove", "memset", "mempcpy", "bzero", "strcpy", "stpcpy", "strncpy", "strcat",
	"pmem_*", "pmem2_*", "mmap", "mmap64", "munmap", "mremap", "mprotect", "msync", "fsync",
	"fdatasync", "read", "pread", "pread64", "recv", "readv", "preadv", "preadv64", "fread", "execve",
	"execv", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle", "fork", "_exit", "_Exit",
	"pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock", "pthread_mutex_trylock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_mutex_unlock", "pthread_rwlock_*",
	"pthread_spin_*", "pthread_barrier_*", "pthread_cond_*", "sem_*", "pthread_join", "pthread_create",
	"signal", "clock_gettime", "fstat", "fstat64", "stat", "stat64", "snprintf", "vsnprintf", "fgets",
	"strtol", "strtoul", "strtoll", "strtoull", "strtod", "__isoc23_strtol", "__isoc23_strtoul",
	"__isoc23_strtoll", "__isoc23_strtoull", "sigprocmask", "pthread_sigmask",
	/* memory, which is never a mapping's */
	"malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "memalign", "strdup",
	"strndup", "_ZdlPv*", "_ZdaPv*", "_Znwm*", "_Znam*", "malloc_usable_size",
	/* what only reads */
	"strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr",
	"strstr", "strspn", "strcspn", "strpbrk", "memcmp", "memchr", "memrchr", "rawmemchr", "strchrnul",
	"strerror", "atoi", "atol", "atoll", "atof", "abs", "labs", "getenv", "secure_getenv", "bsearch",
	"strcoll", "isatty", "__ctype_b_loc", "__errno_location", "tolower", "toupper", "isalpha",
	"isdigit", "__ctype_tolower_loc", "__ctype_toupper_loc",
	/* files and streams */
	"open", "open64", "openat", "creat", "close", "lseek", "lseek64", "ftruncate", "ftruncate64",
	"truncate", "fallocate", "posix_fallocate", "posix_fallocate64", "unlink", "unlinkat", "rename",
	"link", "symlink", "mkdir", "rmdir", "access", "chmod", "fchmod", "flock", "dup", "dup2", "write",
	"pwrite", "pwrite64", "writev", "send", "sendto", "fopen", "fopen64", "fdopen", "fclose", "fflush",
	"fwrite", "fputs", "fputc", "putc", "putchar", "puts", "printf", "fprintf", "dprintf", "vprintf",
	"vfprintf", "perror", "fgetc", "getc", "getchar", "ungetc", "feof", "ferror", "clearerr", "fileno",
	"fseek", "fseeko", "ftell", "ftello", "rewind", "syslog", "err", "errx", "warn", "warnx", "error",
	/* the process and its threads */
	"exit", "abort", "atexit", "__cxa_atexit", "__cxa_finalize", "__libc_start_main",
	"__stack_chk_fail", "__assert_fail", "__assert", "getpid", "getppid", "getuid", "geteuid", "getgid",
	"kill", "raise", "pause", "alarm", "sleep", "usleep", "sched_yield", "sysconf", "getpagesize",
	"madvise", "posix_madvise", "mlock", "munlock", "setlocale", "srand", "rand", "srandom", "random",
	"clock", "pthread_self", "pthread_exit", "pthread_detach", "pthread_getspecific",
	"pthread_setspecific", "__gmon_start__", "dlsym", "_ITM_*", "__tls_get_addr", "setenv", "unsetenv",
	"putenv", "sync", "syncfs", "getopt", "getopt_long",
	/* C++: of the library's own objects those that no file has, and conditions, by the functions above */
	"_ZNSt6thread*", "_ZNSt18condition_variable*", "_ZNSt6chrono3_V2*", "__cxa_allocate_exception",
	"__cxa_throw", "__cxa_begin_catch", "__cxa_end_catch", "__cxa_rethrow", "__cxa_free_exception",
	"__cxa_guard_*", "__cxa_pure_virtual", "__gxx_personality_v0", "_Unwind_Resume", "_ZSt*__throw_",
	"_ZSt9terminatev", "_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev", "_ZNSolsE*", "_ZNSo*",
	"_ZStlsISt11char_traitsIcE*", "_ZSt16__ostream_insert*", "_ZSt4endl*", "_ZSt5flush*",
};
/* clang-format on */

/* A star stands for any characters, and more may follow what is behind it. */
static bool matches(const char *name, const char *pattern)
{
	const size_t n = strcspn(pattern, "*");

	if (strncmp(name, pattern, n) != 0) {
		return false;
	}
	if (pattern[n] == '\0') {
		return name[n] == '\0';
	}
	return strstr(name + n, pattern + n + 1) != NULL;
}

static bool is_harmless(const char *name)
{
	return NVW_ANY(one, harmless, NVW_COUNT(harmless), matches(name, *one));
}

void host_announces(const void *code)
{
	NVW_INVARIANT(watched_count <= OBJECTS_MAX);

	const struct link_map *const map = host_object_of(code);

	if (watched_count < OBJECTS_MAX && map != NULL) {
		watched[watched_count++] = map->l_addr;
	}
}

static bool is_watched(uintptr_t base)
{
	return NVW_ANY(one, watched, watched_count, *one == base);
}

/* ---- The functions that an object calls elsewhere ------------------------------------------------- */

struct symbols {
	const ElfW(Sym) * symbol;
	const char *names;
	uint32_t count; /* 0: unknown */
};

/* The hash table has all symbols that others may find, and they are the last: none if there are none. */
static uint32_t count_hashed(const uint32_t *gnu)
{
	const uint32_t *const bucket = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *const chain = bucket + gnu[0];
	uint32_t last = 0;

	NVW_EACH(one, bucket, gnu[0]) {
		last = (uint32_t)nvw_max(*one, last);
	}
	if (last < gnu[1]) {
		return 0;
	}
	while (!(chain[last - gnu[1]] & 1)) {
		last++;
	}
	return last + 1;
}

/* What an object calls elsewhere is in its relocations, whatever its hash table has. */
static uint32_t count_relocated(const ElfW(Rela) * r, size_t bytes)
{
	uint32_t count = 0;

	for (size_t i = 0; r != NULL && i < bytes / sizeof *r; i++) {
		const uint32_t symbol = (uint32_t)ELF64_R_SYM(r[i].r_info);

		count = (uint32_t)nvw_max(symbol + 1, count);
	}
	return count;
}

/* By the dynamic section, whose addresses the dynamic linker has already relocated, or not. */
static struct symbols symbols_of(uintptr_t base, const ElfW(Dyn) * d)
{
	struct symbols ret = {0};
	const uint32_t *hash = NULL, *gnu = NULL;
	const ElfW(Rela) *relocation = NULL, *of_calls = NULL;
	size_t bytes = 0, bytes_of_calls = 0;

	for (; d->d_tag != DT_NULL; d++) {
		const uintptr_t at = d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			ret.symbol = (const void *)at;
			break;
		case DT_STRTAB:
			ret.names = (const void *)at;
			break;
		case DT_HASH:
			hash = (const void *)at;
			break;
		case DT_GNU_HASH:
			gnu = (const void *)at;
			break;
		case DT_RELA:
			relocation = (const void *)at;
			break;
		case DT_RELASZ:
			bytes = d->d_un.d_val;
			break;
		case DT_JMPREL:
			of_calls = (const void *)at;
			break;
		case DT_PLTRELSZ:
			bytes_of_calls = d->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (hash) {
		ret.count = hash[1];
	} else if (gnu) {
		ret.count = count_hashed(gnu);
	}
	ret.count = (uint32_t)nvw_max(ret.count, count_relocated(relocation, bytes));
	ret.count = (uint32_t)nvw_max(ret.count, count_relocated(of_calls, bytes_of_calls));
	return ret;
}

/*
 * The objects are looked at while the dynamic linker keeps their list from changing. To find a function takes
 * another of its locks, which a thread in dlopen() holds while it waits to change the list, so that comes
 * after.
 */
struct look {
	char *why; /* HOST_WHY_BYTES */
	bool first, no_memory;
	/* of calls that may be harmful: a name of an object, a name of a function, and so on, each ended by a
	 * 0 */
	char *calls;
	size_t bytes, room;
};

static void add_text(struct look *l, const char *text)
{
	NVW_INVARIANT(l->bytes <= l->room);

	const size_t n = strlen(text) + 1;

	if (l->bytes + n > l->room) {
		const size_t room = 2 * (l->bytes + n) + 4096;
		char *const more = realloc(l->calls, room);

		if (more == NULL) {
			l->no_memory = true;
			return;
		}
		l->calls = more;
		l->room = room;
	}
	memcpy(l->calls + l->bytes, text, n);
	l->bytes += n;
}

static const char *base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A function that is there, and not in an object that announces its stores. */
static bool is_elsewhere(const char *name)
{
	void *const f = host_dlsym ? host_dlsym(RTLD_DEFAULT, name) : NULL;
	const struct link_map *map;

	if (f == NULL) {
		return false;
	}
	map = host_object_of(f);
	return map == NULL || !is_watched(map->l_addr);
}

static bool is_allocator(const char *name)
{
	return strcmp(name, "malloc") == 0 || strcmp(name, "calloc") == 0 || strcmp(name, "realloc") == 0 ||
	       strcmp(name, "_Znwm") == 0;
}

/* Sets why if an object stores, or has others store, what is not announced; adds the calls that have to be
 * looked up. */
static int look_at(struct dl_phdr_info *o, size_t n, void *to)
{
	struct look *const l = to;
	const ElfW(Dyn) *dynamic = NULL;
	const char *const name = *o->dlpi_name ? base_name(o->dlpi_name) : program_invocation_short_name;
	const bool main_program = l->first;

	l->first = false;
	if (!is_watched(o->dlpi_addr)) {
		if (main_program) {
			snprintf(l->why, HOST_WHY_BYTES, "not all of %s was built by nvwave-cc", name);
		}
		return main_program;
	}
	NVW_EACH(header, o->dlpi_phdr, o->dlpi_phnum) {
		if (header->p_type == PT_DYNAMIC) {
			dynamic = (const void *)(o->dlpi_addr + header->p_vaddr);
		}
	}
	const struct symbols s = dynamic ? symbols_of(o->dlpi_addr, dynamic) : (struct symbols){0};

	if (s.symbol == NULL || s.names == NULL || s.count == 0) {
		snprintf(l->why, HOST_WHY_BYTES, "%s has no list of the functions that it calls", name);
		return 1;
	}
	for (uint32_t i = 1; i < s.count; i++) {
		const char *const symbol = s.names + s.symbol[i].st_name;
		const unsigned type = ELF64_ST_TYPE(s.symbol[i].st_info);
		const bool undefined = s.symbol[i].st_shndx == SHN_UNDEF;

		if (!undefined && is_allocator(symbol)) {
			snprintf(l->why, HOST_WHY_BYTES, "%s has its own %.60s, which libraries use, too",
				name, symbol);
			return 1;
		}
		if (undefined && type != STT_OBJECT && type != STT_TLS && !is_harmless(symbol)) {
			add_text(l, name);
			add_text(l, symbol);
		}
	}
	return 0;
}

static bool are_harmless(const struct look *l)
{
	NVW_INVARIANT(l->bytes == 0 || l->calls[l->bytes - 1] == 0); /* each text has its end */
	for (const char *at = l->calls, *symbol; at < l->calls + l->bytes; at = symbol + strlen(symbol) + 1) {
		symbol = at + strlen(at) + 1;
		if (is_elsewhere(symbol)) {
			snprintf(l->why, HOST_WHY_BYTES,
				"%s calls %.60s, which may store what is not announced", at, symbol);
			return false;
		}
	}
	return true;
}

bool host_all_announced(char why[HOST_WHY_BYTES])
{
	NVW_INVARIANT(!host_self.inside); /* the dynamic linker may wait for who waits for the session */

	struct look l = {.why = why, .first = true};
	const bool all = host_control->instrumented && !host_control->compare &&
			 dl_iterate_phdr(look_at, &l) == 0 && !l.no_memory && are_harmless(&l);

	free(l.calls);
	return all;
}
