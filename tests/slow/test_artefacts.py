"""The compiled files in the repository: fresh, and content with the runtime alone."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njc.static.lock import read_lock
from processes import run_python
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[2]
BUILT = {"compiled_out/examples": "examples", "compiled_out/spsbench": "spsbench/programs"}
"""The folders of compiled files, and of the sources that each is built from."""

ARTEFACTS = {
    file.relative_to(ROOT).as_posix(): ROOT
    / source
    / file.relative_to(ROOT / folder).with_suffix(".njpy")
    for folder, source in BUILT.items()
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not (ROOT / source / file.relative_to(ROOT / folder)).exists()
}
"""Each compiled file, and its source; without the files that are copied from a `.py` file."""


STATIC = "compiled_out/spsbench_static"
"""The same programs with the code that a model wrote for their blocks; live where none passed the checks."""


ILL_TYPED = ("average_of_three", "battle", "fact_checking")
"""Those of them whose code has errors of type, as docs/reference/static.md says."""


def test_type_checkers_read_every_compiled_file_but_those_whose_code_is_ill_typed() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert "compiled_out" in tool["mypy"]["files"]
    assert "compiled_out" in tool["pyright"]["include"]
    ignored = [f"{STATIC}/{task}" for task in ILL_TYPED]
    assert tool["pyright"]["ignore"] == ignored
    overrides = [entry for entry in tool["mypy"]["overrides"] if "ignore_errors" in entry]
    assert [entry["module"] for entry in overrides] == [
        [f"{folder.replace('/', '.')}.*" for folder in ignored]
    ]
    documented = (ROOT / "docs" / "reference" / "static.md").read_text()
    assert (
        tuple(re.findall(r"^\| `(\w+)` \|", documented.partition("### Types")[2], re.M))
        == ILL_TYPED
    )


def test_the_files_that_type_checkers_leave_out_have_errors_of_type(tmp_path: Path) -> None:
    strict = tmp_path / "mypy.ini"
    strict.write_text("[mypy]\nstrict = true\nmypy_path = runtime\nexplicit_package_bases = true\n")
    files = [f"{STATIC}/{task}/natural.py" for task in ILL_TYPED]
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        strict,
        "--cache-dir",
        tmp_path / "cache",
    ]
    checked = subprocess.run(
        [*mypy, "--follow-imports", "skip", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert {file for file in files if f"{file}:" in checked.stdout} == {*files}, checked


def alone(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a compiled file where neither the compiler nor an SDK can be imported."""
    # With a policy, or it warns that none is set.
    environment = {**os.environ, "NJC_POLICY": "guarded", **variables}
    return run_python(
        "tests/without_compiler.py", *arguments, cwd=ROOT, env=environment, timeout=60
    )


def imports_in(file: Path) -> set[str]:
    """Return the top-level packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize(
    ("folder", "flags"),
    [
        *((".", (source, "-o", folder)) for folder, source in BUILT.items()),
        ("spsbench/static", ("--locked",)),
    ],
)
def test_compiled_files_are_fresh(folder: str, flags: tuple[str, ...]) -> None:
    with contextlib.chdir(ROOT / folder):
        result = CliRunner().invoke(njc, ["build", *flags, "--check"])
    assert result.exit_code == 0, result.output


def test_every_static_block_says_who_wrote_it() -> None:
    entries = read_lock(ROOT / "spsbench/static/njc.lock").entries.values()
    assert len(entries) == 17
    for entry in entries:
        assert entry.model.startswith("openai/Qwen2.5-Coder-1.5B-Instruct"), entry.name
        assert not entry.is_edited, entry.name


def test_the_code_of_the_strong_writer_is_up_to_date(tmp_path: Path) -> None:
    with contextlib.chdir(ROOT / "spsbench/writer"):
        result = CliRunner().invoke(njc, ["build", "--locked", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    entries = read_lock(ROOT / "spsbench/writer/njc.lock").entries.values()
    assert {(entry.model, entry.is_edited) for entry in entries} == {("Claude (Anthropic)", False)}


@pytest.mark.parametrize("task", TASK_NAMES)
def test_static_files_are_imported_without_the_compiler(task: str) -> None:
    result = alone(f"{STATIC}/{task}/natural.py")
    assert (result.returncode, result.stderr) == (0, "")


def test_every_source_is_compiled() -> None:
    sources = {file for source in BUILT.values() for file in (ROOT / source).rglob("*.njpy")}
    assert set(ARTEFACTS.values()) == sources


@pytest.mark.parametrize("artefact", ARTEFACTS)
def test_compiling_adds_the_runtime_and_no_other_import(artefact: str) -> None:
    assert imports_in(ROOT / artefact) == imports_in(ARTEFACTS[artefact]) | {"njrt"}


@pytest.mark.parametrize("artefact", [name for name in ARTEFACTS if "/examples/" in name])
def test_examples_are_imported_without_the_compiler(artefact: str) -> None:
    """The shortest of them also runs when it is imported."""
    recording = ROOT / "examples" / "recordings" / f"{Path(artefact).stem}.jsonl"
    assert alone(artefact, NJC_RECORD=f"none:{recording}").stderr == ""


@pytest.mark.parametrize("task", TASK_NAMES)
def test_programs_of_the_benchmark_run_without_the_compiler(task: str) -> None:
    result = alone(f"compiled_out/spsbench/{task}/natural.py", task)
    # A message that completes no task rightly changes nothing.
    told = [line for line in result.stderr.splitlines() if "has changed nothing" not in line]
    assert (result.returncode, told) == (0, [])


def test_what_is_absent_there_cannot_be_imported(tmp_path: Path) -> None:
    file = tmp_path / "forbidden.py"
    file.write_text("from njc import compiler\n")
    assert "ModuleNotFoundError: No module named 'njc'" in alone(str(file)).stderr
