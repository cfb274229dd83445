"""The small language inside a prompt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.compiler.frontend.prompt_references import (
    NAME,
    KeywordTag,
    MistypedTag,
    NearTag,
    Reference,
    blank_fields,
    find_tags,
)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("<x>", ["x"]),
        ("<x.a.b> and <:y>", ["x.a.b", ":y"]),
        ("<:y.a>", [":y.a"]),
        ("<<x>", []),
        ("<<<x>", ["x"]),
        ("<<<<x>", []),
        ("a < b > c", []),
        ("<x >, < x>, <x.>, <.x>, <1x>, <x-y>, <x y>, </x>, <x/>, <>, <:>", []),
        ("List<int> and dict<str, int>", ["int"]),
        ("<é> <名前> <ﬁ>", ["é", "名前", "fi"]),
        ("<नाम.आयु> <:नीम> <e\u0301> <𝒳>", ["नाम.आयु", ":नीम", "é", "X"]),
        ("<x…>, <x\u00a0>, <न—म>, <x‘s>, <x.न…>", []),
        ("<x\n>", []),
        ("<x><:x>", ["x", ":x"]),
        ("<:y:>", []),
    ],
)
def test_paths(text: str, paths: list[str]) -> None:
    tags = list(find_tags(text))
    assert [":" * tag.writes + tag.path for tag in tags if isinstance(tag, Reference)] == paths


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("< नाम.आयु >", "नाम"),
        ("<:नाम, मूल्य>", "नाम"),
        ("<ﬁnd\u00a0>", "find"),
        ("<नाम[0]>", "नाम"),
        ("<नाम is open", "नाम"),
        ("<नाम: str>", "नाम"),
        ("<:x’s>", "x"),
        ("<:x, y’s>", "x"),
    ],
)
def test_near_references(text: str, root: str) -> None:
    (tag,) = find_tags(text)
    assert isinstance(tag, NearTag)
    assert tag.root == root


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("<:y: int>", "int"),
        ("<:y:int>", "int"),
        ("<:y : list[str]>", "list[str]"),
        ("<:y: dict[str,int]|None>", "dict[str, int] | None"),
        ("<:y: Callable[[int], bool]>", "Callable[[int], bool]"),
        ("<:y: Literal['a>b', \"c\"]> and > more", 'Literal["a>b", "c"]'),
        ("<:y: 'Box'>", '"Box"'),
        (
            "<:y: Annotated[int, 1 << 3, Literal['c<<d', '<<<<']]>",
            'Annotated[int, 1 << 3, Literal["c<d", "<<"]]',
        ),
        ('<:y: Literal[\'say "hi"\', "it\'s"]>', 'Literal[\'say "hi"\', "it\'s"]'),
        ("<:नाम: int>", "int"),
        ("<:y: dict[str,\n        int]>", "dict[str, int]"),
        ("<:y.a: Annotated[int, 'x']>", 'Annotated[int, "x"]'),
    ],
)
def test_types(text: str, type_: str) -> None:
    (reference,) = find_tags(text)
    assert isinstance(reference, Reference)
    assert reference.type == type_
    assert text[reference.start] == "<"
    assert text[reference.end - 1] == ">"


@pytest.mark.parametrize(
    "text",
    ["<:y: the sum>", "<:y: int, str>", "<:y: (yield)>", "<:y: a if b else c>", "<:y: x := 1>"],
)
def test_what_is_no_type(text: str) -> None:
    (tag,) = find_tags(text)
    assert isinstance(tag, MistypedTag)


@pytest.mark.parametrize(
    "text", ["<:y: unfinished", "<:y: on\nanother line of words>", "<a href='x'>"]
)
def test_what_is_only_text(text: str) -> None:
    assert list(find_tags(text)) == []


def test_a_long_type_is_a_type() -> None:
    topics = ", ".join(f'"topic number {number}"' for number in range(300))
    (reference,) = find_tags(f"<:y: Literal[{topics}]>")
    assert isinstance(reference, Reference)
    assert reference.type == f"Literal[{topics}]"


@pytest.mark.parametrize("text", ["<class>", "<:None>", "<x.if>", "<:is: int>"])
def test_keywords(text: str) -> None:
    (tag,) = find_tags(text)
    assert isinstance(tag, KeywordTag)


@pytest.mark.parametrize(
    ("literal", "kept"),
    [
        ("{x} <y>", "___ <y>"),
        ("{{<x>}}", "{{<x>}}"),
        ("{{{x}}}", "{{___}}"),
        ("{x['<y>']}<z>", "__________<z>"),
        ("{x:>{w}}<z>", "________<z>"),
        ("{x!r:'>10}<z>", "__________<z>"),
        ("{ {'a': 1}['a'] }<z>", "_________________<z>"),
        ("{(lambda: 1)()}<z>", "_______________<z>"),
        (r"\N{BULLET}<z>", r"\N{BULLET}<z>"),
        (r"\{x}<z>", r"\___<z>"),
        ('{"}"}<z>', "_____<z>"),
        ('{"""}"""}<z>', "_________<z>"),
    ],
)
def test_fields_are_blanked(literal: str, kept: str) -> None:
    assert blank_fields(literal, "f").replace("\0", "_") == kept


def test_a_raw_f_string_has_no_escapes() -> None:
    assert blank_fields(r"\N{x}<z>", "rf").replace("\0", "_") == r"\N___<z>"


@given(st.text(alphabet="<>:.{}[]'\"\\ xyN=!\n,|", max_size=40))
def test_any_text_is_read_without_failing(text: str) -> None:
    for tag in find_tags(text):
        assert text[tag.start] == "<"
        is_unclosed = isinstance(tag, NearTag) and "no closing" in tag.reason
        assert (text[tag.end - 1] == ">") != is_unclosed
    assert len(blank_fields(text, "f")) == len(text)


def test_a_name_has_all_characters_beyond_ascii() -> None:
    pattern = re.compile(NAME)
    for code in (*range(0x3000), 0xFFFF, 0x10000, 0x1D400, 0x10FFFF):
        found = pattern.fullmatch(f"a{chr(code)}")
        assert bool(found) == (code >= 0x80 or chr(code).isalnum() or chr(code) == "_"), hex(code)
