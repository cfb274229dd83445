"""The effect set `answer`: replies are data, and no code of the model runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from programs import PlainProgram, Program

import njrt
from case_programs import read_program
from njrt.testing import ModelMessage, Reply, ToolCall, ToolMessage, UserMessage, run

PROGRAM = PlainProgram(read_program("answer"))


def call(name: str, *arguments: Any, says: list[Any], **settings: Any) -> Any:
    return PROGRAM.call(name, *arguments, says=says, **settings)


def test_the_model_reads_instruction_values_and_form() -> None:
    program = PlainProgram('''
        from typing import Literal
        ticket = "Where is it?"
        """natural(effects="answer")
        Put into <:team: Literal["billing", "shipping"]> the team that should answer <ticket>.
        """
    ''')
    assert program.load([{"team": "shipping"}])["team"] == "shipping"
    (request,) = program.model.requests
    assert request.messages[0].text == (
        'Put into <:team: Literal["billing", "shipping"]> the team that should answer <ticket>.\n'
        "---\n"
        "ticket = 'Where is it?'\n"
        'Reply with {"team": "billing" | "shipping"}'
    )
    assert request.tools == ()
    assert request.schema["anyOf"][0]["properties"] == {
        "team": {"enum": ["billing", "shipping"], "type": "string"}
    }


def test_an_output_that_the_text_also_reads_is_shown_with_its_value() -> None:
    program = PlainProgram('''
        def double(n: int, m: int, k: int):
            for _ in range(2):
                """natural
                Put into <:n: int> twice <n>, into <:m: int> twice <k>, and a number below <other> into <:other: int>.
                """
            return n
    ''')
    replies = [{"n": n, "m": 6, "other": n + 1} for n in (14, 28)]
    assert program.call("double", 7, 5, 3, says=replies) == 28
    shown = [request.messages[0].text.split("---\n")[1] for request in program.model.requests]
    form = 'Reply with {"n": integer, "m": integer, "other": integer}'
    assert shown == [f"n = 7\nk = 3\n{form}", f"n = 14\nk = 3\nother = 15\n{form}"]


def test_outputs_of_all_kinds_are_made_of_json() -> None:
    reply = {"order": {"dish": "soup", "count": 2}, "color": "BLUE", "notes": {"a": 1}}
    order, color, notes = call("read", "...", says=[reply])
    assert (type(order).__name__, order.count, color.name, notes) == ("Order", 2, "BLUE", {"a": 1})


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([{"size": 1}, {"size": 2}, {"size": 3}], [1, 2, 3]),
        ([{"size": 1}, {"break": True}], [1]),
        ([{"continue": True}, {"size": 2}, {"break": True}], [2]),
        ([{"return": 7}], 7),
        ([{"return": None}], None),
    ],
)
def test_jumps_are_data(replies, expected) -> None:
    assert call("jump", "abc", says=replies) == expected


def test_an_exception_is_raised_by_name() -> None:
    with pytest.raises(Exception, match="no moon") as caught:
        call("jump", "a", says=[{"raise": "NotForSale", "message": "no moon"}])
    assert type(caught.value).__name__ == "NotForSale"
    with pytest.raises(ValueError, match="no"):
        call("route", "a", says=[{"raise": "ValueError", "message": "no"}])


def test_a_block_without_outputs_may_pass_or_jump() -> None:
    assert call("stay", "a", says=[{"pass": True}]) == "stayed"
    assert call("stay", "a", says=[{"return": None}]) is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"team": "sales"}, "'billing' or 'shipping'"),
        ({}, "`team` is missing"),
        ({"team": "billing", "why": "x"}, "no output `why`"),
        ({"break": True}, "`break` is not possible here"),
        ({"raise": "Nothing", "message": ""}, "no exception `Nothing`"),
        ("billing", "no JSON object"),
        ('["billing"]', "no JSON object"),
        ('{"team": ', "no JSON object"),
        (Reply(ModelMessage('{"team": "bil'), stop="length"), "cut off"),
        ('{"team": "billing"}' + " " * 300_000, "too long"),
        ('{"team": ["billing"] "and": 4}', "Expecting ',' delimiter: line 1 column 22"),
        ('{"team": "cut', "Unterminated string"),
        (f'{{"team": {"9" * 5000}}}', "4300 digits"),
    ],
    ids=range(13),
)
def test_a_reply_that_does_not_fit_is_sent_back_with_the_reason(wrong, words) -> None:
    assert call("route", "a", says=[wrong, {"team": "billing"}]) == "billing"
    assert words in PROGRAM.told()[-1]


def test_a_model_that_never_fits_is_given_up() -> None:
    with pytest.raises(njrt.OutputTypeError, match="the form"):
        call("route", "a", says=[{"team": f"t{number}"} for number in range(9)])


@pytest.mark.parametrize(
    "text",
    [
        '{"team": "billing"}',
        '```json\n{"team": "billing"}\n```',
        'Sure:\n```json\n{"team": "billing"}\n```\nThat is it.',
        ' {"team":\n"billing"} ',
    ],
)
def test_text_around_the_object_is_accepted(text) -> None:
    assert call("route", "a", says=[text]) == "billing"


def test_a_model_may_ask_for_code_and_gets_it() -> None:
    replies = [{"needs_code": "counting"}, run("size = len(text)", done=True), {"break": True}]
    with njrt.watch() as watch:
        assert call("jump", ["abcd", "x"], says=replies) == [4]
    assert [call.request.turn for call in watch.runs[0].calls] == [1, 2]
    assert watch.totals.needed_code == 1


def test_strict_authority_lets_no_code_run() -> None:
    with pytest.raises(njrt.PolicyError, match="counting"):
        call("jump", ["a"], says=[{"needs_code": "counting"}], authority="strict")


def test_strict_authority_offers_no_code() -> None:
    call("route", "a", says=[{"team": "billing"}], authority="strict")
    assert "needs_code" not in json.dumps(PROGRAM.model.requests[0].schema)
    assert "needs_code" not in PROGRAM.model.requests[0].system


ATTACKS = [
    "```python\nimport os; os.environ['PWNED'] = '1'\n```",
    "__import__('os').environ.__setitem__('PWNED', '1')",
    '{"code": "import os; os.environ[\'PWNED\'] = \'1\'", "done": true}',
    '{"name": "run", "arguments": {"code": "import os; os.environ[\'PWNED\'] = \'1\'", "done": true}}',
    '{"team": {"__class__": "os.system", "args": ["touch pwned"]}}',
    '{"team": {"type": "Ref", "addr": 1}}',
    '{"raise": "os.abort", "message": ""}',
    '{"raise": "__import__", "message": "os"}',
    '{"raise": "SystemExit", "message": "0"}',
    '{"raise": "eval", "message": "1/0"}',
    '{"return": {"__reduce__": "os.system"}}',
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_model_says_runs_as_code(attack, monkeypatch) -> None:
    import os

    monkeypatch.delenv("PWNED", raising=False)
    assert call("route", "a", says=[attack, {"team": "billing"}]) == "billing"
    assert "PWNED" not in os.environ


def test_calls_of_tools_that_were_not_offered_run_nothing() -> None:
    replies = [run("ticket = 1 / 0", done=True), {"team": "billing"}]
    assert call("route", "a", says=replies) == "billing"


WAY = 'If only code can do it, reply {"needs_code": "why"}.'


@pytest.mark.parametrize(
    "code",
    [
        "```python\nteam = 'billing'\n```",
        "Sure:\n```py\nteam = 'billing'\n```",
        "team = 'billing'",
        "import os\nprint(os.environ)",
        {"code": "team = 'billing'", "done": True},
        run("team = 'billing'", done=True),
    ],
)
def test_a_reply_with_code_is_told_how_to_get_code(code) -> None:
    assert call("route", "a", says=[code, {"team": "billing"}]) == "billing"
    assert PROGRAM.told()[1] == f"No code runs here. Reply with the JSON object alone. {WAY}"
    replies = [code, {"needs_code": "counting"}, run("team = 'shipping'", done=True)]
    assert call("route", "a", says=replies) == "shipping"
    assert call("route", "a", says=[code, {"team": "billing"}], authority="strict") == "billing"
    assert PROGRAM.told()[1] == "No code runs here. Reply with the JSON object alone."


@pytest.mark.parametrize("text", ["It is for billing.", "billing", '["billing"]', "12"])
def test_a_reply_that_is_no_code_is_not(text) -> None:
    assert call("route", "a", says=[text, {"team": "billing"}]) == "billing"
    assert "needs_code" not in PROGRAM.told()[1]


def test_an_output_may_be_named_code() -> None:
    program = Program('''
        def f(x):
            """natural(effects="answer")
            Put into <:code: str> the code for <x>.
            """
            return code
    ''')
    assert program.call("f", "a", says=[{"code": "b"}]) == "b"


def test_outputs_without_a_type_are_simple_values() -> None:
    assert call("untyped", "a", says=[{"it": ["x", 1]}]) == ["x", 1]
    assert call("untyped", "a", says=[{"it": {"a": 1}}, {"it": "x"}]) == "x"


@pytest.mark.parametrize("reply", ["a{b}", "c<d"])
def test_a_type_is_read_as_it_is_shown(reply: str) -> None:
    program = Program('''
        from typing import Literal, Annotated
        def f(x):
            f"""natural(effects="answer")
            Put {x} into <:y: Annotated[Literal["a{{b}}", "c<<d"], "{{}}"]>.
            """
            return y
    ''')
    assert program.call("f", 1, says=[{"y": reply}]) == reply
    shown = program.model.requests[0].messages[0].text
    assert 'Literal["a{b}", "c<d"], "{}"]>' in shown
    assert '"a{b}" | "c<d"' in shown


@pytest.mark.parametrize("written", ["ﬂ", "fl"])
def test_names_in_a_reply_may_be_spelled_as_in_the_prompt(written: str) -> None:
    program = Program('''
        def f(x):
            """natural(effects="answer")
            Put <x> into <:ﬂ: float> and <:µ: int>.
            """
            return fl, μ
    ''')
    assert program.call("f", 1, says=[{written: 1.5, "µ": 2}]) == (1.5, 2)


def test_names_are_shown_with_their_meaning_and_exceptions_last() -> None:
    program = PlainProgram("""
        from enum import Enum

        class Kind(Enum):
            ORDER = "wants to buy something"
            OTHER = "other"

        class NoneFits(Exception):
            pass

        text = "A chair, please."
        '''natural(effects="answer")
        Find the <:kind: Kind> of <text>, or raise <NoneFits>.
        '''
        """)
    assert program.load([{"kind": "ORDER"}])["kind"].name == "ORDER"
    opening = program.model.requests[0].messages[0]
    assert isinstance(opening, UserMessage)
    assert opening.text.endswith(
        'Reply with {"kind": "ORDER" | "OTHER"}:\n'
        '- "ORDER": wants to buy something\n'
        'or, if none of that fits, with {"raise": "NoneFits", "message": "why"}'
    )


@pytest.mark.parametrize("fields", [3, 30])
def test_a_long_form_stands_before_the_values(fields: int) -> None:
    names = [f"property_{number}" for number in range(fields)]
    program = PlainProgram(f"""
        from dataclasses import make_dataclass
        Kind = make_dataclass("Kind", [(name, str) for name in {names}])
        words = "A chair, please."
        '''natural(effects="answer")
        Read <words> as a <:kind: Kind>.
        '''
        """)
    program.load([{"kind": dict.fromkeys(names, "x")}])
    *before, last = program.model.requests[0].messages[0].text.splitlines()
    value = "words = 'A chair, please.'"
    if fields == 3:
        assert last.startswith("Reply with ")
        assert before[-1] == value
    else:
        assert last == value
        assert before[-1] == "---"
        assert before[-2].startswith("Reply with ")


# ── names, exceptions and types that are special ─────────────────────────────────────────────────

SPECIAL = PlainProgram(read_program("answer_special"))


def test_an_output_may_be_named_as_the_request_for_code_is() -> None:
    assert SPECIAL.call("name", "x", says=[{"needs_code": "no"}]) == "no"
    assert len(SPECIAL.model.requests[0].schema["anyOf"]) == 2


@pytest.mark.parametrize(
    ("kind", "said"),
    [("Closed", "closed"), ("Text", "no"), ("Text", "natural block"), ("OSError", "no")],
)
def test_an_exception_is_made_of_a_message_or_of_nothing(kind, said) -> None:
    message = {} if said == "natural block" else {"message": "no"}
    with pytest.raises(Exception, match=said) as caught:
        SPECIAL.call("buy", "x", says=[{"raise": kind, **message}])
    assert type(caught.value).__name__ == kind


@pytest.mark.parametrize("kind", ["Sold", "ExceptionGroup", "UnicodeDecodeError"])
def test_an_exception_that_needs_more_than_a_message_is_refused_with_a_way_out(kind) -> None:
    says = [{"raise": kind, "message": "no"}, {"y": "a"}]
    assert SPECIAL.call("buy", "x", says=says) == "a"
    assert f"`{kind}` is not made of a message alone" in SPECIAL.told()[-1]
    assert "needs_code" in SPECIAL.told()[-1]
    SPECIAL.call("buy", "x", says=says, authority="strict")
    assert "needs_code" not in SPECIAL.told()[-1]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("day", "cannot be evaluated.*TYPE_CHECKING"),
        ("first", "returns cannot be evaluated"),
        ("pet", "the type of `<:y>` has no JSON form: JSON does not tell .* apart"),
        ("fetch", "returns has no JSON form.*apart"),
    ],
)
def test_a_type_that_no_answer_can_have_is_a_configuration_error(function, words) -> None:
    with pytest.raises(njrt.ConfigurationError, match=words):
        SPECIAL.call(function, "x", says=[{"y": "2024-01-01"}])


@pytest.mark.parametrize(
    "text", ['{"y": NaN}', '{"y": 1e999}', '{"y": -Infinity}', '{"y": "nan"}', '{"y": " -Inf"}']
)
def test_numbers_are_finite(text) -> None:
    assert SPECIAL.call("number", "x", says=[text, {"y": 1}]) == 1.0
    assert "finite" in SPECIAL.told()[-1]


def test_of_a_repeated_name_the_last_value_counts() -> None:
    assert SPECIAL.call("number", "x", says=['{"y": 1, "y": 2}']) == 2.0


def test_a_fence_inside_of_an_answer_belongs_to_it() -> None:
    answer = '{"it": "see\n```python\nx = 1\n```\n"}'
    assert call("untyped", "x", says=[answer]) == "see\n```python\nx = 1\n```\n"


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_calls_in_place_of_data_are_answered_each(calls: int) -> None:
    wrong = ModelMessage("", tuple(ToolCall(f"c{n}", "send", {}, "{}") for n in range(calls)))
    assert call("route", "Where is it?", says=[wrong, {"team": "shipping"}]) == "shipping"
    last = PROGRAM.model.requests[1].messages[-1]
    assert isinstance(last, ToolMessage)
    assert [result.id for result in last.results] == [f"c{n}" for n in range(calls)]


PICKY = PlainProgram(read_program("answer_picky"))


def test_a_value_that_a_validator_has_changed_is_not_validated_again() -> None:
    """A validator that refuses its own result, or reads another type than it returns, has been satisfied."""
    reply = {"y": "a", "several": ["b"], "parts": "c,d", "words": "e,f", "numbers": "[1, 2]"}
    bound = ("#a", ["#b"], ["c", "d"], ["e", "f"], [1, 2])
    assert PICKY.call("bind", says=[reply]) == bound
    assert PICKY.call("bind", says=[reply | {"y": "#a"}, reply]) == bound
    assert PICKY.call("leave", says=[{"return": "a"}]) == "#a"


REFUSING = Program(
    '''
    # njc: effects=answer
    class Refused(Exception):
        def __init__(self, text):
            raise RuntimeError("not like this")

    def read(text):
        """natural
        Put the length of <text> into <:size: int>, or raise <Refused>.
        """
        return size
    ''',
    "refusing",
)


def test_an_exception_that_cannot_be_made_is_a_refusal() -> None:
    says = [{"raise": "Refused", "message": "no"}, {"size": 3}]
    assert REFUSING.call("read", "abc", says=says) == 3
    assert "RuntimeError: not like this" in REFUSING.told()[1]
