"""Recorded traces, in both of their dialects, are carried out here; what differs is found and told."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from spsbench.cli import main
from spsbench.methods import METHODS
from spsbench.replay.agreement import NameMap, compare_answers
from spsbench.replay.programs import (
    RunChecks,
    convert_program,
    load_authors_program,
    load_suite_program,
    require_compiled_code,
)
from spsbench.replay.replaying import ReplayResult, SkippedTrace, keep_last_runs, replay_trace
from spsbench.replay.traces import (
    CheckOutcomes,
    Trace,
    parse_evaluations,
    parse_trace,
    parse_traces,
)
from spsbench.results import InputError
from spsbench.suite import load_task, make_program_module
from spsbench.task import check_task

IN_PLACE = Path(__file__).parents[1] / "programs_in_place"
"""Programs whose blocks change objects, as those do from which the published traces were taken."""

PROMPT = "Subtract from <inventory>, in place, what the customer's <order> takes."
OLD_PROGRAM = '''
import nightjarpy as nj


@nj.fn
def main(prices, wish):
    print("not to be seen")
    """natural
    Follow the <wish> and change the <prices>.
    """
    return prices


def run():
    try:
        prices = main([4, 5], "double them")
    except Exception as error:
        return {}, {"doubled": error}, {"doubled": False, "counted": False}
    return {}, {}, {"doubled": prices == [8, 10], "counted": len(prices) == 2}
'''


SIGNATURES = (
    "average_of_three: main(p, q, r)",
    "balance_parentheses: main(prompt: str, expression: str) -> str",
    "battle: main(enemies, player_action)",
    "calendar_tool: main(calendar: Calendar, request: str) -> str",
    "character_builder: main(setting: str)",
    "coffeeshop: main(coffee_order: str)",
    "email_classification: email_classification(email: str)",
    "enemy: main()",
    "fact_checking: main(passage: str)",
    "feed_filtering: main(posts: list[str], feed_preference: str)",
    "filter_numbers: main(numbers: List[int], prop: str)",
    "get_enemy: main()",
    "graph: main(queries: list[str], graph: Graph)",
    "gsm8k: main(problem)",
    "health_data: main(user_messages: List[str])",
    "mask_sensitive_information: main(text: str) -> str",
    "menu: main(inventory: Dict[str, int], orders: List[str])",
    "pos_tagging: main(language) -> callable",
    "proposer_verifier: proposer(query)",
    "proposer_verifier: verifier(query, proposer_coroutine)",
    "sentiment: main(s: str)",
    "stores: main(prompt: str)",
    "stream_generator: main(topic: str)",
    "task_completion: main(tasks: List[Task])",
    "tiny_bookshop: main(catalog: List[Book], request: str)",
    "wordle_solver: search_across(word_pattern: str)",
    "wordle_solver: match_check(word_pattern: str, search_coroutine)",
)
"""The functions with natural code in the 25 programs that the published traces were taken from."""
OLD_FUNCTION = '''
import nightjarpy as nj
from typing import Any, Callable, Dict, List, Tuple


class Calendar: ...
class Graph: ...
class Task: ...
class Book: ...


@nj.fn
def SIGNATURE:
    """natural
    Make what is wanted, as <:made>, and return it.
    """
    return made
'''


def load_program(trace: Trace) -> RunChecks:
    """Return the program of a trace's name that changes objects in place, where there is one; else that of the suite."""
    file = IN_PLACE / f"{trace.program}.njpy"
    if not file.is_file():
        return load_suite_program(trace)
    source = SourceFile(f"{trace.program}/natural.njpy", file.read_bytes())
    options = METHODS[trace.effects].compile_options
    code = require_compiled_code(compile_source(source, project=options))

    def play() -> CheckOutcomes:
        module = make_program_module(f"replayed.{trace.program}", code, source.path)
        results = check_task(load_task(trace.program), module)
        return {f"{result.case}: {result.check}": result.passed for result in results}

    return play


@pytest.mark.parametrize(
    "effects", sorted({method.effects or "answer" for method in METHODS.values()})
)
@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_signatures_of_the_published_programs_compile(signature: str, effects: str) -> None:
    """Also those with an annotation that is no type: Python runs these programs."""
    text = OLD_FUNCTION.replace("SIGNATURE", signature.partition(": ")[2])
    source = SourceFile("new.njpy", convert_program(text).encode())
    options = METHODS.get(effects, METHODS["natural"]).compile_options
    assert require_compiled_code(compile_source(source, project=options))


def test_there_are_signatures_of_all_published_programs() -> None:
    assert len({signature.partition(":")[0] for signature in SIGNATURES}) == 25


def played(trace: Trace, find: Callable[[Trace], RunChecks] = load_program) -> ReplayResult:
    """Replay a trace that has a program."""
    result = replay_trace(trace, find)
    assert isinstance(result, ReplayResult), result
    return result


def write_run(program: str, *chat: dict[str, Any]) -> dict[str, Any]:
    """Return a run with these messages, as it is published."""
    return {"file_name": program, "model": "vendor/model", "run": 2, "trace": chat}


def trace(program: str, *chat: dict[str, Any]) -> Trace:
    return parse_trace(write_run(program, *chat))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def chat(id: str, name: str, arguments: dict[str, Any], *answers: Any) -> list[dict[str, Any]]:
    """Return a call in the dialect of chat completions, and its answer."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    asked = {"role": "assistant", "tool_calls": [{"id": id, "function": function}]}
    told = [{"role": "tool", "tool_call_id": id, "content": answer} for answer in answers]
    return [asked, *told]


def terse(id: str, name: str, arguments: dict[str, Any], answer: str) -> list[dict[str, Any]]:
    """Return the same in the other dialect."""
    call = {"id": id, "name": name, "args": arguments}
    asked = {"role": "assistant", "content": None, "tool_calls": [call], "discarded_tool_calls": []}
    return [asked, {"role": "tool", "tool_call_id": id, "content": answer}]


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


def test_a_published_chat_is_carried_out_with_its_old_argument_names() -> None:
    recorded = [
        user(PROMPT + "\nType and Value (or Reference to Value) of Input Variables:\norder ..."),
        *chat("a", "eval", {"expression": "str(inventory['sushi'])"}, "10"),
        *chat("b", "eval", {"expression": "inventory.keys()"}, {"value_type": "object", "addr": 7}),
        *chat("c", "exec", {"code": "inventory['sushi'] -= 1"}, "Success"),
        *chat("d", "done", {}),
    ]
    result = played(trace("menu", *recorded))
    assert (result.compared, result.agreed, result.refused) == (3, 3, 0)
    assert result.checks["one: one sushi is sold"]
    assert not result.checks["three: three sashimis are sold"]
    (divergence,) = result.divergences
    assert (divergence.call, divergence.ours) == ("the program", "(2 more blocks)")


def test_references_of_the_recorded_heap_become_ours() -> None:
    goblin = {"key": "name", "value": "goblin"}, {"key": "health", "value": 12}
    stunned = [{"key": "health", "value": 8}, {"key": "stunned", "value": True}]
    recorded = [
        user("The player's <action> happens to the <enemies>."),
        *terse("a", "lookup", {"var": "enemies"}, json.dumps(ref(70))),
        *terse(
            "b",
            "deref",
            {"ref": ref(70)},
            json.dumps({"type": "list", "items": [ref(31), ref(12), ref(5)]}),
        ),
        *terse(
            "c",
            "deref",
            {"ref": ref(31)},
            json.dumps({"type": "Object", "class": "Enemy", "attributes": [*goblin]}),
        ),
        *terse(
            "d",
            "setref",
            {"ref": ref(31), "val": {"type": "Object", "class": "Enemy", "attributes": stunned}},
            "Success",
        ),
        *terse("e", "done", {}, "Success"),
    ]
    result = played(trace("battle", *recorded))
    assert result.trace.effects == "baseline"
    assert result.checks["one: only the goblin is hurt and stunned"]
    assert (result.compared, result.agreed) == (4, 4)


REF = {"type": "Ref", "addr": 7}


@pytest.mark.parametrize(
    ("recorded", "ours", "references", "equivalent"),
    [
        # what `eval` shows of an object, and after it the reference
        (json.dumps(REF), 'Enemy(...)\n{"type": "Ref", "addr": 2, "class": "Enemy"}', {7: 2}, True),
        (
            json.dumps({"type": "list", "items": [1, REF]}),
            f"[1, {json.dumps(ref(3))}]",
            {7: 3},
            True,
        ),
        # learned although another item differs
        (
            json.dumps({"type": "list", "items": [1, REF]}),
            f"[2, {json.dumps(ref(3))}]",
            {7: 3},
            False,
        ),
        (
            json.dumps({"type": "tuple", "items": [REF]}),
            json.dumps({"type": "tuple", "items": [ref(4)]}),
            {7: 4},
            True,
        ),
        (
            json.dumps({"type": "dict", "items": [{"key": "a", "value": REF}]}),
            json.dumps({"type": "dict", "items": [{"key": "a", "value": ref(5)}]}),
            {7: 5},
            True,
        ),
        (
            json.dumps({"type": "set", "items": [REF]}),
            json.dumps({"type": "set", "items": [ref(5)]}),
            {7: 5},
            True,
        ),
        (
            json.dumps(
                {"type": "Object", "class": "A", "attributes": [{"key": "b", "value": REF}]}
            ),
            json.dumps({"class": "A", "attributes": {"b": ref(6), "c": 1}, "methods": []}),
            {7: 6},
            True,
        ),
        (
            json.dumps(
                {
                    "type": "Class",
                    "name": "A",
                    "bases": [],
                    "attributes": [{"key": "B", "value": REF}],
                }
            ),
            json.dumps({"class": "type", "about": "class A", "attributes": {"B": ref(8)}}),
            {7: 8},
            True,
        ),
        ({"value_type": "object", "addr": 7}, "[1, 2]", {}, True),
        (json.dumps(REF), "it does not exist", {}, False),
    ],
)
def test_references_are_learned_from_every_answer_that_shows_one(
    recorded: object, ours: str, references: dict[int, int], equivalent: bool
) -> None:
    names = NameMap()
    assert compare_answers(recorded, ours, ours.startswith("it does"), names) == equivalent
    assert names.references == references
    assert names.translate({"ref": REF})["ref"]["addr"] == references.get(7, 7)


def test_a_recorded_reference_is_one_object_and_an_object_may_have_several_references() -> None:
    names = NameMap()
    assert compare_answers(json.dumps(ref(7)), json.dumps(ref(1)), False, names)
    assert compare_answers(json.dumps(ref(8)), json.dumps(ref(1)), False, names)
    assert not compare_answers(json.dumps(ref(7)), json.dumps(ref(2)), False, names)


def test_arguments_keep_their_form_and_leave_out_unknown_references_of_objects() -> None:
    names = NameMap({7: 2})
    held = [{"key": "owner", "value": ref(7)}, {"key": "name", "value": "Ida"}]
    method = {"key": "speak", "value": ref(99)}
    sent = {"type": "Object", "class": "Enemy", "attributes": [*held, method]}
    known = [{"key": "owner", "value": ref(2)}, {"key": "name", "value": "Ida"}]
    assert names.translate(sent) == {"type": "Object", "class": "Enemy", "attributes": known}
    items = {"type": "list", "items": [ref(7), ref(99)]}
    assert names.translate(items) == {"type": "list", "items": [ref(2), ref(99)]}


def test_uuids_of_the_record_become_ours() -> None:
    theirs = [f"{number}f1b9ae4-9f0a-4f7e-9f5c-0d8f3a1c2b4d" for number in range(2)]
    ours = [f"{number}ddddddd-1111-2222-3333-444444444444" for number in range(2)]
    names = NameMap()
    assert compare_answers(f"ids: {theirs}", f"ids: {ours}", False, names)
    code = "find('{}').move('{}')"
    assert names.translate({"code": code.format(*theirs)}) == {"code": code.format(*ours)}
    assert not compare_answers(theirs[0], ours[1], False, names)


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ("9", ("eval inventory['sushi']", "9", "10")),
        ("Error: no such variable", ("eval inventory['sushi']", "Error: no such variable", "10")),
    ],
)
def test_the_first_difference_is_told(answer: str, first: tuple[str, str, str]) -> None:
    recorded = [
        user(PROMPT),
        *chat("a", "eval", {"expr": "inventory['sushi']"}, answer),
        *chat("b", "done", {}),
    ]
    found = played(trace("menu", *recorded)).divergences[0]
    assert (found.block, found.call, found.recorded, found.ours) == (1, *first)


def test_a_recorded_error_agrees_with_a_refusal_of_ours() -> None:
    recorded = [
        user(PROMPT),
        *chat("a", "eval", {"expression": "1 +"}, "Error during tool call: invalid syntax"),
        *chat("b", "done", {}),
    ]
    result = played(trace("menu", *recorded))
    assert (result.compared, result.agreed, result.refused) == (1, 1, 1)


def test_a_block_that_goes_on_here_and_one_that_ends_early_are_differences() -> None:
    unbound = [user("Fill <:average>."), *chat("a", "done", {})]
    late = played(trace("average_of_three", *unbound)).divergences[0]
    assert (late.call, late.recorded) == ("done", "(the block ends)")
    assert "`average` is not bound yet" in late.ours
    early = [user(PROMPT), *chat("a", "done", {}), *chat("b", "done", {})]
    found = played(trace("menu", *early)).divergences[0]
    assert (found.recorded, found.ours) == (
        "(the block continues for 1 replies)",
        "(the block ends)",
    )


def test_calls_that_were_dropped_there_are_not_carried_out_here() -> None:
    message = {
        "role": "assistant",
        "tool_calls": [
            {"id": id, "function": {"name": "exec", "arguments": json.dumps({"code": code})}}
            for id, code in (("a", "inventory['sushi'] -= 1"), ("b", "inventory.clear()"))
        ],
    }
    told = {"role": "tool", "tool_call_id": "a", "content": "Success"}
    result = played(trace("menu", user(PROMPT), message, told, *chat("c", "done", {})))
    assert result.checks["one: one sushi is sold"]


def test_a_block_may_take_as_many_calls_as_it_took() -> None:
    calls = [chat(f"c{n}", "eval", {"expr": f"{n} + len(inventory)"}, n + 4) for n in range(99)]
    recorded = [message for call in calls for message in call]
    result = played(trace("menu", user(PROMPT), *recorded, *chat("d", "done", {})))
    assert (result.compared, result.agreed, result.same_endings) == (99, 99, 1)


def test_plain_text_is_said_as_well() -> None:
    reply = {
        "role": "assistant",
        "content": [{"type": "text", "text": "```python\nresponse = 3\n```"}],
    }
    asked = user("Perform the <query>, and save the <:response>.")
    result = played(trace("graph", asked, reply))
    assert result.trace.blocks[0].replies[0].text == "```python\nresponse = 3\n```"
    assert result.effects == 1


def test_damaged_arguments_are_played_as_they_were() -> None:
    call = {"id": "a", "function": {"name": "exec", "arguments": '{"code": "'}}
    told = {"role": "tool", "tool_call_id": "a", "content": "Error: bad arguments"}
    recorded = [user(PROMPT), {"role": "assistant", "tool_calls": [call]}, told]
    result = played(trace("menu", *recorded, *chat("b", "done", {})))
    assert (result.refused, result.compared, result.agreed) == (1, 1, 1)


def test_programs_of_the_old_language_are_migrated_and_report_their_own_checks(
    tmp_path: Path,
) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices/prices.py").write_text(OLD_PROGRAM)
    recorded = [
        user("Follow the <wish> and change the <prices>."),
        *chat("a", "eval", {"expression": "str(prices)"}, "[4, 5]"),
        *chat("b", "exec", {"code": "prices[:] = [2 * price for price in prices]"}, "Success"),
        *chat("c", "done", {}),
    ]
    result = played(trace("prices", *recorded), partial(load_authors_program, programs=tmp_path))
    assert result.checks == {"doubled": True, "counted": True}
    assert result.divergences == ()


@pytest.mark.parametrize(
    ("program", "prompt", "reason"),
    [
        ("chess", "Move the <piece>.", "there is no program `chess`"),
        ("menu", "Serve the <guest> at the <table>.", "its prompts refer to guest, table"),
    ],
)
def test_a_trace_without_a_program_is_told_apart(program: str, prompt: str, reason: str) -> None:
    result = replay_trace(trace(program, user(prompt), *chat("a", "done", {})))
    assert isinstance(result, SkippedTrace)
    assert result.reason.startswith(reason)
    assert "--programs" in result.reason


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"file_name": "menu"}', '{"trace": [{"role": "user"}]}']
)
def test_a_damaged_line_is_named(line: str) -> None:
    good = json.dumps(write_run("menu", user(PROMPT), *chat("a", "done", {})))
    with pytest.raises(InputError, match=r"^line 3 is not a trace"):
        list(parse_traces([good, "", line]))


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps(write_run("menu", user(PROMPT), *chat("a", "done", {}))))
    shown = CliRunner().invoke(main, ["replay", str(traces)])
    assert shown.exit_code == 0, shown.output
    assert "1 of 1 traces played: 1 blocks, of which 1 ended as recorded" in shown.output
    traces.write_text("{")
    damaged = CliRunner().invoke(main, ["replay", str(traces)])
    assert damaged.exit_code == 2
    assert "line 1 is not a trace" in damaged.output


def test_a_retried_run_counts_once_and_is_compared_with_its_recorded_evaluation(
    tmp_path: Path,
) -> None:
    (tmp_path / "calendar_tool").mkdir()
    (tmp_path / "calendar_tool/calendar_tool.py").write_text(OLD_PROGRAM)
    failed = [user("Follow the <wish> and change the <prices>."), *chat("a", "done", {})]
    doubled = chat("b", "exec", {"code": "prices[:] = [8, 10]"}, "Success")
    runs = [
        write_run("calendar", *failed),
        write_run("calendar_tool", failed[0], *doubled, *chat("c", "done", {})),
    ]
    lines = map(json.dumps, runs)
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    evaluation = {"file_name": "calendar_tool", "run": 2, "hard_eval": {"doubled": True}}
    for checks, fidelity, not_worse in (
        ({"doubled": True, "counted": True}, 1, 1),
        ({"doubled": True, "counted": False}, 0, 1),
        ({"doubled": True, "halved": True}, 0, 0),
    ):
        line = json.dumps(evaluation | {"hard_eval": checks})
        (tmp_path / "results.jsonl").write_text(line + "\n")
        shown = CliRunner().invoke(
            main,
            [
                *("replay", str(tmp_path / "traces.jsonl"), "--programs", str(tmp_path)),
                *("--results", str(tmp_path / "results.jsonl")),
            ],
        )
        assert shown.exit_code == 0, shown.output
        assert "1 of 1 traces played" in shown.output
        assert f"{fidelity} of 1 runs have the recorded evaluation, {not_worse} are" in shown.output


@pytest.mark.parametrize(
    ("calls", "doubled", "answers"),
    [
        (
            [
                *chat("a", "lookup", {"var": "prices"}, json.dumps(ref(7))),
                *chat("b", "setref", {"ref": ref(7), "val": {"type": "list", "items": []}}, "Error"),
            ],
            False,
            1,
        ),
        (
            [*chat("a", "exec", {"code": "prices[:] = [8, 10]\nprices.total"}, "Error: no `total`")],
            True,
            1,
        ),
    ],
)  # fmt: skip
def test_what_was_refused_there_is_not_served_here_unless_it_is_code(
    calls: list[dict[str, Any]], doubled: bool, answers: int, tmp_path: Path
) -> None:
    (tmp_path / "menu.py").write_text(OLD_PROGRAM)
    opening = user("Follow the <wish> and change the <prices>.")
    ends = [*chat("d", "done", {}, "Error: not yet"), *chat("e", "done", {})]
    recorded = trace("menu", opening, *calls, *ends)
    result = played(recorded, partial(load_authors_program, programs=tmp_path))
    assert result.divergences == ()
    assert result.checks == {"doubled": doubled, "counted": True}
    assert result.compared == result.agreed == answers


def test_a_program_that_raises_has_no_checks_and_runs_of_two_models_are_two(
    tmp_path: Path,
) -> None:
    raising = OLD_PROGRAM.replace("    return {}, {}, {", "    raise OSError\n    return {}, {}, {")
    (tmp_path / "menu.py").write_text(raising)
    chats = [user("Follow the <wish> and change the <prices>."), *chat("a", "done", {})]
    run = write_run("menu", *chats)
    runs = [run, run, run | {"model": "vendor/other"}]
    replays = [
        replay_trace(kept, partial(load_authors_program, programs=tmp_path), {("menu", 2): {}})
        for kept in keep_last_runs(map(parse_trace, runs))
    ]
    assert [replay.trace.model for replay in replays] == ["vendor/model", "vendor/other"]
    for replay in replays:
        assert isinstance(replay, ReplayResult)
        assert replay.checks == {}
        assert replay.has_recorded_checks


@pytest.mark.parametrize("line", ["{", "[]", '{"file_name": "menu", "run": 0}'])
def test_a_damaged_evaluation_is_named(line: str) -> None:
    with pytest.raises(InputError, match=r"^line 1 is not an evaluation"):
        parse_evaluations([line])


def test_a_program_may_have_a_name_of_pythons_library_and_every_jump_that_was_recorded(
    tmp_path: Path,
) -> None:
    (tmp_path / "calendar.py").write_text(
        OLD_PROGRAM.replace("@nj.fn", "class Box:\n    held = 3\n\n\n@nj.fn")
        .replace("main([4, 5]", "main([4, 5, Box()]")
        .replace("prices == [8, 10]", "prices == [3]")
    )
    chats = [
        user("Follow the <wish> and change the <prices>."),
        *chat("a", "exec", {"code": "answer = [prices[2].held]"}, "Success"),
        *chat("b", "return", {"variable": "answer"}),
    ]
    result = played(trace("calendar", *chats), partial(load_authors_program, programs=tmp_path))
    assert result.divergences == ()
    assert result.checks["doubled"]
