"""One run of a natural block: its conversation, its handler, and what is around them.

BlockRun(call, prompt, arguments).drive()

static code          runs in place of a conversation, and none of its effects are shown
data                 the model answers with values; it may say that it needs code
code                 the model writes code, or requests the effects of an interface
gate                 the calls of gated functions in the code
contract             the asserts after the block, checked when it ends
undo, interface      at the end: bindings are restored, and the interface is closed
"""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping
from contextlib import closing
from contextvars import copy_context
from functools import lru_cache, partial
from types import CellType

from njrt.block.agent.answer_handler import AnswerHandler
from njrt.block.agent.answer_prompt import (
    PromptProblem,
    list_inputs,
    make_answer_prompt,
)
from njrt.block.agent.attachments import find_attachments
from njrt.block.agent.block_warnings import find_warnings, read_before
from njrt.block.agent.calls import limit_time
from njrt.block.agent.code_runner import EffectGenerator
from njrt.block.agent.conversation import AnswerConversation, CodeNeeded, Conversation, converse
from njrt.block.agent.handlers import Handler, make_handler
from njrt.block.agent.interface_effects import make_interface_form, open_interface
from njrt.block.agent.prompt import build_opening
from njrt.block.agent.secrets import redact_result, redact_secrets
from njrt.block.block import Block, extract_instruction
from njrt.block.session.block_call import NO_INTERFACE, BlockCall, RunArguments
from njrt.block.session.code_policy import CONTAINED, choose_policy, find_earlier_reason
from njrt.block.session.deciding import NO_ANSWER, DecidingRun
from njrt.block.session.question import make_asker
from njrt.block.session.session import Session, add_note, open_session
from njrt.block.session.state_observer import observe_scope, render_variables
from njrt.data.decisions import decides_changes
from njrt.data.options import Options, list_packages
from njrt.data.outcome import Outcome, Raised
from njrt.data.records import replace
from njrt.effects import Answer, Effect, EffectResult, NeedsCode, Refusal, Run
from njrt.errors import ConfigurationError, PolicyError, ReplyError
from njrt.events import wants_states
from njrt.execution.contracts import make_contract
from njrt.execution.gates import is_used, open_gate
from njrt.execution.scope.opening import open_scope
from njrt.execution.scope.scope import Scope
from njrt.interface import Interface
from njrt.messages import Protocol, Request
from njrt.models.choose import list_model_names
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.writer import refuses_code

if typing.TYPE_CHECKING:
    from njrt.block.session.ahead import Loop
    from njrt.block.session.gate import RunGate


class BlockRun(DecidingRun):
    """One run of a block (state: the block, its handler and its gate, new if it needs code)."""

    scope: Scope

    def __init__(self, call: BlockCall, prompt: str, arguments: RunArguments) -> None:
        session = open_session(
            call.names.place, call.options, call.project, is_static=bool(call.code)
        )
        super().__init__(session, call.is_async)
        self.call, self.asked = call, []
        self.file, self.is_contained_unasked = arguments.variables.__code__.co_filename, False
        self.block = open_block(call, prompt, arguments.interface, session)
        self.effects = self.block.options.effects or ""
        self.instruction = self.block.instruction
        self.scope = scope = open_scope(
            call.names, arguments.variables, arguments.types, arguments.ns
        )
        if call.code:
            # Static code is part of the program, so only its gated calls are shown.
            self.interceptors, self.record = (), None
            for name, value in (arguments.lends or {}).items():
                scope.lend(name, value)
        self.contract = (
            None
            if call.code or not call.ensures
            else make_contract(
                call.ensures,
                *(arguments.variables, arguments.given, arguments.ns, call.names.cls),
            )
        )
        rule = self.block.options.redact
        self.redactor = Redactor(rule is not False)
        if wants_states(session.listener):
            self.observe = observe_scope(session.run, scope, rule)
        named = self.block.interface
        self.interface = open_interface(named, self.block, scope) if named else None
        is_undone = self.block.options.on_error == "rollback"
        self.saved = scope.save_bindings() if is_undone else None
        self.handler: Handler | None = None
        self.gate: RunGate | None = None
        if arguments.ahead is not None and not call.code:
            self.ask_ahead(arguments.ahead, prompt, arguments)

    # ── the conversation ─────────────────────────────────────────────────────────────────────────

    def converse(self) -> Conversation:
        """Yield the conversation about the block: for data, and for code if that is needed."""
        block = self.block
        self.open_handler()
        if block.code:
            return (yield from self.run_static_code())
        if self.effects != "answer":
            if self.block.options.sure is not None:
                raise ConfigurationError(NO_ANSWER.format("it runs code"))
            outcome = yield from self.ask_for_code()
        else:
            outcome = yield from self.ask_for_data()
            if isinstance(outcome, CodeNeeded):
                self.effects = "direct"
                self.block = replace(block, options=replace(block.options, effects="direct"))
                self.open_handler()
                outcome = yield from self.ask_for_code(outcome.turn + 1)
        assert not isinstance(outcome, CodeNeeded)
        return outcome

    def open_handler(self) -> None:
        """Choose where the block's code runs, and make the handler of its effects and the gate."""
        if self.effects != "answer":
            self.set_policy()
        block, scope = self.block, self.scope
        self.handler = make_handler(block, scope, self.redactor, self.contract, self.interface)
        self.gate = self.make_gate(self.redactor)
        changes_objects = not (scope.outputs or block.labels or block.code or self.interface)
        self.before = read_before(scope) if changes_objects else None

    def set_policy(self) -> None:
        """Set the policy for this run's code; raise PolicyError if "contained" is impossible."""
        options = self.block.options
        if options.own_packages:
            self.scope.packages = frozenset(list_packages(options.own_packages))
        reason, is_auto = self.call.guarded, options.policy in (None, "auto")
        if is_auto:
            reason = reason or find_earlier_reason(options.policy, self.file, self.session)
        policy = choose_policy(options.policy, self.scope, reason, self.session.place)
        if is_auto:
            self.block = replace(self.block, options=replace(options, policy=policy))
        self.is_contained_unasked = is_auto and policy == "contained"

    def run_static_code(self) -> Conversation:
        """Run the block's static code.

        Raises ReplyError if the code cannot run here, or did not bind the outputs.
        """
        result = yield from self.serve(Run(self.block.code, done=True), 1)
        match result:
            case Answer(text) | Refusal(text):
                raise ReplyError(f"the static code of this block failed: {text}")
            case NeedsCode():
                raise AssertionError("only models ask for code")
            case outcome:
                return outcome

    def ask_for_data(self) -> AnswerConversation:
        """Start the conversation about data, or about code at once if the data cannot be shown."""
        block, scope, handler = self.block, self.scope, self.handler
        assert isinstance(handler, AnswerHandler)
        redactor = handler.end.redactor
        in_time = partial(limit_time, block.options.max_code_seconds)
        inputs = list_inputs(block, scope, redactor, in_time)
        prompt = make_answer_prompt(block, scope, inputs, redactor)
        if isinstance(prompt, PromptProblem):
            if block.options.sure is not None:
                raise ConfigurationError(NO_ANSWER.format(prompt.reason))
            return self.request_code(prompt.reason)
        handler.prompt = prompt
        options = block.options
        if options.decide or options.sure is not None or self.session.record:
            return self.ask_for_answer(prompt)
        return self.ask_for_json(prompt, prompt.text)

    def request_code(self, reason: str) -> AnswerConversation:
        """Ask for code in the model's place; raise PolicyError if none is allowed."""
        if refuses_code.get():
            raise PolicyError(reason)
        result = yield from self.serve(NeedsCode(reason), 1)
        if isinstance(result, Refusal):
            raise PolicyError(f"the block needs code ({reason}): {result.message}")
        return CodeNeeded(0)

    def ask_for_code(self, first_turn: int = 1) -> AnswerConversation:
        """Start the conversation about code, or about the effects of an interface."""
        block, scope = self.block, self.scope
        assert self.handler is not None
        redactor = self.handler.end.redactor
        if self.effects == "direct":
            scope.lend("ask", make_asker(scope, self.session, redactor, self.is_async))
        reopen = partial(build_opening, block, scope, redactor)
        opening = reopen()
        protocol, interface = self.session.protocol, self.interface
        return converse(
            block,
            protocol,
            opening,
            self.serve,
            make_interface_form(interface, protocol) if interface else None,
            first_turn,
            attachments=tuple(find_attachments(scope.list_inputs(block.reads), redactor).found),
            reopen=reopen,
        )

    # ── asking ahead ─────────────────────────────────────────────────────────────────────────────

    def ask_ahead(self, loop: Loop[typing.Any], prompt: str, arguments: RunArguments) -> None:
        """Let this run send the next iterations' first requests, if only a server answers them."""
        from njrt.block.session.ahead import AskingAhead

        session, settings, options = self.session, self.session.settings, self.session.options
        given = self.interceptors, settings.model, settings.budgets, options.budget
        is_own = any(it.startswith("python:") for it in list_model_names(options, os.environ))
        is_limited = session.environ.get("NJC_BUDGET") or not session.meter.leaves_room
        is_plain = self.effects == "answer" and not any(given)
        if is_plain and not (is_own or is_limited):
            # The maker does not hold this run, which would hold itself by its model.
            make = partial(make_first_request, self.call, prompt, replace(arguments, ahead=None))
            model = session.model
            layer = AskingAhead(loop, make, session.meter, self.is_async, model.model)
            session.model = replace(model, layers=(*model.layers, layer))

    # ── effects ──────────────────────────────────────────────────────────────────────────────────

    def handle(self, effect: Effect | Refusal, turn: int) -> EffectGenerator:
        """Pass an effect to the handler, with the gate open for the calls of its code."""
        assert self.handler is not None
        served = self.handler.serve(effect)
        return served if self.gate is None else self.serve_at_gate(self.gate, served, turn)

    def serve_at_gate(self, gate: RunGate, served: EffectGenerator, turn: int) -> EffectGenerator:
        """Serve an effect with the gate open; raise an interceptor's error that ends the block."""
        gate.turn = turn
        with open_gate(gate, self.block.is_async):
            result = yield from served
        if gate.ending is not None:
            raise gate.ending
        return result

    def make_gate(self, redactor: Redactor) -> RunGate | None:
        """Return the run's gate, if there are gated functions, or its changes are decided about.

        Raises ConfigurationError for rules for functions without the decorator if the code is not
        contained.
        """
        options = self.block.options
        has_rules = bool(self.session.settings.calls) and options.effects != "answer"
        if has_rules and options.policy != "contained":
            raise ConfigurationError(
                "njrt.using(calls=...) decides about calls of contained code: write "
                'policy="contained", or @njrt.gated above the functions'
            )
        is_code, is_contained = options.effects == "direct", options.policy == "contained"
        if is_code and not is_contained and any(map(decides_changes, self.session.interceptors)):
            raise ConfigurationError(
                "njrt.approve(changes=...) decides about the changes of contained code: write "
                'policy="contained"'
            )
        asks_changes = is_code and is_contained and self.session.asks_changes
        if not (has_rules or asks_changes or is_used()):
            return None
        from njrt.block.session.gate import RunGate

        return RunGate(self.session, self.scope, self.describe, redactor)

    # ── what events and interceptors see ─────────────────────────────────────────────────────────

    def render_variables(self) -> dict[str, str]:
        return render_variables(self.scope, self.block.options)

    def redact(self, text: str) -> str:
        return redact_secrets(self.scope, self.redactor, text)

    def redact_result(self, result: Answer | Refusal) -> EffectResult:
        assert self.handler is not None
        return redact_result(result, self.scope, self.handler.end.redactor)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────

    def finish(self, ending: Outcome | BaseException) -> tuple[str, ...]:
        """Undo a block that failed, close its interface, and return the warnings about it."""
        if has_raised := isinstance(ending, Raised | BaseException):
            self.undo()
        codes = self.handler.end.codes if self.handler else []
        explained = (PolicyError, ReplyError) if codes else PolicyError
        if self.is_contained_unasked and isinstance(ending, explained):
            add_note(ending, CONTAINED)
        if self.interface is not None:
            try:
                self.interface.close(ending)
            except BaseException:
                self.undo()
                raise
        if has_raised or self.handler is None or self.block.code or self.interface:
            return ()
        return find_warnings(codes, self.before)

    def undo(self) -> None:
        """Restore saved bindings after any exception, also of the program, or a cancellation."""
        if self.saved is not None:
            self.scope.restore_bindings(self.saved)

    def close(self) -> None:
        """Release the program's objects; an exception would keep them alive with its frames."""
        self.scope.close()
        self.handler = self.interface = self.contract = self.gate = self.before = None


def make_first_request(
    call: BlockCall, prompt: str, arguments: RunArguments, values: Mapping[str, typing.Any]
) -> Request:
    """Return the first request of a run with other values of variables, which only it sees.

    Raises an exception of any class if that could run code of the program.
    """
    context = copy_context()
    context.run(refuses_code.set, True)
    with closing(BlockRun(call, prompt, arguments)) as run:
        run.scope.cells |= {name: CellType(value) for name, value in values.items()}
        request = context.run(next, run.converse())
    assert isinstance(request, Request)
    return request


def open_block(call: BlockCall, prompt: str, interface: object, session: Session) -> Block:
    """Return a call's block with its instruction and options, and its interface if it has one."""
    fixed = call.names.place, call.is_async, call.labels, call.reads, call.chooses, call.code
    block = make_block(prompt, session.options, session.protocol, fixed)
    if interface is NO_INTERFACE and not call.code:
        interface = session.settings.interface or NO_INTERFACE
    return block if interface is NO_INTERFACE else set_interface(block, interface)


@lru_cache(maxsize=1024)
def make_block(
    prompt: str, options: Options, protocol: Protocol, fixed: tuple[str, bool, str, str, str, str]
) -> Block:
    """Return a block, which is made once for each place, its prompt and its options.

    Models with the text protocol, mostly small ones, are asked at temperature 0 unless an option
    sets the temperature: they write better code at 0, and the conversation raises it when the same
    answer fails twice.
    """
    place, is_async, labels, reads, chooses, code = fixed
    if protocol != "tools" and options.temperature is None:
        options = replace(options, temperature=0.0)
    if code:
        options = replace(options, effects="direct")
    return Block(
        *(extract_instruction(prompt), tuple(labels.split()), place, is_async, options),
        reads=tuple(reads.split()),
        chooses=tuple(chooses.split()),
        code=code,
    )


def set_interface(block: Block, interface: object) -> Block:
    """Return a block with the effects of an interface.

    Raises ConfigurationError for anything else, such as None: the model could run Python.
    """
    if not isinstance(interface, Interface):
        raise ConfigurationError(
            f"{block.place}: interface= takes an njrt.Interface, not {type(interface).__name__}"
        )
    options = replace(block.options, effects="interface")
    return replace(block, options=options, interface=interface)
