"""Attributes that are not there, held against a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_programs import read_program
from njc.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import make_static_file
from njrt.options import Options

PROGRAM = read_program("attributes")
FINE = [
    "mail.sender", "mail.words()", "mail.__class_getitem__", "reply.text", "reply.answer", "name.upper()",
    "order.customer", "order.model_dump()", "opened.anything", "known.anything", "extra.anything",
    "both.anything", "self.mails", "self.owner", "self.triage", "mail.sender.title()",
    "[x.anything for x in extra]",
]  # fmt: skip
WRONG = [
    ("mail.kind", "`mail` is a `Mail`, which has no `kind`; it has sender, text, words"),
    ("mail.txt", "`mail` is a `Mail`, which has no `txt`; did you mean `text`?"),
    ("reply.kind", "`reply` is a `Reply`, which has no `kind`; it has answer, sender, text, words"),
    ("name.splitline", "`name` is a `str`, which has no `splitline`; did you mean `splitlines`?"),
    ("order.total", "`order` is a `Order`, which has no `total`"),
    ("self.inbox", "`self` is a `Box`, which has no `inbox`"),
]


def refused(code: str, program: str = PROGRAM) -> str:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    source = SourceFile("program.njpy", program.encode())
    file = make_static_file(unit, source, Options(mode="static", policy="open"))
    assert file is not None
    return " / ".join(file.make_code_check(file.holes[-1])(f"print({code})"))


@pytest.mark.parametrize("code", FINE)
def test_what_is_there_or_not_known(code: str) -> None:
    assert refused(code) == ""


@pytest.mark.parametrize(("code", "words"), WRONG)
def test_what_is_not_there(code: str, words: str) -> None:
    assert f"line 1: {words}" in refused(code)


@pytest.mark.parametrize("code", ["mail.rated", "mail.__seen", "self.made"])
def test_blocks_set_attributes_too(code: str) -> None:
    prompt = '{0}"""natural\n{0}{1}.\n{0}"""\n'
    in_class = prompt.format("    ", "Make <:made>")
    in_method = prompt.format(" " * 12, "Rate <mail> by <:mail.rated> and <:mail.__seen>")
    program = PROGRAM.replace("class Box:\n", f"class Box:\n{in_class}").replace(
        "            for reply in", f"{in_method}            for reply in"
    )
    assert f"`{code.split('.')[0]}` is a " in refused(code)
    assert f"`{code.split('.')[0]}` is a " not in refused(code, program)


def test_a_program_may_set_attributes_by_name() -> None:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    for setting in (
        "setattr(self, key, value)",
        "self.__dict__[key] = value",
        "vars(self)[key] = value",
    ):
        program = PROGRAM.replace(
            "self.owner = owner",
            f"self.owner = owner\n        key, value = owner\n        {setting}",
        )
        file = make_static_file(
            unit,
            SourceFile("program.njpy", program.encode()),
            Options(mode="static", policy="open"),
        )
        assert file is not None
        check = file.make_code_check(file.holes[0])
        assert check("print(self.inbox)") == ()
        assert "which has no `lines`" in " ".join(check("print(name.lines)"))


ITEMS = read_program("attributes_items")


@pytest.mark.parametrize("name", ["mail", "box", "row", "other"])
def test_items_of_collections(name: str) -> None:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    file = make_static_file(
        unit, SourceFile("program.njpy", ITEMS.encode()), Options(mode="static", policy="open")
    )
    assert file is not None
    check = file.make_code_check(file.holes[0])
    assert check(f"print({name}.text, number.real, name.upper())") == ()
    (refusal,) = check(f"print({name}.subject)")
    assert f"`{name}` is a `Mail`, which has no `subject`; it has text" in refusal


PRIVATE = '''\
class Account:
    __slots__ = ("owner", "__note")

    def __init__(self, owner: str) -> None:
        self.__balance = 0

class text:
    def upper(self): ...

class Outer:
    class Account:
        def fill(self, {parameters}):
            """natural
            Use <self>, <account>, <name>, <words>.
            """

    def spend(self, account: Account) -> None:
        account.marked = True
        """natural
        Use <self> and <account>.
        """

def use(account: Account, name: str, words: str) -> None:
    words = words.split()
    name: str = name.strip()
    """natural
    Use <account>, <name> and <words>.
    """
'''.replace("{parameters}", "account: Account, name, words")


@pytest.mark.parametrize(
    ("hole", "code", "refused"),
    [
        (0, "self.fill(account.owner)", ""),  # `account` is the `Account` of the module
        (0, "self.spend(account)", "`self` is a `Account`, which has no `spend`; it has fill"),
        (1, "account.fill, account.marked", ""),  # the `Account` in the class
        (1, "account.owner", "which has no `owner`; it has fill"),
        (1, "account.__balance", "which has no `__balance`"),  # means `_Outer__balance` here
        (2, "account.owner, account.marked", ""),
        (2, "account._Account__balance, account._Account__note", ""),
        (2, "account.__balance", "which has no `__balance`; it has owner"),
        (2, "account.balance", "which has no `balance`"),
        (2, "words.pop()", ""),  # bound again, to something else
        (2, "name.pop()", "`name` is a `str`, which has no `pop`"),
    ],
)
def test_private_and_rebound_names(hole: int, code: str, refused: str) -> None:
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    file = make_static_file(
        unit, SourceFile("program.njpy", PRIVATE.encode()), Options(mode="static", policy="open")
    )
    assert file is not None
    reasons = " / ".join(file.make_code_check(file.holes[hole])(code))
    assert (refused in reasons) if refused else reasons == ""
