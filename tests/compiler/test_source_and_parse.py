"""Bytes and lines: encodings, line ends, places; and when nothing is parsed at all."""

from __future__ import annotations

import pytest

from compiling import compile_output, compile_text, find_codes
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.parse import can_hold_blocks, can_set_mode
from njc.compiler.frontend.source import (
    SourceDecodeError,
    SourceFile,
    count_opening_lines,
    find_string_tokens,
)

BLOCK = '"""natural\nPrint <x>.\n"""\n'


def test_lines_end_where_the_tokenizer_ends_them() -> None:
    source = SourceFile("p.njpy", "a\nb\r\nc\rd\fe\x0bf\u2028g\n".encode())
    assert [source.line(number) for number in range(1, 6)] == [
        "a\n",
        "b\r\n",
        "c\r",
        "d\fe\x0bf\u2028g\n",
        "",
    ]


def test_columns_of_ast_count_bytes_and_ours_characters() -> None:
    source = SourceFile("p.njpy", "é = '名'; x = 1\n".encode())
    assert source.text[source.get_offset(1, 12)] == "x"
    assert source.place(source.get_offset(1, 12)) == (1, 10)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1\n", 0),
        ("#!/usr/bin/python\nx = 1\n", 1),
        ("#!/usr/bin/python\n# -*- coding: latin-1 -*-\n", 2),
        ("# a comment\n# coding=utf-8\n", 2),
        ("x = 1\n# coding=utf-8\n", 0),
        ("\n# vim: set fileencoding=utf-8 :\n", 2),
        ("# a comment\nx = 1\n# coding=utf-8\n", 0),
        ("", 0),
        ("#!/bin/sh", 1),
    ],
)
def test_lines_that_stay_first(text: str, count: int) -> None:
    assert count_opening_lines(text) == count


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n" + BLOCK.encode(),
        b"\xef\xbb\xbfx = '\xc3\xa9'\n" + BLOCK.encode(),
        b"# coding: latin-1\nx = '\xe9'\n" + BLOCK.encode(),
        b"#!/usr/bin/env python3\n# coding: cp1252\nx = '\x80'\n" + BLOCK.encode(),
        b"# coding: shift_jis\nx = '\x96\xbc'\n" + BLOCK.encode(),
        ("x = 1\n" + BLOCK).replace("\n", "\r\n").encode(),
        ("x = 1\n" + BLOCK).replace("\n", "\r").encode(),
        b"x = 1\r\n" + BLOCK.encode() + b"y = 2\r\n",
        b"x = 1\nif x:\n\f    " + BLOCK.encode().replace(b"\n", b"\n    ").rstrip(b" "),
        b"x = 1\nif x:\n\t" + BLOCK.encode().rstrip() + b"\nelse:\n\tpass",
    ],
)
def test_bytes_survive(data: bytes) -> None:
    compilation = compile_source(SourceFile("é/名.njpy", data))
    assert compilation.output is not None, compilation.diagnostics
    compile(compilation.output, "p.py", "exec")
    before, literal, after = data.partition(b'"""natural')
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef") else b""
    assert compilation.output.startswith(bom)
    for line in [*before.removeprefix(bom).splitlines(), *after.splitlines()]:
        assert line.rstrip() in compilation.output
    newline = b"\r\n" if literal + b"\r\n" in data else b"\r" if literal + b"\r" in data else b"\n"
    assert b"_nj.run(" + newline in compilation.output


def test_what_an_encoding_lacks_is_spelled_with_escapes() -> None:
    data = b"# coding: ascii\nx = 1\n" + BLOCK.encode()
    output = compile_source(SourceFile("é.njpy", data)).output
    assert output is not None
    assert b'at="\\xe9.njpy:3"' in output


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"x = '\xff'\n", "not utf-8 text: byte 0xff, invalid start byte"),
        (b"# coding: nonsense\n", "unknown encoding: nonsense"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding problem: utf-8"),
    ],
)
def test_unreadable(data: bytes, words: str) -> None:
    with pytest.raises(SourceDecodeError, match=words):
        _ = SourceFile("p.njpy", data).text
    assert find_codes(data + BLOCK.encode()) == ["NJ002"]


@pytest.mark.parametrize("text", ["x = (\n" + BLOCK, "x = 1\0\n" + BLOCK, "(" * 5000 + BLOCK])
def test_not_python(text: str) -> None:
    compilation = compile_text(text)
    assert [diagnostic.code for diagnostic in compilation.diagnostics] == ["NJ001"]
    assert compilation.output is None


@pytest.mark.parametrize("number", [1, 2, 3, 6])
@pytest.mark.parametrize("cookie", [None, 1, 2])
def test_a_null_character_is_found_where_it_is(number: int, cookie: int | None) -> None:
    lines = ["# one", "# two", "x = 1", *BLOCK.splitlines()]
    if cookie:
        lines[cookie - 1] = "# coding: utf-8"
    lines[number - 1] += "\0"
    (found,) = compile_text("\n".join(lines)).diagnostics
    assert (found.code, found.line, found.column) == ("NJ001", number, len(lines[number - 1]))


def test_a_file_without_markers_is_not_even_parsed() -> None:
    data = b'#!/bin/x\n"""Naturally, this is not Python.\n\xff (\n'
    assert not can_hold_blocks(data)
    output = compile_output(data)
    first, _, rest = output.partition(b"\n")
    assert first == b"#!/bin/x"
    assert data[9:] in rest


@pytest.mark.parametrize("data", [b"# coding: iso-8859-5\nu = '\xae'\n", b"\xef\xbb\xbfx = 1", b""])
def test_a_file_without_blocks_keeps_its_bytes_and_encoding(data: bytes) -> None:
    output = compile_output(data)
    variables: dict[str, object] = {}
    exec(compile(output, "p.py", "exec"), variables)
    assert variables.get("u", "\u040e") == "\u040e"
    assert all(line in output for line in data.removeprefix(b"\xef\xbb\xbf").splitlines())


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ('"""natural(mode="static")\n"""', True),
        ('"""prompt  (max_calls=3, mode="static")\n"""', True),
        ("# njc: max_calls=3, mode=static\n", True),
        ('"""natural\nExplain the model and the mode.\n"""', False),
        ("mode = read(modes)\n", False),
        ('"""natural(model="m")\n"""\n', False),
    ],
)
def test_only_an_option_sets_the_mode(text: str, can: bool) -> None:
    assert can_set_mode(text.encode()) is can


def test_strings_are_found_in_a_file_that_does_not_end_with_a_line_end() -> None:
    assert list(find_string_tokens("x = 'a'")) == [(4, 7)]
    assert find_codes('x = """natural\nSay <x>.\n"""') == ["NJ106"]
