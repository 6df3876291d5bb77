#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""installed_docs.py DOCUMENTS DATA: run by meson install. In the installed pages, a link to a file of the source tree leads to where
that file is installed, and is plain text where it is not."""
import os
import re
import sys

prefix = os.environ["MESON_INSTALL_DESTDIR_PREFIX"]
documents, data = (os.path.join(prefix, folder) for folder in sys.argv[1:3])


def mended(page, link):
    text, target, anchor = link.groups()
    folder = os.path.dirname(page)
    path = os.path.join(folder, target)
    if re.match(r"[a-z]+:", target) or os.path.exists(path):
        return link.group(0)
    installed = os.path.join(data, os.path.relpath(path, documents))
    if os.path.exists(installed):
        return "[%s](%s%s)" % (text, os.path.relpath(installed, folder), anchor)
    return text


for folder, _, names in os.walk(documents):
    for page in (os.path.join(folder, name) for name in names if name.endswith(".md")):
        with open(page) as f:
            text = f.read()
        changed = re.sub(r"\[([^][]*)\]\(([^()#\s]+)((?:#[^()\s]*)?)\)", lambda link: mended(page, link), text)
        if changed != text:
            with open(page, "w") as f:
                f.write(changed)
