"""The jumps by which a block leaves into the program around it: what compiled code catches.

    try:
        _nj.run(...)
    except _nj.Break:
        break
    except _nj.Return as _nj_r:
        return _nj_r.value

They are BaseExceptions, caught in the innermost `except` arms, so that no handler of the program ever sees one.
"""

from __future__ import annotations


class Jump(BaseException):
    """Base of the three jumps; never caught by a program, always by the arms njc wrote around the call."""


class Break(Jump):
    """The program must `break`."""


class Continue(Jump):
    """The program must `continue`."""


class Return(Jump):
    """The program must `return self.value`."""

    def __init__(self, value: object = None) -> None:
        super().__init__()
        self.value = value
