#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""default_targets.py FOLDER: the targets that this build folder builds by default, and what its tests need, but for those of the suite
sanitized. Ninja's `all` has every test."""
import json
import os
import subprocess
import sys

folder = os.path.abspath(sys.argv[1])


def introspect(what):
    return json.loads(subprocess.run(['meson', 'introspect', what, folder], check=True, capture_output=True).stdout)


subprocess.run(['ninja', '-C', folder, 'build.ninja'], check=True, capture_output=True)
needed = {target for test in introspect('--tests') if not any(suite.endswith('sanitized') for suite in test['suite']) for target in test['depends']}
for target in introspect('--targets'):
    if target['build_by_default'] or target['id'] in needed:
        print(*(os.path.relpath(name, folder) for name in target['filename']))
