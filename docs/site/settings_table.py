"""The page docs/reference/settings.md, made from the code that reads the settings.

Options, DEFAULTS          options of a block                      model      NJC_MODEL     --set
Project                    keys of [tool.njc]                      out        NJC_OUT       --out
njrt.using                 arguments around blocks                 trace      NJC_TRACE     --trace
RUNTIME_VARIABLES          variables of the whole process                     NJC_API_KEY

python docs/site/settings_table.py      write the page; a test fails if it is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import griffe

import njrt
from njc.commands import COMMANDS, njc
from njc.doctor import RUNTIME_VARIABLES
from njc.project.config import PROJECT_VARIABLES, Project
from njrt.data.options import BUILD_OPTIONS, DEFAULTS, OPTION_CHOICES, OPTION_NAMES

PAGE = Path(__file__).parents[1] / "reference" / "settings.md"
HEAD = """# Settings

Written by `python docs/site/settings_table.py` from the code that reads the settings. The first place that sets an
option wins:

1. `with njrt.using(NAME=VALUE):` around the call, for all blocks inside, and then `njrt.configure(NAME=VALUE)`, for all
   blocks of the process; not `jumps`, `mode` and `fallback`, options of the build
2. the block: `natural(NAME=VALUE)` behind its opening quotes; only there `ahead=N` ([loops](runtime.md#asking-ahead-in-a-loop))
3. the file: a comment `# njc: NAME=VALUE` above its first statement
4. the environment: `NJC_` and the name in capitals, such as `NJC_MODEL`. It changes no compiled file: options of the
   build have no variable (`NJC_MODE` is for imports, `njc run` and `njc eval`), and `NJC_EFFECTS` does not count for blocks that the compiler has answer with data
5. the project: `NAME = VALUE` in `[tool.njc]`, with `-` for `_`
6. the default

"""
FLAGS = """`--set NAME=VALUE` replaces the value of the project, for options of a block; `njc run --set` also wins over the
variable. These commands have it: {}.

For a key of the project, the flag wins over the variable, and the variable over the file. Lists in
variables are separated by commas. `njc doctor` reports variables `NJC_*` that it does not know.

A relative path of a recording, a trace, a cache or a store does not follow `os.chdir`: it is
resolved when `njrt.using` is entered, and elsewhere when a block first uses it.

"""
DEPENDING_DEFAULTS = {
    "policy": "`auto`",
    "protocol": "by model",
    "temperature": "`text`: 0; `tools`: of the vendor",
    "store": "a file of the user",
    "cache": "off",
}
"""Defaults that depend on something else."""
OTHER_FLAGS = ("authority", "budget", "decide", "jumps", "max_usd")
"""Flags with the name of a setting that choose what a command shows, or limit the command."""


def write_settings() -> str:
    """Return the text of the page."""
    setting = [name for name in COMMANDS if "--set" in _list_flags(name)]
    listed = ", ".join(f"`{name}`" for name in setting)
    rows = (*_list_options(), *_list_project_keys(), *_list_arguments(), *_list_variables())
    head = ("setting", "default", "meaning", "variable, flag", "set by")
    return HEAD + FLAGS.format(listed) + "\n".join(format_table(head, rows)) + "\n"


def format_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table of Markdown; a `|` in a cell is escaped."""
    for row in (head, ("---",) * len(head), *rows):
        cells = (_link_pages(" ".join(cell.split())).replace("|", r"\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


def _link_pages(text: str) -> str:
    """Make links of the pages that a docstring names: (docs/reference/budgets.md), (SECURITY.md)."""
    text = re.sub(r"\(docs/reference/(\w+)\.md\)", r"([\1](\1.md))", text)
    return text.replace("(SECURITY.md)", "([security](../../SECURITY.md))")


def _list_options() -> Iterator[tuple[str, ...]]:
    for name in OPTION_NAMES:
        choices = [f"`{choice}`" for choice in OPTION_CHOICES.get(name, ())]
        meaning = _read_docstring("njrt.data.options.Options", name)
        unexplained = [choice for choice in choices if choice not in meaning]
        yield (
            f"`{name}`",
            DEPENDING_DEFAULTS.get(name) or _show_default(getattr(DEFAULTS, name)),
            meaning + (f" One of {', '.join(choices)}." if unexplained else ""),
            _join("" if name in BUILD_OPTIONS else f"NJC_{name.upper()}", name, COMMANDS),
            "block",
        )


def _list_project_keys() -> Iterator[tuple[str, ...]]:
    defaults = {field.name: field.default for field in fields(Project)}
    for variable, key in PROJECT_VARIABLES.items():
        name = key.replace("-", "_")
        yield (
            f"`{key}`",
            _show_default(defaults[name]),
            _read_docstring("njc.project.config.Project", name),
            _join(variable, name, ("build",)),
            "project",
        )


def _list_arguments() -> Iterator[tuple[str, ...]]:
    parameters = inspect.signature(njrt.using).parameters.values()
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD or (
            parameter.name in OPTION_NAMES and parameter.name != "mode"
        ):
            continue
        variable = f"NJC_{parameter.name.upper()}"
        is_known = variable in RUNTIME_VARIABLES
        yield (
            f"`{parameter.name}`",
            DEPENDING_DEFAULTS.get(parameter.name) or _show_default(parameter.default),
            f"{_read_parameter(parameter.name)} {RUNTIME_VARIABLES.get(variable, '')}",
            _join(variable, parameter.name, ("run", "debug")) if is_known else "",
            "`using`",
        )


def _list_variables() -> Iterator[tuple[str, ...]]:
    arguments = inspect.signature(njrt.using).parameters
    for variable, meaning in RUNTIME_VARIABLES.items():
        if variable.removeprefix("NJC_").lower() not in arguments:
            yield "", "", meaning, f"`{variable}`", "environment"


def _show_default(default: Any) -> str:
    if default in (None, MISSING, ()):
        return ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _join(variable: str, name: str, commands: Iterable[str]) -> str:
    """Return the variable, if any, and the flag of a setting's name, if one of the commands has it."""
    flag = f"--{name.replace('_', '-')}"
    has_flag = name not in OTHER_FLAGS and any(flag in _list_flags(each) for each in commands)
    return ", ".join(f"`{each}`" for each in (variable, flag if has_flag else "") if each)


@cache
def _list_flags(name: str) -> frozenset[str]:
    """Return the flags of a command and of its own commands."""
    command = njc.get_command(click.Context(njc), name)
    assert command is not None
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return frozenset(
        flag for each in (command, *inner) for parameter in each.params for flag in parameter.opts
    )


def _read_docstring(path: str, name: str) -> str:
    """Return the docstring of an attribute of a class."""
    module, _, owner = path.rpartition(".")
    docstring = _load(module)[owner].members[name].docstring
    assert docstring is not None, f"{path}.{name} has no docstring"
    return docstring.value


def _read_parameter(name: str) -> str:
    """Return what the docstring of `njrt.using` has about an argument."""
    lines = " ".join((inspect.getdoc(njrt.using) or "").split()).split(":param ")
    (meaning,) = (line.partition(": ")[2] for line in lines if line.startswith(f"{name}: "))
    return meaning.strip()


@cache
def _load(module: str) -> griffe.Module:
    loaded = griffe.load(module, search_paths=sys.path)
    assert isinstance(loaded, griffe.Module)
    return loaded


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(write_settings(), encoding="utf-8")
