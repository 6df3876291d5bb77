#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_completion_zsh.py COMPLETION: what a zsh on a terminal makes of some beginnings of a command line and a press of Tab."""
import os
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import time

cases = [
    ("nvwave cra", ["crash"], "zsh_completes_a_command"),
    ("nvwave crash --stop", ["crash", "--stop-after="], "zsh_completes_an_option_and_waits_for_its_value"),
    ("nvwave crash --sto", ["crash", "--sto"], "zsh_does_not_choose_between_options"),
    ("nvwave crash --mode=k", ["crash", "--mode=kill"], "zsh_completes_a_choice"),
    ("nvwave run btr", ["run", "btree"], "zsh_completes_a_workload"),
    ("nvwave run kv --keys", ["run", "kv", "--keys="], "zsh_completes_a_workload_s_option"),
    ("nvwave run kv --protocol=hlrc-", ["run", "kv", "--protocol=hlrc-scoped"], "zsh_completes_a_protocol"),
    ("nvwave crash kv --protocol=ea", ["crash", "kv", "--protocol=each"], "zsh_completes_each_protocol"),
    ("nvwave bench --machine=als", ["bench", "--machine=alsop16"], "zsh_completes_a_machine"),
    ("nvwave crash btree --mutate=update-b", ["crash", "btree", "--mutate=update-before-log"], "zsh_completes_a_mutation"),
    ("nvwave run kv --set=nvram.dom", ["run", "kv", "--set=nvram.domain="], "zsh_completes_a_key_and_waits_for_its_value"),
    ("nvwave run kv --scope=workg", ["run", "kv", "--scope=workgroup"], "zsh_completes_a_choice_of_a_workload"),
    ("nvwave sweep writ", ["sweep", "writers="], "zsh_completes_an_axis_and_waits_for_its_values"),
    ("nvwave sweep protocol=vi,hlrc-", ["sweep", "protocol=vi,hlrc-scoped"], "zsh_completes_the_last_value_of_an_axis"),
    ("nvwave bench --against=scope=workg", ["bench", "--against=scope=workgroup"], "zsh_completes_a_value_of_a_comparison"),
    ("nvwave sweep --metrics=sim_time,nvram.wor", ["sweep", "--metrics=sim_time,nvram.words"], "zsh_completes_a_metric"),
    ("nvwave reproduce hech", ["reproduce", "hechtman14"], "zsh_completes_a_paper"),
    ("nvwave plot t.csv --y=si", ["plot", "t.csv", "--y=sim_time"], "zsh_completes_a_column"),
]


def read_until(master, pattern, seconds=30):
    text, end = "", time.time() + seconds
    while time.time() < end and not re.search(pattern, text):
        if select.select([master], [], [], 0.1)[0]:
            try:
                text += os.read(master, 65536).decode(errors="replace")
            except OSError:
                break
    return text


def shell(folder):
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", HOME=folder)
        os.execvp("zsh", ["zsh", "-f", "-i"])
    for line in ("cd " + folder, "PS1=; PS2=; unsetopt beep; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D" % folder,
                 'nvwave() { print -r -- "<RU""N ${(j:|:)@}>" }', 'print "<READ""Y>"'):
        os.write(master, line.encode() + b"\n")
    read_until(master, "<READY>")
    return pid, master


def pressed(master, words):
    os.write(master, words.encode() + b"\t")
    time.sleep(0.3)
    os.write(master, b"\x05\n")  # to the end of the line
    found = re.findall(r"<RUN ([^>]*)>", read_until(master, r"<RUN [^>]*>"))
    return found[-1].split("|") if found else None


def main(completion):
    if not shutil.which("zsh"):
        print("# skipped: zsh is missing: its completion is not tried\n1..1\nok 1 - zsh_completes # SKIP")
        return
    with tempfile.TemporaryDirectory(prefix="nvwave-zsh-") as folder:
        with open(os.path.join(folder, "t.csv"), "w") as f:
            f.write("scope,sim_time,spill\n")
        shutil.copy(completion, os.path.join(folder, "_nvwave"))
        pid, master = shell(folder)
        print("1..%d" % len(cases))
        for i, (words, expected, name) in enumerate(cases):
            found = pressed(master, words)
            if found != expected:
                print("# expected %s, found %s" % (expected, found))
            print("%s %d - %s" % ("ok" if found == expected else "not ok", i + 1, name), flush=True)
        os.close(master)
        os.kill(pid, signal.SIGKILL)  # not yet waited for: its number is still its own
        os.waitpid(pid, 0)


main(sys.argv[1])
