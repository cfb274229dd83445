"""From natural blocks to runtime calls, as data: the arguments and the except clauses.

    <:response: list[str]> and <query> in a loop of a function

    LoweredBlock(
        declarations=("response: list[str]",)     only if nothing else makes it a local variable
        call="_nj.run"
        arguments=(lambda: (query, response), writes="response", types=...,
                    labels="break continue return",
                   at="mailbox.njpy:12")
        arms=(("_nj.Break", "break"), ..., ("_nj.Return as _nj_r", "return _nj_r.value"))
    )

The lambda shares the variables themselves, as closure cells. The same source gives the same bytes.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from njc.compiler.analysis.authority import Authority, may_reraise
from njc.compiler.analysis.containment import find_uncontained
from njc.compiler.analysis.contracts import BlockContract
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.types import Typed
from njc.compiler.codegen.output_types import (
    OutputTypes,
    find_chosen_outputs,
    find_output_types,
)
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    FunctionDefinition,
    Global,
    NameScope,
    resolve_name,
)
from njc.compiler.frontend.prompt_references import format_string
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import NO_OPTIONS, OPTION_NAMES, Options, merge_option_layers
from njrt.data.private_names import mangle
from njrt.data.records import record, replace

RUNTIME_PACKAGE = "njrt"


@record
class Argument:
    """An argument of the call. With items it can be split over lines: `opening items closing`."""

    opening: str
    items: tuple[str, ...] = ()
    closing: str = ""


@record
class LoweredBlock:
    """The call for a block: declarations before it, its arguments, and exceptions caught after."""

    block: NaturalBlock
    declarations: tuple[str, ...]
    call: str
    arguments: tuple[Argument, ...]
    arms: tuple[tuple[str, str], ...]
    reraises: bool = False
    """Whether the call's result decides on a `raise` after it."""
    code: str = ""
    """Static code that the call runs as contained code."""


@record
class Contained:
    """What contained static code uses besides its block's variables."""

    names: tuple[str, ...] = ()
    """The program's names, such as the outputs' classes."""
    helper: str = ""
    """`name = expression` for the function that asks a model, if the code asks."""


@record
class WrittenBlock:
    """Code that replaces a block instead of a call; it is generated when the program is built."""

    block: NaturalBlock
    code: str
    """The lines that replace the block, without indentation."""
    needs_runtime: bool = False
    """Whether the code refers to the runtime."""
    contained: Contained | None = None
    """Additional names for the call, if it runs the code in a separate process."""


EmittableBlock = LoweredBlock | WrittenBlock


def apply_written(lowered: LoweredBlock, written: WrittenBlock | None) -> EmittableBlock:
    """Return the call, or the code that replaces it."""
    if written is None:
        return lowered
    if written.contained is not None:
        return _add_contained_code(lowered, written.code, written.contained)
    return written


_OF_CONVERSATIONS = ("ensures=", "given=", "effects=", "chooses=", "ahead=")
"""Arguments that mean nothing if no model is asked."""


def _add_contained_code(lowered: LoweredBlock, code: str, contained: Contained) -> LoweredBlock:
    variables, *others = lowered.arguments
    others = [given for given in others if not given.opening.startswith(_OF_CONVERSATIONS)]
    shared = tuple(dict.fromkeys((*variables.items, *contained.names)))
    name, _, asker = contained.helper.partition(" = ")
    helper = [Argument("lends={", (f"{format_literal(name)}: {asker}",), "}")] if name else []
    return replace(
        lowered, arguments=(replace(variables, items=shared), *others, *helper), code=code
    )


_CRLF = "\r\n"


def serialize_written(source: SourceFile, written: Iterable[WrittenBlock], note: str = "") -> str:
    """Return all that written code and its note add to a compiled file, whatever its line ends."""
    parts = [
        f"{start - source.text.count(_CRLF, 0, start)}"
        f"\0()\0()\0()\0\0{code.code}"  # as 0.2, so that its files are up to date
        for code in written
        for start in [code.block.start]
    ]
    return "\0".join([*parts, *([note] if note else [])]).replace(_CRLF, "\n")


@record
class Aliases:
    """Names that the module does not use, for the runtime and for a caught return."""

    runtime: str
    returned: str


def choose_aliases(text: str) -> Aliases:
    """Choose `_nj` and `_nj_r`, or the first numbered variants that do not occur in the text."""
    number, text = 0, unicodedata.normalize("NFKC", text)  # as Python reads names
    while re.search(rf"\b_nj{number or ''}(?:_r|_for_\w+)?\b", text):
        number += 1
    return Aliases(f"_nj{number or ''}", f"_nj{number or ''}_r")


def lower(
    blocks: Sequence[NaturalBlock],
    authorities: Sequence[Authority],
    contracts: Sequence[BlockContract],
    definitions: TypeReader,
    aliases: Aliases,
    path: str,
    project: Options,
) -> Iterator[LoweredBlock]:
    """Lower a module's blocks; their options are already merged with the file's options."""
    declared: set[tuple[NameScope, str]] = set()
    for block, authority, contract in zip(blocks, authorities, contracts, strict=True):
        scope = block.scope
        types = find_output_types(block, authority.labels, definitions)
        fresh = [
            (name, stored)
            for name in block.binds
            if (scope, stored := mangle(name, scope.mangling_class)) not in declared
            and _needs_declaration(scope, stored, definitions.outputs)
        ]
        declared.update((scope, stored) for _, stored in fresh)
        declarations: list[str] = []
        for name, _ in fresh:
            type_ = definitions.find_type_in_prompts(name, scope)
            type_ = type_ or types.by_path.get(name)
            declarations += _make_declaration(name, scope, type_ or f"{aliases.runtime}.Any")
        yield LoweredBlock(
            block,
            tuple(declarations),
            f"await {aliases.runtime}.arun" if block.scope.is_async else f"{aliases.runtime}.run",
            (
                *_build_arguments(block, authority, contract, types, definitions, path, project),
                *(Argument(f"ahead={name}") for _, name in list_loops(block, aliases.runtime)),
            ),
            tuple(_build_except_clauses(block, authority, aliases, definitions)),
            may_reraise(block, project),
        )


def list_loops(block: NaturalBlock, runtime: str) -> list[tuple[ast.For, str]]:
    """Return the loop of a block that asks ahead, if it does, and its name in the compiled file."""
    loop = block.loop if block.ahead is not None else None
    return [] if loop is None else [(loop, f"{runtime}_for_{loop.lineno}")]


def _needs_declaration(scope: NameScope, stored: str, outputs: BlockOutputs) -> bool:
    """Return whether Python needs a declaration to know that this scope binds the name."""
    bindings = scope.bindings
    if stored in bindings.bound | bindings.globals | bindings.nonlocals:
        return False
    if scope.kind == "class" and scope.parent is not None:
        # A class looks up its own names in its namespace; it must not find a function's instead.
        around = resolve_name(stored, scope.parent, outputs)
        return stored in bindings.type_parameters or not isinstance(around, Global)
    return scope.is_function


def _make_declaration(name: str, scope: NameScope, type_: str) -> tuple[str, ...]:
    """Make a name the scope's own without binding it; in a class, annotations would add a field."""
    return (f"for {name} in ():", "    pass") if scope.kind == "class" else (f"{name}: {type_}",)


def _build_arguments(
    block: NaturalBlock,
    authority: Authority,
    contract: BlockContract,
    types: OutputTypes,
    definitions: TypeReader,
    path: str,
    project: Options,
) -> Iterator[Argument]:
    scope, outputs = block.scope, definitions.outputs
    names = block.names if scope.kind == "class" else ()
    own = [name for name in names if resolve_name(name, scope, outputs) == scope.as_home]
    me = find_super_parameter(block, outputs)
    shared = [name for name in block.names if name not in own]
    shared += [name for name in ("__class__", me) if me and name and name not in shared]
    yield Argument("lambda: (", tuple(shared), ")")
    yield from _build_path_arguments(block, types, definitions)
    if authority.labels:
        yield _make_text_argument("labels", authority.labels)
    if contract.texts:
        yield Argument("ensures=[", tuple(map(format_literal, contract.texts)), "]")
    if contract.names:
        yield Argument("given=lambda: (", contract.names, ")")
    if may_reraise(block, project):
        yield Argument("reraises=True")
    if scope.mangling_class is not None:
        yield _make_text_argument("cls", [scope.mangling_class])
    if me:
        yield _make_text_argument("me", [me])
    if scope.kind == "class":
        yield from _build_namespace_arguments(block, own, definitions)
    yield _make_text_argument("at", [f"{path}:{block.line}"])
    if authority.effects == "answer":
        yield _make_text_argument("effects", ["answer"])
    options = merge_option_layers(block.options, project)
    is_answer = options.effects == "answer"
    if is_answer and (chosen := find_chosen_outputs(block, definitions)):
        yield _make_text_argument("chooses", chosen)
    if not is_answer and authority.effects != "answer":
        found = find_uncontained(block, definitions, path, options)
        if found is not None and not found.is_seen_by_scope:
            yield Argument(f"guarded={format_literal(found.reason)}")
    if block.interface is not None:
        yield Argument(f"interface={block.interface.path}")
    for name, value in list_given_options(block.options):
        yield Argument(f"{name}={format_literal(value)}")
    if settings := [
        f'"{name}": {format_literal(value)}' for name, value in list_given_options(project)
    ]:
        yield Argument("project={", tuple(settings), "}")


def _build_path_arguments(
    block: NaturalBlock, types: OutputTypes, definitions: TypeReader
) -> Iterator[Argument]:
    """Yield the arguments that name the block's variables and their parts."""
    if block.writes:
        yield _make_text_argument("writes", block.writes)
    roots = {path.partition(".")[0] for path in block.reads}
    if reread := [path for path in block.writes if path in roots or path in block.reads]:
        yield _make_text_argument("reads", reread)
    if types.by_path:
        items = (f"{format_literal(path)}: {text}" for path, text in types.by_path.items())
        yield Argument(f"types={make_lambda(types)}: {{", tuple(items), "}")
    if used := _list_used_imports(block, definitions):
        yield _make_text_argument("uses", used)
    if parts := _list_parts(block, definitions):
        yield _make_text_argument("parts", parts)


def _build_namespace_arguments(
    block: NaturalBlock, own: Sequence[str], definitions: TypeReader
) -> Iterator[Argument]:
    """Yield a block's arguments in the body of a class, whose namespace has the `own` names."""
    scope = block.scope
    is_builtin = definitions.is_builtin("locals", scope)
    locals_ = "locals()" if is_builtin else '__import__("builtins").locals()'
    yield Argument(f"ns={locals_}")
    if own:
        yield _make_text_argument("own", own)
    stored = [(name, mangle(name, scope.mangling_class)) for name in block.names]
    if declared := [name for name, key in stored if key in scope.bindings.nonlocals]:
        yield _make_text_argument("nl", declared)


def make_lambda(types: OutputTypes) -> str:
    """Return the start of a lambda that evaluates types.

    In a class body, a lambda does not see the class's names, so it takes them as defaults.
    """
    defaults = ", ".join(f"{name}={name}" for name in types.class_names)
    return f"lambda {defaults}" if defaults else "lambda"


def _list_used_imports(block: NaturalBlock, definitions: TypeReader) -> list[str]:
    """Return parts that the text reads, such as `files.read_text`, of imports not named whole."""
    dotted = [reference for reference in block.references if reference.is_dotted]
    if not dotted:
        return []
    whole = {each.root for each in block.references if not each.is_dotted or each.writes}
    paths = (each.path for each in dotted if each.root not in whole)
    is_import = definitions.is_import
    return [it for it in dict.fromkeys(paths) if is_import(it.partition(".")[0], block.scope)]


def _list_parts(block: NaturalBlock, definitions: TypeReader) -> list[str]:
    """Return the paths, such as `self.folders`, of variables that the text names only in part."""
    whole = {each.root for each in block.references if not each.is_dotted}
    paths = dict.fromkeys(each.path for each in block.references if each.root not in whole)
    return [it for it in paths if not definitions.is_import(it.partition(".")[0], block.scope)]


def _make_text_argument(name: str, words: Iterable[str]) -> Argument:
    return Argument(f"{name}={format_literal(' '.join(words))}")


def format_literal(value: object) -> str:
    """Format a literal value; strings in double quotes, unless that would need an escape."""
    if isinstance(value, str):
        return format_string(value)
    return "1e999" if value == float("inf") else ascii(value)  # `inf` would be a name


def list_given_options(options: Options) -> list[tuple[str, object]]:
    """Return the given options that matter at run time, in the call's order."""
    if options is NO_OPTIONS:
        return []
    given = ((name, getattr(options, name)) for name in _RUN_OPTIONS)
    return [(name, value) for name, value in given if value is not None]


_RUN_OPTIONS = tuple(name for name in OPTION_NAMES if name not in ("mode", "fallback", "writer"))


def find_super_parameter(block: NaturalBlock, outputs: BlockOutputs) -> str | None:
    """Return the parameter that `super()` would take if the block refers to `super` in a method."""
    scope = block.scope
    if "super" not in block.names or not scope.is_function or scope.mangling_class is None:
        return None
    home = resolve_name("super", scope, outputs)
    if not isinstance(home, Global) or home.known:
        return None
    assert isinstance(scope.node, FunctionDefinition)
    positional = [*scope.node.args.posonlyargs, *scope.node.args.args]
    return positional[0].arg if positional else None


def _build_except_clauses(
    block: NaturalBlock, authority: Authority, aliases: Aliases, definitions: TypeReader
) -> Iterator[tuple[str, str]]:
    """Yield the caught exception and the statement for each offered jump."""
    runtime, returned = aliases.runtime, aliases.returned
    for label in authority.labels:
        match label:
            case "break":
                yield f"{runtime}.Break", "break"
            case "continue":
                yield f"{runtime}.Continue", "continue"
            case "return" if not _returns_nothing(block.scope, definitions):
                yield f"{runtime}.Return as {returned}", f"return {returned}.value"
            case "return" | "bare_return":
                yield f"{runtime}.Return", "return"


_ITERATORS = frozenset({"Iterator", "Iterable", "Generator"})
_ABSTRACT_ITERATORS = frozenset(f"collections.abc.{name}" for name in _ITERATORS)


def _returns_nothing(scope: NameScope, types: TypeReader) -> bool:
    """Return whether a type checker accepts only a bare `return` in this function."""
    assert isinstance(scope.node, FunctionDefinition)
    if scope.node.returns is None:
        in_class = scope.parent is not None and scope.parent.kind == "class"
        return in_class and scope.node.name == "__init__"
    returns = types.expand(Typed(scope.node.returns, scope.signature_scope))
    name = types.name_of(returns)
    if name == "None" or scope.kind != "generator":
        return name == "None"
    match returns.annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[_, _, result])):
            return types.name_of(types.expand(returns.inside(result))) == "None"
    origin = returns.annotation
    origin = origin.value if isinstance(origin, ast.Subscript) else origin
    return ast.unparse(origin).rpartition(".")[2] in _ITERATORS or name in _ABSTRACT_ITERATORS
