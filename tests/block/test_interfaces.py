"""Blocks whose effects are those of an interface of the program's own: `njrt.interface`."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import programs
import pytest
from programs import Program
from pydantic import AfterValidator, Field

import njrt
from anthropic_server import KEY as ANTHROPIC_KEY
from anthropic_server import AnthropicServer, message, tool_use
from case_programs import read_program
from njrt.effects import Perform, Run
from njrt.errors import CodeTimeLimitError, EffectLimitError
from njrt.interface import (
    Aliases,
    Answer,
    Broke,
    Completed,
    Continued,
    Handling,
    Raised,
    RawJson,
    Ref,
    Refusal,
    Returned,
)
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import RecordingFile
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from njrt.testing import Scripted, UserMessage, call
from openai_server import KEY, OpenAIServer, calls


class Product:
    """Something on the shelf."""

    def __init__(self, name: str, price: int) -> None:
        self.name, self.price = name, price


@dataclasses.dataclass
class Note:
    text: str
    tags: list[str]


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Basket:
    def __init__(self) -> None:
        self.reserved: list[tuple[str, int]] = []


NOTE = Note("t", [])
LATTE, TEA = Product("latte", 3), Product("tea", 2)
SEEN: list[Any] = []


Raw = Annotated[Any, RawJson({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a text")]


def make_keeper(declared: Any) -> Callable[[Any], None]:
    """A handler that keeps its argument, which has this type."""

    def keep(value: Any) -> None:
        """Keep it."""
        SEEN.append(value)

    keep.__annotations__["value"] = declared
    return keep


def find(text: str) -> list[Product]:
    """Find products by a part of their name."""
    return [product for product in (LATTE, TEA) if text in product.name]


def reserve(run: Handling[Basket], product: Product, count: int = 1) -> str:
    """Reserve some of a product."""
    if count < 1:
        raise ValueError("count must be positive")
    run.state.reserved.append((product.name, count))
    return "reserved"


def leave(
    run: Handling[Basket], how: Literal["break", "continue", "return", "raise", "end"]
) -> Any:
    """Leave the shop."""
    if how == "end":
        run.assign("total", sum(count for _, count in run.state.reserved))
    endings = {
        "break": Broke(),
        "continue": Continued(),
        "return": Returned(run.state),
        "raise": Raised(KeyError("closed")),
        "end": Completed(),
    }
    return endings[how]


def note_end(run: Handling[Basket]) -> None:
    SEEN.append((run.outcome, list(run.state.reserved)))


SHOP = njrt.Interface("shop", [find, reserve, leave], "Be brief.", Basket, note_end)

PROGRAM = Program(read_program("interfaces"))


@pytest.fixture(autouse=True)
def _forget() -> None:
    SEEN.clear()


def buy(*says: Any, favourite: Any = None, **settings: Any) -> Any:
    return PROGRAM.call("buy", "two lattes", favourite, says=says, **settings)


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


TOTALS = Program('''
    def buy(interface):
        """natural(interface=interface)
        Count, for <:total: int>.
        """
        return total
''')

ACTING = Program('''
    def act(interface, x):
        """natural(interface=interface)
        Do it with <x>, for <:y>.
        """
        return y

''')


def act(
    interface: njrt.Interface, *says: Any, x: Any = None, **settings: Any
) -> tuple[Any, Scripted]:
    """Run a block with the input `x` and the output `y` behind an interface; give `y` and the model."""
    ended = says if any("done" in str(each) for each in says) else (*says, call("done", y=1))
    result = ACTING.call("act", interface, x, says=ended, **settings)
    return result, ACTING.model


def told(model: Scripted) -> list[str]:
    """What the model was told after its opening."""
    return programs.told(model)[1:]


# ── what a handler may do ────────────────────────────────────────────────────────────────────────


def test_a_handler_resumes_with_a_value_and_objects_pass_by_reference() -> None:
    result = buy(
        call("find", text="t"), call("reserve", product=ref(2), count=None), call("done", total=1)
    )
    assert result == (1, 1)
    assert [(Completed(), [("tea", 1)])] == SEEN
    shown = PROGRAM.told()[1]
    assert shown.splitlines()[-1] == '[1]: {"type": "Ref", "addr": 2, "class": "Product"}'


@pytest.mark.parametrize(
    ("how", "result", "outcome"),
    [
        ("break", "left", Broke()),
        ("continue", "left", Continued()),
        ("end", (0, 1), Completed()),
    ],
)
def test_a_handler_jumps_or_ends_the_block(how: str, result: Any, outcome: Any) -> None:
    assert buy(call("leave", how=how), call("leave", how="break")) == result
    assert SEEN[0] == (outcome, [])


def test_a_handler_returns_an_object_of_the_program() -> None:
    returned = buy(
        call("reserve", product="favourite", count=2), call("leave", how="return"), favourite=LATTE
    )
    assert type(returned) is Basket
    assert returned.reserved == [("latte", 2)]


def test_a_handler_raises_in_the_program() -> None:
    with pytest.raises(KeyError, match="closed"):
        buy(call("leave", how="raise"))
    assert isinstance(SEEN[0][0], Raised)


def test_an_exception_of_a_handler_is_told_to_the_model() -> None:
    assert buy(
        call("reserve", product="favourite", count=0), call("done", total=0), favourite=TEA
    ) == (0, 1)
    assert PROGRAM.told()[1].startswith("ValueError: count must be positive")


def test_a_refusal_and_an_answer_are_told_as_they_are() -> None:
    def refuse() -> Refusal:
        """Refuse."""
        return Refusal("not today")

    def answer() -> Answer:
        """Answer."""
        return Answer("as is")

    def number() -> Answer:
        """Answer with a number."""
        return Answer(3)  # type: ignore[arg-type]

    def nothing() -> None:
        """Do nothing."""

    _, model = act(
        njrt.Interface("i", [refuse, answer, number, nothing]),
        call("refuse"),
        call("answer"),
        call("number"),
        call("nothing"),
    )
    assert told(model) == ["not today", "as is", "3", "Success"]


def test_an_interface_without_effects_gives_values_by_a_call() -> None:
    y, model = act(njrt.Interface("values", []), '{"y": 1}', call("done", y=[1, "a"]))
    assert y == [1, "a"]
    assert [tool.name for tool in model.requests[0].tools] == ["done"]
    assert "your reply holds no call. Now call a tool" in str(model.requests[1].messages[-1])


def test_in_text_the_model_is_asked_for_a_call() -> None:
    says = ['```json\n{"y": 6}\n```', '```json\n{"name": "done", "arguments": {"y": 6}}\n```']
    y, model = act(njrt.Interface("i", []), *says, protocol="text")
    assert y == 6
    assert str(model.requests[1].messages[-1]).count(
        "Nothing was carried out: your reply holds no call. Now answer with one ```json block that is a call."
    )


def test_later_changes_of_the_list_change_no_interface() -> None:
    effects = [find]
    interface = njrt.Interface("i", effects)
    effects.append(leave)
    _, model = act(interface, call("done", y=1))
    assert [tool.name for tool in model.requests[0].tools] == ["find", "done"]


def test_state_is_that_of_one_run() -> None:
    for _ in range(2):
        buy(call("reserve", product="favourite", count=1), call("done", total=1), favourite=TEA)
    assert [reserved for _, reserved in SEEN] == [[("tea", 1)], [("tea", 1)]]


def test_finally_runs_once_however_the_run_ends() -> None:
    with pytest.raises(EffectLimitError):
        buy(call("find", text="a"), call("find", text="b"), max_effects=1)
    with pytest.raises(njrt.PolicyError):
        buy(call("find", text="a"), intercept=lambda pending: njrt.Abort())
    assert [type(outcome) for outcome, _ in SEEN] == [EffectLimitError, njrt.PolicyError]


def test_finally_runs_if_the_task_of_an_async_block_is_cancelled() -> None:
    interface = njrt.Interface("slow", [find], state=Basket, finally_=note_end)
    model = Scripted([call("done")], delay=600)

    async def program() -> None:
        block = njrt.arun("natural\nWait.", lambda: (), at="a.njpy:1", interface=interface)
        task = asyncio.create_task(block)
        while not model.requests:
            await asyncio.sleep(0.001)
        task.cancel()
        await task

    with njrt.using(model=model), pytest.raises(asyncio.CancelledError):
        asyncio.run(program())
    assert [type(outcome) for outcome, _ in SEEN] == [asyncio.CancelledError]


def test_finally_has_the_time_limit_of_code() -> None:
    def stay(run: Handling[Any]) -> None:
        while True:
            pass

    with pytest.raises(CodeTimeLimitError):
        act(njrt.Interface("i", [find], finally_=stay), call("done", y=1), max_code_seconds=0.2)


def test_finally_cannot_leave_an_output_of_another_type() -> None:
    def bind(run: Handling[Any]) -> None:
        run.assign("total", "three")

    with pytest.raises(njrt.OutputTypeError, match=r"after `finally_`.*`total`"):
        TOTALS.call("buy", njrt.Interface("i", [find], finally_=bind), says=[call("done", total=1)])


def test_outputs_of_a_refused_done_are_not_bound() -> None:
    program = Program('''
        def buy(interface, total=0):
            while True:
                """natural(interface=interface)
                Put a count into <:total: int>, or break.
                """
                assert total > 3
            return total
    ''')

    says = [call("done", total=1), call("leave_by_break")]
    assert program.call("buy", njrt.Interface("i", [leave_by_break]), says=says) == 0
    assert "total > 3" in str(program.model.requests[1].messages[-1])


class Account:
    """An account whose total and limit are set from the start, and never to -1."""

    total = 0
    _Owned__limit = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if value == -1:
            raise ValueError("not negative")
        super().__setattr__(name, value)


ATTRIBUTES = Program('''
    from test_interfaces import Account

    class Owned(Account):
        def count(self, interface):
            """natural(interface=interface)
            Put the count into <:self.total: int>, and the limit into <:self.__limit: int>.
            """
            return self.total, self._Owned__limit

    def count(interface):
        return Owned().count(interface)
''')


def test_attributes_are_outputs_of_done_and_refused_if_missing_or_mistyped() -> None:
    says = [
        call("done", **{"self.total": 3}),
        call("done", **{"self.total": "three", "self.__limit": 4}),
        call("done", **{"self.total": -1, "self.__limit": 4}),
        call("done", **{"self.total": 5, "self.__limit": 4}),
    ]
    assert ATTRIBUTES.call("count", njrt.Interface("i", [find]), says=says) == (5, 4)
    missing, mistyped, rejected = told(ATTRIBUTES.model)
    assert "self.__limit" in missing
    assert "self.total" in mistyped
    assert "ValueError: not negative" in rejected


def test_handlers_bind_attributes() -> None:
    def end(run: Handling[Any]) -> Completed:
        """End it."""
        run.assign("self.total", 8)
        run.assign("self.__limit", 9)
        return Completed()

    assert ATTRIBUTES.call("count", njrt.Interface("i", [end]), says=[call("end")]) == (8, 9)


def test_long_results_are_cut_and_answers_are_whole() -> None:
    def read() -> Answer:
        """Read."""
        return Answer("x" * 100_000)

    def show() -> str:
        """Show."""
        return "x" * 100_000

    def refuse() -> Refusal:
        """Refuse."""
        return Refusal("y" * 100_000)

    interface = njrt.Interface("i", [read, show, refuse])
    _, model = act(interface, call("read"), call("show"), call("refuse"))
    assert [len(each) < 2_100 for each in told(model)] == [False, True, True]


async def double(x: int) -> int:
    """Double a number."""
    return 2 * x


def test_a_handler_has_the_time_limit_of_code() -> None:
    def loop() -> None:
        """Loop."""
        while True:
            pass

    with pytest.raises(CodeTimeLimitError):
        act(njrt.Interface("i", [loop]), call("loop"), max_code_seconds=0.1)


def test_a_handler_may_run_another_block() -> None:
    def nest(run: Handling[Any]) -> Any:
        """Ask inside."""
        return buy(call("done", total=7))

    result, model = act(njrt.Interface("i", [nest]), call("nest"))
    assert (result, told(model)[0].splitlines()[0]) == (1, "(7, 1)")
    assert [(Completed(), [])] == SEEN


# ── arguments ────────────────────────────────────────────────────────────────────────────────────


def send(handler: Callable[..., Any], x: Any = None, **arguments: Any) -> list[str]:
    """What the model is told after one call of a handler."""
    _, model = act(njrt.Interface("i", [handler]), call(handler.__name__, **arguments), x=x)
    return told(model)


def test_types_with_a_json_form_are_values() -> None:
    def keep(
        note: Note, size: Size, counts: dict[str, int], pair: tuple[int, str] | None = None
    ) -> None:
        """Keep all of it."""
        SEEN.append((note, size, counts, pair))

    send(keep, note={"text": "t", "tags": ["u"]}, size="LARGE", counts={"a": 1}, pair=None)
    send(keep, note={"text": "t", "tags": []}, size="SMALL", counts={"a": 1}, pair=[1, "b"])
    assert [
        (Note("t", ["u"]), Size.LARGE, {"a": 1}, None),
        (Note("t", []), Size.SMALL, {"a": 1}, (1, "b")),
    ] == SEEN


@pytest.mark.parametrize("declared", [Note, Annotated[Note, Field(description="A note.")]])
def test_a_value_of_such_a_type_may_be_a_reference_to_the_object_itself(declared: Any) -> None:
    note = Note("t", [])

    def show() -> list[Note]:
        """Show the notes."""
        return [note]

    keep = make_keeper(declared)
    act(njrt.Interface("i", [show, keep]), call("show"), call("keep", value=ref(1)))
    assert SEEN[0] is note


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Ref[Note], NOTE),
        (list[Ref[Note]], [NOTE]),
        (Ref[Note] | None, NOTE),
        (list[Ref[Note] | int], [3, NOTE]),
    ],
    ids=range(4),
)
def test_ref_takes_objects_and_never_copies(declared: Any, value: Any) -> None:
    keep = make_keeper(declared)
    assert send(keep, x=value, value="x") == ["Success"]
    (found,) = SEEN
    assert found is value
    (told,) = send(keep, x=7, value={"text": "t", "tags": []})
    assert told.startswith("`value`: it must be a reference")


MIXED: list[tuple[Any, Any, Any]] = [
    (list[Product], [ref(1), ref(2)], [LATTE, TEA]),
    (Sequence[Product], [ref(2)], [TEA]),
    (Product | None, ref(2), TEA),
    (Any, [1, "a"], [1, "a"]),
    (Any, ref(1), LATTE),
    (Ref[int], "x", 7),
    (Raw, ref(2), ref(2)),
]


@pytest.mark.parametrize(("declared", "sent", "value"), MIXED, ids=range(len(MIXED)))
def test_types_with_objects_inside_take_references_for_them(
    declared: Any, sent: Any, value: Any
) -> None:
    keep = make_keeper(declared)
    act(njrt.Interface("i", [find, keep]), call("find", text="t"), call("keep", value=sent), x=7)
    assert [value] == SEEN


@pytest.mark.parametrize(
    ("declared", "sent", "message"),
    [
        (list[Product], [3.5], "`value`: it must be a reference"),
        (list[Product], ["x"], "`value`: expected list[Product]; at 0: expected Product, got int"),
        (dict[str, Product], {"a": ref(1)}, "`value`: it must be a reference"),
        (Product | None, "x", "`value`: expected Product | None"),
        (Iterator[int], "x", "`value`: expected Iterator[int], got int"),
    ],
)
def test_a_wrong_part_is_refused(declared: Any, sent: Any, message: str) -> None:
    keep = make_keeper(declared)
    (told,) = send(keep, x=7, value=sent)
    assert told.startswith(message)
    assert not SEEN


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"product": "y"}, "`product`: `y` is not bound yet"),
        ({"product": "z"}, "`product`: there is no variable `z`; the variables are: x, y"),
        ({"product": "len"}, "`product`: there is no variable `len`; the variables are: x, y"),
        ({"product": ref(9)}, "`product`: there is no reference 9; the results of other calls have references"),
        ({"product": "x"}, "`product`: expected Product, got int"),
        ({"product": 5.5}, '`product`: it must be a reference, {"type": "Ref", "addr": N}, or the name of a variable'),
        ({}, "`reserve` needs `product`; send reserve(product, count)"),
        ({"product": "x", "many": 1}, "`reserve` takes no `many`"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_with_the_way_out(
    arguments: dict[str, Any], message: str
) -> None:
    assert send(reserve, x=3, **arguments) == [message]


def test_an_argument_with_a_default_may_be_null_or_missing() -> None:
    def keep(a: int = 3, b: str | None = "b", raw: Raw = 5) -> None:
        """Keep them."""
        SEEN.append((a, b, raw))

    send(keep)
    send(keep, a=None, b=None, raw=None)
    send(keep, a=4, b="c", raw=1)
    assert SEEN == [(3, "b", 5), (3, None, 5), (4, "c", 1)]


def test_aliases_and_names_of_effects() -> None:
    def break_(why: Annotated[str, Aliases("reason")]) -> None:
        """Break."""
        SEEN.append(why)

    act(njrt.Interface("i", {"break": break_}), call("break", reason="late"))
    assert SEEN == ["late"]


@pytest.mark.parametrize(
    ("declared", "sent", "message"),
    [
        (Annotated[int, Field(gt=2)], 2, "`value`: Input should be greater than 2"),
        (Annotated[str, Aliases("text"), Field(pattern="^a")], "b", "`value`: String should match pattern '^a'"),
        (Annotated[list[int], Field(min_length=1)], [], "`value`: List should have at least 1 item"),
        (Annotated[int, AfterValidator(int.bit_count)], 7, 3),
        (Annotated[Product, Field(description="The product.")], "x", TEA),
        (Annotated[int, "a note"], 7, 7),
    ],
)  # fmt: skip
def test_an_annotation_with_constraints_is_checked(declared: Any, sent: Any, message: Any) -> None:
    keep = make_keeper(declared)
    (answer,) = send(keep, x=TEA, value=sent)
    if isinstance(message, str):
        assert answer.startswith(message)
        assert not SEEN
    else:
        assert [message] == SEEN


def test_an_output_without_a_json_form_is_done_by_reference() -> None:
    program = Program('''
        from test_interfaces import FIND, Product

        def search():
            """natural(interface=FIND)
            Find <:tea: Product>.
            """
            return tea
    ''')
    assert program.call("search", says=[call("find", text="tea"), call("done", tea=ref(1))]) is TEA


FIND = njrt.Interface("finding", [find])


# ── effects of the runtime behind an interface ───────────────────────────────────────────────────


def leave_by_break() -> Broke:
    """Leave."""
    return Broke()


def run_code(code: str, done: bool = False) -> Run:
    """Run code."""
    return Run(code, done)


def end() -> Completed:
    """End."""
    return Completed()


RUNNING = njrt.Interface("python", {"run": run_code, "done": end, "break": leave_by_break})


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("x[0] + 1", "4"),
        ("print('a'); x", "| a\n[3]"),
        ("x.append(5)", "None"),
        ("z = 4", "Success"),
        ("x = 5", "`x` is read-only in this block"),
        ("1 / 0", "ZeroDivisionError"),
        ("open('a')", "`open` is refused in a block"),
        ("break", "`break`"),
    ],
)
def test_a_handler_may_return_code_for_the_runtime_to_run(code: str, answer: str) -> None:
    y, model = act(RUNNING, call("run", code=code), call("run", code="y = x", done=True), x=[3])
    assert y[0] == 3
    assert answer in told(model)[0]


def test_code_of_a_handler_may_end_the_block_once_its_outputs_are_bound() -> None:
    says = [call("run", code=code, done=True) for code in ("1", "y = 1 / 0", "y = 5")]
    y, model = act(RUNNING, *says)
    assert y == 5
    assert [text.split(";")[0].split("\n")[0] for text in told(model)] == [
        "`y` is not bound yet",
        "ZeroDivisionError: division by zero",
    ]


def test_code_of_a_handler_jumps_in_the_program() -> None:
    assert act(RUNNING, call("run", code="return x * 2"), x=4)[0] == 8
    with pytest.raises(KeyError, match="mine"):
        act(RUNNING, call("run", code="raise KeyError('mine')"))


def test_a_jump_of_a_handler_must_be_legal() -> None:
    interface = njrt.Interface("i", [end, leave_by_break])
    says = [call("leave_by_break"), *[call("end")] * 4]
    with pytest.raises(njrt.ReplyError, match="not bound"):
        act(interface, *says)
    model = ACTING.model
    assert told(model) == [
        "`break` is not possible here; the labels are raise, return",
        *["`y` is not bound yet; end by `done`, with all outputs"] * 3,
    ]


# ── what surrounds it ────────────────────────────────────────────────────────────────────────────


def test_effects_are_shown_to_interceptors_and_may_be_edited_or_rejected() -> None:
    asked: list[njrt.PendingEffect] = []

    def decide(pending: njrt.PendingEffect) -> Any:
        asked.append(pending)
        match pending.effect:
            case Perform("shop.reserve", {"count": 9}):
                return njrt.Edit(Perform("shop.reserve", {"product": "favourite", "count": 1}))
            case Perform("shop.leave"):
                return njrt.Reject("stay")
        return njrt.Accept()

    says = [
        call("leave", how="break"),
        call("reserve", product="favourite", count=9),
        call("done", total=1),
    ]
    assert buy(*says, favourite=TEA, intercept=decide) == (1, 1)
    assert [(Completed(), [("tea", 1)])] == SEEN
    assert [pending.effect.function for pending in asked] == [
        "shop.leave",
        "shop.reserve",
        "shop.done",
    ]  # type: ignore[union-attr]
    assert {pending.effects for pending in asked} == {"interface"}


def test_an_edit_to_an_effect_of_another_set_is_an_error() -> None:
    with pytest.raises(njrt.InterceptorError, match="the effects of `interface` are: Perform"):
        buy(call("find", text="a"), intercept=lambda pending: njrt.Edit(Run("x = 1", True)))

    def redirect(pending: njrt.PendingEffect) -> Any:
        is_find = pending.effect == Perform("finding.find", {"text": "a"})
        return njrt.Edit(Perform("other.find", {})) if is_find else njrt.Accept()

    _, model = act(FIND, call("find", text="a"), intercept=redirect)
    assert told(model) == ["the interface of this block has no effect `other.find`"]


def test_a_recording_replays_an_interface_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    says = [call("find", text="t"), call("reserve", product=ref(1), count=2), call("done", total=2)]
    assert buy(*says, record=path) == (2, 1)
    assert PROGRAM.call("buy", "two lattes", None, says=[], record=f"none:{path}") == (2, 1)
    assert [(Completed(), [("latte", 2)])] * 2 == SEEN
    assert len(read_recording(RecordingFile(path)).entries) == 3


PAID: list[int] = []


@njrt.gated(decide="ask")
def pay(cents: int) -> str:
    """Pay."""
    PAID.append(cents)
    return f"paid {cents}"


def test_a_gated_function_in_a_handler_is_decided_and_made_once(tmp_path: Path) -> None:
    def check_out(cents: int) -> str:
        """Pay for the basket."""
        return pay(cents)

    interface = njrt.Interface("till", [check_out])
    path = tmp_path / "till.jsonl"
    seen: list[Any] = []

    def decide(pending: njrt.PendingEffect) -> njrt.Accept:
        seen.append(pending.effect)
        return njrt.Accept()

    PAID.clear()
    act(interface, call("check_out", cents=5), intercept=decide, record=path)
    assert [getattr(effect, "function", "") for effect in seen] == ["till.check_out", "test_interfaces.pay", "till.done"]  # fmt: skip
    ACTING.call("act", interface, None, says=[], intercept=decide, record=f"none:{path}")
    assert PAID == [5]


def test_the_trace_has_calls_with_their_results(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    act(FIND, call("find", text="x"), trace=trace)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    performed = [line["effect"] for line in lines if "effect" in line]
    assert performed[0] == {
        "kind": "Perform",
        "function": "finding.find",
        "arguments": {"text": "x"},
    }


def test_secrets_in_results_are_redacted() -> None:
    def key() -> str:
        """Return the key."""
        return "sk-proj-" + "a1B2c3D4" * 6

    _, model = act(njrt.Interface("i", [key]), call("key"))
    assert "a1B2c3D4a1B2c3D4" not in told(model)[0]


def test_the_text_protocol_lists_the_effects_and_reads_calls() -> None:
    says = [
        '```json\n{"name": "reserve", "arguments": {"product": "favourite", "count": 2}}\n```',
        '```json\n{"name": "done", "arguments": {"total": 2}}\n```',
    ]
    assert buy(*says, favourite=LATTE, protocol="text") == (2, 1)
    system = PROGRAM.model.requests[0].system
    assert "- reserve(product: reference, count: integer): Reserve some of a product." in system
    assert "Be brief." in system
    assert not PROGRAM.model.requests[0].tools


def test_the_prompt_names_no_jumps() -> None:
    buy(call("done", total=1))
    (message,) = PROGRAM.model.requests[0].messages
    assert isinstance(message, UserMessage)
    assert message.text.endswith("total: int, to be bound")


def everything(
    a: int, b: Note, c: dict[str, list[Size]], d: Raw, e: Ref[Product], f: tuple[int, str], g: float | None = None
) -> None:  # fmt: skip
    """Take everything."""
    SEEN.append((a, b, c, d, e, f, g))


def test_both_vendors_accept_the_tools() -> None:
    interface = njrt.Interface("all", [everything, reserve, find])
    sent = {
        "a": 1, "b": {"text": "t", "tags": []}, "c": {"k": ["LARGE"]}, "d": "text",
        "e": "x", "f": [1, "b"], "g": None,
    }  # fmt: skip

    program = ACTING.load()["act"]
    asked = [("everything", sent), ("done", {"y": 5})]
    with OpenAIServer([calls((name, json.dumps(given))) for name, given in asked]) as server:
        model: Any = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY)
        with njrt.using(model=model):
            assert program(interface, LATTE) == 5
    with AnthropicServer([message(tool_use("t", *each)) for each in asked]) as server:
        model = Anthropic("claude-sonnet-4-6", vendor_url=server.url, key=ANTHROPIC_KEY)
        with njrt.using(model=model):
            assert program(interface, LATTE) == 5
    assert [(1, Note("t", []), {"k": [Size.LARGE]}, "text", LATTE, (1, "b"), None)] * 2 == SEEN


# ── what cannot be an interface ──────────────────────────────────────────────────────────────────


def no_docstring(a: int) -> None: ...


def no_type(a) -> None:  # type: ignore[no-untyped-def]
    """Lack a type."""


def many(*a: int) -> None:
    """Take many."""


def unknown(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """Take what is not defined."""


def take_late(x: int, run: Handling[None]) -> None:
    """Take it."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: njrt.Interface("", [find]), "its name must be 1 to 64 letters"),
        (lambda: njrt.Interface("a b", [find]), "its name must be .*, not 'a b'"),
        (lambda: njrt.Interface("i", {"": find}), "the name of an effect must be .*, not ''"),
        (lambda: njrt.Interface("i", {"find it": find}), "the name of an effect must be .*, not 'find it'"),
        (lambda: njrt.Interface("i", [3]), "an effect is a plain function, not 3"),  # type: ignore[list-item]
        (lambda: njrt.Interface("i", [double]), "an effect is a plain function, not <function double"),
        (lambda: njrt.Interface("i", [find, find]), "two effects are named `find`"),
        (lambda: njrt.Interface("i", [no_docstring]), "the effect `no_docstring` has no docstring"),
        (lambda: act(njrt.Interface("i", [no_type])), "the parameter `a` of `no_type` has no type"),
        (lambda: act(njrt.Interface("i", [many])), "the parameter `a` of `many` cannot be passed by its name"),
        (lambda: act(njrt.Interface("i", [unknown])), "the annotations of `unknown` cannot be evaluated"),
        (lambda: act(njrt.Interface("i", [take_late])), "`run` of `take_late` is a `Handling`: write it"),
        (lambda: act("shop"), r"program.njpy:3: interface= takes an njrt.Interface, not str"),  # type: ignore[arg-type]
        (lambda: act(None), r"program.njpy:3: interface= takes an njrt.Interface, not NoneType"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_a_part_that_cannot_be_used_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(njrt.ConfigurationError, match=message):
        make()


@dataclasses.dataclass
class Node:
    x: int
    kids: list[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Pair:
    first: Note
    second: Note


def make_twice() -> type:
    """Return a class that uses another class twice."""
    made = dataclasses.make_dataclass("Inner", [("y", str)], namespace={"__module__": __name__})
    return dataclasses.make_dataclass("Twice", [("a", made), ("b", made)])


List: Any
Tuple: Any
List, Tuple = list, tuple  # for types that are made at run time
SHAPES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda kind: kind, lambda value: value),
    (lambda kind: List[kind], lambda value: [value]),
    (lambda kind: Tuple[kind, int], lambda value: [value, 1]),
]
"""Types with a class in them, and their values."""
NODE = {"x": 1, "kids": [{"x": 2}]}
NOTE = {"text": "a", "tags": ["b"]}


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize(("kind", "value"), [(Node, NODE), (Pair, {"first": NOTE, "second": NOTE})])
def test_every_reference_of_a_schema_is_defined_at_its_root(
    shape: int, kind: type, value: Any
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    make, write = SHAPES[shape]

    def take(value: Any, other: Any) -> None:
        """Take two values."""

    twice: Any = make_twice()
    take.__annotations__ = {"value": make(kind), "other": List[twice]}
    _, model = act(njrt.Interface("shop", [take]))
    schema = dict(model.requests[0].tools[0].parameters)
    jsonschema.Draft202012Validator.check_schema(schema)
    inner = {key: part for key, part in schema.items() if key != "$defs"}
    assert "$defs" not in json.dumps([inner, *schema["$defs"].values()]).replace("#/$defs/", "")
    right = {"value": write(value), "other": [{"a": {"y": "b"}, "b": {"y": "c"}}]}
    jsonschema.validate(right, schema)
    for wrong in ({"value": write({"y": "b"})}, {"other": [{"a": NODE, "b": NODE}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(right | wrong, schema)


# ── ways out ─────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass
class Line:
    product: Product
    count: int


def test_an_output_without_a_type_may_be_an_object() -> None:
    assert act(FIND, call("find", text="tea"), call("done", y=ref(1)))[0] is TEA


def test_a_refusal_names_what_the_model_can_do() -> None:
    def sell(line: Line) -> str:
        """Sell."""
        return "sold"

    def drop(line: Line | None) -> str:
        """Drop."""
        return "dropped"

    def apply(rule: Callable[[int], str]) -> str:
        """Apply."""
        return "applied"

    line = {"product": ref(1), "count": 1}
    says = [call("end"), call("sell", line=line), call("drop", line=line)]
    says += [call("apply", rule="x"), call("done", y=1)]
    _, model = act(njrt.Interface("i", [end, sell, drop, apply]), *says, x=3)
    assert told(model) == [
        "`y` is not bound yet; end by `done`, with all outputs",
        '`line`: it must be a reference, {"type": "Ref", "addr": N}, or the name of a variable',
        '`line`: it must be a reference, {"type": "Ref", "addr": N}, or the name of a variable',
        "`rule`: expected Callable[[int], str], got int",
    ]


def test_an_exception_of_finally_is_raised_in_the_program_and_rolls_back() -> None:
    def check(run: Handling[None]) -> None:
        if run.outcome == Completed():
            raise LookupError("the door is stuck")

    y, rows = 1, [1]
    interface = njrt.Interface("i", [], finally_=check)
    model = Scripted([call("done", y=2)])
    with pytest.raises(LookupError, match="stuck"), njrt.using(model=model):
        njrt.run(
            "natural\nPut <rows> into <:y>.",
            lambda: (rows, y),
            writes="y",
            at="a.njpy:1",
            interface=interface,
            on_error="rollback",
        )
    assert y == 1
