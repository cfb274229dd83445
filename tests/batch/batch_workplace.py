"""A directory with a program and rows, and `njc batch` in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from case_programs import read_program
from njc.commands import njc as njc_command
from waiting import HANG_SECONDS

FOREIGN = ("NJC_", "OPENAI_", "ANTHROPIC_", "PYTHON")

PROGRAM = read_program("batch_workplace")


def reply(body: Mapping[str, Any]) -> str:
    """What the model says: the number of the mail, as the kind or the urgency."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    (number,) = set(re.findall(r"mail (\d+)", text))
    return json.dumps({"urgency": int(number)} if "urgency" in text else {"kind": f"k{number}"})


def expect(number: int) -> dict[str, object]:
    """The result for a mail."""
    return {"kind": f"k{number}", "urgency": number}


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for the end of a process; what was printed. The exit code must be `code`."""
    printed = "".join(process.communicate(timeout=2 * HANG_SECONDS))
    assert process.returncode == code, printed
    return printed


@dataclass(frozen=True)
class BatchWorkplace:
    folder: Path

    def write_rows(self, rows: Iterable[Any], name: str = "rows.jsonl") -> None:
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def write_mails(self, *numbers: int) -> None:
        self.write_rows({"mail": f"mail {number}"} for number in numbers)

    def write_program(self, text: str = PROGRAM, name: str = "prog.njpy") -> None:
        (self.folder / name).write_text(text)

    def start(
        self,
        *arguments: str,
        environ: Mapping[str, str],
        target: str = "prog.njpy:sort_mail",
        **streams: Any,
    ) -> subprocess.Popen[str]:
        """Start the command in a process of its own, in a group of its own."""
        command = [sys.executable, "-m", "njc", "batch", target, "rows.jsonl", "-o", "out.jsonl"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | streams
        return subprocess.Popen(
            [*command, *arguments],
            cwd=self.folder,
            env=kept | {"NJC_MODEL": "openai/gpt-4.1"} | dict(environ),
            start_new_session=True,
            **pipes,
        )

    def run(
        self,
        *arguments: str,
        environ: Mapping[str, str],
        target: str = "prog.njpy:sort_mail",
        code: int = 0,
    ) -> str:
        """Run in a process of its own to the end; what was printed. The exit code must be `code`."""
        return finish(self.start(*arguments, environ=environ, target=target), code)

    def batch(
        self,
        *arguments: str,
        target: str = "plain.py:echo",
        rows: str = "rows.jsonl",
        code: int = 0,
        environ: Mapping[str, str] | None = None,
    ) -> str:
        """Run to the end, in this process; what was printed. The exit code must be `code`."""
        settings = {"NJC_MODEL": "openai/gpt-4.1", "NJC_RECORD": None} | dict(environ or {})
        command = ["batch", target, rows, "-o", "out.jsonl", *arguments]
        result = CliRunner(env=settings).invoke(njc_command, command, prog_name="njc")
        assert result.exit_code == code, result.output
        return result.output

    def read_results(self) -> list[dict[str, Any]]:
        text = (self.folder / "out.jsonl").read_text()
        return [json.loads(line) for line in text.split("\n") if line]
