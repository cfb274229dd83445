"""Outputs that nothing uses (NJ204)."""

from __future__ import annotations

import re
import time

import pytest

from compiling import compile_text, find_codes


def find_codes_of(body: str) -> list[str]:
    """Compile a function with this body, where `[[text]]` is a natural block, and list the findings."""
    lines = [
        re.sub(r"\[\[(.*)\]\]", rf'"""natural\n{" " * 8}\1\n{" " * 8}"""', line)
        for line in body.split("\n")
    ]
    inner = "\n".join(f"    {line}" for line in lines)
    program = f"def f(x, xs, self):\n{inner}\n"
    return find_codes(program)


def test_an_f_string_block_reads_what_its_own_fields_bind() -> None:
    text = (
        'def f():\n    f"""natural\n    Put {(y := 5)} and <y> into <:z>.\n    """\n    return z\n'
    )
    assert find_codes(text) == []


USED = [
    "[[Count <xs> into <:n>, then call <x> with <n>.]]",
    "[[Call <x> with <n>; before that, count <xs> into <:n>.]]",
    "[[<:n>]]\n[[<n>]]",
    "for z in xs:\n    [[Add <z> to <:n>, which starts at <x>.]]\n    print(n)",
    "for z in xs:\n    [[<n>]]\n    [[<:n>]]",
    "def g():\n    return n\n[[<:n>]]\nreturn g",
    "def g():\n    [[<n>]]\n[[<:n>]]\nreturn g",
    "[[<:n>]]\nreturn locals()",
]
UNUSED = ["[[<:n>]]", "[[Put the n into <:n>.]]\nprint(no, x.ñ)", "[[<:n>]]\n[[<:n>]]"]


@pytest.mark.parametrize("body", USED)
def test_used_output(body: str) -> None:
    assert "NJ204" not in find_codes_of(body)


@pytest.mark.parametrize("body", UNUSED)
def test_unused_output(body: str) -> None:
    assert "NJ204" in find_codes_of(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "    [[<:y{n}>]]",
        "    [[<:y{n}>]]\n    print(y{n})",
        "    [[Add <x> to <:total{n}>, <z{n}> and <:total>.]]\n    print(total)",
    ],
)
def test_time_grows_with_the_length_of_a_function(line: str) -> None:
    def measure(count: int) -> float:
        rows = [line.format(n=number) for number in range(count)]
        text = re.sub(r"\[\[(.*)\]\]", r'"""natural\n \1\n"""', "\n".join(rows))
        start = time.process_time()
        compile_text(f"def f(x):\n{text}\n")
        return time.process_time() - start

    short, long = (min(measure(count) for _ in range(3)) for count in (100, 800))
    assert long < 8 * 3 * short
