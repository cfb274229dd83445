"""The arguments of a block's call in a compiled file: those of each run, and those of one run.

_nj.run("natural ...", lambda: (prices, total), writes="total", types=lambda: ..., at="a.njpy:1")

BlockCall(DeclaredNames("a.njpy:1", "total"))   made once for each place
RunArguments(lambda: ..., types=lambda: ...)    how one run reaches the program
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from njrt.block.block import extract_code
from njrt.block.session.settings import FrozenOptions, freeze_options
from njrt.data.records import fields, record
from njrt.execution.scope.names import DeclaredNames

if TYPE_CHECKING:
    from njrt.block.session.ahead import Loop

VariablesLambda = Callable[[], tuple[Any, ...]]
"""A lambda that names a block's variables; only its closure and globals are used."""

NO_INTERFACE = object()
"""The block names no interface; `interface=None` is a mistake in the program, and an error."""


@record
class BlockCall:
    """What a compiled file says about a block, the same in each of its runs.

    Names are separated by spaces. Keywords that are not fields here are options of the block, which
    are checked with all others; an unknown one is a ConfigurationError with the place.
    """

    names: DeclaredNames
    is_async: bool = False
    options: FrozenOptions = ()
    """The options of the block and its file."""
    project: FrozenOptions = ()
    """The options of `[tool.njc]`, when the file was compiled."""
    sets_effects: bool = False
    """Whether one of these options is `effects`."""
    reads: str = ""
    """The outputs that the prompt also reads."""
    labels: str = ""
    """The legal jumps."""
    chooses: str = ""
    """The outputs with objects of inputs, which can only be chosen."""
    ensures: tuple[str, ...] = ()
    """The asserts that follow the block."""
    code: str = ""
    """Static code, which runs instead of a conversation."""
    guarded: str = ""
    """Why the code is not contained with `policy="auto"`."""


@record
class RunArguments:
    """The arguments of one run: lambdas, namespaces and objects of the program."""

    variables: VariablesLambda
    types: Callable[[], Mapping[str, Any]] | None = None
    """The types of outputs."""
    ns: MutableMapping[str, Any] | None = None
    """The namespace of the class body around the block."""
    given: VariablesLambda | None = None
    """A lambda over the variables that only the asserts after the block read."""
    lends: Mapping[str, Any] | None = None
    """More names for static code."""
    interface: object = NO_INTERFACE
    """The block's effects, an `njrt.Interface`."""
    ahead: Loop[Any] | None = None
    """The loop of a block that asks ahead."""


_OF_RUNS = frozenset(each.name for each in fields(RunArguments))
_OF_NAMES = frozenset(each.name for each in fields(DeclaredNames)) - {"place"}
_OF_CALLS = _OF_NAMES | {"reads", "labels", "chooses", "code", "guarded"}


def read_arguments(
    place: str, is_async: bool, variables: VariablesLambda, arguments: Mapping[str, Any]
) -> tuple[BlockCall, RunArguments]:
    """Return the record of a place, made when it first runs, and the arguments of this run."""
    keywords = dict(arguments)
    of_run = {name: keywords.pop(name) for name in _OF_RUNS & keywords.keys()}
    ensures = tuple(keywords.pop("ensures", ()))
    project = freeze_options(keywords.pop("project", None))
    fixed = place, is_async, ensures, project, freeze_options(keywords)
    try:
        call = make_block_call(*fixed)
    except TypeError:  # a value without a hash, which no option has; it is refused by name
        call = make_block_call.__wrapped__(*fixed)
    return call, RunArguments(variables, **of_run)


@lru_cache(maxsize=1024)
def make_block_call(
    place: str,
    is_async: bool,
    ensures: tuple[str, ...],
    project: FrozenOptions,
    keywords: FrozenOptions,
) -> BlockCall:
    """Make the record of a block from the arguments of its call."""
    texts = {name: value for name, value, _ in keywords if name in _OF_CALLS}
    texts["code"] = extract_code(texts.get("code", ""))
    options = tuple([each for each in keywords if each[0] not in _OF_CALLS])
    sets_effects = any(name == "effects" and value for name, value, _ in (*options, *project))
    names = {name: texts.pop(name) for name in _OF_NAMES & texts.keys()}
    return BlockCall(
        DeclaredNames(place, **names),
        is_async=is_async,
        options=options,
        project=project,
        sets_effects=sets_effects,
        ensures=ensures,
        **texts,
    )
