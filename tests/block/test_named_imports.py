"""Parts of imports that a prompt names: what the model is shown of them, and gated functions that must be named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.testing import Scripted, run

pytestmark = pytest.mark.usefixtures("guarded")

BANK = '''\
from __future__ import annotations
from dataclasses import dataclass
import njrt

CALLS = []

@dataclass
class Account:
    owner: str
    cents: int

@njrt.gated(decide="allow", named=True)
def find(owner: str) -> Account:
    """Find an account.

    Args:
        owner: the whole name.
    """
    CALLS.append(owner)
    if owner == "nobody":
        raise LookupError(f"no account of {owner}")
    return Account(owner, 500)

@njrt.gated(decide="allow", named=True)
def empty(owner: str) -> None:
    """Take everything."""
    CALLS.append(f"empty {owner}")

@njrt.gated(decide="allow")
def note(owner: str) -> None:
    empty(owner)
'''


@pytest.fixture(name="bank")
def load_bank() -> Iterator[ModuleType]:
    module = ModuleType("bank_of_tests")
    sys.modules[module.__name__] = module
    exec(compile(BANK, "bank.py", "exec"), vars(module))
    yield module
    del sys.modules[module.__name__]


def compile_prompt(prompt: str, head: str = "import bank_of_tests as bank") -> str:
    text = f'{head}\n\n\ndef work(owner: str) -> int:\n    """natural\n    {prompt}\n    """\n    return cents\n'
    compilation = compile_source(SourceFile("work.njpy", text.encode()))
    assert compilation.output is not None, compilation.diagnostics
    return compilation.output.decode()


def load(prompt: str, head: str = "import bank_of_tests as bank") -> Any:
    names: dict[str, Any] = {"__name__": "work_of_tests"}
    exec(compile(compile_prompt(prompt, head), "work.py", "exec"), names)
    return names["work"]


FIND = "Put the cents of <owner> by <bank.find> into <:cents: int>."


@pytest.mark.parametrize(
    ("prompt", "head", "uses"),
    [
        (FIND, "import bank_of_tests as bank", "bank.find"),
        (f"{FIND} <bank.empty>, <bank.find>", "import bank_of_tests as bank", "bank.find bank.empty"),
        (f"{FIND} All of <bank>.", "import bank_of_tests as bank", None),
        (FIND, "from somewhere import bank", "bank.find"),
        (FIND, "bank = None", None),
        (FIND, "import bank\nbank = bank.other", None),
        ("Put <owner> into <:cents: int>.", "import bank", None),
        (f"{FIND} Set <:bank.limit>.", "import bank", None),
    ],
)  # fmt: skip
def test_the_call_has_the_parts_of_imports_that_the_text_names(
    prompt: str, head: str, uses: str | None
) -> None:
    compiled = compile_prompt(prompt, head)
    assert (f'uses="{uses}"' in compiled) is (uses is not None), compiled
    assert ("uses=" in compiled) is (uses is not None)


def test_the_model_is_shown_these_parts_with_their_docstrings_and_classes(
    bank: ModuleType, tmp_path: Path
) -> None:
    model = Scripted([run("cents = bank.find(owner).cents", done=True)])
    with njrt.using(model=model):
        assert load(FIND)("Ann") == 500
    shown = str(model.requests[0].messages[0])
    assert "bank.find: function find(owner: str) -> Account" in shown
    assert "owner: the whole name." in shown
    assert "cents: int" in shown
    assert "empty" not in shown


@pytest.mark.parametrize(
    ("prompt", "head", "code", "is_called"),
    [
        (FIND, "import bank_of_tests as bank", "bank.empty(owner)", False),
        (FIND, "import bank_of_tests as bank", "getattr(bank, 'em' + 'pty')(owner)", False),
        (FIND, "import bank_of_tests as bank", "vars(bank)['empty'](owner)", False),
        (FIND, "import bank_of_tests as bank", "list(map(bank.empty, [owner]))", False),
        (FIND, "import bank_of_tests as bank", "bank.note(owner)", True),
        (f"{FIND} <bank.empty>", "import bank_of_tests as bank", "bank.empty(owner)", True),
        (f"{FIND} <bank>", "import bank_of_tests as bank", "bank.empty(owner)", True),
        (f"{FIND} <empty>", "import bank_of_tests as bank\nfrom bank_of_tests import empty", "empty(owner)", True),
    ],
)  # fmt: skip
def test_a_function_that_must_be_named_is_refused_on_every_way(
    bank: ModuleType, prompt: str, head: str, code: str, is_called: bool
) -> None:
    attempt = f"try:\n    {code}\nexcept PermissionError as error:\n    print(error)\ncents = 1"
    with njrt.using(model=Scripted([run(attempt, done=True)])):
        assert load(prompt, head)("Ann") == 1
    assert (["empty Ann"] if is_called else []) == bank.CALLS


def test_a_failure_reads_the_same_in_a_replay(bank: ModuleType, tmp_path: Path) -> None:
    work, record = load(FIND), tmp_path / "r.jsonl"
    replies = [
        run("cents = bank.find('nobody').cents", done=True),
        run("cents = bank.find(owner).cents", done=True),
    ]
    with njrt.using(model=Scripted(replies), record=record):
        assert work("Ann") == 500
    assert bank.CALLS == ["nobody", "Ann"]
    with njrt.using(record=f"none:{record}"):
        assert work("Ann") == 500
    assert bank.CALLS == ["nobody", "Ann"]
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["called"]["state"] for line in lines if "called" in line] == ["failed", "done"]


def test_files_and_secrets_of_a_module_are_attached_and_redacted(bank: ModuleType) -> None:
    vars(bank)["LOGO"] = njrt.Image(b"\x89PNG\r\n\x1a\n0000")
    vars(bank)["API_KEY"] = "one-two-three-four-five"
    model = Scripted([run("cents = 1", done=True)])
    with njrt.using(model=model):
        load("Put what <owner>, <bank.LOGO> and <bank.API_KEY> say into <:cents: int>.")(
            "Ann one-two-three-four-five"
        )
    message: Any = model.requests[0].messages[0]
    assert "one-two-three" not in message.text
    assert [each.name for each in message.attachments] == ["bank.LOGO"]
