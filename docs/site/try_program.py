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
from njrt.effects import Answer, NeedsCode, Refusal
from njrt.errors import NaturalError
from njrt.events import Asked, Began, Ended, Event, Performed, Replied
from njrt.log.listeners import add_listener
from njrt.testing import ModelMessage, Reply, Request, Scripted, ToolMessage, UserMessage
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

    def __call__(self, event: Event) -> None:
        """Keep one event, unless the program is being ended."""
        if self.is_over:
            return
        step = next((it for it in reversed(self.steps) if it["run"] == event.run), None)
        match event:
            case Began(run=run, place=place):
                self._places[run] = place
            case Replied(run=run, turn=turn, reply=reply):
                step = {"run": run, "place": self._places[run], "turn": turn}
                step |= {"reply": reply.message.text, "kind": "", "result": ""}
                self.steps.append(step | {"changes": {}, "printed": ""})
            case Asked(request=request) if step and not step["kind"]:
                step |= {"kind": "refusal", "result": getattr(request.messages[-1], "text", "")}
            case Performed(result=result) if step:
                is_answer = isinstance(result, Answer | NeedsCode)
                kind = "answer" if is_answer else "outcome"
                step["kind"] = "refusal" if isinstance(result, Refusal) else kind
                step["result"] = summarize_result(result, event.redact)
            case Ended(outcome=NaturalError() as error) if step:
                step |= {"kind": "failure", "result": str(error)}
        if step and isinstance(event, Performed | Ended) and event.state is not None:
            step["changes"] |= event.state.changes
            step["printed"] += event.state.printed


def check_program(name: str, text: str) -> Json:
    """Return the findings of a program, its compiled form and the text of `njc show`."""
    compilation = generate(analyze(SourceFile(name, text.encode())))
    findings = [
        asdict(finding) | {"anchor": make_anchor(finding.code)}
        for finding in sorted((*compilation.diagnostics, *compilation.hints))
    ]
    if (output := compilation.output) is None:
        return {"findings": findings, "compiled": None, "blocks": ""}
    Path(name).write_text(text, encoding="utf-8")
    blocks = CliRunner().invoke(njc, ["show", name]).stdout.strip()
    return {"findings": findings, "compiled": output.decode(), "blocks": blocks}


def make_anchor(code: str) -> str:
    """Return the anchor of a code on the page of diagnostics."""
    heading = f"{code}: {read_finding(code).title}".lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip())


def run_program(name: str, text: str, replies: Sequence[str]) -> Json:
    """Run a program on some replies; return its steps and output, and the request after the last reply."""
    compilation = generate(analyze(SourceFile(name, text.encode())))
    result: Json = {"steps": [], "printed": "", "error": None, "request": None, "runs": False}
    if compilation.output is None:
        return result
    path = str(Path(name).absolute())
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    left, open_request = list(replies), list[Request]()

    def answer(request: Request) -> Reply:
        if not left:
            listener.is_over = True
            open_request.append(request)
            raise Unanswered
        return Reply(ModelMessage(left.pop(0)))

    listener, printed, error = Steps(), io.StringIO(), None
    remove = add_listener(listener)
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            njrt.using(model=Scripted(answer, protocol="text"), max_calls=100, policy="guarded"),
        ):
            code = compile(parse_compiled_tree(compilation), path, "exec")
            error = run_as_main(code, Path(name), [])
    except SyntaxError as found:  # of a file without blocks, which the compiler only copies
        error = found.with_traceback(None)
    finally:
        remove()
    result |= {"steps": listener.steps, "printed": printed.getvalue(), "runs": True}
    if open_request:
        return result | {"request": request_to_json(open_request[0])}
    if error is None or isinstance(error, SystemExit):
        return result
    return result | {"error": "".join(traceback.format_exception(error)).rstrip()}


def request_to_json(request: Request) -> Json:
    """Return a request as the page shows it, and as it sends it to a server."""
    messages = [
        {"role": "user" if isinstance(it, UserMessage) else "assistant", "content": it.text}
        for it in request.messages
        if not isinstance(it, ToolMessage)
    ]
    shown = {"place": request.place, "turn": request.turn, "system": request.system}
    return shown | {"messages": messages, "schema": request.schema}


def call(function: str, name: str, text: str, replies: str) -> str:
    """Check or run a program for the page; `replies` and the result are JSON."""
    if function == "check":
        return json.dumps(check_program(name, text))
    return json.dumps(run_program(name, text, json.loads(replies)))
