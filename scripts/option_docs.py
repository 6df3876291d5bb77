#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""option_docs.py manual NVWAVE PAGE.in | completion NVWAVE | zsh NVWAVE: writes the manual page, whose options take the place of
the line '.\\" OPTIONS', or a completion for bash or zsh, from the option records that NVWAVE lists."""
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
        text = text if text.endswith("?") else text + "."
        lines += [escape(sentence) for sentence in re.split(r"(?<=[.?]) (?=[A-Z])", text)]  # each on a line of its own
        if option["default"]:
            lines.append("Default:\n.Cm " + option["default"] + " .")
    print(open(page).read().replace('.\\" OPTIONS\n', "\n".join(lines) + "\n"), end="")


def completed(nvwave):
    """{command: {word: help}}, {workload: {word: help}}: a word that ends with = is followed by a value."""
    words = {}
    for option in listed(nvwave, "command-options"):
        own = words.setdefault(option["command"], {})
        own["--" + option["name"] + ("" if option["type"] == "flag" else "=")] = option["help"]
        if option["type"] == "choice":
            own.update(("--%s=%s" % (option["name"], v), "") for v in option["value"].split("|"))
    summaries = {w["name"]: w.get("summary", "") for w in listed(nvwave, "workloads")}
    workloads = {name: {} for name in summaries}
    for option in listed(nvwave, "options"):
        own = workloads[option["workload"]]
        own["--" + option["name"] + "="] = option.get("help", "")
        own.update(("--%s=%s" % (option["name"], v), "") for v in option.get("choices", "").split("|") if v)
    for command in ("run", "crash", "bench"):
        words[command].update(sorted(summaries.items()))
    words["fio"].update((w, "") for w in ("latency", "bandwidth", "mixed", "verify"))
    words["log"].update((w, "") for w in ("dump", "export"))
    help_text = subprocess.check_output([nvwave, "--help"], text=True)
    words["list"].update((w, "") for w in re.search(r"nvwave list (\S+)", help_text).group(1).split("|"))
    words["sweep"].update((a["axis"] + "=", a["meaning"]) for a in listed(nvwave, "axes"))
    published = json.loads(subprocess.check_output([nvwave, "reproduce", "--list", "--output-format=json"]))["rows"]
    words["reproduce"].update((r["row"].split()[0], r["what"]) for r in published)
    words["reproduce"].update((r["published_in"], "") for r in published)
    return words, workloads


def axis_values(nvwave, names):
    """{axis: its values}, of axes whose values have names."""
    values = {"protocol": names["protocols"], "machine": names["machines"], "workload": names["workloads"], "model": names["models"]}
    for option in listed(nvwave, "options"):
        if "choices" in option:
            own = values.setdefault(option["name"], [])
            own += [c for c in option["choices"].split("|") if c not in own]
    for option in listed(nvwave, "command-options"):
        if option["type"] == "choice" and option["command"] in ("run", "crash"):
            values.setdefault(option["name"], option["value"].split("|"))
    return values


def values(nvwave):
    """A function of bash and zsh that knows the values of options and axes."""
    names = {what: [row["name"] for row in listed(nvwave, what)] for what in ("protocols", "machines", "workloads", "models", "stats")}
    keys = [row["key"] + "=" for row in listed(nvwave, "keys")]
    axes = list(dict.fromkeys(row["axis"] + "=" for row in listed(nvwave, "axes")))
    mutations = {}
    for row in listed(nvwave, "mutations"):
        mutations.setdefault(row["workload"], []).append(row["name"])
    print("# COMMAND WORD WORDS...: the values that may follow the last = or comma of the word, in REPLY.")
    print("_nvwave_values()\n{\n\tlocal name=${2%%=*} axis=${2%=*} w\n\taxis=${axis##*=}\n\tREPLY=\n\tcase $1:$name in")
    print("\t*:--machine) REPLY='%s' ;;" % " ".join(names["machines"]))
    print("\tcrash:--protocol | litmus:--protocol | torture:--protocol) REPLY='%s each' ;;" % " ".join(names["protocols"]))
    print("\treplay:--at) REPLY='failure lost early' ;;")  # or a number
    print("\t*:--protocol) REPLY='%s' ;;" % " ".join(names["protocols"]))
    print("\t*:--set) [ \"$axis\" != --set ] || REPLY='%s' ;;" % " ".join(keys))
    print("\t*:--metrics) REPLY='%s' ;;" % " ".join(n for n in names["stats"] if "NAME" not in n))
    print("\t*:--mutate)\n\t\tfor w in \"${@:3}\"; do\n\t\t\tcase $w in")
    for workload in sorted(mutations):
        print("\t\t\t%s) REPLY='%s' ;;" % (workload, " ".join(mutations[workload])))
    print("\t\t\tesac\n\t\tdone\n\t\t;;")
    print("\tplot:--x | plot:--y | plot:--of | plot:--series | plot:--where | plot:--baseline)")
    print("\t\tfor w in \"${@:3}\"; do\n\t\t\t[ ! -f \"$w\" ] || IFS= read -r REPLY <\"$w\"\n\t\tdone")
    print("\t\tREPLY=${REPLY#$'\\xef\\xbb\\xbf'}\n\t\tREPLY=${REPLY//,/ }\n\t\tcase $name in --where | --baseline) REPLY=\"${REPLY// /= }=\" ;; esac")
    print("\t\t[ \"$axis\" = \"$name\" ] || REPLY=\n\t\t;;")
    print("\tsweep:--baseline | sweep:--exclude | bench:--against | sweep:[a-z]*)\n\t\tcase $axis in")
    print("\t\t--*) REPLY='%s' ;;" % " ".join(axes))
    for axis, own in sorted(axis_values(nvwave, names).items()):
        print("\t\t%s) REPLY='%s' ;;" % (axis, " ".join(own)))
    print("\t\tesac\n\t\t;;\n\tesac\n}")


def completion(nvwave):
    words, workloads = completed(nvwave)
    print("# nvwave's completion for bash, made from its lists and option records.")
    values(nvwave)
    print("_nvwave()\n{\n\tlocal words= word=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} w before REPLY=")
    print('\tword=${line##*[[:space:]]}\n\tcase ${COMP_WORDS[1]} in')
    for command in sorted(words):
        print("\t%s) words='%s' ;;" % (command, " ".join(words[command])))
    print("\tesac\n\t[ \"$COMP_CWORD\" -gt 1 ] || words='%s'" % " ".join(sorted(words) + ["help"]))
    print('\tfor w in "${COMP_WORDS[@]:2}"; do\n\t\tcase ${COMP_WORDS[1]}:$w in')
    for name in sorted(workloads):
        print("\t\trun:%s | crash:%s) words+=' %s' ;;" % (name, name, " ".join(workloads[name])))
    print("\t\tesac\n\tdone")
    print('\tcase $word in *=*) _nvwave_values "${COMP_WORDS[1]}" "$word" "${COMP_WORDS[@]:2}" ;; esac')
    print('\tif [ "$REPLY" ]; then\n\t\tbefore=${word%"${word##*[=,]}"} words=')
    print('\t\tfor w in $REPLY; do words+=" $before$w"; done\n\tfi')
    print('\tmapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")')
    print('\t[ "${#COMPREPLY[@]}" -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "${word##*=}")')
    print('\tcase ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac')
    print("\t# readline's word begins behind the last =")
    print('\tbefore=${word%"${word##*=}"}\n\tCOMPREPLY=("${COMPREPLY[@]#"$before"}")\n}')
    print("complete -F _nvwave nvwave")


def described(words):
    """Entries of an array for _describe: 'word:help', quoted."""
    texts = [w.replace(":", "\\:") + (":" + h if h else "") for w, h in words.items()]
    return " ".join("'" + t.replace("'", "'\\''") + "'" for t in texts)


def zsh(nvwave):
    words, workloads = completed(nvwave)
    print("#compdef nvwave\n# nvwave's completion for zsh, made from its lists and option records.")
    values(nvwave)
    print("_nvwave()\n{\n\tlocal -a all open plain begun\n\tlocal w REPLY= found=1")
    print("\tif [[ $PREFIX == *=* ]]; then\n\t\t_nvwave_values $words[2] $PREFIX $words[3,-1]\n\tfi")
    print("\tif [[ -n $REPLY ]]; then\n\t\tcompset -P '*[=,]'\n\t\tplain=(${=REPLY})\n\t\topen=(${(M)plain:#*=})\n\t\tplain=(${plain:#*=})")
    print("\t\tcompadd -S '' -a open && found=0\n\t\tcompadd -a plain && found=0\n\t\treturn found\n\tfi")
    print("\tif (( CURRENT == 2 )); then\n\t\tall=(%s)\n\telse\n\t\tcase $words[2] in" % described({c: "" for c in sorted(words) + ["help"]}))
    for command in sorted(words):
        print("\t\t%s) all=(%s) ;;" % (command, described(words[command])))
    print("\t\tesac\n\t\tfor w in $words[3,-1]; do\n\t\t\tcase $words[2]:$w in")
    for name in sorted(workloads):
        if workloads[name]:
            print("\t\t\trun:%s | crash:%s) all+=(%s) ;;" % (name, name, described(workloads[name])))
    print("\t\t\tesac\n\t\tdone\n\tfi")
    print("\tplain=(${all:#--*})\n\tall=(${(M)all:#--*})")
    print("\topen=(${(M)all:#--[a-z0-9-]#=(|:*)})\n\tall=(${all:#--[a-z0-9-]#=(|:*)})")
    print("\tbegun=(${(M)plain:#[a-z0-9._-]#=(|:*)})\n\tplain=(${plain:#[a-z0-9._-]#=(|:*)})")
    print("\t_describe 'word' plain -- begun -S '' && found=0\n\t_describe -o 'option' all -- open -S '' && found=0")
    print("\t(( found == 0 )) || _files\n}")
    print('if [[ $funcstack[1] = _nvwave ]]; then\n\t_nvwave "$@"\nelse\n\tcompdef _nvwave nvwave\nfi')


if sys.argv[1] == "manual":
    manual(sys.argv[2], sys.argv[3])
else:
    (zsh if sys.argv[1] == "zsh" else completion)(sys.argv[2])
