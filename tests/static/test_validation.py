"""What generated code is refused for: a program with one block, a piece of code, the words of the refusal."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from case_programs import read_program
from njc.compiler.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import StaticFile, make_static_file
from njc.static.generate import RULES
from njrt.data.options import Options

PROGRAM = read_program("validation")
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
    (PROGRAM, "r = llm(f'{mail}', Mail)\nkind = r.text"),
    (PROGRAM, "a = llm(f'{mail}', list[int] | None)\nkind = str(a)"),
    (METHOD, "self.size = len(text)"),
    (METHOD, "self.size = await allm(f'How long is {text}?', int)"),
    (GENERATOR, "total += n"),
    (GENERATOR, "pass"),
]
REFUSED = [
    ('kind = "offer"', 'line 1: `kind` must be Literal["spam", "bill"], and `\'offer\'` is another value'),
    ('kind = 3', 'ask for it: `kind = llm(f"...", Literal["spam", "bill"])`'),
    ("kind = = 1", "syntax error, line 1"),
    ("", "there is no code"),
    ("# nothing", "there is no code"),
    ("mail.seen.add(1)", "`kind` must be bound on every path to the end of the code"),
    ("if mail.text:\n    kind = 'bill'", "on every path to the end of the code; compute it or ask for it"),
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
    ("kind = await allm('x')", "`allm` is not visible in this block; did you mean `llm`?"),
    ("kind = llm(f'{mail}', Iterator[int])", "JSON does not carry `Iterator[int]`; the schema is a type"),
    ("kind = llm(f'{mail}', dict)", "JSON does not carry `dict`; the schema is a type such as"),
    ("kind = llm(f'{mail}', list)", "JSON does not carry `list`; the schema is a type such as"),
    ("kind = llm(f'{mail}', object)", "JSON does not carry `object`; the schema is a type"),
    ("kind = llm(f'{mail}', Report)", "JSON does not carry `Report`, which declares no fields"),
    ("kind = llm(f'{mail}', ['spam', 'bill'])", "JSON does not carry `['spam', 'bill']`; the schema is"),
    ("kind = llm(f'{mail}', 'str')", "the schema must be a type, not the text 'str'"),
    ("def triage(mails):\n    kind = 'bill'", "`kind` must be bound on every path"),
    ("mails_2 = 1\nkind = 'bill'\npolicy = 2\nf = lambda policy: policy\nf(1)", "choose other names than `policy`"),
    ("policy = 1\nclass A:\n    policy = 2\nkind = A.policy", "choose other names than `policy`"),
    ("kind = triage([mail], box)", "line 1: `triage` is not visible in this block"),
    ("nonlocal box\nkind = 'bill'", "`nonlocal box` is refused: `box` is neither an output nor a variable of the code"),
    ("from __future__ import annotations\nkind = 'bill'", "from __future__ imports must occur at the beginning"),
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
        (
            METHOD,
            "async def fill(self, text):\n    self.size = 1",
            "choose other names than `fill`",
        ),
        (GENERATOR, "yield n", "a block cannot yield"),
        (GENERATOR, "break", "`break` is not possible here; possible are: raise, return"),
    ],
)
def test_refused_elsewhere(program: str, code: str, words: str) -> None:
    assert words in refused(program, code)


SHARED = '''\
COUNT = 0
def double(x: int) -> int:
    extra = 1
    """natural
    Double <x> into <:y: int>.
    """
    return y + extra
'''
AT_MODULE = '''\
COUNT = 0
"""natural
Put a number into <:y: int>.
"""
'''
GLOBAL_OUTPUT = '''\
COUNT = 0
def add(x: int) -> None:
    global COUNT
    """natural
    Add <x> to <:COUNT>.
    """
'''


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        (SHARED, "global COUNT\nCOUNT = x\ny = x", "`global COUNT` is refused"),
        (SHARED, "def h():\n    global COUNT\n    COUNT = 3\nh()\ny = x", "`global COUNT` is refused"),
        (SHARED, "def h():\n    global NEW\n    NEW = 3\nh()\ny = x", "`global NEW` is refused"),
        (SHARED, "class K:\n    global COUNT\n    COUNT = 5\ny = x", "`global COUNT` is refused"),
        (SHARED, "def h():\n    def k():\n        global COUNT\n        COUNT = 1\n    k()\nh()\ny = x", "`global COUNT`"),
        (SHARED, "n = 0\ndef h():\n    global n\n    n = 1\nh()\ny = n", "`global n` is refused"),
        (SHARED, "global y\ny = x", "`global y` is refused"),
        (SHARED, "def h():\n    nonlocal extra\n    extra = 3\nh()\ny = x", "`nonlocal extra` is refused"),
        (SHARED, "n = 0\ndef h():\n    nonlocal n\n    n = x\nh()\ny = n", ""),
        (SHARED, "def h():\n    n = 0\n    def k():\n        nonlocal n\n        n = x\n    k()\n    return n\ny = h()", ""),
        (SHARED, "def h():\n    nonlocal y\n    y = x\ny = 1\nh()", ""),
        (AT_MODULE, "def h():\n    global y\n    y = 3\ny = 1\nh()", ""),
        (AT_MODULE, "n = 0\ndef h():\n    global n\n    n = 1\nh()\ny = n", ""),
        (AT_MODULE, "def h():\n    global COUNT\n    COUNT = 3\nh()\ny = 1", "`global COUNT` is refused"),
        (GLOBAL_OUTPUT, "def h():\n    global COUNT\n    COUNT += x\nh()", ""),
        (SHARED, "del double\ny = x", "choose other names than `double`"),
        (SHARED, "for n in range(x):\n    del print\ny = x", "choose other names than `print`"),
        (AT_MODULE, "del COUNT\ny = 1", "choose other names than `COUNT`"),
        (SHARED, "n = 1\ndel n\ny = x", ""),
    ],
)  # fmt: skip
def test_the_code_binds_and_deletes_only_outputs_and_its_own_variables(
    program: str, code: str, words: str
) -> None:
    reasons = refused(program, code)
    assert (words in reasons) if words else reasons == ""


TYPED = read_program("validation_typed")


@pytest.mark.parametrize(
    ("type_", "code", "found"),
    [
        ("int", "y = str(n)", "str"), ("int", "y = s", "str"), ("int", "y = mail.text", "str"),
        ("int", "y = f'{n}'", "str"), ("int", "y = name_of(n)", "str"), ("int", "y: int = s", "str"),
        ("int", "y = True", "bool"), ("int", "y = None", "None"),
        ("Optional[int]", "y = 'a'", "str"), ("Number", "y = s", "str"),
        ("str", "y = items", "list"),
        ("bool", "y = len(s)", "int"), ("list", "y = s, s", "tuple"),
        ("int", "y = n / 2", ""), ("int", "y = some", ""), ("float", "y = n", ""), ("float", "y = len(s)", ""),
        ("str", "y = 3 * s", ""), ("str", "y = items[0]", ""), ("Any", "y = s", ""), ("object", "y = s", ""),
        ("Optional[int]", "y = None", ""), ("Mail", "y = some", ""), ("list[str]", "y = sorted(items)", ""),
        ("int", "y = s\ny = int(y)", ""), ("int", "k = s\ny = k", ""), ("int", "y = int(s) or n", ""),
    ],
)  # fmt: skip
def test_the_only_value_of_an_output_has_its_type(type_: str, code: str, found: str) -> None:
    reasons = refused(TYPED.replace("TYPE", type_), code)
    if not found:
        assert reasons == ""
        return
    assert f"`y` must be {type_}, and `" in reasons
    assert f"` is {found}; convert it, or ask for it: `y = llm(" in reasons


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("y = getattr(s, 'to' + 'tal')", "`getattr` takes only literal names"),
        ("k = 'total'\ny = getattr(s, k)", "`getattr` takes only literal names"),
        ("y = getattr(*[s, 'total'])", "`getattr` takes only literal names"),
        ("y = getattr(s, '__globals__')", "`__globals__` is refused in a block"),
        ("read = getattr\ny = read(s, 'a')", "`getattr` takes only literal names"),
        ("y = list(map(getattr, [s], ['a']))", "`getattr` takes only literal names"),
        ("import functools\ny = functools.reduce(getattr, ['a'], s)", "`getattr` takes only literal names"),
        ("setattr(mail, 'te' + 'xt', s)\ny = 1", "`setattr` takes only literal names"),
        ("delattr(mail, s)\ny = 1", "`delattr` takes only literal names"),
        ("import enum\ny = enum.Enum._convert_('E', 'os', bool)", "`_convert_` is refused in a block"),
        ("from json import tool\ny = 1", "`json.tool` is refused in a block"),
        ("y = getattr(mail, 'text', '')", ""),
        ("setattr(mail, 'text', s)\ny = object.__setattr__(mail, 'text', s)", ""),
        ("y = type(s) is str or isinstance(some, type) or type(some).__name__", ""),
        ("from typing import TypedDict\nclass C(TypedDict, total=False):\n    a: int\ny = C(a=1)", ""),
        ("y = '{} {:>3}'.format(n, s) + s.format(n) + mail.text.format_map(some)", ""),
        ("class C:\n    def __init__(self): self._a = 1\n    def _b(self): return self._a\ny = C()._b()", ""),
        ("y = ''.join(map('{:>3}'.format, items))", ""),
        ("from operator import attrgetter\ny = sorted(items, key=attrgetter('text'))", ""),
    ],
)  # fmt: skip
def test_names_of_attributes_are_read_in_the_text(code: str, words: str) -> None:
    """Static code runs with Python's own builtins, so they take only literal names."""
    reasons = refused(TYPED.replace("TYPE", "Any"), code)
    assert (words in reasons) if words else reasons == ""


def test_an_attribute_that_the_program_uses_may_begin_with_an_underscore() -> None:
    program = TYPED.replace("TYPE", "Any").replace("    return y", "    return y, some._sent")
    assert refused(program, "y = some._sent") == ""


QUOTED = read_program("validation_quoted")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("found = llm(f'{letter}', Order)", ""),
        ("found = llm(f'{letter}', list[Order])", ""),
        ("found = llm(f'{letter}', Wrong)", "JSON does not carry `list`"),
    ],
)
def test_fields_may_have_quoted_types(code: str, words: str) -> None:
    reasons = refused(QUOTED, code)
    assert (words in reasons) if words else reasons == ""


def test_all_reasons_are_given_at_once() -> None:
    reasons = refused(PROGRAM, "import socket\nbox = policy").split(" / ")
    assert len(reasons) == 4


def test_what_the_prompt_names_may_be_used() -> None:
    program = 'import subprocess\ndef f(open):\n    """natural\n    Use <subprocess> and <open>.\n    """\n'
    assert refused(program, "subprocess.run(['a'])\nopen('b')") == ""


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


def test_the_rules_name_what_the_checks_refuse() -> None:
    announced = re.findall(r"Refused are (.*?);", RULES)[0]
    names = re.findall(r"`(\w+)`", announced)
    assert "eval" in names
    for name in names:
        assert f"`{name}` is refused" in refused(PROGRAM, f'{name}("1")\nkind = "bill"')
    for module in re.findall(r"`(\w+)`", RULES.partition("of modules, ")[2].split(". ")[0]):
        assert refused(PROGRAM, f'import {module}\nkind = "bill"') == ""
    assert "literal names" in refused(PROGRAM, 'setattr(mail, kind, 1)\nkind = "bill"')
