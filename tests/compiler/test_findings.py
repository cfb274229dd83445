"""What a finding is for, and what it must leave alone, as a table of prompts in a function."""

from __future__ import annotations

import pytest

from njc.compiler import compile_source
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.source import SourceFile


def find_findings(prompt: str, after: str = "", prefix: str = "") -> list[Diagnostic]:
    """Compile a function `f(x, items)` of a module with a variable `count`, and a block in a loop or not."""
    text = f'count = 0\n\n\ndef f(x, items):\n    {prefix}"""natural\n    {prompt}\n    """\n'
    rows = "".join(f"    {line}\n" for line in after.split("\n") if line)
    return list(compile_source(SourceFile("p.njpy", (text + rows).encode())).diagnostics)


WITHOUT_JUMP = {
    "Order a coffee break for <x>.": ["NJ211"],
    "Book <x> a return ticket.": ["NJ211"],
    "Book <x> a return flight, and note it in the tax return.": ["NJ211"],
    "Break <x> into lines.": ["NJ211"],
    "Break down <x>.": ["NJ211"],
    "Put a line break behind <x>.": ["NJ211"],
    "Continue the story of <x>.": ["NJ211"],
    "Sort <x>. In return, thank the user.": ["NJ211", "NJ305"],
    "Say how <x> breaks and returns.": ["NJ211"],
    "Say whether <x> is polite.": ["NJ211"],
    "Say that <x> is good.": ["NJ211"],
    "Say the mood of <x>.": ["NJ211"],
    "Tell me whether <x> is good.": ["NJ211"],
    "Tell a story about <x>.": ["NJ211"],
    "Report on <x>.": ["NJ211"],
}
"""Prompts, and the findings about them: `x` cannot be changed, so most can do nothing."""
ACTING = """\
Print <x>.
Now print <x>.
Just print <x>.
Always print <x>.
You should print <x>.
Do print <x>.
If <x> is long, just print it.
For each line of <x> print its length.
When <x> is empty print "empty".
Pretty-print <x>.
Print: <x>
Prints <x>.
Write <x> into the log.
Append <x> to the file a.txt.
Use `print` to show <x>.
It is to be printed what <x> means.
Show <x>.
Output <x>.
Log: <x>.
Warn about <x>.
Notify the user about <x>.
Tell the user about <x>.
Flush stdout.
Say <x> loudly.
Say hello to <x>.
Say "<x>".
Say <x> to the user.
Announce <x>.
Tell <x> about it.
Read out <x>.
Send <x> by mail.
Drucke <x>.
Gib <x> aus.
Imprime <x>.
Affiche <x>.
""".splitlines()
WITH_JUMP = [
    "Break if <x> is empty.",
    "Look at <x>, then break.",
    "If <x> is bad, continue with the next one.",
    "Continue unless <x> is good.",
    "Otherwise, break out of the loop over <x>.",
    "Go through <x>; break.",
    'If <x> is "stop": break!',
]


@pytest.mark.parametrize("prompt", WITHOUT_JUMP)
def test_words_that_ask_for_no_jump(prompt: str) -> None:
    text = f'x = 1\n"""natural\n{prompt}\n"""\n'
    found = compile_source(SourceFile("p.njpy", text.encode())).diagnostics
    assert [finding.code for finding in found] == WITHOUT_JUMP[prompt]


@pytest.mark.parametrize("prompt", ACTING)
def test_words_that_ask_to_act_outside_of_the_program(prompt: str) -> None:
    text = f'x = 1\n"""natural\n{prompt}\n"""\n'
    compilation = compile_source(SourceFile("p.njpy", text.encode()))
    assert compilation.diagnostics == ()
    assert compilation.authorities[0].effects == "direct"


@pytest.mark.parametrize("prompt", WITH_JUMP)
def test_words_that_ask_for_a_jump(prompt: str) -> None:
    codes = [finding.code for finding in find_findings(prompt)]
    assert codes == ["NJ301"]


UNMARKED = {
    '"""naturel\nPut it into <:n>.\n"""': ["NJ103"],
    '"""nl\nPut it into <:n: int>.\n"""': ["NJ103"],
    '"""\u200bnatural\nPut it into <:n.x: list[int]>.\n"""': ["NJ103"],
    '"Put it into <:n>."': ["NJ103"],
    'f"""natrual\n{x} is <:n>.\n"""': ["NJ103"],
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
    source = SourceFile("p.njpy", f"x = n = 1\n{statement}\n".encode())
    compilation = compile_source(source)
    assert [each.code for each in compilation.diagnostics] == UNMARKED[statement]
    assert compilation.output is not None


@pytest.mark.parametrize("head", ["natural\xa0", "natural\f", "prompt(max_calls=3)\u2003"])
def test_an_unusual_blank_in_the_line_of_the_marker_is_named(head: str) -> None:
    """Such as the no-break space of a copied text: it looks like a block, and its letters are small."""
    source = SourceFile("p.njpy", f'x = 1\n"""{head}\nRead <x>.\n"""\n'.encode())
    (finding,) = compile_source(source).diagnostics
    assert finding.code == "NJ103"
    assert finding.message.endswith("has a blank other than spaces and tabs")


def test_a_docstring_with_an_output_is_reported_if_its_first_word_is_nearly_the_marker() -> None:
    for word, codes in {"natrual": ["NJ103"], "Prompts": ["NJ103"], "The form": []}.items():
        text = f'def f():\n    """{word}\n    Put it into <:n>.\n    """\n'
        found = compile_source(SourceFile("p.njpy", text.encode())).diagnostics
        assert [each.code for each in found] == codes


@pytest.mark.parametrize("label", ["break", "continue", "return"])
def test_words_in_a_type_ask_for_nothing(label: str) -> None:
    prompt = f'Put into <:n: __import__("typing").Literal["{label}", "no"]> what <x> says.'
    assert find_findings(prompt, after="return n") == []


@pytest.mark.parametrize(
    ("prompt", "after", "code", "hint"),
    [
        ("Count <items> into <n>.", "return n", "NJ201", "to have the block bind it, write `<:n>`"),
        ("Give <:n: integer>.", "return n", "NJ201", "did you mean `int`?"),
        ("Give <:n: list[string]>.", "return n", "NJ201", "did you mean `str`?"),
        ("Read <x> with <json>.", "", "NJ201", "add `import json` above"),
        ("Give <:n: Literal[1]>.", "return n", "NJ201", "add `from typing import Literal` above"),
        ("Add one to <:count>.", "", "NJ204", "declare `global count`"),
        ("Read <ites>.", "", "NJ201", "did you mean `items`?"),
        ("Read {x}.", "", "NJ210", "write `<x>`"),
        ("Read {x} and <items>.", "", "NJ210", "write `<x>`"),
        ("Greet the user.", "", "NJ211", "<:result: str>"),
        ("Summarize <x>.", "", "NJ213", "write `<:result: str>`"),
        ("Summarize <x>.", "return summary", "NJ213", "write `<:summary>`"),
        ("Update it by <x>.", "return summary", "NJ213", "write `<:summary>`"),
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


@pytest.mark.parametrize(
    ("prompt", "after"),
    [
        ("Summarize <x> into <:y>.", "return y"),
        ("Summarize <x>, and store it in <items>.", ""),
        ("Summarize <x>, and append it to <items>.", "return items"),
        ("Summarize <x>, or raise ValueError.", ""),
        ("Summarize <x>, and return it.", ""),
        ("Resume <x>.", ""),
        ("Fasse <x> zusammen.", ""),
    ],
)
def test_blocks_that_may_do_something(prompt: str, after: str) -> None:
    assert "NJ213" not in {finding.code for finding in find_findings(prompt, after)}


def test_a_block_that_may_take_any_jump_may_do_something() -> None:
    block = '"""natural(jumps="all")\n    Summarize <x>.\n    """\n'
    sources = f"def f(x):\n    {block}", f"x = object()\nif x:\n    {block}"
    found = [compile_source(SourceFile("p.njpy", each.encode())).diagnostics for each in sources]
    assert [["NJ213" in {it.code for it in each}] for each in found] == [[False], [True]]


@pytest.mark.parametrize(
    ("comment", "budget", "calls"),
    [
        ('budget="usd=5 per=day", max_calls=3', "usd=5 per=day", 3),
        (
            "max_calls=3 budget='usd=5 per=day; tokens=9 per=run'",
            "usd=5 per=day; tokens=9 per=run",
            3,
        ),
        ("budget='usd=5 per=day'", "usd=5 per=day", None),
    ],
)
def test_values_with_blanks_in_comments_have_quotes(
    comment: str, budget: str, calls: int | None
) -> None:
    text = f'# njc: {comment}\n"""natural\nSet <:y: int> to 1.\n"""\nprint(y)\n'
    compilation = compile_source(SourceFile("p.njpy", text.encode()))
    assert compilation.diagnostics == ()
    options = compilation.blocks[0].options
    assert (options.budget, options.max_calls) == (budget, calls)


def test_comments_in_strings_are_text() -> None:
    text = 'x = 1\ny = """\n# njc: model=a\n# njc: ignroe\n"""\nz = "# njc: max_calls=3"\n'
    text += '"""natural\nPrint <x>.\n"""\n'
    assert not compile_source(SourceFile("p.njpy", text.encode())).diagnostics


@pytest.mark.parametrize(
    ("type_", "codes"),
    [
        ("any", ["NJ201"]),
        ("list[f] | None", ["NJ201"]),
        ("dict[str, tuple[callable, ...]]", ["NJ201"]),
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
