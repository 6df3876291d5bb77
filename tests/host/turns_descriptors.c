/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of turns.c: threads wait for descriptors. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "turns.h"

static int pipes[2];

/* ---- Descriptors ------------------------------------------------------------------------------------- */

enum { REQUESTS = 8, MANY = 300000 /* bytes: more than a pipe or a socket takes */ };

static int ends[2], bell, set; /* of a socket pair: the server's, the client's */
static bool replies_early;

static void watch(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	exit_if(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e), 9);
}

/* A request: a value, which is durable before the reply. */
static void answer(void)
{
	char value;

	exit_if(read(ends[0], &value, 1) != 1, 4);
	pool->x = (uint64_t)value;
	if (!replies_early) {
		persist(&pool->x);
	}
	exit_if(write(ends[0], &value, 1) != 1, 4);
	if (replies_early) {
		persist(&pool->x);
	}
}

static void *serve(void *argument)
{
	struct epoll_event e;
	uint64_t rung = 0;

	while (rung == 0) {
		const int n = epoll_wait(set, &e, 1, 50);

		exit_if(n < 0, 4);
		if (n == 1 && e.data.fd == ends[0]) {
			answer();
		} else if (n == 1 && read(bell, &rung, sizeof rung) != sizeof rung) {
			_exit(4);
		}
	}
	return NULL;
}

static void *request(void *argument)
{
	const uint64_t one = 1;

	for (int i = 1; i <= REQUESTS; i++) {
		char value = (char)i;

		exit_if(write(ends[1], &value, 1) != 1, 4);
		pool->sum = (uint64_t)i;
		persist(&pool->sum);
		exit_if(read(ends[1], &value, 1) != 1, 4);
		pool->y = (uint64_t)value;
		persist(&pool->y);
		if (i % 4 == 0) {
			sleep(1); /* the server looks 20 times in vain */
		}
	}
	exit_if(write(bell, &one, sizeof one) != sizeof one, 4);
	return NULL;
}

static void events(void)
{
	bell = eventfd(0, 0);
	set = epoll_create1(0);
	exit_if(bell < 0 || set < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 9);
	watch(bell);
	watch(ends[0]);
	both(serve, request);
}

static void events_early(void)
{
	replies_early = true;
	events();
}

/* Every other way to wait for a descriptor: the listener's address is the kernel's choice. */
static int listener;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void *send_all(void *argument)
{
	static char many[MANY];
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (size_t i = 0; i < MANY; i++) {
		many[i] = (char)(i % 251);
	}
	exit_if(connect(fd, (struct sockaddr *)&address, sizeof address) || write(fd, many, MANY) != MANY ||
			close(fd) || write(pipes[1], many, MANY) != MANY || close(pipes[1]),
		4);
	return NULL;
}

static bool comes(int fd, int turn)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct timeval most = {.tv_sec = 100};
	fd_set in;

	if (turn % 3 == 0) {
		return poll(&one, 1, 100000) == 1;
	}
	FD_ZERO(&in);
	FD_SET(fd, &in);
	return turn % 3 == 2 || select(fd + 1, &in, NULL, NULL, &most) == 1;
}

static size_t receive(int fd)
{
	char some[5000];
	size_t n = 0;
	ssize_t piece = 1;

	for (int turn = 0; piece > 0; turn++) {
		piece = comes(fd, turn) ? read(fd, some, sizeof some) : -1;
		for (ssize_t i = 0; i < piece; i++, n++) {
			exit_if(some[i] != (char)(n % 251), 4);
		}
	}
	return n;
}

static void *receive_all(void *argument)
{
	const int fd = accept(listener, NULL, NULL);

	pool->x = receive(fd);
	persist(&pool->x);
	pool->y = receive(pipes[0]);
	persist(&pool->y);
	return NULL;
}

static void streams(void)
{
	socklen_t n = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	exit_if(pipe(pipes) || bind(listener, (struct sockaddr *)&address, n) || listen(listener, 4) ||
			getsockname(listener, (struct sockaddr *)&address, &n),
		9);
	both(receive_all, send_all);
	exit_if(pool->x != MANY || pool->y != MANY, 4);
}

/* Another process writes. */
static void *read_pipe(void *argument)
{
	char c;

	exit_if(read(pipes[0], &c, 1) != 1, 4);
	pool->x = (uint64_t)c;
	persist(&pool->x);
	return NULL;
}

static void from_outside(void)
{
	exit_if(pipe(pipes), 9);
	const pid_t child = fork();

	if (child == 0) {
		usleep(20000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	both(read_pipe, set_ready);
	exit_if(child < 0 || pool->x != 'x' || waitpid(child, NULL, 0) != child, 4);
}

static void *never_comes(void *argument)
{
	char c;

	return (void *)(intptr_t)(read(pipes[0], &c, 1) != 1);
}

static void nobody_writes(void)
{
	exit_if(pipe(pipes), 9);
	in_thread(never_comes, NULL);
}

const struct turns_case turns_descriptors[] = {
	{"events", .run = events},
	{"events-early", .run = events_early},
	{"streams", .run = streams},
	{"from-outside", .run = from_outside},
	{"nobody-writes", .run = nobody_writes},
	{NULL},
};
