"""The agent, driven by hand: what it asks, what it does with every kind of reply, how it gives up."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from programs import PlainProgram, Program, ended_by

import njrt
from case_programs import read_program
from njrt.block.agent.conversation import MAX_REPEATS, Conversation, converse
from njrt.block.agent.handlers import make_handler
from njrt.block.block import Block
from njrt.data.options import DEFAULTS, Options, merge_option_layers
from njrt.data.outcome import Broke, Completed, Outcome
from njrt.execution.execute import Snippet, execute
from njrt.execution.scope.opening import make_scope
from njrt.execution.scope.scope import Scope
from njrt.messages import (
    Message,
    ModelMessage,
    Protocol,
    Reply,
    Request,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from njrt.testing import Scripted, call, run
from njrt.values.rendering.redaction import Redactor


class Played:
    """A conversation with a block over `x` (readable) and `y` (an output), carried on by hand."""

    def __init__(self, protocol: Protocol = "tools", **options: Any) -> None:
        chosen = merge_option_layers(Options(**options), DEFAULTS)
        self.scope = shared_scope()
        block = Block("Put twice <x> into <:y>.", ("break",), "case.njpy:3", False, chosen)
        handler = make_handler(block, self.scope, Redactor())
        serve = lambda effect, turn: handler.serve(effect)  # noqa: E731
        self.conversation: Conversation = converse(block, protocol, "OPENING", serve)
        self.requests: list[Request] = []

    def say(self, *replies: Reply) -> Outcome | None:
        """Give the replies in turn; the outcome, once there is one."""
        step = self.asked(next(self.conversation)) if not self.requests else None
        for reply in replies:
            try:
                step = self.conversation.send(reply)
                while isinstance(step, Snippet):
                    step = self.conversation.send(execute(step))
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            self.asked(step)
        return None

    def asked(self, step: Any) -> Request:
        assert isinstance(step, Request)
        self.requests.append(step)
        return step

    @property
    def last(self) -> Message:
        return self.requests[-1].messages[-1]

    def results(self) -> list[tuple[str, bool]]:
        """Return the texts of the results told last, and whether they are failures."""
        assert isinstance(self.last, ToolMessage)
        return [(result.text, result.failed) for result in self.last.results]


def shared_scope() -> Scope:
    x = 3
    y: Any = None
    del y
    return make_scope(lambda: (x, y), writes="y", at="case.njpy:3")  # noqa: F821


def reply(*calls: ToolCall, text: str = "", stop: Any = "end") -> Reply:
    named = tuple(
        ToolCall(f"c{number}", call.name, call.arguments, call.raw)
        for number, call in enumerate(calls)
    )
    return Reply(ModelMessage(text, named), stop)


def test_the_first_request() -> None:
    played = Played(max_reply_tokens=77, max_call_seconds=5, temperature=0.5)
    assert played.say() is None
    (request,) = played.requests
    assert request.messages == (UserMessage("OPENING"),)
    assert [tool.name for tool in request.tools] == ["run"]
    assert (request.max_reply_tokens, request.timeout, request.temperature) == (77, 5, 0.5)
    assert (request.place, request.turn) == ("case.njpy:3", 1)


USELESS = [
    (reply(), "Nothing was carried out"),
    (reply(text="   \n"), "Nothing was carried out"),
    (reply(text="I would double the number."), "Nothing was carried out"),
    (reply(run("y = 1", done=True), stop="length"), "Your reply was cut off"),
    (reply(text="```python\ny = ", stop="length"), "Your reply was cut off"),
]


@pytest.mark.parametrize(("useless", "advice"), USELESS)
def test_a_useless_reply_is_answered_with_advice(useless: Reply, advice: str) -> None:
    played = Played()
    played.say(useless)
    assert isinstance(played.last, UserMessage)
    assert played.last.text.startswith(advice)
    assert "call a tool" in played.last.text
    assert played.say(reply(run("y = 1", done=True))) == Completed()


@pytest.mark.parametrize(("useless", "trouble"), [
    (USELESS[0][0], "the reply was empty"),
    (USELESS[2][0], "holds no code and no call"),
    (USELESS[3][0], "raise max_reply_tokens"),
])  # fmt: skip
def test_useless_replies_in_a_row_end_the_block(useless: Reply, trouble: str) -> None:
    played = Played()
    with pytest.raises(njrt.ReplyError, match=trouble):
        played.say(*[useless] * 9)
    assert len(played.requests) == 3


def test_a_useful_reply_renews_the_patience() -> None:
    played = Played()
    for _ in range(3):
        assert played.say(reply(), reply(), reply(run("x"))) is None


def test_a_refusal_ends_the_block_with_the_models_own_words() -> None:
    with pytest.raises(njrt.ReplyError, match=r"the model refuses: I cannot help with that"):
        Played().say(reply(text="I cannot help\nwith that.", stop="refusal"))


def test_prose_is_kept_in_the_conversation() -> None:
    played = Played()
    played.say(reply(text="Let me think."))
    assert played.requests[-1].messages[1] == ModelMessage("Let me think.")


def test_calls_are_served_in_order_until_the_first_failure() -> None:
    played = Played()
    assert played.say(reply(run("y = [x]"), run("y + [1]"), run("y.nope"), run("y = 0"))) is None
    texts = [text for text, _ in played.results()]
    assert [failed for _, failed in played.results()] == [False, False, True, True]
    assert texts[1] == "[3, 1]"
    assert "AttributeError" in texts[2]
    assert texts[3] == "not carried out, because an earlier call of this reply failed"
    assert played.scope.read_value("y") == [3]


def test_what_follows_the_end_of_the_block_is_not_carried_out() -> None:
    played = Played()
    assert played.say(reply(run("y = x * 2", done=True), run("y = 2"))) == Completed()
    assert (played.scope.read_value("y"), len(played.requests)) == (6, 1)
    assert Played().say(reply(run("break"), run("1 / 0"))) == Broke()


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (call("python", code="1"), "there is no tool `python`; the tools are run"),
        (ToolCall("", "run", None, '{"code": '), "not a JSON object: '{\"code\": '; send run(code"),
        (call("run", done=True), "`run` needs `code`"),
        (call("run", code=3), "`code` must be a string"),
        (call("run", code="1", done="yes"), "`done` must be true or false"),
        (call("run", code="1", speed=2), "takes no `speed`"),
        (run("y = (1", done=True), "line 1"),
        (run("z", done=True), "`z`"),
        (run("x = 1", done=True), "`x` is read-only in this block"),
        (run("continue"), "continue"),
        (run("", done=True), "`y` is not bound yet; assign a value to"),
        (run("1 / 0"), "ZeroDivisionError: division by zero"),
    ],
)
def test_the_models_mistakes_are_told_what_to_do(wrong: ToolCall, advice: str) -> None:
    played = Played()
    assert played.say(reply(wrong)) is None
    ((text, failed),) = played.results()
    assert failed
    assert advice in text
    assert played.say(reply(run("y = 1", done=True))) == Completed()


def test_done_straight_after_an_error_is_refused() -> None:
    played = Played()
    played.say(reply(run("y = 1; 1 / 0")), reply(run("", done=True)))
    assert "not done" in played.results()[0][0]
    assert played.say(reply(run("y = 2", done=True))) == Completed()


def test_the_same_failing_answer_again_raises_the_temperature() -> None:
    played = Played()
    wrong, other = reply(run("1 / 0")), reply(run("int('x')"))
    played.say(wrong, wrong, wrong, other)
    assert [r.temperature for r in played.requests] == [None, None, 1.0, 1.0, 1.0]
    calm = Played()
    calm.say(reply(run("x")), reply(run("x")), reply(run("x")))
    assert {r.temperature for r in calm.requests} == {None}, "nothing has failed"


@pytest.mark.parametrize(
    ("temperature", "retries"),
    [
        (None, [1.0, 1.0]),
        (0.0, [0.5, 1.0]),
        (0.3, [0.8, 1.0]),
        (0.9, [1.0, 1.0]),
        (1.5, [1.5, 1.5]),
    ],
)
def test_the_temperature_of_a_retry_never_falls(
    temperature: float | None, retries: list[float]
) -> None:
    played = Played(temperature=temperature)
    played.say(*[reply(run("1 / 0"))] * 3)
    assert [request.temperature for request in played.requests] == [
        temperature,
        temperature,
        *retries,
    ]


@pytest.mark.parametrize("code", ["1 / 0", "{number} / 0"])
def test_equal_mistakes_end_the_block(code: str) -> None:
    wrong = [reply(run(code.format(number=number))) for number in range(MAX_REPEATS)]
    played = Played()
    played.say(reply(run("int('x')")), *wrong[:-1])
    with pytest.raises(njrt.ReplyError, match=rf"same mistake {MAX_REPEATS} times: ZeroD"):
        played.say(wrong[-1])
    assert len(played.requests) == MAX_REPEATS + 1


def test_the_text_protocol_answers_in_text() -> None:
    played = Played("text")
    played.say(reply(text="```python\n# look\nx\n```"))
    assert played.last == UserMessage("3")
    played.say(reply(text="```python\nz\n```"))
    assert isinstance(played.last, UserMessage)
    assert "`z`" in played.last.text
    played.say(reply(text="Now I am stuck."))
    assert played.last == UserMessage(
        "Nothing was carried out: your reply holds no code. Now answer with one ```python block."
    )
    assert played.say(reply(text="```python\ny = x * 2\n```")) == Completed()
    assert played.scope.read_value("y") == 6
    assert {request.tools for request in played.requests} == {()}


TYPED = Program('''
    def f(x):
        """natural
        Put <x> into <:y: list[int]>.
        """
        return y
''')


LOOPING = PlainProgram(read_program("agent_looping"))


@pytest.mark.parametrize("reasoning", ["none", "text", "ask"])
@pytest.mark.parametrize("name", ["with_continue", "with_return", "without"])
def test_the_example_of_a_prompt_neither_jumps_nor_adds(name: str, reasoning: Any) -> None:
    model = Scripted(["```python\nn = 4\n```"], protocol="text")
    function = LOOPING.load()[name]
    with njrt.using(model=model, reasoning=reasoning, authority="code", effects="direct"):
        function(["note"] if name == "with_continue" else "note")
    (request,) = model.requests
    system, _, example = request.system.partition("Example:\n")
    assert "The code runs once, for these values" in system
    assert not any(part in example for part in ("continue", "Allowed jumps", "+="))
    assert example.count("```") == 2


def test_an_output_of_the_wrong_type_is_sent_back_and_can_be_mended() -> None:
    assert TYPED.call("f", 1, says=ended_by("y = 'no'", "y = [x]")) == [1]
    assert "the code has run, but an output does not fit its type: `y`" in TYPED.told()[1]
    assert "do not repeat what it did" in TYPED.told()[1]


def test_private_names_are_shown_as_the_prompt_writes_them() -> None:
    program = Program("""
        class Box:
            def fill(self, __sizes: list[int]) -> int:
                \'\'\'natural
                Put the sum of <__sizes> into <:__total: int>.
                \'\'\'
                return __total

        def f():
            return Box().fill([1, 2])
    """)
    assert program.call("f", says=ended_by("__total = sum(__sizes)")) == 3
    opening = program.told()[0].partition("---\n")[2].splitlines()
    assert opening[:2] == ["__sizes: list[int], 2 items = [1, 2]", "__total: int, to be bound"]


def test_a_value_to_return_of_the_wrong_type_is_sent_back() -> None:
    program = Program("""
        def f(x) -> int:
            \'\'\'natural(effects="direct")
            Return how many <x> has.
            \'\'\'
    """)
    says = [run(f"return {value}", done=True) for value in ("'no'", "", "len(x)")]
    assert program.call("f", [1, 1], says=says) == 2
    assert "value to return does not fit its type: expected int, got str" in program.told()[1]
    with pytest.raises(njrt.OutputTypeError, match="expected int, got str"):
        program.call("f", [1], says=says[:1] * 9)


def test_an_output_that_never_fits_is_a_type_error() -> None:
    says: Iterable[Any] = ended_by(*["y = 'no'"] * 9)
    with pytest.raises(njrt.OutputTypeError, match=r"`y`.*list\[int\]") as caught:
        TYPED.call("f", 1, says=says)
    assert isinstance(caught.value, TypeError)
    assert caught.value.place == "program.njpy:3"
    assert len(TYPED.model.requests) == 4


def test_the_arguments_stand_in_the_conversation_as_the_model_wrote_them() -> None:
    played = Played()
    played.say(reply(run("x")))
    said = played.requests[-1].messages[1]
    assert isinstance(said, ModelMessage)
    assert json.loads(said.calls[0].raw) == {"code": "x", "done": False}


def test_a_reply_of_any_length_is_bounded() -> None:
    played = Played("text")
    start = time.process_time()
    played.say(reply(text="```python\n" + "y = 1\n" * 1_000_000 + "```"))
    assert isinstance(played.last, UserMessage)
    assert played.last.text.startswith("Your reply was too long")
    assert sum(len(str(message)) for message in played.requests[-1].messages) < 10_000
    assert time.process_time() - start < 2
