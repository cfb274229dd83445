"""Commands that test a build: what their processes import, in the many ways in which Python finds a module."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from studio import Studio
from test_repairing import explained

import njrt
from njc.commands import njc as njc_command
from njc.measure.built_imports.account import find_import_problem, make_build_environment
from njc.project.build import plan_build
from njc.project.config import find_project
from njc.project.units import Unit, find_package_files, find_units

BLOCK = '''\
def double(number):
    """natural
    Put into <:twice> two times <number>.
    """
    return twice
'''
FOREIGN = "def double(number):\n    return 0\n"
PACKAGE: Mapping[str, str] = {
    "src/pkg/__init__.py": "from .shop import double\n",
    "src/pkg/shop.njpy": f"from .names import NAME\n\n\n{BLOCK}",
    "src/pkg/names.py": "NAME = 'shop'\n",
}
HOOK = "import njc.hook; njc.hook.install(); "
INSERT = "import sys; sys.path.insert(0, 'src'); "
PRINT = "import {0}; print({0}.__file__)"
BY_LOADER = (
    "import importlib.util as u; from njc.hook import NaturalLoader as L; "
    "s = u.spec_from_loader('shop', L('shop', 'src/shop.njpy')); "
    "m = u.module_from_spec(s); s.loader.exec_module(m)"
)


@dataclass(frozen=True)
class Case:
    """Files beside `src/shop.njpy`, a command, and its problem; empty if it executes the build."""

    command: Sequence[str]
    files: Mapping[str, str]
    problem: str = ""


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins of this environment take most of the time of a command that runs pytest."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run_code(code: str, files: Mapping[str, str] | None = None, problem: str = "") -> Case:
    return Case((sys.executable, "-c", code), files or {}, problem)


def run_pytest(files: Mapping[str, str], *flags: str) -> Case:
    test = "from shop import double\n\ndef test_name():\n    assert double.__code__.co_filename\n"
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags)
    return Case(command, {"tests/test_shop.py": test, **files})


def start(*words: str) -> str:
    return f"import subprocess, sys; subprocess.run([sys.executable, *{words!r}], check=True"


CASES: Mapping[str, Case] = {
    "by name": run_code(PRINT.format("shop")),
    "import hook": run_code(HOOK + PRINT.format("shop")),
    "path in front": run_code(INSERT + HOOK + PRINT.format("shop")),
    "path in front, no hook": run_code(INSERT + PRINT.format("shop")),
    "compiled beside the source": run_code(
        INSERT + PRINT.format("shop"), {"src/shop.py": "# compiled by njc 0 from shop.njpy (sha256 0123456789abcdef, abi 1)\n"}
    ),
    "module as a program": Case((sys.executable, "-m", "shop"), {}),
    "file of the build": Case((sys.executable, "{out}/shop.py"), {}),
    "runpy, by name": run_code("import runpy; runpy.run_module('shop')"),
    "process": run_code(start("-c", "import shop") + ")"),
    "process, path in front": run_code(start("-c", INSERT + HOOK + "import shop") + ")"),
    "spawned process": run_code(
        INSERT + HOOK + "import multiprocessing as m, runpy; p = m.get_context('spawn').Process("
        "target=runpy.run_module, args=('shop',)); p.start(); p.join()"
    ),
    "reloaded": run_code(INSERT + HOOK + "import importlib, shop; importlib.reload(shop)"),
    "pythonpath of pytest": run_pytest(
        {"tests/conftest.py": "import njc.hook\nnjc.hook.install()\n",
         "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n"}
    ),
    "pytest.ini and importlib": run_pytest(
        {"pytest.ini": "[pytest]\npythonpath = src\n", "conftest.py": "import njc.hook\nnjc.hook.install()\n"},
        "--import-mode=importlib",
    ),
    "path of conftest": run_pytest({"tests/conftest.py": f"{INSERT}\n{HOOK}\n"}),
    "package": run_code(PRINT.format("pkg.shop"), PACKAGE),
    "package, path in front": run_code(INSERT + HOOK + PRINT.format("pkg.shop"), PACKAGE),
    "natural package": run_code(
        INSERT + HOOK + "import pkg; from pkg.names import NAME; print(pkg.__file__)",
        {"src/pkg/__init__.njpy": BLOCK, "src/pkg/names.py": "NAME = 1\n"},
    ),
    "namespace package": run_code(
        INSERT + HOOK + PRINT.format("space.shop"), {"src/space/shop.njpy": BLOCK}
    ),
    "source as a program": Case((sys.executable, "src/shop.njpy"), {}, "executed no compiled file"),
    "source by njc run": Case((sys.executable, "-m", "njc", "run", "src/shop.njpy"), {}, "executed no compiled file"),
    "source by its loader": run_code(BY_LOADER, {}, "executed no compiled file"),
    "another module of the name": run_code(
        INSERT.replace("src", "tests") + PRINT.format("shop"), {"tests/shop.py": FOREIGN}
    ),
    "another name": run_code(PRINT.format("src.shop"), {}, "executed no compiled file"),
    "nothing": run_code("pass", {}, "it executed no compiled file; have the command import them"),
    "isolated": Case((sys.executable, "-I", "-c", "pass"), {}, "it executed no compiled file"),
    "an environment of its own": run_code(
        start("-c", HOOK + INSERT + "import shop") + ", env={})", {}, "it executed no compiled file"
    ),
}  # fmt: skip


def build_project(folder: Path, files: Mapping[str, str]) -> tuple[Path, tuple[Unit, ...]]:
    """Write the files, and build them into `out`; returns it and what was built."""
    for path, text in {"src/shop.njpy": BLOCK, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    out = folder / "elsewhere" / "out"
    project = replace(find_project(folder, {}), out=out)
    units = find_units([folder / "src"], project)
    plan_build((*units, *find_package_files(units, project)), project, force=True).write_changes()
    return out, units


@pytest.mark.parametrize("name", CASES)
def test_the_build_is_imported_or_the_reason_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    out, build = build_project(tmp_path, case.files)
    environment = make_build_environment(build, out, tmp_path)
    words = [word.replace("{out}", str(out)) for word in case.command]
    run = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    problem = find_import_problem(tmp_path)
    if case.problem:
        assert case.problem in problem, run.stderr
    else:
        assert (run.returncode, problem) == (0, ""), run.stdout + run.stderr
        if ".py\n" in run.stdout:
            assert run.stdout.startswith(str(out)), run.stdout


def test_bytecode_of_an_earlier_build_is_not_executed(tmp_path: Path) -> None:
    out, build = build_project(tmp_path, {"src/shop.njpy": "NUMBER = 1\n"})
    file = out / "shop.py"
    words = (sys.executable, "-c", "import shop; print(shop.NUMBER)")
    environment = make_build_environment(build, out, tmp_path)
    for number in ("1", "2"):
        status = file.stat()
        file.write_text(file.read_text().replace("NUMBER = 1", f"NUMBER = {number}"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert subprocess.check_output(words, env=environment, text=True) == f"{number}\n"


def test_a_sitecustomize_of_the_program_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, build = build_project(
        tmp_path, {"own/sitecustomize.py": "import sys\nsys.greeting = 'hello'\n"}
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    environment = make_build_environment(build, out, tmp_path)
    words = (sys.executable, "-c", "import sys, shop; print(sys.greeting)")
    assert subprocess.check_output(words, env=environment, text=True) == "hello\n"


ENDLESS = "```python\ndef choose(text):\n    return choose(text)\nteam = choose(message)\n```"
RIGHT = 'team = "billing" if "charged" in message else "shipping" if "parcel" in message else "technical"'
TESTS = (sys.executable, "-m", "pytest", "-q", "-p", "njrt.pytest_plugin", "--njc-record=none")


def run_njc(*arguments: str, replies: Sequence[str] = ()) -> str:
    """Run the command, and return what it printed."""
    with njrt.using(model=njrt.Scripted(replies, name="scripted", protocol="text")):
        return CliRunner().invoke(njc_command, arguments).output


def test_the_starter_project_is_compared_and_repaired_as_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_njc("init", ".")
    assert "1 file compiled" in run_njc("build", "-o", "out", "--mode", "static", replies=[ENDLESS])
    compared = run_njc("compare", "--modes", "live,static", "-n", "1", "src", "--", *TESTS)
    assert "live 1/1: 3 of 3 tests passed" in compared, compared
    assert "static 1/1: 0 of 3 tests passed" in compared, compared
    flags = ("--mode", "static", "--repair", "--test", " ".join(TESTS))
    repaired = run_njc("static", *flags, "src", replies=[explained(RIGHT)])
    assert "exit code 1  passes        1" in repaired, repaired
    again = run_njc("compare", "--modes", "static", "-n", "1", "src", "--", *TESTS)
    assert "static 1/1: 3 of 3 tests passed" in again


def test_commands_that_do_not_use_the_build_are_refused(studio: Studio) -> None:
    studio.write({"shop.njpy": BLOCK})
    studio.njc(
        "build",
        "-o",
        "out",
        "--mode",
        "static",
        ".",
        replies=["```python\ntwice = 2 * number\n```"],
    )
    (studio.folder / "out/shop.py").unlink()
    words = (sys.executable, "-m", "njc", "check", "shop.njpy")
    compared = studio.njc("compare", "--modes", "static", "shop.njpy", "--", *words, code=2)
    assert (
        "run 1 of static (exit code 0) did not measure the build: it executed no" in compared.stderr
    )
    repaired = studio.njc("static", "--repair", "--test", " ".join(words), "shop.njpy", code=2)
    assert "the command (exit code 0) did not test the build: it executed no" in repaired.stderr
    assert len(studio.asked) == 1, "no code is asked for where the command tests nothing"
