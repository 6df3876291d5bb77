#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""default_targets.py FOLDER: the targets that this build folder builds by default. Ninja's `all` has every test besides."""
import json
import os
import subprocess
import sys

folder = os.path.abspath(sys.argv[1])
subprocess.run(['ninja', '-C', folder, 'build.ninja'], check=True, capture_output=True)
targets = json.loads(subprocess.run(['meson', 'introspect', '--targets', folder], check=True, capture_output=True).stdout)
for target in targets:
    if target['build_by_default']:
        print(*(os.path.relpath(name, folder) for name in target['filename']))
