"""What looks like a natural block or a reference, wherever it is planted, is one or is a finding: never silence."""

from __future__ import annotations

import ast
import textwrap
import warnings

from hypothesis import assume, given
from hypothesis import strategies as st

from compiling import compile_text, find_codes

STATEMENTS = [
    "S",
    "S; x = 1",
    "x = 1; S",
    "if x: S",
    "if x: pass\nelif x: S\nelse: S",
    "for x in x: S\nelse: S",
    "while x:\n    S",
    "with x as y: S",
    "try: S\nexcept E: S\nelse: S\nfinally: S",
    "try:\n    S\nexcept* E:\n    S",
    "match x:\n    case 1: S\n    case _:\n        S",
    "def g(x):\n    S",
    "def g(x): S",
    "async def g(x):\n    S\n    await x",
    "class C:\n    S",
    "class C:\n    def g(self):\n        S\n        yield x",
    "x = 1; \\\nS",
    "if x: x = 1; S",
    "(S)",
    "S 'joined'",
]
VALUES = [
    "y = V",
    "'joined' V",
    "y: str = V",
    "y += V",
    "return V",
    "V.strip()",
    "V % x",
    "x + V",
    "x(V)",
    "x(x, key=V)",
    "x[V]",
    "[V, x]",
    "{'a': V}",
    "y = x if V else x",
    "y = [V for x in x]",
    "y = lambda: V",
    "assert x, V",
    "raise E(V)",
    "if V: pass",
    "for y in V: pass",
    "with x(V): pass",
    "def g(y=V): pass",
    "def g(y: V): pass",
    "def g() -> V: pass",
    "@x(V)\ndef g(): pass",
    "class C(x, key=V): pass",
    "match V:\n    case 1: pass",
    "match x:\n    case V: pass",
    "V, x",
    "not V",
    "(y := V)",
    "x = (x,\n    V)",
    "x = 'joined' V",
    "x = V 'joined'",
    "del x[V]",
    "yield V",
    "V == x",
    "...; V.lower(); ...",
]
EXACT = st.builds(
    "{0}{1}{2}{3}\n{4}\n{1}".format,
    st.sampled_from(["", "r", "f", "rf", "u", "R", "F"]),
    st.sampled_from(['"""', "'''"]),
    st.sampled_from(["natural", "prompt"]),
    st.sampled_from(["", "  ", "\t", "(max_calls=3)", "(max_calls=3) ", "(unknown=1)"]),
    st.sampled_from(["Read <x>.", "Make <:made>.", "Do it."]),
)
NEARLY = st.sampled_from(
    [
        '"""Natural\n<x>\n"""',
        '""" natural\n<x>\n"""',
        '"""\nnatural\n<x>\n"""',
        '"""natural read <x>\n"""',
        '"""natural: <x>\n"""',
        '"""PROMPT\n<x>\n"""',
        'b"""natural\n<x>\n"""',
        '"""natural(max_calls=3) <x>\n"""',
        "'''Prompt(a=1)\n<x>'''",
    ]
)
WRAPPERS = [
    "{}",
    "def f(x):\n{}",
    "class C:\n{}",
    "async def f(x):\n    for x in x:\n{}",
    "if x:\n{}",
]


def plant(template: str, letter: str, literal: str, wrapper: str, newline: str) -> str:
    """Put the literal in its place; what is not Python anyhow is not tried."""
    depth = 8 if "for" in wrapper else 4 * ("\n" in wrapper)
    code = wrapper.format(textwrap.indent(template, " " * depth))
    text = "x = 1\n" + code.replace(letter, literal) + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            assume(False)
    return text.replace("\n", newline)


def check_never_silent(text: str, count: int) -> None:
    compilation = compile_text(text)
    assert len(compilation.blocks) == count or compilation.diagnostics, text
    if compilation.output is not None:
        compile(compilation.output, "p.py", "exec")


@given(
    st.sampled_from(STATEMENTS),
    EXACT | NEARLY,
    st.sampled_from(WRAPPERS),
    st.sampled_from(["\n", "\r\n"]),
)
def test_statements(template: str, literal: str, wrapper: str, newline: str) -> None:
    text = plant(template, "S", literal, wrapper, newline)
    check_never_silent(text, template.count("S"))


@given(
    st.sampled_from(VALUES),
    EXACT,
    st.sampled_from(WRAPPERS),
    st.sampled_from(["\n", "\r\n"]),
)
def test_values(template: str, literal: str, wrapper: str, newline: str) -> None:
    text = plant(template, "V", literal, wrapper, newline)
    assert {"NJ106", "NJ103", "NJ001"} & {*find_codes(text)}, text


NAMES = ["items", "self_made", "é"]
SHAPES = [
    "<{}>",
    "<:{}>",
    "<:{}: int>",
    "<:{}:int>",
    "<{}.real>",
    "< {}>",
    "<{} >",
    "< {} >",
    "<: {}>",
    "<:{} >",
    "<: {} >",
    "<\t{}>",
    "<{}[0]>",
    "<:{}[0]>",
    "<{}['a']>",
    "<{}.get(1)>",
    "<:{}()>",
    "<{}, {}>",
    "<:{}, {}>",
    "<:{}, :{}>",
    "<{}: int>",
    "<{} : int>",
    "<:{}: the sum>",
    "<:{} as int>",
    "<:{} int>",
    "<:\n{}>",
    "<:{}\n>",
    "{{{}}}",
    "{{{}!r}}",
]


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(NAMES),
    st.sampled_from(["", "Take ", "a < b, ", "(", "<<", "1 << 2 "]),
    st.sampled_from(["", " now.", ")", " > 3", "</b>"]),
)
def test_references(shape: str, name: str, before: str, after: str) -> None:
    tag = shape.format(name, name)
    text = f'{name} = 1\n\n\ndef f(x):\n    global {name}\n    """natural\n    <x> {before}{tag}{after}\n    """\n'
    compilation = compile_text(text)
    (block,) = compilation.blocks
    is_escaped = before == "<<" and tag.startswith("<")
    assert name in block.names or compilation.diagnostics or is_escaped, text
