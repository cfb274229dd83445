"""The command of docs/reference/contained.md: a compiled program in bubblewrap sees its own files alone, and writes into one folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from case_programs import read_program
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from waiting import HANG_SECONDS

ROOT = Path(__file__).parents[3]
PROGRAM = read_program("sandbox")


def read_command() -> str:
    """Return the command of the page, with the folders of this Python bound too."""
    page = (ROOT / "docs" / "reference" / "contained.md").read_text()
    (command,) = re.findall(r"^\$ (bwrap .*?)\n```", page, re.DOTALL | re.MULTILINE)
    places = {sys.prefix, sys.base_prefix, str(ROOT / "njc"), str(ROOT / "runtime")}
    bound = " ".join(f"--ro-bind {place} {place}" for place in sorted(places))
    head, python, rest = command.partition(".venv/bin/python")
    assert python
    return f"{head}--setenv PYTHONPATH {ROOT / 'runtime'} {bound} {sys.executable}{rest}"


def test_a_program_in_bubblewrap(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        pytest.skip("bubblewrap may not make namespaces here")
    folder = tmp_path / "shop"
    (folder / "compiled_out").mkdir(parents=True)
    (folder / "out").mkdir()
    output = compile_source(SourceFile("prog.njpy", PROGRAM.encode())).output
    assert output is not None
    (folder / "compiled_out/prog.py").write_bytes(output)
    for secret in (tmp_path / "secret.txt", home := tmp_path / "home.txt"):
        secret.write_text("secret")
    done = subprocess.run(
        ["bash", "-c", f"{read_command()} {home}"],
        cwd=folder,
        env=os.environ | {"SECRET": "x", "NJC_MODEL": "openai/m", "OPENAI_API_KEY": "k"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert done.stdout.splitlines() == [
        "2",
        "writing out works",
        "writing beside the program fails",
        "reading the secret fails",
        "reading the home fails",
        "None openai/m",
    ], done.stderr
    assert (folder / "out/result.txt").read_text() == "2"
