"""`njc doctor`: one verdict for each thing, against servers on this machine."""

from __future__ import annotations

import re
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from workplace import Workplace

from anthropic_server import KEY as ANTHROPIC_KEY
from anthropic_server import AnthropicServer, message, text
from loopback import Raw, Status
from njc.doctor import (
    EXTRAS,
    RUNTIME_VARIABLES,
    HealthCheck,
    HostEnvironment,
    diagnose,
)
from njc.project.config import PROJECT_VARIABLES
from njrt.data.options import ENVIRONMENT_VARIABLES, Options
from openai_server import KEY, OpenAIServer, says

Doctor = Callable[..., Result]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def doctor(here: Workplace) -> Doctor:
    """`njc doctor` in an empty directory, with nothing in the environment but what is given."""

    def run(*arguments: str, code: int = 0, **environ: str) -> Result:
        return here.njc("doctor", *arguments, code=code, environ=environ)

    return run


def verdicts(result: Result) -> dict[str, tuple[str, str]]:
    """Return the verdicts of a text report: check -> (status, what it says)."""
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    checks = ["round trip", *(line[1].split()[0] for line in lines)]
    found = {}
    for status, rest in lines:
        check = next(name for name in checks if rest.startswith(name))
        found[check] = (status, rest.removeprefix(check).strip())
    return found


def test_a_model_of_pydantic_ai_is_asked(doctor: Doctor) -> None:
    pytest.importorskip("pydantic_ai")
    found = verdicts(doctor("--offline", NJC_MODEL="pydantic-ai:test"))
    assert found["model"] == ("ok", "pydantic-ai:test")
    assert "left to PydanticAI" in found["key"][1]


def test_all_is_well_with_a_vendor(doctor: Doctor) -> None:
    with OpenAIServer([says("ok")]) as server:
        result = doctor(
            NJC_MODEL="openai/gpt-4.1", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.base_url
        )
    found = verdicts(result)
    assert found["model"] == ("ok", "openai/gpt-4.1")
    assert found["key"] == ("ok", "OPENAI_API_KEY is set")
    status, says_ = found["round trip"]
    assert status == "ok"
    assert says_.startswith("gpt-4.1-2025-04-14 answered in ")
    assert KEY not in result.output
    assert [status for status, _ in found.values() if status == "fail"] == []


def test_all_is_well_with_the_other_vendor(doctor: Doctor) -> None:
    with AnthropicServer([message(text("ok"))]) as server:
        result = doctor(ANTHROPIC_API_KEY=ANTHROPIC_KEY, ANTHROPIC_BASE_URL=server.url)
    assert verdicts(result)["round trip"][0] == "ok"
    assert ANTHROPIC_KEY not in result.output


def test_a_server_of_ones_own_needs_no_key(doctor: Doctor) -> None:
    with OpenAIServer([says("ok")], vendor=False) as server:
        found = verdicts(doctor(NJC_BASE_URL=server.base_url))
    assert found["key"][0] == "ok"
    assert found["round trip"][0] == "ok"


def test_a_second_model_to_fall_back_on_is_looked_at_too(doctor: Doctor) -> None:
    with OpenAIServer([says("ok")]) as first, AnthropicServer([message(text("ok"))]) as second:
        result = doctor(
            NJC_MODEL="openai/gpt-4.1,anthropic/claude-sonnet-5-5",
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=first.base_url,
            ANTHROPIC_API_KEY=ANTHROPIC_KEY,
            ANTHROPIC_BASE_URL=second.url,
        )
    assert len(re.findall(r"^ok +round trip ", result.stdout, re.M)) == 2


def test_a_server_without_a_scheme_does_not_answer(doctor: Doctor) -> None:
    found = verdicts(doctor(NJC_BASE_URL="127.0.0.1", code=3))
    assert found["round trip"][0] == "fail"


def test_a_module_that_cannot_make_its_model_fails(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_models.py").write_text("def open_model(name): raise OSError(f'no {name}')\n")
    found = verdicts(doctor("--offline", NJC_MODEL="python:own_models:best", code=2))
    assert found["model"] == ("fail", "python:own_models:best: OSError: no best")


def test_offline_asks_nobody(doctor: Doctor) -> None:
    with OpenAIServer() as server:
        result = doctor("--offline", NJC_BASE_URL=server.base_url)
        assert server.seen == []
    assert "round trip" not in verdicts(result)
    assert "--offline" in result.stderr


@pytest.mark.parametrize(
    ("environ", "check", "part"),
    [
        ({}, "model", "no model is configured; set one of ANTHROPIC_API_KEY"),
        ({"NJC_MODEL": "gpt-4.1"}, "model", "write openai/NAME"),
        ({"NJC_MODEL": "openai/gpt-4.1"}, "key", "OPENAI_API_KEY is not set; set it"),
        (
            {"NJC_CACHE": "perhaps", "NJC_RECORD": "none"},
            "variable",
            "NJC_CACHE must be on or off",
        ),
        ({"NJC_BUDGET": "usd=abc"}, "variable", "the budget 'usd=abc'"),
        ({"NJC_RECORD": "maybe"}, "variable", "NJC_RECORD must be off, MODE or MODE:PATH"),
    ],
)
def test_what_is_wrong_is_said_with_a_way_out(
    doctor: Doctor, environ: dict[str, str], check: str, part: str
) -> None:
    result = doctor("--offline", code=2, **environ)
    status, said = verdicts(result)[check]
    assert status == "fail"
    assert part in said
    assert len(re.findall(r"^fail +variable ", result.output, re.M)) == (check == "variable")


def test_a_wrong_key_is_refused_and_not_shown(doctor: Doctor) -> None:
    wrong = "sk-wrong-0123456789"
    with OpenAIServer() as server:
        environ = {"NJC_MODEL": "openai/gpt-4.1", "OPENAI_BASE_URL": server.base_url}
        result = doctor(code=3, OPENAI_API_KEY=wrong, **environ)
    status, said = verdicts(result)["round trip"]
    assert status == "fail"
    assert "refused the key" in said
    assert wrong not in result.output


def test_a_server_that_is_down(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    status, said = verdicts(doctor(code=3, NJC_BASE_URL=url))["round trip"]
    assert status == "fail"
    assert url in said


@pytest.mark.parametrize(
    "response", [Status(400, body={"error": "no"}), Raw("<html>", "text/html")]
)
def test_a_server_that_answers_nonsense(doctor: Doctor, response: Any) -> None:
    with OpenAIServer([response], vendor=False) as server:
        result = doctor(code=3, NJC_BASE_URL=server.base_url, NJC_MODEL="gpt-4.1")
    assert verdicts(result)["round trip"][0] == "fail"


@pytest.mark.parametrize(
    ("arguments", "model"),
    [(["--set", "model=openai/o3"], "openai/o3"), ([], "openai/gpt-4.1")],
)
def test_a_flag_is_nearer_than_the_project(
    doctor: Doctor, arguments: list[str], model: str
) -> None:
    Path("pyproject.toml").write_text('[tool.njc]\nmodel = "openai/gpt-4.1"\n')
    assert verdicts(doctor("--offline", *arguments, code=2))["model"] == ("ok", model)


def test_no_model_is_needed_to_replay(doctor: Doctor) -> None:
    found = verdicts(doctor("--offline", NJC_RECORD="none"))
    assert [*found] == ["python", "extras", "policy", "model"]
    assert found["model"] == ("warn", "none; none is needed, as NJC_RECORD=none only replays")


def make_host(**changes: Any) -> HostEnvironment:
    default: dict[str, Any] = {
        "python": (3, 11, 0),
        "environ": {},
        "flags": Options(),
        "project": Options(),
        "version_of": {}.get,
    }
    return HostEnvironment(**(default | changes))


def verdict(check: str, surroundings: HostEnvironment) -> HealthCheck:
    return next(found for found in diagnose(surroundings, True) if found.check == check)


@pytest.mark.parametrize(
    ("policy", "status", "exit_code"),
    [(None, "warn", 0), ("guarded", "ok", 0), ("auto", "warn", 0), ("contained", "fail", 3)],
)
def test_what_the_policy_needs(policy: Any, status: str, exit_code: int) -> None:
    project = Options(policy=policy)
    able = verdict("policy", make_host(project=project))
    assert (able.status, able.says) == (
        "ok",
        f"{policy or 'auto'}; this system can contain code",
    )
    unable = verdict("policy", make_host(project=project, obstacle="it has no filters"))
    assert (unable.status, unable.exit_code) == (status, exit_code)
    assert "this system cannot contain code: it has no filters" in unable.says


def test_the_version_of_python_and_a_bare_install() -> None:
    assert verdict("python", make_host(python=(3, 14, 0))) == HealthCheck("python", "ok", "3.14.0")
    without = ", ".join(EXTRAS)
    assert verdict("extras", make_host()).says == (
        f'none; without {without}: pip install "njpy[{",".join(EXTRAS)}]" if you need them'
    )
    some = verdict("extras", make_host(version_of={"openai": "2.0", "tomlkit": "0.13"}.get))
    assert (some.status, some.says.partition(";")[0]) == ("ok", "openai 2.0, tomlkit 0.13")
    assert "without anthropic, pydantic-ai, otel, notebook, " in some.says


def test_every_extra_for_users_is_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    names = everything.removeprefix("njpy[").removesuffix("]").split(",")
    assert {*EXTRAS} == {*names} - {"bench"}  # that one is for developers


# ── Environment variables ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("variable", "value", "status", "says"),
    [
        (
            "NJC_RECROD",
            "x",
            "warn",
            "NJC_RECROD is unknown and has no effect; did you mean NJC_RECORD?",
        ),
        ("NJC_VOTES", "3", "warn", "NJC_VOTES: `votes` was removed in njc 0.3: set `model` to"),
        ("NJC_TENANT", "acme", "fail", "NJC_TENANT: `tenant` was removed in njc 0.3: open"),
        ("NJC_XYZZY", "1", "warn", "NJC_XYZZY is unknown and has no effect; unset it"),
        (
            "NJC_MODE",
            "static",
            "warn",
            "NJC_MODE has no effect on a build; set `mode` in [tool.njc], or",
        ),
        ("NJC_WARNINGS", "loud", "fail", "the environment: `warnings` must be `default` or"),
        ("NJC_EFFECTS", "all", "fail", "NJC_EFFECTS: option `effects` must be one of "),
    ],
)
def test_variables_with_wrong_names_or_values(
    doctor: Doctor, variable: str, value: str, status: str, says: str
) -> None:
    found, said = verdicts(doctor("--offline", code=2, **{variable: value}))["variable"]
    assert (found, said.startswith(says)) == (status, True), said


@pytest.mark.parametrize("name", [*ENVIRONMENT_VARIABLES, *PROJECT_VARIABLES, *RUNTIME_VARIABLES])
def test_known_variables_are_no_finding(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # `error` is a file where the variable names a store
    assert not [
        found
        for found in diagnose(make_host(environ={name: "error"}), True)
        if found.check == "variable" and "unknown" in found.says
    ]


def test_every_variable_that_code_and_documents_name_is_known() -> None:
    root = Path(__file__).parents[2]
    files = [root / "README.md", *root.glob("docs/**/*.md")]
    files += [
        file for name in ("njc", "runtime", "spsbench") for file in root.glob(f"{name}/**/*.py")
    ]
    named = {
        name
        for file in files
        for name in re.findall(r"(?<![A-Z_])NJC_[A-Z]+(?:_[A-Z]+)*", file.read_text())
    }
    known = {*ENVIRONMENT_VARIABLES, *PROJECT_VARIABLES, *RUNTIME_VARIABLES}
    of_child_processes = {"NJC_BUILD_IMPORTS", "NJC_TIMELINE", "NJC_TRACE_BLOCK"}
    assert named <= known | of_child_processes
