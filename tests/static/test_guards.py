"""Guards from annotations: a value that fits its annotation is never refused, and one that does not is, where it can be seen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from studio import Studio

import njrt
from njc.frontend.source import SourceFile
from njc.project.units import Unit
from njc.static.fit import find_annotated_shapes, make_static_file
from njrt.options import Options
from njrt.values.shapes import has_shape

PROGRAM = '''\
import typing
from typing import *

{prelude}
class Mail: ...
class Reply(Mail): ...
class Shown(Protocol): ...

def answer(value: {annotation}):
    """natural
    Put the answer to <value> into <:text>.
    """
    return text
'''


def shape_of(annotation: str, prelude: str = "") -> str | None:
    program = PROGRAM.format(annotation=annotation, prelude=prelude)
    unit = Unit(Path("program.njpy"), Path(), Path("program.py"))
    source = SourceFile("program.njpy", program.encode())
    file = make_static_file(unit, source, Options(mode="auto"))
    assert file is not None
    return find_annotated_shapes(file.holes[0], file.classes).get("value")


class Mail: ...


class Reply(Mail): ...


Values = tuple[list[Any], list[Any]]
"""Values that fit an annotation, and others."""
BASES: dict[str, Values] = {
    "int": ([1, True], ["x", 1.5]),
    "float": ([1.5, 1], ["x", None]),
    "str": (["x", ""], [1, b"x"]),
    "Mail": ([Mail(), Reply()], [object(), "Mail"]),
    '"Mail"': ([Mail(), Reply()], [object(), "Mail"]),
    '" Reply "': ([Reply()], [Mail()]),
}
FORMS: dict[str, Callable[[list[Any], list[Any]], Values]] = {
    "{}": lambda good, bad: (good, bad),
    **dict.fromkeys(
        ("Optional[{}]", "typing.Optional[{}]", "Union[{}, None]", "Union[None, {}]", "None | {}"),
        lambda good, bad: ([*good, None], [value for value in bad if value is not None]),
    ),
    "Annotated[{}, 'a note']": lambda good, bad: (good, bad),
    **dict.fromkeys(
        ("list[{}]", "List[{}]", "typing.List[{}]"),
        lambda good, bad: ([[], good, good[:1]], [bad[:1], [*good, bad[0]], "", None]),
    ),
    **dict.fromkeys(
        ("dict[str, {}]", "Dict[str, {}]"),
        lambda good, bad: ([{}, {"a": good[0]}], [{"a": bad[0]}, {1: good[0]}, []]),
    ),
    "tuple[{}]": lambda good, bad: ([(good[0],)], [(bad[0],), (), (good[0], good[0])]),
    "tuple[{}, ...]": lambda good, bad: ([(), tuple(good)], [[], None]),
    "Tuple[{}, str]": lambda good, bad: ([(good[0], "a")], [(bad[0], "a"), (good[0],)]),
}


def make_annotations() -> Iterator[tuple[str, Values]]:
    """Yield each form of each form of each base."""
    for (base, values), inner, outer in itertools.product(BASES.items(), FORMS, FORMS):
        within = FORMS[inner](*values)
        yield outer.format(inner.format(base)), FORMS[outer](*within)


def test_values_that_fit_their_annotation_fit_the_guard() -> None:
    wrong = []
    for annotation, (good, bad) in make_annotations():
        shape = shape_of(annotation)
        assert shape is not None, annotation
        wrong += [(annotation, shape, value) for value in good if not has_shape(value, shape)]
        wrong += [(annotation, shape, value, "bad") for value in bad if has_shape(value, shape)]
    assert wrong == []


@pytest.mark.parametrize(
    ("annotation", "prelude", "shape"),
    [
        ("int", "", "int"),
        ("None", "", "None"),
        ("'int'", "", "int"),
        ("list", "", "list"),
        ("list[str]", "", "list[str]"),
        ("dict[str, list[int]]", "", "dict[str, list[int]]"),
        ("tuple[int, ...]", "", "tuple"),
        ("Mail", "", "Mail"),
        ("Mail | None", "", "Mail | None"),
        ("Optional[int]", "", "int | None"),
        ("Optional[Mail]", "", "Mail | None"),
        ("Optional[list[str]]", "", "list[str] | None"),
        ("'Optional[Mail]'", "", "Mail | None"),
        ("Optional[Shown]", "", None),
        ("int | Other", "", None),
        ("Shown", "", None),
        ("tuple[()]", "", "tuple"),
        ("Final[int]", "", "int"),
        ("list['Sequence[int]']", "", "list[object]"),
        *(
            (form, "", None)
            for form in ("Sequence[int]", "Shown", "Callable[[], int]", "Any", "'a b'")
        ),
        ("int", "int = str", None),
        ("list[int]", "class list: ...", None),
        ("Optional[int]", "class Optional: ...", None),
        ("Mail", "Json = list", "Mail"),
        ("Json", "Json = list", None),
    ],
)
def test_only_what_a_name_means_for_sure_is_a_guard(
    annotation: str, prelude: str, shape: str | None
) -> None:
    assert shape_of(annotation, prelude) == shape


PRIVATE = '''\
class Box:
    def double(self, __n: int):
        """natural
        Put twice <__n> into <:__twice: int>.
        """
        return __twice
'''


def test_private_names_are_guarded_and_bound(studio: Studio) -> None:
    space: dict[str, Any] = {}
    exec(studio.built(PRIVATE, "__twice = __n * 2", mode="auto"), space)
    assert 'expect(__n="int")' in studio.read("program.py")
    model = njrt.Scripted([{"__twice": 0}], protocol="text")
    with njrt.using(model=model):
        assert space["Box"]().double(4) == 8
        assert model.requests == []
        assert space["Box"]().double("4") == 0
