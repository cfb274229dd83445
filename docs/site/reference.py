"""The pages of the reference, made from the product when the site is built.

the effect sets                ──>  reference/effects.md
the commands of njc, spsbench  ──>  reference/commands.md
the findings of the compiler   ──>  reference/diagnostics.md
njrt.__all__                   ──>  reference/api.md, filled in from the docstrings by mkdocstrings
what a model is sent           ──>  reference/prompts.md
"""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import click
from settings_table import format_table

import njrt
from njc.commands import njc
from njc.compiler.frontend.diagnostics import SEVERITIES
from njc.findings import get_file
from njc.static.generate import SYSTEM_PROMPT
from njrt.block.agent.tools import DIRECT, format_call_form
from njrt.messages import Protocol, Request, ToolMessage, UserMessage
from njrt.testing import Said
from spsbench.cli import main as spsbench

COMPILED = Path(__file__).parents[2] / "compiled_out" / "examples"


def write_reference(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Write the pages; yield the title, the file and the summary of each."""
    folder.mkdir(parents=True)
    for name, (write, summary) in PAGES.items():
        text = "\n".join(write()) + "\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        yield text.partition("\n")[0].removeprefix("# "), f"reference/{name}.md", summary


# ── Effects ────────────────────────────────────────────────────────────────────────────────────────


def write_effects() -> Iterator[str]:
    """Both effect sets with their operations, as a model is told of them."""
    yield "# Effect sets\n"
    yield "The operations that a model of each set can ask for. [runtime.md](runtime.md#the-effects) has the tokens"
    yield "that they take, [authority](../authority.md) says which set the compiler chooses.\n"
    yield "## answer\n"
    yield "One JSON object; no operations. [authority.md](authority.md#data-or-code) has its forms.\n"
    yield "## direct\n"
    rows = [(f"`{format_call_form(each)}`", each.description) for each in DIRECT]
    yield from format_table(("operation", "the model is told"), rows)
    yield ""


# ── Commands ───────────────────────────────────────────────────────────────────────────────────────


def write_commands() -> Iterator[str]:
    """The help of every command."""
    yield "# Commands\n"
    yield "What `--help` prints.\n"
    for command, name in ((njc, "njc"), (spsbench, "spsbench")):
        yield f"## {name}\n"
        yield from _write_help(command, click.Context(command, info_name=name))


def _write_help(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield f"### {context.command_path} {name}\n"
            yield from _write_help(inner, click.Context(inner, info_name=name, parent=context))


# ── Findings ───────────────────────────────────────────────────────────────────────────────────────


def write_diagnostics() -> Iterator[str]:
    """What `njc explain` prints about each finding."""
    yield "# Diagnostics\n"
    yield "All findings of `njc check` and `njc build`, as `njc explain CODE` prints them. An error"
    yield 'stops the build; a warning does not, unless the project has `warnings = "error"`. Hints are'
    yield "reported by `njc check --hints`. A comment `# njc: ignore[CODE]` above a block, or after its"
    yield "closing quotes, silences a finding there; before the first statement, in the whole file.\n"
    for code in sorted(SEVERITIES):
        yield f"#{get_file(code).read_text(encoding='utf-8')}"


# ── Python ─────────────────────────────────────────────────────────────────────────────────────────

COMPILED_CALLS = ("Break", "Continue", "Return", "allm_at", "arun", "attempt", "llm_at", "run")
"""The public names that only compiled files use."""
GROUPS: dict[str, Callable[[Any], bool]] = {
    "Errors": lambda value: isinstance(value, type) and issubclass(value, njrt.NaturalError),
    "Functions": lambda value: (
        isinstance(value, types.FunctionType)
        or (isinstance(value, type) and value.__name__.islower())
    ),
    "Classes": lambda value: isinstance(value, type),
}


def write_api() -> Iterator[str]:
    """The public names of njrt, by kind; mkdocstrings puts their docstrings in."""
    yield "# Python\n"
    yield (
        "The public names of `njrt`, from their docstrings. Compiled files also use "
        + ", ".join(f"`njrt.{name}`" for name in COMPILED_CALLS)
        + " ([compiled files](building.md#the-compiled-file)).\n"
    )
    rest = {
        name: getattr(njrt, name) for name in njrt.__all__ if name not in (*COMPILED_CALLS, "Any")
    }
    for title, is_of in GROUPS.items():
        names = [name for name, value in rest.items() if is_of(value)]
        yield f"## {title}\n"
        if title == "Errors":
            yield f"```text\n{_read_error_tree()}\n```\n"
        for name in names:
            value = rest.pop(name)
            yield f"::: {value.__module__}.{name}"
            yield f"    options:\n      heading: njrt.{name}\n      toc_label: {name}\n"
    for name in rest:  # unions and aliases, which have no docstring of their own
        yield f"`njrt.{name}` is `{rest[name]}`.\n"


def _read_error_tree() -> str:
    lines = inspect.getdoc(import_module("njrt.errors")) or ""
    return lines[lines.index("NaturalError") :].split("\n\n")[0]


# ── Prompts ────────────────────────────────────────────────────────────────────────────────────────

INSTRUCTION = """natural
Continue if <topic> is "prizes". Otherwise append <mail> to the list in <self.folders>
that is for its <topic>.
"""


class Mailbox:  # as in examples/mailbox.njpy; a docstring would be shown to the model
    def __init__(self, mails: list[str]) -> None:
        self.mails = mails
        self.folders: dict[str, list[str]] = {"bills": [], "meetings": []}
        self.opened = 0


def file_mail(self: Mailbox) -> None:
    """Run the second block of the example on the first mail."""
    topic, mail = "bills", self.mails[0]
    njrt.run(
        INSTRUCTION,
        lambda: (topic, mail, self),
        parts="self.folders",
        labels="continue",
        at="mailbox.njpy:17",
    )


def capture_requests(
    program: Callable[[], object], *replies: Said, **settings: Any
) -> list[Request]:
    """The requests of a run; after the replies it is ended."""
    protocol: Protocol = settings.pop("protocol", "tools")
    entries = iter(replies)

    def reply(_: Request) -> Said:
        return next(entries, njrt.ModelError("shown"))

    model = njrt.Scripted(reply, protocol=protocol)
    try:
        with njrt.using(model=model, **settings):
            program()
    except njrt.ModelError:
        pass
    return model.requests


def ask_for_team() -> object:
    """The block of examples/tickets.njpy."""
    team: object
    ticket = "My parcel has not arrived; it was sent two weeks ago."
    njrt.run(
        'natural\nPut into <:team: Literal["billing", "shipping", "technical"]> the team that should answer <ticket>.\n',
        lambda: (team, ticket),  # noqa: F821
        writes="team",
        types=lambda: {"team": Literal["billing", "shipping", "technical"]},
        at="tickets.njpy:8",
        effects="answer",
    )
    return team  # noqa: F821


def write_prompts() -> Iterator[str]:
    """What a model is sent in each form, word for word."""
    yield "# Literal prompts\n"
    yield "What a model is sent, word for word, as this version sends it. [authority.md](authority.md) says when a"
    yield "block has which form, [runtime.md](runtime.md#the-effects) which effect sets there are.\n"
    yield "## Data: answer\n"
    first, second = capture_requests(ask_for_team, {"team": "sales"})
    yield from _write_request(first)
    yield 'To the reply `{"team": "sales"}`, which does not fit, it is answered:\n'
    yield from _write_text(_read_message(second))
    yield "## Code: direct\n"
    yield from _write_direct_forms()
    yield "## Questions of code: njrt.llm\n"
    yield '`njrt.llm("Is this an invoice? Please pay 84.20 EUR.", bool)`:\n'
    (request,) = capture_requests(
        lambda: njrt.llm("Is this an invoice? Please pay 84.20 EUR.", bool)
    )
    yield from _write_request(request)
    yield "## Code written at build time\n"
    yield "The system prompt of the static modes; the message after it is the program around the block.\n"
    yield from _write_text(SYSTEM_PROMPT)


def _write_direct_forms() -> Iterator[str]:
    settings: dict[str, Any] = {"effects": "direct", "cache": False}
    mailbox = Mailbox(["Please pay 84.20 EUR."])
    tools, text = (
        capture_requests(lambda: file_mail(mailbox), protocol=protocol, **settings)[0]
        for protocol in ("tools", "text")
    )
    yield "### By tool calls\n"
    yield from _write_request(tools)
    yield "### In plain text\n"
    if _read_message(text) == _read_message(tools):
        yield "The same first message, and this system prompt:\n"
        yield from _write_text(text.system)
    else:
        yield from _write_request(text)


def _write_request(request: Request) -> Iterator[str]:
    yield "System prompt:\n"
    yield from _write_text(request.system)
    yield "First message:\n"
    yield from _write_text(_read_message(request))
    if request.tools:
        yield "Tools: " + ", ".join(f"`{tool.name}`" for tool in request.tools)
        yield f" ({len(json.dumps([tool.parameters for tool in request.tools])):,} characters of JSON schema).\n"


def _read_message(request: Request) -> str:
    match request.messages[-1]:
        case UserMessage(text):
            return text
        case ToolMessage(results):
            return "\n".join(result.text for result in results)
        case other:
            raise AssertionError(other)


def _write_text(text: str) -> Iterator[str]:
    yield f"````text\n{text.rstrip()}\n````\n"


PAGES: dict[str, tuple[Callable[[], Iterator[str]], str]] = {
    "effects": (write_effects, "the operations of every effect set"),
    "diagnostics": (write_diagnostics, "all findings of the compiler, by code"),
    "commands": (write_commands, "the help of every command of `njc` and `spsbench`"),
    "api": (write_api, "the public names of `njrt`"),
    "prompts": (write_prompts, "what a model is sent, word for word, in every form"),
}
"""The function that writes each page, and its summary, by the name of its file."""
