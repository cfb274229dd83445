"""What a finding is for, and what it must leave alone, as a table of prompts in a function."""

from __future__ import annotations

import re

import pytest

from compiling import compile_text, find_codes
from njc.compiler.frontend.diagnostics import Diagnostic


def find_findings(prompt: str, after: str = "", prefix: str = "") -> list[Diagnostic]:
    """Compile a function `f(x, items)` of a module with a variable `count`, and a block in a loop or not."""
    text = f'count = 0\n\n\ndef f(x, items):\n    {prefix}"""natural\n    {prompt}\n    """\n'
    rows = "".join(f"    {line}\n" for line in after.split("\n") if line)
    return list(compile_text(text + rows).diagnostics)


IDLE = """\
Order a coffee break for <x>.
Book <x> a return ticket.
Book <x> a return flight, and note it in the tax return.
Break <x> into lines.
Break <x>.
Break down <x>.
Put a line break behind <x>.
Continue the story of <x>.
Say how <x> breaks and returns.
Say whether <x> is polite.
Tell a story about <x>.
Log <x>.
Send <x> by mail.
Show <x>.
""".splitlines()
"""Prompts that do nothing, because `x` cannot be changed, and ask for no jump."""
ACTING = """\
Print <x>.
You should print <x>.
For each line of <x> print its length.
Pretty-print <x>.
Prints <x>.
Use `print` to show <x>.
It is to be printed what <x> means.
Raise ValueError if <x> is empty.
An exception is raised if <x> is empty.
Call <show> with <x>.
""".splitlines()
"""Prompts that name `print`, `raise` or a function."""
WITH_JUMP = [
    "Break if <x> is empty.",
    "Look at <x>, then break.",
    "If <x> is bad, continue with the next one.",
    "Continue unless <x> is good.",
    "Otherwise, break out of the loop over <x>.",
    "Go through <x>; break.",
    'If <x> is "stop": break!',
]


@pytest.mark.parametrize("prompt", IDLE)
def test_a_block_that_can_do_nothing_is_reported_and_compiled(prompt: str) -> None:
    text = f'x = 1\n"""natural\n{prompt}\n"""\n'
    compilation = compile_text(text)
    assert [(it.code, it.severity) for it in compilation.diagnostics] == [("NJ211", "warning")]
    assert compilation.output is not None


@pytest.mark.parametrize("prompt", ACTING)
def test_a_block_that_names_an_act_is_not_reported(prompt: str) -> None:
    text = f'x = 1\ndef show(x): ...\n"""natural\n{prompt}\n"""\n'
    compilation = compile_text(text)
    assert compilation.diagnostics == ()
    assert compilation.authorities[0].effects == "direct"


@pytest.mark.parametrize("prompt", WITH_JUMP)
def test_words_that_ask_for_a_jump(prompt: str) -> None:
    codes = [finding.code for finding in find_findings(prompt)]
    assert codes == ["NJ301"]


UNMARKED = {
    '"""nl\nPut it into <:n: int>.\n"""': ["NJ103"],
    '"""\u200bnatural\nPut it into <:n.x: list[int]>.\n"""': ["NJ103"],
    '"Put it into <:n>."': ["NJ103"],
    '"""\nnatural\nPut it into <:n>.\n"""': ["NJ103"],
    '"""natural\nPut it into <:n>.\n"""\n"Put it into <:n>."': ["NJ103"],
    '"Put it into <:n>."  # njc: ignore[NJ103]': [],
    '"Put it into <n>."': [],
    '"Put it: <:-)"': [],
    'y = "Put it into <:n>."': [],
    'print("""naturel\nPut it into <:n>.\n""")': [],
}
"""Statements of a module, and the findings about them."""


@pytest.mark.parametrize("statement", UNMARKED)
def test_a_string_with_an_output_and_without_the_marker_is_reported(statement: str) -> None:
    compilation = compile_text(f"x = n = 1\n{statement}\n")
    assert [each.code for each in compilation.diagnostics] == UNMARKED[statement]
    assert compilation.output is not None


@pytest.mark.parametrize("head", ["natural\xa0", "natural\f", "prompt(max_calls=3)\u2003"])
def test_an_unusual_blank_in_the_line_of_the_marker_is_named(head: str) -> None:
    """Such as the no-break space of a copied text: it looks like a block, and its letters are small."""
    (finding,) = compile_text(f'x = 1\n"""{head}\nRead <x>.\n"""\n').diagnostics
    assert finding.code == "NJ103"
    assert finding.message.endswith("has a blank other than spaces and tabs")


@pytest.mark.parametrize(
    "text",
    ["Put it into <:n>.", "natrl\n    Put it into <:n>.\n    ", "natural", "natural(max_calls=2)"],
)
def test_a_docstring_that_was_meant_as_a_block_is_reported(text: str) -> None:
    source = f'def f():\n    """{text}"""\n    return n\n'
    assert find_codes(source) == ["NJ103"]


@pytest.mark.parametrize("label", ["break", "continue", "return"])
def test_words_in_a_type_ask_for_nothing(label: str) -> None:
    prompt = f'Put into <:n: __import__("typing").Literal["{label}", "no"]> what <x> says.'
    assert find_findings(prompt, after="return n") == []


@pytest.mark.parametrize(
    ("prompt", "after", "code", "hint"),
    [
        ("Count <items> into <n>.", "return n", "NJ201", "to have the block bind it, write `<:n>`"),
        ("Read <x> with <json>.", "", "NJ201", "add `import json` above"),
        ("Give <:n: Literal[1]>.", "return n", "NJ201", "add `from typing import Literal` above"),
        ("Add one to <:count>.", "", "NJ204", "declare `global count`"),
        ("Read <ites>.", "", "NJ201", "did you mean `items`?"),
        ("Read {x}.", "", "NJ210", "write `<x>`"),
        ("Read {x} and <items>.", "", "NJ210", "write `<x>`"),
        ("Greet the user.", "", "NJ211", "<:result: str>"),
        ("Read <items[0]>.", "", "NJ208", "<items>"),
        ("Read <input>.", "", "NJ209", "write `<<input>`"),
    ],
)
def test_hint(prompt: str, after: str, code: str, hint: str) -> None:
    (finding,) = [finding for finding in find_findings(prompt, after) if finding.code == code]
    assert finding.hint is not None
    assert hint in finding.hint


@pytest.mark.parametrize(
    "prompt",
    [
        "Fill {{x}} and {other} of <x>.",
        "<example>Text</example> is for <x>.",
        "<list><item>1</item></list> is for <x>.",
        "Show <<input> and <<list> of <x>.",
        "a < b > c, List[int], a <- b, <a href='x'> and <x>.",
        "Return {'a': 1} for <x>.",
    ],
)
def test_plain_text(prompt: str) -> None:
    assert not find_findings(prompt)


REQUESTS = {
    "Sort <row>, or break.": ["sort `row: Sequence[int]`"],
    "Increase <count>. Put a text into <:note: str>.": ["increase `count: int`"],
    "Look at it, then reverse the <row>, or return.": ["reverse `row: Sequence[int]`"],
    "Update <box.size>, or return.": ["update `box.size: int`"],
    "Clear <row>; then halve <count>. <:note: str>": [
        "clear `row: Sequence[int]`",
        "halve `count: int`",
    ],
    "Sort <row> into <:note: str>.": [],
    "Sort <names>, or break.": [],
    "Sort <unknown>, or break.": [],
    "Read the update <count>, or break.": [],
    "Append 3 to <row>, or break.": [],
    "Double <count> for <:count>.": [],
    "How would you sort <row>? Break if not at all.": [],
}  # fmt: skip
"""Prompts, and the changes that they ask for although the values can only be read."""


@pytest.mark.parametrize("prompt", REQUESTS)
def test_a_request_to_change_a_value_that_cannot_be_changed_is_reported(prompt: str) -> None:
    text = (
        "from collections.abc import Sequence\nfrom dataclasses import dataclass\n\n"
        "@dataclass(frozen=True)\nclass Box:\n    size: int\n\n\n"
        "def f(row: Sequence[int], count: int, names: list[str], box: Box, unknown):\n"
        f'    while row:\n        """natural\n        {prompt}\n        """\n    return [note]\n'
    )
    compilation = compile_text(text)
    found = [it.message for it in compilation.diagnostics if it.code == "NJ305"]
    assert found == [f"the text asks to {it}, which it only reads" for it in REQUESTS[prompt]]
    assert compilation.output is not None


BARE = {
    "Double x and return it.": "x",
    "Double `x` and return it.": "x",
    "Return the longest of the items.": "items",
    "Return x's name.": "x",
    "Add one to total, and return it.": "total",
    "Return the size of items[0].": "items",
    "Return a number.": None,
    "Return the count.": None,
    "Double <x>, and return x.": None,
    "Double {x}, and return it.": None,
    "Write <<x>, and return it.": None,
    "Return an x-ray or y.x.": None,
    "Return X.": None,
    "Put into <:n: int> the number of items, in a helper.": "items",
    "Put into <:x> a helper's number.": None,
    "Put into <x> a number of items.": None,
    "Return what helper says about later.": None,
    'Return the text "x" or "total".': None,
}
"""Prompts, and the variable that they name without brackets; only if they read no variable."""


@pytest.mark.parametrize("prompt", BARE)
def test_a_text_without_references_that_names_a_variable_is_reported(prompt: str) -> None:
    text = (
        "count = 0\n\n\ndef f(a, x, items):\n    import helper\n    total = 0\n"
        f'    """natural\n    {prompt}\n    """\n    later = total\n    return later\n'
    )
    found = compile_text(text).diagnostics
    names = [it.message.split("`")[1] for it in found if it.code == "NJ217"]
    assert names == [BARE[prompt]] * (BARE[prompt] is not None)


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("for mail in mails:\n        ", ["mail"]),
        ("mail = 1\n    ", ["mail"]),
        ('"""natural\n    Put it into <:mail: str>.\n    """\n    ', ["mail"]),
        ("mail = 1\n    f", []),
        ("", []),
    ],
)
def test_the_variables_that_a_text_may_mean(before: str, names: list[str]) -> None:
    text = (
        f'def f(mails):\n    {before}"""natural\n    Return the mail.\n    """\n    return mail\n'
    )
    found = compile_text(text).diagnostics
    assert [it.message.split("`")[1] for it in found if it.code == "NJ217"] == names


def test_an_error_hides_nothing_about_other_blocks() -> None:
    text = (
        'def f(a: str, b):\n    """natural\n    Return <c>.\n    """\n'
        '    """natural\n    Summarize <a>.\n    """\n    return summary\n'
    )
    found = compile_text(text).diagnostics
    assert [(it.code, it.line) for it in found] == [("NJ201", 3), ("NJ211", 5)]


SENTENCES = """\
Print quality of <mail> and <rows>: <:q: str>
Log in details are in <mail> and <rows>. Put them into <:q: str>.
Display name of the sender of <mail>, see <rows>: <:q: str>
Append <mail> to <rows>, print it, and put its length into <:q: str>.
Delete <mail>, sort <rows> in place, and write <:q: str>.
Write <mail> and <rows> to the console, run it, and log <:q: str> to a file.
Put what <mail> and <rows> say into <:q: str>.
""".splitlines()


def test_words_never_decide_what_a_block_gets() -> None:
    """Programs that differ only in words have compiled files that differ only in them."""
    outputs = set()
    for prompt in SENTENCES:
        text = (
            "from collections.abc import Sequence\ndef f(mail: str, rows: Sequence[int]):\n"
            f'    """natural\n    {prompt}\n    """\n    return q\n'
        )
        compilation = compile_text(text)
        assert [it.effects for it in compilation.authorities] == ["answer"]
        output = (compilation.output or b"").decode().replace(prompt, "PROMPT")
        outputs.add(re.sub(r"[0-9a-f]{16,}", "HASH", output))
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("comment", "budget", "calls"),
    [
        ('budget="usd=5 per=day", max_calls=3', "usd=5 per=day", 3),
        (
            "max_calls=3 budget='usd=5 per=day; tokens=9 per=hour'",
            "usd=5 per=day; tokens=9 per=hour",
            3,
        ),
        ("budget='usd=5 per=day'", "usd=5 per=day", None),
    ],
)
def test_values_with_blanks_in_comments_have_quotes(
    comment: str, budget: str, calls: int | None
) -> None:
    text = f'# njc: {comment}\n"""natural\nSet <:y: int> to 1.\n"""\nprint(y)\n'
    compilation = compile_text(text)
    assert compilation.diagnostics == ()
    options = compilation.blocks[0].options
    assert (options.budget, options.max_calls) == (budget, calls)


def test_comments_in_strings_are_text() -> None:
    text = 'x = 1\ny = """\n# njc: model=a\n# njc: ignroe\n"""\nz = "# njc: max_calls=3"\n'
    text += '"""natural\nPrint <x>.\n"""\n'
    assert find_codes(text) == []


@pytest.mark.parametrize(
    ("type_", "codes"),
    [
        ("int() | str", []),
        ("Annotated[int, f, len]", []),
        ("list[type[Exception]]", []),
        ("[int]", ["NJ207"]),
        ("{str: int}", ["NJ207"]),
        ("int * 2", ["NJ207"]),
        ("'list[int'", ["NJ207"]),
        ("3", ["NJ207"]),
        ("None", []),
    ],
)
def test_what_is_no_type_is_reported(type_: str, codes: list[str]) -> None:
    found = find_findings(
        f"Put <:n: {type_}> from <x>.", "return n", "from typing import Annotated\n    "
    )
    assert [each.code for each in found] == codes
