"""Programs under control: forward, back, changed, ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting_controller import Control, WaitingController

import njrt
from case_programs import read_program
from loopback import Answer
from njc.debug.timeline.breakpoints import Breakpoint
from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.happenings import (
    Diverged,
    Happening,
    Noticed,
    OutputWritten,
    ProgramEnded,
    RunSettings,
    Stopped,
)
from njc.debug.timeline.inspection import ShownVariable, expand
from njc.debug.timeline.steps import Step
from njc.project.config import Project
from njc.static.load import load_code
from njrt.values.rendering.redaction import Redactor
from openai_server import KEY, OpenAIServer, calls
from waiting import wait_until

SECONDS = 90.0

STEPS = [
    ("enter", 1), ("effect", 1), ("enter", 2), ("effect", 2), ("exit", 2), ("effect", 1), ("exit", 1),
]  # fmt: skip


def stop(controller: WaitingController) -> Step:
    """Wait for a stop; the step."""
    stopped = controller.wait_for_stop(SECONDS)
    assert isinstance(stopped, Stopped), stopped
    assert controller.step == stopped.step
    return stopped.step


def go(movement: Callable[..., None], *arguments: Any) -> Step:
    """Make a movement of a controller, and wait for the stop; the step."""
    movement(*arguments)
    return stop(movement.__self__)  # type: ignore[attr-defined]


def finish(controller: WaitingController) -> tuple[ProgramEnded, list[Happening]]:
    """Run on, and wait for the end; what happened before."""
    controller.run_on()
    return end(controller)


def end(controller: WaitingController) -> tuple[ProgramEnded, list[Happening]]:
    """Wait for the end; what happened before."""
    happenings: list[Happening] = []
    while not isinstance(happening := controller.wait(SECONDS), ProgramEnded):
        happenings.append(happening)
    return happening, happenings


def write_output(happenings: list[Happening]) -> str:
    return "".join(item.text for item in happenings if isinstance(item, OutputWritten))


GATED = read_program("controlled_runs_gated")


def test_calls_of_gated_functions_are_steps_forward_and_back(control: Control, policy: str) -> None:
    controller = control(GATED.replace("POLICY", policy))
    controller.start()
    found = [stop(controller)]
    while found[-1].kind != "exit":
        controller.step_over()
        found.append(stop(controller))
    kinds = [step.effect["kind"] if step.effect else step.kind for step in found]
    assert kinds == ["enter", "Run", "Touch", "Touch", "exit"]
    assert go(controller.go_back_to, found[3].number).effect == {
        "kind": "Touch",
        "function": "__main__.pay",
        "arguments": {"number": 2},
    }
    ended, _ = finish(controller)
    assert ended.code == 0


def test_forward_and_back_over_effects_and_blocks(control: Control) -> None:
    controller = control()
    assert go(controller.start).number == 0
    for number in range(1, 7):
        assert go(controller.step_into).number == number
    assert [(step.kind, step.run) for step in controller.timeline] == STEPS
    for number in reversed(range(6)):
        assert go(controller.step_back_into).number == number
    with pytest.raises(RunControlError, match="this is the start"):
        controller.step_back_into()
    ended, happenings = finish(controller)
    assert ended == ProgramEnded(0)
    assert write_output(happenings) == "half done\ntotal 8\n"
    assert not any(isinstance(happening, Diverged) for happening in happenings)


def test_the_end_by_the_debugger_is_no_divergence(control: Control) -> None:
    controller = control()
    controller.start()
    while stop(controller).number < 3:
        controller.step_into()
    go(controller.go_back_to, 1)
    known = len(controller.timeline)
    controller.terminate()
    ended, happenings = end(controller)
    assert (ended, happenings) == (ProgramEnded(None, "ended by the debugger"), [])
    assert len(controller.timeline) == known
    assert go(controller.step_back_over).number < known
    assert finish(controller)[0] == ProgramEnded(0)


ASKING = read_program("controlled_runs_asking")


def test_blocks_of_expressions_are_no_steps(control: Control) -> None:
    controller = control(ASKING)
    controller.set_breakpoints((Breakpoint("effect", condition="double(2) == 4"),))
    assert go(controller.start).kind == "enter"
    assert controller.evaluate("double(21)").text == "int = 42"
    controller.set_variable("number", "double(4)")
    assert go(controller.run_on).kind == "effect"
    assert controller.evaluate("double(number)").text == "int = 16"
    assert go(controller.step_back_over).kind in ("enter", "effect")
    controller.set_breakpoints(())
    ended, happenings = finish(controller)
    assert (ended, write_output(happenings)) == (ProgramEnded(0), "doubled 16\n")
    assert [step.kind for step in controller.timeline] == ["enter", "effect", "exit"]


def test_over_skips_called_blocks_and_out_ends_a_block(control: Control) -> None:
    controller = control()
    assert go(controller.start).number == 0
    for number in (1, 5, 6):
        assert go(controller.step_over).number == number
    for number in (5, 1):
        assert go(controller.step_back_over).number == number
    for number in (2, 3):
        assert go(controller.step_into).number == number
    assert (go(controller.step_out).kind, controller.position) == ("exit", 4)
    assert go(controller.step_back_out).number == 2
    assert go(controller.step_back_out).number == 1


BREAKPOINTS: dict[str, tuple[Breakpoint, list[int]]] = {
    "line": (Breakpoint("block", "program.njpy:7"), [2]),
    "block": (Breakpoint("block", "program.njpy:14"), [0]),
    "any block": (Breakpoint("block"), [0, 2]),
    "effect": (Breakpoint("effect", "Run"), [1, 3, 5]),
    "other effect": (Breakpoint("effect", "Done"), []),
    "condition": (Breakpoint("effect", condition="number == 4"), [3]),
    "jump": (Breakpoint("jump"), []),
    "variable": (Breakpoint("variable", "doubled"), [4]),
    "refusal": (Breakpoint("refusal"), [5]),
}


@pytest.mark.parametrize("name", BREAKPOINTS)
def test_breakpoints_stop_forward_and_backward(name: str, control: Control) -> None:
    breakpoint, numbers = BREAKPOINTS[name]
    controller = control()
    controller.set_breakpoints((breakpoint,))
    controller.start(stops=False)
    for number in numbers:
        assert stop(controller).number == number
        controller.run_on()
    assert end(controller)[0] == ProgramEnded(0)
    for number in dict.fromkeys([*reversed(numbers), 0]):
        assert go(controller.run_back).number == number
    with pytest.raises(RunControlError, match="this is the start"):
        controller.run_back()


def test_a_breakpoint_outside_of_prompts_is_refused(control: Control) -> None:
    with pytest.raises(RunControlError, match=r"there is no prompt at program.njpy:1$"):
        control().set_breakpoints((Breakpoint("block", "program.njpy:1"),))


TWO_PACKAGES = """
import njrt, first.count, second.count
with njrt.using(model=njrt.Scripted(['{"y": 1}', '{"y": 2}'])):
    print(first.count.f("a") + second.count.f("b"))
"""
COUNTING = (
    "def f(x: str) -> int:\n    '''natural\n    Count <x> into <:y: int>.\n    '''\n    return y\n"
)


@pytest.mark.parametrize(
    ("place", "stops"),
    [
        ("first/count.njpy:3", ["first"]),
        ("second/count.njpy:2", ["second"]),
        ("", ["first", "second"]),
    ],
)
def test_the_path_of_a_breakpoint_decides_between_files_of_one_name(
    place: str, stops: list[str], control: Control, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "count.njpy").write_text(COUNTING)
    controller = control(TWO_PACKAGES)
    controller.set_breakpoints((Breakpoint("block", place),))
    controller.start(stops=False)
    for name in stops:
        step = stop(controller)
        assert (step.place, Path(step.file).parent.name) == ("count.njpy:2", name)
        controller.run_on()
    assert end(controller)[0] == ProgramEnded(0)


def test_variables_are_listed_expanded_and_evaluated(control: Control) -> None:
    controller = control(SHOP)
    go(controller.start)
    shown = {
        variable.name: (variable.text, variable.has_parts) for variable in controller.variables()
    }
    assert shown["shop"][1]
    assert shown["price"] == ("int = 3", False)
    parts = [part.name for part in controller.expand("shop")]
    assert parts == [".items", ".password"]
    assert [part.text for part in controller.expand("shop", ".items")] == [
        "str = 'lamp'",
        "int = 7",
    ]
    assert controller.expand("shop")[1].text == "str = <redacted>"
    assert not controller.expand("shop")[1].has_parts
    assert controller.evaluate("price + len(shop.items)").text == "int = 5"
    for expression, problem in {
        "price +": "invalid syntax",
        "nothing": "NameError: name 'nothing' is not defined",
        "price / 0": "ZeroDivisionError: division by zero",
        "shop.boom": "SystemExit: a property was evaluated",
        "shop.cancel()": "CancelledError",
        "shop.pay()": "CallInDoubtError: may have been made",
    }.items():
        with pytest.raises(RunControlError, match=problem):
            controller.evaluate(expression)
        with pytest.raises(RunControlError, match=problem):
            controller.set_variable("price", expression)
    with pytest.raises(RunControlError, match="there is no variable `foo` here"):
        controller.expand("foo")
    assert controller.state == "stopped"


PRIVATE = read_program("controlled_runs_private")


def test_private_names_in_expressions_are_those_of_the_class_around_the_block(
    control: Control,
) -> None:
    controller = control(PRIVATE)
    controller.set_breakpoints((Breakpoint("block", condition="self.__count == 41"),))
    go(controller.start, False)
    assert (
        controller.evaluate("[self.__count for _ in range(2)]").text
        == "list[int], 2 items = [41, 41]"
    )
    assert controller.evaluate("self._Box__count").text == "int = 41"


def test_a_list_that_is_not_shown_whole_ends_with_a_mark() -> None:
    few, many = (expand({"it": [0] * n}, ["it"], Redactor()) for n in (200, 201))
    assert [part.name for part in few] == [f"[{n}]" for n in range(200)]
    assert many == [*few, ShownVariable("...", "only the first 200 parts are listed")]


SHOP = read_program("controlled_runs_shop")


def test_a_variable_that_is_set_counts_and_is_set_again_when_steps_are_repeated(
    control: Control,
) -> None:
    controller = control(SHOP)
    go(controller.start)
    assert go(controller.step_over).kind == "effect"
    assert controller.set_variable("price", "price + 97").text == "int = 100"
    for _ in range(2):
        assert go(controller.step_over).kind == "exit"
        assert controller.evaluate("total").text == "int = 200"
        assert controller.timeline[1].changes["total"] == "int = 200"
        assert go(controller.step_back_over).number == 1
        assert controller.evaluate("price").text == "int = 100"
    assert go(controller.step_back_over).number == 0
    assert controller.history.edits == ()
    assert controller.evaluate("price").text == "int = 3"
    ended, happenings = finish(controller)
    assert ended == ProgramEnded(0)
    assert write_output(happenings) == "0 3 6 ['lamp', 7, 6]\n1 3 6 ['lamp', 7, 6, 6]\n"
    with pytest.raises(RunControlError, match="the program is not stopped: it is ended"):
        controller.set_variable("price", "1")


def test_effects_are_edited_rejected_and_aborted(control: Control) -> None:
    controller = control(SHOP)
    go(controller.start)
    with pytest.raises(RunControlError, match="no effect is pending here"):
        controller.reject_effect("no")
    go(controller.step_over)
    controller.reject_effect("take three times the price")
    again = go(controller.step_over)
    assert controller.timeline[1].is_refused
    assert controller.timeline[1].result == "take three times the price"
    assert again.turn == 2
    controller.edit_effect({"kind": "Run", "code": "total = price * 3", "done": True})
    assert go(controller.step_over).kind == "exit"
    (decided,) = controller.timeline[2].decisions
    assert (decided["decision"], decided["effect"]["code"]) == ("edit", "total = price * 3")
    assert controller.evaluate("total").text == "int = 9"
    assert go(controller.step_back_over).number == 2
    go(controller.step_over)
    assert controller.evaluate("total").text == "int = 9", "the edit is repeated"
    go(controller.go_back_to, 2)
    controller.abort_effect("enough")
    ended, _ = finish(controller)
    assert (ended.code, ended.error) == (3, "PolicyError: enough")
    assert controller.timeline[-1].jump == "failed"
    go(controller.go_back_to, 0)
    ended, happenings = finish(controller)
    assert write_output(happenings).startswith("0 3 6 ['lamp', 7, 6]\n")


def test_what_is_not_an_effect_is_refused(control: Control) -> None:
    controller = control(SHOP)
    go(controller.start)
    go(controller.step_over)
    for effect in ({"kind": "Nothing"}, {"kind": "Run"}, {"kind": "Run", "codes": "x"}):
        with pytest.raises(RunControlError, match="not an effect"):
            controller.edit_effect(effect)
    assert controller.history.edits == ()
    assert finish(controller)[0] == ProgramEnded(0)


DIVERGING = '''\
import os, random, njrt
from njrt.testing import Scripted, run
with njrt.using(model=Scripted([run("total = start + 1", done=True)] * 4)):
    for round in range(3):
        start = {start}
        """natural
        Put one more than <start> into <:total>.
        """
'''


def test_a_program_that_depends_on_chance_is_found_out(control: Control) -> None:
    text = DIVERGING.format(start="random.SystemRandom().random()")
    controller = control(text)
    controller.start(stops=False)
    assert end(controller)[0] == ProgramEnded(0)
    controller.go_back_to(7)
    divergence = controller.wait(SECONDS)
    assert isinstance(divergence, Diverged)
    assert divergence.what == "variable `start`"
    assert (divergence.step.number, divergence.step.kind) == (0, "enter")
    assert "float = 0." in divergence.before
    assert divergence.before != divergence.now
    assert "more than its recording (clock, random, network, files, threads)" in str(divergence)
    stopped = controller.wait_for_stop(SECONDS)
    if isinstance(stopped, Stopped):  # it may have ended first
        assert stopped.step.number >= divergence.step.number
        assert finish(controller)[0] == ProgramEnded(0)
    assert controller.timeline[0].changes["start"] == divergence.now


def test_a_program_that_ends_earlier_is_found_out(control: Control, tmp_path: Path) -> None:
    text = DIVERGING.format(start="1 if not os.path.exists('gone') or round == 0 else exit(3)")
    controller = control(text)
    controller.start(stops=False)
    assert end(controller)[0] == ProgramEnded(0)
    (tmp_path / "gone").write_text("")
    controller.go_back_to(7)
    diverged, ended = controller.wait(SECONDS), controller.wait(SECONDS)
    assert isinstance(diverged, Diverged)
    assert (diverged.what, diverged.step.number) == ("end", 3)
    assert ended == ProgramEnded(3)
    assert len(controller.timeline) == 3


LIVE = '''\
answers = []
for question in ("2 + 2", "3 + 3"):
    """natural
    Put the value of <question> into <:answer>.
    """
    answers.append(answer)
print(answers)
'''


def answer(code: str) -> Answer:
    return calls(("run", json.dumps({"code": code, "done": True})))


def make_live_settings(server: OpenAIServer) -> dict[str, object]:
    return {
        "model": "openai/gpt-4.1",
        "environment": {"NJC_BASE_URL": server.base_url, "NJC_API_KEY": KEY},
    }


def test_a_live_run_is_recorded_and_a_fork_asks_only_what_is_new(
    control: Control, tmp_path: Path
) -> None:
    script = [answer("answer = 4"), answer("answer = 6"), answer("answer = 18")]
    with OpenAIServer(script) as server:
        settings = make_live_settings(server)
        controller = control(LIVE, recording=tmp_path / "live.jsonl", **settings)
        controller.start(stops=False)
        assert write_output(end(controller)[1]) == "[4, 6]\n"
        assert len(server.seen) == 2
        for _ in range(7):
            if controller.position:
                go(controller.step_back_into)
        assert len(server.seen) == 2, "going back asks nobody"
        for _ in range(3):
            go(controller.step_into)
        controller.set_variable("question", "'9 + 9'")
        assert write_output(finish(controller)[1]) == "[4, 18]\n"
        assert len(server.seen) == 3
        go(controller.go_back_to, 0)
        assert write_output(finish(controller)[1]) == "[4, 6]\n", "without the change"
        assert len(server.seen) == 3
    assert len((tmp_path / "live.jsonl").read_text().splitlines()) == 4


def test_a_rejected_effect_of_a_live_run_is_not_rejected_after_going_back(
    control: Control, tmp_path: Path
) -> None:
    script = [answer("answer = 5"), answer("answer = 4"), answer("answer = 6")]
    with OpenAIServer(script) as server:
        settings = make_live_settings(server)
        controller = control(LIVE, recording=tmp_path / "live.jsonl", **settings)
        go(controller.start)
        go(controller.step_over)
        controller.reject_effect("that is wrong")
        assert write_output(finish(controller)[1]) == "[4, 6]\n"
        assert [step.kind for step in controller.timeline].count("effect") == 3
        go(controller.go_back_to, 0)
        assert write_output(finish(controller)[1]) == "[5, 6]\n"
        assert len(server.seen) == 3
    with njrt.using(record=f"none:{tmp_path / 'live.jsonl'}"):
        exec(load_code(tmp_path / "program.njpy", LIVE.encode(), Project())[0], names := {})
    assert names["answers"] == [5, 6], "the recording does not reject it either"


def test_a_recording_that_is_only_replayed_is_left_alone_by_a_live_fork(
    control: Control, tmp_path: Path
) -> None:
    recording = tmp_path / "recording.jsonl"
    with OpenAIServer([answer("answer = 4"), answer("answer = 6")]) as server:
        controller = control(LIVE, recording=recording, **make_live_settings(server))
        controller.start(stops=False)
        end(controller)
    kept = recording.read_bytes()
    with OpenAIServer([answer("answer = 18")]) as server:
        settings = make_live_settings(server)
        controller = control(LIVE, recording=recording, is_replay_only=True, **settings)
        go(controller.start)
        for _ in range(3):
            go(controller.step_into)
        controller.set_variable("question", "'9 + 9'")
        assert "RecordingMismatchError" in finish(controller)[0].error
        go(controller.go_back_to, 3)
        controller.go_live()
        assert controller.position == 3
        assert controller.evaluate("question").text == "str = '9 + 9'"
        assert write_output(finish(controller)[1]) == "[4, 18]\n"
        assert len(server.seen) == 1
    assert recording.read_bytes() == kept


def test_a_recording_of_another_program_is_said(control: Control, tmp_path: Path) -> None:
    recording = tmp_path / "other.jsonl"
    recording.write_text('{"format": 1, "protocol": "tools"}\n')
    controller = control(LIVE, recording=recording, is_replay_only=True)
    assert go(controller.start).kind == "enter"
    ended, _ = finish(controller)
    assert ended.code not in (0, None)
    assert "this block is not in the recording" in ended.error
    assert controller.timeline[-1].error in ended.error
    assert go(controller.step_back_into).kind == "exit"


BLOCK = '"""natural\nPut 1 into <:one>.\n"""\n'
HEAD = """\
import njrt, os, sys
from njrt.testing import Scripted, run
with njrt.using(model=Scripted([run("one = 1", done=True)] * 9)):
"""


def make_program(*parts: str) -> str:
    """Return a program of parts; "BLOCK" stands for a block."""
    text = "".join(BLOCK if part == "BLOCK" else part + "\n" for part in parts)
    return HEAD + textwrap.indent(text, "    ")


ENDINGS: dict[str, tuple[str, int | None, str, str]] = {
    "sys.exit": ("sys.exit(7)", 7, "", ""),
    "a message": ("sys.exit('bad luck')", 1, "bad luck", "bad luck\n"),
    "os._exit": ("print('a', flush=True); os._exit(7)", 7, "the program called os._exit(7)", "a\n"),
    "a signal": ("os.kill(os.getpid(), 9)", -9, "the process was ended by signal 9", ""),
    "an exception": ("{}[1]", 1, "KeyError: 1", "KeyError: 1\n"),
    "an interrupt": ("raise KeyboardInterrupt", 130, "KeyboardInterrupt", ""),
    "atexit": ("import atexit; atexit.register(print, 'late')", 0, "", "late\n"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_is_reported_and_nothing_is_lost(name: str, control: Control) -> None:
    code, exit_code, error, output = ENDINGS[name]
    controller = control(make_program("BLOCK", code))
    go(controller.start)
    ended, happenings = finish(controller)
    assert ended == ProgramEnded(exit_code, error)
    assert write_output(happenings).endswith(output)
    assert go(controller.step_back_over).kind == "exit"
    again, happenings = finish(controller)
    assert (again.code in (exit_code, None), write_output(happenings)[-len(output) :]) == (
        True,
        output[-len(output) :],
    )


def test_a_program_that_cannot_be_compiled_is_said(control: Control) -> None:
    controller = control('"""natural\nPut <nothing> into <:one>.\n"""\nfoo(\n')
    controller.start()
    ended, _ = end(controller)
    assert ended.code == 1
    assert "error[NJ" in ended.error
    with pytest.raises(RunControlError, match="this is the start"):
        controller.step_back_into()


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    with WaitingController(RunSettings(tmp_path / "none.njpy")) as controller:
        controller.start()
        ended, _ = end(controller)
    assert (ended.code, "FileNotFoundError" in ended.error) == (1, True)


def test_a_program_that_forks_goes_on_and_its_child_runs_free(
    control: Control, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """\
print("parent", flush=True)
pid = os.fork()
if pid == 0:
    BLOCK_HERE
    os.write(1, f"child {one}\\n".encode())
    os._exit(0)
os.waitpid(pid, 0)"""
    code = code.replace("BLOCK_HERE", BLOCK.replace("\n", "\n    ").rstrip())
    controller = control(make_program("BLOCK", code, "BLOCK", "print('end', one)"))
    controller.start(stops=False)
    ended, happenings = end(controller)
    assert ended == ProgramEnded(0)
    assert sorted(write_output(happenings).split("\n")) == ["", "end 1", "parent"]
    assert "child 1\n" in capfd.readouterr().err
    assert [item for item in happenings if isinstance(item, Noticed)] == [
        Noticed("the program has forked; its child runs without the debugger")
    ]
    assert len(controller.timeline) == 6
    assert go(controller.step_back_over).number == 5


def test_bytes_are_decoded_across_writes_and_the_input_is_empty(control: Control) -> None:
    parts = (
        "BLOCK",
        "write = sys.stdout.buffer.write",
        "write(b'h\\xc3'); write(b'\\xa9\\n'); write(b'\\xff\\xc3')",
        "print(ascii(sys.stdin.read()), file=sys.stderr)",
    )
    controller = control(make_program(*parts))
    controller.start(stops=False)
    _, happenings = end(controller)
    assert sorted(write_output(happenings)) == sorted("hé\n\ufffd\ufffd''\n")


def test_going_back_does_again_what_the_program_does_to_the_world(
    control: Control, tmp_path: Path
) -> None:
    mails = tmp_path / "mails.txt"
    send = f"open({str(mails)!r}, 'a').write('sent\\n')"
    controller = control(make_program("BLOCK", send, "BLOCK"))
    controller.start(stops=False)
    assert end(controller)[0] == ProgramEnded(0)
    assert mails.read_text() == "sent\n"
    go(controller.go_back_to, 4)
    assert mails.read_text() == "sent\nsent\n"


def test_a_run_is_paused_restarted_and_terminated(control: Control) -> None:
    parts = "import time", "while one:", "    time.sleep(0.01)"
    looping = BLOCK.replace("\n", "\n    ").rstrip() + "\n"
    program = make_program("BLOCK", *parts, "    " + looping).replace("* 9", "* 9999")
    controller = control(program)
    go(controller.start)
    controller.run_on()
    with pytest.raises(RunControlError, match="the program is not stopped: it is running"):
        controller.step_into()
    controller.pause()
    stopped = controller.wait_for_stop(SECONDS)
    assert isinstance(stopped, Stopped)
    assert stopped.reason == "pause"
    assert go(controller.restart).number == 0
    controller.run_on()
    controller.terminate()
    assert end(controller)[0] == ProgramEnded(None, "ended by the debugger")
    assert go(controller.go_back_to, 1).number == 1


def test_nothing_is_left_running(control: Control) -> None:
    child = "import subprocess\nsubprocess.Popen(['sleep', '600'])"
    controller = control(make_program(child, *["BLOCK"] * 3))
    go(controller.start)
    for _ in range(5):
        go(controller.step_into)
    group = get_group(controller)
    controller.close()

    def is_gone() -> bool:
        listed = subprocess.run(
            ["ps", "-eo", "pgid,stat"], capture_output=True, text=True, check=True
        )
        return not re.search(rf"^ *{group} +[^Z]", listed.stdout, re.MULTILINE)

    wait_until(is_gone, lambda: "processes are left")


def get_group(controller: WaitingController) -> int:
    process = controller._program._process
    assert process is not None
    return process.pid


TYPED = read_program("controlled_runs_typed")


def test_a_breakpoint_on_types_stops_after_an_output_of_a_wrong_type(control: Control) -> None:
    controller = control(TYPED)
    controller.set_breakpoints((Breakpoint("type"),))
    controller.start(stops=False)
    stopped = controller.wait_for_stop(SECONDS)
    assert isinstance(stopped, Stopped)
    assert stopped.reason == "type"
    assert controller.timeline[1].is_refused
    ended, happenings = finish(controller)
    assert (ended, write_output(happenings)) == (ProgramEnded(0), "2\n")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_going_back_survives_the_kill_of_the_program(control: Control) -> None:
    controller = control()
    go(controller.start)
    for number in range(1, 6):
        assert go(controller.step_into).number == number
    os.killpg(get_group(controller), signal.SIGKILL)
    assert end(controller)[0].code == -signal.SIGKILL
    assert go(controller.go_back_to, 3).number == 3
    ended, happenings = finish(controller)
    assert (ended, write_output(happenings)) == (ProgramEnded(0), "half done\ntotal 8\n")
