"""A class that only a quoted part of a type names is given to the block as one that is named without quotes."""

from __future__ import annotations

import re
import warnings

import pytest
from scripted_programs import compiled, outcome_of

HEAD = """
import typing
import typing as t
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Dict, Final, List, Literal, Optional, Tuple, Type, Union
from typing import Literal as L, Optional as O
Words = Literal["Foo"]
"""
FOO = "class Foo:\n    size: int = 1\n"

FORMS = [
    *("@Foo@", "Optional[@Foo@]", "O[@Foo@]", "typing.Optional[@Foo@]", "t.List[@Foo@]", "list[@Foo@]"),
    *("Union[@Foo@, None]", "Union[int, List[@Foo@]]", "@Foo@ | None", "list[@Foo@ | None]", "@Foo | None@"),
    *("dict[str, @Foo@]", "Dict[str, Tuple[@Foo@, ...]]", "tuple[int, @Foo@]", "Sequence[@Foo@]"),
    *("Callable[[@Foo@], @Foo@]", "Type[@Foo@]", "type[@Foo@]", "Annotated[@Foo@, 'Foo']", "@list[Foo]@"),
    *("Optional[@list[Optional[Foo]]@]", "Union[@Foo@, Literal['Foo']]", "list[L['Foo'] | @Foo@]"),
]  # fmt: skip
"""Types in which `@` stands for a quote, or for nothing."""

PLACES = {
    "prompt": '{head}{foo}def f():\n    """natural\n    <:made: {type}>\n    """\n    return made\n',
    "prompt, class below": '{head}def f():\n    """natural\n    <:made: {type}>\n    """\n    return made\n{foo}',
    "annotation": '{head}{foo}made: {type} = None\n"""natural\n<:made>\n"""\n',
    "parameter": '{head}{foo}def f(made: {type}):\n    """natural\n    <:made>\n    """\n    return made\n',
    "local class": (
        '{head}def f():\n    class Foo: size = 1\n    made: {type}\n    """natural\n    <:made>\n    """\n    return made\n'
    ),
    "result": '{head}{foo}def f() -> {type}:\n    """natural\n    Return one.\n    """\n',
    "class body": '{head}{foo}class Box:\n    """natural\n    <:made: {type}>\n    """\n',
}


def types_of(program: str, form: str, quote: str) -> str:
    text = program.format(head=HEAD, foo=FOO, type=form.replace("@", quote))
    output = compiled(text).output
    assert output is not None
    found = re.search(r"types=(lambda.*: \{.*?\}),\n", output.decode(), re.DOTALL)
    assert found, output.decode()
    return found[1]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_quotes_do_not_change_the_types_of_the_call(place: str, form: str) -> None:
    quoted = types_of(PLACES[place], form, '"')
    assert quoted == types_of(PLACES[place], form, "")
    assert re.search(r"\bFoo\b(?!['\"])", quoted)


LITERALS = ["Literal['Foo']", "L['Foo']", "typing.Literal['Foo']", "list[t.Literal['Foo', 'int']]"]
LITERALS += ["Optional[L['Foo']]", "Words", "Annotated[int, 'Foo']", "Annotated[int, 'Foo', 'int']"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", LITERALS)
def test_texts_that_are_no_types_keep_their_quotes(place: str, form: str) -> None:
    assert types_of(PLACES[place], form, "").count("Foo") == form.count("Foo")
    assert not re.search(r"(?<!['\"])\bFoo\b", types_of(PLACES[place], form, ""))


@pytest.mark.parametrize("place", ["prompt", "prompt, class below", "local class", "parameter"])
def test_the_block_can_use_the_class(place: str) -> None:
    call = "f(None)" if place == "parameter" else "f()"
    text = PLACES[place].format(head=HEAD, foo=FOO, type='Optional["Foo"]') + f"R = {call}.size\n"
    text = text.replace("    <:made", "    Make <:made").replace(
        '>\n    """', '>\n    ---\n    made = Foo()\n    ---\n    """'
    )
    assert outcome_of(text)["R"] == 1


@pytest.mark.parametrize("pattern", [r"\d+", "\\[", r"\\d"])
def test_a_text_that_python_warns_of_is_a_part_of_the_type(pattern: str) -> None:
    """Whatever a program does with warnings, as in pytest, its prompts have the same types, and none is printed."""
    text = f"""{HEAD}
def f():
    r'''natural
    Make <:made: Annotated[str, "{pattern}"]>.
    '''
    return made
"""
    with warnings.catch_warnings(action="error"):
        output = compiled(text).output
    assert output is not None
    assert b'types=lambda: {"made": Annotated[str, ' in output
