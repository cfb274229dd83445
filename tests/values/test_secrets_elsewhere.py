"""Secrets in command lines, in pairs, in subclasses of named tuples, and in the messages of exceptions."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import njrt
from njrt.testing import run
from njrt.values.rendering.describe import describe_variable
from njrt.values.rendering.redaction import REDACTED, Redactor, classify_name, redact_shapes

SECRET = "hunter2-canary"


class Login(NamedTuple):
    user: str
    password: str


class Admin(Login):
    """Without fields of its own."""


class Owner(Admin):
    __slots__ = ()


NAMES = [
    "--password",
    "--db-password",
    "-password",
    "--api-key",
    "--secret",
    "--token",
    "--auth-token",
    "--PASSWORD",
]
FORMS = [
    "NAME=SECRET",
    "run NAME SECRET x",
    "['run', 'NAME', 'SECRET']",
    "(b'NAME', b'SECRET')",
    'NAME="SECRET"',
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_options_of_commands(form: str, name: str) -> None:
    assert SECRET not in redact_shapes(form.replace("NAME", name).replace("SECRET", SECRET))


@pytest.mark.parametrize("name", NAMES)
def test_options_in_lists(name: str) -> None:
    for value in (
        ["psql", name, SECRET],
        (name, SECRET),
        [[name, SECRET]],
        {"args": ["x", name, SECRET]},
        [f"{name}={SECRET}"],
    ):
        assert SECRET not in describe_variable("x", value)
        assert REDACTED in describe_variable("x", value)


@pytest.mark.parametrize(
    "name", ["PGPASSWORD", "MYSQLPASSWORD", "DBPASSWD", "SSHPASS", "MYSQL_PWD", "dbpassword"]
)
def test_variables_of_the_environment(name: str) -> None:
    assert classify_name(name) == "secret"
    assert SECRET not in redact_shapes(f"{name}={SECRET} psql -h db")
    assert SECRET not in describe_variable("x", {name: SECRET})


PAIRS: list[Any] = [
    ("password", SECRET),
    [("user", "ann"), ("password", SECRET)],
    [["api_key", SECRET]],
    Admin("ann", SECRET),
    Owner("ann", SECRET),
    {"by": [Owner("ann", SECRET)]},
    ValueError("password", SECRET),
    KeyError(("password", SECRET)),
]


@pytest.mark.parametrize("value", PAIRS, ids=repr)
def test_pairs_and_named_tuples(value: Any) -> None:
    assert SECRET not in redact_shapes(describe_variable("x", value))


@pytest.mark.parametrize(
    "value", [Owner("ann", SECRET), ("password", SECRET), ["--password", SECRET]]
)
def test_they_are_found_again_in_other_texts(value: Any) -> None:
    redactor = Redactor()
    redactor.scan([("x", value)])
    assert redactor.redact(f"it is {SECRET}") == f"it is {REDACTED}"


@pytest.mark.parametrize(
    "text",
    ["--password-file=/run/x", "--max-tokens=100", "--token-count 3", "['password', 'username']", "--verbose --all", "a --key b", "('name', 'Ann')", "password, please", "x-token-ring"],
)  # fmt: skip
def test_other_texts_are_shown(text: str) -> None:
    assert redact_shapes(text) == text


def test_messages_of_exceptions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The secret has no shape, and is known only because a variable of the block has it."""
    password = "correct horse battery"
    for code in (
        "raise ValueError('no login with ' + password)",
        "raise ValueError(f'no login with {password!r}')",
        "raise ConnectionError('x') from KeyError(password)",
    ):
        trace = tmp_path / "trace.jsonl"
        model = njrt.Scripted([run(code, done=True)])
        with (
            caplog.at_level(logging.DEBUG, "njrt"),
            njrt.using(model=model, trace=trace, effects="direct"),
            njrt.watch() as watch,
            pytest.raises((ValueError, ConnectionError)) as raised,
        ):
            njrt.run("natural: Log in with <password>.", lambda: (password,))
        written = trace.read_text()
        assert '"outcome":"raised"' in written.replace(" ", "")
        for text in (
            str(watch.runs[0].error),
            str(watch.runs[0].effects[-1].result),
            written,
            caplog.text,
        ):
            assert password not in text.replace(code, "")
        assert password in str(raised.value) or isinstance(raised.value, ConnectionError)
