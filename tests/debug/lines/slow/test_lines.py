"""`njc debug`: what is shown, changed and refused, by commands from a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from piped import SCRIPTED, Debug, answers

from njc.commands import njc
from njc.compiler.frontend.source import SourceFile
from njc.debug.lines.commands import COMMANDS
from njc.debug.lines.stop_report import list_lines
from waiting import HANG_SECONDS

CITATIONS = (
    "--recording",
    "examples/recordings/wrong_citations.jsonl",
    "examples/wrong_citations.njpy",
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.njpy"
    file.write_text(SCRIPTED)
    return file


def test_a_program_is_stepped_through_forward_and_back(debug: Debug, program: Path) -> None:
    result = debug(program, commands="s\ns\nw\ns\nS\nS\nN\ns\nC\nr\nt\nc\n")
    place = program.name
    assert result.exit_code == 0
    assert (
        result.output
        == f"""\
> {place}:14, step 0: entry of the block
   15 -> Add <double> of 4 to <:total>.
(njc) s
> {place}:14, step 1: before Run, turn 1
   15 -> Add <double> of 4 to <:total>.
    1    partial = double(4)
    2    print('half done')
    3    1 / 0
(njc) s
> {place}:6, step 2: entry of the block
    7 -> Double <number> into <:doubled>.
(njc) w
    {place}:6, step 2: entry of the block
    {place}:14, step 1: before Run, turn 1
(njc) s
> {place}:6, step 3: before Run, turn 1
    7 -> Double <number> into <:doubled>.
    1    doubled = number * 2
(njc) S
> {place}:6, step 2: entry of the block
    7 -> Double <number> into <:doubled>.
(njc) S
> {place}:14, step 1: before Run, turn 1
   15 -> Add <double> of 4 to <:total>.
    1    partial = double(4)
    2    print('half done')
    3    1 / 0
(njc) N
> {place}:14, step 0: entry of the block
   15 -> Add <double> of 4 to <:total>.
(njc) s
> {place}:14, step 1: before Run, turn 1
   15 -> Add <double> of 4 to <:total>.
    1    partial = double(4)
    2    print('half done')
    3    1 / 0
(njc) C
> {place}:14, step 0: entry of the block
   15 -> Add <double> of 4 to <:total>.
(njc) r
| half done
  total: int = 0 -> 8
> {place}:14, step 6: exit of the block, completed
   16 -> \"\"\"
(njc) t
    0    {place}:14  entry: double, total=0
    1    {place}:14  Run: partial = double(4) … -> partial=8 (refused)
    2      {place}:6  entry: number=4
    3      {place}:6  Run: doubled = number * 2 -> doubled=8
    4      {place}:6  exit: completed
    5    {place}:14  Run: total = partial -> total=8
    6 -> {place}:14  exit: completed
(njc) c
| total 8
the program has ended
"""
    )


def test_variables_and_effects_are_changed(debug: Debug, program: Path) -> None:
    commands = (
        "set total = 40\nb variable partial\nc\np partial + total\nN\n"
        "edit partial = 1\\nprint(2)\ne\nabort no more\nedit total = 7\nr\nv\n"
    )
    shown = answers(debug(program, commands=commands))
    assert shown["set total = 40"] == ["total: int = 40"]
    assert "breakpoint: variable partial" in shown["c"]
    assert shown["p partial + total"] == ["int = 48"]
    assert shown["e"] == ["    1    partial = 1", "    2    print(2)"]
    assert shown["abort no more"] == ["the block will end with an error"]
    assert "  total: int = 7 -> 5" in shown["r"]
    assert "  * total: int = 7 -> 5" in shown["v"]


def test_steps_and_traces_show_the_effect_that_ran(
    debug: Debug, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace.jsonl"
    monkeypatch.setenv("NJC_TRACE", str(trace))
    shown = answers(debug(program, commands="s\nedit total = 7; print('edited')\nn\nt\nN\ne\nc\n"))
    assert "Run: total = 7; print('edited')" in "\n".join(shown["t"])
    assert shown["e"] == ["    1    total = 7; print('edited')"]
    listed = CliRunner().invoke(njc, ["trace", str(trace), "1"]).output
    assert "total = 7; print('edited')" in listed
    assert "half done" not in listed


RECORDING = "examples/recordings/wrong_citations.jsonl"


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        (f"none:{RECORDING}", "wrong_citations.njpy:10, step 0: entry of the block"),
        (f"once:{RECORDING}", "wrong_citations.njpy:10, step 0: entry of the block"),
        ("none:nothing.jsonl", "there is no recording nothing.jsonl"),
        (f"all:{RECORDING}", "the debugger cannot replay NJC_RECORD=all:"),
        ("none:store:mail", "the debugger cannot replay NJC_RECORD=none:store:mail"),
    ],
)
def test_the_recording_of_the_environment_is_replayed(
    debug: Debug, monkeypatch: pytest.MonkeyPatch, setting: str, shown: str
) -> None:
    monkeypatch.setenv("NJC_RECORD", setting)
    result = debug("examples/wrong_citations.njpy", commands="s\nq\n")
    assert shown in result.output


def test_an_effect_is_rejected_in_words(debug: Debug, program: Path) -> None:
    shown = answers(debug(program, commands="s\nreject\nreject use no numbers\nn\nm\n"))
    assert shown["reject"] == [
        "error: write `reject WORDS`: refuse the effect; the model is answered WORDS"
    ]
    assert shown["n"][0].startswith("  refused: ")
    assert "use no numbers" in shown["n"][0]
    assert "use no numbers" in "\n".join(shown["m"])


ERRORS = {
    "zz": "there is no command `zz`; `h` lists them",
    "b nothing": "`nothing` is not a breakpoint; write one of: ",
    "b 1": "there is no prompt at wrong_citations.njpy:1",
    "cl 4": "there is no breakpoint `4`; `b` lists them",
    f"b {'9' * 5000}": " is not a breakpoint; write one of: ",
    "b block wrong_citations.njpy:99": "there is no prompt at wrong_citations.njpy:99",
    f"b effect if {'-' * 100000}1": " is not an expression: ",
    "cl -1": "there is no breakpoint `-1`",
    "cl 1 2": "there is no breakpoint `1 2`",
    f"cl {'9' * 5000}": "`; `b` lists them",
    "p": "write `p EXPRESSION`: its value",
    "p nothing": "NameError: name 'nothing' is not defined",
    "p 1 +": "invalid syntax",
    "set": "write `set NAME = EXPRESSION`: change a variable",
    "set query": "write what to set: set NAME = EXPRESSION",
    "set class = 4": "`class` is not the name of a variable",
    "set 3 = 4": "`3` is not the name of a variable",
    "set query = 1 / 0": "ZeroDivisionError",
    "edit x = 1": "no effect is pending here; step on to the next one",
    "reject no": "no effect is pending here; step on to the next one",
    "m": "the model has not been asked here yet",
    "goto": "write `goto STEP`: back to a step",
    "goto 1": "step 1 is ahead; breakpoints stop there",
    "goto x": "`goto x`: write the number of a step",
    "goto -1": "`goto -1`: write the number of a step",
    "goto 1.5": "`goto 1.5`: write the number of a step",
    f"goto {'9' * 5000}": ": write the number of a step",
    "q foo": "`q` takes no arguments; leave `foo` out",
    **{
        f"{command.name} foo": f"`{command.name}` takes no arguments; leave `foo` out"
        for command in COMMANDS
        if not command.arguments
    },
    "N": "this is the start",
    "C": "this is the start",
    "edit": "write `edit TEXT`: change the effect; `\\n` is a new line",
}


def test_errors_have_one_line_and_a_way_out(debug: Debug) -> None:
    shown = answers(debug(*CITATIONS, commands="\n".join(ERRORS) + "\n"))
    for command, message in ERRORS.items():
        (line,) = shown[command]
        assert line.startswith("error: ")
        assert message in line


def test_places_without_a_step_or_a_file_are_noted(debug: Debug) -> None:
    commands = "b block wrong_citations.njpy:11\nb block lib.njpy:3\ncl 1\nc\ngoto 99\ngoto 3\n"
    result = debug(*CITATIONS, commands=commands)
    shown = answers(result)
    assert shown["b block wrong_citations.njpy:11"] == [
        "breakpoint 1: block wrong_citations.njpy:11"
    ]
    assert shown["b block lib.njpy:3"] == [
        "breakpoint 2: block lib.njpy:3",
        "note: lib.njpy is not here; a module elsewhere may have it",
    ]
    assert shown["goto 99"] == ["error: step 99 is ahead; breakpoints stop there"]
    assert shown["goto 3"][0].startswith("> wrong_citations.njpy:10, step 3: ")


def test_a_recording_is_replayed_and_left_alone(debug: Debug, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_bytes(Path(CITATIONS[1]).read_bytes())
    commands = "s\nm\nedit cited_by[14].add(20); answer = 'done'\nn\nc\nN\np cited_by\n"
    result = debug("--recording", recording, CITATIONS[2], commands=commands)
    shown = answers(result)
    assert shown["m"][0] == "    shown to the model in turn 1:"
    assert "    cited_by[14].add(3)" in shown["m"]
    change = "  cited_by: dict[int, set], 2 keys = {14: {3, 8}, 3: {8}} -> {14: {3, 8, 20}, 3: {8}}"
    assert change in shown["n"]
    assert (
        shown["c"][-1] == "the recording has no reply for this; go back, then `live` asks a model"
    )
    assert shown["p cited_by"] == ["dict[int, set], 2 keys = {14: {3, 8, 20}, 3: {8}}"]
    assert recording.read_bytes() == Path(CITATIONS[1]).read_bytes()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("import sys\n{0}\nsys.exit(3)\n", "the program has ended with 3"),
        ("import os\n{0}\nos._exit(4)\n", "the program called os._exit(4)"),
        ("{0}\n1 / 0\n", "the program has ended with 1: ZeroDivisionError"),
        (
            "import os\n{0}\nif not os.fork():\n    os._exit(0)\nos.wait()\n",
            "note: the program has forked; its child runs without the debugger",
        ),
        (
            "{0}\nprint(input('name? '))\n",
            "the program has ended with 1: EOFError",
        ),
        ("print('a\\x1b[2Jb')\n{0}\n", "| a\\x1b[2Jb"),
    ],
    ids=["exit", "_exit", "error", "fork", "input", "escape"],
)
def test_programs_that_end_fork_read_and_write(
    debug: Debug, tmp_path: Path, text: str, shown: str
) -> None:
    block = 'def f():\n    """natural\n    Bind <:x>.\n    """\n    return x\n'
    program = tmp_path / "program.njpy"
    program.write_text(block + text.format(""))
    result = debug(program, commands="")
    assert shown in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.njpy"], 2, "error: cannot read none.njpy: No such file or directory"),
        (["examples"], 2, "error: examples is a directory; name the program, such as main.njpy"),
        ([], 2, "error: name a program: njc debug FILE; `njc trace FILE` shows a trace"),
        (["{0}/wrong.njpy"], 1, "error[NJ"),
        (["{0}/wrong.py"], 2, "is not a program: "),
        (
            ["--recording", "none.jsonl", "examples/order.njpy"],
            2,
            "error: there is no recording none.jsonl",
        ),
        (["--set", "colour=1", "examples/order.njpy"], 2, "colour"),
    ],
)
def test_bad_input_has_a_clear_message(
    debug: Debug, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "wrong.njpy").write_text('x = 1 +\n"""natural\nBind <:y>.\n"""\n')
    (tmp_path / "wrong.py").write_text("x = 1 +\n")
    result = debug(*(argument.format(tmp_path) for argument in arguments))
    assert result.exit_code == code
    assert message in result.output + result.stderr


def test_the_recording_of_another_program_has_no_reply(debug: Debug) -> None:
    result = debug(
        "--recording", "examples/recordings/order.jsonl", "examples/tickets.njpy", commands="s\n"
    )
    assert (
        answers(result)["s"][1]
        == "the recording has no reply for this; go back, then `live` asks a model"
    )


def test_a_program_that_does_not_repeat_itself_diverges(debug: Debug, tmp_path: Path) -> None:
    program = tmp_path / "program.njpy"
    program.write_text(SCRIPTED.replace("total = 0", "import time; total = time.time_ns()"))
    shown = answers(debug(program, commands="s\nrestart\n"))
    assert shown["restart"][0].startswith(
        "diverged: step 0 differs when repeated: variable `total` was int = "
    )


def test_the_source_is_shown_by_the_lines_of_its_places(debug: Debug, tmp_path: Path) -> None:
    text = SCRIPTED.replace("CODES = [", "# \u2028 \x0c \xe9\nCODES = [")
    for encoding, cookie in (("latin-1", "# coding: latin-1\n"), ("utf-8-sig", "")):
        file = tmp_path / f"{encoding.replace('-', '_')}.njpy"
        body = text if encoding == "utf-8-sig" else text.replace("\u2028", "")
        file.write_bytes((cookie + body.replace("\n", "\r\n")).encode(encoding))
        first = file.read_bytes()[:3]
        source = SourceFile(file.name, file.read_bytes())
        lines = list_lines(source)
        assert "\n".join(lines) + "\n" == cookie + body, first
        result = debug(file, commands="l\nq\n")
        assert "Add <double> of 4 to <:total>." in result.output.partition("(njc) l")[0]
    assert list_lines(SourceFile("a.njpy", b"")) == []
    assert list_lines(SourceFile("a.njpy", b"a\r\rb")) == ["a", "", "b"]


def test_commands_that_are_not_utf_8_are_answered(debug: Debug, program: Path) -> None:
    result = debug(program, commands=b"p 1\np '\xff'\ninput \xff\ns\nreject \xff\nq\n")
    assert "(njc) p 1\nint = 1\n" in result.output
    assert "(njc) reject" in result.output
    assert not result.exception


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_temporary_files(program: Path, number: str) -> None:
    command = [sys.executable, "-m", "njc", "debug", str(program)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with TemporaryDirectory() as temporary:  # a short path, for the addresses of sockets
        environ = {**os.environ, "TMPDIR": temporary, "NJC_CACHE": "off"}
        with subprocess.Popen(command, env=environ, **pipes) as process:
            assert process.stdout is not None
            process.stdout.readline()
            assert os.listdir(temporary)
            process.send_signal(getattr(signal, number))
            assert process.wait(HANG_SECONDS) == -getattr(signal, number)
        assert os.listdir(temporary) == []
