"""The Debug Adapter Protocol for natural code: `njc dap`.

    {"command": "launch", "arguments": {"program": "mail.njpy"}}    RunController(...)
    Stopped(step, "effect Run")                                     {"event": "stopped", ...}

An adapter serves one client, one request at a time. Another thread sends the program's events
between requests, so a response comes before the events that its request causes. Not detected: lines
of Python. Protocol: https://microsoft.github.io/debug-adapter-protocol/specification
"""

from __future__ import annotations

import itertools
import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, assert_never

from pydantic import BaseModel, ValidationError

from njc.debug.dap import requests
from njc.debug.dap.requests import (
    CAPABILITIES,
    BreakpointSets,
    MessageError,
    MessageReader,
    RequestError,
    write_message,
)
from njc.debug.dap.stop_view import StopView, choose_stop_reason, describe_failure
from njc.debug.lines.commands import Said, find_command, run_command
from njc.debug.lines.session import DebugSession
from njc.debug.timeline.channel import ChannelClosedError, RunControlError
from njc.debug.timeline.happenings import (
    Diverged,
    Happening,
    Noticed,
    OutputWritten,
    ProgramEnded,
    Stopped,
)
from njc.debug.timeline.run_controller import RunController
from njrt.errors import NaturalError
from njrt.values.dataclass_json import describe_validation_error

_FAILURES = (NaturalError, ChannelClosedError)
"""The controller refused the request, or the program has ended meanwhile."""

_EXPECTED = (RequestError, *_FAILURES, ValidationError, OSError)

THREAD = 1
"""The identifier of the only thread: the steps of natural blocks form a single sequence."""


class Adapter:
    """Serves a client (state: the controlled run, the breakpoints, the identifiers in use)."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._reader = MessageReader(incoming)
        self._outgoing = outgoing
        self._sequence = itertools.count(1)
        self._turn = threading.RLock()
        """Held while a request is being served or an event is being sent."""
        self._happenings: queue.SimpleQueue[Happening | None] = queue.SimpleQueue()
        self._client = requests.InitializeArguments()
        self._controller: RunController | None = None
        self._launch: requests.LaunchArguments | None = None
        self._breakpoints = BreakpointSets()
        self._opened_view: StopView | None = None
        self._is_first_stop = False
        self._is_done = self._is_terminating = self._has_terminated = False
        self._divergence = ""
        """Text of the difference that the program is stopped for; empty for none."""
        self._handlers = self._make_handlers()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def serve(self) -> None:
        relay = threading.Thread(target=self._relay_happenings, name="dap events", daemon=True)
        relay.start()
        try:
            while not self._is_done:
                try:
                    message = self._reader.read()
                    if message is None:
                        return
                    if message.get("type") == "request":
                        with self._turn:
                            self._serve_request(message)
                except MessageError as error:
                    self._send_output("important", f"{error}\n")
        except OSError:  # the client is gone
            return
        finally:
            self._happenings.put(None)
            if self._controller is not None:
                self._controller.close()
            relay.join(5.0)

    def _serve_request(self, message: Mapping[str, Any]) -> None:
        command, number = str(message.get("command")), message.get("seq")
        response: dict[str, Any] = {
            "type": "response",
            "request_seq": number if isinstance(number, int) else 0,
            "command": command,
        }
        after: Callable[[], object] | None = None
        try:
            kind, serve = self._handlers.get(command, (None, None))
            if kind is None or serve is None:
                raise RequestError(f"njc dap does not serve `{command}`")
            body = serve(kind.model_validate(message.get("arguments") or {}))
            if callable(body):
                body, after = None, body
            response |= {"success": True, "body": body or {}}
        except Exception as error:
            if not isinstance(error, _EXPECTED):
                traceback.print_exc()  # our own bug, which must not end the session
            is_invalid = isinstance(error, ValidationError)
            text = describe_validation_error(error) if is_invalid else str(error)
            details = {"error": {"id": 1, "format": "{text}", "variables": {"text": text}}}
            response |= {"success": False, "message": text, "body": details}
        self._send(response)
        if after is not None:
            try:
                after()
            except _FAILURES as error:
                self._send_output("important", f"{error}\n")
                self._confirm_stop()

    def _make_handlers(self) -> Mapping[str, tuple[type[BaseModel], Callable[[Any], Any]]]:
        """Return each request's arguments and handler, which returns a body or a call for later."""
        none = requests.Arguments
        return {
            "initialize": (requests.InitializeArguments, self._initialize),
            "launch": (requests.LaunchArguments, self._prepare_launch),
            "configurationDone": (none, self._prepare_start),
            "setBreakpoints": self._apply(self._breakpoints.set_in_file),
            "setFunctionBreakpoints": self._apply(self._breakpoints.set_functions),
            "setExceptionBreakpoints": self._apply(self._breakpoints.set_exceptions),
            "setDataBreakpoints": self._apply(self._breakpoints.set_data),
            "dataBreakpointInfo": (
                requests.DataBreakpointInfoArguments,
                self._look(StopView.describe_data_breakpoint),
            ),
            "threads": (none, lambda _: {"threads": [{"id": THREAD, "name": "natural blocks"}]}),
            "stackTrace": (requests.StackTraceArguments, self._look(StopView.list_frames)),
            "scopes": (requests.FrameArguments, self._look(StopView.list_scopes)),
            "variables": (requests.VariablesArguments, self._look(StopView.list_variables)),
            "setVariable": (requests.SetVariableArguments, self._look(StopView.set_variable)),
            "evaluate": (requests.EvaluateArguments, self._evaluate),
            "source": (requests.SourceArguments, self._look(StopView.get_source)),
            "next": (none, lambda _: self._move(RunController.step_over)),
            "stepIn": (none, lambda _: self._move(RunController.step_into)),
            "stepOut": (none, lambda _: self._move(RunController.step_out)),
            "continue": (none, lambda _: self._move(RunController.run_on)),
            "stepBack": (none, lambda _: self._move(RunController.step_back_over, back=True)),
            "reverseContinue": (none, lambda _: self._move(RunController.run_back, back=True)),
            "restartFrame": (requests.FrameArguments, self._restart_frame),
            "pause": (none, lambda _: self._run.pause),
            "restart": (none, lambda _: partial(self._restart, self._run)),
            "terminate": (none, lambda _: partial(self._terminate, self._run)),
            "disconnect": (none, self._disconnect),
        }

    @property
    def _run(self) -> RunController:
        if self._controller is None:
            raise RequestError("no program has been launched")
        return self._controller

    def _look(self, read: Callable[[StopView, Any], Any]) -> Callable[[Any], Any]:
        return lambda arguments: read(self._view, arguments)

    @property
    def _view(self) -> StopView:
        if self._opened_view is None:
            raise RequestError("no program has been launched")
        return self._opened_view

    # ── starting and ending ──────────────────────────────────────────────────────────────────────

    def _initialize(self, arguments: requests.InitializeArguments) -> Mapping[str, Any]:
        if not (arguments.lines_start_at1 and arguments.columns_start_at1):
            raise RequestError(
                "`njc dap` numbers lines and columns from 1, as the protocol's default"
            )
        self._client = arguments
        return CAPABILITIES

    def _prepare_launch(self, arguments: requests.LaunchArguments) -> Callable[[], object]:
        if self._controller is not None:
            raise RequestError("a program has been launched already; `restart` starts it again")
        if "predicted" in (arguments.model_extra or {}):  # of njc 0.2, which ran nothing with it
            raise RequestError("`predicted` was removed: use `njc debug --predicted`")
        folder = arguments.cwd or Path()
        program = folder / arguments.program
        if not program.is_file():
            raise RequestError(f"there is no program {program}")
        self._launch = arguments
        settings = requests.make_settings(arguments, program, folder)
        self._controller = RunController(settings, self._happenings.put)
        self._breakpoints.folders = self._controller.folders
        self._opened_view = StopView(self._controller)
        return lambda: self._send_event("initialized")

    def _prepare_start(self, _: requests.Arguments) -> Callable[[], object]:
        run, launch = self._run, self._launch
        if run.state != "new" or launch is None:
            raise RequestError("the program has been started already")
        if not launch.no_debug:
            run.set_breakpoints(self._breakpoints.collect())
        self._is_first_stop = launch.stops_at_first
        return lambda: run.start(stops=launch.stops_at_first)

    def _restart(self, run: RunController) -> None:
        assert self._launch is not None
        self._is_first_stop = self._launch.stops_at_first
        run.restart(stops=self._launch.stops_at_first)

    def _terminate(self, run: RunController) -> None:
        self._is_terminating = True
        if run.state in ("new", "ended") and not self._has_terminated:
            self._send_terminated()
        run.terminate()

    def _disconnect(self, _: requests.Arguments) -> None:
        self._is_done = True

    # ── breakpoints, the console ─────────────────────────────────────────────────────────────────

    def _apply(
        self, change: Callable[[requests.SetBreakpointsArguments], Any]
    ) -> tuple[type[BaseModel], Callable[[Any], Any]]:
        """Return a handler that changes the breakpoints, in a launched program too."""

        def apply(arguments: requests.SetBreakpointsArguments) -> Any:
            answer = change(arguments)
            launch = self._launch
            if self._controller is not None and launch is not None and not launch.no_debug:
                self._controller.set_breakpoints(self._breakpoints.collect())
            return answer

        return requests.SetBreakpointsArguments, apply

    def _evaluate(self, arguments: requests.EvaluateArguments) -> Any:
        expression = arguments.expression.strip()
        if arguments.context == "repl" and expression.startswith("/"):
            text = run_console_command(self._run, expression)
            if self._client.supports_invalidated_event:
                self._send_event("invalidated", {"areas": ["all"]})
        elif arguments.frame_id and not self._view.get_frame(arguments.frame_id).is_current:
            raise RequestError("expressions are evaluated in the innermost block only")
        else:
            text = self._run.evaluate(expression).text
        return {"result": text, "variablesReference": 0}

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def _move(
        self, movement: Callable[[RunController], None], back: bool = False
    ) -> Callable[[], None]:
        run = self._run
        if run.state != "stopped" and not (back and run.state == "ended"):
            raise RequestError(f"the program is not stopped: it is {run.state}")
        return lambda: movement(run)

    def _restart_frame(self, arguments: requests.FrameArguments) -> Callable[[], None]:
        entry = self._view.get_frame(arguments.frame_id).entry
        if entry is None:
            raise RequestError("only a natural block can be started again")
        return self._move(lambda run: run.go_back_to(entry))

    # ── what happens in the program ──────────────────────────────────────────────────────────────

    def _relay_happenings(self) -> None:
        while (happening := self._happenings.get()) is not None:
            with self._turn:
                try:
                    self._report(happening)
                except _FAILURES as error:  # the program has ended meanwhile
                    self._send_output("important", f"{error}\n")
                except OSError:  # the client is gone
                    return

    def _report(self, happening: Happening) -> None:
        match happening:
            case Stopped():
                self._report_stop(happening)
            case OutputWritten(stream=stream, text=text):
                self._send_output(stream, text)
            case Diverged():
                self._divergence = str(happening)
                self._send_output("important", f"{happening}\n")
            case Noticed(text=text):
                self._send_output("important", f"{text}\n")
            case ProgramEnded():
                self._report_end(happening)
            case _:
                assert_never(happening)

    def _report_stop(self, stopped: Stopped) -> None:
        self._view.forget()
        divergence, self._divergence = self._divergence, ""
        self._has_terminated = False
        is_wanted = "divergence" in self._breakpoints.filters
        if divergence and stopped.reason == "pause" and not is_wanted:
            self._run.run_on()
            return
        is_entry, self._is_first_stop = self._is_first_stop, False
        reason, words = choose_stop_reason(stopped.reason, is_entry), stopped.reason
        text = words
        if reason == "exception":
            text = describe_failure(self._run.timeline[: stopped.step.number + 1])
        if divergence:
            reason, words, text = "exception", "the run diverges", divergence
        self._send_stopped(reason=reason, description=words, text=text)

    def _confirm_stop(self) -> None:
        """Report the stop again to a client that believes the program is running."""
        state = self._controller.state if self._controller is not None else "new"
        if state == "stopped" or (state == "ended" and self._stops_at_end):
            self._send_stopped(reason="step")

    @property
    def _stops_at_end(self) -> bool:
        return bool(self._launch and self._launch.stop_at_end and not self._is_terminating)

    def _report_end(self, ended: ProgramEnded) -> None:
        self._divergence = ""
        if ended.error:
            self._send_output("console", f"{ended.error}\n")
        if self._stops_at_end:
            self._send_stopped(reason="pause", description="the program has ended")
            return
        self._send_event("exited", {"exitCode": ended.code if ended.code is not None else 1})
        self._send_terminated()

    def _send_terminated(self) -> None:
        self._has_terminated = True
        self._send_event("terminated")

    # ── sending ──────────────────────────────────────────────────────────────────────────────────

    def _send_output(self, stream: str, text: str) -> None:
        with self._turn:
            self._send_event("output", {"category": stream, "output": text})

    def _send_stopped(self, **body: str) -> None:
        self._send_event("stopped", {**body, "threadId": THREAD, "allThreadsStopped": True})

    def _send_event(self, event: str, body: Mapping[str, Any] | None = None) -> None:
        self._send({"type": "event", "event": event, "body": body or {}})

    def _send(self, message: Mapping[str, Any]) -> None:
        write_message(self._outgoing, {"seq": next(self._sequence), **message})


_NAMES = ("reject", "edit", "abort", "live")
HELP = "\n".join(
    (
        *(f"/{find_command(name)}" for name in _NAMES),
        "NAME                       evaluate an expression over the variables of the block",
    )
)


def run_console_command(run: RunController, line: str) -> str:
    """Run a command and return its text; raises RunControlError if it is unknown or impossible."""
    name, _, words = line[1:].partition(" ")
    if name == "help":
        return HELP
    if name not in _NAMES:
        raise RunControlError(f"there is no command `/{name}`; `/help` lists them")
    result = run_command(DebugSession(run), f"{name} {words}")
    return "\n".join(result.lines) if isinstance(result, Said) else ""
