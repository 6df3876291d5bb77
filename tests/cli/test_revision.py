#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_revision.py NVWAVE REVISION.SH BUILD-FOLDER: which revision made a result."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common
from common import ok, plan, read, rows, run

nvwave, script, build = (os.path.abspath(p) for p in sys.argv[1:4])
folder = tempfile.TemporaryDirectory(prefix="nvwave-revision-")
os.chdir(folder.name)
common.nvwave = nvwave
os.environ.pop("GIT_DIR", None)  # which scripts/release.sh points to nowhere: the trees of this test are its own
UNKNOWN = "1.2.3 (revision unknown: built without git)"


def git(*words):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for who in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{who}_NAME": "nobody", f"GIT_{who}_EMAIL": "nobody@localhost"})
    done = subprocess.run(["git", "-C", "tree"] + list(words), env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(text):
    with open("tree/file", "w") as f:
        f.write(text)


def commit(text):
    write(text)
    git("add", "-A")
    git("commit", "-q", "-m", text)
    return git("rev-parse", "--short=7", "HEAD")


def revision(path="tree"):
    return subprocess.run([path + "/scripts/revision.sh", "1.2.3"], capture_output=True, text=True, check=True).stdout.strip()


def plant(path):
    os.makedirs(path + "/scripts")
    shutil.copy(script, path + "/scripts/revision.sh")


def trees():
    plant("tree")
    ok(revision() == UNKNOWN, "a_tree_without_git_says_so", revision())
    if not shutil.which("git"):
        print("# there is no git: its revisions are not tested")
        return
    git("init", "-q")
    ok(revision() == UNKNOWN, "a_repository_without_a_commit_has_no_revision", revision())
    first = commit("first")
    at_first = revision()
    second = commit("second")
    ok(at_first == f"1.2.3-0-g{first}" and revision() == f"1.2.3-1-g{second}",
       "without_a_tag_commits_are_counted_from_the_first", at_first, revision())
    write("changed")
    ok(revision() == f"1.2.3-1-g{second}-dirty", "changes_that_are_not_committed_show", revision())
    third = commit("third")
    git("tag", "v1.2.2", first)
    other = revision()
    git("tag", "v1.2.3", second)
    ok(other == f"1.2.3-2-g{third}" and revision() == f"1.2.3-1-g{third}",
       "with_the_version_s_tag_they_are_counted_from_there", other, revision())
    write("changed")
    ok(revision() == f"1.2.3-1-g{third}-dirty", "changes_after_a_tag_show", revision())
    plant("tree/unpacked")
    ok(revision("tree/unpacked") == UNKNOWN, "a_tree_within_another_one_s_repository_has_none_of_its_revisions",
       revision("tree/unpacked"))


def tarballs():
    """What meson dist puts into a tarball, and what a tree that came from one says."""
    os.mkdir("dist")
    subprocess.run([script, "1.2.3"], env={**os.environ, "MESON_DIST_ROOT": os.path.abspath("dist")}, check=True)
    with open("dist/REVISION") as f:
        written = f.read().strip()
    here = subprocess.run([script, "1.2.3"], capture_output=True, text=True, check=True).stdout.strip()
    plant("dist")
    ok(written == here == revision("dist"), "a_tarball_has_the_revision_that_it_was_made_of", written, here, revision("dist"))


def releases():
    """The version of a release is in six places; each is planted wrong."""
    root = os.path.dirname(os.path.dirname(script))
    places = {"meson.build": "  version: '9.9.9',", "CHANGELOG.md": "## 9.9.9", "CITATION.cff": "version: 9.9.9", "docs/stable.md": "The release is 9.9.9. A",
              "debian/changelog": "nvwave (9.9.9) unstable; urgency=medium"}

    def check():
        done = subprocess.run(["sh", os.path.join(root, "scripts/release.sh"), "--check", "release"], capture_output=True, text=True)
        return done.returncode, done.stdout.strip(), done.stderr

    def fill(path, text):
        with open("release/" + path, "w") as f:
            f.write(text + "\n")

    os.makedirs("release/docs")
    os.makedirs("release/debian")
    os.makedirs("release/tests/kept/9.9.9")
    for path, text in places.items():
        fill(path, text)
    wrong = [check()]
    fill("tests/kept/9.9.9/kept.json", "{}")
    right = check()
    for path, text in places.items():
        fill(path, text.replace("9.9.9", "9.9.8"))
        wrong.append(check())
        fill(path, text)
    of_tree = subprocess.run(["sh", os.path.join(root, "scripts/release.sh"), "--check"], capture_output=True, text=True)
    ok(right == (0, "9.9.9", "") and all(w[0] == 1 and w[2] for w in wrong), "a_version_that_one_place_does_not_have_is_named", right, *wrong)
    ok(of_tree.returncode == 0, "this_tree_names_one_version", of_tree.stderr)


def results():
    """Text, JSON, page and tables say the same."""
    version = run("--version")[1].strip()
    known = re.fullmatch(r"nvwave \d+\.\d+\.\d+(-\d+)?-g[0-9a-f]{7,}(-dirty)?", version)
    unknown = re.fullmatch(r"nvwave \d+\.\d+\.\d+ \(revision unknown: built without git\)", version)
    ok(known or unknown, "the_version_has_a_revision", version)
    bare = version.split(" ", 1)[1]
    crash = ("crash", "kv", "--count=6", "--batch=2", "--slots=16")
    text = run(*crash, "--html=page")[1]
    report = run(*crash, "--output-format=json")[1]
    run("sweep", "workload=kv", "count=4,8", "--output=table")
    table = rows("table.csv")
    ok(f"made by: {version}, " in text and json.loads(report)["made_by"]["version"] == bare and f"made by {version}" in read("page")
       and f"<footer>{version}<" in read("page") and [r["nvwave"] for r in table] == [bare, bare], "every_report_names_it", version, text, table)
    shards = [json.loads(run(*crash, "--shard=%u/2" % (i + 1), "--output-format=json")[1]) for i in range(2)]
    shards[1]["made_by"]["version"] = "0.0.0-1-g1234567"
    for i, shard in enumerate(shards):
        with open("shard%u" % i, "w") as f:
            json.dump(shard, f)
    status, _, err = run("crash", "--merge", "shard0", "shard1")
    ok(status == 2 and "0.0.0-1-g1234567" in err and bare in err, "shards_of_two_revisions_are_not_merged", status, err)


def cost():
    """A commit makes one file again, and links the command."""
    version = run("--version")[1].split()[1]
    with open(build + "/compile_commands.json") as f:
        commands = json.load(f)
    wrong = [c["file"] for c in commands if version in c["command"] or "NVWAVE_VERSION" in c["command"]]
    ok(not wrong and os.path.exists(build + "/cli/revision.c"), "no_other_file_is_compiled_for_it", *wrong)


tests = [trees, tarballs, releases, results, cost]
for test in tests:
    test()
plan()
