"""Loops that ask ahead: the compiled loop, and the loops that are refused with a way out."""

from __future__ import annotations

import ast

import pytest

from compiling import compile_output, compile_text
from njc.compiler.compiler import Compilation, parse_compiled_tree

BLOCK = '''\
"""natural(ahead=8{options})
        Put the <:topic: str> of <{read}>.
        """
'''


def compile_loop(
    header: str, read: str = "mail", before: str = "pass", after: str = "pass", options: str = ""
) -> Compilation:
    """Compile a block that reads one name, in a loop between two statements."""
    block = BLOCK.format(read=read, options=options)
    return compile_text(
        f"from dataclasses import dataclass\n\n\n"
        f"@dataclass(frozen=True)\nclass Desk:\n    rule: str\n    mails: tuple[str, ...]\n\n\n"
        f"def f(mails: list[str], rules: list[str], rule: str, desk: Desk) -> None:\n"
        f"    topic = ''\n    {header}\n        {before}\n        {block}        {after}\n"
    )


ALLOWED = [
    ("for mail in mails:", "mail", "print(mail)", "print(topic)"),
    ("for n, mail in enumerate(mails):", "mail", "if not mail: continue", "del n"),
    ("for mail in mails:", "rule", "print(rule)", "print(rule.upper())"),
    ("for mail in mails:", "rules", "pass", "pass"),
    ("for mail in desk.mails:", "desk.rule", "print(desk.mails)", "pass"),
    ("for (n, mail) in zip(mails, mails):", "n", "pass", "pass"),
]


@pytest.mark.parametrize(("header", "read", "before", "after"), ALLOWED)
def test_a_loop_asks_ahead(header: str, read: str, before: str, after: str) -> None:
    options = ', effects="answer"' if read == "rules" else ""
    compilation = compile_loop(header, read, before, after, options)
    assert compilation.output is not None, compilation.diagnostics
    assert b"_nj.ahead(" in compilation.output
    assert b"ahead=_nj_for_" in compilation.output


REFUSED = [
    ("while mails:", "rule", "pass", "pass", "not directly in a `for` loop"),
    ("if mails:", "rule", "pass", "pass", "not directly in a `for` loop"),
    ("for desk.x in mails:", "rule", "pass", "pass", "neither a name nor several names"),
    ("for (mail,) in mails:", "rule", "pass", "pass", "neither a name nor several names"),
    ("for n, (a, mail) in mails:", "rule", "pass", "pass", "neither a name nor several names"),
    ("for mail in mails:", "mail", "mail = mail.strip()", "pass", "the loop assigns `mail`"),
    ("for mail in mails:", "rule", "pass", "rule += topic", "the loop assigns `rule`"),
    ("for mail in mails:", "rule", "pass", "for rule in mails: pass", "the loop assigns `rule`"),
    ("for mail in mails:", "rule", "pass", "if (rule := topic): pass", "the loop assigns `rule`"),
    ("for mail in mails:", "rule", "pass", "del rule", "the loop assigns `rule`"),
    ("for mail in mails:", "topic", "pass", "pass", "the loop assigns `topic`"),
    ("for mail in mails:", "desk.rule", "pass", "desk = Desk('', ())", "assigns `desk.rule`"),
    ("for mail in mails:", "rules", "pass", "rules.append(topic)", "the loop may change `rules`"),
    ("for mail in mails:", "rules", "print(rules)", "pass", "the loop may change `rules`"),
]


@pytest.mark.parametrize(("header", "read", "before", "after", "reason"), REFUSED)
def test_a_loop_cannot_ask_ahead(
    header: str, read: str, before: str, after: str, reason: str
) -> None:
    options = ', effects="answer"' if read == "rules" else ""
    compilation = compile_loop(header, read, before, after, options)
    found = [each for each in compilation.diagnostics if each.code == "NJ309"]
    assert compilation.output is None
    assert len(found) == 1
    assert reason in found[0].message
    assert found[0].hint
    assert compilation.source.line(found[0].line).lstrip().startswith('"""natural(ahead=8')


HINTED = [
    ("for mail in mails:", "mail", "print(mail)", True),
    ("for n, mail in enumerate(mails):", "rule", "pass", True),
    ("for mail in zip(mails, desk.mails):", "rule", "pass", True),
    ("for mail in desk.mails:", "rule", "pass", True),
    ("for mail in open(rule):", "rule", "pass", False),
    ("for mail in zip(mails, open(rule)):", "rule", "pass", False),
    ("for mail in map(str, mails):", "rule", "pass", False),
    ("for mail in set(mails):", "rule", "pass", False),
    ("while mails:", "rule", "pass", False),
    ("for mail in mails:", "topic", "pass", False),
    ("for mail in mails:", "rules", "print(rules)", False),
]


@pytest.mark.parametrize(("header", "read", "before", "is_hinted"), HINTED)
def test_a_loop_that_would_gain_is_named(
    header: str, read: str, before: str, is_hinted: bool
) -> None:
    """Loops that ask ahead already, are refused it, or whose items may come late are not."""
    options = 'effects="answer"' * (read == "rules")
    text = compile_loop(header, read, before).source.text.replace("(ahead=8)", f"({options})")
    found = [it.line for it in compile_text(text).hints if it.code == "NJ310"]
    assert found == [text[: text.index('"""natural')].count("\n") + 1] * is_hinted
    again = compile_text(text.replace("natural(", "natural(ahead=8, ").replace(", )", ")"))
    assert [it.code for it in again.hints if it.code == "NJ310"] == []


def test_one_block_of_a_loop_is_named() -> None:
    block = '\n        """natural\n        Put the <:{} str> of <mail>.\n        """'
    loop = f"def f(mails: list[str]) -> None:\n    for mail in mails:{block * 2}\n        pass\n"
    for text, count in [(loop, 1), (loop.replace("natural", "natural(mode='static')"), 0)]:
        compilation = compile_text(text.format("topic:", "kind:"))
        assert [it.code for it in compilation.hints].count("NJ310") == count, text


PLACES = [
    ("class Kept:", "the body of a class"),
]


@pytest.mark.parametrize(("head", "reason"), PLACES)
def test_a_loop_in_another_place_is_refused(head: str, reason: str) -> None:
    compilation = compile_text(
        f"mails: list[str] = []\n\n\n{head}\n    for mail in ['a']:\n        "
        + BLOCK.format(read="mail", options="")
    )
    (found,) = [each for each in compilation.diagnostics if each.severity == "error"]
    assert (found.code, reason in found.message) == ("NJ309", True)


KINDS = [
    ('f"""natural(ahead=4)\n        Put the <:topic: str> of <mail>.\n        """', "f-string"),
    ('"""natural(ahead=4)\n        Put the <:topic> of <mail>.\n        """', "answer with data"),
    (
        '"""natural(ahead=4)\n        Put a <:topic: str> of <boxes>.\n        """',
        "answer with data",
    ),
]


@pytest.mark.parametrize(("block", "reason"), KINDS)
def test_a_block_of_another_kind_is_refused(block: str, reason: str) -> None:
    compilation = compile_text(
        "def f(mails: list[str], boxes: list[str]) -> None:\n"
        f"    for mail in mails:\n        {block}\n        print(topic)\n"
    )
    (found,) = [each for each in compilation.diagnostics if each.severity == "error"]
    assert (found.code, reason in found.message) == ("NJ309", True)


VALUES = ["1", "33", "True", "8.0", "'8'", "width", "-2", "None"]


@pytest.mark.parametrize("value", VALUES)
def test_the_width_is_a_number_from_2_to_32(value: str) -> None:
    compilation = compile_text(f'"""natural(ahead={value})\nPut a <:topic: str>.\n"""\n')
    (found,) = [each for each in compilation.diagnostics if each.code == "NJ104"]
    assert "from 2 to 32" in found.message


def test_the_width_is_no_setting_of_a_file() -> None:
    compilation = compile_text('# njc: ahead=8\n"""natural\nPut a <:topic: str>.\n"""\n')
    assert "stands on a block" in compilation.diagnostics[0].message


def test_two_blocks_of_one_loop_and_loops_in_each_other() -> None:
    block = BLOCK.format(read="mail", options="").replace("        ", "            ")
    head = "def f(boxes: list[tuple[str, ...]]) -> None:\n"
    twice = f"{head}    for mail in boxes:\n        {block}        {block}"
    assert "asks ahead for the same loop" in compile_text(twice).diagnostics[0].message
    nested = (
        f"{head}    for box in boxes:\n        {block.replace('mail', 'box')}"
        f"        for mail in box:\n            {block}"
    )
    output = compile_output(nested)
    assert output.count(b"_nj_for_2") == output.count(b"_nj_for_6") == 3


EXPRESSIONS = [
    "mails",
    "(mails)",
    "1, 2",
    "(1, 2)",
    "(xs := mails)",
    "(yield)",
    "[*mails]",
    "(\nmails\n)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_any_expression_can_be_gone_through(expression: str) -> None:
    block = BLOCK.format(read="rule", options="")
    text = f"def f(mails, rule: str):\n    for mail in {expression}:\n        {block}"
    ast.parse(compile_output(text))


def test_positions_in_the_loop_are_those_of_the_source() -> None:
    compilation = compile_loop("for mail in enumerate(mails + mails):", "rule")
    modules = parse_compiled_tree(compilation), ast.parse(compilation.source.text)
    loops = [
        next(each for each in ast.walk(module) if isinstance(each, ast.For)) for module in modules
    ]
    begins = [
        [(it.lineno, it.col_offset) for it in (loop, loop.target, loop.iter)] for loop in loops
    ]
    assert begins[0] == begins[1]
    call = next(it for it in ast.walk(modules[0]) if isinstance(it, ast.BinOp))
    assert call.lineno == loops[1].lineno


def test_the_name_of_a_loop_is_not_one_of_the_program() -> None:
    compilation = compile_loop("for mail in mails:", after="_nj_for_mail = 3")
    assert compilation.output is not None
    assert b"_nj1_for_12 = _nj1.ahead(mails" in compilation.output
