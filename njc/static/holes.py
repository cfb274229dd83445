'''The blocks to write code for, with their readable names and required outputs.

    def read(letter: str) -> Order:
        """natural                            Hole(name="order.njpy:read", visible=("letter", ...),
        Read <letter> into <:order: Order>.        writes=("order",), types={"order": "Order"},
        """                                        labels=("return",), bound_before={"letter"}, ...)
        return order

A hole's name survives edits elsewhere in its file. Its meaning is a set of digests of everything
shown to the model: code for one meaning is stale for any other.
'''

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count

from njc.compiler.analysis.authority import list_offered_labels
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.reviewed_mode import is_reviewed, resolve_mode
from njc.compiler.codegen.lower import find_super_parameter
from njc.compiler.frontend.blocks import NaturalBlock, collect_block_outputs
from njc.compiler.frontend.name_resolution import BlockOutputs
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import format_annotation, list_variables, parse_type
from njc.static.assignment import find_bound_before
from njc.static.context import render_context
from njc.static.lock import BlockDigests
from njrt.block.block import extract_instruction
from njrt.data.options import Mode, Options, merge_option_layers
from njrt.data.private_names import mangle
from njrt.data.records import record, replace

CASES_TITLE = "Cases of the function, which its result must fit:"


@record
class Hole:
    """A natural block that needs code."""

    block: NaturalBlock
    name: str
    """`path:Qualified.name`, with `#2` for the second block there."""
    mode: Mode
    options: Options
    """The merged options of block, file and project."""
    instruction: str
    visible: tuple[str, ...]
    """The program's names that the code may read, as spelled in the source."""
    types: Mapping[str, str]
    """The outputs' declared types, by path."""
    labels: tuple[str, ...]
    """The legal jumps, by their runtime names; `raise` is always legal."""
    first_parameter: str | None
    """The arguments of `super()`, if the block names <super>."""
    bound_before: frozenset[str]
    """The outputs that are bound on every path to the block."""
    program: str
    """The part of the program that the model sees."""
    helper: str
    """The name of the function that asks a model; the program does not use this name."""
    taken_here: frozenset[str]
    """The names that the block's scope and the scopes inside it use."""
    place: str
    """`file.njpy:line`, for people."""
    needs_review: bool = False
    """Whether a person must sign the code: the mode is `reviewed`."""
    cases: str = ""
    """Cases of the function, as JSON Lines; examples for the writer, and no part of the meaning."""

    @property
    def writes(self) -> tuple[str, ...]:
        """The paths that must be left bound."""
        return self.block.writes

    @property
    def class_name(self) -> str | None:
        """The class that private names are mangled for here."""
        return self.block.scope.mangling_class

    @property
    def shown(self) -> str:
        """Everything that the model sees about the hole."""
        return "\n".join([self.program, "", self.instruction, "---", *_describe_interface(self)])

    @property
    def question(self) -> str:
        """What a writer is asked: what is shown, and the cases."""
        return f"{self.shown}\n\n{CASES_TITLE}\n{self.cases}" if self.cases else self.shown

    def format_question(self, type_: str | None) -> str:
        """Return a call that asks a model for a value of a type; None stands for text."""
        schema = f", {type_}" if type_ else ""
        return f'{"await " * self.block.scope.is_async}{self.helper}(f"..."{schema})'

    @property
    def meaning(self) -> BlockDigests:
        """Digests of the shown text; blank lines and trailing blanks do not count."""
        shown = self.instruction, "\n".join(_describe_interface(self)), self.program
        return BlockDigests(*map(_compute_digest, shown))


def _compute_digest(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def find_holes(
    module: Module, written: Sequence[NaturalBlock], types: TypeReader, project: Options
) -> Iterator[Hole]:
    """Find a file's blocks that get code when the program is built."""
    blocks = [resolve_mode(block, types, project) for block in written]
    outputs = collect_block_outputs(blocks)
    seen: Counter[str] = Counter()
    for block, was in zip(blocks, written, strict=True):
        options = merge_option_layers(block.options, project)
        around = [scope.name for scope in block.scope.walk_outwards() if scope.kind != "module"]
        name = f"{module.source.path}:{'.'.join(reversed(around)) or '<module>'}"
        seen[name] += 1
        if options.mode in (None, "live") or block.is_fstring or block.interface is not None:
            continue
        name += f"#{seen[name]}" if seen[name] > 1 else ""
        hole = _make_hole(module, blocks, outputs, block, name, options)
        needs_review = is_reviewed(was, project) or project.mode == "reviewed"
        yield replace(hole, needs_review=needs_review)


def _make_hole(
    module: Module,
    blocks: Sequence[NaturalBlock],
    outputs: BlockOutputs,
    block: NaturalBlock,
    name: str,
    options: Options,
) -> Hole:
    types = _find_output_types(block)
    names = (name for type_ in types.values() for name in list_variables(parse_type(type_)))
    # Some characters cannot be in any Python source.
    instruction = extract_instruction(ast.literal_eval(block.literal)).replace("\0", "\\x00")
    before = find_bound_before(block, blocks, module)
    taken = find_taken_names(module.tree, blocks)
    inside = [other for other in blocks if block.scope in other.scope.walk_outwards()]
    return Hole(
        block,
        name,
        options.mode or "live",
        options,
        instruction.encode("utf-8", "backslashreplace").decode(),
        tuple(dict.fromkeys((*block.names, *(alias for alias in names if alias in taken)))),
        types,
        list_offered_labels(block, options),
        find_super_parameter(block, outputs),
        frozenset(block.binds) & before,
        render_context(module, block),
        make_fresh_name("allm" if block.scope.is_async else "llm", taken),
        find_taken_names(block.scope.node, inside),
        f"{module.source.path}:{block.line}",
    )


def _find_output_types(block: NaturalBlock) -> dict[str, str]:
    """Return the outputs' declared types, from the prompt or an annotation in the scope itself."""
    types = {each.path: each.type for each in block.references if each.writes and each.type}
    bindings = block.scope.bindings
    for path in block.binds:
        stored = mangle(path, block.scope.mangling_class)
        annotation = bindings.annotations.get(stored) or bindings.parameters.get(stored)
        if annotation is not None:
            types.setdefault(path, format_annotation(annotation))
    return types


def _describe_interface(hole: Hole) -> Iterator[str]:
    """Yield a line for the readable names, for each output, and for the jumps."""
    read_only = [name for name in hole.visible if name not in hole.block.binds]
    if read_only:
        yield f"may be read: {', '.join(read_only)}"
    for path in hole.writes:
        type_ = f": {hole.types[path]}" if path in hole.types else ""
        yield f"{path}{type_}, to be {'set' if '.' in path else 'bound'}"
    if hole.labels:
        jumps = {"return": "return VALUE", "bare_return": "return"}
        yield f"jumps: {', '.join(jumps.get(label, label) for label in hole.labels)}"
    yield f"to ask a language model: {format_question_form(hole)}"


def format_question_form(hole: Hole) -> str:
    """Return the form of a question, with an output's type as an example."""
    form = f"{'await ' * hole.block.scope.is_async}{hole.helper}(prompt, schema)"
    types = [hole.types[path] for path in hole.writes if path in hole.types]
    return f"{form}, such as {hole.format_question(types[0])}" if types else form


# ── names that a program uses or does not use ─────────────────────────────────────────────────────


def find_taken_names(tree: ast.AST, blocks: Iterable[NaturalBlock]) -> frozenset[str]:
    """Collect the identifiers of a tree and of the prompts in it."""
    names = {name for node in ast.walk(tree) for name in _list_identifiers(node)}
    return frozenset(names | {name for block in blocks for name in block.names})


def _list_identifiers(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.alias(name=path, asname=name):
            yield name or path.partition(".")[0]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Name(id=name) | ast.arg(arg=name) | ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(name := getattr(node, "name", None), str):
            yield name  # for a function, a class, an exception or a pattern


def make_fresh_name(name: str, taken: Collection[str]) -> str:
    """Return the name, or the first numbered variant that is not taken."""
    if name not in taken:
        return name
    return next(candidate for number in count(2) if (candidate := f"{name}_{number}") not in taken)
