#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_announced.sh NVWAVE NVWAVE-CC PROGRAM.c: of a program that nvwave-cc has built wholly, pages are not compared at fences,
# and its log is the same as with comparison. Where anything else may store, they are compared, with the reason in the report.
# A store that nothing announces although it looks so is found late, and the session says that.
set -eu
nvwave=$(readlink -f "$1")
wrapper=$(readlink -f "$2")
source=$(readlink -f "$3")
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/nvwave-announced-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM
cd "$dir"
n=0

# ok STATUS NAME
ok() {
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# record PROGRAM MODE COMPARE: the report and the log
record() {
	rm -f pool log log.image
	"$nvwave" exec --delays=off --compare="$3" --report=report --record=log -- "./$1" pool "$2"
	"$nvwave" log dump log >dump
}
late() { grep -q "note: stores were found late" report; }
reason() { sed -n 's/^pages are compared at every fence: //p' report; }
# The offsets of stores and flushes, and the fences, in their order.
order() { awk '/ store / { print "store", $(NF - 2) } / flush / { print "flush" } / fence / { print "fence" }' dump; }

echo 1..13

"$wrapper" cc -O1 -g -o whole "$source"
record whole plain auto
cp log announced
status=0
[ -z "$(reason)" ] && ! late || status=1
ok $status pages_of_a_program_that_nvwave_cc_has_built_wholly_are_not_compared
record whole plain fences
cmp -s log announced && status=0 || status=1
ok $status its_log_is_the_same_as_with_comparison_at_every_fence

record whole hidden fences
late && status=1 || status=0
order >compared
sed -n 1,3p compared | tr '\n' ' ' | grep -q "^store 0x1000 fence fence" || status=1
ok $status a_store_that_nothing_announces_is_found_at_the_next_fence_by_comparison
record whole hidden auto
late && status=0 || status=1
grep -q " store .* 0x1000 = 0x0*7$" dump || status=1
order | tail -n 1 | grep -q "^store 0x1000" || status=1
ok $status without_comparison_it_is_found_at_the_end_and_the_session_says_so
record whole flushed auto
late && [ "$(reason)" = "something was stored that nothing had announced" ] && status=0 || status=1
order | head -n 2 | tr '\n' ' ' | grep -q "^store 0x1000 flush" || status=1
ok $status it_is_found_where_its_line_is_flushed_and_pages_are_compared_from_then_on
record whole elsewhere auto
late && status=1 || status=0
[ "$(reason)" = "something was stored that nothing had announced" ] || status=1
order | sed -n 1,3p | tr '\n' ' ' | grep -q "^store 0x0 fence store 0x2000" || status=1
ok $status in_a_page_without_an_announced_store_it_faults_and_is_found_at_the_next_fence
record whole string auto
late && status=1 || status=0
grep -q " store .* 0x38 = 0x0*9$" dump || status=1
ok $status repeated_string_instructions_are_announced
status=0
for bits in 32 64; do
	"$wrapper" cc -O1 -D_FILE_OFFSET_BITS=$bits -o library "$source"
	record library library auto
	! late && [ -z "$(reason)" ] && head -n 1 dump | grep -q " 8-byte atomicity" || status=1
	grep -q " store .*0x0 = 0x[0-9a-f]*333231$" dump || status=1
	[ "$(grep -c " store .* 0x4000 = " dump)" -gt 1 ] || status=1
	grep -q " store .* 0x6000 = 0x0*7$" dump || status=1
	[ "$(grep -c " store .* 0x70[6-9]. = " dump)" -gt 2 ] || status=1
done
ok $status functions_of_the_c_library_that_are_interposed_announce_their_stores
cat >conditions.cc <<END
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
struct pool {
	std::mutex lock;
	alignas(64) std::condition_variable came;
	alignas(64) unsigned n;
};
int main(int, char **argv)
{
	const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	void *const at = ftruncate(fd, 4096) ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pool *const p = static_cast<pool *>(at);
	std::unique_lock<std::mutex> taken(p->lock); // before the thread, so that there is a wait
	std::thread thread([&] {
		std::lock_guard<std::mutex> other(p->lock);
		p->n = 1;
		p->came.notify_all();
	});
	p->came.wait(taken, [&] { return p->n == 1; });
	asm volatile("mfence" ::: "memory");
	p->came.wait_for(taken, std::chrono::milliseconds(1));
	asm volatile("mfence" ::: "memory");
	taken.unlock();
	thread.join();
}
END
"$wrapper" c++ -O1 -g -o conditions conditions.cc -pthread
record conditions plain auto
! late && [ -z "$(reason)" ] && [ "$(grep -c " store .* 0x[4-7]. = " dump)" -gt 2 ] && status=0 || status=1
ok $status so_do_conditions_with_the_lock_that_their_waits_give_back_in_c++_too
"$wrapper" cc -O1 -DACK -I"$(dirname "$source")/../../lib" -o told "$source"
record told plain auto
[ -z "$(reason)" ] && [ "$(grep -c " begin .*one$" dump)" -eq 1 ] && status=0 || status=1
ok $status acknowledgements_leave_a_program_whole

cc -O1 -c -DPART -o part.o "$source"
"$wrapper" cc -O1 -DWHOLE -o partly "$source" part.o
record partly plain auto
[ "$(reason)" = "not all of partly was built by nvwave-cc" ] && status=0 || status=1
cc -O1 -fPIC -shared -DPART -o libpart.so "$source"
"$wrapper" cc -O1 -DWHOLE -o shared "$source" -L. -lpart -Wl,-rpath,"$dir"
record shared plain auto
[ "$(reason)" = "shared calls part, which may store what is not announced" ] || status=1
ar rc libpart.a part.o
"$wrapper" cc -O1 -DWHOLE -o archive "$source" -L. -Wl,-Bstatic -lpart -Wl,-Bdynamic
record archive plain auto
[ "$(reason)" = "not all of archive was built by nvwave-cc" ] || status=1
echo "INPUT(part.o)" >libpart.so
"$wrapper" cc -O1 -DWHOLE -o archive "$source" -L. -lpart
record archive plain auto
[ "$(reason)" = "not all of archive was built by nvwave-cc" ] || status=1
rm libpart.so
"$wrapper" cc -O1 -DWHOLE -o archive "$source" -L. -lpart
record archive plain auto
[ "$(reason)" = "not all of archive was built by nvwave-cc" ] || status=1
mkdir first second
"$wrapper" cc -O1 -c -DPART -Dpart=other -o first/part.o "$source"
cp part.o second/part.o
ar qc libtwice.a first/part.o second/part.o
"$wrapper" cc -O1 -DWHOLE -o archive "$source" -L. -ltwice
record archive plain auto
[ "$(reason)" = "not all of archive was built by nvwave-cc" ] || status=1
ok $status object_files_archives_and_libraries_built_otherwise_are_met_with_comparison
status=0
for what in SYSCALL SCATTER DLSYM DOWNWARDS; do
	"$wrapper" cc -O1 -D_GNU_SOURCE -D$what -o other "$source"
	record other plain auto
	[ "$(reason)" = "not all of other was built by nvwave-cc" ] || status=1
done
for how in -pie -no-pie; do # the second exports next to nothing, so its hash table says little
	"$wrapper" cc -O1 -DSORT -fPIE $how -o other "$source"
	record other plain auto
	[ "$(reason)" = "other calls qsort, which may store what is not announced" ] || status=1
done
"$wrapper" cc -O1 -DMALLOC -o other "$source"
record other plain auto
[ "$(reason)" = "other has its own malloc, which libraries use, too" ] || status=1
ok $status what_cannot_be_announced_is_met_with_comparison
"$wrapper" cc -O1 -c -DPART -o watched.o "$source"
"$wrapper" cc -O1 -DWHOLE -o whole "$source" watched.o
record whole plain auto
[ -z "$(reason)" ] && status=0 || status=1
cc -O1 -c -DPART -Dpart=other -o other.o "$source"
"$wrapper" cc -r -nostdlib -o partial.o watched.o other.o
"$wrapper" cc -O1 -DWHOLE -o whole "$source" partial.o
record whole plain auto
[ "$(reason)" = "not all of whole was built by nvwave-cc" ] || status=1
ok $status several_objects_are_a_whole_if_each_is_also_where_they_were_linked_before
