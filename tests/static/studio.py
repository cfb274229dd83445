"""A directory in which `njc` runs with a model whose replies are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner, Result

import njrt
from njc.commands import njc as njc_command
from njrt.messages import Request
from njrt.testing import Said


@dataclass
class Studio:
    """A working directory, and what the model is asked in it."""

    folder: Path
    asked: list[Request] = field(default_factory=list)

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.folder / path).write_text(text, encoding="utf-8", newline="")

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def njc(
        self,
        *arguments: str,
        replies: Sequence[Said] | Callable[[Request], Said] = (),
        name: str = "scripted",
    ) -> Result:
        """Run the command; the model `name` says `replies` and nothing more."""
        model = njrt.Scripted(replies, name=name, protocol="text")
        with njrt.using(model=model):
            result = CliRunner().invoke(njc_command, arguments, prog_name="njc")
        self.asked += model.requests
        return result

    def built(self, source: str, *codes: str, mode: str = "static") -> str:
        """Return the compiled form of a program whose blocks a model writes as `codes`."""
        self.write({"program.njpy": source})
        replies = [f"```python\n{code}\n```" for code in codes]
        result = self.njc("build", "program.njpy", "--mode", mode, replies=replies)
        assert result.exit_code == 0, result.output
        return self.read("program.py")
