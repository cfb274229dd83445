'''Where generated code is to stand, what it may see, and what it must leave bound.

    def read(letter: str) -> Order:
        """natural                                  Gap(name="order.njpy:read", visible=("letter", "Order"),
        Read <letter> into <:order: Order>.             writes=("order",), types={"order": "Order"},
        """                                             labels=("return",), bound_before={"letter"}, ...)
        return order

A gap has a name that survives edits elsewhere in its file, and a meaning: a digest of all that the model is
shown of it. Code that was written for one meaning is stale for any other.
'''

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from njc.codegen.lower import first_parameter, offered
from njc.frontend.blocks import NaturalBlock, outputs_of
from njc.frontend.names import Outputs, mangled, outwards
from njc.frontend.parse import Module
from njc.frontend.references import parsed_type, spelled
from njc.static.checks.binding import bound_before
from njc.static.context import shown_program
from njc.static.fresh_names import fresh, taken_in
from njc.static.lock import Meaning
from njrt.block import instruction_of
from njrt.options import Mode, Options, nearest


@dataclass(frozen=True, slots=True)
class Gap:
    """A natural block that code is to be written for."""

    block: NaturalBlock
    name: str
    """`path:Qualified.name`, with `#2` for the second block there."""
    mode: Mode
    options: Options
    """Those of block, file and project merged."""
    instruction: str
    visible: tuple[str, ...]
    """The names of the program that the code may read, as the source spells them."""
    types: Mapping[str, str]
    """The declared types of outputs, by path."""
    labels: tuple[str, ...]
    """The jumps that are legal, as the runtime names them; `raise` always is."""
    first_parameter: str | None
    """What `super()` needs, where the block names <super>."""
    bound_before: frozenset[str]
    """The outputs that are bound for sure when the program comes to the block."""
    program: str
    """What of the program is shown."""
    helper: str
    """The name by which the code asks a model when it runs; the program uses it for nothing else."""
    taken: frozenset[str]
    """The names that mean something in this file."""
    taken_here: frozenset[str]
    """Those that mean something in the scope of the block, or in scopes inside it."""
    imports: frozenset[str]
    """The imports at the head of the file, one name each."""
    place: str
    """`file.njpy:line`, for people."""

    @property
    def writes(self) -> tuple[str, ...]:
        """The paths that must be left bound."""
        return self.block.writes

    @property
    def class_name(self) -> str | None:
        """The class whose private names are mangled here."""
        return self.block.scope.mangler

    @property
    def shown(self) -> str:
        """All that the model is told of the gap."""
        return "\n".join([self.program, "", self.instruction, "---", *_interface(self)])

    @property
    def meaning(self) -> Meaning:
        """Digests of what is shown; blank lines and trailing blanks do not count."""
        return Meaning(
            _digest(self.instruction), _digest("\n".join(_interface(self))), _digest(self.program)
        )


def _digest(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def gaps_in(module: Module, blocks: Sequence[NaturalBlock], project: Options) -> Iterator[Gap]:
    """Find the blocks of a file that are not to be carried out by a live model."""
    outputs = outputs_of(blocks)
    seen: Counter[str] = Counter()
    for block in blocks:
        options = nearest(block.options, project)
        name = f"{module.source.path}:{_qualified(block)}"
        seen[name] += 1
        if options.mode in (None, "live") or is_made_at_run_time(block):
            continue
        if options.mode == "auto" and block.scope.kind == "class":
            continue  # an attempt would leave its own name in the class
        yield _gap(module, blocks, outputs, block, _numbered(name, seen[name]), options)


def _gap(
    module: Module,
    blocks: Sequence[NaturalBlock],
    outputs: Outputs,
    block: NaturalBlock,
    name: str,
    options: Options,
) -> Gap:
    types = _types(block)
    names = (name for text in types.values() for name in _names_in(text))
    before = bound_before(block, blocks, module)
    taken = taken_in(module.tree, blocks)
    return Gap(
        block,
        name,
        options.mode or "live",
        options,
        instruction_of(ast.literal_eval(block.literal)),
        tuple(dict.fromkeys((*block.names, *(each for each in names if each in taken)))),
        types,
        tuple(offered(block)),
        first_parameter(block, outputs),
        frozenset(block.binds) & before,
        shown_program(module, block),
        fresh("allm" if block.scope.is_async else "llm", taken),
        taken,
        taken_in(
            block.scope.node, [each for each in blocks if block.scope in outwards(each.scope)]
        ),
        frozenset(_imports(module, block)),
        f"{module.source.path}:{block.line}",
    )


def imports_in(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Take an import apart: for each name the import of it alone, and the name that it binds."""
    for alias in statement.names:
        single = _of_one_name(statement, alias)
        yield ast.unparse(single), alias.asname or alias.name.partition(".")[0]


def is_alone(statement: ast.stmt, tree: ast.Module) -> bool:
    """Whether no other statement shares the lines of this one."""
    return not any(
        other is not statement
        and other.lineno <= (statement.end_lineno or statement.lineno)
        and (other.end_lineno or other.lineno) >= statement.lineno
        for other in tree.body
    )


def _of_one_name(
    statement: ast.Import | ast.ImportFrom, alias: ast.alias
) -> ast.Import | ast.ImportFrom:
    """The same import of one name only."""
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def _imports(module: Module, block: NaturalBlock) -> Iterator[str]:
    at_module = block.scope.kind == "module"
    for statement in module.tree.body:
        is_before = statement.lineno < block.line or not at_module
        if is_before and isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (text for text, _ in imports_in(statement))


def is_made_at_run_time(block: NaturalBlock) -> bool:
    """Whether the prompt is an f-string, which nobody knows before the program runs: such blocks stay live."""
    return "f" in block.literal[:2].lower()


def _qualified(block: NaturalBlock) -> str:
    names = [scope.name for scope in outwards(block.scope) if scope.kind != "module"]
    return ".".join(reversed(names)) or "<module>"


def _numbered(name: str, number: int) -> str:
    return f"{name}#{number}" if number > 1 else name


def _types(block: NaturalBlock) -> dict[str, str]:
    """The declared types of outputs: from the prompt, or from an annotation in the scope itself."""
    types = {each.path: each.type for each in block.references if each.writes and each.type}
    bindings = block.scope.bindings
    for path in block.binds:
        stored = mangled(path, block.scope.mangler)
        annotation = bindings.annotations.get(stored) or bindings.parameters.get(stored)
        if annotation is not None:
            types.setdefault(path, spelled(annotation))
    return types


def _names_in(type_: str) -> list[str]:
    expression = parsed_type(type_)
    nodes = ast.walk(expression) if expression is not None else ()
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def _interface(gap: Gap) -> Iterator[str]:
    """A line for what may be read, for each output, and for the jumps."""
    read_only = [name for name in gap.visible if name not in gap.block.binds]
    if read_only:
        yield f"may be read: {', '.join(read_only)}"
    for path in gap.writes:
        type_ = f": {gap.types[path]}" if path in gap.types else ""
        yield f"{path}{type_}, to be {'set' if '.' in path else 'bound'}"
    if gap.labels:
        yield f"jumps: {', '.join(_JUMPS[label] for label in gap.labels)}"
    if gap.mode == "auto":
        yield "begin with `assert` lines: what must hold of the values for your code to be right"
    yield f"to ask a language model: {question_of(gap)}"


def question_of(gap: Gap) -> str:
    """The form of a question, with a type that may well be asked for."""
    call = f"{'await ' if gap.block.scope.is_async else ''}{gap.helper}"
    types = [gap.types[path] for path in gap.writes if path in gap.types]
    return f"{call}(prompt, schema)" + (f', such as {call}(f"...", {types[0]})' if types else "")


_JUMPS = {
    "break": "break",
    "continue": "continue",
    "return": "return VALUE",
    "bare_return": "return",
}
