"""From what is configured to the model that answers."""

from __future__ import annotations

import pytest

from loopback import Loopback, Raw
from njrt.data.options import Options
from njrt.errors import AuthenticationError, ConfigurationError, NoModelError, ServerError
from njrt.models.choose import DEFAULT_MODELS, choose_model, find_server_key
from njrt.models.prices import compute_cost
from njrt.models.retry_and_fallback import FallbackModel
from njrt.testing import Request, Scripted, Usage, UserMessage
from openai_server import OpenAIServer, says
from processes import run_python

REQUEST = Request("", (UserMessage("hello"),))
URL = "http://127.0.0.1:9/v1"
OPENAI = {"OPENAI_API_KEY": "o"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "a"}
SERVER = {"NJC_BASE_URL": URL}
ANTHROPIC_DEFAULT = "anthropic/" + DEFAULT_MODELS["anthropic"]
OPENAI_DEFAULT = "openai/" + DEFAULT_MODELS["openai"]


@pytest.mark.parametrize(
    ("options", "environ", "name", "protocol"),
    [
        (Options(model="openai/gpt-4.1"), {}, "openai/gpt-4.1", "tools"),
        (Options(model="openai/gpt-4.1"), {"OPENAI_BASE_URL": URL}, "openai/gpt-4.1", "tools"),
        (Options(model="openai/gpt-4.1", base_url=URL), {}, "openai/gpt-4.1", "text"),
        (Options(model="local", base_url=URL), {}, "openai/local", "text"),
        (Options(model="Qwen/Qwen3-8B", base_url=URL), {}, "openai/Qwen/Qwen3-8B", "text"),
        (Options(model="anthropic/claude-x"), {}, "anthropic/claude-x", "tools"),
        (Options(model="anthropic/claude-x", base_url=URL), {}, "anthropic/claude-x", "tools"),
        (Options(base_url=URL), ANTHROPIC, f"the first model of {URL}", "text"),
        (Options(), ANTHROPIC | OPENAI | SERVER, f"the first model of {URL}", "text"),
        (Options(base_url=URL), OPENAI | SERVER, f"the first model of {URL}", "text"),
        (Options(), ANTHROPIC | OPENAI, ANTHROPIC_DEFAULT, "tools"),
        (Options(), SERVER, f"the first model of {URL}", "text"),
        (Options(), {"ANTHROPIC_API_KEY": ""} | OPENAI, OPENAI_DEFAULT, "tools"),
        (Options(model="openai/a, anthropic/b"), {}, "openai/a,anthropic/b", "tools"),
        (Options(model="anthropic/b,local", base_url=URL), {}, "anthropic/b,openai/local", "text"),
    ],
)
def test_what_is_chosen(options, environ, name, protocol):
    model = choose_model(options, environ)
    assert (model.name, model.protocol) == (name, protocol)


def test_nothing_configured_names_every_way():
    with pytest.raises(NoModelError) as caught:
        choose_model(Options(), {})
    for way in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "NJC_BASE_URL", "NJC_MODEL", "recording"):
        assert way in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-4.1", "write openai/NAME"),
        (
            "acme/model",
            "write openai/NAME, anthropic/NAME, pydantic-ai:VENDOR:NAME or python:MODULE:NAME, or",
        ),
        ("openai/", "write openai/NAME"),
    ],
)
def test_an_unknown_vendor(name, hint):
    with pytest.raises(ConfigurationError, match=hint) as caught:
        choose_model(Options(model=name), {})
    assert name in str(caught.value)


def test_a_choice_is_made_once_and_its_connections_are_shared():
    chosen = Options(model="openai/gpt-4.1")
    assert choose_model(chosen, OPENAI) is choose_model(chosen, OPENAI)
    assert choose_model(chosen, OPENAI) is not choose_model(chosen, {"OPENAI_API_KEY": "another"})


URL_KEYS = [
    ({}, "http://127.0.0.1:9/v1", None),
    ({"NJC_BASE_URL": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1", "own"),
    ({"NJC_BASE_URL": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/other", "own"),
    ({"NJC_BASE_URL": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:8/v1", None),
    ({"NJC_BASE_URL": "http://127.0.0.1:9/v1"}, "https://127.0.0.1:9/v1", None),
    ({"NJC_BASE_URL": "https://a.example/v1"}, "https://A.example/v1", "own"),
    ({"NJC_BASE_URL": "https://a.example/v1"}, "https://a.example:443/v1", None),
    ({"NJC_BASE_URL": "https://a.example/v1"}, "https://a.example.org/v1", None),
    ({"NJC_BASE_URL": "https://a.example@b.example"}, "https://a.example", None),
    ({}, "https://api.openai.com/v1", "vendor"),
    ({}, "https://api.openai.com.evil.example/v1", None),
    ({"OPENAI_BASE_URL": "https://proxy.example/v1"}, "https://proxy.example/v1", "vendor"),
    ({"OPENAI_BASE_URL": "https://proxy.example/v1"}, "https://api.openai.com/v1", None),
    ({}, "http://h:x", None),
]


@pytest.mark.parametrize(("environ", "url", "key"), URL_KEYS)
def test_a_key_goes_only_to_the_server_that_it_was_configured_for(environ, url, key):
    keys = {"NJC_API_KEY": "own", "OPENAI_API_KEY": "vendor", "ANTHROPIC_API_KEY": "other"}
    assert find_server_key(url, environ | keys) == key


@pytest.mark.parametrize("name", ["NJC_API_KEY", "OPENAI_API_KEY"])
def test_a_server_of_the_program_gets_no_key_of_the_environment(ask, monkeypatch, name):
    monkeypatch.setenv(name, "sk-secret")  # the SDK reads the environment itself
    environ = {name: "sk-secret", "NJC_BASE_URL": "http://127.0.0.1:1/v1"}
    with OpenAIServer([says("fine")], vendor=False, models=("local",)) as server:
        ask(choose_model(Options(model="local", base_url=server.base_url), environ), REQUEST)
        assert "sk-secret" not in str(server.seen[0].headers)


def test_a_server_that_needs_a_key_names_the_variable(ask):
    with OpenAIServer() as server:
        model = choose_model(Options(model="gpt-4.1", base_url=server.base_url), OPENAI)
        with pytest.raises(AuthenticationError, match=r"no key to ask .*; set NJC_API_KEY"):
            ask(model, REQUEST)


HTTP = "http://192.0.2.1/v1"
INSECURE = [
    (Options(model="openai/a"), OPENAI | {"OPENAI_BASE_URL": HTTP}),
    (Options(model="anthropic/a"), ANTHROPIC | {"ANTHROPIC_BASE_URL": HTTP}),
    (Options(model="a", base_url=HTTP), {"NJC_BASE_URL": HTTP, "NJC_API_KEY": "k"}),
]


@pytest.mark.parametrize(("options", "environ"), INSECURE)
def test_no_key_is_sent_without_encryption_to_another_machine(options, environ):
    request = Request("", REQUEST.messages, timeout=0.2)
    with pytest.raises(AuthenticationError, match="NJC_ALLOW_HTTP=on"):
        choose_model(options, environ).ask(request)
    with pytest.raises(ServerError):
        choose_model(options, environ | {"NJC_ALLOW_HTTP": "on"}).ask(request)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_a_redirect_is_not_followed(ask, status, vendor):
    with Loopback() as elsewhere:
        moved = Raw("{}", status=status, headers={"location": elsewhere.url})
        with Loopback([moved]) as server:
            environ = {f"{vendor.upper()}_API_KEY": "k", f"{vendor.upper()}_BASE_URL": server.url}
            with pytest.raises(ServerError, match=f"{status}"):
                ask(choose_model(Options(model=f"{vendor}/m"), environ), REQUEST)
        assert elsewhere.seen == []


def test_a_missing_sdk_is_named_with_the_way_to_install_it():
    # An interpreter without site-packages stands for an installation without the extras.
    code = (
        "from njrt.models.choose import choose_model\n"
        "from njrt.data.options import Options\n"
        "try: choose_model(Options(model='openai/gpt-4.1'), {})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    runtime = __import__("njrt").__path__[0].removesuffix("njrt")
    ran = run_python("-S", "-c", f"import sys; sys.path.insert(0, {runtime!r})\n{code}", check=True)  # fmt: skip
    assert ran.stdout.startswith("ConfigurationError model `openai/gpt-4.1` needs the package")
    assert 'pip install "njpy-runtime[openai]"' in ran.stdout


def test_choosing_imports_no_sdk():
    code = (
        "import sys\n"
        "from njrt.models.choose import choose_model\n"
        "from njrt.data.options import Options\n"
        "choose_model(Options(model='openai/a,anthropic/b'), {})\n"
        "print(sorted({'openai', 'anthropic', 'pydantic', 'httpx', 'httpx2'} & set(sys.modules)))\n"
    )
    ran = run_python("-c", code, check=True)
    assert ran.stdout == "[]\n"


def test_importing_the_layers_of_a_model_needs_not_even_asyncio():
    code = (
        "import sys\n"
        "import njrt.models.model, njrt.testing, njrt.models.choose, njrt.models.prices\n"
        "print('asyncio' in sys.modules)\n"
    )
    ran = run_python("-c", code, check=True)
    assert ran.stdout == "False\n"


def test_who_cannot_answer_passes_on(ask):
    first, second = Scripted([ServerError("down"), "first"]), Scripted(["second"])
    model = FallbackModel((first, second))
    assert [ask(model, REQUEST).message.text for _ in range(2)] == ["second", "first"]


def test_the_last_ones_failure_is_the_one_reported(ask):
    model = FallbackModel((Scripted([ServerError("one")]), Scripted([ServerError("two")])))
    with pytest.raises(ServerError, match="two"):
        ask(model, REQUEST)


def test_the_default_models_have_prices():
    for name in (ANTHROPIC_DEFAULT, OPENAI_DEFAULT):
        assert (compute_cost(name, Usage(1000, 1000)) or 0) > 0
