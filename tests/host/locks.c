/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that maps a file, or flushes one, while the dynamic linker runs its constructor, and a program
 * whose other thread does the same at that time.
 *
 * 	locks LIBRARY map|flush POOL
 */
#define _FILE_OFFSET_BITS 64 /* so that fstat() is what the recorder calls */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

struct shared {
	atomic_bool constructing;
	char *pool; /* NULL: the constructor maps it */
	const char *path;
};

static char *map(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, BYTES)) {
		_exit(2);
	}
	char *const at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

#ifdef LIBRARY

/* The other thread gets as far as it can meanwhile: where nothing is wrong, this only takes time. */
__attribute__((constructor)) static void construct(void)
{
	char *text = getenv("LOCKS_SHARED");
	struct shared *const s = text != NULL ? (struct shared *)(uintptr_t)strtoull(text, NULL, 16) : NULL;

	if (s == NULL) {
		return;
	}
	atomic_store(&s->constructing, true);
	usleep(200000);
	if (s->pool != NULL) {
		s->pool[64] = 1;
		msync(s->pool, 4096, MS_SYNC);
	} else {
		map(s->path);
	}
}

#else

#include <stdio.h>

static struct shared shared;

static void *load(void *library)
{
	return dlopen(library, RTLD_NOW);
}

int main(int argc, char **argv)
{
	char text[32];
	struct stat s;
	pthread_t thread;
	void *loaded = NULL;

	if (argc < 4) {
		return 2;
	}
	const bool flushes = strcmp(argv[2], "flush") == 0;

	shared.path = argv[3];
	shared.pool = flushes ? map(argv[3]) : NULL;
	/*
	 * The recorder finds a function when it is first called, which takes the linker's lock, too, and
	 * that is not the point.
	 */
	fstat(0, &s);
	msync(shared.pool, 0, MS_SYNC);
	snprintf(text, sizeof text, "%llx", (unsigned long long)(uintptr_t)&shared);
	setenv("LOCKS_SHARED", text, 1);
	if (pthread_create(&thread, NULL, load, argv[1])) {
		return 2;
	}
	while (!atomic_load(&shared.constructing)) {
		usleep(1000);
	}
	if (flushes) {
		shared.pool[0] = 1;
		msync(shared.pool, 4096, MS_SYNC); /* from a place that the recorder does not know */
	} else {
		map(argv[3]);
	}
	pthread_join(thread, &loaded);
	return loaded == NULL;
}

#endif
