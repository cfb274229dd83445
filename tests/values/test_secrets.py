"""Secrets are redacted wherever a value becomes text for the model, and no query runs to show a value."""

from __future__ import annotations

import dataclasses
import json
import logging
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import attrs
import pydantic
import pytest
from heaps import open_heap
from programs import Program

import njrt
from case_programs import read_program
from njrt.testing import call, run
from njrt.values.rendering.describe import describe_variable, render_value
from njrt.values.rendering.one_line import write_brief
from njrt.values.rendering.redaction import REDACTED, Redactor, classify_name, redact_shapes
from spsbench.interfaces import make_settings
from spsbench.references import encode_level

SECRET = "hunter2-canary"

# ── names ────────────────────────────────────────────────────────────────────────────────────────

SECRET_NAMES = [
    "password",
    "passwd",
    "pwd",
    "PASSWORD",
    "db_password",
    "passwordHash",
    "DB_PASSWORD_PROD",
    "user.password",
    "passphrase",
    "secret",
    "client_secret",
    "app-secret",
    "secretKey",
    "SECRET_KEY",
    "secrets",
    "api_key",
    "apiKey",
    "API-Key",
    "x-api-key",
    "OPENAI_API_KEY",
    "apikey",
    "access_token",
    "accessToken",
    "refresh_token",
    "id_token",
    "auth_token",
    "csrf_token",
    "session_token",
    "bot_token",
    "private_key",
    "privateKey",
    "signing_key",
    "encryption_key",
    "access_key",
    "aws_secret_access_key",
    "account_key",
    "service_key",
    "authorization",
    "Authorization",
    "proxy-authorization",
    "credentials",
    "credential",
    "session_id",
    "sessionId",
    "set-cookie",
    "jwt",
    "connection_string",
    "cvv",
    "otp",
]
OTHER_NAMES = [
    "author",
    "key",
    "keys",
    "name",
    "monkey",
    "keyboard",
    "max_tokens",
    "tokens",
    "token_count",
    "tokenizer",
    "secretary",
    "password_reset_url",
    "password_policy",
    "is_secret",
    "has_password",
    "access_key_id",
    "secret_name",
    "passport",
    "compass",
    "passenger",
    "authority",
    "cookie_count",
    "public_key",
    "sort_key",
    "primary_key",
    "foreign_key",
    "turkey",
    "hotkey",
    "session",
    "sessions",
    "key_name",
    "option",
    "option_id",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_with_the_name_of_a_secret_is_redacted(name: str) -> None:
    assert classify_name(name) == "secret"
    shown = [
        describe_variable("x", {name: SECRET}),
        describe_variable("x", [{"a": {name: [SECRET]}}]),
        describe_variable("x", types.SimpleNamespace(**{name: SECRET})),
        describe_variable("x", {name: 12345678}),
        describe_variable("x", {name: SECRET.encode()}),
        describe_variable(name, SECRET),
        describe_variable(name, [SECRET] * 200, 200),
    ]
    for text in shown:
        assert SECRET not in text
        assert "12345678" not in text
        assert REDACTED in text


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_are_shown(name: str) -> None:
    assert describe_variable("x", {name: "value 1"}).endswith(f"= {{{name!r}: 'value 1'}}")


@pytest.mark.parametrize("value", [None, True, False, "", [], {}, len, int, 0.5])
def test_what_is_no_secret_is_shown_under_any_name(value: Any) -> None:
    is_shown = REDACTED not in describe_variable("password", value)
    assert is_shown == (value != 0.5)


@pytest.mark.parametrize(
    ("value", "is_shown"),
    [("the", True), ("New York", True), ("don't", True), (",", True), (7, True), ("a1b2c3", False), ("x_y", False)],
)  # fmt: skip
def test_words_under_an_ambiguous_name_are_shown(value: Any, is_shown: bool) -> None:
    """Programs on language have tokens, bakeries have cookies."""
    for name in ("token", "cookie"):
        assert (REDACTED not in describe_variable(name, value)) == is_shown


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEA+/x=\n" * 30
    + "-----END RSA PRIVATE KEY-----"
)
SHAPES = [
    "sk-proj-4f8a9c0d1e2f3a4b", "sk-ant-api03-AbC1dEf2", "sk-1234567890abcdef", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0123456789", "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abcdef", "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9", "sk_live_4eC39HqLyjWDarjt", "hf_abcdefghij1234567890", "glpat-abcdefghij1234567890",
    "npm_abcdefghij1234567890abcdefghij123456", PEM, PEM[:300],
]  # fmt: skip


@pytest.mark.parametrize("secret", SHAPES, ids=lambda secret: secret[:12])
def test_a_secret_is_known_by_its_shape(secret: str) -> None:
    for text in (
        secret,
        f"see {secret}, please",
        f"a={secret}",
        f"{'long ' * 300}{secret} {'text ' * 900}",
        "x " * 10_000 + secret,
    ):
        for shown in (
            describe_variable("x", text, 400),
            describe_variable("x", [text, {"a": text}], 2000),
            describe_variable("x", text.encode(), 3000),
            describe_variable("x", ValueError(text), 3000),
            describe_variable("x", {text: 1}, 3000),
            write_brief(text, 50),
        ):  # fmt: skip
            for start in (0, len(secret) - 14):
                assert secret[start : start + 14].strip() not in shown.replace("\\n", "\n")


TEXTS = [
    ("postgresql://ann:p@ss@db:5432/shop", "postgresql://ann:<redacted>@db:5432/shop"),
    ("redis://:pw@host/0 and amqp://u:v@w", "redis://:<redacted>@host/0 and amqp://u:<redacted>@w"),
    ("http://host:80/a@b", "http://host:80/a@b"),
    ("password='x y', a=1", "password='<redacted>', a=1"),
    ('{"user": "a", "api_key": "x"}', '{"user": "a", "api_key": "<redacted>"}'),
    (r"{\"password\": \"x\"}", r"{\"password\": \"<redacted>\"}"),
    ("DB_PASSWORD=swordfish PORT=1", "DB_PASSWORD=<redacted> PORT=1"),
    ("https://h/?access_token=abc&x=1", "https://h/?access_token=<redacted>&x=1"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: <redacted>"),
    ("{'Authorization': 'Bearer abc'}", "{'Authorization': '<redacted>'}"),
    ("curl -H 'Bearer a1b2c3d4e5'", "curl -H 'Bearer <redacted>'"),
    ("Cookie: sid=abc; theme=dark", "Cookie: <redacted>"),
    ("password: hunter2", "password: <redacted>"),
    ("api_key: str = 'abc'", "api_key: str = '<redacted>'"),
    ("netloc='app:pw@db:80'", "netloc='app:<redacted>@db:80'"),
]
UNTOUCHED = [
    "password: must be long", "password: str", "password=None", "password=''", "def f(secret: SecretStr | None = None)", "Basic information",
    "risk-assessment-2024", "sk-SK", "task-1234567890", "max_tokens=4096", "token='the'", "its password is rain4sale", "eyJ is a prefix",
    "a://b", "user@example.org: 5", "key: value1", "-----BEGIN CERTIFICATE-----\nMIIE", "cookie: vanilla", "the secret of success: work",
    "--password-file=/run/x", "--max-tokens=100", "--token-count 3", "['password', 'username']", "--verbose --all", "a --key b", "('name', 'Ann')", "password, please", "x-token-ring",
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_parts_of_texts_are_redacted(text: str, shown: str) -> None:
    assert redact_shapes(text) == shown
    assert redact_shapes(shown) == shown
    assert render_value(text) == repr(shown)


@pytest.mark.parametrize("text", UNTOUCHED)
def test_other_texts_are_shown(text: str) -> None:
    assert redact_shapes(text) == text


def test_the_password_in_a_parsed_url_is_redacted() -> None:
    parsed = urlsplit("postgres://app:p4ssw0rd9@db:5432/x")
    assert "netloc='app:<redacted>@db:5432'" in describe_variable("u", parsed)
    assert "netloc='db:5432'" in describe_variable("u", urlsplit("postgres://db:5432/x"))
    redactor = Redactor()
    redactor.scan([("u", parsed)])
    assert redactor.redact(f"is {parsed.password}") == "is <redacted>"


HEAVY = ["netloc=a:", "password=\"'", "a.b-", "password: a", "eyJ.a", "://a:", "-----BEGIN PRIVATE KEY-----", "sk-", "authorization: ", "cookie: ", "bearer a1 ", "SG."]  # fmt: skip


@pytest.mark.parametrize("part", HEAVY)
def test_no_text_takes_long(part: str) -> None:
    began = time.process_time()
    redact_shapes(part * (20_000 // len(part)) + "=password")
    assert time.process_time() - began < 1


# ── command lines, pairs, the environment ────────────────────────────────────────────────────────


class Login(NamedTuple):
    user: str
    password: str


class Admin(Login):
    """Without fields of its own."""


class Owner(Admin):
    __slots__ = ()


OPTIONS = [
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


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_options_of_commands(form: str, name: str) -> None:
    assert SECRET not in redact_shapes(form.replace("NAME", name).replace("SECRET", SECRET))


@pytest.mark.parametrize("name", OPTIONS)
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


# ── what the owner hides ─────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass
class Account:
    name: str
    hidden: str = dataclasses.field(default=SECRET, repr=False)


@attrs.define
class AttrsAccount:
    name: str
    hidden: str = attrs.field(default=SECRET, repr=False)
    masked: str = attrs.field(default=SECRET, repr=lambda value: "***")


class ModelAccount(pydantic.BaseModel):
    name: str
    hidden: str = pydantic.Field(SECRET, repr=False)
    wrapped: pydantic.SecretStr = pydantic.SecretStr(SECRET)


class ArgumentsAccount(pydantic.BaseModel):
    name: str = "a"
    hidden: str = SECRET

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield "name", self.name


class Client:
    def __init__(self, size: int = 0) -> None:
        self.host = "h" * size
        self.hidden = SECRET
        self.nested = {"deep": [SECRET]}

    def __repr__(self) -> str:
        return f"Client(host={self.host!r}, hidden='***')"


class SubClient(Client):
    pass


class Masked(str):
    def __repr__(self) -> str:
        return "'***'"


class MaskedDict(dict[str, str]):
    def __repr__(self) -> str:
        return f"MaskedDict({list(self)})"


class MaskedList(list[str]):
    def __repr__(self) -> str:
        return "MaskedList(***)"


class MaskedTuple(NamedTuple):
    hidden: str

    def __repr__(self) -> str:
        return "MaskedTuple(***)"


class MaskedError(Exception):
    def __repr__(self) -> str:
        return "MaskedError(***)"


class Sdk:
    """A client as those of vendors: no `__repr__`, keys among its attributes."""

    DEFAULT_API_KEY = SECRET

    def __init__(self, api_key: str = SECRET) -> None:
        self.api_key = api_key
        self._auth = {"Authorization": f"Bearer {SECRET}", "x-api-key": SECRET}
        self._config = types.SimpleNamespace(secret_access_key=SECRET, url=f"https://u:{SECRET}@h/")


OWNED = [
    Account("a"), Account, AttrsAccount("a"), AttrsAccount, ModelAccount(name="a"), ModelAccount, ArgumentsAccount(), Client(), Client(20_000), SubClient(3000),
    Masked(SECRET), MaskedDict(a=SECRET), MaskedList([SECRET]), MaskedTuple(SECRET), MaskedError(SECRET), Sdk(), Sdk,
]  # fmt: skip


@pytest.mark.parametrize(
    "value", OWNED, ids=[f"{number}-{type(value).__name__}" for number, value in enumerate(OWNED)]
)
def test_what_the_owner_hides_is_hidden(value: Any) -> None:
    for shown in (value, [value], {"a": value}, types.SimpleNamespace(a=value)):
        for budget in (60, 300, 1000, 50_000):
            assert SECRET not in describe_variable("x", shown, budget)
            assert SECRET not in render_value(shown, budget)
            assert SECRET not in write_brief(shown, budget)


def test_attributes_that_a_long_repr_shows_are_shown() -> None:
    class Report:
        def __init__(self) -> None:
            self.rows, self.more, self.hidden = "r" * 3000, "m" * 3000, SECRET

        def __repr__(self) -> str:
            return f"Report({self.rows}, {self.more}, ***)"

    text = describe_variable("x", Report(), 1000)
    assert ".rows: str = " in text
    assert SECRET not in text


def test_clients_of_vendors() -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key=SECRET, base_url="http://127.0.0.1:1")
    assert SECRET not in describe_variable("client", client, 20_000)


# ── all that reaches a model ─────────────────────────────────────────────────────────────────────

PROGRAM = Program(read_program("secrets"))


@pytest.mark.parametrize(
    "code",
    [
        "print(settings.password)",
        "print('the password is', settings.password[:4] + settings.password[4:], sep=' ')",
        "settings.password",
        "nested[0]['deeper']['settings'].password",
        "[settings.password]",
        "{'a': settings.password}",
        "repr(settings.password)",
        "f'<{settings.password}>'",
        "getattr(settings, 'password')",
        "try:\n    raise KeyError(settings.password)\nexcept KeyError as error:\n    print(repr(error))",
        "int(settings.password)",
        "{}[settings.password]",
        "def f():\n    raise ValueError(settings.password)\nf()",
    ],
)
@pytest.mark.parametrize("secret", [SECRET, 'it\'s "x"\\y ü'])
def test_results_prints_and_errors_are_redacted(code: str, secret: str) -> None:
    text = PROGRAM.call("ask", secret, says=[run(code), run("text = settings.password", done=True)])
    assert text == secret
    told = "\n".join(PROGRAM.told())
    assert secret not in told
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in told
    assert repr(secret)[1:-1] not in told
    assert REDACTED in told


@pytest.mark.parametrize("code", ["settings.password", "print(settings.password)"])
def test_redaction_can_be_turned_off(code: str) -> None:
    PROGRAM.call("ask", SECRET, says=[run(code), run("text = ''", done=True)], redact=False)
    assert SECRET in PROGRAM.told()[1]


def test_the_option_is_checked() -> None:
    message = "`redact` must be True or False"
    for wrong in ("yes", lambda name, text: text):
        with pytest.raises(njrt.ConfigurationError, match=message), njrt.using(redact=wrong):
            pass


def test_the_option_of_a_block_and_of_a_file() -> None:
    for text in (
        '# njc: redact=off\ndef f(password):\n    """natural\n    Read <password>.\n    """\n',
        'def f(password):\n    """natural(redact=False)\n    Read <password>.\n    """\n',
    ):
        program = Program(text)
        program.call("f", SECRET, says=[run("", done=True)])
        assert SECRET in program.told()[0]


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
        seen = watch.runs[0].error, watch.runs[0].effects[-1].result, written, caplog.text
        for text in map(str, seen):
            assert password not in text.replace(code, "")
        assert password in str(raised.value) or isinstance(raised.value, ConnectionError)


@dataclasses.dataclass
class Settings:
    password: str
    hidden: str = dataclasses.field(repr=False)
    table: dict[str, Any]
    url: str
    passwords: list[str]


@pytest.mark.parametrize("effects", ["baseline", "isolated-eval", "shared-eval"])
def test_references_do_not_lead_to_secrets(effects: str) -> None:
    program = Program('''
        def ask(settings, password):
            """natural
            Look at <settings> and <password>.
            """
    ''')
    tool, argument = ("eval", "expression") if effects == "shared-eval" else ("lookup", "variable")
    looks = [call(tool, **{argument: name}) for name in ("settings", "password")]
    reads = [call("deref", ref={"type": "Ref", "addr": number}) for number in (1, 2, 3)]
    says = [*looks, *reads, call("done")]
    settings = Settings(SECRET, SECRET, {"api_key": SECRET, "b": 1}, f"db://u:{SECRET}@h", [SECRET])
    program.call("ask", settings, SECRET, says=says, **make_settings(effects))
    told = "\n".join(program.told())
    assert SECRET not in told
    assert '"attributes": {"password": "<redacted>", "table": ' in told
    assert '{"key": "api_key", "value": "<redacted>"}' in told
    assert "Settings" in told


# ── mapped objects ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "value", OWNED, ids=[f"{number}-{type(value).__name__}" for number, value in enumerate(OWNED)]
)
def test_no_level_of_an_object_shows_what_its_owner_hides(value: Any) -> None:
    assert SECRET not in str(encode_level(value, open_heap()))


def test_a_level_of_an_object_names_what_is_hidden() -> None:
    level: Any = encode_level(Account("a"), open_heap())
    assert level["hidden"] == ["hidden"]
    assert "hidden" not in level["attributes"]
