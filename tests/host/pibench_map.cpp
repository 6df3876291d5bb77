// SPDX-License-Identifier: BSD-3-Clause
// An index as it would be built for PiBench: a map, and a log of its changes in a pool. The declarations are those of PiBench's
// interface; BULK_LOAD adds that of forks, HIDDEN hides the names of the index's functions. PIBENCH_MAP=forgets loses every tenth update,
// unordered scans backwards, aside leaves scanned records with itself, as published wrappers do.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <libpmem.h>

struct tree_options_t {
	size_t key_size = 8;
	size_t value_size = 8;
	std::string pool_path = "";
	size_t pool_size = 0;
	size_t num_threads = 1;
};

class tree_api {
public:
	virtual ~tree_api() {}
#ifdef BULK_LOAD
	virtual bool bulk_load(const char *, size_t, size_t, size_t) { abort(); }
#endif
	virtual bool find(const char *key, size_t key_sz, char *value_out) = 0;
	virtual bool insert(const char *key, size_t key_sz, const char *value, size_t value_sz) = 0;
	virtual bool update(const char *key, size_t key_sz, const char *value, size_t value_sz) = 0;
	virtual bool remove(const char *key, size_t key_sz) = 0;
	virtual int scan(const char *key, size_t key_sz, int scan_sz, char *&values_out) = 0;
};

extern "C" tree_api *create_tree(const tree_options_t &opt);

#ifdef HIDDEN
namespace {
#endif

typedef unsigned long long word;

class logged_map : public tree_api {
	std::map<word, word> map_;
	std::vector<std::pair<word, word>> found_;
	word *log_;
	size_t mapped_, used_ = 0, updates_ = 0;
	std::string bug_;

	static word take(const char *from)
	{
		word w;

		memcpy(&w, from, sizeof w);
		return w;
	}

	void append(word key, word value)
	{
		log_[used_] = key;
		log_[used_ + 1] = value;
		pmem_persist(&log_[used_], 16);
		used_ += 2;
	}

public:
	explicit logged_map(const tree_options_t &o) : bug_(getenv("PIBENCH_MAP") ? getenv("PIBENCH_MAP") : "")
	{
		log_ = (word *)pmem_map_file(o.pool_path.c_str(), o.pool_size, PMEM_FILE_CREATE, 0666, &mapped_, nullptr);
	}
	~logged_map() { pmem_unmap(log_, mapped_); }
	bool find(const char *key, size_t, char *value_out)
	{
		const auto at = map_.find(take(key));

		if (at == map_.end())
			return false;
		memcpy(value_out, &at->second, 8);
		return true;
	}
	bool insert(const char *key, size_t, const char *value, size_t)
	{
		append(take(key), take(value));
		return map_.emplace(take(key), take(value)).second;
	}
	bool update(const char *key, size_t, const char *value, size_t)
	{
		append(take(key), take(value));
		if (bug_ != "forgets" || ++updates_ % 10)
			map_[take(key)] = take(value);
		return true;
	}
	bool remove(const char *key, size_t) { return map_.erase(take(key)) == 1; }
	int scan(const char *key, size_t, int scan_sz, char *&values_out)
	{
		found_.clear();
		for (auto at = map_.lower_bound(take(key)); at != map_.end() && (int)found_.size() < scan_sz; ++at)
			found_.insert(bug_ == "unordered" ? found_.begin() : found_.end(), {at->first, at->second});
		if (bug_ != "aside")
			values_out = (char *)found_.data();
		return (int)found_.size();
	}
};

#ifdef HIDDEN
} // namespace
#endif

extern "C" tree_api *create_tree(const tree_options_t &opt)
{
	return new logged_map(opt);
}
