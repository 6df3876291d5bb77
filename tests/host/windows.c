/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads with and without persistency races, a case each: windows POOL CASE. Threads run one after the
 * other, so that no load falls into a window in this run: what is found is predicted.
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

enum { POOL_BYTES = 1 << 16, LINE = 64 };

static struct pool {
	_Alignas(LINE) volatile uint64_t x; /* what is raced for */
	volatile uint64_t beside;           /* in its line */
	_Alignas(LINE) volatile uint64_t y; /* what the reader makes durable */
	_Alignas(LINE) _Atomic uint64_t word;
	_Alignas(LINE) volatile uint32_t half[2];
	_Alignas(LINE) char text[256];
	_Alignas(LINE) volatile uint64_t late[2]; /* nobody has touched these before */
} * pool;

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic int turn; /* of thread 0, 1 ...: no order that the detector knows */
static _Atomic int published;
static char copy[256];

/* clwb, so that a window ends at the fence */
static void flush(volatile const void *at)
{
	__asm__ volatile("clwb %0" : : "m"(*(volatile const char *)at) : "memory");
}

static void fence(void)
{
	_mm_sfence();
}

static void persist(volatile const void *at)
{
	flush(at);
	fence();
}

/* Threads take turns by a file's lock: neither a lock of theirs nor an atomic that is seen. */
static void wait_turn(int mine)
{
	while (true) {
		char now;

		if (pread(3, &now, 1, 0) == 1 && now == mine) {
			return;
		}
		usleep(100);
	}
}

static void pass_turn(int next)
{
	const char to = (char)next;

	if (pwrite(3, &to, 1, 0) != 1) {
		_exit(9);
	}
}

static void consume(uint64_t value)
{
	pool->y = value + 1;
	persist(&pool->y);
}

/* ---- The storing thread and the reading one, case by case ---------------------------------------- */

struct pair {
	const char *name;
	void (*store)(void), (*load)(void);
};

/* A store that is made durable, and a load, between take and release. */
#define STORES_UNDER(name, take, release) \
	static void name(void)            \
	{                                 \
		take;                     \
		pool->x = 1;              \
		persist(&pool->x);        \
		release;                  \
	}
#define LOADS_UNDER(name, take, release)        \
	static void name(void)                  \
	{                                       \
		take;                           \
		const uint64_t value = pool->x; \
		release;                        \
		consume(value);                 \
	}

STORES_UNDER(store_all_locked, pthread_mutex_lock(&a), pthread_mutex_unlock(&a))
LOADS_UNDER(load_locked, pthread_mutex_lock(&a), pthread_mutex_unlock(&a))

static void load_unlocked(void)
{
	consume(pool->x);
}

static __attribute__((noinline)) uint64_t load_late_word(volatile const uint64_t *at)
{
	return *at;
}

static void read_late(void)
{
	copy[0] = (char)load_late_word(&pool->late[0]);
	copy[0] = (char)load_late_word(&pool->late[1]);
}

static void in_thread(void (*what)(void));

static void store_late(void)
{
	pool->late[1] = 0;
	in_thread(read_late);
	pool->late[1] = 1;
	flush(&pool->late[1]);
	fence();
}

static void load_late(void)
{
	consume(load_late_word(&pool->late[1]));
}

static void store_flush_outside(void)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	pthread_mutex_unlock(&a);
	flush(&pool->x);
	fence();
}

static void store_fence_outside(void)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	flush(&pool->x);
	pthread_mutex_unlock(&a);
	fence();
}

static void store_lock_retaken(void)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	pthread_mutex_unlock(&a);
	pthread_mutex_lock(&a);
	persist(&pool->x);
	pthread_mutex_unlock(&a);
}

static void store_waits_on_condition(void)
{
	struct timespec past = {.tv_sec = 1};

	pthread_mutex_lock(&a);
	pool->x = 1;
	pthread_cond_timedwait(&changed, &a, &past);
	persist(&pool->x);
	pthread_mutex_unlock(&a);
}

/* Under both, then under b alone. */
static void store_two_locks(void)
{
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pool->x = 1;
	pthread_mutex_unlock(&a);
	persist(&pool->x);
	pthread_mutex_unlock(&b);
}

LOADS_UNDER(load_locked_b, pthread_mutex_lock(&b), pthread_mutex_unlock(&b))
STORES_UNDER(store_reading, pthread_rwlock_rdlock(&many), pthread_rwlock_unlock(&many))
STORES_UNDER(store_writing, pthread_rwlock_wrlock(&many), pthread_rwlock_unlock(&many))
LOADS_UNDER(load_reading, pthread_rwlock_rdlock(&many), pthread_rwlock_unlock(&many))
STORES_UNDER(store_spinning, pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
LOADS_UNDER(load_spinning, pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
STORES_UNDER(store_c11, mtx_lock(&c11), mtx_unlock(&c11))
LOADS_UNDER(load_c11, mtx_lock(&c11), mtx_unlock(&c11))

static void store_trylock(void)
{
	if (pthread_mutex_trylock(&a) == 0) {
		pool->x = 1;
		persist(&pool->x);
		pthread_mutex_unlock(&a);
	}
}

static void load_trylock_fails(void)
{
	pthread_mutex_lock(&b);
	if (pthread_mutex_trylock(&b) != 0) { /* which takes nothing */
		pthread_mutex_unlock(&b);
	}
	consume(pool->x);
}

static void store_never(void)
{
	pool->x = 1;
}

static void store_streamed(void)
{
	_mm_stream_si64((long long *)(uintptr_t)&pool->x, 1);
	fence();
}

static void store_streamed_locked(void)
{
	pthread_mutex_lock(&a);
	_mm_stream_si64((long long *)(uintptr_t)&pool->x, 1);
	fence();
	pthread_mutex_unlock(&a);
}

/* clflush ends the window: the fence behind the lock is too much. */
static void store_clflush_locked(void)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	_mm_clflush((const void *)(uintptr_t)&pool->x);
	pthread_mutex_unlock(&a);
	fence();
}

static void store_atomic_fences(void)
{
	pthread_mutex_lock(&a);
	pool->x = 1;
	flush(&pool->x);
	atomic_fetch_add(&turn, 1); /* a locked instruction fences */
	pthread_mutex_unlock(&a);
}

static void store_half(void)
{
	pool->half[0] = 1;
	persist(&pool->half[0]);
}

static void load_half(void)
{
	consume(pool->half[0]);
}

static void load_other_half(void)
{
	consume(pool->half[1]);
}

static void store_text(void)
{
	memset(pool->text + 3, 'x', 100);
	for (unsigned i = 0; i < 128; i += LINE) {
		flush(pool->text + i);
	}
	fence();
}

static void load_text(void)
{
	memcpy(copy, pool->text + 90, 20);
	consume((uint64_t)copy[0]);
}

static void load_text_behind(void)
{
	memcpy(copy, pool->text + 103, 20);
	consume((uint64_t)copy[0]);
}

/* What it has read is flushed and fenced by the reader, before it depends on it. */
static void load_and_help(void)
{
	const uint64_t value = pool->x;

	persist(&pool->x);
	consume(value);
}

__attribute__((noinline)) static uint64_t read_x(void)
{
	return pool->x;
}

static void load_and_help_once(void)
{
	read_x();
	persist(&pool->x);
	consume(read_x());
}

static void load_and_help_late(void)
{
	consume(pool->x);
	persist(&pool->x);
}

static void load_store_and_help(void)
{
	pool->y = pool->x;
	persist(&pool->x);
	persist(&pool->y);
}

static void load_and_store_beside(void)
{
	pool->beside = pool->x;
	persist(&pool->beside);
}

static void load_and_store_both(void)
{
	pool->y = pool->x;
	pool->beside = 1;
	flush(&pool->y);
	persist(&pool->beside);
}

static void load_and_forget(void)
{
	copy[0] = (char)pool->x;
}

static void store_then_publish(void)
{
	pool->x = 1;
	persist(&pool->x);
	atomic_store(&published, 1);
}

static void load_when_published(void)
{
	while (!atomic_load(&published)) {
	}
	consume(pool->x);
}

static void store_then_publish_again(void)
{
	atomic_store(&published, 0);
	pass_turn(1);
	wait_turn(2);
	store_then_publish();
}

static void load_when_published_again(void)
{
	atomic_load(&published);
	pass_turn(2);
	wait_turn(1);
	load_when_published();
}

/* The flag seems to be a lock, so that its own stores are of second rank. */
static void store_then_publish_in_pool(void)
{
	pass_turn(1);
	wait_turn(2);
	pool->x = 1;
	persist(&pool->x);
	atomic_exchange(&pool->word, 1);
}

__attribute__((noinline)) static uint64_t read_word(void)
{
	return atomic_load(&pool->word);
}

static void load_when_published_in_pool(void)
{
	read_word();
	pass_turn(2);
	wait_turn(1);
	while (read_word() == 0) {
	}
	consume(pool->x);
}

static void store_lock_free(void)
{
	uint64_t before = 0;

	atomic_compare_exchange_strong(&pool->word, &before, 1);
	persist(&pool->word);
}

static void load_lock_free(void)
{
	consume(atomic_load(&pool->word));
}

static void store_own_lock(void)
{
	uint64_t before = 0;

	atomic_compare_exchange_strong(&pool->word, &before, 1);
	pool->half[1] = 5;
	persist(&pool->half[1]);
	atomic_store(&pool->word, 0);
}

/* A lock of the program's own: a bit of a word that is no part of the pool. */
static _Atomic uint64_t own_lock;

static void take_own(void)
{
	uint64_t before = 0;

	while (!atomic_compare_exchange_strong(&own_lock, &before, 2)) {
		before = 0;
	}
}

static void release_own(void)
{
	atomic_store(&own_lock, 0);
}

STORES_UNDER(store_own_locked, take_own(), release_own())

static void store_own_flush_outside(void)
{
	take_own();
	pool->x = 1;
	release_own();
	persist(&pool->x);
}

LOADS_UNDER(load_own_locked, take_own(), release_own())

/* A bit of the pool, set by inline assembly and cleared by a plain store. */
static void take_by_assembly(void)
{
	bool was_set;

	do {
		__asm__ volatile("lock; btsq $3, %1\n\tsetc %0"
				 : "=q"(was_set), "+m"(pool->word)
				 :
				 : "cc", "memory");
	} while (was_set);
}

static void release_by_store(void)
{
	*(volatile uint64_t *)&pool->word &= ~UINT64_C(8);
}

STORES_UNDER(store_locked_by_assembly, take_by_assembly(), release_by_store())

static void store_unlocked_too_early(void)
{
	take_by_assembly();
	pool->x = 1;
	release_by_store();
	persist(&pool->x);
}

LOADS_UNDER(load_locked_by_assembly, take_by_assembly(), release_by_store())

/* Another thread clears the bit (run_pair). */
static void load_own_and_leave_it(void)
{
	take_own();
	consume(pool->x);
}

/* What the thread makes durable in between does not wait for x. */
static void store_flushed_late(void)
{
	pool->x = 1;
	pool->half[1] = 1;
	persist(&pool->half[1]);
	pool->half[1] = 2;
	persist(&pool->x);
}

static void store_fenced_twice(void)
{
	pool->x = 1;
	fence();
	persist(&pool->x);
}

static const struct pair pairs[] = {
	{"all-locked", store_all_locked, load_locked},
	{"flush-outside", store_flush_outside, load_locked},
	{"fence-outside", store_fence_outside, load_locked},
	{"load-unlocked", store_all_locked, load_unlocked},
	{"late", store_late, load_late},
	{"retaken", store_lock_retaken, load_locked},
	{"condition", store_waits_on_condition, load_locked},
	{"two-locks-a", store_two_locks, load_locked},
	{"two-locks-b", store_two_locks, load_locked_b},
	{"both-read", store_reading, load_reading},
	{"one-writes", store_writing, load_reading},
	{"spin", store_spinning, load_spinning},
	{"c11", store_c11, load_c11},
	{"trylock", store_trylock, load_locked},
	{"trylock-fails", store_two_locks, load_trylock_fails},
	{"never", store_never, load_locked},
	{"streamed", store_streamed, load_unlocked},
	{"streamed-locked", store_streamed_locked, load_locked},
	{"clflush", store_clflush_locked, load_locked},
	{"atomic-fences", store_atomic_fences, load_locked},
	{"half", store_half, load_half},
	{"other-half", store_half, load_other_half},
	{"text", store_text, load_text},
	{"text-behind", store_text, load_text_behind},
	{"helped", store_flush_outside, load_and_help},
	{"helped-once", store_flush_outside, load_and_help_once},
	{"helped-late", store_flush_outside, load_and_help_late},
	{"helped-behind-a-store", store_flush_outside, load_store_and_help},
	{"effect-beside", store_flush_outside, load_and_store_beside},
	{"effects", store_flush_outside, load_and_store_both},
	{"no-effect", store_flush_outside, load_and_forget},
	{"published", store_then_publish, load_when_published},
	{"published-again", store_then_publish_again, load_when_published_again},
	{"published-in-pool", store_then_publish_in_pool, load_when_published_in_pool},
	{"lock-free", store_lock_free, load_lock_free},
	{"own-lock", store_own_lock, load_lock_free},
	{"own-locked", store_own_locked, load_own_locked},
	{"own-flush-outside", store_own_flush_outside, load_own_locked},
	{"own-load-unlocked", store_own_locked, load_unlocked},
	{"by-assembly", store_locked_by_assembly, load_locked_by_assembly},
	{"by-assembly-too-early", store_unlocked_too_early, load_locked_by_assembly},
	{"own-cleared-by-others", store_own_locked, load_own_and_leave_it},
	{"flushed-late", store_flushed_late, load_unlocked},
	{"fenced-twice", store_fenced_twice, load_unlocked},
};

/* ---- Threads -------------------------------------------------------------------------------------- */

static void touch_all(void)
{
	pool->half[0] = pool->half[1] = 0;
	pool->x = pool->y = 0;
	atomic_store(&pool->word, 0);
	memset(pool->text, 'a', sizeof pool->text);
	for (unsigned at = 0; at < sizeof *pool; at += LINE) {
		flush((const char *)pool + at);
	}
	fence();
}

static void read_all(void)
{
	memcpy(copy, pool->text, sizeof copy);
	copy[0] = (char)(pool->x + pool->y + pool->half[0] + pool->half[1] + atomic_load(&pool->word));
}

static void *call(void *what)
{
	(*(void (**)(void))what)();
	return NULL;
}

static void in_thread(void (*what)(void))
{
	pthread_t t;

	pthread_create(&t, NULL, call, &what);
	pthread_join(t, NULL);
}

static void *storing(void *to)
{
	const struct pair *const p = to;

	wait_turn(0);
	p->store();
	pass_turn(1);
	return NULL;
}

static void *loading(void *to)
{
	const struct pair *const p = to;

	wait_turn(1);
	p->load();
	return NULL;
}

static void run_threads(const struct pair *p)
{
	pthread_t first, second;

	pthread_create(&first, NULL, storing, (void *)(uintptr_t)p);
	pthread_create(&second, NULL, loading, (void *)(uintptr_t)p);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

/* Two threads have touched the pool before, so that no word is one thread's alone. */
static void run_pair(const struct pair *p)
{
	touch_all();
	in_thread(read_all);
	run_threads(p);
	if (atomic_load(&own_lock) != 0) {
		atomic_fetch_and(&own_lock, 0);
	}
}

static void child_loads(void)
{
	consume(pool->x);
}

static int child_loads_c11(void *unused)
{
	(void)unused;
	consume(pool->x);
	return 0;
}

/* A store of the parent, and a load of its child. */
static void before_create(bool durable_before)
{
	void (*loads)(void) = child_loads;
	pthread_t t;

	in_thread(read_all);
	pool->x = 1;
	if (durable_before) {
		persist(&pool->x);
	}
	pthread_create(&t, NULL, call, &loads);
	if (!durable_before) {
		persist(&pool->x);
	}
	pthread_join(t, NULL);
}

static void before_create_c11(void)
{
	thrd_t t;

	in_thread(read_all);
	pool->x = 1;
	persist(&pool->x);
	thrd_create(&t, child_loads_c11, NULL);
	thrd_join(t, NULL);
}

static void after_join(void)
{
	touch_all();
	in_thread(store_flush_outside);
	consume(pool->x);
}

/* The child's store is made durable by the parent, who has joined it; another child comes later. */
static void joined_flush(bool flushes)
{
	touch_all();
	in_thread(read_all);
	in_thread(store_never);
	if (flushes) {
		persist(&pool->x);
	}
	in_thread(child_loads);
}

static void alone(void)
{
	store_flush_outside();
	load_locked();
	load_unlocked();
}

static void store_durably(void)
{
	pool->x = 1;
	persist(&pool->x);
}

/* Nobody has touched the pool before. */
static void until_published(void)
{
	run_threads(&(const struct pair){.store = store_durably, .load = load_unlocked});
}

static bool run(const char *name)
{
	for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (strcmp(pairs[i].name, name) == 0) {
			run_pair(&pairs[i]);
			return true;
		}
	}
	if (strcmp(name, "before-create") == 0) {
		before_create(true);
	} else if (strcmp(name, "across-create") == 0) {
		before_create(false);
	} else if (strcmp(name, "before-create-c11") == 0) {
		before_create_c11();
	} else if (strcmp(name, "after-join") == 0) {
		after_join();
	} else if (strcmp(name, "joined-flush") == 0) {
		joined_flush(true);
	} else if (strcmp(name, "joined-no-flush") == 0) {
		joined_flush(false);
	} else if (strcmp(name, "alone") == 0) {
		alone();
	} else if (strcmp(name, "killed") == 0) {
		run("flush-outside");
		kill(getpid(), SIGKILL);
	} else if (strcmp(name, "until-published") == 0) {
		until_published();
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "windows POOL CASE\n");
		return 2;
	}
	const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	char turns[] = "/tmp/windowsXXXXXX";
	const int order = mkstemp(turns);

	unlink(turns);
	if (fd < 0 || order < 0 || ftruncate(fd, POOL_BYTES) || pwrite(order, "", 1, 0) != 1) {
		perror(argv[1]);
		return 2;
	}
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) {
		perror(argv[1]);
		return 2;
	}
	if (order != 3 && dup2(order, 3) != 3) {
		return 2;
	}
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	mtx_init(&c11, mtx_plain);
	if (!run(argv[2])) {
		fprintf(stderr, "%s: expected a case\n", argv[2]);
		return 2;
	}
	return 0;
}
