# SPDX-License-Identifier: BSD-3-Clause
"""What tests take from the pages of docs/ that teach by code."""
import re


def blocks(text):
    """The indented blocks of a page's text, without the indentation."""
    return [re.sub(r"^    ", "", b, flags=re.M).strip("\n") + "\n" for b in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, flags=re.M)]
