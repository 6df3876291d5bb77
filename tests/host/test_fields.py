#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_fields.py NVWAVE NVWAVE-CC FIELDS.C FIELDS.CPP [SEED]: a store is named by the field that it goes to.

The programs print the truth: names with the offsets and sizes that their compiler computes. A name that is not
the truth is worse than none, so each name is compared, and those that must be known are counted."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, nvwave_cc, in_c, in_cpp = (os.path.abspath(p) for p in sys.argv[1:5])
EVERY = "EVERY_CASE" in os.environ
seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
folder = tempfile.TemporaryDirectory(prefix="nvwave-fields-")
os.chdir(folder.name)
compilers = [c for c in ("gcc", "clang") if shutil.which(c) and shutil.which({"gcc": "g++", "clang": "clang++"}[c])]
if not compilers:
    print("1..0 # SKIP there is no compiler of C and C++")
    sys.exit(0)


def run(*words, status=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode != status:
        sys.exit(f"{words}: status {done.returncode}, expected {status}\n{done.stderr[-2000:]}")
    return done.stdout


def build(compiler, level, source, name, *more):
    if source.endswith(".cpp"):
        compiler = {"gcc": "g++", "clang": "clang++"}[compiler]
    run(nvwave_cc, compiler, level, "-g", *more, "-o", name, source, "-lpmem")


def record(program):
    """The truth, as (name, offset, bytes), and the records of stores."""
    if os.path.exists("pool"):
        os.unlink("pool")
    out = run(nvwave, "exec", "--record=log", "--report=report", "--", "./" + program, "run", "pool")
    truth = [(name.replace(" ", ""), int(at), int(n)) for name, at, n in (line.split("\t") for line in out.splitlines() if line.count("\t") == 2)]
    log = [json.loads(line) for line in run(nvwave, "log", "dump", "log", "--output-format=json").splitlines()]
    return truth, [r for r in log if r["record"] == "store"]


def bytes_of(store):
    return (len(store["data"]) - 2) // 2 if store["data"].startswith("0x") else len(store["data"]) // 2


def wrong_names(truth, stores):
    """Names that contradict the truth."""
    wrong = []
    where = {}
    for name, at, n in truth:
        where.setdefault(name, set()).add((at, n))
    for s in stores:
        f = s.get("stored")
        if not f or f["part"]:
            continue
        for name in f["field"].replace(" ", "").split(","):
            for at, n in where.get(name, ()):
                if not (s["offset"] < at + n and at < s["offset"] + bytes_of(s)):
                    wrong.append((f, s["offset"], at, n))
    return wrong


def names(stores, part=False):
    return {n.strip() for s in stores if "stored" in s and s["stored"]["part"] == part for n in s["stored"]["field"].split(",")}


def stored_to(stores, name):
    return [s for s in stores if s.get("stored", {}).get("field", "").replace(" ", "") == name.replace(" ", "")]


C_NAMES = ["node->count", "node->tag", "node->next", "node->slots[3].value", "node->slots[i].key", "node->high", "node->words[2]",
           "node->words[i]", "node->entry.flags", "node->head", "node->words[4]", "pool->pair.key", "pool->pair.value", "pool->flag",
           "node->entry.size", "node->entry.kind", "node->slots[i].value"]
CPP_NAMES = ["slots[i].key", "slots[i].value", "count", "head", "readers", "version", "p->pair.key", "p->pair.value", "p->flag",
             "name[0..7]", "name[16..23]", "other->key"]


def check(condition, name, why=""):
    ok(condition, name.replace(" ", "_"), why)


# ---- The cases ------------------------------------------------------------------------------------------

for compiler in compilers:
    for level in ("-O0", "-O2"):
        for source, wanted, suffix in ((in_c, C_NAMES, "c"), (in_cpp, CPP_NAMES, "cpp")):
            # Each two of compiler, level and language are met: C at -O0 and C++ at -O2 by the first compiler, by the second the others.
            if not EVERY and (suffix == "c") != ((level == "-O0") == (compiler == compilers[0])):
                continue
            program = f"fields_{compiler}{level[1:]}_{suffix}"
            build(compiler, level, source, program)
            truth, stores = record(program)
            known = names(stores)
            missing = [n for n in wanted if n not in known]
            # clang makes one store of two neighbours, and its place is the first one's alone.
            loose = {"slots[i].key", "slots[i].value"} if compiler == "clang" and level == "-O2" and suffix == "cpp" else set()
            check(set(missing) <= loose, f"{program} names its stores", f"missing {missing}")
            wrong = wrong_names(truth, stores)
            check(not wrong, f"{program} has no wrong name", wrong[:3])
            pair = [s for s in stores if "pair" in s.get("stored", {}).get("field", "")]
            check({s["offset"] for s in pair} == {56, 64} and all(s["stored"].get("whole", s["stored"]["field"]).endswith("pair") for s in pair),
                  f"{program} names both halves of a copy that straddles two lines", [s.get("stored") for s in pair])
            # Of an element whose number is a variable's, the offset counts from the element.
            key = stored_to(stores, "node->slots[i].key" if suffix == "c" else "slots[i].key")
            check(all(s["stored"]["of"].split()[-1] == "slot" and s["stored"]["offset"] == 0 for s in key) and (key or loose),
                  f"{program} counts offsets from an element", [s["stored"] for s in key])
            count = stored_to(stores, "node->slots[3].value" if suffix == "c" else "version")
            expected = ("struct node", 16 + 3 * 16 + 8, 8) if suffix == "c" else (None, 0, 4)
            check(count and all((s["stored"]["of"] == expected[0] or not expected[0]) and s["stored"]["size"] == expected[2] and
                                (s["stored"]["offset"] == expected[1]) for s in count), f"{program} has type, offset and size",
                  [s["stored"] for s in count])

# ---- Inlined three deep ---------------------------------------------------------------------------------

program = f"fields_{compilers[0]}O2_cpp"
record(program)
log = [json.loads(line) for line in run(nvwave, "log", "dump", "log", "--output-format=json").splitlines()]
sites = {r["site"]: r for r in log if r["record"] == "site"}
inner = [r for r in log if r["record"] == "store" and r.get("stored", {}).get("field") == "slots[i].value"]
chain = []
for r in sites.values():
    if r["function"].split(",")[0].endswith("set_value"):
        chain, at = [], r
        while at:
            chain.append(at["function"].split(",")[0].split("::")[-1])
            at = sites.get(at.get("caller"))
check(inner and chain[:4] == ["set_value", "set", "insert", "store_leaf"], "members that are inlined three deep are frames of their own", chain)

# ---- Reports --------------------------------------------------------------------------------------------

program = f"fields_{compilers[0]}O0_c"
with open("image", "wb") as f:
    f.truncate(4096)
text = run(nvwave, "crash", f"--exec=./{program} run image", "--image=image", f"--check=./{program} check", "--states=300", status=1)
lost = re.search(r"\n    \S+fields\.c:\d+ \(store_pair\)  stores pool->pair\.value \(uint64_t, 8 bytes\)   \S.*\n        8 bytes at pool offset 0x40; the field is at "
                 r"offset 64 of struct pool; of 16 bytes stored to pool->pair\n", text)
check(lost, "a finding names the field beside its line, and the pool's offset on a second line", text)
report = json.loads(run(nvwave, "crash", f"--exec=./{program} run image", "--image=image", f"--check=./{program} check", "--states=300", "--output-format=json", "--html=page.html", status=1))
place = [p["stored"] for f in report["findings"] for p in f["places"] if "stored" in p]
check(any(p["field"] == "pool->pair.value" and p["size"] == 8 and p["offset"] == 64 and p["of"] == "struct pool" and p["whole_size"] == 16 for p in place),
      "JSON has field, type, offset and size", place)
check("pool-&gt;pair.value" in open("page.html").read(), "the page names the field")

# ---- Sources that do not say it -------------------------------------------------------------------------

shutil.copy(in_c, "younger.c")
build(compilers[0], "-O0", "younger.c", "younger")
future = os.stat("younger").st_mtime + 1000
os.utime("younger.c", (future, future))
check(not names(record("younger")[1]), "a source that is younger than the program names nothing")
with open("shadow.c", "w") as f:
    f.write(open(in_c).read().replace("static void run(struct pool *pool, int i)\n{",
            "static void run(struct pool *pool, int i)\n{\n\t{\n\t\tstruct other { uint64_t flag; } *pool = 0;\n\t\t(void)pool;\n\t}"))
build(compilers[0], "-O0", "shadow.c", "shadow")
check("pool->flag" not in names(record("shadow")[1]), "a name with two types in one function names nothing")

# ---- A unit without an index ---------------------------------------------------------------------------

HALF = "#include <stdint.h>\nstruct pool { uint64_t left, right; };\n"
with open("first.c", "w") as f:
    f.write(HALF + "#include <libpmem.h>\nvoid second(struct pool *p);\nvoid first(struct pool *p);\n"
            "void first(struct pool *p)\n{\n\tp->left = 1;\n}\nint main(int c, char **v)\n{\n\tsize_t n;\n"
            "\tstruct pool *const p = pmem_map_file(v[2], 4096, PMEM_FILE_CREATE, 0600, &n, 0);\n\tif (!p) {\n\t\treturn 2;\n\t}\n"
            "\tfirst(p);\n\tsecond(p);\n\tpmem_persist(p, n);\n\treturn 0;\n}\n")
with open("second.c", "w") as f:
    f.write(HALF + "void second(struct pool *p);\nvoid second(struct pool *p)\n{\n\tp->right = 2;\n}\n")
for half in ("first", "second"):
    run(nvwave_cc, compilers[0], "-O0", "-g", "-c", "-o", half + ".o", half + ".c")
run("objcopy", "-R", ".debug_aranges", "-R", ".rela.debug_aranges", "second.o")
run(nvwave_cc, compilers[0], "-o", "halves", "first.o", "second.o", "-lpmem")
_, stores = record("halves")
places = {(os.path.basename(s["file"]), s["line"], s["function"], s["stored"]["field"]) for s in stores if "stored" in s}
check(places == {("first.c", 8, "first", "p->left"), ("second.c", 6, "second", "p->right")},
      "a unit without an index of addresses has its own lines, and not its neighbour's", [s for s in stores])

# ---- Random structures ----------------------------------------------------------------------------------

TYPES = [("uint8_t", 1), ("uint16_t", 2), ("uint32_t", 4), ("uint64_t", 8)]


def random_structure(rng, name, inner):
    """The members of a structure, and the lvalues of what can be stored to in it."""
    members, values = [], []
    for i in range(rng.randint(6, 14)):
        kind = rng.random()
        field = f"f{i}"
        ctype = rng.choice(TYPES)[0]
        if kind < 0.55:
            members.append(f"{ctype} {field};")
            values.append(field)
        elif kind < 0.75:
            n = rng.randint(1, 9)
            members.append(f"{ctype} {field}[{n}];")
            values.append(f"{field}[{rng.randrange(n)}]")
        elif inner and kind < 0.9:
            n = rng.randint(1, 4)
            other, others = rng.choice(inner)
            members.append(f"struct {other} {field}[{n}];")
            k = rng.randrange(n)
            values += [f"{field}[{k}].{v}" for v in others]
        elif inner:
            other, others = rng.choice(inner)
            members.append(f"struct {other} {field};")
            values += [f"{field}.{v}" for v in others]
    packed = " __attribute__((packed))" if rng.random() < 0.2 else ""
    return f"struct {name} {{\n\t" + "\n\t".join(members) + f"\n}}{packed};\n", values


def random_program(rng):
    text = "#include <libpmem.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\nstatic const char *base;\n" \
           "#define SAY(x) printf(\"%s\\t%zu\\t%zu\\n\", #x, (size_t)((const char *)&(x) - base), sizeof(x))\n"
    known = []
    for i in range(4):
        structure, values = random_structure(rng, f"s{i}", known)
        text += structure
        known.append((f"s{i}", values))
    text += "struct pool { struct s3 first; char gap[40]; struct s3 second; };\n"
    body = []
    for v in known[3][1]:
        body.append(f"\tp->first.{v} = (__typeof__(p->first.{v}))0x5a5a5a5a5a5a5a5a;\n\tSAY(p->first.{v});")
    for v in known[3][1]:
        body.append(f"\tSAY(p->second.{v});")
    text += "__attribute__((noinline)) static void store(struct pool *p)\n{\n" + "\n".join(body) + "\n}\n"
    text += "__attribute__((noinline)) static void copy(struct pool *p)\n{\n\tmemcpy(&p->second, &p->first, sizeof p->first);\n}\n"
    text += "int main(int c, char **v)\n{\n\tsize_t n;\n\tstruct pool *const p = pmem_map_file(v[2], 1 << 20, PMEM_FILE_CREATE, 0600, &n, NULL);\n" \
            "\tif (!p) {\n\t\treturn 2;\n\t}\n\tbase = (const char *)p;\n\tstore(p);\n\tcopy(p);\n\tpmem_persist(p, n);\n\treturn 0;\n}\n"
    return text


rng = random.Random(seed)
named = total = 0
for n in range(6 if EVERY else 3):
    with open(f"random{n}.c", "w") as f:
        f.write(random_program(rng))
    compiler, level = rng.choice(compilers), rng.choice(["-O0", "-O1", "-O2"])
    build(compiler, level, f"random{n}.c", f"random{n}", "-Wno-overflow", "-Wno-address-of-packed-member")
    truth, stores = record(f"random{n}")
    where = {name: (at, size) for name, at, size in truth}
    wrong = []
    for s in stores:
        f = s.get("stored")
        total += s["function"].startswith("store")
        if not f:
            continue
        named += s["function"].startswith("store")
        for name in f["field"].replace(" ", "").split(","):
            at, size = where.get(name, (None, None))
            if at is not None and not (s["offset"] < at + size and at < s["offset"] + bytes_of(s)):
                wrong.append((name, s["offset"], at, size))
        # What is known of all bytes of the store must be named.
        for name, (at, size) in where.items():
            if not f["part"] and s["offset"] <= at and at + size <= s["offset"] + bytes_of(s) and "whole" in f and name not in f["field"].replace(" ", "").split(",") \
                    and "[" not in name.split(".")[-1] and "," not in f["field"] and f["size"] <= 8:
                wrong.append((name, f["field"], s["offset"]))
    check(not wrong, f"random structure {n} ({compiler} {level}, seed {seed}) has no wrong name", wrong[:4])
check(named * 10 >= total * 9, f"most stores of random structures are named: {named} of {total}")

plan()
