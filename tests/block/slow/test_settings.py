"""What surrounds a block: the environment in real processes, `using`, and which of them wins."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from natural_place import DOUBLE, Place, at
from programs import Program, ended_by

import njrt
from case_programs import read_program
from njrt.block.session.settings import (
    freeze_options,
    get_settings,
    read_environment,
    resolve_options,
)
from njrt.data.options import DEFAULTS, OPTION_CHOICES, OPTION_NAMES, Options
from njrt.testing import Scripted, run
from openai_server import KEY, OpenAIServer, says

SILENT = '''
def double(x):
    """natural
    Put twice <x> into <:y>.
    """
    return y
'''
PROGRAM = f"{SILENT}\n\nfor number in 1, 2, 2:\n    print(double(number))\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, PROGRAM)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([DOUBLE] * 9) as server:
        yield server


def test_model_and_base_url(place: Place, server: OpenAIServer) -> None:
    """Nothing is written that was not asked for."""
    place.prints(2, 4, 4, **at(server, NJC_PROTOCOL="tools"))
    assert sorted(path.name for path in place.folder.iterdir()) == [".git", "prog.njpy"]
    assert [seen.body["model"] for seen in server.seen] == ["gpt-4.1"] * 3
    assert [tool["function"]["name"] for tool in server.seen[0].body["tools"]] == ["run"]


def test_the_vendors_own_variables(place: Place, server: OpenAIServer) -> None:
    vendor = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
    place.prints(2, 4, 4, NJC_MODEL="openai/gpt-4.1", **vendor)
    assert len(server.seen) == 3


def test_protocol(tmp_path: Path) -> None:
    with OpenAIServer([says("```python\ny = x * 2\n```")] * 3) as server:
        Place(tmp_path, PROGRAM).prints(2, 4, 4, **at(server, NJC_PROTOCOL="text"))
        assert "tools" not in server.seen[0].body


def test_a_recording_has_a_name_of_its_own(place: Place) -> None:
    assert "recordings/prog.jsonl" in place.run(NJC_RECORD="none").stderr


def test_cache(place: Place, server: OpenAIServer) -> None:
    cached = at(server, NJC_CACHE="on", XDG_CACHE_HOME=str(place.folder / "cache"))
    place.prints(2, 4, 4, **cached)
    place.prints(2, 4, 4, **cached)
    assert len(server.seen) == 2
    assert (place.folder / "cache" / "njc" / "replies.sqlite3").is_file()
    place.prints(2, 4, 4, **at(server, NJC_CACHE="off"))
    assert len(server.seen) == 5


MOVING = read_program("settings_moving")
STORE = "out/a store.sqlite3"
BY_ENVIRONMENT = {
    "NJC_RECORD": "once:out/r.jsonl",
    "NJC_TRACE": "out/t.jsonl",
    "NJC_STORE": STORE,
    "NJC_BUDGET": "tokens=100000 per=total",
}


@pytest.mark.parametrize(
    "environ", [{"STORE": STORE}, {"STORE": "sqlite:///out/a%20store.sqlite3"}, BY_ENVIRONMENT]
)
def test_relative_paths_do_not_follow_the_working_directory(
    tmp_path: Path, server: OpenAIServer, environ: dict[str, str]
) -> None:
    Place(tmp_path, MOVING).prints(2, 4, 6, **at(server, **environ))
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"out/r.jsonl", "out/t.jsonl", STORE} <= written
    assert [path for path in written if path.startswith("inner")] == []
    for name, lines in (("r", 4), ("t", 15)):
        assert len((tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()) == lines


# ── precedence ───────────────────────────────────────────────────────────────────────────────────


def chosen(**layers: dict[str, Any]) -> Options:
    with njrt.using(**layers.get("using", {})):
        using = get_settings().options
        block, project = freeze_options(layers.get("block")), freeze_options(layers.get("project"))
        return resolve_options(block, project, using, "x:1")


def test_the_nearest_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    layers: dict[str, dict[str, Any]] = {}
    assert chosen().effects == DEFAULTS.effects == "direct"
    layers["project"] = {"effects": "answer", "max_calls": 7}
    assert chosen(**layers).effects == "answer"
    monkeypatch.setenv("NJC_EFFECTS", "direct")
    assert chosen(**layers).effects == "direct"
    layers["block"] = {"effects": "answer"}
    assert chosen(**layers).effects == "answer"
    layers["using"] = {"effects": "direct"}
    assert chosen(**layers).effects == "direct"
    assert chosen(**layers).max_calls == 7
    monkeypatch.delenv("NJC_EFFECTS")
    assert chosen(project=layers["project"]).effects == "answer"


VALUES = {
    "model": "openai/m", "base_url": "http://127.0.0.1:1/v1", "temperature": 0.5, "max_reply_tokens": 5,
    "max_effects": 5, "max_calls": 5, "max_seconds": 2.5, "max_call_seconds": 2, "max_code_seconds": 2,
    "max_tokens": 5, "max_usd": 0.5, "show_chars": 5, "max_prompt_chars": 5, "redact": False,
    "store": "memory:", "budget": "usd=5 per=day", "writer": "folder:questions",
    "own_packages": "models", "decide": True, "sure": 0.5, "unsure": "ask",
}  # fmt: skip
"""A value for each option that is no choice among words."""


@pytest.mark.parametrize("name", OPTION_NAMES)
def test_every_option_has_its_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    value = OPTION_CHOICES[name][-1] if name in OPTION_CHOICES else VALUES[name]
    monkeypatch.setenv(f"NJC_{name.upper()}", str(value))
    assert getattr(chosen(), name) == value
    assert getattr(chosen(block={name: value}), name) == value
    monkeypatch.setenv(f"NJC_{name.upper()}", "")
    assert getattr(chosen(), name) == getattr(DEFAULTS, name)
    if name not in ("model", "base_url", "store", "budget", "writer", "own_packages", "unsure"):
        monkeypatch.setenv(f"NJC_{name.upper()}", "nonsense")
        with pytest.raises(
            njrt.ConfigurationError, match=f"NJC_{name.upper()}: option `{name}` must be"
        ):
            chosen()


def test_options_on_the_block_and_in_the_file_reach_the_runtime() -> None:
    program = Program('''
        # njc: max_calls=2, temperature=0.5

        def f(x):
            """natural(max_calls=1)
            Put <x> into <:y>.
            """
            return y

        def g(x):
            """natural
            Put <x> into <:y>.
            """
            return y
    ''')
    for function, calls_allowed in (("f", 1), ("g", 2)):
        with pytest.raises(njrt.CallLimitError):
            program.call(function, 1, says=lambda _: run("x"))
        assert len(program.model.requests) == calls_allowed
        assert program.model.requests[0].temperature == 0.5


@pytest.mark.parametrize("option", [{"jumps": "all"}, {"fallback": "live"}, {"mode": "static"}])
def test_options_of_the_build_are_refused_by_using(option: dict[str, str]) -> None:
    (name,) = option
    message = f"the option `{name}` counts when a program is compiled"
    with pytest.raises(njrt.ConfigurationError, match=message), njrt.using(**option):
        pass


class SynchronousModel:
    """A model without `aask`."""

    name, protocol, ask = "sync", "tools", None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": 5}, "an object of class int is not a model (it has no `name`); pass an object"),
        ({"model": Scripted}, "the class Scripted is not a model; pass an object such as"),
        (
            {"model": SynchronousModel()},
            "an object of class SynchronousModel is not a model (it has no `aask`); pass an object such as",
        ),
        ({"record": 5}, "record must be a path or a Recorder, not 5"),
        ({"record": ""}, "record must be a path or a Recorder, not ''"),
        ({"cache": 5}, "cache must be True, False, a folder or a URL, not 5"),
        ({"trace": 5}, "trace must be a path, not 5"),
        ({"trace": False}, "trace must be a path, not False"),
        ({"intercept": "ask"}, "intercept must be a function, not 'ask'"),
        ({"ask_again": True}, "give the interceptor the attribute `asks_again = True`"),
        ({"record": "a.jsonl", "mode": "new"}, 'record="new:a.jsonl"'),
        ({"record": "none"}, "MODE:PATH, not 'none'"),
        ({"record": "off:a.jsonl"}, "MODE:PATH, not 'off:a.jsonl'"),
        ({"manifest": "njc.lock"}, "`manifest` was removed in njc 0.3: decide about effects in"),
        ({"tenant": "acme"}, "`tenant` was removed in njc 0.3: open `njrt.using(budget=...)`"),
        ({"budget": 5}, "budget must be a Budget or text, not 5"),
        ({"budget": [5]}, "budget must be a Budget or text, not 5"),
        ({"calls": 5}, "calls is a list of functions, or a dict from functions to njrt.CallRule"),
        ({"calls": [[]]}, "not []"),
        ({"calls": {len: "allow"}}, "'allow'"),
        ({"store": 5}, "int is not an njrt.stores.Store: it has no `clear`"),
        ({"max_usd": "5"}, "option `max_usd` must be a number from 0, not '5'"),
        ({"policy": []}, "option `policy` must be one of guarded, contained, auto, open, not []"),
        ({"redact": "no"}, "option `redact` must be True or False, not 'no'"),
        ({"tracing": "x"}, "unknown option `tracing`"),
    ],
)
def test_wrong_values_are_refused_by_using(options: dict[str, Any], message: str) -> None:
    with pytest.raises(njrt.ConfigurationError) as caught, njrt.using(**options):
        pass
    assert message in str(caught.value)


def test_values_of_all_types_are_taken_by_using(tmp_path: Path) -> None:
    def accept(_: Any) -> njrt.Accept:
        return njrt.Accept()

    for options in (
        {"record": str(tmp_path / "r.jsonl")},
        {"record": f"new:{tmp_path / 'r.jsonl'}"},
        *({"cache": cache} for cache in (True, False, "", tmp_path, str(tmp_path))),
        *({"trace": trace} for trace in ("", tmp_path / "t.jsonl")),
        {"intercept": accept},
        {"budget": iter([njrt.Budget(usd=1, per="day")])},
        {"calls": iter([len])},
        dict.fromkeys(("record", "cache", "trace", "examples", "intercept", "manifest")),
    ):
        with njrt.using(model=Scripted([]), **options):  # type: ignore[arg-type]
            pass


def test_errors_go_from_process_to_process() -> None:
    program = Program(SILENT)
    with pytest.raises(njrt.CallLimitError) as raised:
        program.call("double", 4, says=[run("1", done=False)] * 9, max_calls=2)
    error = raised.value
    assert error.run is not None
    for copied in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(copied) is njrt.CallLimitError
        assert (str(copied), copied.place, copied.run) == (str(error), error.place, None)


@pytest.mark.parametrize("make", [njrt.limit, njrt.watch])
def test_each_limit_and_watch_is_entered_once(make: Any) -> None:
    with (opened := make()) as found:
        assert found is not None
    with (
        pytest.raises(njrt.ConfigurationError, match=rf"this njrt\.{make.__name__}\(\.\.\.\) was"),
        opened,
    ):
        raise AssertionError


def test_each_using_is_entered_once() -> None:
    model = njrt.Scripted(lambda _: "3")
    settings = njrt.using(model=model)
    with settings:
        assert njrt.llm("a") == "3"
    for _ in range(2):
        with pytest.raises(njrt.ConfigurationError, match="each `with` needs a new one"), settings:
            raise AssertionError

    @njrt.using(model=model)
    def ask(depth: int) -> Any:
        return ask(depth - 1) if depth else njrt.llm("a")

    assert [ask(3), ask(0)] == ["3", "3"]


async def wait() -> None: ...
def generate() -> Any:
    yield


async def agenerate() -> Any:
    yield


@pytest.mark.parametrize("function", [wait, generate, agenerate])
@pytest.mark.parametrize("name", ["using", "limit", "watch"])
def test_no_function_that_runs_later_is_decorated(name: str, function: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match=rf"write `with njrt\.{name}"):
        getattr(njrt, name)()(function)


def test_an_environment_that_records_leaves_scripted_models_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NJC_RECORD", f"all:{tmp_path / 'kept.jsonl'}")
    assert Program(SILENT).call("double", 4, says=ended_by("y = x")) == 4
    assert not (tmp_path / "kept.jsonl").exists()


def test_every_variable_that_a_block_reads_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [file.read_text() for file in Path(njrt.block.session.__file__).parent.glob("*.py")]
    names = {name for text in texts for name in re.findall(r'(?<!os\.)environ\.get\("(\w+)"', text)}
    assert {"NJC_TRACE", "NJC_BUDGET"} < names
    for name in names:
        monkeypatch.setenv(name, "a text")
    assert read_environment().keys() >= names
