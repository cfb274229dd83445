"""Programs in tests/cases, with what the compiler makes of them beside them.

    lower/NAME.njpy            lower/NAME.py              the compiled file
    diagnostics/NAME.njpy      diagnostics/NAME.txt       what is reported
    njc/findings/CODE.md       has the program and the report of a code

`pytest tests/compiler --update-cases` writes what the compiler says today: read the diff.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import black
import pytest

from njc.compiler.compiler import check_source, compile_source
from njc.compiler.frontend.diagnostics import FATAL, SEVERITIES, render_diagnostic
from njc.compiler.frontend.source import SourceFile
from njc.findings import FOLDER, get_file, read_finding

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
LOWERED = sorted((CASES / "lower").glob("*.njpy"))
REPORTED = sorted((CASES / "diagnostics").glob("*.njpy"))
UNFORMATTED = {
    "one_line_suites": "black gives every suite lines of its own",
    "tabs": "black indents by blanks",
    "many_arguments": "a prompt's marker line, and one name, that are wider than the page",
    "prompt_marker_and_quotes": "black prefers double quotes, also for the author's prompt",
}


def _compile(path: Path) -> bytes:
    compilation = compile_source(SourceFile(path.name, path.read_bytes()))
    assert compilation.output is not None, compilation.diagnostics
    return compilation.output


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.stem)
def test_compiled_file(path: Path, update_cases: bool) -> None:
    output = _compile(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(output, path.name, "exec")
    expected = path.with_suffix(".py")
    if update_cases:
        expected.write_bytes(output)
    assert output == expected.read_bytes()


@pytest.mark.parametrize("path", LOWERED + REPORTED, ids=lambda path: path.stem)
def test_checking_finds_what_compiling_finds(path: Path) -> None:
    source = SourceFile(path.name, path.read_bytes())
    checked, compiled = check_source(source, with_hints=True), compile_source(source)
    assert checked.diagnostics == compiled.diagnostics
    assert checked.hints == compiled.hints


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_findings(path: Path, update_cases: bool) -> None:
    _, report = _report(SourceFile(path.name, path.read_bytes()))
    expected = path.with_suffix(".txt")
    if update_cases:
        expected.write_text(report)
    assert report == expected.read_text()


def _report(source: SourceFile, hints: bool = False) -> tuple[set[str], str]:
    """Return the codes that are found in a file, and how they are reported."""
    compilation = compile_source(source)
    found = (*compilation.diagnostics, *(compilation.hints if hints else ()))
    report = "\n\n".join(render_diagnostic(diagnostic, source) for diagnostic in found) + "\n"
    return {each.code for each in found}, report


@pytest.mark.parametrize("code", sorted(SEVERITIES))
def test_the_file_of_a_finding(code: str, update_cases: bool) -> None:
    """Its severity is that of the compiler, and its program gets the report in it."""
    finding = read_finding(code)
    assert finding.severity == SEVERITIES[code] + ", cannot be ignored" * (code in FATAL)
    assert finding.title == finding.title.strip(".")
    assert finding.explanation.endswith(".")
    if code.startswith("NJ4") or code == "NJ002":
        return  # tests/static; its program is no text
    source = SourceFile(f"{code}.njpy", finding.program.encode())
    codes, report = _report(source, hints=SEVERITIES[code] == "hint")
    if update_cases:
        text = get_file(code).read_text(encoding="utf-8")
        get_file(code).write_text(text.replace(finding.report, report), encoding="utf-8")
    assert report == finding.report
    assert code in codes


def test_every_code_has_a_file() -> None:
    assert SEVERITIES.keys() == {path.stem for path in FOLDER.glob("*.md")}


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.stem)
def test_black_leaves_the_scaffold_alone(path: Path) -> None:
    if path.stem in UNFORMATTED:
        pytest.skip(UNFORMATTED[path.stem])
    text = _compile(path).decode()
    assert black.format_str(text, mode=black.Mode()) == text


COMPILE_ALL = """
import sys, hashlib, pathlib
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.njpy")):
    compilation = compile_source(SourceFile(path.name, path.read_bytes()))
    print(path.name, hashlib.sha256(compilation.output or b"").hexdigest())
"""


def _pythons() -> list[str]:
    """Return the other Pythons that are installed here, on the path or by pyenv."""
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 16)]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += [str(path) for path in sorted(root.glob("versions/3.1[1-9]*/bin/python"))]
    return [path for path in found if path and path != sys.executable]


def test_every_python_compiles_to_the_same_bytes() -> None:
    environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'runtime'}"}
    results = set()
    for seed, python in enumerate([sys.executable, *_pythons()], 1):
        finished = subprocess.run(
            [python, "-c", COMPILE_ALL, str(CASES / "lower")],
            env=environment | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
        )
        if finished.returncode and python != sys.executable:
            continue  # a shim of a version that is not installed
        assert not finished.returncode, finished.stderr
        results.add(finished.stdout)
    assert len(results) == 1
