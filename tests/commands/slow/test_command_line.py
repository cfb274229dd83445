"""The command itself: its names, its help, its start."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from workplace import GREETING, Workplace

from njc import __version__
from njc.commands import COMMANDS, read_summary
from njc.commands import njc as njc_command
from spsbench.cli import main as spsbench_command


@pytest.mark.parametrize("arguments", [["--version"], ["-v", "--version"]])
def test_version(here: Workplace, arguments: list[str]) -> None:
    assert here.process(*arguments).stdout == f"njc {__version__}\n"


def test_the_installed_command_is_the_module(here: Workplace) -> None:
    script = Path(sys.executable).with_name("njc")
    here.write({"a.njpy": GREETING})
    here.python("-c", f"import subprocess; subprocess.run([{str(script)!r}, 'build', 'a.njpy'])")
    assert here.files() == ["a.njpy", "a.py"]


@pytest.mark.parametrize("name", ["build", "check", "eval"])
def test_ctrl_c_has_its_own_exit_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        njc_command.get_command(click.Context(njc_command), name), "invoke", interrupt
    )
    words = [name, __file__, __file__] if name == "eval" else [name]
    result = CliRunner().invoke(njc_command, words)
    assert (result.exit_code, result.output) == (130, "\ninterrupted\n")


@pytest.mark.parametrize(
    ("variables", "color"),
    [
        ({}, None),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colors_follow_the_environment(
    variables: dict[str, str], color: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command = njc_command.get_command(click.Context(njc_command), "check")
    assert command is not None
    assert command.make_context("check", [__file__]).color is color


def test_help_names_every_command(here: Workplace) -> None:
    top = here.njc("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in top
        assert here.njc(name, "--help").stdout.startswith(f"Usage: njc {name} ")
    assert "_NJC_COMPLETE=bash_source" in top


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_agrees_with_the_commands(name: str) -> None:
    context = click.Context(njc_command)
    command, example = njc_command.get_command(context, name), COMMANDS[name]
    assert command
    assert read_summary(name) == command.get_short_help_str(200)
    assert f"Example: {example}" in command.get_help(click.Context(command))
    program, called, *arguments = shlex.split(example)
    assert (program, called) == ("njc", name)
    with suppress(click.BadParameter):  # a file of the example does not exist here
        command.make_context(name, arguments, parent=context)


def test_the_help_imports_no_command(here: Workplace) -> None:
    program = (
        "import sys; sys.argv = ['njc', '--help'];"
        "import atexit; atexit.register(lambda: print([name for name in sys.modules"
        " if name.startswith('njc.') and not name.startswith('njc.commands')]));"
        "from njc.cli import main; main()"
    )
    shown = here.python("-c", program).stdout
    assert shown.splitlines()[-1] == "['njc.cli']"


def list_commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield the command and its subcommands, for a terminal of 80 columns."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=80)
    yield name, command, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found
            yield from list_commands(found, child, context)


@pytest.mark.parametrize("program", [njc_command, spsbench_command], ids=["njc", "spsbench"])
def test_every_option_has_one_line_of_help(program: click.Command) -> None:
    wrong = []
    for name, command, context in list_commands(program, "it"):
        lines = ["hidden", *command.get_help(context).splitlines()]
        for parameter in command.get_params(context):
            if not isinstance(parameter, click.Option):
                continue
            record = parameter.get_help_record(context)
            text = record[1].partition("  [")[0] if record else "hidden"
            if not text or not any(text in line for line in lines):
                wrong.append((name, parameter.opts, text))
    assert wrong == []


@pytest.mark.parametrize("program", [njc_command, spsbench_command], ids=["njc", "spsbench"])
def test_commands_are_described_in_one_line(program: click.Command) -> None:
    for name, command, context in list_commands(program, "it"):
        assert command.help, name
        if isinstance(command, click.Group):
            listed = command.get_help(context).partition("Commands:")[2]
            assert "..." not in listed, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bild"], "no such command `bild`; did you mean `build`?"),
        (["xyzzy"], "No such command 'xyzzy'"),
        (["build", "--chek"], "--check"),
        (
            ["batch", "a.njpy:f", "t.csv", "--out", "o", "--max-usd", "nan"],
            "nan is not a finite number",
        ),
        (["check", "--output-format", "xml"], "'xml' is not one of"),
    ],
)
def test_misspelt(here: Workplace, arguments: list[str], message: str) -> None:
    assert message in here.njc(*arguments, code=2).stderr


def test_a_command_imports_only_what_it_needs(here: Workplace) -> None:
    program = (
        "import sys; sys.argv = ['njc', '--version']; from njc.cli import main; main();"
        "print(sorted(sys.modules.keys() & {'click', 'njrt', 'ast', 'njc.project.build', 'njc.compiler.compiler'}))"
    )
    assert here.python(
        "-S", "-E", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"
    ).stdout == (f"njc {__version__}\n[]\n")
    here.write({"a.njpy": GREETING})
    here.njc("build", "a.njpy")
    unchanged = (
        "import sys; sys.argv = ['njc', 'build', 'a.njpy'];"
        "import atexit; atexit.register(lambda: print(sorted(sys.modules.keys() & "
        "{'njc.compiler.compiler', 'concurrent.futures', 'asyncio', 'pydantic'})));"
        "from njc.cli import main; main()"
    )
    assert here.python("-c", unchanged).stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [("njc bu", "build"), ("njc exp", "explain"), ("njc check --hi", "--hints")],
)
def test_completion_in_the_shell(here: Workplace, words: str, completed: str) -> None:
    environ = {
        "_NJC_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    script = Path(sys.executable).with_name("njc")
    program = f"import runpy, sys; sys.argv = ['njc']; runpy.run_path({str(script)!r}, run_name='__main__')"
    assert here.python("-c", program, environ=environ).stdout == f"plain,{completed}\n"
