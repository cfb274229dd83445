"""The compiled file checks each value that static code binds to an output with a type, as live blocks do."""

from __future__ import annotations

import pytest
from studio import Studio, load

import njrt
from case_programs import read_program

FUNCTION = '''\
def put(some):
    """natural
    Put <some> into <:y: TYPE>.
    """
    return y
'''


@pytest.mark.parametrize(
    ("type_", "value", "problem"),
    [
        ("int", 3, ""),
        ("int", "3", "expected int, got str"),
        ("int", True, "expected int, got bool"),
        ("float", 3, ""),
        ("list[str]", ["a"], ""),
        ("list[str]", ["a", 1], "at 1: expected str, got int"),
        ("dict[str, int] | None", None, ""),
        ("dict[str, int] | None", {"a": "b"}, "expected"),
        ("Any", object(), ""),
    ],
)
def test_a_value_of_another_type_is_an_error(
    studio: Studio, type_: str, value: object, problem: str
) -> None:
    source = "from typing import Any\n\n\n" + FUNCTION.replace("TYPE", type_)
    put = load(studio.built(source, "y = some"))["put"]
    if not problem:
        assert put(value) is value
        return
    with pytest.raises(
        njrt.OutputTypeError, match=r"program.njpy:5: static code has bound `y`"
    ) as e:
        put(value)
    assert problem in str(e.value)
    assert e.value.place == "program.njpy:5"


DATE = read_program("output_types_date")


def test_types_are_found_as_in_live_blocks(studio: Studio) -> None:
    code = "self.size, date, price = some, some, some"
    replies = [f"```python\n{text}\n```" for text in (code, "made = some", "__kept = some")]
    studio.write({"program.njpy": DATE})
    studio.njc("build", "program.njpy", "--mode", "static", replies=replies)
    space = load(studio.read("program.py"))
    box, later, today = space["Box"](), space["Later"](), space["date"](2026, 3, 1)
    with pytest.raises(njrt.OutputTypeError, match=r"`self.size` to another type"):
        box.fill(None, None, "3")
    with pytest.raises(
        njrt.OutputTypeError, match=r"`date` to another type: expected date, got int"
    ):
        box.fill(today, None, 3)
    assert box.later(later) is later
    with pytest.raises(njrt.OutputTypeError, match=r"`made` to another type"):
        box.later(box)
    assert box.hide(3) == 3
    with pytest.raises(njrt.OutputTypeError, match=r"`__kept` to another type"):
        box.hide("3")


@pytest.mark.parametrize(
    "source",
    [
        'some = next(iter([SOME]))\n"""natural\nPut <some> into <:y: int>.\n"""\n',
        'some = next(iter([SOME]))\nclass C:\n    """natural\n    Put <some> into <:y: int>.\n    """\n',
        'some = next(iter([SOME]))\nclass C:\n    Size = int\n    """natural\n    Put <some> into <:y: Size>.\n    """\n',
        'some = next(iter([SOME]))\nfor _ in [1]: """natural\nPut <some> into <:y: int>.\n"""\n',
    ],
)
def test_modules_and_classes_are_checked_too(studio: Studio, source: str) -> None:
    load(studio.built(source.replace("SOME", "3"), "y = some"))
    (studio.folder / "njc.lock").unlink()
    with pytest.raises(njrt.OutputTypeError, match=r"expected int, got str"):
        load(studio.built(source.replace("SOME", "'a'"), "y = some"))


def test_a_jump_needs_no_output(studio: Studio) -> None:
    source = FUNCTION.replace("TYPE", "int").replace("<:y: int>", "<:y: int>, or return")
    put = load(studio.built(source, "if some is None:\n    return\ny = some"))["put"]
    assert (put(None), put(3)) == (None, 3)


def test_contained_code_is_checked_too(studio: Studio) -> None:
    source = FUNCTION.replace("TYPE", "int").replace("natural\n", 'natural(policy="contained")\n')
    put = load(studio.built(source, "y = some"))["put"]
    assert put(3) == 3
    with pytest.raises(njrt.NaturalError, match="expected int, got str"):
        put("3")


def test_an_output_without_a_type_needs_no_runtime(studio: Studio) -> None:
    load(studio.built(FUNCTION.replace(": TYPE", ""), "y = some"))
    assert "njrt" not in studio.read("program.py").partition("\n")[2]
