"""Compile and run the program of the page "Try it"; the page runs this module in Pyodide.

    check_program("a.njpy", text)            {"findings": [...], "compiled": "...", "blocks": "lines 3-5, ..."}
    run_program("a.njpy", text, [])          {"request": {"system": "...", "messages": [...]}, "steps": [], ...}
    run_program("a.njpy", text, ["x = 1"])   {"request": None, "steps": [{"reply": "x = 1", ...}], ...}

A browser has one thread, so a program cannot wait for a reply. It is run again from its start for each reply, with the
replies so far as the script of a model, and ended at the first request that the script does not answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import re
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import njrt
from njc.commands import njc
from njc.compiler.compiler import analyze, generate, parse_compiled_tree
from njc.compiler.frontend.source import SourceFile
from njc.findings import read_finding
from njc.run import run_as_main
from njrt.effects import Answer, EffectResult, NeedsCode, Refusal
from njrt.errors import NaturalError
from njrt.events import Asked, Began, Ended, Event, Performed, Replied, StateChange
from njrt.log.listeners import add_listener
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from njrt.testing import Scripted
from njrt.values.rendering.endings import summarize_result

Json = dict[str, Any]


class Unanswered(BaseException):
    """Ends a program at the request for which there is no reply yet."""


class Steps:
    """A listener that keeps one step a reply, as JSON (state: the steps, and whether the program is over)."""

    wants_states = True

    def __init__(self) -> None:
        self.steps: list[Json] = []
        self.is_over = False
        self._places: dict[str, str] = {}
        self._last: dict[str, Json] = {}

    def __call__(self, event: Event) -> None:
        """Keep one event, unless the program is being ended."""
        if self.is_over:
            return
        match event:
            case Began(run=run, place=place):
                self._places[run] = place
            case Replied(run=run, turn=turn, reply=reply):
                step = {"place": self._places[run], "turn": turn, "reply": reply.message.text}
                self._last[run] = step | {"kind": "", "result": "", "changes": {}, "printed": ""}
                self.steps.append(self._last[run])
            case Asked(run=run, request=request) if step := self._last.get(run):
                if not step["kind"] and isinstance(message := request.messages[-1], UserMessage):
                    step |= {"kind": "refusal", "result": message.text}
            case Performed(run=run, result=result, state=state) if step := self._last.get(run):
                step["kind"] = classify_result(result)
                step["result"] = summarize_result(result, event.redact)
                add_changes(step, state)
            case Ended(run=run, outcome=outcome, state=state) if step := self._last.get(run):
                if isinstance(outcome, NaturalError):
                    step |= {"kind": "failure", "result": str(outcome)}
                add_changes(step, state)
            case _:
                pass


def add_changes(step: Json, state: StateChange | None) -> None:
    """Add the variables that changed, and what the block's code printed, to a step."""
    if state is not None:
        step["changes"] |= state.changes
        step["printed"] += state.printed


def classify_result(result: EffectResult) -> str:
    """Return the kind of a result: `refusal`, `answer` if the conversation continues, `outcome` if it ends."""
    if isinstance(result, Refusal):
        return "refusal"
    return "answer" if isinstance(result, Answer | NeedsCode) else "outcome"


def check_program(name: str, text: str) -> Json:
    """Return the findings of a program, its compiled form and the text of `njc show`."""
    compilation = generate(analyze(SourceFile(name, text.encode())))
    findings = [
        asdict(finding) | {"anchor": make_anchor(finding.code)}
        for finding in sorted((*compilation.diagnostics, *compilation.hints))
    ]
    output = compilation.output
    blocks = show_blocks(name, text) if output is not None else ""
    return {"findings": findings, "compiled": output and output.decode(), "blocks": blocks}


def make_anchor(code: str) -> str:
    """Return the anchor of a code on the page of diagnostics."""
    heading = f"{code}: {read_finding(code).title}".lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip())


def show_blocks(name: str, text: str) -> str:
    """Return the output of `njc show` for a program."""
    Path(name).write_text(text, encoding="utf-8")
    return CliRunner().invoke(njc, ["show", name]).stdout.strip()


def run_program(name: str, text: str, replies: Sequence[str]) -> Json:
    """Run a program on some replies; return its steps and output, and the request after the last reply."""
    compilation = generate(analyze(SourceFile(name, text.encode())))
    if compilation.output is None:
        return {"steps": [], "printed": "", "error": None, "request": None, "runs": False}
    path = str(Path(name).absolute())
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        code = compile(parse_compiled_tree(compilation), path, "exec")
    except SyntaxError as error:  # of a file without blocks, which the compiler only copies
        message = "".join(traceback.format_exception_only(error))
        return {"steps": [], "printed": "", "error": message, "request": None, "runs": True}
    open_request: list[Request] = []
    left = list(replies)

    def answer(request: Request) -> Reply:
        if not left:
            listener.is_over = True
            open_request.append(request)
            raise Unanswered
        return Reply(ModelMessage(left.pop(0)))

    listener = Steps()
    remove = add_listener(listener)
    printed, complaints = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(complaints),
            njrt.using(model=Scripted(answer, protocol="text"), max_calls=100, policy="guarded"),
        ):
            error = run_as_main(code, Path(name), [])
    finally:
        remove()
    return {
        "steps": listener.steps,
        "printed": printed.getvalue() + ("" if open_request else complaints.getvalue()),
        "error": None if open_request else format_error(error),
        "request": request_to_json(open_request[0]) if open_request else None,
        "runs": True,
    }


def format_error(error: BaseException | None) -> str | None:
    """Return the traceback of a program that ended by an exception, None if it ended normally."""
    if error is None or isinstance(error, SystemExit):
        return None
    return "".join(traceback.format_exception(error)).rstrip()


def request_to_json(request: Request) -> Json:
    """Return a request as the page shows it, and as it sends it to a server."""
    messages = [
        {
            "role": "user" if isinstance(message, UserMessage) else "assistant",
            "content": message.text,
        }
        for message in request.messages
        if isinstance(message, UserMessage | ModelMessage)
    ]
    shown = {"place": request.place, "turn": request.turn, "system": request.system}
    return shown | {"messages": messages, "schema": request.schema}


def call(function: str, name: str, text: str, replies: str) -> str:
    """Check or run a program for the page; `replies` and the result are JSON."""
    result = (
        check_program(name, text)
        if function == "check"
        else run_program(name, text, json.loads(replies))
    )
    return json.dumps(result)
