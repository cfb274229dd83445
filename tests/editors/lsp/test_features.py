"""What is offered at a place of a text: completion, hover, definition, corrections, lenses, by tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from language_programs import make_document

from case_programs import read_program
from njc.debug.trace_view.index import RunSummary
from njc.editors.lsp.answers.actions import list_corrections
from njc.editors.lsp.answers.completion import complete
from njc.editors.lsp.answers.folds import list_folds, list_lenses
from njc.editors.lsp.answers.highlighting import list_tokens
from njc.editors.lsp.answers.hover import describe_place
from njc.editors.lsp.answers.navigation import find_definitions
from njc.editors.lsp.serving.workspace_files import summarize_block
from njc.editors.lsp.texts.documents import apply_edits

PROGRAM = read_program("features")


def suggest(typed: str, program: str = PROGRAM) -> list[str]:
    """Return the texts that are offered behind `typed`, which stands in the place of MARK.

    The program was valid Python before that.
    """
    text = program.replace("MARK", typed)
    offset = text.index(typed, program.index("MARK")) + len(typed)
    before = make_document(PROGRAM.replace("MARK", ""))
    assert before.reading is not None
    return [item.text for item in complete(before.change(text, 2), offset)]


@pytest.mark.parametrize(
    ("typed", "first", "never"),
    [
        ("<", ["count", "row", "team", "ticket", "tickets"], "print"),
        ("<tic", ["count", "row", "team", "ticket", "tickets"], "print"),
        ("<:", ["count", "row", "team", "ticket", "tickets", "LIMITS"], "search"),
        ("<:te", ["count", "row", "team", "ticket", "tickets", "LIMITS"], "Row"),
        ("<row.", ["name", "size", "big"], "count"),
        ("<row.si", ["name", "size", "big"], "count"),
        ("<:x: ", ["Literal", "Row"], "count"),
        ("<:x: list[R", ["Literal", "Row"], "count"),
    ],
)
@pytest.mark.parametrize(
    "program",
    [
        PROGRAM,
        PROGRAM + "\nx = (\n",
        PROGRAM.replace("def search(", "def search((("),
        PROGRAM.replace(' MARK\n        """\n        print(team, count)\n', " MARK"),
        PROGRAM.replace("MARK\n", "MARK").replace("\n", "\r\n"),
        PROGRAM.replace("LIMITS = ", "é = '😀'; LIMITS = "),
    ],
    ids=["whole", "open bracket below", "wrong above", "open prompt", "crlf", "astral"],
)
def test_completion_in_a_reference(program: str, typed: str, first: list[str], never: str) -> None:
    offered = suggest(typed, program)
    assert [text for text in offered if text in first][: len(first)] == first
    assert never not in offered


@pytest.mark.parametrize("typed", ["word", "<<ti", "a < b", "<ticket>", "< ", "<1"])
def test_no_completion_elsewhere(typed: str) -> None:
    assert suggest(typed) == []


def test_no_completion_outside_of_prompts() -> None:
    assert complete(make_document("x = y <"), 7) == []
    assert complete(make_document("x = y <", "plain.py"), 7) == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ('"""natural(max_c', ["max_calls=", "max_code_seconds="]),
        ('"""natural(temperature=0, eff', ["effects="]),
        ('"""natural(temperature=0, inter', ["interface="]),
        ('"""natural(effects=', ['"answer"', '"direct"']),
        ('"""natural(effects="', ["answer", "direct"]),
        ("# njc: ", ["model=", "ignore["]),
        ("# njc: mode=", ["live", "static"]),
        ("# njc: ignore[NJ2", ["NJ201", "NJ204"]),
    ],
)
def test_completion_of_options_and_codes(line: str, offered: list[str]) -> None:
    found = [item.text for item in complete(make_document(f"x = 1\n{line}"), len(line) + 6)]
    assert set(offered) <= set(found)


def test_the_last_version_that_was_python_is_used() -> None:
    document = make_document(PROGRAM)
    assert document.reading is not None
    broken = PROGRAM.replace("MARK", "<ti").replace("def ", "d ef ").replace("class", "cl ass")
    changed = document.change(broken, 2)
    offset = broken.index("<ti") + 3
    assert "tickets" in [item.text for item in complete(changed, broken.rindex("<ti") + 3)], offset


@pytest.mark.parametrize(
    ("mark", "texts"),
    [
        ("Put <tick", ["ticket: str", "variable of the function `route`", "- binds: `team`"]),
        ("<:tea", ["team: Literal[", "bound in line 27"]),
        ("<sea", ["definition of the module; bound in line 18", "read by blocks in line 27"]),
        ("and <Ro", ["Row", "definition of the module; bound in line 8"]),
        (
            '"""nat',
            [
                "- reads: `ticket`, `search`",
                "- effects: `direct`",
                "because: it may use the function `search`",
            ],
        ),
        ("def sea", ["read by blocks in line 27"]),
        (
            "for tick",
            ["variable of the function `route`; bound in line 25; read by blocks in line 27"],
        ),
    ],
)
def test_hover(mark: str, texts: list[str]) -> None:
    found = describe_place(make_document(PROGRAM), PROGRAM.index(mark) + len(mark))
    assert found is not None
    for text in texts:
        assert text in found.markdown


def test_hover_on_a_name_with_a_ligature() -> None:
    program = (
        'def ﬁnd(x: int) -> int:\n    return x\n"""natural\nPut <ﬁnd> of 1 into <:y: int>.\n"""\n'
    )
    found = describe_place(make_document(program), program.index("<ﬁ") + 1)
    assert found is not None
    assert "definition of the module; bound in line 1" in found.markdown


def test_functions_classes_and_blocks_fold() -> None:
    block = '"""natural\n        Put <x> into <:y>.\n        """'
    program = f"class S:\n    if S:\n        async def e(self):\n            {block}\n@d\ndef f(): pass\ndef g(\n): pass\n"
    assert list_folds(make_document(program)) == [(0, 5), (2, 5), (3, 4), (8, 9)]


def test_no_hover_on_words() -> None:
    assert describe_place(make_document(PROGRAM), PROGRAM.index("add to")) is None


@pytest.mark.parametrize(
    ("mark", "defined"),
    [
        ("Put <tick", "for ticket"),
        ("print(te", "<:team"),
        ("<row.si", "    size"),
        ("<ro", "tickets: list[str], row"),
        ("<sea", "def search"),
        ("self.size > lim", "(self, limit"),
        ("<:cou", "    count"),
    ],
)
def test_definition(mark: str, defined: str) -> None:
    spans = find_definitions(make_document(PROGRAM), PROGRAM.index(mark) + len(mark))
    assert [end for _, end in spans] == [PROGRAM.index(defined) + len(defined)]


FUNCTION = '''\
count = 0
def f(items: str, total, नाम):
    """natural
    {}
    """
    return x
'''


@pytest.mark.parametrize(
    ("sentence", "title", "after"),
    [
        ("Add <itmes>.", "Change `itmes` to `items`", "Add <items>."),
        ("Add <itmes>.", "Make `<itmes>` plain text", "Add <<itmes>."),
        ("Use <:x: strr>.", "Change `strr` to `str`", "<:x: str>"),
        ("Use <items>: <:x>.", "Give types: `x: str`", "<:x: str>"),
        (
            "Use <items>: <:count: int>.",
            "Declare `global count`",
            '    global count\n    """natural',
        ),
        ("Print <नम>.", "Change `नम` to `नाम`", "Print <नाम>."),
        (
            "Use <items>: <:n: int>.",
            "Ignore NJ204 here",
            '    # njc: ignore[NJ204]\n    """natural',
        ),
    ],
)
def test_corrections(sentence: str, title: str, after: str) -> None:
    document = make_document(FUNCTION.format(sentence))
    offered = {item.title: item for item in list_corrections(document, 0, len(document.text))}
    assert title in offered
    changed = make_document(apply_edits(document.text, offered[title].edits))
    assert after in changed.text
    finding = offered[title].finding
    assert finding.code not in [other.code for other in changed.findings]


def test_lenses_tell_costs() -> None:
    document = make_document(PROGRAM)
    run = RunSummary(1, "a-1", place="mail.njpy:26", calls=2, input=1000, output=200, usd=0.5)
    failed = replace(run, calls=1, input=4, output=0, usd=None, error="KeyError")
    costs = {"mail.njpy:26": summarize_block([run, failed]), "mail.njpy:99": "9 runs"}
    assert [cost for _, cost in list_lenses(document, costs)] == [
        "2 runs, 3 calls, 1,204 tokens, $0.5000, 1 error"
    ]
    assert list_lenses(document, {}) == []


def test_tokens_of_a_prompt() -> None:
    tokens = [
        (PROGRAM[it.start : it.end], it.type, it.modifiers)
        for it in list_tokens(make_document(PROGRAM))
    ]
    assert tokens[:6] == [
        ("natural", "keyword", ()),
        ("max_calls", "property", ()),
        ("Put", "string", ()),
        ("<", "operator", ()),
        ("ticket", "variable", ("readonly",)),
        (">", "operator", ()),
    ]
    assert ("team", "variable", ("modification",)) in tokens
    assert ('Literal["a"]', "type", ()) in tokens
    assert ("size", "property", ("readonly",)) in tokens


HINDI = 'def f(नाम: str, n\u0303e: int) -> None:\n    """natural\n    Put <नाम> into <:मूल्य: int>. MARK\n    """\n    print(मूल्य)\n'
"""Names with combining marks, which `\\w` does not match; one is written in two ways."""


@pytest.mark.parametrize(("typed", "behind"), [("<ना", ""), ("<न", "ाम। और"), ("<:मू", "ल्य>")])
def test_completion_replaces_a_name_with_combining_marks(typed: str, behind: str) -> None:
    text = HINDI.replace("MARK", typed + behind)
    offset = text.index(typed + behind, text.index("int>.")) + len(typed)
    found = {item.text: item for item in complete(make_document(text), offset)}
    assert {"नाम", "मूल्य"} <= found.keys()
    replaced = text[found["नाम"].start : found["नाम"].end]
    assert replaced == (typed + behind).strip("<:>").partition("।")[0]


def test_tokens_of_names_with_combining_marks() -> None:
    tokens = list_tokens(make_document(HINDI))
    assert {"नाम", "मूल्य"} <= {HINDI[it.start : it.end] for it in tokens if it.type == "variable"}
