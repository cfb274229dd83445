"""What counts as data by its type: what a prompt can show whole, and JSON can tell apart.

A new kind is one line of a table: its type, and the reason why a block that reads or binds it needs code.
"""

from __future__ import annotations

import pytest

from case_programs import read_program
from compiling import compile_text
from njc.compiler.analysis.authority import Authority
from njrt.data.options import Options

HEAD = read_program("data_by_type")


def decide(text: str) -> Authority:
    compilation = compile_text(HEAD + text, Options())
    (authority,) = compilation.authorities
    return authority


def decide_input(kind: str, read: str = "<x>") -> Authority:
    return decide(
        f'def f(x: {kind}):\n    """natural\n    Look {read} up: <:y: str>\n    """\n    return y\n'
    )


def decide_output(kind: str) -> Authority:
    return decide(
        f'def f(x: str):\n    """natural\n    Read <x>: <:y: {kind}>\n    """\n    return y\n'
    )


@pytest.mark.parametrize(
    "kind",
    [
        *("Sequence[str]", "Collection[str]", "typing.AbstractSet[int]", "Mapping[str, int]"),
        *("range", "Plain", "Sequence[Plain]", "Checked", "Sized", "Color", 'Literal["Client"]'),
        *("type[Tool]", "Survey.Mood", "Survey.Item", "Longer.Mood", "Mapping[str, Longer.Item]"),
    ],
)
def test_inputs_that_are_data(kind: str) -> None:
    assert decide_input(kind).effects == "answer"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Iterable[str]", "it may use up `x: Iterable[str]`"),
        ("Iterable[str] | None", "it may use up `x: Iterable[str] | None`"),
        ("typing.Iterable[str]", "it may use up `x: typing.Iterable[str]`"),
        ("Sequence[Iterator[str]]", "it may use up `x: Sequence[Iterator[str]]`"),
        ("Generator[str, None, None]", "it may use up `x: Generator[str, None, None]`"),
        ("Container[str]", "it may change `x: Container[str]`"),
        ("Client", "it may call `Client.lookup` through `x`"),
        ("Heir", "it may call `Client.lookup` through `x`"),
        ("Holder", "it may call `Client.lookup` through `x`"),
        ("Sequence[Client] | None", "it may call `Client.lookup` through `x`"),
        ("Mapping[str, tuple[Client, ...]]", "it may call `Client.lookup` through `x`"),
        ("Loaded", "it may call `Loaded.load` through `x`"),
        ("Opened", "it may call `Opened.open` through `x`"),
        ("Called", "it may call `Called.__call__` through `x`"),
        ("Lazy", "it may call `Lazy.rows` through `x`"),
        ("Listed", "it may call `Listed.rows` through `x`"),
        ("Pair", "it may call `Pair.swap` through `x`"),
        ("Planet", "it may call `Planet.weigh` through `x`"),
        ("Literal[Planet.EARTH]", "it may call `Planet.weigh` through `x`"),
        ("Refused", "it may call `Refused.refund` through `x`"),
        ("Sent", "it may call `Sent.send` through `x`"),
        ("type[Store]", "it may call `Store.find` through `x`"),
        ("Survey.Client", "it may call `Client.lookup` through `x`"),
        ("Survey.Score", "it may change `x: Survey.Score`"),
    ],
)
def test_inputs_that_are_none(kind: str, reason: str) -> None:
    authority = decide_input(kind)
    assert (authority.effects, authority.reason) == ("direct", reason)


@pytest.mark.parametrize(
    ("read", "effects"),
    [
        *(("<x> with <Store>", "direct"), ("<x> with <Planet>", "direct")),
        *(("<x> with <Tool>", "answer"), ("<x> among <Color>", "answer")),
        *(("<x> or raise <Refused>", "answer"), ("<x> like <Survey.Mood>", "direct")),
    ],
)
def test_classes_in_the_text(read: str, effects: str) -> None:
    assert decide_input("str", read).effects == effects


@pytest.mark.parametrize(
    "kind",
    [
        *("date | None", "date | int", "uuid.UUID | int"),
        *("int | str", "Color | None", 'Literal["a"] | Color', "Planet"),
        *("date | list[str]", "Survey.Mood", "list[Survey.Score]", "Survey.Parts.Row"),
        *("Survey.Parts.Cell", "Survey.Item | None", "Longer.Mood", "Leaf", "list[Leaf]", "Folder"),
        *("Optional[File]", "NewPage"),
    ],
)
def test_outputs_that_are_data(kind: str) -> None:
    assert decide_output(kind).effects == "answer"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("date | str", "JSON does not tell `date` and `str` apart"),
        ("str | date | None", "JSON does not tell `str` and `date` apart"),
        ("uuid.UUID | str", "JSON does not tell `uuid.UUID` and `str` apart"),
        ("dict[str, datetime.time | str]", "JSON does not tell `datetime.time` and `str` apart"),
        ("list[date] | list[str]", "JSON does not tell `list[date]` and `list[str]` apart"),
        ("Union[datetime.timedelta, str]", "JSON does not tell `datetime.timedelta` and `str` apart"),
        ("Path | date", "JSON does not tell `Path` and `date` apart"),
        ("uuid.UUID | date", "JSON does not tell `uuid.UUID` and `date` apart"),
        ("list[int] | list[str]", "JSON does not tell `list[int]` and `list[str]` apart"),
        ("Dated", "JSON does not tell `date` and `str` apart"),
        ("Color | str", "JSON does not tell `Color` and `str` apart"),
        ("str | Shade | None", "JSON does not tell `str` and `Shade` apart"),
        ("Literal['RED'] | Color", "JSON does not tell `Literal['RED']` and `Color` apart"),
        ("Survey.Item | Longer.Item", "JSON does not tell `Survey.Item` and `Longer.Item` apart"),
        ("Survey.Unknown", "JSON does not carry `Survey.Unknown`, which declares no fields"),
        ("Survey.Missing", "njc does not see whether JSON carries `Survey.Missing`"),
    ],
)  # fmt: skip
def test_outputs_that_are_none(kind: str, reason: str) -> None:
    authority = decide_output(kind)
    assert (authority.effects, authority.reason) == ("direct", f"the output `y: {kind}`: {reason}")


def test_hints_name_the_types_that_can_be_shown() -> None:
    assert decide_input("Iterable[str]").remedy == (
        "annotate `x: Sequence[str]`, if the block only reads it"
    )
    assert 'write `effects="answer"`' in decide_input("Client").remedy


def test_objects_that_are_no_data_are_chosen_from_the_inputs() -> None:
    def list_chosen(kind: str, output: str, options: str = '(effects="answer")') -> bool:
        text = f'def f(x: {kind}):\n    """natural{options}\n    Choose of <x>: <:y: {output}>\n    """\n    return y\n'
        output_file = compile_text(HEAD + text, Options()).output
        assert output_file is not None
        return b'chooses="y"' in output_file

    assert list_chosen("list[Client]", "Client")
    assert list_chosen("Sequence[Survey.Score]", "list[Survey.Score] | None")
    assert list_chosen("Mapping[str, Tool]", "Tool | None")
    assert not list_chosen("Sequence[Plain]", "Plain")
    assert not list_chosen("Sequence[str]", "Client")
    assert not list_chosen("Sequence[Client]", "Holder")
    assert not list_chosen("Sequence[Client]", "Client", "")
