"""Commands that test a build: what their processes import, in the many ways in which Python finds a module."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from studio import Studio
from test_repairing import repair

from njc.measure.built_imports.account import find_import_problem, make_build_environment
from njc.project.build import plan_build
from njc.project.config import find_project
from njc.project.units import find_package_files, find_units

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


def build_project(studio: Studio, files: Mapping[str, str]) -> tuple[Path, dict[str, str]]:
    """Write the files, and build them into a folder; return it, and the variables to import from it."""
    studio.write({"src/shop.njpy": BLOCK, **files})
    out = studio.folder / "elsewhere" / "out"
    project = replace(find_project(studio.folder, {}), out=out)
    units = find_units([studio.folder / "src"], project)
    plan_build((*units, *find_package_files(units, project)), project, force=True).write_changes()
    return out, make_build_environment(units, out, studio.folder)


@pytest.mark.parametrize("name", CASES)
def test_the_build_is_imported_or_the_reason_is_named(studio: Studio, name: str) -> None:
    case = CASES[name]
    out, environment = build_project(studio, case.files)
    words = [word.replace("{out}", str(out)) for word in case.command]
    run = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    problem = find_import_problem(studio.folder)
    if case.problem:
        assert case.problem in problem, run.stderr
    else:
        assert (run.returncode, problem) == (0, ""), run.stdout + run.stderr
        if ".py\n" in run.stdout:
            assert run.stdout.startswith(str(out)), run.stdout


def test_bytecode_of_an_earlier_build_is_not_executed(studio: Studio) -> None:
    out, environment = build_project(studio, {"src/shop.njpy": "NUMBER = 1\n"})
    file = out / "shop.py"
    words = (sys.executable, "-c", "import shop; print(shop.NUMBER)")
    for number in ("1", "2"):
        status = file.stat()
        file.write_text(file.read_text().replace("NUMBER = 1", f"NUMBER = {number}"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert subprocess.check_output(words, env=environment, text=True) == f"{number}\n"


def test_a_sitecustomize_of_the_program_is_imported(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(studio.folder / "own"))
    own = {"own/sitecustomize.py": "import sys\nsys.greeting = 'hello'\n"}
    _, environment = build_project(studio, own)
    words = (sys.executable, "-c", "import sys, shop; print(sys.greeting)")
    assert subprocess.check_output(words, env=environment, text=True) == "hello\n"


ENDLESS = "```python\ndef choose(text):\n    return choose(text)\nteam = choose(message)\n```"
RIGHT = 'team = "billing" if "charged" in message else "shipping" if "parcel" in message else "technical"'
TESTS = (sys.executable, "-m", "pytest", "-q", "-p", "njrt.pytest_plugin", "--njc-record=none")


def test_the_starter_project_is_compared_and_repaired_as_it_is_built(studio: Studio) -> None:
    studio.njc("init", ".")
    built = studio.njc("build", "-o", "out", "--mode", "static", replies=[ENDLESS])
    assert "1 file compiled" in built.stderr
    compare = ("-n", "1", "src", "--", *TESTS)
    compared = studio.njc("compare", "--modes", "live,static", *compare).output
    assert "live 1/1: 3 of 3 tests passed" in compared
    assert "static 1/1: 0 of 3 tests passed" in compared
    repaired = repair(studio, " ".join(TESTS), RIGHT, flags=["--mode", "static", "src"])
    assert "exit code 1  passes        1" in repaired.output
    again = studio.njc("compare", "--modes", "static", *compare)
    assert "static 1/1: 3 of 3 tests passed" in again.output


def test_commands_that_do_not_use_the_build_are_refused(studio: Studio) -> None:
    studio.write({"shop.njpy": BLOCK})
    code = "```python\ntwice = 2 * number\n```"
    studio.njc("build", "-o", "out", "--mode", "static", ".", replies=[code])
    (studio.folder / "out/shop.py").unlink()
    words = (sys.executable, "-m", "njc", "check", "shop.njpy")
    compared = studio.njc("compare", "--modes", "static", "shop.njpy", "--", *words, code=2)
    problem = "run 1 of static (exit code 0) did not measure the build: it executed no"
    assert problem in compared.stderr
    repaired = repair(studio, " ".join(words), code=2)
    assert "the command (exit code 0) did not test the build: it executed no" in repaired.stderr
    assert len(studio.asked) == 1, "no code is asked for where the command tests nothing"
