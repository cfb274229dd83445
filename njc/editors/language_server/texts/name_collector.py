"""Finding the names in a file: in its tree, quoted annotations, f-strings and prompt references.

    index_names(module, blocks)     ->  NameIndex(source, module, occurrences)

A name's role is read from the tree, its place from the text: the tree has no places for the names of functions,
`except ... as name` and the like, and, before Python 3.12, wrong places for the parts of an f-string.
"""

from __future__ import annotations

import ast
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress

from njc.editors.language_server.texts.name_index import (
    NameIndex,
    Occurrence,
    Role,
    VariableScope,
    VariableScopeKind,
)
from njc.frontend.blocks import NaturalBlock
from njc.frontend.parse import Module, parse_quietly
from njc.frontend.prompt_references import NAME, Reference, find_expression_end, find_fields
from njc.frontend.source import SourceFile, find_string_tokens
from njrt.private_names import mangle

_WORD = re.compile(NAME)
_GAP = r"(?:\s|\\\r?\n|\\\r)+"
DEFINED_NAME = re.compile(rf"(?:async{_GAP})?(?:def|class){_GAP}(?P<name>{NAME})")
_CAUGHT_NAME = re.compile(rf"\bas{_GAP}(?P<name>{NAME})(?=\s*:)")
_PRINTED_END = re.compile(r"[\s)]*=\s*[!:}]")
"""The text after the expression in a field that prints the expression, such as `{total=}`."""
_REST_NAME = re.compile(rf"\*\*\s*(?P<name>{NAME})")


def index_names(module: Module, blocks: Sequence[NaturalBlock]) -> NameIndex:
    """Find every name of a parsed file and its blocks."""
    return _NameCollector(module, blocks).collect()


_Place = Callable[[int, int], int]
"""Returns the offset in the text of a line and column as given by `ast`."""


class _NameCollector:
    """Walks the tree without recursion, so that no program is too deep (state: nodes to visit, names found)."""

    def __init__(self, module: Module, blocks: Sequence[NaturalBlock]) -> None:
        self.source = module.source
        self.text = module.source.text
        self.blocks = {block.start: block for block in blocks}
        self.top = VariableScope("module", "", None, 0, len(self.text), None, module.tree)
        self.found: list[Occurrence] = []
        self.star_import = False
        self.waiting: list[tuple[ast.AST, VariableScope]] = [
            (statement, self.top) for statement in module.tree.body
        ]
        self.place: _Place = self.source.get_offset
        self.in_prompt = False
        self.special_forms = {
            alias.asname: alias.name
            for statement in module.tree.body
            if isinstance(statement, ast.ImportFrom)
            for alias in statement.names
            if alias.asname
        }
        self.printed: set[int] = set()

    def collect(self) -> NameIndex:
        self._drain()
        found = tuple(sorted(self.found, key=lambda occurrence: (occurrence.start, occurrence.end)))
        return NameIndex(self.source, self.top, found, self.star_import)

    def _drain(self) -> None:
        while self.waiting:
            node, scope = self.waiting.pop()
            visit = getattr(self, f"_visit_{type(node).__name__}", None)
            if visit is not None:
                visit(node, scope)
            else:
                self._wait_for_children(node, scope)

    def _wait_for_children(self, node: ast.AST, scope: VariableScope) -> None:
        self.waiting += [(child, scope) for child in ast.iter_child_nodes(node)]

    def _wait_for(self, scope: VariableScope, *nodes: ast.AST | None) -> None:
        self.waiting += [(node, scope) for node in nodes if node is not None]

    # ── results ──────────────────────────────────────────────────────────────────────────────────

    def _add_word(
        self, offset: int, role: Role, scope: VariableScope, node: ast.AST | None = None
    ) -> None:
        word = _WORD.match(self.text, offset)
        if word is None:
            return
        name = mangle(unicodedata.normalize("NFKC", word[0]), scope.class_name)
        is_printed = offset in self.printed
        found = Occurrence(name, offset, word.end(), role, self.in_prompt, scope, node, is_printed)
        self.found.append(found)
        if found.binds:
            scope.bound.add(name)

    def _add_match(
        self,
        pattern: re.Pattern[str],
        start: int,
        end: int,
        role: Role,
        scope: VariableScope,
        node: ast.AST | None = None,
    ) -> None:
        if match := pattern.search(self.text, start, end):
            self._add_word(match.start("name"), role, scope, node)

    def _start(self, node: ast.expr | ast.stmt | ast.arg | ast.alias | ast.pattern) -> int:
        return self.place(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt | ast.alias | ast.pattern | ast.excepthandler) -> int:
        return self.place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    # ── names ────────────────────────────────────────────────────────────────────────────────────

    def _visit_Name(self, node: ast.Name, scope: VariableScope) -> None:
        role: Role = "read" if isinstance(node.ctx, ast.Load) else "bind"
        self._add_word(self._start(node), role, scope)

    def _visit_NamedExpr(self, node: ast.NamedExpr, scope: VariableScope) -> None:
        home = scope
        while home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        self._wait_for(home, node.target)
        self._wait_for(scope, node.value)

    def _visit_alias(self, node: ast.alias, scope: VariableScope) -> None:
        if node.name == "*":
            self.star_import = True
        elif node.asname:
            end = self._end(node)
            words = list(_WORD.finditer(self.text, self._start(node), end))
            self._add_word(words[-1].start(), "import", scope, node)
        else:
            self._add_word(self._start(node), "import", scope, node)

    def _visit_Global(self, node: ast.Global | ast.Nonlocal, scope: VariableScope) -> None:
        names = {mangle(name, scope.class_name) for name in node.names}
        (scope.globals if isinstance(node, ast.Global) else scope.nonlocals).update(names)
        start = self._start(node) + len(type(node).__name__)
        for word in _WORD.finditer(self.text, start, self._end(node)):
            self._add_word(word.start(), "declare", scope)

    _visit_Nonlocal = _visit_Global

    def _visit_ExceptHandler(self, node: ast.ExceptHandler, scope: VariableScope) -> None:
        self._wait_for_children(node, scope)
        if node.name and node.type:
            first = self._start(node.body[0])
            self._add_match(_CAUGHT_NAME, self._end(node.type), first, "bind", scope)

    def _visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar, scope: VariableScope) -> None:
        self._wait_for_children(node, scope)
        if node.name:
            start = self._end(node)
            while start and (
                (last := self.text[start - 1]).isalnum() or last == "_" or last > "\x7f"
            ):
                start -= 1
            self._add_word(start, "bind", scope)

    _visit_MatchStar = _visit_MatchAs

    def _visit_MatchMapping(self, node: ast.MatchMapping, scope: VariableScope) -> None:
        self._wait_for_children(node, scope)
        if node.rest:
            start = self._end(node.patterns[-1]) if node.patterns else self._start(node)
            self._add_match(_REST_NAME, start, self._end(node), "bind", scope)

    def _visit_arg(self, node: ast.arg, scope: VariableScope) -> None:
        self._add_word(self._start(node), "parameter", scope, node)

    # ── scopes ───────────────────────────────────────────────────────────────────────────────────

    def _open_scope(
        self, kind: VariableScopeKind, name: str, node: ast.expr | ast.stmt, parent: VariableScope
    ) -> VariableScope:
        class_name = name if kind == "class" else parent.class_name
        start, end = self._start(node), self._end(node)
        return VariableScope(kind, name, parent, start, end, class_name, node)

    def _open_type_scope(self, node: ast.stmt, name: str, scope: VariableScope) -> VariableScope:
        """Return the scope of the type parameters of Python 3.12; without any, the scope around."""
        parameters: list[ast.AST] = getattr(node, "type_params", [])
        if not parameters:
            return scope
        inner = self._open_scope("types", name, node, scope)
        for parameter in parameters:
            start = self._start(parameter)  # type: ignore[arg-type]
            start += len(self.text[start:]) - len(self.text[start:].lstrip("*"))
            self._add_word(start, "bind", inner)
            self._wait_for_children(parameter, inner)
        return inner

    def _visit_FunctionDef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: VariableScope
    ) -> None:
        self._wait_for(scope, *node.decorator_list)
        start = self._start(node)
        self._add_match(DEFINED_NAME, start, self._end(node), "define", scope, node)
        types = self._open_type_scope(node, node.name, scope)
        inner = self._open_scope("function", node.name, node, types)
        self._visit_parameters(node.args, scope, types, inner)
        self._wait_for_annotation(types, node.returns)
        self._wait_for(inner, *node.body)

    _visit_AsyncFunctionDef = _visit_FunctionDef

    def _visit_Lambda(self, node: ast.Lambda, scope: VariableScope) -> None:
        inner = self._open_scope("function", "<lambda>", node, scope)
        self._visit_parameters(node.args, scope, scope, inner)
        self._wait_for(inner, node.body)

    def _visit_parameters(
        self,
        arguments: ast.arguments,
        scope: VariableScope,
        types: VariableScope,
        inner: VariableScope,
    ) -> None:
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters = [*named, *filter(None, (arguments.vararg, arguments.kwarg))]
        self._wait_for(scope, *arguments.defaults, *arguments.kw_defaults)
        self._wait_for(inner, *parameters)
        for parameter in parameters:
            self._wait_for_annotation(types, parameter.annotation)

    def _visit_ClassDef(self, node: ast.ClassDef, scope: VariableScope) -> None:
        self._wait_for(scope, *node.decorator_list)
        self._add_match(DEFINED_NAME, self._start(node), self._end(node), "define", scope, node)
        types = self._open_type_scope(node, node.name, scope)
        self._wait_for(types, *node.bases, *node.keywords)
        self._wait_for(self._open_scope("class", node.name, node, types), *node.body)

    def _visit_comprehension_expression(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: VariableScope,
    ) -> None:
        inner = self._open_scope("comprehension", "", node, scope)
        for number, generator in enumerate(node.generators):
            self._wait_for(inner if number else scope, generator.iter)
            self._wait_for(inner, generator.target, *generator.ifs)
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        self._wait_for(inner, *results)

    _visit_ListComp = _visit_SetComp = _visit_GeneratorExp = _visit_DictComp = (
        _visit_comprehension_expression
    )

    def _visit_TypeAlias(self, node: ast.AST, scope: VariableScope) -> None:
        name: ast.Name = node.name  # type: ignore[attr-defined]
        self._wait_for(scope, name)
        types = self._open_type_scope(node, name.id, scope)  # type: ignore[arg-type]
        self._wait_for(types, node.value)  # type: ignore[attr-defined]

    # ── annotations, f-strings and prompts ───────────────────────────────────────────────────────

    def _visit_AnnAssign(self, node: ast.AnnAssign, scope: VariableScope) -> None:
        self._wait_for(scope, node.target, node.value)
        self._wait_for_annotation(scope, node.annotation)

    def _wait_for_annotation(self, scope: VariableScope, annotation: ast.expr | None) -> None:
        """Record the names in an annotation, including quoted ones; the texts in a `Literal` are not names."""
        waiting = [annotation] if annotation is not None else []
        while waiting:
            node = waiting.pop()
            match node:
                case ast.Constant(value=str(text)):
                    self._read_quoted_annotation(node, text, scope)
                case ast.Subscript(value=origin, slice=inner):
                    self.waiting.append((origin, scope))
                    name = ast.unparse(origin).rpartition(".")[2]
                    form = self.special_forms.get(name, name)
                    if form == "Literal":
                        continue
                    if form == "Annotated" and isinstance(inner, ast.Tuple) and inner.elts:
                        self._wait_for(scope, *inner.elts[1:])
                        inner = inner.elts[0]
                    waiting.append(inner)
                case ast.BinOp(left=left, right=right):
                    waiting += [left, right]
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    waiting += parts
                case _:
                    self.waiting.append((node, scope))

    def _read_quoted_annotation(self, node: ast.Constant, text: str, scope: VariableScope) -> None:
        start, end = self._start(node), self._end(node)
        written = self.text[start:end]
        for quote in ('"""', "'''", '"', "'"):
            if written == f"{quote}{text}{quote}":
                self._read_fragment(text, start + len(quote), scope, is_annotation=True)
                return

    def _read_fragment(
        self, text: str, start: int, scope: VariableScope, *, is_annotation: bool = False
    ) -> None:
        """Record the names in an expression that is part of a string and has its own positions."""
        fragment = SourceFile("fragment", f"({text}\n)".encode("utf-8", "replace"))
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree = parse_quietly(fragment.text)
            outer, self.place = (
                self.place,
                lambda line, column: fragment.get_offset(line, column) - 1 + start,
            )
            waiting, self.waiting = self.waiting, []
            for statement in tree.body:
                if isinstance(statement, ast.Expr) and is_annotation:
                    self._wait_for_annotation(scope, statement.value)
                else:
                    self._wait_for(scope, statement)
            self._drain()
            self.place, self.waiting = outer, waiting

    def _visit_JoinedStr(self, node: ast.JoinedStr, scope: VariableScope) -> None:
        if sys.version_info >= (3, 12):  # before that, the places of an f-string's parts are wrong
            self._wait_for_children(node, scope)
            return
        written = self.text[self._start(node) : self._end(node)]
        base = self._start(node)
        for start, end in find_string_tokens(f"({written})\n"):
            literal = written[start - 1 : end - 1]
            prefix = literal[: len(literal) - len(literal.lstrip("rRuUfFbB"))].lower()
            if "f" in prefix:
                self._read_fields(literal, base + start - 1, "r" in prefix, scope)

    def _visit_FormattedValue(self, node: ast.FormattedValue, scope: VariableScope) -> None:
        end = self._end(node.value)
        if _PRINTED_END.match(self.text, end):
            self.printed.update(range(self._start(node.value), end))
        self._wait_for(scope, node.value, node.format_spec)

    def _read_fields(self, text: str, base: int, raw: bool, scope: VariableScope) -> None:
        for start, end in find_fields(text, raw):
            middle = find_expression_end(text, start + 1)
            expression = text[start + 1 : middle]
            bare = expression.rstrip()
            if bare.endswith("=") and not bare.endswith(("==", "!=", "<=", ">=")):
                expression = bare[:-1]
                self.printed.update(range(base + start, base + middle))
            self._read_fragment(expression, base + start + 1, scope)
            colon = text.find(":", middle, end)
            if colon >= 0:
                self._read_fields(text[colon : end - 1], base + colon, raw, scope)

    def _visit_Expr(self, node: ast.Expr, scope: VariableScope) -> None:
        self._wait_for(scope, node.value)
        if self.place != self.source.get_offset or not isinstance(
            node.value, ast.Constant | ast.JoinedStr
        ):
            return
        if block := self.blocks.get(self._start(node)):
            if block.interface is not None:
                self._add_word(block.interface.start, "read", scope)
            self.in_prompt = True
            for reference in block.references:
                self._read_reference(reference, scope)
            self.in_prompt = False

    def _read_reference(self, reference: Reference, scope: VariableScope) -> None:
        start = reference.start + 1 + reference.writes
        role: Role = "read" if reference.needs_value else "bind"
        self._add_word(start, role, scope)
        colon = self.text.find(":", start, reference.end)
        if reference.type is not None and colon >= 0:
            annotation = self.text[colon + 1 : reference.end - 1]
            self._read_fragment(annotation, colon + 1, scope, is_annotation=True)
