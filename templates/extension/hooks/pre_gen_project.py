"""Refuse answers that would give an extension that cannot be built."""

import re
import sys

IDENTIFIER = "{{ cookiecutter.id }}"
KINDS = "{{ cookiecutter.__passes }}{{ cookiecutter.__hooks }}"

if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", IDENTIFIER):
    sys.exit(f"expected an id in lower snake case such as loop_split, got {IDENTIFIER!r}")
if not KINDS:
    sys.exit("expected at least one kind: a pass, a dialect, an op, a backend hook or a profiler hook")
