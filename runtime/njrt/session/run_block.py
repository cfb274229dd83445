"""`run` and `arun`: the calls that run natural blocks in a compiled file.

try:
    _nj.run(
        \"\"\"natural
        Put the sum of <prices> into <:total>; break if one is missing.
        \"\"\",
        lambda: (prices, total),
        writes="total",
        labels="break",
        at="shop.njpy:12",
    )
except _nj.Break:
    break

Block + Scope -> (Request <-> Reply) -> Effect -> Result -> Outcome -> return, jump or raise
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, assert_never

from njrt.agent.conversation import Conversation
from njrt.block import Block, extract_code, extract_instruction
from njrt.context import is_in_event_loop
from njrt.errors import ConfigurationError
from njrt.execution.contracts import make_contract
from njrt.execution.execute import end_by_error, end_by_result, execute, start_snippet
from njrt.interface import Interface
from njrt.jumps import Break, Continue, Return
from njrt.messages import Protocol
from njrt.options import Options
from njrt.outcome import Broke, Completed, Continued, Outcome, Raised, Returned
from njrt.records import record, replace
from njrt.scope.scope import make_scope
from njrt.session.block_conversation import converse_about
from njrt.session.drive import drive_conversation
from njrt.session.question import make_asker
from njrt.session.session import Session, add_place_note, hidden_frames, open_session
from njrt.timeouts import call_with_timeout

FRAMES = 3
"""Frames that each nested block adds: `run`, the time limit, and the model's code."""
STRIDE = 16  # levels between two changes of the recursion limit


class RecursionRoom:
    """A context manager around each block that keeps room in Python's recursion limit for the runtime's frames.

    Only the program's own frames count towards its recursion limit: every `STRIDE` levels the limit is raised to fit
    the runtime's frames, and lowered when these levels are left (state: the levels in each thread, and the increase
    of the limit). `async` blocks are not counted, because each runs as a task.
    """

    def __init__(self) -> None:
        self._levels = threading.local()
        self._lock = threading.RLock()
        self._raised: list[int] = []
        """Levels that raised the limit, in all threads."""
        self._extra = 0
        self._limit = 0
        """Last limit that was set here; the program may have changed it since."""

    def __enter__(self) -> None:
        level = self._levels.count = getattr(self._levels, "count", 0) + 1
        if level % STRIDE == 0:
            with self._lock:
                self._raised.append(level)
                try:
                    self._set_limit()
                except RecursionError:  # no room for the call itself
                    self._raised.remove(level)
                    self._levels.count = level - 1
                    raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        level = self._levels.count
        self._levels.count = level - 1
        if level % STRIDE == 0:
            with self._lock:
                self._raised.remove(level)
                self._set_limit()

    def _set_limit(self) -> None:
        limit = sys.getrecursionlimit()
        own = limit - self._extra if limit == self._limit else limit
        extra = FRAMES * max(self._raised, default=0)
        try:
            sys.setrecursionlimit(own + extra)
        except RecursionError:  # this thread is deeper than the new limit; the next level sets it
            return
        self._extra, self._limit = extra, own + extra


recursion_room = RecursionRoom()

VariablesLambda = Callable[[], tuple[Any, ...]]
"""A lambda that names a block's variables; only its closure and globals are used."""

NEEDS_ASYNCIO = (
    "async blocks need asyncio's event loop; trio can run the block of a plain function in a thread"
)
NO_INTERFACE = object()
"""The block names no interface; `interface=None` is a mistake in the program and raises an error."""


def run(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Run one natural block on the variables of the program around it.

    `variables` is a lambda over every variable that the prompt names; it is never called, but its closure and
    globals are shared. `at` is the block's place. `start_block` documents the other arguments.

    Raises `Break`, `Continue` or `Return` for the jumps, any exception that the block raises in the program, or a
    `NaturalError` if the block fails. With `reraises`, as in an `except*` suite, return True if the program must
    execute `raise`; otherwise return False.
    """
    # The code runs here rather than in the coroutine, through as few calls as possible: blocks may call each other
    # recursively, and each level should use few frames.
    snippet = execution = None
    ending: list[Outcome] = []
    with hidden_frames, recursion_room:
        session, conversation = start_block(prompt, variables, at=at, is_async=False, **arguments)
        coroutine = drive_conversation(session, conversation, is_async=False)
        try:
            snippet = coroutine.send(None)
            while True:
                try:
                    if snippet.is_contained:
                        with recursion_room, recursion_room:  # for `contained/door.py`
                            execution = execute(snippet, seconds=session.get_code_seconds())
                    else:
                        seconds = session.get_code_seconds()
                        try:
                            result = call_with_timeout(seconds, start_snippet(snippet))
                        except BaseException as error:
                            execution = end_by_error(snippet, error)
                        else:
                            execution = end_by_result(snippet, result)
                            del result
                except BaseException as error:
                    snippet = coroutine.throw(error)
                else:
                    snippet = coroutine.send(execution)
        except StopIteration as end:
            ending.append(end.value)
        finally:
            # An exception in these variables would keep this frame alive, and with it the program's values.
            del snippet, execution
        return apply_outcome(ending.pop(), at, reraises)


async def arun(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Like `run`, in an `async` function, without blocking asyncio's event loop, which must be running."""
    with hidden_frames:
        if not is_in_event_loop():
            raise ConfigurationError(f"{at}: {NEEDS_ASYNCIO}")
        session, conversation = start_block(prompt, variables, at=at, is_async=True, **arguments)
        coroutine = drive_conversation(session, conversation, is_async=True)
        return apply_outcome(await coroutine, at, reraises)


def apply_outcome(outcome: Outcome, place: str, reraises: bool = False) -> bool:
    """Leave the block as its outcome requires: return, jump, or raise in the program.

    With `reraises`, return True if the program must re-raise the exception that it handles.
    """
    match outcome:
        case Completed():
            return False
        case Raised(is_reraise=True) if reraises:
            return True
        case Broke():
            raise Break
        case Continued():
            raise Continue
        case Returned(value):
            raise Return(value)
        case Raised(exception, is_reraise):
            if not is_reraise:
                add_place_note(exception, place)
            context = exception.__context__
            try:
                raise exception
            finally:
                exception.__context__ = context  # as the block's own `raise` set it
                del exception, outcome, context  # its traceback holds this frame
        case _:
            assert_never(outcome)


@record
class LiveBlock:
    """The live block behind static code: the arguments of `run`."""

    prompt: str
    variables: VariablesLambda
    place: str
    is_async: bool
    arguments: Mapping[str, Any]

    def run(self, tried: str) -> Any:
        """Run the block, or return a coroutine that runs it."""
        start = arun if self.is_async else run
        return start(self.prompt, self.variables, at=self.place, tried=tried, **self.arguments)


def start_block(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str,
    is_async: bool,
    writes: str = "",
    reads: str = "",
    types: Callable[[], Mapping[str, Any]] | None = None,
    labels: str = "",
    cls: str | None = None,
    me: str | None = None,
    ns: MutableMapping[str, Any] | None = None,
    own: str = "",
    nl: str = "",
    uses: str = "",
    project: Mapping[str, Any] | None = None,
    tried: str = "",
    code: str = "",
    lends: Mapping[str, Any] | None = None,
    ensures: Sequence[str] = (),
    given: VariablesLambda | None = None,
    interface: object = NO_INTERFACE,
    chooses: str = "",
    **options: Any,
) -> tuple[Session, Conversation]:
    """Prepare one run of a block from the arguments in compiled code and the settings around it.

    `writes` are the outputs, `reads` the outputs that the prompt also reads, and `labels` the legal jumps, all
    separated by spaces. `types` maps outputs to their types. `cls`, `me`, `ns`, `own` and `nl` describe a block in a
    class body or a method. `uses` has the parts of imports that the prompt names. `tried` is the result of static
    code that was tried first. `code` is static code, which runs instead of a conversation, and `lends` has more names
    for it. `ensures` are the asserts that follow the block, as texts, and `given` is a lambda over the variables that
    only they read. `interface` names the block's effects. `project` and the other keywords are options. `chooses` are
    the outputs with objects of inputs that can only be chosen.
    """
    session = open_session(at, options, project, bool(code))
    if interface is NO_INTERFACE and not code and session.settings.interface is not None:
        interface = session.settings.interface
    block = make_block(prompt, labels, at, is_async, session.options, reads, session.protocol)
    if interface is not NO_INTERFACE:
        block = set_interface(block, interface)
    if chooses:
        block = replace(block, chooses=tuple(chooses.split()))
    if code:
        options_of_code = replace(block.options, effects="direct")
        block = replace(block, options=options_of_code, code=extract_code(code))
    open_scope = partial(
        make_scope, variables, writes, types=types, cls=cls, me=me, ns=ns, own=own, nl=nl, uses=uses, at=at
    )  # fmt: skip
    scope = open_scope()
    if code:
        for name, value in (lends or {}).items():
            scope.lend(name, value)
    elif block.options.effects in ("direct", "answer"):
        scope.lend("ask", make_asker(scope, session, is_async))
        layers = (options, project or {}, {"effects": session.settings.options.effects})
        is_chosen = session.environ.get("NJC_EFFECTS") or any(it.get("effects") for it in layers)
        if not is_chosen and block.interface is None and block.options.authority != "code":
            block = replace(block, data_outputs=scope.outputs)
    contract = make_contract(() if code else ensures, variables, given, ns, cls)
    conversation = converse_about(block, scope, session, tried, contract)
    return session, conversation


@lru_cache(maxsize=1024)
def make_block(
    prompt: str,
    labels: str,
    place: str,
    is_async: bool,
    options: Options,
    reads: str,
    protocol: Protocol,
) -> Block:
    """Return a block, which is made once for each place and its options.

    Models with the text protocol, mostly small ones, are asked at temperature 0 unless an option sets the
    temperature: they write better code at 0, and the conversation raises it when the same answer fails twice.
    """
    if protocol != "tools" and options.temperature is None:
        options = replace(options, temperature=0.0)
    instruction = extract_instruction(prompt)
    return Block(instruction, tuple(labels.split()), place, is_async, options, tuple(reads.split()))


def set_interface(block: Block, interface: object) -> Block:
    """Return a block with an interface's effects; raise ConfigurationError for anything else, such as None.

    Without this error the model could run Python.
    """
    if not isinstance(interface, Interface):
        raise ConfigurationError(
            f"{block.place}: interface= takes an njrt.Interface, not {type(interface).__name__}"
        )
    options = replace(block.options, effects="interface")
    return replace(block, options=options, interface=interface)
