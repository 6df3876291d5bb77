#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_robust_host.py NVWAVE NVWAVE_CC EXAMPLES: of the examples --oracle=robust names what was not made durable before something later,
by what their checks read. As they are there is one report, of words that an undo record takes back together: the two balances of a
transfer. What is stored in the wrong order is robust, and so no finding. What counts are the bytes that are read, as the crash has left
them, however often their page is read."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, nvwave_cc, examples = (os.path.abspath(p) for p in sys.argv[1:4])
compiler = shutil.which("gcc")
if not compiler:
    print("1..0 # SKIP there is no gcc")
    sys.exit(0)
folder = tempfile.TemporaryDirectory(prefix="nvwave-robust-")
os.chdir(folder.name)
STATES = "1000" if "EVERY_CASE" in os.environ else "100"


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


def build(name, *flags):
    status, _, err = run(nvwave_cc, compiler, "-g", "-O1", "-o", name, os.path.join(examples, name + ".c"), *flags)
    if status != 0:
        sys.exit(err)


def judge(first, then, check, *more):
    """The exit status, the texts of the findings, and what is said of a state without a verdict, or instead of any."""
    if os.path.exists("pool"):
        os.remove("pool")
    run(*first.split())
    status, out, err = run(nvwave, "crash", "--exec=" + then, "--image=pool", "--check=" + check, "--oracle=robust", "--states=" + STATES,
                           "--output-format=json", *more)
    said = json.loads(out) if out else {}
    return status, [f["text"] for f in said.get("findings", [])], err + said.get("undecided", "")


# Program, how it is begun, goes on and is checked; bugs that lack an order, with what is lost; bugs that are robust; benign reports.
CASES = [
    ("append_log", "./append_log pool 2", "./append_log pool 2", "./append_log",
     {"one-drain": "(write_entry", "no-flush": "(write_entry"}, ["header-first"], 0),
    ("indexed_log", "./indexed_log pool 2", "./indexed_log pool 2", "./indexed_log",
     {"one-drain": "(write_entry", "no-flush": "(write_entry", "index-unflushed": "(fill_slot"}, ["index-first"], 0),
    ("ledger", "./ledger pool 2", "./ledger pool 2", "./ledger", {"entry-unflushed": "ledger.c", "undo-unfenced": "ledger.c", "applied-early": "ledger.c"}, ["count-first", "no-undo"], 1),
]

for name, first, then, check, lacking, robust, benign in CASES:
    build(name, "-lpmem")
    status, right, err = judge(first, then, check)
    ok(status == (benign > 0) and len(right) == benign, "%s_has_%d_reports" % (name, benign), right, err)
    for bug, lost in lacking.items():
        status, texts, err = judge(first, then + " " + bug, check)
        ok(status == 1 and any(lost in t and "is lost, and a later one of its thread is durable: " in t for t in set(texts) - set(right)),
           "%s_with_%s_is_told" % (name, bug), texts, err)
    for bug in robust:
        status, texts, err = judge(first, then + " " + bug, check)
        ok(texts == right, "%s_with_%s_is_robust" % (name, bug), texts, err)

# A store to half a word is lost behind a durable one; what a reader of the other looks at besides.
with open("half.c", "w") as f:
    f.write("""#include <libpmem.h>
#include <stdint.h>
#include <string.h>

struct pool { volatile uint32_t half[16]; volatile uint64_t valid[8]; };

int main(int argc, char **argv)
{
	struct pool *const p = argc == 2 ? pmem_map_file(argv[1], 4096, PMEM_FILE_CREATE, 0600, 0, 0) : pmem_map_file(argv[1], 0, 0, 0, 0, 0);
	uint64_t seen = 0;

	if (argc == 2) {
		p->half[0] = 1;
		p->valid[0] = 1;
		pmem_persist((const void *)&p->valid[0], 8);
		return 0;
	}
	if (strcmp(argv[2], "restored") == 0) {
		p->half[0] = 5;
	}
	for (unsigned i = strcmp(argv[2], "often") == 0 ? 3000 : 1; i > 0; i--) {
		seen += p->valid[0];
	}
	if (strcmp(argv[2], "often") != 0) {
		seen += p->half[strcmp(argv[2], "other") == 0];
	}
	return seen > 5000;
}
""")
status, _, err = run(nvwave_cc, compiler, "-g", "-O1", "-o", "half", "half.c", "-lpmem")
for reader, reports, name in [("half", 1, "is_told"), ("other", 0, "whose_other_half_is_read_is_not"), ("restored", 0, "that_is_overwritten_first_is_not"),
                              ("often", 0, "on_a_page_that_is_read_often_is_not")]:
    status, texts, err = judge("true", "./half pool", "./half {} " + reader)
    ok(len(texts) == reports and status == reports and not err, "a_lost_half_%s" % name, texts, err)

status, _, err = judge("./append_log pool 2", "./append_log pool 2", "./append_log {} | cat")
ok(status == 2 and "cannot be seen" in err, "a_command_whose_reads_are_not_seen_gives_no_verdict", _, err)
status, _, err = judge("./append_log pool 2", "./append_log pool 2", "/bin/false")
ok(status == 2 and "reads nothing that the program has stored" in err, "a_command_that_does_not_open_the_file_is_refused", _, err)
build("raw_log", "-mclwb")
status, texts, err = judge("true", "./raw_log append pool 3 unflushed", "./raw_log check pool")
ok(status == 1 and len(texts) == 1 and not err, "a_command_that_gives_the_file_the_size_that_it_has_is_followed", texts, err)
with open("chmod.c", "w") as file:
    file.write("""#include <sys/stat.h>
int main(int argc, char **argv)
{
	return chmod(argv[argc - 1], 0600);
}
""")
run(compiler, "-o", "chmod", "chmod.c")
status, _, err = judge("./append_log pool 2", "./append_log pool 2", "./chmod")
ok(status == 2 and "it makes system call 90 " in err, "the_call_that_is_not_followed_is_named", _, err)
status, _, err = judge("./append_log pool 2", "./append_log pool 2", "./append_log", "--and-then=true")
ok(status == 2 and "--oracle=robust needs --check=COMMAND" in err, "what_works_on_a_state_is_refused", err)
status, _, err = run(compiler, "-g", "-O1", "-o", "plain", os.path.join(examples, "append_log.c"), "-lpmem")
status, _, err = judge("./append_log pool 2", "./plain pool 2", "./append_log")
ok(status == 2 and "nvwave-cc" in err, "a_program_whose_stores_have_no_order_is_refused", err)
plan()
