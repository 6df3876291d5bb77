#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_install.py MESON BUILD ROOT CC...: meson install, and what is built and run against the installed tree alone."""
import glob
import os
import re
import subprocess
import sys
import tempfile

from common import ok, plan

meson, build, root, cc = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
folder = tempfile.TemporaryDirectory(prefix="nvwave-install-")
tree = os.path.join(folder.name, "tree")


def run(*words, **more):
    """In a folder outside the source, with nothing of its environment."""
    os.makedirs(os.path.join(folder.name, "work"), exist_ok=True)
    done = subprocess.run(list(words), capture_output=True, text=True, timeout=120, cwd=os.path.join(folder.name, "work"),
                          env={"PATH": os.path.join(prefix, "bin") + ":/usr/bin:/bin", "PKG_CONFIG_PATH": pkgconfig,
                               "PKG_CONFIG_SYSROOT_DIR": tree, "PMEM_IS_PMEM_FORCE": "1"}, **more)
    return done.returncode, done.stdout, done.stderr


def flags(*words):
    status, out, err = run("pkg-config", *words, "nvwave")
    assert status == 0, err
    return out.split()


installed = subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--destdir", tree], capture_output=True, text=True)
found = glob.glob(tree + "/**/nvwave.pc", recursive=True)
ok(installed.returncode == 0 and len(found) == 1, "meson_install_installs", installed.stdout[-1000:], installed.stderr[-1000:])
pkgconfig = os.path.dirname(found[0])
prefix = re.match(r"(.*)/lib", found[0]).group(1)
documents, data = prefix + "/share/doc/nvwave", prefix + "/share/nvwave"


def headers():
    ours = {os.path.basename(p) for p in glob.glob(root + "/lib/nvw/*.h")}
    theirs = {os.path.basename(p) for p in glob.glob(prefix + "/include/nvw/*.h")}
    ok(ours == theirs and ours, "every_public_header_is_installed", ours ^ theirs)
    wrong = []
    for name in sorted(theirs):
        status, _, err = run(*cc, *flags("--cflags"), "-std=gnu11", "-Wall", "-Werror", "-x", "c", "-fsyntax-only", "-",
                             input="#include <nvw/%s>\n" % name)
        wrong += [err] if status else []
    ok(not wrong, "every_header_compiles_by_itself", *wrong)


def files():
    needed = ["bin/nvwave", "bin/nvwave-cc", "bin/nvwave-nvcc", "bin/nvwave-hipcc", "share/man/man1/nvwave.1", "share/bash-completion/completions/nvwave.bash",
              "share/zsh/site-functions/_nvwave", "share/nvwave/machines/gope18.ini", "share/doc/nvwave/README.md",
              "share/doc/nvwave/docs/timeline.md", "share/doc/nvwave/docs/sweeps/scopes.ini", "share/doc/nvwave/examples/ledger.c"]
    missing = [n for n in needed if not os.path.exists(os.path.join(prefix, n))]
    ok(not missing, "command_pages_completions_machines_and_examples_are_installed", *missing)
    broken = []
    pages = glob.glob(documents + "/**/*.md", recursive=True)
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", open(page).read()):
            if not os.path.exists(os.path.join(os.path.dirname(page), link)):
                broken.append("%s: %s" % (os.path.basename(page), link))
    kept = "(../../../nvwave/papers" in open(documents + "/docs/reproduce.md").read()
    ok(len(pages) > 30 and kept and not broken, "links_of_installed_pages_lead_somewhere", kept, *broken)


def workload():
    source = os.path.join(documents, "docs/tutorial/queue.c")
    status, _, err = run(*cc, "-g", "-shared", "-fPIC", "-std=gnu11", *flags("--cflags"), source, "-o", "queue.so")
    ok(status == 0, "a_workload_is_built_against_the_installed_headers", err)
    good = run("nvwave", "run", "./queue.so")
    bad = run("nvwave", "crash", "./queue.so", "--mutate=forget-barrier", "--states=2000", "--cures=off")
    ok(good[0] == 0 and "consistent" in good[1] and bad[0] == 1 and "INCONSISTENT" in bad[1],
       "the_installed_command_runs_and_crash_tests_it", good, bad)


POOL = """
#include <stdio.h>
#include <nvw/recovery.h>

int main(int argc, char **argv)
{
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;

	if (nvw_pool_open(argv[1], NVW_POOL_WRITE, &pool) < 0 || nvw_recover(pool, &report) < 0) {
		fprintf(stderr, "%s\\n", nvw_error_message());
		return 2;
	}
	printf("%u pool, %llu words written\\n", nvw_pool_count(pool), (unsigned long long)report.words_written);
	nvw_pool_close(pool);
	return 0;
}
"""


def program():
    with open(os.path.join(folder.name, "pool.c"), "w") as f:
        f.write(POOL)
    status, _, err = run(*cc, "-std=gnu11", "../pool.c", *flags("--cflags", "--libs"), "-o", "pool")
    ok(status == 0, "a_program_is_linked_with_the_installed_library", err, flags("--libs"))
    run("nvwave", "run", "kv", "--count=20", "--batch=4", "--pool=kept")
    recovered = run("./pool", "kept")
    refused = run("./pool", "nowhere")
    ok(recovered[0] == 0 and recovered[1] == "1 pool, 0 words written\n" and refused[0] == 2 and "nowhere" in refused[2],
       "it_opens_and_recovers_a_pool_of_the_installed_command", recovered, refused)


LIBRARY = """
#include <nvw/workload.h>

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	return nvw_fail(NVW_E_USAGE, "named is prepared");
}

static int go(void *plan, struct nvw_machine *machine)
{
	return 0;
}

static const struct nvw_workload named = {.name = "named", .summary = "a workload of a library", .prepare = prepare, .run = go};
const struct nvw_workload *const nvw_workloads[] = {&named, NULL};
"""


def libraries():
    kernels = run("nvwave", "run", "vec-cpy")
    ok(kernels[0] == 0 and "verified" in kernels[1], "the_installed_command_runs_the_kernels_of_the_papers", *kernels)
    os.makedirs(os.path.join(folder.name, "work", "mine"))
    with open(os.path.join(folder.name, "library.c"), "w") as f:
        f.write(LIBRARY)
    with open(os.path.join(folder.name, "work", "mine", "broken.so"), "w") as f:
        f.write("no library\n")
    status, _, err = run(*cc, "-shared", "-fPIC", "-std=gnu11", *flags("--cflags"), "../library.c", "-o", "mine/library.so")
    assert status == 0, err
    mine = ("env", "NVWAVE_WORKLOADS=nowhere:mine", "nvwave")
    listed = run(*mine, "list", "workloads")
    named = run(*mine, "run", "named")
    ok("named  " in listed[1] and "library.so" in listed[1] and "papers.so" in listed[1] and "named is prepared" in named[2],
       "workloads_of_a_users_library_have_names", listed, named)
    ok("note: mine/broken.so is no library of workloads" in listed[2] and listed[0] == 0, "a_file_that_is_no_library_is_noted", listed[2])
    built_in = run(*mine, "run", "kv", "--count=8", "--batch=4")
    ok(built_in[0] == 0 and not built_in[2], "no_library_is_loaded_for_a_workload_of_the_command", built_in)


def doors():
    litmus = run("nvwave", "litmus", flags("--variable=litmusdir")[0] + "/hrf.litmus", "--brief", "--schedules=50")
    ok(litmus[0] == 0, "installed_litmus_tests_run", *litmus)
    machine = run("nvwave", "run", "kv", "--count=8", "--batch=4", "--machine=" + data + "/machines/alsop16.ini")
    ok(machine[0] == 0, "installed_machine_files_are_read", *machine)
    run(*cc, "-g", documents + "/examples/append_log.c", "-lpmem", "-o", "append_log")
    executed = run("nvwave", "exec", "--", "./append_log", "log", "3")
    ok(executed[0] == 0 and "calls" in executed[2] + executed[1], "the_installed_command_runs_host_programs", *executed)
    built = run("nvwave-cc", cc[-1], "-g", documents + "/examples/append_log.c", "-lpmem", "-o", "announced")
    whole = run("nvwave", "exec", "--record=announced.record", "--report=announced.txt", "--", "./announced", "announced.log", "3")
    reason = [line for line in open(os.path.join(folder.name, "work", "announced.txt")) if line.startswith("pages are compared")]
    ok(built[0] == 0 and whole[0] == 0 and not reason, "what_the_installed_compiler_builds_is_announced_wholly", *built, *reason)


headers()
files()
workload()
program()
libraries()
doors()
plan()
