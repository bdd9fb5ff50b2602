"""Remove what belongs to kinds and places that were not asked for."""

import pathlib
import shutil

PACKAGE = "tritonext_{{ cookiecutter.id }}"
PASS, PASS_SNAKE = "{{ cookiecutter.__pass }}", "{{ cookiecutter.__pass_snake }}"
STEM, OP = "{{ cookiecutter.__op_stem }}", "{{ cookiecutter.__op }}"
STANDALONE = {{ cookiecutter.standalone }}
WITH_PASS = {{ cookiecutter.with_pass }}
WITH_DIALECT = {{ cookiecutter.with_dialect }}
WITH_OP = {{ cookiecutter.with_op }}
WITH_BACKEND = {{ cookiecutter.with_backend }}
WITH_PROFILER = {{ cookiecutter.with_profiler }}

IR = WITH_DIALECT or WITH_OP
HOOKS = WITH_BACKEND or WITH_PROFILER


def tests(snake: str) -> list[str]:
    """Return the lit tests of a pass."""
    return [f"tests/lit/{snake}.mlir", f"tests/lit/{snake}_invalid.mlir"]


# Paths, and whether they stay.
OWNERS = [
    ([".github", ".gitignore", "LICENSE", "noxfile.py", "conftest.py"], STANDALONE),
    ([f"lib/Transforms/{PASS}.cpp", f"tests/python/test_{PASS_SNAKE}.py", *tests(PASS_SNAKE)], WITH_PASS),
    ([f"include/{PACKAGE}/IR", "lib/IR"], IR),
    ([f"lib/Transforms/Lower{STEM}.cpp", *tests(f"lower_{OP}")], IR),
    (
        [f"lib/Transforms/Raise{STEM}.cpp", f"tests/python/test_raise_{OP}.py", *tests(f"raise_{OP}")],
        WITH_DIALECT,
    ),
    (
        [
            f"include/{PACKAGE}/IR/Builders.h",
            "lib/IR/Builders.cpp",
            f"python/{PACKAGE}/ops.py",
            f"tests/python/test_{OP}.py",
        ],
        WITH_OP,
    ),
    ([f"python/{PACKAGE}/hooks.py"], HOOKS),
    ([f"python/{PACKAGE}/residency.py", "tests/python/test_residency.py"], WITH_BACKEND),
    ([f"python/{PACKAGE}/profile.py", "tests/python/test_profile.py"], WITH_PROFILER),
    ([f"include/{PACKAGE}/Transforms", "lib/Transforms", "tests/lit"], WITH_PASS or IR),
    (["include", "lib"], WITH_PASS or IR),
]

for paths, stay in OWNERS:
    if not stay:
        for path in map(pathlib.Path, paths):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
