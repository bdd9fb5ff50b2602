"""Print a kernel whose scopes are entered and left under conditions of their own: ``conditions.py SCOPES [OTHERS]``.

OTHERS are conditions that several branches ask too, and on which no scope depends.
"""

from __future__ import annotations

import sys

scopes, others = (int(number) for number in [*sys.argv[1:], "0"][:2])
number = 0


def guarded(condition: int, note: str) -> None:
    """Print a block that is run where a condition holds, with a note of its scope."""
    global number
    number += 2
    print(f"  cf.cond_br %c{condition}, ^bb{number - 1}, ^bb{number}\n^bb{number - 1}:")
    if condition >= others:
        print(f'  profiler.{note} "s{condition - others}"')
    print(f"  cf.br ^bb{number}\n^bb{number}:")


arguments = ", ".join(f"%c{condition}: i1" for condition in range(others + scopes))
print('module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {')
print(f"tt.func public @kernel({arguments}) {{")
for condition in range(others + scopes):
    guarded(condition, "enter")
for condition in reversed(range(others + scopes)):
    guarded(condition, "exit")
print("  tt.return\n}\n}")
