"""Options that contradict each other are refused with one line, before anything is read or written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc

TRACED = "does nothing with --trace, which views a run that is over"
PREDICTED = "does nothing with --predicted, which runs nothing"
CASES = {
    "debug --call 'f(1)' a.njpy": "--call needs --predicted",
    "debug --call 'f(1)' --recording r a.njpy": "--call needs --predicted",
    "debug --trace t --call x": f"--call {TRACED}",
    "debug --trace t --recording r": f"--recording {TRACED}",
    "debug --trace t --model m a.njpy": f"--model {TRACED}",
    "debug --trace t --set mode=live": f"--set {TRACED}",
    "debug --trace t --predicted a:b": f"--predicted {TRACED}",
    "debug --trace t a.njpy x": f"ARGUMENTS {TRACED}",
    "debug --predicted a:b --call 'f(1)' --model m a.py": f"--model {PREDICTED}",
    "debug --predicted a:b --call 'f(1)' a.py x": f"ARGUMENTS {PREDICTED}",
    "check - b.njpy": "`-` is one source on standard input; name no other beside it",
    "check - --watch": "--watch needs files; standard input is read once",
    "check - --fix": "--fix writes files; save the source first",
    "check a.njpy --stdin-filename b": "--stdin-filename names the source that `-` reads; add `-`",
    "build a.njpy --diff --output-format json": "--diff prints to standard output, as --output-format does",
    "types a.njpy": "name the type checker behind `--`: njc types src -- mypy --strict",
    "run --env HOME a.njpy": "--env works only with --sandbox; add --sandbox",
    "lock --check a.njpy": "--check needs --authority",
    "lock --from r a.njpy": "--from needs --authority",
    "lock --update --keep a.njpy": "--update writes code again; --keep keeps it",
    "lock --authority --why a.njpy": "--why is about static code; --authority is not",
    "lock --authority a.njpy a.njpy:f": "--authority takes sources, not the block a.njpy:f",
    "tune a.njpy:f cases.jsonl --errors 0.1": "--errors needs --second",
    "usage --forget 3 --json": "--json does nothing with --forget, which shows nothing",
    "canary --clear --json": "--json does nothing with --clear, which shows nothing",
    "batch a.njpy:f r -o o --poll 3": "--poll needs --vendor-batch",
    "batch a.njpy:f r -o o --address x": "--address needs --executor dask or ray",
    "batch a.njpy:f r -o o --vendor-batch openai --executor threads": "--executor and --vendor-batch exclude each other",
    "skill --force": "--force needs --into",
    "cache stats --folder f --store memory:": "--store is another place than --folder; leave one out",
    "mcp add box --url http://127.0.0.1:9/mcp -- x": "name a command after --, or a --url, and not both",
    "mcp add box --header a=b -- x": "--header needs --url",
    "mcp serve a.njpy:f --host h": "--host needs --http",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.njpy").write_text("def f():\n    pass\n")
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("call", CASES)
def test_contradictory_options_are_refused(folder: Path, call: str) -> None:
    before = sorted(folder.rglob("*"))
    result = CliRunner(catch_exceptions=False).invoke(njc, shlex.split(call))
    assert (result.exit_code, result.output) == (2, f"error: {CASES[call]}\n")
    assert sorted(folder.rglob("*")) == before


def test_a_pair_of_runs_is_chosen_by_their_names_only(folder: Path) -> None:
    trace = Path(__file__).parents[2] / "examples" / "traces" / "mailbox.jsonl"
    call = ["trace", str(trace), str(trace), "1", "--refusals"]
    result = CliRunner(catch_exceptions=False).invoke(njc, call)
    message = "error: --refusals chooses among runs; two are named here\n"
    assert (result.exit_code, result.output) == (2, message)
