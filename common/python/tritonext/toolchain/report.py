"""Progress of downloads and unpacking: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import rich.console
import rich.progress

__all__ = ["Reporter", "Update"]

Update = Callable[[float, float | None], None]
"""Called with what is done and the total, in any one unit; total None means it is not known."""


class Reporter:
    """Shows what is going on, on one rich console."""

    def __init__(self, console: rich.console.Console | None = None) -> None:
        self.console = console or rich.console.Console(stderr=True)

    def note(self, text: str) -> None:
        """Print one line."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Update]:
        """Show ``text`` while the block runs; the block reports through the function it is given."""
        if not self.console.is_terminal:
            self.note(text)
            yield lambda done, total: None
            return
        columns = (
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(),
            rich.progress.TaskProgressColumn(),
            rich.progress.TimeElapsedColumn(),
        )
        with rich.progress.Progress(*columns, console=self.console) as progress:
            task = progress.add_task(text, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)
            progress.update(task, completed=1, total=1)
