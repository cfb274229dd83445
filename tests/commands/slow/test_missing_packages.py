"""Without the packages of any extra every command has a help text, and what needs one of them says which extra has it."""

from __future__ import annotations

import json
import shutil
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from processes import run_python

ROOT = Path(__file__).parents[3]

RUN_ALL = """
import json, sys
absent, calls = json.loads(sys.stdin.read())
sys.modules.update(dict.fromkeys(absent))
from click.testing import CliRunner
from njc.commands import COMMANDS, njc
from spsbench.cli import main as spsbench
groups = {"njc": njc, "spsbench": spsbench}
helps = [[group, name, "--help"] for group, found in groups.items() for name in (COMMANDS if group == "njc" else found.commands)]
for group, *words in [*helps, *calls]:
    done = CliRunner().invoke(groups[group], words)
    is_crash = done.exception is not None and not isinstance(done.exception, SystemExit)
    print(json.dumps([[group, *words], done.exit_code, repr(done.exception) if is_crash else done.output]))
"""
"""Runs the commands in one process in which the absent packages cannot be imported."""

CALLS = {
    "njc lsp": "njpy[lsp]",
    "njc batch prog.njpy:route rows.jsonl -o out.jsonl --executor dask": "njpy[dask]",
    "spsbench loc": "njpy[bench]",
}
"""Commands that need packages, and the extra that has them."""


def list_extra_packages() -> list[str]:
    """Return the import names of what the extras install, of both distributions."""
    files = [ROOT / "pyproject.toml", ROOT / "runtime/pyproject.toml"]
    projects = [tomllib.loads(file.read_text())["project"] for file in files]
    requirements = [
        Requirement(text)
        for project in projects
        for extra, texts in project["optional-dependencies"].items()
        if extra not in ("all", "dev")
        for text in texts
    ]
    needed = {Requirement(text).name for project in projects for text in project["dependencies"]}
    names = {canonicalize_name(found.name) for found in requirements} - needed - {"njpy-runtime"}
    return sorted(
        package
        for package, distributions in packages_distributions().items()
        if names & {canonicalize_name(name) for name in distributions}
    )


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Return the exit code and the output, or the exception, of each command."""
    folder = tmp_path_factory.mktemp("bare")
    shutil.copy(ROOT / "examples/tickets.njpy", folder / "prog.njpy")
    shutil.copy(ROOT / "examples/traces/mailbox.jsonl", folder / "trace.jsonl")
    (folder / "rows.jsonl").write_text('{"ticket": "late"}\n')
    (folder / "results.jsonl").touch()
    done = run_python(
        "-c",
        RUN_ALL,
        cwd=folder,
        input=json.dumps([list_extra_packages(), [call.split() for call in CALLS]]),
        timeout=240,
        check=True,
    )
    lines = map(json.loads, done.stdout.splitlines())
    return {" ".join(words): (code, output) for words, code, output in lines}


def test_packages_of_extras_are_found() -> None:
    assert {"black", "openai", "tomlkit"} <= {*list_extra_packages()}


def test_every_command_has_help(outputs: dict[str, tuple[int, str]]) -> None:
    helps = {call: code for call, (code, _) in outputs.items() if call.endswith(" --help")}
    assert len(helps) >= 29
    assert {call for call, code in helps.items() if code} == set()


@pytest.mark.parametrize("call", CALLS)
def test_what_needs_a_package_names_its_extra(
    outputs: dict[str, tuple[int, str]], call: str
) -> None:
    code, output = outputs[call]
    assert code in (1, 2), output
    assert f'install it with: pip install "{CALLS[call]}"' in output.replace("them", "it")
