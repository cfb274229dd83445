"""`njc build --stubs`: stubs beside compiled files, written, kept up to date, checked and removed."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from case_programs import read_program
from processes import run_python

SOURCE = read_program("stubs")


def build(folder: Path, *flags: str, command: str = "build") -> subprocess.CompletedProcess[str]:
    return run_python("-m", "njc", command, "src", *flags, cwd=folder, timeout=100)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    for place in ("src/pack/a.njpy", "src/pack/not-a-name.njpy"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(SOURCE)
    done = build(folder, "--stubs", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "2 files compiled, 2 stubs written" in done.stderr
    return folder


def test_a_stub_has_the_types_of_what_blocks_bind(built: Path) -> None:
    stub = (built / "out/pack/a.pyi").read_text()
    lines = [ast.unparse(statement) for statement in ast.parse(stub).body]
    assert "total: int" in lines
    assert "why: Incomplete" in lines
    assert "def greet(user: User) -> str: ..." in [line.replace("\n    ", " ") for line in lines]
    assert "_nj" not in stub
    assert (built / "out/pack/not-a-name.pyi").exists()


def test_stubs_live_as_compiled_files_do(built: Path) -> None:
    stub, source = built / "out/pack/a.pyi", built / "src/pack/a.njpy"
    again = build(built, "-o", "out", "--check")
    assert (again.returncode, again.stderr) == (0, "2 up to date\n")

    source.write_text(SOURCE.replace("total: int", "total: float"))
    assert build(built, "-o", "out", "--check").returncode == 1
    assert build(built, "-o", "out").returncode == 0
    assert "total: float" in stub.read_text()

    stub.write_text(stub.read_text().replace("float", "str"))
    refused = build(built, "-o", "out", "--stubs")
    assert refused.returncode == 2
    assert "edited by hand" in refused.stderr
    assert build(built, "-o", "out", "--force").returncode == 0

    (built / "src/pack/not-a-name.njpy").unlink()
    cleaned = build(built, "-o", "out", "--clean")
    assert "2 files removed" in cleaned.stderr
    assert sorted(path.name for path in (built / "out/pack").iterdir()) == ["a.py", "a.pyi"]


def test_a_foreign_stub_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.njpy").write_text(SOURCE)
    (tmp_path / "src/a.pyi").write_text("total: int\n")
    done = build(tmp_path, "--stubs")
    assert done.returncode == 2
    assert "was not written by njc" in done.stderr
    assert (tmp_path / "src/a.pyi").read_text() == "total: int\n"
    assert not (tmp_path / "src/a.py").exists()
    assert build(tmp_path).returncode == 0
