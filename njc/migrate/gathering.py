"""Passes that collect facts about a program for nightjarpy, and change nothing.

FAST = nj.NJ_CONFIG.with_llm_updates(...)     ConfigurationCollector    {"FAST": Configuration(...)}
judge = nj.fn(judge)                          NaturalCallCollector      {"judge"}
nj.NJ_TELEMETRY.total_calls                   LeftoverFinder            a remark: what to write instead
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider, QualifiedNameProvider, QualifiedNameSource

from njc.migrate.configuration import Configuration, ConfigurationReader
from njc.migrate.remarks import Remark

NIGHTJARPY = "nightjarpy"
FN_NAME = f"{NIGHTJARPY}.fn"
_NAME_ALTERNATIVES = {
    "NJ_TELEMETRY": "`njrt.watch()` counts calls, tokens and cost",
    "nj_llm_factory": "`njrt.llm(prompt, schema)` asks a model from ordinary code",
    "EffectException": "the runtime's errors are below `njrt.NaturalError`",
    "LLMUsage": "`njrt.last_run()` tells what a block used",
}


class NightjarpyTransformer(cst.CSTTransformer):
    """A pass that knows the line of each node and the names from nightjarpy."""

    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def get_line_number(self, node: cst.CSTNode) -> int:
        return int(self.get_metadata(PositionProvider, node).start.line)

    def name_of(self, node: cst.CSTNode) -> str | None:
        """Return the qualified name of what a node refers to, if that comes from nightjarpy."""
        for name in self.get_metadata(QualifiedNameProvider, node, ()):
            is_ours = name.name.split(".")[0] == NIGHTJARPY
            if is_ours and name.source is QualifiedNameSource.IMPORT:
                return str(name.name)
        return None


class ConfigurationCollector(NightjarpyTransformer):
    """Collects the variables that hold a configuration; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Configuration] = {}

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        if len(node.targets) > 1:
            return
        if isinstance(target, cst.Name):
            if found := ConfigurationReader(self.name_of, self.known).read(node.value):
                self.known[target.value] = found
        elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
            # As in `config.llm = LLMConfig(...)`.
            name = target.value.value
            if name in self.known:
                reader = ConfigurationReader(self.name_of, self.known)
                set_here = reader.setting(target.attr.value, node.value)
                self.known[name] = set_here.merge_over(self.known[name])


class NaturalCallCollector(NightjarpyTransformer):
    """Collects the functions that are made natural by a call in place of a decorator; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        argument = find_natural_argument(node, self.name_of)
        if isinstance(argument, cst.Name):
            self.functions.add(argument.value)


def find_natural_argument(call: cst.Call, name_of: Any) -> cst.BaseExpression | None:
    """Return the function in `nj.fn(function)` or `nj.fn(config=FAST)(function)`; None for other calls."""
    function = call.func.func if isinstance(call.func, cst.Call) else call.func
    if name_of(function) != FN_NAME or not call.args or call.args[0].keyword is not None:
        return None
    return call.args[0].value


class UsedNameCollector(cst.CSTVisitor):
    """Collects the names that code uses, imports and plain assignments to `skipped` names aside."""

    def __init__(self, skipped: Iterable[str]) -> None:
        self.names: set[str] = set()
        self._skipped = frozenset(skipped)

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Assign(self, node: cst.Assign) -> bool:
        return find_assigned_root(node) not in self._skipped

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


def find_assigned_root(node: cst.Assign) -> str | None:
    """Return the variable that `x = ...` or `x.a = ...` assigns to."""
    target = node.targets[0].target
    if isinstance(target, cst.Attribute):
        target = target.value  # type: ignore[assignment]
    return target.value if isinstance(target, cst.Name) and len(node.targets) == 1 else None


class LeftoverFinder(NightjarpyTransformer):
    """Finds every remaining use of nightjarpy; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.remarks: set[Remark] = set()
        self._imported: dict[str, int] = {}
        """The names that imports bind, each with the line of its import."""
        self._used: set[str] = set()

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        module = node.module and cst.Module([]).code_for_node(node.module)
        if node.relative or (module or "").split(".")[0] != NIGHTJARPY:
            return False
        if isinstance(node.names, cst.ImportStar):
            message = (
                f"`from {module} import *` hides which names are {NIGHTJARPY}'s; name them first"
            )
            self.remarks.add(Remark(self.get_line_number(node), message))
        else:
            for alias in node.names:
                self._imported[alias.evaluated_alias or alias.evaluated_name] = (
                    self.get_line_number(node)
                )
        return False

    def visit_Import(self, node: cst.Import) -> bool:
        for alias in node.names:
            root = alias.evaluated_name.split(".")[0]
            if root == NIGHTJARPY:
                self._imported[alias.evaluated_alias or root] = self.get_line_number(node)
        return False

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        for name, line in self._imported.items():
            if name not in self._used:
                message = (
                    f"`{name}` is still imported from {NIGHTJARPY}; remove it, and what uses it"
                )
                self.remarks.add(Remark(line, message))
        return updated_node

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return not self._add_remark(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._add_remark(node)

    def _add_remark(self, node: cst.Attribute | cst.Name) -> bool:
        name = self.name_of(node)
        if name is None or name == NIGHTJARPY:
            return False
        code = cst.Module([]).code_for_node(node)
        self._used.add(code.split(".")[0])
        instead = _NAME_ALTERNATIVES.get(
            name.rpartition(".")[2], "take it out, and the import with it"
        )
        self.remarks.add(
            Remark(self.get_line_number(node), f"`{code}` is {NIGHTJARPY}'s; {instead}")
        )
        return True
