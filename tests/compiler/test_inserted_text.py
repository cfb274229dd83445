"""What an f-string block inserts is text: it adds no reference and no jump, in the compiler or at run time."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import njrt
from compiling import compile_output
from njc.compiler.analysis.authority import list_offered_labels
from njc.compiler.compiler import analyze
from njc.compiler.frontend.source import SourceFile
from njrt.block.block import extract_instruction
from njrt.data.options import Options
from njrt.testing import Request, Scripted, ToolCall, ToolMessage, UserMessage, run

FRAGMENTS = st.sampled_from(
    [
        *("<count>", "<<count>", "<<<count>", "<:count>", "<count.bit_length>", "</count>", "<:count: str>"),
        *("<secret>", "<:secret>", "<:secret: int>", "< count >", "count", "secret", "<", "<<", ">", "---"),
        *("break", "continue", "return", "raise", "Break if <secret>.", "\n", "    ", "natural", "{", "}"),
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=6).map("".join)

PROGRAM = """
def read(inserted):
    secret = 7
    count = 1
    for number in range(2):
        f\"\"\"natural
        {inserted}
        Put <number> into <:count>.{inserted}
        \"\"\"
    return count, secret
"""


CODES = ["pass", "secret = 1", "print(secret)", "break", "return 1", "count = number"]
"""What the model tries, one after another; only the last does what the prompt asks for."""


def run_program(inserted: str) -> tuple[list[str], list[str], object]:
    """What the model is shown besides the instruction, what it is answered to code that asks for more, the result."""
    variables: dict[str, Any] = {}
    exec(compile_output(PROGRAM), variables)
    shown: list[str] = []
    results: list[str] = []

    def answer(request: Request) -> ToolCall:
        first, last = request.messages[0], request.messages[-1]
        if isinstance(last, ToolMessage):
            results.extend(result.text for result in last.results)
        elif isinstance(first, UserMessage):
            opening, _, refusal = first.text.rpartition("\n--")[2].lstrip("-").partition("\n\n")
            (results if refusal else shown).append(refusal or opening)
        return run(CODES[request.turn - 1], done=True)

    with njrt.using(model=Scripted(answer)):
        try:
            return shown, results, variables["read"](inserted)
        except njrt.NaturalError as error:
            return shown, results, error


def test_without_inserted_text_the_output_must_be_bound_and_the_rest_is_refused() -> None:
    shown, results, result = run_program("")
    line = "count, to be bound anew"
    assert shown == [f"\nnumber: int = {number}\n{line}" for number in (0, 1)]
    assert len(results) == 2 * (len(CODES) - 1)
    assert result == (1, 7)


@given(TEXTS)
def test_inserted_text_changes_nothing_but_the_instruction(inserted: str) -> None:
    assert run_program(inserted) == run_program("")


@pytest.mark.parametrize("margin", ["        ", "\t"])
def test_tabs_of_inserted_values_are_kept(margin: str) -> None:
    prompt = f"natural\n{margin}Sum up 3\t4\r\n{margin}\tand\t5 into <:count>.\n"
    assert extract_instruction(prompt) == "Sum up 3\t4\n\tand\t5 into <:count>."


INDENTED = {
    "all:\n\techo hi": "the first line has no margin",
    "    all:\n    \techo hi": "blanks, then a tab",
    "\tall:\n\t\techo hi": "tabs",
    "        all:\n\t\techo hi": "a margin of blanks, and one of a tab",
    "\tall:\n        \techo hi": "the same, the other way round",
    "    \tall:\n\t\techo hi": "a tab that ends the margin",
    "  all:\n  \techo hi\n \t\n\n  ": "lines of blanks count for nothing",
}


@pytest.mark.parametrize("text", INDENTED, ids=INDENTED.values())
def test_a_tab_beyond_the_margin_stays_a_tab(text: str) -> None:
    assert extract_instruction(f"natural\n{text}\n") == "all:\n\techo hi"
    assert extract_instruction(f"natural\r\n{text}\r\n".replace("\n", "\r\n")) == "all:\n\techo hi"


def test_a_tab_across_the_margin_leaves_the_blanks_beyond_it() -> None:
    assert extract_instruction("natural\n    a\n\tb\n\t\tc\n") == "a\n    b\n    \tc"
    assert extract_instruction("natural\n\t a\n\t  b\n") == "a\n b"


@given(st.lists(st.text(" ab\u3000\xa0", max_size=6), max_size=5))
def test_blanks_are_removed_as_by_textwrap(lines: list[str]) -> None:
    text = "\n".join(lines)
    expected = [line.rstrip() for line in textwrap.dedent(text).split("\n")]
    assert extract_instruction(f"natural\n{text}") == "\n".join(expected).strip("\n")


FIELDS = st.sampled_from(
    [
        *("x", "<count>", "<<count>", "<:secret>", "<:count: str>", "</number>", "< count >", "<number"),
        *("break", "continue", "return", "Return it", "raise", "skip", "stop", "<", "<<", ">"),
    ]
)  # fmt: skip


@given(st.lists(FIELDS, min_size=1, max_size=4).map("".join), st.sampled_from([":", "!r:", "!s:"]))
def test_an_inserted_expression_changes_no_reference_jump_or_finding(text: str, end: str) -> None:
    def describe(field: str) -> object:
        source = PROGRAM.replace("{inserted}", field)
        analysis = analyze(SourceFile("p.njpy", source.encode()))
        (block,) = analysis.blocks
        findings = [finding.code for finding in analysis.diagnostics]
        return block.reads, block.writes, list_offered_labels(block, Options()), findings

    assert describe(f"{{'{text}'{end}}}") == describe("{inserted}")


@pytest.mark.parametrize(
    ("prompt", "reads"),
    [
        ("Add <item> to <count> and bind <:count>.", True),
        ("Add <item> to <count.real> and bind <:count>.", True),
        ("Add <item>, bind <:count>; <<count> is text.", False),
        ("Add <item>, bind <:count>; <count>1</count> is text.", False),
        ("Add <item>, bind <:count>; < count > is text.", False),
    ],
)
def test_which_outputs_a_prompt_reads(prompt: str, reads: bool) -> None:
    source = f'count = item = 1\n"""natural\n{prompt}\n"""\n'
    output = compile_output(source)
    assert (b'reads="count"' in output) == reads
    variables: dict[str, Any] = {}
    with njrt.using(model=Scripted([run("pass", done=True), run("count = 5", done=True)])):
        exec(output, variables)
    assert variables["count"] == (1 if reads else 5)
