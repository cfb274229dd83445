"""Files that an editor has saved with a byte order mark are read; those in another encoding are an error with a message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from workplace import Workplace

import njrt
from njc.commands import njc
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile

PROGRAM = '''\
def double(x: int) -> int:
    """natural(effects="answer")
    Put into <:y: int> the double of <x>.
    """
    return y
'''
REPLY = '{"y": 4}'
CODE = "```python\ny = 2 * x\n```"
CASE = {"inputs": {"x": 2}, "expect": 4}


def call(here: Workplace, *words: str, reply: str = REPLY) -> None:
    with njrt.using(model=njrt.Scripted(lambda _: reply, protocol="text")):
        here.njc(*words)


def call_offline(*words: str) -> Result:
    Path("out.jsonl").unlink(missing_ok=True)
    with njrt.using(record="none:recording.jsonl"):
        return CliRunner().invoke(njc, words)


READERS: Mapping[str, tuple[str, ...]] = {
    "trace.jsonl": ("trace", "trace.jsonl"),
    "recording.jsonl": ("eval", "double.njpy:double", "cases.jsonl"),
    "njc.lock": ("build", "double.njpy", "--mode", "static", "--locked", "--check"),
    "cases.jsonl": ("eval", "double.njpy:double", "cases.jsonl"),
    "rows.jsonl": ("batch", "double.njpy:double", "rows.jsonl", "-o", "out.jsonl"),
    "rows.csv": ("batch", "double.njpy:double", "rows.csv", "-o", "out.jsonl"),
    "pyproject.toml": ("check", "double.njpy"),
    "double.njpy": ("check", "double.njpy"),
}
"""Files, and the commands that read them."""


@pytest.fixture
def project(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a directory with one file of each kind, written by njc itself if it writes it."""
    monkeypatch.setenv("NJC_HOME", str(here.folder / "home"))
    here.write({"pyproject.toml": '[tool.njc]\nwarnings = "error"\n', "double.njpy": PROGRAM})
    here.write({"cases.jsonl": f"{json.dumps(CASE)}\n", "rows.jsonl": '{"x": 2}\n'})
    here.write({"rows.csv": "x\n2\n"})
    space: dict[str, Any] = {"__name__": "double"}
    exec(compile_source(SourceFile("double.njpy", PROGRAM.encode())).output or b"", space)
    model = njrt.Scripted([REPLY], protocol="text")
    with njrt.using(model=model, trace=here.folder / "trace.jsonl"):
        assert space["double"](2) == 4
    with njrt.using(record="all:recording.jsonl"):
        call(here, *READERS["cases.jsonl"])
    call(here, "build", "double.njpy", "--mode", "static", reply=CODE)
    return here.folder


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_a_byte_order_mark_is_read(project: Path, name: str) -> None:
    file = project / name
    before = file.read_bytes()
    expected = call_offline(*READERS[name])
    assert expected.exit_code in (0, 1), expected.output
    file.write_bytes(before.decode().encode("utf-8-sig"))
    got = call_offline(*READERS[name])
    texts = [re.sub(r"[\d.]+\n", "\n", result.output) for result in (got, expected)]  # seconds
    assert got.exit_code == expected.exit_code
    assert texts[0] == texts[1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_in_another_encoding_is_no_traceback(
    project: Path, name: str, encoding: str
) -> None:
    file = project / name
    file.write_bytes(f"{file.read_text()}\n# é\n".encode(encoding))
    got = call_offline(*READERS[name])
    assert got.exception is None or isinstance(got.exception, SystemExit), got.exception
    assert got.exit_code in (0, 1, 2, 3)
