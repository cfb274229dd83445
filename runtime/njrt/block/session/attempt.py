"""Blocks of the mode `auto`, which has left, in files that njc 0.2 compiled: the live block runs.

with _nj.attempt(prompt, lambda: (n, half), writes="half", at="numbers.njpy:4") as _nj_try:
    _nj_try.expect(n="int")                 skips the code; `guard` does so too
    half = n // 2
if _nj_try.has_failed:
    _nj_try.run()                           the block, with the arguments of `attempt`
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from njrt.block.session.block_call import VariablesLambda
from njrt.block.session.run_block import arun, run
from njrt.data.options.removed import warn_of_mode


class _SkippedError(Exception):
    """Leaves the code of an attempt."""


class Attempt:
    """The live block after code that is skipped."""

    has_failed = True

    def __init__(self, prompt: str, variables: VariablesLambda, arguments: dict[str, Any]) -> None:
        self._block, self._arguments = (prompt, variables), arguments

    def __enter__(self) -> Attempt:
        return self

    def expect(self, **shapes: str) -> None:
        """Skip the code."""
        raise _SkippedError

    def guard(self, is_fit: bool = True) -> None:
        """Skip the code."""
        raise _SkippedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return isinstance(error, _SkippedError)

    def run(self) -> bool:
        """Run the live block, like `njrt.run`."""
        return bool(run(*self._block, **self._arguments))

    async def arun(self) -> bool:
        """Run the live block, like `njrt.arun`."""
        return bool(await arun(*self._block, **self._arguments))


def attempt(
    prompt: str,
    variables: VariablesLambda,
    *,
    code: str = "",
    is_async: bool = False,
    **arguments: Any,
) -> Attempt:
    """Return the live block of an attempt; `njrt.run` documents the arguments."""
    warn_of_mode(arguments["at"])
    return Attempt(prompt, variables, arguments)
