"""A directory in which `njc` runs with a model whose replies are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from click.testing import Result
from workplace import Workplace

import njrt
from njrt.testing import Request, Said


@dataclass
class Studio(Workplace):
    """A working directory, and what the model is asked in it."""

    asked: list[Request] = field(default_factory=list)

    def njc(
        self,
        *arguments: str,
        code: int = 0,
        environ: Mapping[str, str] | None = None,
        replies: Sequence[Said] | Callable[[Request], Said] = (),
        name: str = "scripted",
    ) -> Result:
        """Run the command; the model `name` says `replies` and nothing more."""
        model = njrt.Scripted(replies, name=name, protocol="text")
        with njrt.using(model=model):
            result = super().njc(*arguments, code=code, environ=environ)
        self.asked += model.requests
        return result

    def built(self, source: str, *codes: str) -> str:
        """Return the compiled form of a program whose blocks a model writes as `codes`."""
        self.write({"program.njpy": source})
        replies = [f"```python\n{code}\n```" for code in codes]
        self.njc("build", "program.njpy", "--mode", "static", replies=replies)
        return self.read("program.py")


def load(text: str) -> dict[str, Any]:
    """Run a compiled program; return its names."""
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    return space
