"""The options of a natural block: their values, their places, and their checks.

    \"\"\"natural(model="openai/gpt-4.1", max_effects=20)      on the block
    # njc: model=openai/gpt-4.1                              in the file
    [tool.njc] model = "openai/gpt-4.1"                      in the project
    NJC_MODEL=openai/gpt-4.1                                 in the environment

The nearest wins: block, file, environment, project, and then the default in `DEFAULTS`. Every field
of `Options` is an option with the same name; `None` means that it is not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin, get_type_hints

from njrt.data.aliases import Protocol
from njrt.data.options.budget import parse_budgets
from njrt.data.options.numbers import describe_number, is_limit
from njrt.data.options.removed import EFFECTS as REMOVED_EFFECTS
from njrt.data.options.removed import MODES as REMOVED_MODES
from njrt.data.options.removed import VARIABLES, drop_removed, find_removed
from njrt.data.records import fields, record, replace
from njrt.data.similar import find_similar
from njrt.errors import ConfigurationError

EffectSet = Literal["answer", "direct"]
Authority = Literal["least", "strict", "code"]
Jumps = Literal["named", "all"]
Mode = Literal["live", "static", "reviewed"]
RecordMode = Literal["none", "once", "new", "all"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)
Policy = Literal["guarded", "contained", "auto", "open"]
CodePolicy = Literal["guarded", "contained", "open"]
"""How a piece of code runs, once it is known what `auto` means for its block."""
OnError = Literal["keep", "rollback"]
Reasoning = Literal["none", "text", "ask"]
FallbackMode = Literal["error", "live"]


@record
class Options:
    """The options set by a block, a file, a project or the environment; None means not set."""

    model: str | None = None
    """The model: `openai/NAME`, `anthropic/NAME`, `pydantic-ai:VENDOR:NAME`, `python:MODULE:NAME`.

    Or a NAME that the server at `base_url` knows.
    """
    writer: str | None = None
    """The model that writes static blocks' code when the program is built, by default `model`; or
    `folder:DIR`, where whoever is at hand answers.
    """
    base_url: str | None = None
    """The URL of an OpenAI-compatible server, such as `http://127.0.0.1:8000/v1`."""
    protocol: Protocol | None = None
    """`tools`: the model calls tools; `text`: it writes plain text."""
    effects: EffectSet | Literal["interface"] | None = None
    """`answer`: data, no code, the compiler's choice if possible; `direct`: Python code."""
    authority: Authority | None = None
    """Blocks with code. `least`: all that may need it; `strict`: these, but others must not ask for
    code; `code`: all.
    """
    jumps: Jumps | None = None
    """`named`: a block gets the jumps named in its text; `all`: every jump legal in its place."""
    mode: Mode | None = None
    """`live`: a model runs it; `static`: a model's code from build time; `reviewed`:
    data live, and code as `static`.
    """
    fallback: FallbackMode | None = None
    """Whether a static block without code is a build error or runs `live`."""
    decide: bool | None = None
    """Whether a block that chooses among a few values asks for their probabilities in place of
    a JSON object, if the model gives them.
    """
    sure: float | None = None
    """The least probability, from 0 to 1, of an answer that is accepted; it implies `decide`."""
    unsure: str | None = None
    """What follows below `sure`: `raise` raises `njrt.Unsure`, `ask` lets the interceptors decide,
    and the name of a model asks that model.
    """
    reasoning: Reasoning | None = None
    """`text`: reasoning before the reply; `ask`: code asks the model to judge; `none`: neither."""
    temperature: float | None = None
    """Temperature, which Anthropic's and OpenAI's thinking models refuse. If a failing answer is
    repeated, it rises for the next request by 0.5, up to 1.0.
    """
    max_reply_tokens: int | None = None
    """Tokens in one reply."""
    max_effects: int | None = None
    """Effects in one run of the block."""
    max_calls: int | None = None
    """Model calls in one run."""
    max_seconds: float | None = None
    """Seconds for one run."""
    max_call_seconds: float | None = None
    """Seconds to wait for one reply from the model, retries included."""
    max_code_seconds: float | None = None
    """Seconds for one piece of the model's code."""
    max_tokens: int | None = None
    """Tokens in one run, input and output together."""
    max_usd: float | None = None
    """US dollars for one run."""
    show_chars: int | None = None
    """Characters of each variable that are shown to a model that writes code."""
    max_prompt_chars: int | None = None
    """Characters of a prompt for a data answer: its inputs are shown whole. A block with more
    runs as code if it may, and fails if not.
    """
    policy: Policy | None = None
    """`contained`: code runs in a separate process; `guarded`: in the program, after checks
    (SECURITY.md); `auto`: contained if the system and the block's stated types allow it,
    otherwise guarded, with a warning; `open`: no checks.
    """
    own_packages: str | None = None
    """Packages, separated by commas, whose classes are the program's own for contained code, as
    those of the block's package are.
    """
    redact: bool | None = None
    """False shows secrets to the model."""
    on_error: OnError | None = None
    """`rollback` restores the bindings if the block ends with an exception."""
    budget: str | None = None
    """Budgets for model calls, such as `usd=5 per=day` (docs/reference/budgets.md)."""
    store: str | None = None
    """The URL of the store of cache, budgets, traces, recordings (docs/reference/storage.md)."""

    def __hash__(self) -> int:
        """Hash only a few fields, as each block run looks up the objects cached for its options."""
        return hash((self.model, self.effects, self.temperature, self.max_calls, self.max_usd))


DEFAULTS = Options(
    mode="live",
    effects="direct",
    authority="least",
    jumps="named",
    decide=False,
    unsure="raise",
    max_reply_tokens=4096,
    max_effects=300,
    max_calls=30,
    max_seconds=600.0,
    max_call_seconds=120.0,
    max_code_seconds=30.0,
    show_chars=1000,
    max_prompt_chars=30_000,
    redact=True,
    on_error="keep",
)

OPTION_NAMES = tuple(field.name for field in fields(Options))
_KINDS = {name: get_args(kind) for name, kind in get_type_hints(Options).items()}
"""The alternatives in the type of each option."""
OPTION_CHOICES: Mapping[str, tuple[str, ...]] = {
    name: choices
    for name, kinds in _KINDS.items()
    if (choices := tuple(word for kind in kinds for word in get_args(kind) if word != "interface"))
    and get_origin(kinds[0]) is Literal
}
"""The allowed words of some options; blocks set `effects="interface"` with `interface=`."""
ON_WORDS = ("on", "1", "true", "yes")
OFF_WORDS = ("off", "0", "false", "no")
"""The values of environment variables that turn something on or off."""


def find_option_problem(name: str, value: Any) -> str | None:
    """Describe the problem with option `name=value` in one short lower-case line; None if valid."""
    if removed := find_removed(name):
        return f"option {removed}"
    if name == "ahead":
        return "option `ahead` stands on a block in a loop, as in `natural(ahead=8)`"
    if name not in OPTION_NAMES:
        close = find_similar(name, OPTION_NAMES)
        return f"unknown option `{name}`" + (f"; did you mean `{close}`?" if close else "")
    if name == "effects" and value in REMOVED_EFFECTS:
        return f'option `effects="{value}"` {REMOVED_EFFECTS[value]}'
    if name == "mode" and value in REMOVED_MODES:
        return f'option `mode="{value}"` {REMOVED_MODES[value]}'
    if name in OPTION_CHOICES and value not in OPTION_CHOICES[name]:
        return f"option `{name}` must be one of {', '.join(OPTION_CHOICES[name])}, not {value!r}"
    if int in _KINDS[name]:
        if not is_limit(value, int) or value < 1:
            return f"option `{name}` must be a whole number from 1, not {describe_number(value)}"
    elif name == "sure":
        if not is_limit(value, float, 1) or value > 1:
            return f"option `sure` must be a number from 0 to 1, not {describe_number(value)}"
    elif float in _KINDS[name]:
        if not is_limit(value, float):
            return f"option `{name}` must be a number from 0, not {describe_number(value)}"
    elif name in ("decide", "redact"):
        if not isinstance(value, bool):
            return f"option `{name}` must be True or False, not {value!r}"
    elif not isinstance(value, str) or not value:
        return f"option `{name}` must be a string, not {value!r}"
    elif name == "budget":
        try:
            parse_budgets(value)
        except ConfigurationError as error:
            return str(error)
    elif name == "own_packages" and not all(map(str.isidentifier, list_packages(value))):
        return f"option `own_packages` must be names, such as `models, shop`, not {value!r}"
    return None


def list_packages(text: str | None) -> list[str]:
    """Return the packages that the option `own_packages` names."""
    return [name for part in (text or "").split(",") if (name := part.strip())]


def parse_option(name: str, text: str) -> Any:
    """Read an option's value from text, as in the environment or a file's comment."""
    text = text.strip()
    if {int, float}.intersection(_KINDS.get(name, ())):
        for read in (int, float):
            with suppress(ValueError):
                return read(text)
    if name in ("redact", "decide"):
        return _SWITCHES.get(text.lower(), text)
    return text


_SWITCHES = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def make_options(settings: Mapping[str, Any], where: str) -> Options:
    """Make `Options` from checked `settings`; `where` names their place in error messages."""
    settings = drop_removed(settings, where)
    for name, value in settings.items():
        if problem := find_option_problem(name, value):
            raise ConfigurationError(f"{where}: {problem}")
    return Options(**settings)


def merge_option_layers(*layers: Options) -> Options:
    """Merge layers of options, nearest first: the first layer that sets an option wins."""
    merged, *further = layers
    for layer in further:
        if layer is NO_OPTIONS or layer == NO_OPTIONS:
            continue
        if merged is NO_OPTIONS or merged == NO_OPTIONS:
            merged = layer
            continue
        unset = {
            name: value
            for name in OPTION_NAMES
            if getattr(merged, name) is None and (value := getattr(layer, name)) is not None
        }
        if unset:
            merged = replace(merged, **unset)
    return merged


NO_OPTIONS = Options()
ENVIRONMENT_VARIABLES: Mapping[str, str] = {f"NJC_{name.upper()}": name for name in OPTION_NAMES}
"""The environment variable of each option."""
BUILD_OPTIONS = ("jumps", "mode", "fallback", "writer")
"""Options that only builds read; no variable changes them, so a build is the same for everyone."""


def read_environment_options(environ: Mapping[str, str]) -> Options:
    """Read the options that the environment sets; an empty variable sets none."""
    for variable in VARIABLES.keys() & environ.keys():
        if environ[variable]:
            drop_removed({VARIABLES[variable]: environ[variable]}, variable)
    values: dict[str, Any] = {}
    for variable, name in ENVIRONMENT_VARIABLES.items():
        if text := environ.get(variable):
            values[name] = parse_option(name, text)
            if problem := find_option_problem(name, values[name]):
                raise ConfigurationError(f"{variable}: {problem}")
    return Options(**values)
