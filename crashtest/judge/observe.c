/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reads of a checker are seen. See read_set.h.
 *
 * Pages with words that may differ between states are mapped without access. An instruction that touches one
 * faults; the words that it reads are noted, the page is opened for this instruction alone, by a single step,
 * and closed again, as long as nothing is known of some of these words. An instruction that is not understood
 * opens its page for good, and so does one of many that teach nothing; the words then count as read.
 *
 * The kernel reads, too: every system call is trapped (seccomp), carried out here if it cannot read what is
 * not seen, and else ends the process, which has no set then. So does another thread, process or program.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/each.h"

#include "access.h"
#include "elsewhere.h"
#include "read_set.h"

enum {
	MAPS_MAX = 16,
	STEP_PAGES = 4,
	FAULTS_MANY = 8000, /* from then on a page is opened that teaches nothing once */
	FAULTS_MAX = 20000,
	FAULTS_EXACT = 200000, /* the same where each word counts, and no maximum */
	PATIENCE = 1000, /* faults of a page that teach nothing; and so many for each word not yet known: */
	PATIENCE_PER_WORD = 64,
	PATIENCE_IN_HASTE = 8,
	FEW = 8, /* words */
	TRAP_FLAG = 0x100,
	DIRECTION_FLAG = 0x400,
	SYSCALL_TRAPPED = 1
};

/* A mapping of the file. */
struct map {
	uint64_t at, bytes, off;
	int64_t beside; /* how far its open mapping is; 0: it has none */
	int protection;
};

static struct {
	struct ct_read_set *set;
	uint8_t *known;  /* per word: bytes that were read or overwritten */
	uint8_t *opened; /* 1 per page: for good */
	uint16_t *left;  /* per page: words that may differ and are not known */
	uint16_t *hot;   /* per page: faults that taught nothing */
	struct map map[MAPS_MAX];
	unsigned maps;
	uint64_t step[STEP_PAGES]; /* pages that are open for one instruction */
	unsigned steps;
	unsigned faults;
} seen;

/* The one place whose system calls are not trapped. */
long ct_observe_call(long number, long a, long b, long c, long d, long e, long f);
extern const char ct_observe_called[];

__asm__(".text\n"
	".globl ct_observe_call, ct_observe_called\n"
	".hidden ct_observe_call, ct_observe_called\n"
	".type ct_observe_call, @function\n"
	"ct_observe_call:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"ct_observe_called:\n"
	"	ret\n"
	".size ct_observe_call, . - ct_observe_call\n");

__attribute__((noreturn)) static void give_up(void)
{
	seen.set->gave_up = 1;
	for (;;) {
		ct_observe_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
}

/* ---- Words --------------------------------------------------------------------------------------------- */

static bool is_observed(uint64_t page)
{
	return page < seen.set->pages && ct_read_pages(seen.set)[page] != 0;
}

static bool varies(uint64_t word)
{
	const uint64_t page = word * 8 / CT_READ_PAGE, i = word % (CT_READ_PAGE / 8);

	return is_observed(page) && (seen.set->varies[page][i / 64] >> i % 64 & 1) != 0;
}

static bool is_exact(uint64_t page)
{
	return ct_read_haste(seen.set)[page] == CT_EXACT;
}

/* The bytes of the word that are among these of the file. */
static uint8_t bytes_of(uint64_t word, uint64_t off, uint64_t bytes)
{
	const uint64_t begin = MAX(off, 8 * word) - 8 * word, end = MIN(off + bytes, 8 * word + 8) - 8 * word;

	return (uint8_t)((UINT8_MAX >> (8 - (end - begin))) << begin);
}

static void note_known(uint64_t word, uint8_t bytes)
{
	const uint8_t before = seen.known[word];

	seen.known[word] |= bytes;
	seen.left[word * 8 / CT_READ_PAGE] -= before != UINT8_MAX && seen.known[word] == UINT8_MAX;
}

static void note_read(uint64_t word, uint8_t bytes)
{
	struct ct_read_set *const s = seen.set;
	const uint8_t new = bytes &(uint8_t)~seen.known[word];

	if (new == 0) {
		return;
	}
	if (s->count == CT_READ_WORDS_MAX) {
		give_up();
	}
	note_known(word, new);
	s->bytes[s->count] = new;
	s->word[s->count++] = (uint32_t)word;
}

/* A word counts as read wholly where single bytes are not observed. */
static uint8_t read_of(uint64_t word, uint64_t off, uint64_t bytes)
{
	return is_exact(word * 8 / CT_READ_PAGE) ? bytes_of(word, off, bytes) : UINT8_MAX;
}

/* Bytes of the file. */
static void note_bytes(uint64_t off, uint64_t bytes)
{
	for (uint64_t word = off / 8; word * 8 < off + bytes; word++) {
		if (varies(word)) {
			note_read(word, read_of(word, off, bytes));
		}
	}
}

/* What is left of a word that is overwritten in part counts as read, unless bytes do. */
static void note_stored_word(uint64_t word, uint8_t over)
{
	if (!varies(word)) {
		return;
	}
	if (over != UINT8_MAX && !is_exact(word * 8 / CT_READ_PAGE)) {
		note_read(word, UINT8_MAX);
	} else {
		note_known(word, over);
	}
}

static void note_store(uint64_t off, uint64_t bytes)
{
	for (uint64_t word = off / 8; word * 8 < off + bytes; word++) {
		note_stored_word(word, bytes_of(word, off, bytes));
	}
}

/* ---- Pages --------------------------------------------------------------------------------------------- */

static const struct map *map_of(uint64_t at)
{
	return NVW_FIND(m, seen.map, seen.maps, at >= m->at && at - m->at < m->bytes);
}

static bool overlaps(uint64_t at, uint64_t bytes)
{
	return NVW_ANY(m, seen.map, seen.maps, at < m->at + m->bytes && m->at < at + bytes);
}

static void protect(uint64_t at, int protection)
{
	if (ct_observe_call(SYS_mprotect, (long)at, CT_READ_PAGE, protection, 0, 0, 0) != 0) {
		give_up();
	}
}

static bool is_closed(uint64_t page)
{
	return is_observed(page) && !seen.opened[page];
}

static void close_map(uint64_t at, uint64_t bytes, uint64_t off)
{
	for (uint64_t i = 0; i < bytes; i += CT_READ_PAGE) {
		if (is_closed((off + i) / CT_READ_PAGE)) {
			protect(at + i, PROT_NONE);
		}
	}
}

static void add_map(uint64_t at, uint64_t bytes, uint64_t off, int protection, int64_t beside)
{
	if (seen.maps == MAPS_MAX) {
		give_up();
	}
	seen.map[seen.maps++] = (struct map){
		at, (bytes + CT_READ_PAGE - 1) / CT_READ_PAGE * CT_READ_PAGE, off, beside, protection};
	close_map(at, bytes, off);
}

/* For good, in each mapping. */
static void unprotect(uint64_t off)
{
	NVW_EACH(m, seen.map, seen.maps) {
		if (off >= m->off && off - m->off < m->bytes) {
			protect(m->at + (off - m->off), m->protection);
		}
	}
}

static void open_page(uint64_t page)
{
	const uint64_t off = page * CT_READ_PAGE;

	note_bytes(off, CT_READ_PAGE);
	seen.opened[page] = 1;
	unprotect(off);
}

/* ---- Faults -------------------------------------------------------------------------------------------- */

/* The program's own. */
static void pass_on(int signal)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} standard = {0};

	ct_observe_call(SYS_rt_sigaction, signal, (long)&standard, 0, sizeof standard.mask, 0, 0);
}

static bool is_stepped(uint64_t page_at)
{
	return NVW_ANY(step, seen.step, seen.steps, *step == page_at);
}

/* The instruction does what is noted, and then on_step() comes. */
static void step_over(const struct map *m, uint64_t page_at, ucontext_t *c)
{
	if (seen.steps == STEP_PAGES) {
		give_up();
	}
	seen.step[seen.steps++] = page_at;
	protect(page_at, m->protection);
	c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* How many faults may teach nothing. */
static unsigned patience_with(uint64_t page)
{
	if (seen.faults > FAULTS_MANY) {
		return 0;
	}
	return ct_read_haste(seen.set)[page] == CT_HASTY ? PATIENCE_IN_HASTE :
							   PATIENCE + PATIENCE_PER_WORD * seen.left[page];
}

/* It would take too long to see what else is read there. */
static bool is_hopeless(uint64_t page)
{
	if (is_exact(page)) {
		return seen.faults > FAULTS_EXACT;
	}
	if (seen.left[page] <= FEW && seen.hot[page] > PATIENCE) {
		ct_read_haste(seen.set)[page] = CT_WAS_LATE;
	}
	return seen.hot[page] > patience_with(page);
}

static void note_access(const struct map *m, const struct ct_access *a)
{
	if (a->bytes == 0) {
		return;
	}
	const uint64_t off = m->off + (a->at - m->at);

	if (a->writes) {
		note_store(off, a->bytes);
	} else {
		note_bytes(off, a->bytes);
	}
}

/* Whether all of it is in the mapping, and the byte that faulted is among it. */
static bool is_within(const struct map *m, const struct ct_access *a, uint64_t at)
{
	const unsigned bytes = MAX(a->bytes, 1);

	return a->at >= m->at && a->at + bytes <= m->at + m->bytes && at >= a->at && at < a->at + bytes;
}

/* ---- Strings ------------------------------------------------------------------------------------------- */

/* rep stos and rep movs, which a single step would take byte by byte: they are carried out here. */
struct string {
	bool copies;
	unsigned width, length; /* of an element; of the instruction */
};

static bool is_string(const uint8_t *at, struct string *ret)
{
	const uint8_t *next = at;
	bool wide = false;

	if (*next++ != 0xF3) {
		return false;
	}
	if ((*next & 0xF0) == 0x40) {
		wide = *next++ & 8;
	}
	const uint8_t code = *next++;

	*ret = (struct string){.copies = code <= 0xA5, .width = 1, .length = (unsigned)(next - at)};
	if (code & 1) {
		ret->width = wide ? 8 : 4;
	}
	return code == 0xA4 || code == 0xA5 || code == 0xAA || code == 0xAB;
}

/* Opens the page of an address in the file, if it is closed, for a moment: its address, or 0. */
static uint64_t open_shortly(uint64_t at)
{
	const struct map *const m = map_of(at);
	const uint64_t page_at = at / CT_READ_PAGE * CT_READ_PAGE;

	if (!m || !is_closed((m->off + (page_at - m->at)) / CT_READ_PAGE)) {
		return 0;
	}
	protect(page_at, m->protection);
	return page_at;
}

static void store_elements(greg_t *r, const struct string *s, uint64_t bytes)
{
	uint8_t *const to = (uint8_t *)(uintptr_t)r[REG_RDI];
	const uint8_t *const from = (const uint8_t *)(uintptr_t)r[REG_RSI];
	const uint64_t value = (uint64_t)r[REG_RAX];

	NVW_FOR(i, bytes) {
		((volatile uint8_t *)to)[i] = s->copies ? from[i] : (uint8_t)(value >> 8 * (i % s->width));
	}
	r[REG_RDI] += (greg_t)bytes;
	r[REG_RSI] += s->copies ? (greg_t)bytes : 0;
	r[REG_RCX] -= (greg_t)(bytes / s->width);
	if (r[REG_RCX] == 0) {
		r[REG_RIP] += s->length;
	}
}

/* The elements up to the end of a page. False: it is no such instruction, or is not done here. */
static bool do_string(ucontext_t *c)
{
	greg_t *const r = c->uc_mcontext.gregs;
	const uint64_t to = (uint64_t)r[REG_RDI], from = (uint64_t)r[REG_RSI];
	struct string s;

	if (!is_string((const uint8_t *)(uintptr_t)r[REG_RIP], &s) || (r[REG_EFL] & DIRECTION_FLAG) != 0) {
		return false;
	}
	uint64_t room = CT_READ_PAGE - to % CT_READ_PAGE;

	if (s.copies) {
		room = MIN(room, CT_READ_PAGE - from % CT_READ_PAGE);
	}
	const uint64_t bytes = MIN((uint64_t)r[REG_RCX], room / s.width) * s.width;
	const struct map *const read = s.copies ? map_of(from) : NULL, *const written = map_of(to);

	if (bytes == 0) {
		return false;
	}
	if (read) {
		note_bytes(read->off + (from - read->at), bytes);
	}
	if (written) {
		note_store(written->off + (to - written->at), bytes);
	}
	const uint64_t one = open_shortly(to), other = s.copies ? open_shortly(from) : 0;

	store_elements(r, &s, bytes);
	if (one != 0) {
		protect(one, PROT_NONE);
	}
	if (other != 0) {
		protect(other, PROT_NONE);
	}
	return true;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *const c = context;
	const uint64_t at = (uint64_t)(uintptr_t)info->si_addr, page_at = at / CT_READ_PAGE * CT_READ_PAGE;
	const struct map *const m = map_of(at);

	const uint64_t page = m ? (m->off + (page_at - m->at)) / CT_READ_PAGE : 0;

	if (info->si_code != SEGV_ACCERR || !m || is_stepped(page_at) || !is_closed(page)) {
		pass_on(signal);
		return;
	}
	if (++seen.faults > FAULTS_MAX && !is_exact(page)) {
		give_up();
	}
	if (do_string(c)) {
		return;
	}
	const struct ct_access a = ct_access_of(c);
	const uint16_t left = seen.left[page];

	if (a.odd || !is_within(m, &a, at)) {
		open_page(page);
		return;
	}
	note_access(m, &a);
	seen.hot[page] += seen.left[page] == left;
	if (seen.left[page] == 0 || is_hopeless(page)) {
		open_page(page);
		return;
	}
	if (m->beside == 0 || !ct_elsewhere(c, &a, m->beside)) {
		step_over(m, page_at, c);
	}
}

/* The pages that an instruction needed are watched again. */
static void end_steps(void)
{
	while (seen.steps > 0) {
		protect(seen.step[--seen.steps], PROT_NONE);
	}
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *const c = context;

	if (seen.steps == 0) {
		pass_on(signal);
		return;
	}
	end_steps();
	c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* ---- System calls -------------------------------------------------------------------------------------- */

struct call {
	long number, a[6];
};

static long carry_out(const struct call *c)
{
	return ct_observe_call(c->number, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static bool is_file_of(long fd, struct stat *ret)
{
	return fd >= 0 && ct_observe_call(SYS_fstat, fd, (long)ret, 0, 0, 0, 0) == 0 &&
	       ret->st_dev == seen.set->device && ret->st_ino == seen.set->inode;
}

static bool is_file(long fd)
{
	struct stat s;

	return is_file_of(fd, &s);
}

/* A program that makes a new file long enough often does so to an old one, too. */
static bool keeps_size(long fd, long bytes)
{
	struct stat s;

	return !is_file_of(fd, &s) || s.st_size == bytes;
}

static bool is_mapped(long at)
{
	return at >= 0 || at < -4095;
}

/* Another mapping of the same bytes, which stays open. */
static int64_t map_beside(const struct call *c, long at)
{
	if ((c->a[3] & MAP_TYPE) != MAP_SHARED) {
		return 0;
	}
	const long other = ct_observe_call(SYS_mmap, 0, c->a[1], c->a[2], MAP_SHARED, c->a[4], c->a[5]);

	return is_mapped(other) ? other - at : 0;
}

static long map_memory(const struct call *c)
{
	const bool is = (c->a[3] & MAP_ANONYMOUS) == 0 && is_file(c->a[4]);

	if (c->a[3] & MAP_FIXED && overlaps((uint64_t)c->a[0], (uint64_t)c->a[1])) {
		give_up();
	}
	const long at = carry_out(c);

	if (is && is_mapped(at)) {
		add_map((uint64_t)at, (uint64_t)c->a[1], (uint64_t)c->a[5], (int)c->a[2], map_beside(c, at));
	}
	return at;
}

static long unmap_memory(const struct call *c)
{
	const uint64_t at = (uint64_t)c->a[0],
		       bytes = ((uint64_t)c->a[1] + CT_READ_PAGE - 1) / CT_READ_PAGE * CT_READ_PAGE;

	NVW_EACH(m, seen.map, seen.maps) {
		if (m->at == at && m->bytes == bytes) {
			if (m->beside != 0) {
				ct_observe_call(SYS_munmap, (long)at + m->beside, (long)bytes, 0, 0, 0, 0);
			}
			*m = seen.map[--seen.maps];
			return carry_out(c);
		}
	}
	if (overlaps(at, bytes)) {
		give_up();
	}
	return carry_out(c);
}

static long read_file(const struct call *c)
{
	uint64_t off = (uint64_t)c->a[3];
	const bool is = is_file(c->a[0]);

	if (is && c->number == SYS_read) {
		off = (uint64_t)ct_observe_call(SYS_lseek, c->a[0], 0, SEEK_CUR, 0, 0, 0);
	}
	const long n = carry_out(c);

	if (is && n > 0) {
		note_bytes(off, (uint64_t)n);
	}
	return n;
}

/* Which calls on the file itself have no secrets. */
static bool is_innocent(const struct call *c)
{
	switch (c->number) {
	case SYS_lseek:
		return c->a[2] <= SEEK_END || !is_file(c->a[0]);
	case SYS_write:
	case SYS_ioctl:
		return !is_file(c->a[0]);
	case SYS_open:
		return (c->a[1] & O_TRUNC) == 0;
	case SYS_openat:
		return (c->a[2] & O_TRUNC) == 0;
	case SYS_rt_sigaction:
		return c->a[1] == 0;
	case SYS_ftruncate:
		return keeps_size(c->a[0], c->a[1]);
	case SYS_mprotect:
	case SYS_madvise:
		return !overlaps((uint64_t)c->a[0], (uint64_t)c->a[1]);
	default:
		return true;
	}
}

/* Calls that read nothing but what their arguments point to. */
static bool is_known(long number)
{
	static const long known[] = {SYS_access, SYS_brk, SYS_clock_getres, SYS_clock_gettime,
		SYS_clock_nanosleep, SYS_close, SYS_faccessat, SYS_faccessat2, SYS_fchdir, SYS_fcntl,
		SYS_fdatasync, SYS_flock, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex,
		SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getpid, SYS_getppid,
		SYS_getrandom, SYS_getrlimit, SYS_getrusage, SYS_gettid, SYS_gettimeofday, SYS_getuid,
		SYS_ioctl, SYS_lseek, SYS_lstat, SYS_madvise, SYS_mprotect, SYS_nanosleep, SYS_newfstatat,
		SYS_open, SYS_openat, SYS_prlimit64, SYS_readlink, SYS_readlinkat, SYS_rt_sigaction,
		SYS_sched_getaffinity, SYS_sched_yield, SYS_stat, SYS_statfs, SYS_statx, SYS_sysinfo,
		SYS_time, SYS_uname, SYS_write};

	return NVW_ANY(one, known, NVW_COUNT(known), *one == number);
}

static bool points_to_file(const struct call *c)
{
	return NVW_ANY(argument, c->a, NVW_COUNT(c->a), map_of((uint64_t)*argument));
}

static long follow(const struct call *c)
{
	switch (c->number) {
	case SYS_mmap:
		return map_memory(c);
	case SYS_munmap:
		return unmap_memory(c);
	case SYS_msync:
		return carry_out(c);
	default:
		break;
	}
	if (points_to_file(c)) {
		give_up();
	}
	if (c->number == SYS_read || c->number == SYS_pread64) {
		return read_file(c);
	}
	if (!is_known(c->number) || !is_innocent(c)) {
		give_up();
	}
	return carry_out(c);
}

static void on_call(int signal, siginfo_t *info, void *context)
{
	greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const struct call c = {
		info->si_syscall, {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]}};

	if (info->si_code != SYSCALL_TRAPPED) {
		pass_on(signal);
		return;
	}
	seen.set->call = (uint32_t)c.number + 1;
	r[REG_RAX] = follow(&c);
	seen.set->call = 0;
}

/* ---- Beginning ----------------------------------------------------------------------------------------- */

static bool trap_calls(void)
{
	const uint64_t called = (uint64_t)(uintptr_t)ct_observe_called;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 7),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)called, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(called >> 32), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {NVW_COUNT(code), code};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
		return true;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, before;
	sigset_t only;

	sigfillset(&action.sa_mask);
	sigemptyset(&only);
	sigaddset(&only, signal);
	return sigaction(signal, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
	       sigaction(signal, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &only, NULL) == 0;
}

static void *zeros(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void count_words(void)
{
	NVW_FOR(page, seen.set->pages) {
		for (unsigned i = 0; i < CT_READ_BITS && is_observed(page); i++) {
			seen.left[page] += (uint16_t)__builtin_popcountll(seen.set->varies[page][i]);
		}
	}
}

void ct_observe(struct ct_read_set *set)
{
	seen.set = set;
	ct_elsewhere_begin();
	seen.known = zeros((set->pages + 1) * (CT_READ_PAGE / 8));
	seen.opened = zeros(set->pages + 1);
	seen.left = zeros((set->pages + 1) * sizeof *seen.left);
	seen.hot = zeros((set->pages + 1) * sizeof *seen.hot);
	if (seen.known == MAP_FAILED || seen.opened == MAP_FAILED || seen.left == MAP_FAILED ||
		seen.hot == MAP_FAILED || !handle(SIGSEGV, on_fault) || !handle(SIGTRAP, on_step) ||
		!handle(SIGSYS, on_call) || !trap_calls()) {
		set->gave_up = 1;
		_exit(0);
	}
	count_words();
	set->began = 1;
}
