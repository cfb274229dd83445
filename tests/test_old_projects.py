"""Files that 0.2 wrote (tests/cases/from_0_2): its lock, traces and recordings are read, its compiled files run.

A name that only chose how a model is asked warns once; one that restricted a program is an error with the way out.
"""

import asyncio
import contextlib
import importlib
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import njrt
from njc import hook
from njc.commands import COMMANDS, njc
from njc.commands.terminal import removed as removed_words
from njc.static.lock import read_lock
from njc.static.write import change_lock
from njrt.block.session.settings import merge_options
from njrt.data.options import removed
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import RecordingFile
from njrt.testing import Request, call

OLD = Path(__file__).parent / "cases" / "from_0_2"

ANSWERS: dict[str, Any] = {
    "Put into <:team": {"team": "sales"},
    "Put into <:ok": {"ok": True},
    "Add the numbers": "```python\ntotal += sum(n for order in orders for n in order.values())\n```",
    "Break if <order>": "```python\nif not order:\n    break\nprice = order['tea']\n```",
    "Put into <:shout": "```python\ndef shout(word):\n    return text.upper() + word.upper()\n```",
    "From <size>": {"label": "desk", "__secret": "kept"},
    "Put a greeting": {"greeting": "Hello"},
    "Append <word>": "```python\nself.__notes.append(word)\n```",
    "Put <text> in": {"big": "BIG"},
    "Call <pay>": "```python\nfor amount in amounts:\n    receipts.append(pay(amount))\n```",
    "Halve <x>": {"y": 7},
}


def answer(request: Request) -> Any:
    task = request.messages[0].text
    return next(reply for start, reply in ANSWERS.items() if task.startswith(start))


@pytest.fixture
def old_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the compiled files importable, without writing bytecode beside them.

    Commands of other tests install the import hook, which prefers the sources.
    """
    hook.uninstall()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(OLD)
    yield
    for name in ("shop", "double", "gated_shop"):
        sys.modules.pop(name, None)


def load(name: str, **options: Any) -> ModuleType:
    sys.modules.pop(name, None)
    with njrt.using(model=njrt.Scripted(answer, protocol="text"), **options):
        return importlib.import_module(name)


@pytest.mark.usefixtures("old_modules")
def test_a_compiled_program_runs() -> None:
    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        shop = load("shop")
        assert shop.greeting == "Hello"
        assert shop.sort("Buy") == "sales"
        assert shop.cheap(2.0) is True
        assert shop.serve([{"tea": 3}, {"tea": 4}, {}]) == 14
        assert shop.write("a")("b") == "AB"
        assert (shop.Desk.label, shop.Desk().secret()) == ("desk", "kept")
        assert shop.Desk().note("x") == ["x"]
        assert asyncio.run(shop.later("big")) == "BIG"
        gated = load("gated_shop")
        with njrt.using(intercept=lambda _: njrt.Accept()):
            assert gated.settle([1, 2]) == ["paid 1", "paid 2"]


@pytest.mark.usefixtures("old_modules")
def test_a_compiled_interface_runs() -> None:
    shop = load("shop")
    with njrt.using(model=njrt.Scripted(lambda _: call("leave"))):
        assert shop.talk(["a", "b"]) == 0


@pytest.mark.usefixtures("old_modules")
def test_compiled_code_of_models_runs() -> None:
    double = load("double")
    assert double.double(4) == 2  # the model's mistake, as it was locked
    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        with pytest.warns(
            FutureWarning, match=r'`mode="auto"` was removed .*; the block runs live'
        ):
            assert double.half(4) == 7
        assert double.sort("Buy") == "sales"


@pytest.mark.parametrize("path", sorted((OLD / "recordings").iterdir()), ids=lambda path: path.stem)
def test_a_recording_is_read(path: Path) -> None:
    recording = read_recording(RecordingFile(path))
    held = {"decisions": {"decisions"}, "paused": {"decisions"}, "calls": {"decisions", "touches"}}
    assert recording.entries
    assert recording.header.unfinished == (path.stem == "paused")
    found = {name for name in ("decisions", "touches") if getattr(recording, name)}
    assert found == held.get(path.stem, set())


@pytest.mark.parametrize("mode", removed.MODES)
def test_a_mode_that_has_left_says_what_to_do_instead(mode: str, tmp_path: Path) -> None:
    (tmp_path / "mail.njpy").write_text(SOURCE.replace("natural", f'natural(mode="{mode}")'))
    code, shown = run_njc(tmp_path, "check", ".")
    assert (code, f'`mode="{mode}"` was removed in njc 0.3: ' in shown) == (1, True)


def test_a_lock_is_read() -> None:
    lock = read_lock(OLD / "njc.lock")
    assert {mode for _, mode in lock.entries} == {"static", "static-raw", "auto"}
    assert [section["name"] for kind, section in lock.kept if kind == "mcp"] == ["files"]


def test_a_trace_is_read(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (OLD / "trace.jsonl").read_text().splitlines()]
    kinds = {line["event"] for line in lines}
    assert kinds == {"began", "asked", "replied", "unanswered", "performed", "compared", "ended"}
    trace = shutil.copy(OLD / "trace.jsonl", tmp_path)
    shown = CliRunner().invoke(njc, ["trace", trace])
    assert shown.exit_code == 0, shown.output
    assert "shop.njpy:77" in shown.output
    html = tmp_path / "trace.html"
    paged = CliRunner().invoke(njc, ["trace", trace, "--html", str(html)])
    assert paged.exit_code == 0, paged.output
    assert "</html>" in html.read_text()


# ── names that have left ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def nothing_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name is warned about once in a process, when its options are merged first."""
    monkeypatch.setattr(removed, "_warned", set())
    merge_options.cache_clear()


def list_warned(caught: pytest.WarningsRecorder) -> list[str]:
    """Return the names of 0.2 in the warnings."""
    texts = [str(warning.message) for warning in caught if warning.category is FutureWarning]
    return [text.split("`")[1] for text in texts if "was removed in njc 0.3" in text]


@pytest.mark.usefixtures("old_modules", "nothing_is_warned")
def test_arguments_of_compiled_files_that_have_left_warn_once(
    recwarn: pytest.WarningsRecorder,
) -> None:
    shop, double = load("shop"), load("double")
    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        for _ in range(2):
            found = shop.sure("Buy"), double.half(4), double.half(None), double.sort("Buy")
            assert found == ("sales", 7, 7, "sales")
    assert list_warned(recwarn) == [
        *("max_repeats", "votes", "second_model", "second_below", 'mode="auto"', "canary"),
        *("canary_seed", "tuned", "examples"),
    ]


@pytest.mark.usefixtures("nothing_is_warned")
@pytest.mark.parametrize("name", removed.DROPPED)
def test_using_warns_once(name: str, recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(2):
        with njrt.using(**{name: 3}):
            pass
    assert list_warned(recwarn) == [name]
    assert "; it is ignored" in str(recwarn[0].message)


@pytest.mark.parametrize(
    ("settings", "way_out"),
    [
        (
            {"tenant": "acme"},
            r"using: `tenant` was removed in njc 0\.3: open `njrt\.using\(budget=",
        ),
        (
            {"manifest": "njc.lock"},
            r"using: `manifest` .*: decide about effects in `njrt\.using\(inter",
        ),
        (
            {"budget": "usd=5 per=day each=tenant"},
            r"each=tenant': `each` was removed in njc 0\.3",
        ),
        ({"store": "redis://host/0"}, r"python:MODULE:NAME .*examples/redis_store\.py"),
        ({"store": "postgresql://host/shop"}, r"python:MODULE:NAME"),
    ],
    ids=str,
)
def test_what_restricted_a_program_is_an_error(settings: dict[str, Any], way_out: str) -> None:
    with (
        pytest.raises(njrt.ConfigurationError, match=way_out),
        njrt.using(model=njrt.Scripted(["3"]), cache=True, **settings),
    ):
        njrt.llm("How many?")


VARIABLES: dict[str, tuple[str, str]] = {
    "NJC_VOTES": ("3", ""),
    "NJC_CANARY": ("0.1", ""),
    "NJC_EXAMPLES": ("traces", ""),
    "NJC_TENANT": ("acme", "NJC_TENANT: `tenant` was removed in njc 0.3: open"),
    "NJC_REPLAY": ("1", "NJC_REPLAY: `replay` was removed in njc 0.3: replay recordings with"),
    "NJC_BUDGET": ("usd=5 per=day each=tenant", "`each` was removed in njc 0.3: open"),
    "NJC_STORE": ("redis://host/0", "no store has the URL 'redis://host/0'; write sqlite:///FILE"),
}


@pytest.mark.usefixtures("nothing_is_warned")
@pytest.mark.parametrize("name", VARIABLES)
def test_variables(
    name: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    value, error = VARIABLES[name]
    monkeypatch.setenv(name, value)
    stored = {"budget": "tokens=9 per=day"} if name == "NJC_STORE" else {}
    with njrt.using(model=njrt.Scripted(["3"] * 2), **stored):  # type: ignore[arg-type]
        if error:
            with pytest.raises(njrt.ConfigurationError) as caught:
                njrt.llm("How many?")
            assert error in str(caught.value)
        else:
            assert [njrt.llm("How many?"), njrt.llm("How few?")] == ["3", "3"]
            assert list_warned(recwarn) == [removed.VARIABLES[name]]


SOURCE = """def sort(mail: str) -> str:
    '''natural
    Put into <:team: str> the team for <mail>.
    '''
    return team
"""


def run_njc(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command in a folder; its exit code, and all that it has written."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(njc, words)
    return result.exit_code, result.output


@pytest.mark.usefixtures("nothing_is_warned")
def test_settings_of_a_project(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "mail.njpy").write_text(SOURCE)
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.njc]\nvotes = 3\ncanary-tolerated = 0.1\n")
    assert run_njc(tmp_path, "build", ".")[0] == 0
    assert list_warned(recwarn) == ["votes", "canary_tolerated"]
    project.write_text('[tool.njc]\ntenant = "acme"\n')
    code, shown = run_njc(tmp_path, "build", ".")
    assert (code, "`tenant` was removed in njc 0.3" in shown) == (2, True)


def test_an_option_of_a_block_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "mail.njpy").write_text(SOURCE.replace("natural", "natural(votes=3)"))
    code, shown = run_njc(tmp_path, "check", ".")
    assert code == 1
    assert "mail.njpy:2:16: error[NJ104]: option `votes` was removed in njc 0.3: set `mod" in shown


def test_sections_of_a_lock_survive_and_are_named_once(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    file, kinds = tmp_path / "njc.lock", ("authority", "tuned", "mcp")
    before = tomllib.loads(file.read_text())
    _, shown = run_njc(tmp_path, "lock", "double.njpy")
    assert [shown.count(f"[[{it}]]") for it in kinds] == [1, 1, 1]
    entries = read_lock(file).entries
    (entry, *_) = entries.values()
    change_lock(file, lambda lock: lock.with_entries([replace(entry, date="2026-03-02")]))
    after = tomllib.loads(file.read_text())
    assert after.keys() == {"version", "block", *kinds}
    assert [after[kind] for kind in kinds] == [before[kind] for kind in kinds]
    assert read_lock(file).entries.keys() == entries.keys()


@pytest.mark.parametrize("name", removed_words.COMMANDS)
def test_a_command_that_has_left_says_what_to_do_instead(name: str, tmp_path: Path) -> None:
    code, shown = run_njc(tmp_path, *name.split(), "--json", "x")
    text = f"`njc {name}` was removed in njc 0.3: {removed_words.COMMANDS[name]}"
    assert (code, text in shown) == (2, True)
    for word in re.findall(r"`njc ([a-z-]+)", removed_words.COMMANDS[name]):
        assert word in COMMANDS


FLAGS = {
    "batch": ("--address", "--estimate", "--poll", "--rows", "--vendor-batch"),
    "build": (
        "build --diff",
        "build --stubs",
        "--exclude",
        "--include",
        "--required-version",
        "--unlearned",
        "--warnings",
        "-W",
    ),
    "add": ("add --timeout",),
    "check": ("--watch", "check --stdin-filename"),
    "doctor": ("doctor --output-format",),
    "cache": ("cache --folder", "cache --output-format"),
    "clear": ("clear --folder",),
    "compare": tuple(
        f"compare --{name}" for name in ("attempts", "fresh", "gate", "html", "jobs", "json")
    ),
    "debug": ("--trace", "debug --plain"),
    "eval": (
        "eval --accept",
        "eval --against",
        "eval --fresh",
        "eval --html",
        "eval --out",
        "eval -o",
    ),
    "lock": ("--authority", "lock --attempts", "lock --jobs", "lock --update", "lock --why"),
    "run": (
        *("--env", "--max-cpu", "--max-memory", "--max-processes", "--read", "--sandbox"),
        "--work",
    ),
    "skill": ("skill --force", "skill --into"),
    "static": ("--learn",),
    "trace": ("--expensive", "--jumps", "--slow", "--surprises", "trace --block", "trace --run"),
    "usage": ("usage --all", "usage --budget", "usage --forget", "usage --of"),
}


@pytest.mark.parametrize(
    ("command", "flag"), [(command, flag) for command, flags in FLAGS.items() for flag in flags]
)
def test_a_flag_that_has_left_says_what_to_do_instead(
    command: str, flag: str, tmp_path: Path
) -> None:
    written = flag.removeprefix(f"{command} ")
    group = ["store"] if command in ("cache", "clear", "usage") else ["mcp"][: command == "add"]
    code, shown = run_njc(tmp_path, *group, command, written, "x")
    text = f"{written} was removed in njc 0.3: {removed_words.FLAGS[flag]}"
    assert (code, text in shown) == (2, True), shown


def test_every_flag_that_has_left_is_tried() -> None:
    assert {flag for flags in FLAGS.values() for flag in flags} == {*removed_words.FLAGS}


@pytest.mark.parametrize("name", [*removed.NAMES])
def test_a_public_name_that_has_left_says_what_to_do_instead(name: str) -> None:
    with pytest.raises(ImportError, match=re.escape(f"in njc 0.3: {removed.NAMES[name]}")):
        exec(f"from njrt{'.models' if name.endswith('Model') else ''} import {name}")
