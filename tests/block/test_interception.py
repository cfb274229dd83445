"""The interception point: every effect is shown to the interceptors once, before it acts, and they decide."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

import njrt
from njrt import Abort, Accept, Decision, Edit, Pause, PendingEffect, Reject
from njrt.block.session.question import llm_at
from njrt.data.decisions import InterceptorDecision
from njrt.data.timeouts import _here
from njrt.effects import (
    EFFECT_KINDS,
    AskModel,
    BindOutputs,
    Effect,
    NeedsCode,
    Perform,
    Refusal,
    Run,
)
from njrt.events import Event, Performed
from njrt.log.listeners import add_listener
from njrt.testing import Said, run
from waiting import HANG_SECONDS

Log = list[tuple[str, str, Effect]]
"""What happened, in order: ("shown" or "performed", run, effect)."""


def ref(number: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": number}


SCRIPTS: dict[str, list[list[Said]]] = {
    "answer": [
        [{"y": 4}],
        [{"return": 4}],
        [{"raise": "ValueError"}],
        [{"break": True}],
        [{"continue": True}],
        [{"needs_code": "a loop"}, run("y = 4", done=True)],
        ["no JSON", {"y": 4}],
    ],
    "direct": [
        [run("z = 1"), [run("z += 1"), run("y = z", done=True)]],
        [[run("1 / 0"), run("y = 1", done=True)], run("y = 4", done=True)],
    ],
}
CASES = [(effects, script) for effects, scripts in SCRIPTS.items() for script in scripts]


DOUBLE = "natural\nDouble <x> into <:y>."
PLACE = {"writes": "y", "labels": "break continue return", "at": "case.njpy:1"}


def sync_block(effects: str, **options: Any) -> Any:
    """Return a block in a loop of a function."""
    x, y = 2, None
    for _ in range(1):
        try:
            njrt.run(DOUBLE, lambda: (x, y), effects=effects, **PLACE, **options)
        except (njrt.Break, njrt.Continue, njrt.Return, ValueError):
            return None
    return y


async def async_block(effects: str, **options: Any) -> Any:
    """Return the same in an async function."""
    x, y = 2, None
    try:
        await njrt.arun(DOUBLE, lambda: (x, y), effects=effects, **PLACE, **options)
    except (njrt.Break, njrt.Continue, njrt.Return, ValueError):
        return None
    return y


@contextmanager
def logged(*, awaited: bool = False) -> Iterator[Log]:
    """Accept and log every effect that an interceptor is shown and that is performed."""
    log: Log = []

    def accept(pending: PendingEffect) -> Decision:
        log.append(("shown", pending.run, pending.effect))
        return Accept()

    async def accept_later(pending: PendingEffect) -> Decision:
        await asyncio.sleep(0)
        return accept(pending)

    def listen(event: Event) -> None:
        if isinstance(event, Performed) and not isinstance(event.effect, Refusal):
            log.append(("performed", event.run, event.effect))

    remove = add_listener(listen)
    try:
        with njrt.using(intercept=accept_later if awaited else accept):
            yield log
    finally:
        remove()


def check_each_shown_once(log: Log) -> list[Effect]:
    """Check that each run shows an effect, then performs it, one after the other; return them in the order shown."""
    for number in {number for _, number, _ in log}:
        ours = [(what, effect) for what, in_run, effect in log if in_run == number]
        assert [what for what, _ in ours] == ["shown", "performed"] * (len(ours) // 2)
        assert ours[0::2] == [("shown", effect) for _, effect in ours[1::2]]
    assert log
    return [effect for what, _, effect in log if what == "shown"]


def run_async_block(effects: str) -> Any:
    return asyncio.run(async_block(effects))


@pytest.mark.parametrize(
    ("block", "awaited"), [(sync_block, False), (run_async_block, False), (run_async_block, True)]
)
@pytest.mark.parametrize(("effects", "script"), CASES)
def test_every_effect_is_shown_once_before_it_acts(
    effects: str, script: list[Said], block: Callable[[str], Any], awaited: bool
) -> None:
    with logged(awaited=awaited) as log, njrt.using(model=njrt.Scripted(script)):
        block(effects)
    check_each_shown_once(log)


def test_the_cases_have_every_kind_of_effect() -> None:
    seen: set[tuple[str, type]] = set()
    for effects, script in CASES:
        with logged() as log, njrt.using(model=njrt.Scripted(script)):
            sync_block(effects)
        shown = [type(effect) for what, _, effect in log if what == "shown"]
        seen |= {("direct" if kind is Run else effects, kind) for kind in shown}
    elsewhere = {AskModel, njrt.Touch, Perform}  # below, test_gated.py, test_interfaces.py
    assert {kind for _, kind in seen} | elsewhere == set(get_args(Effect))
    assert seen <= {(effects, kind) for effects, kinds in EFFECT_KINDS.items() for kind in kinds}


def test_unreadable_replies_and_what_follows_a_failure_are_not_shown() -> None:
    script: list[Said] = ["no JSON", {"y": 4}]
    with logged() as log, njrt.using(model=njrt.Scripted(script)):
        sync_block("answer")
    assert check_each_shown_once(log) == [BindOutputs({"y": 4})]
    script = [[run("1 / 0"), run("y = 1", done=True)], run("y = 4", done=True)]
    with logged() as log, njrt.using(model=njrt.Scripted(script)):
        sync_block("direct")
    assert check_each_shown_once(log) == [Run("1 / 0", False), Run("y = 4", True)]


@pytest.mark.parametrize("inner_effects", ["answer", "direct"])
def test_effects_of_nested_blocks_are_shown(inner_effects: str) -> None:
    def find() -> Any:
        return sync_block(inner_effects)

    def outer() -> Any:
        y = None
        njrt.run(
            "natural\nPut <find> into <:y>.", lambda: (find, y), writes="y", at="o:1",
            effects="direct",
        )  # fmt: skip
        return y

    replies: list[Said] = [run("y = find()", done=True), *SCRIPTS[inner_effects][0]]
    with logged() as log, njrt.using(model=njrt.Scripted(replies)):
        outer()
    shown = check_each_shown_once(log)
    assert shown[0] == Run("y = find()", True)
    assert len(shown) == sum(len(said) if isinstance(said, list) else 1 for said in replies)
    assert len({number for _, number, _ in log}) == 2


QUESTIONS: list[Callable[[], Any]] = [
    lambda: njrt.llm("Is it?", bool),
    lambda: asyncio.run(njrt.allm("Is it?", bool)),  # type: ignore[arg-type]
    lambda: llm_at("case.njpy:1")("Is it?", bool),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_questions_from_code_are_shown(ask: Callable[[], Any]) -> None:
    with logged() as log, njrt.using(model=njrt.Scripted(["maybe", '{"value": true}'])):
        assert ask() is True
    assert check_each_shown_once(log) == [AskModel("Is it?", "true | false")]


QUESTION = AskModel("Is it?", "true | false")


def test_questions_in_the_code_of_sync_blocks_are_shown() -> None:
    code = "y = ask('Is it?', bool)"
    with (
        logged() as log,
        njrt.using(model=njrt.Scripted([run(code, done=True), '{"value": true}'])),
    ):
        assert sync_block("direct") is True
    assert [(what, effect) for what, _, effect in log] == [
        ("shown", Run(code, True)),
        ("shown", QUESTION),
        ("performed", QUESTION),
        ("performed", Run(code, True)),
    ]


def test_questions_in_the_code_of_async_blocks_are_shown() -> None:
    code = "y = await ask('Is it?', bool)"
    script: list[Said] = [run(code, done=True), '{"value": true}']
    with logged(awaited=True) as log, njrt.using(model=njrt.Scripted(script)):
        assert asyncio.run(async_block("direct")) is True
    assert [effect for what, _, effect in log if what == "shown"] == [Run(code, True), QUESTION]


def test_a_rejected_question_in_the_code_of_a_block_reaches_the_model() -> None:
    script: list[Said] = [run("y = ask('Is it?')", done=True), run("y = 6", done=True)]
    y, model = block_under([Accept(), Reject("decide yourself"), Accept()], script)
    assert y == 6
    assert "decide yourself" in str(model.requests[1].messages[-1])


# ── what is decided ──────────────────────────────────────────────────────────────────────────────


def decide_all(*decisions: Decision) -> Callable[[PendingEffect], Decision]:
    """Return an interceptor that decides so, one effect after the other."""
    left = iter(decisions)

    def decide(pending: PendingEffect) -> Decision:
        return next(left)

    return decide


def block_under(
    decisions: Sequence[Decision], script: Sequence[Said], effects: str = "direct", **options: Any
) -> tuple[Any, njrt.Scripted]:
    """Run a block under decisions; gives its output and its model."""
    model = njrt.Scripted(script)
    with njrt.using(model=model, intercept=decide_all(*decisions)):
        return sync_block(effects, **options), model


def put_four_under(decide: Any) -> Any:
    """Run a block that puts 4 into its output, under an interceptor."""
    with njrt.using(model=njrt.Scripted([run("y = 4", done=True)]), intercept=decide):
        return sync_block("direct")


def test_an_edited_effect_is_carried_out_instead() -> None:
    y, _ = block_under([Edit(Run("y = 5", True))], [run("y = 4", done=True)])
    assert y == 5
    y, _ = block_under([Edit(BindOutputs({"y": 5}))], [{"y": 4}], "answer")
    assert y == 5


def test_an_edit_is_guarded_like_the_model_and_may_be_refused() -> None:
    edits = [Edit(Run("import os; y = os.environ", True)), Accept()]
    y, model = block_under(edits, [run("y = 4", done=True), run("y = 6", done=True)])
    assert y == 6
    assert "os" in str(model.requests[1].messages[-1])


def test_a_rejection_goes_to_the_model_and_counts() -> None:
    script = [run("y = 4", done=True), run("", done=True), run("y = 6", done=True)]
    decisions = [Reject("no fours"), Accept(), Accept()]
    y, model = block_under(decisions, script)
    assert y == 6
    assert "no fours" in str(model.requests[1].messages[-1])
    assert "the last code failed" in str(model.requests[2].messages[-1])
    with pytest.raises(njrt.errors.EffectLimitError):
        block_under([Reject("no")] * 3, script, max_effects=2)


def test_asking_for_code_can_be_rejected() -> None:
    script: list[Said] = [{"needs_code": "a loop"}, {"y": 3}]
    y, model = block_under([Reject("no code"), Accept()], script, "answer")
    assert (y, len(model.requests)) == (3, 2)
    assert "no code" in str(model.requests[1].messages[-1])


def block_with_long_input(script: list[Said]) -> Any:
    """Run a block whose input is too long to be shown, so that it needs code before a model is asked."""
    x, y = "x" * 500, None
    with njrt.using(model=njrt.Scripted(script), max_prompt_chars=100):
        njrt.run(
            "natural\nCount <x> into <:y>.",
            lambda: (x, y),
            writes="y",
            at="case.njpy:1",
            effects="answer",
        )
    return y


def test_asking_for_code_before_a_model_is_asked_is_shown_and_can_be_rejected() -> None:
    with logged() as log:
        assert block_with_long_input([run("y = len(x)", done=True)]) == 500
    assert [type(effect) for effect in check_each_shown_once(log)] == [NeedsCode, Run]
    with (
        njrt.using(intercept=lambda _: Reject("no code")),
        pytest.raises(njrt.PolicyError, match="no code"),
    ):
        block_with_long_input([])


def test_static_code_is_counted_and_reported_but_not_shown() -> None:
    y = None
    code: dict[str, Any] = {"code": "\n    y = 4\n"}
    with logged() as log:
        njrt.run("natural: <:y>", lambda: (y,), writes="y", at="case.njpy:1", **code)
    assert [what for what, _, _ in log] == ["performed"]
    assert y == 4
    with pytest.raises(njrt.TimeLimitError):
        njrt.run("natural: <:y>", lambda: (y,), writes="y", at="case.njpy:1", max_seconds=0, **code)


def test_an_abort_raises_its_error() -> None:
    with pytest.raises(njrt.PolicyError, match="aborted by the interceptor `decide`") as caught:
        block_under([Abort()], [run("y = 4", done=True)])
    assert caught.value.place == "case.njpy:1"
    own = njrt.NaturalError("not today")
    with pytest.raises(njrt.NaturalError) as raised:
        block_under([Abort(own)], [run("y = 4", done=True)])
    assert raised.value is own


def test_a_pause_raises_paused() -> None:
    with pytest.raises(njrt.Paused, match=r"case.njpy:1: paused by the interceptor `decide`"):
        block_under([Pause()], [run("y = 4", done=True)])


def test_a_rejected_question_raises_a_policy_error() -> None:
    with (
        njrt.using(model=njrt.Scripted([]), intercept=decide_all(Reject("ask a person"))),
        pytest.raises(njrt.PolicyError, match="ask a person"),
    ):
        njrt.llm("Is it?")


def test_an_edited_question_is_asked() -> None:
    model = njrt.Scripted(["yes"])
    with njrt.using(model=model, intercept=decide_all(Edit(AskModel("Was it?")))):
        assert njrt.llm("Is it?") == "yes"
    assert "Was it?" in str(model.requests[0].messages)


# ── several interceptors ─────────────────────────────────────────────────────────────────────────


def test_interceptors_are_asked_innermost_first_until_one_does_not_accept() -> None:
    asked: list[tuple[str, Effect]] = []

    def make(name: str, decision: Decision) -> Callable[[PendingEffect], Decision]:
        def decide(pending: PendingEffect) -> Decision:
            asked.append((name, pending.effect))
            return decision

        return decide

    edited = Run("y = 5", True)
    model = njrt.Scripted([run("y = 4", done=True)])
    with (
        njrt.using(intercept=make("outermost", Accept())),
        njrt.using(intercept=make("outer", Abort())),
        njrt.using(max_calls=3),
        njrt.using(model=model, intercept=make("editor", Edit(edited))),
        njrt.using(intercept=make("inner", Accept())),
        pytest.raises(njrt.PolicyError),
    ):
        sync_block("direct")
    original = Run("y = 4", True)
    assert asked == [("inner", original), ("editor", original), ("outer", edited)]


def test_an_interceptor_is_not_asked_about_its_own_blocks_but_the_outer_ones_are() -> None:
    asked = []

    def judge(pending: PendingEffect) -> Decision:
        asked.append(("judge", pending.effect))
        return Accept() if njrt.llm("Is this safe?", bool) else Reject("unsafe")

    def outer(pending: PendingEffect) -> Decision:
        asked.append(("outer", pending.effect))
        return Accept()

    model = njrt.Scripted([run("y = 4", done=True), '{"value": true}'])
    with njrt.using(model=model, intercept=outer), njrt.using(intercept=judge):
        assert sync_block("direct") == 4
    effect = Run("y = 4", True)
    question = AskModel("Is this safe?", "true | false")
    assert asked == [("judge", effect), ("outer", question), ("outer", effect)]


def test_threads_of_an_interceptor_are_its_own_only_if_they_are_carried() -> None:
    shown, results = [], []

    def decide(pending: PendingEffect) -> Decision:
        shown.append(pending.run)
        with ThreadPoolExecutor(1) as pool:
            results.append(pool.submit(njrt.carry(sync_block), "direct").result(HANG_SECONDS))
            results.append(pool.submit(sync_block, "direct").exception(HANG_SECONDS))
        return Accept()

    model = njrt.Scripted(lambda request: run("y = 4", done=True))
    with njrt.using(model=model, intercept=decide):
        assert sync_block("direct") == 4
    assert len(shown) == 1
    assert results[0] == 4
    assert isinstance(results[1], njrt.ConfigurationError)


# ── what an interceptor is shown ─────────────────────────────────────────────────────────────────


def test_a_pending_effect_says_where_and_what() -> None:
    seen: list[PendingEffect] = []
    variables = []

    def look(pending: PendingEffect) -> Decision:
        seen.append(pending)
        variables.append(dict(pending.render_variables()))
        return Accept()

    script = [[run("z = 1"), run("password = 'hunter2-4711'")], run("y = z", done=True)]
    with njrt.using(model=njrt.Scripted(script), intercept=look):
        sync_block("direct")
    assert [(pending.turn, pending.number) for pending in seen] == [(1, 1), (1, 2), (2, 3)]
    assert {pending.place for pending in seen} == {"case.njpy:1"}
    assert {pending.instruction for pending in seen} == {"Double <x> into <:y>."}
    assert variables[0] == {"x": "x: int = 2", "y": "y: None"}
    assert variables[1]["z"] == "z: int = 1"
    assert "hunter2-4711" not in str(variables)
    assert {(pending.effects, pending.is_async) for pending in seen} == {("direct", False)}
    assert {pending.parent for pending in seen} == {None}


def test_rendering_variables_is_bounded_and_runs_no_properties() -> None:
    class Box:
        @property
        def content(self) -> int:
            raise AssertionError("a property was read")

    shown = []

    def look(pending: PendingEffect) -> Decision:
        shown.append(pending.render_variables())
        return Accept()

    items, box, y = list(range(100_000)), Box(), None
    with njrt.using(model=njrt.Scripted([run("y = 1", done=True)]), intercept=look):
        njrt.run("natural\n<items> <box> <:y>", lambda: (items, box, y), writes="y", at="c:1")
    assert len(shown[0]["items"]) <= 1000
    assert shown[0]["box"].startswith("box: Box")


def test_decisions_are_reported_with_the_effect(tmp_path: Path) -> None:
    events: list[Performed] = []
    remove = add_listener(
        lambda event: events.append(event) if isinstance(event, Performed) else None
    )
    trace = tmp_path / "trace.jsonl"
    edit = Edit(Run("y = 5", True))
    try:
        with njrt.using(trace=trace):
            block_under([Reject("no"), edit], [run("y = 3"), run("y = 4", done=True)])
            with pytest.raises(njrt.PolicyError):
                block_under([Abort()], [run("y = 4", done=True)])
    finally:
        remove()
    assert [event.decisions for event in events] == [
        (InterceptorDecision("decide", Reject("no")),),
        (InterceptorDecision("decide", edit),),
        (InterceptorDecision("decide", Abort()),),
    ]
    assert events[1].effect == Run("y = 4", True)
    text = trace.read_text()
    assert '"decisions": [{"interceptor": "decide", "decision": "reject", "words": "no"}]' in text
    assert '"decision": "edit", "effect": {"kind": "Run", "code": "y = 5", "done": true}' in text
    assert '"decision": "abort"' in text


# ── interceptors that fail ───────────────────────────────────────────────────────────────────────


def test_an_exception_of_an_interceptor_ends_the_block() -> None:
    def fail(pending: PendingEffect) -> Decision:
        raise KeyError("approvals")

    problem = "`fail` raised KeyError: 'approvals'"
    with pytest.raises(njrt.InterceptorError, match=problem) as caught:
        put_four_under(fail)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interceptor_may_raise_an_error_of_the_runtime_and_interruptions_pass() -> None:
    for error in (njrt.PolicyError("no"), KeyboardInterrupt()):

        def fail(pending: PendingEffect, error: BaseException = error) -> Decision:
            raise error

        with pytest.raises(type(error)) as caught:
            put_four_under(fail)
        assert caught.value is error


@pytest.mark.parametrize("returned", [None, True, Run("y = 1", True)])
def test_an_interceptor_must_return_a_decision(returned: Any) -> None:
    with pytest.raises(njrt.InterceptorError, match=r"returned .*, not Accept"):
        block_under([returned], [run("y = 4", done=True)])


@pytest.mark.parametrize(
    ("effects", "said", "replacement"),
    [
        ("answer", {"y": 4}, Run("y = 4", True)),
        ("direct", run("y = 4", done=True), NeedsCode("why")),
        ("direct", run("y = 4", done=True), BindOutputs({"y": 4})),
        ("direct", run("y = 4", done=True), None),
    ],
)
def test_an_edit_stays_in_the_effect_set(effects: str, said: Said, replacement: Any) -> None:
    with pytest.raises(njrt.InterceptorError, match=r"the effects of `.*` are: "):
        block_under([Edit(replacement)], [said], effects)


def test_a_coroutine_function_in_a_sync_block_is_an_error() -> None:
    async def decide(pending: PendingEffect) -> Decision:
        return Accept()

    problem = "`decide` is a coroutine function, but the block is"
    with pytest.raises(njrt.ConfigurationError, match=problem):
        put_four_under(decide)


def test_a_cancelled_interceptor_cancels_the_block() -> None:
    async def wait(pending: PendingEffect) -> Decision:
        await asyncio.sleep(60)
        return Accept()

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await async_block("direct")

    with (
        njrt.using(model=njrt.Scripted([run("y = 4", done=True)]), intercept=wait),
        pytest.raises(TimeoutError),
    ):
        asyncio.run(main())


def test_the_time_of_a_decision_does_not_count() -> None:
    def think(pending: PendingEffect) -> Decision:
        for watch in _here.get():
            watch.clock = lambda: time.monotonic() + 1000
        return Accept()

    with njrt.using(model=njrt.Scripted([run("y = 4", done=True)]), intercept=think):
        with njrt.limit(seconds=600) as used:
            assert sync_block("direct", max_seconds=600) == 4
        assert used.spent().seconds < 600
