/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that wait for descriptors, of a program whose threads take turns (schedule.c): epoll, poll, select,
 * and reading, writing and accepting where the descriptor blocks. As with locks, the call is tried, with a
 * time-out of 0, and its thread waits until the descriptor is ready.
 *
 * What a thread of the program makes ready is ready at once, so it is the same in every run. Another process
 * is not controlled. A descriptor is *outside* if its other end may belong to one: the schedule then repeats
 * only as far as that process does, and the report says so when something has come from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/each.h"
#include "interposed.h"

enum { PIPES = 1 << 12, PORTS = 1 << 16, AT_ONCE = 4096 /* bytes that a pipe takes if it takes any */ };

/* ---- Whose other end it is ------------------------------------------------------------------------- */

static ino_t own_pipe[PIPES]; /* by hash */
static bool own_port[PORTS];  /* of sockets of the internet */
static bool forked;           /* ends may be inherited */

static void note_fork(void)
{
	forked = true;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, note_fork, NULL);
}

static void note_pipe(int fd)
{
	struct stat s;

	if (fstat(fd, &s) == 0) {
		own_pipe[s.st_ino % PIPES] = s.st_ino;
	}
}

static bool is_listening(int fd)
{
	int listens = 0;
	socklen_t n = sizeof listens;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens;
}

/* The port of an address of the internet; 0: it has none. */
static in_port_t port_of(int fd, int (*name)(int, struct sockaddr *restrict, socklen_t *restrict))
{
	struct sockaddr_in6 a = {.sin6_family = AF_UNSPEC}; /* IPv4 has its port at the same place */
	socklen_t n = sizeof a;

	if (name(fd, (struct sockaddr *)&a, &n) != 0 ||
		(a.sin6_family != AF_INET && a.sin6_family != AF_INET6)) {
		return 0;
	}
	return a.sin6_port;
}

/* A socket has its port by now. */
static void note_port(int fd)
{
	own_port[port_of(fd, getsockname)] = true;
}

static bool is_own_socket(int fd)
{
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;
	const in_port_t port = port_of(fd, getpeername);

	if (port != 0) {
		return own_port[port];
	}
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.pid == getpid();
}

static bool is_outside(int fd)
{
	struct stat s;

	if (fstat(fd, &s) != 0) {
		return false;
	}
	switch (s.st_mode & S_IFMT) {
	case S_IFSOCK:
		return forked || is_listening(fd) || !is_own_socket(fd);
	case S_IFIFO:
		return forked || own_pipe[s.st_ino % PIPES] != s.st_ino;
	case S_IFCHR:
		return isatty(fd);
	default:
		return false;
	}
}

/* A thread waits for it. */
static void note_awaited(int fd)
{
	if (is_outside(fd)) {
		nvwave_outside_1(false);
	}
}

/* ---- Waiting --------------------------------------------------------------------------------------- */

/* Regular files never wait. */
static bool may_wait(int fd)
{
	const int before = errno;
	struct stat s;
	const bool may = fstat(fd, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);

	errno = before;
	return may;
}

static bool blocks(int fd, int flags)
{
	return !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static bool is_socket(int fd)
{
	struct stat s;

	return fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode);
}

/* Before a call that reads or writes; it does not wait behind this. True: it is a point. */
static bool wait_to(short what, int fd, int flags, void *place)
{
	struct pollfd one = {.fd = fd, .events = what};

	if (!may_wait(fd) || !nvwave_turn_1(NVWAVE_TURN_SYNC, place)) {
		return false;
	}
	while (blocks(fd, flags) && REAL(poll)(&one, 1, 0) == 0) {
		note_awaited(fd);
		nvwave_wait_for_1(&one, 1, 0, place);
	}
	if (what == POLLOUT && is_socket(fd)) {
		nvwave_tells_1();
	}
	return true;
}

/* Behind it. */
static void has_tried(bool failed, void *place)
{
	const int before = errno;

	if (!failed) {
		nvwave_descriptors_1();
	} else if (before == EAGAIN) {
		nvwave_turn_1(NVWAVE_TURN_LOOK, place);
	}
	errno = before;
}

static void note_heard(int fd, ssize_t result)
{
	if (result >= 0 && is_outside(fd)) {
		nvwave_outside_1(true);
	}
}

/* ---- Reading --------------------------------------------------------------------------------------- */

/* With its prototype, which headers lack of some. */
#define READS(name, declared, flags, ...)                                  \
	ssize_t name declared;                                             \
	EXPORT ssize_t name declared                                       \
	{                                                                  \
		const bool is_point = wait_to(POLLIN, fd, (flags), PLACE); \
		const ssize_t result = REAL(name)(__VA_ARGS__);            \
                                                                           \
		if (is_point) {                                            \
			has_tried(result < 0, PLACE);                      \
			note_heard(fd, result);                            \
		}                                                          \
		return result;                                             \
	}

READS(read, (int fd, void *to, size_t n), 0, fd, to, n)
READS(__read_chk, (int fd, void *to, size_t n, size_t room), 0, fd, to, n, room)
READS(readv, (int fd, const struct iovec *v, int count), 0, fd, v, count)
READS(recv, (int fd, void *to, size_t n, int flags), flags, fd, to, n, flags)
READS(__recv_chk, (int fd, void *to, size_t n, size_t room, int flags), flags, fd, to, n, room, flags)
READS(recvfrom,
	(int fd, void *restrict to, size_t n, int flags, struct sockaddr *restrict from,
		socklen_t *restrict length),
	flags, fd, to, n, flags, from, length)
READS(__recvfrom_chk,
	(int fd, void *restrict to, size_t n, size_t room, int flags, struct sockaddr *restrict from,
		socklen_t *restrict length),
	flags, fd, to, n, room, flags, from, length)
READS(recvmsg, (int fd, struct msghdr *message, int flags), flags, fd, message, flags)

/* A connection that is accepted. */
static int accepted(int fd, bool is_point, void *place)
{
	if (is_point) {
		has_tried(fd < 0, place);
		note_heard(fd, fd);
	}
	return fd;
}

EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length)
{
	const bool is_point = wait_to(POLLIN, fd, 0, PLACE);

	return accepted(REAL(accept)(fd, from, length), is_point, PLACE);
}

EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags)
{
	const bool is_point = wait_to(POLLIN, fd, 0, PLACE);

	return accepted(REAL(accept4)(fd, from, length, flags), is_point, PLACE);
}

EXPORT int eventfd_read(int fd, eventfd_t *ret_value)
{
	return read(fd, ret_value, sizeof *ret_value) == sizeof *ret_value ? 0 : -1;
}

/* ---- Writing --------------------------------------------------------------------------------------- */

#define WRITES(name, declared, flags, ...)                                  \
	EXPORT ssize_t name declared                                        \
	{                                                                   \
		const bool is_point = wait_to(POLLOUT, fd, (flags), PLACE); \
		const ssize_t result = REAL(name)(__VA_ARGS__);             \
                                                                            \
		if (is_point) {                                             \
			has_tried(result < 0, PLACE);                       \
		}                                                           \
		return result;                                              \
	}

WRITES(writev, (int fd, const struct iovec *v, int count), 0, fd, v, count)
WRITES(sendmsg, (int fd, const struct msghdr *message, int flags), flags, fd, message, flags)
WRITES(sendto, (int fd, const void *from, size_t n, int flags, const struct sockaddr *to, socklen_t length),
	flags, fd, from, n, flags, to, length)

/* As much as it takes without waiting. */
static ssize_t write_some(int fd, const char *from, size_t n, int flags)
{
	const ssize_t done = REAL(send)(fd, from, n, flags | MSG_DONTWAIT);

	if (done >= 0 || errno != ENOTSOCK) {
		return done;
	}
	return REAL(write)(fd, from, n < AT_ONCE ? n : AT_ONCE);
}

/* Of a descriptor that blocks: a full one takes it piece by piece. */
static ssize_t write_all(int fd, const char *from, size_t n, int flags, void *place)
{
	size_t done = 0;

	do {
		const ssize_t piece = write_some(fd, from + done, n - done, flags);
		const bool is_full = piece < 0 && errno == EAGAIN;

		if (piece < 0 && !is_full) {
			return done > 0 ? (ssize_t)done : -1;
		}
		done += is_full ? 0 : (size_t)piece;
		NVW_INVARIANT(done <= n);
		nvwave_descriptors_1();
	} while (done < n && wait_to(POLLOUT, fd, 0, place));
	return (ssize_t)done;
}

EXPORT ssize_t write(int fd, const void *from, size_t n)
{
	const bool is_point = wait_to(POLLOUT, fd, 0, PLACE);

	if (is_point && blocks(fd, 0)) {
		return write_all(fd, from, n, 0, PLACE);
	}
	const ssize_t result = REAL(write)(fd, from, n);

	if (is_point) {
		has_tried(result < 0, PLACE);
	}
	return result;
}

EXPORT ssize_t send(int fd, const void *from, size_t n, int flags)
{
	const bool is_point = wait_to(POLLOUT, fd, flags, PLACE);

	if (is_point && blocks(fd, flags)) {
		return write_all(fd, from, n, flags, PLACE);
	}
	const ssize_t result = REAL(send)(fd, from, n, flags);

	if (is_point) {
		has_tried(result < 0, PLACE);
	}
	return result;
}

EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

/* ---- What else changes descriptors ----------------------------------------------------------------- */

#define CHANGES(name, declared, ...)                        \
	EXPORT int name declared                            \
	{                                                   \
		const int result = REAL(name)(__VA_ARGS__); \
                                                            \
		nvwave_descriptors_1();                     \
		return result;                              \
	}

CHANGES(close, (int fd), fd)
CHANGES(shutdown, (int fd, int how), fd, how)

EXPORT int listen(int fd, int most)
{
	const int result = REAL(listen)(fd, most);

	note_port(fd);
	return result;
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t n)
{
	const int result = REAL(connect)(fd, to, n), before = errno;

	note_port(fd);
	nvwave_descriptors_1();
	errno = before;
	return result;
}

EXPORT int pipe2(int fds[2], int flags)
{
	const int result = REAL(pipe2)(fds, flags);

	if (result == 0) {
		note_pipe(fds[0]);
	}
	return result;
}

EXPORT int pipe(int fds[2])
{
	return pipe2(fds, 0);
}

/* It goes by the computer's time. */
EXPORT int timerfd_create(clockid_t clock, int flags)
{
	nvwave_outside_1(true);
	return REAL(timerfd_create)(clock, flags);
}

EXPORT int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
	const int result = REAL(epoll_ctl)(set, what, fd, event), before = errno;

	if (what != EPOLL_CTL_DEL) {
		note_awaited(fd);
	}
	nvwave_descriptors_1();
	errno = before;
	return result;
}

/* ---- Waiting for several --------------------------------------------------------------------------- */

/* A call of several, with the mask of signals that it waits under; NULL: as it is. */
struct call {
	int (*try)(void *of); /* its result, without waiting: 0, nothing is ready */
	void *of;
	struct pollfd *fds;
	unsigned n;
	const sigset_t *mask;
	void *place;
};

/* Waits until some are, or the time (negative: none) has passed. */
static int wait_for_some(const struct call *c, int64_t ns)
{
	uint64_t now = 0;
	sigset_t before;
	int result;

	nvwave_now_1(&now);
	if (c->mask != NULL) {
		pthread_sigmask(SIG_SETMASK, c->mask, &before);
	}
	do {
		result = c->try(c->of);
	} while (result == 0 && ns != 0 &&
		 nvwave_wait_for_1(c->fds, c->n, ns < 0 ? 0 : now + (uint64_t)ns, c->place));
	if (c->mask != NULL) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (result == 0 && ns == 0) {
		nvwave_turn_1(NVWAVE_TURN_LOOK, c->place);
	}
	return result;
}

static int64_t ns_of_ms(int ms)
{
	return ms < 0 ? -1 : (int64_t)ms * 1000000;
}

static int64_t ns_of(const struct timespec *t)
{
	return t == NULL ? -1 : (int64_t)t->tv_sec * (int64_t)SECOND_NS + t->tv_nsec;
}

/* Where turns are not taken, the clocks follow a call that has waited in vain. */
static int has_waited(int result, int64_t ns)
{
	const int before = errno;

	if (result == 0 && ns > 0) {
		schedule_sleep((uint64_t)ns);
	}
	errno = before;
	return result;
}

struct set {
	int fd, room;
	struct epoll_event *events;
};

static int try_set(void *of)
{
	const struct set *const s = of;

	return REAL(epoll_wait)(s->fd, s->events, s->room, 0);
}

static int wait_for_set(struct set s, int64_t ns, const sigset_t *mask, void *place)
{
	struct pollfd one = {.fd = s.fd, .events = POLLIN};

	return wait_for_some(
		&(struct call){.try = try_set, .of = &s, .fds = &one, .n = 1, .mask = mask, .place = place},
		ns);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int room, int ms)
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return has_waited(REAL(epoll_wait)(fd, events, room, ms), ns_of_ms(ms));
	}
	return wait_for_set((struct set){fd, room, events}, ns_of_ms(ms), NULL, PLACE);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int room, int ms, const sigset_t *mask)
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return has_waited(REAL(epoll_pwait)(fd, events, room, ms, mask), ns_of_ms(ms));
	}
	return wait_for_set((struct set){fd, room, events}, ns_of_ms(ms), mask, PLACE);
}

struct list {
	struct pollfd *fds;
	nfds_t n;
};

static int try_list(void *of)
{
	const struct list *const l = of;

	return REAL(poll)(l->fds, l->n, 0);
}

static int wait_for_list(struct list l, int64_t ns, const sigset_t *mask, void *place)
{
	for (nfds_t i = 0; i < l.n && ns != 0; i++) {
		note_awaited(l.fds[i].fd);
	}
	return wait_for_some(&(struct call){.try = try_list,
				     .of = &l,
				     .fds = l.fds,
				     .n = (unsigned)l.n,
				     .mask = mask,
				     .place = place},
		ns);
}

/* Of none it is a sleep. */
EXPORT int poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (n == 0 && ms >= 0 && schedule_sleep((uint64_t)ms * 1000000)) {
		return 0;
	}
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return has_waited(REAL(poll)(fds, n, ms), ns_of_ms(ms));
	}
	return wait_for_list((struct list){fds, n}, ns_of_ms(ms), NULL, PLACE);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask)
{
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return has_waited(REAL(ppoll)(fds, n, time, mask), ns_of(time));
	}
	return wait_for_list((struct list){fds, n}, ns_of(time), mask, PLACE);
}

/* What a call asks for, and where it wants to be told. */
struct sets {
	int n;
	fd_set *told[3];
	fd_set asked[3];
};

static int try_sets(void *of)
{
	struct sets *const s = of;
	struct timeval none = {.tv_sec = 0};

	NVW_FOR(i, 3) {
		if (s->told[i] != NULL) {
			*s->told[i] = s->asked[i];
		}
	}
	return REAL(select)(s->n, s->told[0], s->told[1], s->told[2], &none);
}

/* Of a descriptor, in the words of poll(). */
static short asked_of(const struct sets *s, int fd)
{
	static const short events[3] = {POLLIN, POLLOUT, POLLPRI};
	int all = 0;

	NVW_FOR(i, 3) {
		if (s->told[i] != NULL && FD_ISSET(fd, &s->asked[i])) {
			all |= events[i];
		}
	}
	return (short)all;
}

static int wait_for_sets(struct sets *s, int64_t ns, const sigset_t *mask, void *place)
{
	struct pollfd fds[FD_SETSIZE];
	unsigned n = 0;

	if (s->n > FD_SETSIZE) {
		nvwave_refuse_1("it selects among more than 1,024 descriptors");
	}
	NVW_FOR(i, 3) {
		if (s->told[i] != NULL) {
			s->asked[i] = *s->told[i];
		}
	}
	NVW_FOR(fd, s->n) {
		const short events = asked_of(s, fd);

		if (events != 0) {
			fds[n++] = (struct pollfd){.fd = fd, .events = events};
			note_awaited(fd);
		}
	}
	NVW_INVARIANT(n <= FD_SETSIZE);
	return wait_for_some(
		&(struct call){.try = try_sets, .of = s, .fds = fds, .n = n, .mask = mask, .place = place},
		ns);
}

EXPORT int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
	const struct timespec *restrict time, const sigset_t *restrict mask)
{
	if (n == 0 && time != NULL && schedule_sleep((uint64_t)ns_of(time))) {
		return 0;
	}
	if (!nvwave_turn_1(NVWAVE_TURN_SYNC, PLACE)) {
		return has_waited(REAL(pselect)(n, in, out, other, time, mask), ns_of(time));
	}
	return wait_for_sets(&(struct sets){.n = n, .told = {in, out, other}}, ns_of(time), mask, PLACE);
}

EXPORT int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
	struct timeval *restrict time)
{
	if (time == NULL) {
		return pselect(n, in, out, other, NULL, NULL);
	}
	const struct timespec t = {.tv_sec = time->tv_sec, .tv_nsec = time->tv_usec * 1000};

	return pselect(n, in, out, other, &t, NULL);
}
