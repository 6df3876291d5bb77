#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""option_docs.py manual NVWAVE PAGE.in | completion NVWAVE: writes the manual page, whose options take the place of the
line '.\\" OPTIONS', or a completion for bash, from the option records that NVWAVE lists."""
import json
import re
import subprocess
import sys


def listed(nvwave, what):
    return json.loads(subprocess.check_output([nvwave, "list", what, "--output-format=json"]))


def escape(text):
    text = text.replace("\\", "\\e").replace("--", "\\-\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def value(option):
    """Behind the option's name: ' Ns = Ns Ar name | file'."""
    if option["type"] == "flag":
        return ""
    macro = "Cm" if option["type"] == "choice" else "Ar"
    words = option["value"].strip("'")
    return " Ns = Ns " + macro + " " + " | ".join(w if macro == "Cm" else w.lower() for w in words.split("|"))


def manual(nvwave, page):
    commands = {}
    for option in listed(nvwave, "command-options"):
        key = tuple(option[k] for k in ("name", "type", "value", "default", "help"))
        commands.setdefault(key, (option, []))[1].append(option["command"])
    everywhere = max(len(names) for _, names in commands.values())
    lines = []
    for option, names in commands.values():
        lines.append(".It Fl -" + option["name"] + value(option))
        if len(names) < everywhere:
            lines.append(".Pq Cm " + " , ".join(names))
        text = option["help"][0].upper() + option["help"][1:]
        lines.append(escape(text if text.endswith("?") else text + "."))
        if option["default"]:
            lines.append("Default:\n.Cm " + option["default"] + " .")
    print(open(page).read().replace('.\\" OPTIONS\n', "\n".join(lines) + "\n"), end="")


def completion(nvwave):
    words = {}
    for option in listed(nvwave, "command-options"):
        end = "" if option["type"] == "flag" else "="
        words.setdefault(option["command"], []).append("--" + option["name"] + end)
        if option["type"] == "choice":
            words[option["command"]] += ["--%s=%s" % (option["name"], v) for v in option["value"].split("|")]
    workloads = {w["name"]: [] for w in listed(nvwave, "workloads")}
    for option in listed(nvwave, "options"):
        workloads[option["workload"]].append("--" + option["name"] + "=")
    for command in ("run", "crash"):
        words[command] += sorted(workloads)
    words["fio"] += ["latency", "bandwidth", "mixed", "verify"]
    words["log"] += ["dump", "export"]
    help_text = subprocess.check_output([nvwave, "--help"], text=True)
    words["list"] += re.search(r"nvwave list (\S+)", help_text).group(1).split("|")
    print("# nvwave's completion for bash, made from its option records.")
    print("_nvwave()\n{\n\tlocal words= word=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} w")
    print('\tword=${line##*[[:space:]]}\n\tcase ${COMP_WORDS[1]} in')
    for command in sorted(words):
        print("\t%s) words='%s' ;;" % (command, " ".join(words[command])))
    print("\tesac\n\t[ \"$COMP_CWORD\" -gt 1 ] || words='%s'" % " ".join(sorted(words)))
    print('\tfor w in "${COMP_WORDS[@]:2}"; do\n\t\tcase ${COMP_WORDS[1]}:$w in')
    for name in sorted(workloads):
        print("\t\trun:%s | crash:%s) words+=' %s' ;;" % (name, name, " ".join(workloads[name])))
    print("\t\tesac\n\tdone")
    print('\tmapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")')
    print('\t[ "${#COMPREPLY[@]}" -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "${word##*=}")')
    print('\tcase ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac')
    print('\tcase $word in --*=*) COMPREPLY=("${COMPREPLY[@]##*=}") ;; esac\n}')
    print("complete -F _nvwave nvwave")


if sys.argv[1] == "manual":
    manual(sys.argv[2], sys.argv[3])
else:
    completion(sys.argv[2])
