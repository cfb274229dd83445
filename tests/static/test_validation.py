"""What generated code is refused for: a program with one block, a piece of code, the words of the refusal."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from njc.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import StaticFile, make_static_file
from njrt.options import Options

PROGRAM = '''\
from dataclasses import dataclass, field
from typing import Literal

@dataclass
class Mail:
    text: str
    seen: set[str] = field(default_factory=set)

class Report:
    title: str

def triage(mails, box, policy):
    for mail in mails:
        """natural
        Put the kind of <mail> into <:kind: Literal["spam", "bill"]>, file it in <box>; see <Mail>, <Report>. Break, continue or return if it is empty.
        """
        box.append(kind)
    return box
'''
METHOD = '''\
class Box:
    async def fill(self, text):
        """natural
        Put <text> into <self>, and its length into <:self.size>.
        """
'''
GENERATOR = '''\
def numbers(n):
    total = 0
    """natural
    Add <n> to <:total>, or return.
    """
    yield total
'''


def file_of(program: str, mode: str = "static") -> StaticFile:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    source = SourceFile("program.njpy", program.encode())
    file = make_static_file(unit, source, Options(mode=mode))  # type: ignore[arg-type]
    assert file is not None
    return file


def refused(program: str, code: str, mode: str = "static") -> str:
    file = file_of(program, mode)
    return " / ".join(file.make_code_check(file.holes[0])(code))


ACCEPTED = [
    (PROGRAM, 'kind = "bill"'),
    (PROGRAM, 'kind: Literal["spam", "bill"] = "bill"\nbox.append(mail)'),
    (
        PROGRAM,
        'if not mail.text:\n    continue\nkind = llm(f"{mail.text}", Literal["spam", "bill"])',
    ),
    (PROGRAM, "import re\nkind = 'bill' if re.search('a', mail.text) else 'spam'"),
    (
        PROGRAM,
        "def judge(text):\n    return llm(text, bool)\nkind = 'spam' if judge(mail.text) else 'bill'",
    ),
    (PROGRAM, "while True:\n    if mail.text:\n        break\n    mail.text += 'a'\nkind = 'bill'"),
    (PROGRAM, "if not mail.text:\n    raise ValueError(mail)\nkind = 'bill'"),
    (PROGRAM, "if box:\n    return box\nkind = 'bill'"),
    (PROGRAM, "r = llm(f'{mail}', Report)\nkind = r.title"),
    (PROGRAM, "a = llm(f'{mail}', list[int] | None)\nkind = str(a)"),
    (METHOD, "self.size = len(text)"),
    (METHOD, "self.size = await allm(f'How long is {text}?', int)"),
    (GENERATOR, "total += n"),
    (GENERATOR, "pass"),
]
REFUSED = [
    ('kind = "offer"', "line 1: `kind` must be one of 'spam', 'bill', and not 'offer'"),
    (
        "kind = mail.text.split()[0]",
        '`mail.text.split()[0]` may be any text; choose among these, or ask for it: `kind = llm(f"...", '
        'Literal["spam", "bill"])`',
    ),
    ("kind = f'{mail}'", "may be any text"),
    ("kind = = 1", "syntax error, line 1"),
    ("", "there is no code"),
    ("# nothing", "there is no code"),
    ("mail.seen.add(1)", "`kind` must be bound on every path to the end of the code, but it is never bound"),
    ("if mail.text:\n    kind = 'bill'", "not bound when the condition in line 1 is false; compute it (`kind = ...`) or ask for it"),
    ("kind = 'bill'\ncontinue", "every path leaves by a jump, so `kind` is of no use"),
    ("kind = policy", "line 1: `policy` is not visible in this block"),
    ("kind = mial.text", "line 1: `mial` is not visible in this block; did you mean `mail`?"),
    ("box = []\nkind = 'bill'", "line 1: `box` is read-only in this block"),
    ("for mail in box:\n    pass\nkind = 'bill'", "line 1: `mail` is read-only in this block"),
    ("llm = 3\nkind = 'bill'", "`llm` is read-only"),
    ("yield 1\nkind = 'bill'", "line 1: a block cannot yield"),
    ("await f()\nkind = 'bill'", "it cannot await"),
    ("from os import *\nkind = 'bill'", "`import *` is not possible in a block"),
    ("import subprocess\nkind = 'bill'", "`subprocess` cannot be imported in a block"),
    ("kind = open('a').read()", "`open` is refused in a block"),
    ("kind = mail.__subclasses__()", "`__subclasses__` is refused in a block"),
    ("exit()\nkind = 'bill'", "`exit` is refused in a block"),
    ("while True:\n    kind = 'bill'", "line 1: this loop would never end"),
    ("while 1:\n    for x in box:\n        break\nkind = 'bill'", "line 1: this loop would never end"),
    ("kind = await allm('x')", "`allm` is not visible in this block; did you mean `llm`?"),
    ("kind = llm()", "`llm` takes a prompt and, if need be, a schema"),
    ("kind = llm(f'{mail}', str, 3)", "`llm` takes a prompt and, if need be, a schema"),
    ("kind = llm('Is {mail.text} spam?')", "write the prompt as an f-string with {mail}"),
    ("kind = llm('Is <mail> spam?')", "the model would read `mail` as a word and not its value"),
    ("kind = llm(f'{mail}', Iterator[int])", "JSON does not carry `Iterator[...]`; ask for a list"),
    ("kind = llm(f'{mail}', dict)", "`dict` must say what its items are: dict[str, int], for example"),
    ("kind = llm(f'{mail}', list)", "`list` must say what its items are: list[str], for example"),
    ("kind = llm(f'{mail}', object)", "JSON does not carry `object`; ask for a str, or a class with fields"),
    ("kind = llm(f'{mail}', ['spam', 'bill'])", "for a choice write Literal[...]"),
    ("kind = llm(f'{mail}', 'str')", "the schema must be a type, not the text 'str'"),
    ("def triage(mails):\n    kind = 'bill'", "write only the code that stands at the mark, without `triage`"),
    ("mails_2 = 1\nkind = 'bill'\npolicy = 2\nf = lambda policy: policy\nf(1)", "`policy` means something else"),
    ("policy = 1\nclass A:\n    policy = 2\nkind = A.policy", "`policy` means something else"),
    ("kind = triage([mail], box)", "line 1: `triage` is the function that your code is a part of"),
    ("nonlocal box\nkind = 'bill'", "in its place in the program: Python does not compile this block: name 'box' is parameter and nonlocal"),
    ("from __future__ import annotations\nkind = 'bill'", "`from __future__` imports are for the head of the file"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "code"), ACCEPTED)
def test_accepted(program: str, code: str) -> None:
    assert refused(program, code) == ""


@pytest.mark.parametrize(("code", "words"), REFUSED)
def test_refused(code: str, words: str) -> None:
    assert words in refused(PROGRAM, code)


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        (METHOD, "text = 1", "`text` is read-only"),
        (METHOD, "size = len(text)", "`self.size` must be bound on every path"),
        (METHOD, "self.size = llm(f'{text}', int)", "`llm` is not visible in this block"),
        (METHOD, "n = allm(f'{text}', int)\nself.size = n", "must be awaited: `await allm(...)`"),
        (METHOD, "async def fill(self, text):\n    self.size = 1", "without `fill` around it"),
        (GENERATOR, "yield n", "a block cannot yield"),
        (GENERATOR, "break", "`break` is not possible here; possible are: raise, return"),
    ],
)
def test_refused_elsewhere(program: str, code: str, words: str) -> None:
    assert words in refused(program, code)


QUOTED = '''\
from dataclasses import dataclass
from typing import ClassVar, Optional

@dataclass
class Order:
    items: "list[Item]"
    next: Optional["Order"] = None
    count: ClassVar[dict[str, int]] = {}

@dataclass
class Item:
    name: "str"

@dataclass
class Wrong:
    names: "Iterator[Item]"

def read(letter):
    """natural
    Read <letter> into <:found>; see <Order> and <Wrong>.
    """
    return found
'''


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("found = llm(f'{letter}', Order)", ""),
        ("found = llm(f'{letter}', list[Order])", ""),
        ("found = llm(f'{letter}', Wrong)", "in `Wrong`: JSON does not carry `Iterator[...]`"),
        ("found = llm(f'{letter}', list['Order'])", "must be a type, not the text 'Order'"),
    ],
)
def test_fields_may_have_quoted_types(code: str, words: str) -> None:
    reasons = refused(QUOTED, code)
    assert (words in reasons) if words else reasons == ""


def test_all_reasons_are_given_at_once() -> None:
    reasons = refused(PROGRAM, "import socket\nbox = policy\nwhile True:\n    pass").split(" / ")
    assert len(reasons) == 5


def test_the_raw_mode_checks_nothing_but_that_it_is_python() -> None:
    assert refused(PROGRAM, "box = policy", "static-raw") == ""
    assert "not Python" in refused(PROGRAM, "box = = 1", "static-raw")


def test_what_the_prompt_names_may_be_used() -> None:
    program = 'import subprocess\ndef f(open):\n    """natural\n    Use <subprocess> and <open>.\n    """\n'
    assert refused(program, "import subprocess\nsubprocess.run(['a'])\nopen('b')") == ""


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("triage", {"Mail", "Report", "mails", "box"}),
    ],
)
def test_what_is_shown(scope: str, names: set[str]) -> None:
    (hole,) = file_of(PROGRAM + "\ndef unrelated():\n    return 1\n").holes
    assert hole.name == f"program.njpy:{scope}"
    assert all(name in hole.program for name in names)
    assert "unrelated" not in hole.program
    assert "...  # YOUR CODE STANDS HERE" in hole.program
    ast.parse(hole.program)


def test_a_meaning_survives_formatting_and_edits_elsewhere() -> None:
    (hole,) = file_of(PROGRAM).holes
    (moved,) = file_of(
        '"""Doc."""\n\n\n' + PROGRAM.replace("\n\ndef", "\n\n\n\ndef") + "\nx = 1\n"
    ).holes
    assert moved.meaning == hole.meaning
    (reworded,) = file_of(PROGRAM.replace("Put the kind", "Put  the kind")).holes
    assert reworded.meaning.instruction != hole.meaning.instruction
    assert reworded.meaning.context == hole.meaning.context


def test_prompts_made_at_run_time_stay_live() -> None:
    program = PROGRAM.replace('"""natural', 'f"""natural')
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    assert (
        make_static_file(unit, SourceFile("program.njpy", program.encode()), Options(mode="static"))
        is None
    )
