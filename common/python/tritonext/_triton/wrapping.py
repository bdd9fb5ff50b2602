"""Functions of ours in place of Triton's, which get along with those that other tools put in the same places.

Another tool may wrap the same function before or after us, say so (``__wrapped__``) or not, and put back what it found
in any order. Ours is reached nevertheless, once for each call.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Below", "Wrapped"]


class Below(threading.local):
    """Whether this thread is in a function of ours that was put on top of an older one of the same place."""

    yes = False


class Wrapped:
    """A function that is wrapped while somebody needs it.

    Args:
        owner: The class.
        attribute: Its function.
        make: Called with what is there and with a :class:`Below`; returns what stands in for it, which must pass every
            call on while ``below.yes``.
    """

    def __init__(self, owner: type, attribute: str, make: Callable[[Callable, Below], Callable]) -> None:
        self.owner = owner
        self.attribute = attribute
        self._make = make
        self._below = Below()
        self._ours: Callable | None = None
        self._theirs: Callable | None = None
        # Whether one of an earlier time may still be called, below another tool's that does not say what it wraps.
        self._hidden = False

    @property
    def there(self) -> Any:
        """What is called now, or None."""
        return getattr(self.owner, self.attribute, None)

    def accepts(self, *keywords: str) -> bool:
        """Whether the function that was there first takes these arguments, as far as others' wrappers show it."""
        if self.there is None:
            return False
        parameters = inspect.signature(self.there).parameters
        if set(keywords) <= set(parameters):
            return True
        kinds = {parameter.kind for parameter in parameters.values()}
        foreign = not str(getattr(self.there, "__module__", "")).startswith("triton.")
        return foreign and {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds

    def put(self) -> None:
        """Have ours called, where it is not already."""
        there = self.there
        if self._ours is not None and self._ours in _chain(there):
            return
        self._hidden |= self._ours is not None
        ours = self._on_top(there) if self._hidden else functools.wraps(there)(self._make(there, self._below))
        self._ours, self._theirs = ours, there
        setattr(self.owner, self.attribute, ours)

    def take(self) -> None:
        """Put back what was there; below another tool's function ours stays, and has to let everything pass."""
        if self._ours is not None and self.there is self._ours:
            setattr(self.owner, self.attribute, self._theirs)
            self._ours = self._theirs = None

    def _on_top(self, there: Callable) -> Callable:
        below = self._below
        acting = self._make(there, Below())

        @functools.wraps(there)
        def on_top(*args: Any, **kwargs: Any) -> Any:
            before, below.yes = below.yes, True
            try:
                return acting(*args, **kwargs)
            finally:
                below.yes = before

        return on_top


def _chain(function: Any) -> Iterator[Any]:
    """Yield a function and what it says it wraps."""
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)
