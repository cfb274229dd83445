'''Interfaces between a block and its program: effects that a model may request, and their handlers.

    def reserve(run: Handling[Basket], product: Product, count: int) -> str:
        """Reserve some of a product."""            read by the model
        run.state.add(product, count)               run by the effect
        return "reserved"                           the model resumes with this value

    SHOP = Interface("shop", effects=[reserve, leave], state=Basket, finally_=release)

    """natural(interface=SHOP)
    Reserve for <order> what <catalog> has.
    """

This is a natural function interface as in section 4.1 of the Nightjar paper: values cross the
boundary between a prompt and its program, effects are requests from the prompt, and handlers serve
them. A handler is a function of the program. Its result decides how the block continues:

    returns                             the block
    a value                             resumes with it, and for an object with a reference to it
    Answer(text)                        resumes with this text
    Refusal(why), or it raises          resumes, and the model reads the reason
    Completed()                         ends, if its outputs are bound
    Broke(), Continued(),
    Returned(value), Raised(error)      ends by a jump of the program
    Run(code, done=False)               resumes: the code runs on the block's variables, and the
                                        model sees its value
'''

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from njrt.data.outcome import Broke, Completed, Continued, Outcome, Raised, Returned, UserValue
from njrt.data.records import record
from njrt.effects import Answer, Refusal, Run
from njrt.errors import ConfigurationError
from njrt.messages import Json

__all__ = [
    "Aliases", "Answer", "Broke", "Completed", "Continued", "Handler", "Handling", "Interface",
    "Raised", "RawJson", "Ref", "References", "Refusal", "Returned", "Run",
]  # fmt: skip

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME_FORM = "1 to 64 letters, digits, `_` or `-`, as vendors require of tools"

State = TypeVar("State")
T = TypeVar("T")
Handler = Callable[..., Any]
"""A plain function that serves one effect."""


@record
class Aliases:
    """Other names that a model may use for an argument: `Annotated[str, Aliases("expression")]`."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@record
class RawJson:
    """JSON of a strict schema, as the model sent it: `Annotated[Any, RawJson({"enum": [1]})]`."""

    schema: Json
    shown: str = "JSON"
    """Its form, for models that do not read schemas."""


class ByReference:
    """The mark of `Ref`."""


Ref = Annotated[T, ByReference]
"""`Ref[Product]`: an object of the program, which the model names by a reference or by a variable
of the block. Types without a JSON form are passed this way too."""


class References:
    """The objects that the model of one run can name by a number (state: the objects, by number).

    An object gets its number when the model first sees it, and keeps it.
    """

    def __init__(self) -> None:
        self.objects: dict[int, UserValue] = {}
        self._numbers: dict[int, int] = {}

    def get_number(self, value: UserValue) -> int:
        """Return the number of an object; the same object always has the same number."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects) + 1
            self.objects[number] = value
        return number

    def get_object(self, number: int) -> UserValue:
        """Return the object with a number; raise ValueError if there is none."""
        if number not in self.objects:
            raise ValueError(
                f"there is no reference {number}; the results of other calls have references"
            )
        return self.objects[number]


@dataclass(slots=True, eq=False)
class Handling(Generic[State]):
    """One run of a block behind an interface, as its handlers see it (state: `state`, the outcome).

    A handler receives it if its first parameter is annotated with `Handling`; the model does not
    see this parameter.
    """

    place: str
    """`file.njpy:line` of the block."""
    labels: tuple[str, ...]
    """The jumps that are legal in the place of the block, besides `raise`."""
    outputs: tuple[str, ...]
    """The variables and attributes that the block must bind."""
    state: State
    """The state of the interface for this run."""
    lookup: Callable[[str], UserValue] = field(repr=False)
    """Returns the value of a variable that the prompt names; raises LookupError without a value."""
    assign: Callable[[str, UserValue], None] = field(repr=False)
    """Binds an output or a variable of the block; raises LookupError for a read-only variable."""
    references: References = field(repr=False)
    """The objects that the model can name by a number."""
    outcome: Outcome | BaseException | None = None
    """How the block ended, in `finally_`; None before then."""


@dataclass(frozen=True, eq=False)
class Interface:
    """The effects of a block and their handlers, as data.

    `effects` are the handlers, in a list or keyed by effect name; in a list, each effect is named
    after its function. The model reads a handler's typed parameters and docstring. `rules` is a
    text for the model about all effects. `state` makes the state for one run of a block, and
    `finally_` is called once with the `Handling` when the run has ended, in whatever way. Without
    `shows_values` the model is first shown the names of the inputs, not their values.

    If no effect is named `done`, the block gets one, with its outputs as arguments. A block behind
    an interface without effects is a function of its inputs: the model only gives values.

    Raises:
        ConfigurationError: a part cannot be used; the message names it.
    """

    name: str
    effects: Sequence[Handler] | Mapping[str, Handler]
    rules: str = ""
    state: Callable[[], Any] | None = None
    finally_: Callable[[Handling[Any]], None] | None = None
    shows_values: bool = True

    def __post_init__(self) -> None:
        """Copy the effects, and find mistakes that would otherwise appear only during a run."""
        effects = self.effects
        copy = dict(effects) if isinstance(effects, Mapping) else tuple(effects)
        object.__setattr__(self, "effects", copy)
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"njrt.Interface: its name must be {_NAME_FORM}, not {self.name!r}"
            )
        where = f"njrt.Interface {self.name!r}"
        for name, handler in self.list_effects():
            problem = ""
            if not inspect.isroutine(handler) or inspect.iscoroutinefunction(handler):
                problem = f"an effect is a plain function, not {handler!r}"
            elif not isinstance(name, str) or not _NAME.fullmatch(name):
                problem = f"the name of an effect must be {_NAME_FORM}, not {name!r}"
            elif not inspect.getdoc(handler):
                problem = f"the effect `{name}` has no docstring for the model to read"
            if problem:
                raise ConfigurationError(f"{where}: {problem}")
        names = [name for name, _ in self.list_effects()]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigurationError(f"{where}: two effects are named `{min(twice)}`")

    def list_effects(self) -> list[tuple[str, Handler]]:
        """Return the effects' names and handlers, in order."""
        if isinstance(self.effects, Mapping):
            return list(self.effects.items())
        return [(str(getattr(handler, "__name__", "")), handler) for handler in self.effects]
