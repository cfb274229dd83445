'''The names of a program and its prompts, each with its place and the variable that it means.

    def add(price):                             price    a parameter of `add`
        """natural
        Add <price> to <:total: int>.           price    the same;  total    a variable of `add`
        """

Scopes are those of `njc.compiler.frontend.name_resolution`; lambdas and comprehensions are
functions here. Not detected: names in quoted annotations, attributes, keywords in calls, and names
for which Python's tree has a wrong place (Python 3.11, in some f-strings).
'''

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from njc.compiler.frontend.blocks import NaturalBlock, make_scope
from njc.compiler.frontend.name_resolution import (
    Bindings,
    BlockOutputs,
    NameScope,
    ResolvedName,
    collect_bindings,
    list_children,
    list_named_parameters,
    resolve_name,
)
from njc.compiler.frontend.parse import Module, parse_quietly
from njc.compiler.frontend.prompt_references import NAME, Reference
from njc.compiler.frontend.source import SourceFile
from njrt.data.private_names import mangle
from njrt.data.records import record

Role = Literal["bind", "read", "parameter", "import", "declare", "define"]
"""The role of a name: `define` names a function or class, `declare` is in a `global` statement."""

_WORD = re.compile(NAME)


@record
class Occurrence:
    """One occurrence of a variable: its stored name and home, and the offsets of the word."""

    name: str
    home: ResolvedName
    start: int
    end: int
    role: Role
    in_prompt: bool

    @property
    def variable(self) -> tuple[str, ResolvedName]:
        return self.name, self.home

    @property
    def binds(self) -> bool:
        """Whether the variable gets a value here."""
        return self.role not in ("read", "declare")


def list_occurrences(
    module: Module, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
) -> list[Occurrence]:
    """Return every occurrence of a name, in the order of the text."""
    return _OccurrenceReader(module, blocks, outputs).read()


class _OccurrenceReader:
    """Walks the tree without recursion (state: nodes to visit, names found)."""

    def __init__(
        self, module: Module, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
    ) -> None:
        self.module, self.source, self.text = module, module.source, module.source.text
        self.outputs = outputs
        self.blocks = {block.start: block for block in blocks}
        self.scopes = {it.node: it for block in blocks for it in block.scope.walk_outwards()}
        self.waiting: list[tuple[ast.AST, NameScope]] = []
        self.found: list[Occurrence] = []

    def read(self) -> list[Occurrence]:
        tree = self.module.tree
        top = self.scopes.get(tree)
        if top is None:
            top = NameScope("module", "<module>", tree, collect_bindings(tree, None))
        self._wait_for(top, tree.body)
        while self.waiting:
            self._visit(*self.waiting.pop())
        return sorted(self.found, key=lambda occurrence: occurrence.start)

    def _wait_for(self, scope: NameScope, nodes: Iterable[ast.AST | None]) -> None:
        self.waiting += [(node, scope) for node in nodes if node is not None]

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def _add(
        self, start: int, role: Role, scope: NameScope, name: str = "", in_prompt: bool = False
    ) -> None:
        """Add the word at an offset; if a `name` is given, only if it is this one."""
        word = _WORD.match(self.text, start)
        if word is None:
            return
        written = unicodedata.normalize("NFKC", word[0])
        if name in ("", written):
            home = resolve_name(written, scope, self.outputs)
            stored = mangle(written, scope.mangling_class)
            place = word.start(), word.end()
            self.found.append(Occurrence(stored, home, *place, role, in_prompt))

    def _add_word(
        self, name: str, span: tuple[int, int], role: Role, scope: NameScope, last: bool = False
    ) -> None:
        """Add the first word in a span that is this name, or the last one."""
        places = []
        for word in _WORD.finditer(self.text, *span):
            if unicodedata.normalize("NFKC", word[0]) == name:
                places.append(word.start())
                if not last:
                    break
        for start in places[-1:]:
            self._add(start, role, scope)

    def _find_span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node's start and end."""
        first, left, last, right = (
            getattr(node, name) or 0
            for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self.source.get_offset(first, left), self.source.get_offset(last, right)

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────

    def _visit(self, node: ast.AST, scope: NameScope) -> None:
        match node:
            case ast.Name(id=name, ctx=context):
                role: Role = "read" if isinstance(context, ast.Load) else "bind"
                self._add(self._find_span(node)[0], role, scope, name)
            case ast.arg(arg=name):  # its annotation is read by the function
                self._add(self._find_span(node)[0], "parameter", scope, name)
            case ast.alias(asname=str(name)):
                self._add_word(name, self._find_span(node), "import", scope, last=True)
            case ast.alias():
                self._add(self._find_span(node)[0], "import", scope)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    self._add_word(name, self._find_span(node), "declare", scope)
            case ast.ExceptHandler(type=ast.expr() as caught, name=str(name)):
                span = self._find_span(caught)[1], self._find_span(node.body[0])[0]
                self._add_word(name, span, "bind", scope)
                self._wait_for(scope, list_children(node))
            case (
                ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                self._add_word(name, self._find_span(node), "bind", scope, last=True)
                self._wait_for(scope, list_children(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._visit_definition(node, scope)
            case ast.Lambda(args=arguments, body=body):
                bound = {parameter.arg for parameter in _list_parameters(arguments)}
                inner = _make_inner_scope("<lambda>", bound, scope)
                self._visit_parameters(arguments, scope, scope, inner)
                self._wait_for(inner, [body])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._visit_comprehension(node, scope)
            case ast.Expr(value=ast.Constant() | ast.JoinedStr() as value):
                if block := self.blocks.get(self._find_span(node)[0]):
                    self._visit_block(block, scope)
                self._wait_for(scope, [value])
            case _:
                self._wait_for(scope, list_children(node))

    def _visit_definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: NameScope
    ) -> None:
        self._add_word(node.name, self._find_span(node), "define", scope)
        inner = self.scopes.get(node) or make_scope(self.module, node, scope)
        around = inner.signature_scope if inner.bindings.type_parameters else scope
        for parameter in getattr(node, "type_params", ()):  # Python 3.12
            self._add_word(parameter.name, self._find_span(parameter), "bind", inner)
            self._wait_for(inner, list_children(parameter))
        self._wait_for(scope, node.decorator_list)
        if isinstance(node, ast.ClassDef):
            self._wait_for(around, [*node.bases, *node.keywords])
        else:
            self._visit_parameters(node.args, scope, around, inner)
            self._wait_for(around, [node.returns])
        self._wait_for(inner, node.body)

    def _visit_parameters(
        self, arguments: ast.arguments, scope: NameScope, around: NameScope, inner: NameScope
    ) -> None:
        parameters = _list_parameters(arguments)
        self._wait_for(scope, [*arguments.defaults, *arguments.kw_defaults])
        self._wait_for(around, [parameter.annotation for parameter in parameters])
        self._wait_for(inner, parameters)

    def _visit_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: NameScope
    ) -> None:
        targets = [part for it in node.generators for part in ast.walk(it.target)]
        bound = {
            part.id
            for part in targets
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        inner = _make_inner_scope("<comprehension>", bound, scope)
        for number, generator in enumerate(node.generators):
            self._wait_for(inner if number else scope, [generator.iter])
            self._wait_for(inner, [generator.target, *generator.ifs])
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._wait_for(inner, results)

    def _visit_block(self, block: NaturalBlock, scope: NameScope) -> None:
        if block.interface is not None:
            self._add(block.interface.start, "read", scope)
        for reference in block.references:
            start = reference.start + 1 + reference.writes
            self._add(start, "read" if reference.needs_value else "bind", scope, in_prompt=True)
            self._visit_output_type(reference, start, scope)

    def _visit_output_type(self, reference: Reference, start: int, scope: NameScope) -> None:
        colon = self.text.find(":", start, reference.end)
        if reference.type is None or colon < 0:
            return
        written = self.text[colon + 1 : reference.end - 1]
        fragment = SourceFile("type", f"({written}\n)".encode("utf-8", "replace"))
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for node in ast.walk(parse_quietly(fragment.text)):
                if isinstance(node, ast.Name):
                    at = colon + fragment.get_offset(node.lineno, node.col_offset)
                    self._add(at, "read", scope, node.id, in_prompt=True)


def _list_parameters(arguments: ast.arguments) -> list[ast.arg]:
    rest = (arguments.vararg, arguments.kwarg)
    return [*list_named_parameters(arguments), *(each for each in rest if each)]


def _make_inner_scope(name: str, bound: Iterable[str], parent: NameScope) -> NameScope:
    """Make the scope of a lambda or a comprehension, which has no statements."""
    none: frozenset[str] = frozenset()
    stored = frozenset(mangle(each, parent.mangling_class) for each in bound)
    bindings = Bindings(stored, none, none, {}, {}, none, star_import=False, statements={})
    return NameScope("function", name, parent.node, bindings, parent)
