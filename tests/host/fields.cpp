// SPDX-License-Identifier: BSD-3-Clause
// Stores to fields of persistent classes: by members that are inlined three deep, by std::atomic, by copies.
//
//	fields run POOL		stores, and prints for each store that has one name: name, offset in the file, bytes
//	fields check POOL	nothing is lost behind a flag that is durable
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <libpmem.h>

static const char *base;

static void say(const char *name, const void *at, size_t bytes)
{
	printf("%s\t%zu\t%zu\n", name, (size_t)(static_cast<const char *>(at) - base), bytes);
}

#define SAY(object) say(#object, &(object), sizeof(object))

namespace tree
{

struct slot {
	uint64_t key, value;
};

struct header {
	uint32_t version;
	std::atomic<uint32_t> readers;
};

template <int N> class leaf : public header
{
	slot slots[N];
	uint64_t count;
	std::atomic<uint64_t> head;
	char name[24];

	inline void set_value(int i, uint64_t v) __attribute__((always_inline))
	{
		slots[i].value = v;
	}
	inline void set(int i, uint64_t k, uint64_t v) __attribute__((always_inline))
	{
		slots[i].key = k;
		set_value(i, v);
	}

      public:
	inline void insert(uint64_t k, uint64_t v) __attribute__((always_inline))
	{
		set(static_cast<int>(count), k, v);
		count++;
	}
	void publish(uint64_t v)
	{
		head.store(v, std::memory_order_release);
		SAY(head);
		head = v + 1;
		this->head.fetch_add(1);
		readers.exchange(3);
		SAY(readers);
		version = 2;
		SAY(version);
	}
	void rename(const char *to)
	{
		std::memcpy(name, to, sizeof name);
		SAY(name);
		this->slots[2] = slot{5, 6};
	}
	void tell()
	{
		SAY(count);
		SAY(slots[0].key);
		SAY(slots[0].value);
	}
};

} // namespace tree

struct pool {
	char before[56]; // so that the pair straddles two lines
	tree::slot pair;
	char between[56];
	tree::leaf<4> leaf;
	std::atomic<uint64_t> flag;
};

__attribute__((noinline)) static void store_pair(pool *p, const tree::slot &from)
{
	p->pair = from;
	SAY(p->pair.key);
	SAY(p->pair.value);
}

__attribute__((noinline)) static void store_leaf(pool *p)
{
	p->leaf.insert(0x3333333333333333, 0x4444444444444444);
	p->leaf.publish(17);
	p->leaf.rename("the name of a leaf here");
	p->leaf.tell();
	auto *const other = reinterpret_cast<tree::slot *>(p->between);
	other->key = 3;
	say("other->key", &other->key, 8);
}

int main(int argc, char **argv)
{
	size_t n;
	pool *const p = argc != 3 ? nullptr :
				    static_cast<pool *>(pmem_map_file(argv[2], 4096, PMEM_FILE_CREATE, 0600, &n, nullptr));

	if (p == nullptr) {
		return 2;
	}
	base = reinterpret_cast<const char *>(p);
	if (strcmp(argv[1], "run") == 0) {
		store_leaf(p);
		pmem_persist(&p->leaf, sizeof p->leaf);
		store_pair(p, tree::slot{0x1111111111111111, 0x2222222222222222});
		p->flag.store(1, std::memory_order_release);
		SAY(p->flag);
		pmem_persist(&p->flag, sizeof p->flag);
		return 0;
	}
	if (p->flag == 1 && p->pair.value == 0) {
		puts("the flag is set, and the pair is not there");
		return 1;
	}
	return 0;
}
