"""Passes that collect facts about a nightjarpy program without changing it.

FAST = nj.NJ_CONFIG.with_llm_updates(...)     ConfigurationCollector    {"FAST": Configuration(...)}
judge = nj.fn(judge)                          NaturalCallCollector      {"judge"}
nj.NJ_TELEMETRY.total_calls                   LeftoverFinder            a remark: what to write instead
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider, QualifiedNameProvider, QualifiedNameSource

from njrt.options import find_option_problem
from njrt.records import record

NIGHTJARPY = "nightjarpy"
FN_NAME = f"{NIGHTJARPY}.fn"
_NAME_ALTERNATIVES = {
    "NJ_TELEMETRY": "`njrt.watch()` counts calls, tokens and cost",
    "nj_llm_factory": "`njrt.llm(prompt, schema)` asks a model from ordinary code",
    "EffectException": "the runtime's errors are below `njrt.NaturalError`",
    "LLMUsage": "`njrt.last_run()` has the usage of a block",
}


class NightjarpyTransformer(cst.CSTTransformer):
    """A pass that knows each node's line and the names from nightjarpy."""

    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def get_line_number(self, node: cst.CSTNode) -> int:
        return int(self.get_metadata(PositionProvider, node).start.line)

    def name_of(self, node: cst.CSTNode) -> str | None:
        """Return the qualified name of a node's value, if it comes from nightjarpy."""
        for name in self.get_metadata(QualifiedNameProvider, node, ()):
            is_ours = name.name.split(".")[0] == NIGHTJARPY
            if is_ours and name.source is QualifiedNameSource.IMPORT:
                return str(name.name)
        return None


class ConfigurationCollector(NightjarpyTransformer):
    """Collects the variables that hold a configuration; changes nothing."""

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
    """Collects the functions that are made natural by a call instead of a decorator; changes nothing."""

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
    """Collects the names that code uses, except in imports and plain assignments to `skipped` names."""

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
    """Finds every remaining use of nightjarpy; changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.remarks: set[Remark] = set()
        self._imported: dict[str, int] = {}
        """Names bound by imports, each with its import's line."""
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
            names = (alias.evaluated_alias or alias.evaluated_name for alias in node.names)
            self._imported |= dict.fromkeys(names, self.get_line_number(node))
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
        last = name.rpartition(".")[2]
        instead = _NAME_ALTERNATIVES.get(last, "take it out, and the import with it")
        message = f"`{code}` is {NIGHTJARPY}'s; {instead}"
        self.remarks.add(Remark(self.get_line_number(node), message))
        return True


# ── the remarks on a migration, one for each place to look at ──────────────────────────────────────


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """A remark on a line of the old program; `is_open` if something remains to be done by hand."""

    line: int
    message: str
    is_open: bool = True

    def __str__(self) -> str:
        return f"{'todo' if self.is_open else 'note'}: {self.message}"


# ── nightjarpy configurations as options of natural blocks ─────────────────────────────────────────


LiteralValue = Any
"""The value of a literal in the old program."""


@record
class Configuration:
    """The options equivalent to a configuration, and its parts without an equivalent."""

    options: Mapping[str, LiteralValue] = field(default_factory=dict)
    missed: tuple[str, ...] = ()

    def merge_over(self, other: Configuration) -> Configuration:
        """Merge with another configuration; this one takes precedence."""
        return Configuration({**other.options, **self.options}, (*other.missed, *self.missed))


PRESETS: Mapping[str, Mapping[str, LiteralValue]] = {
    "DEFAULT_CONFIG": {},
    "INTERPRETER_BASE_NOREG_JSON_CONFIG": {"effects": "baseline"},
    "INTERPRETER_PYTHON_BASE_ISOLATED_NOREG_JSON_CONFIG": {"effects": "isolated-eval"},
    "INTERPRETER_PYTHON_BASE_NOREG_JSON_CONFIG": {"effects": "shared-eval"},
    "INTERPRETER_PYTHON_JSON_CONFIG": {"effects": "shared-python"},
    "INTERPRETER_PYTHON_CACHE_JSON_CONFIG": {"effects": "shared-python"},
    "INTERPRETER_PYTHON_EAGER_CACHE_JSON_CONFIG": {"effects": "nightjar"},
    "COMPILER_PYTHON_JSON_CONFIG": {"mode": "static"},
}
"""The presets of nightjarpy; its default becomes njc's default."""

_SUBSTRATES: Mapping[str, str] = {
    "BASE_NOREG": "baseline",
    "PYTHON_BASE_ISOLATED_NOREG": "isolated-eval",
    "PYTHON_BASE_NOREG": "shared-eval",
    "PYTHON": "shared-python",
}
_OPTIONS: Mapping[str, str] = {
    "model": "model",
    "temperature": "temperature",
    "max_tokens": "max_reply_tokens",
    "max_effects": "max_effects",
    "max_iters": "max_calls",
    "max_serialize_len": "show_chars",
}
_SETTING_ALTERNATIVES: Mapping[str, str] = {
    "cache": "NJC_CACHE=on turns the cache on for a whole program, `njrt.using(cache=True)` for a part",
    "reasoning_effort": "reasoning is left to the settings of the vendor",
}
_BUILDERS = ("Config", "LLMConfig", "InterpreterConfig", "CompilerConfig")
_UPDATE_METHODS = ("with_llm_updates", "with_interpreter_updates", "with_compiler_updates")
_NESTED_SETTINGS = ("llm_config", "interpreter_config", "compiler_config", "llm", "config")
_IGNORED_SETTINGS = ("execution_strategy", "json_structured_output", "use_functions")

NameResolver = Callable[[cst.CSTNode], str | None]
"""The qualified name of an expression that nightjarpy defines, such as `nightjarpy.configs.Config`."""


@record
class ConfigurationReader:
    """Reads expressions as configurations; `known` contains the variables that hold one."""

    name_of: NameResolver
    known: Mapping[str, Configuration]

    def read(self, node: cst.BaseExpression) -> Configuration | None:
        """Read an expression; None if it is not a readable configuration."""
        if isinstance(node, cst.Name) and node.value in self.known:
            return self.known[node.value]
        if isinstance(node, cst.Call):
            return self._read_call(node)
        name = self._get_last_name(node)
        if name is None or not name.endswith("_CONFIG"):
            return None
        if name in PRESETS:
            return Configuration(PRESETS[name])
        return Configuration({}, (f"the preset `{name}` has no equivalent, the defaults hold",))

    def _read_call(self, call: cst.Call) -> Configuration | None:
        if self._get_last_name(call.func) in _BUILDERS:
            return self._read_keywords(call)
        if not isinstance(call.func, cst.Attribute):
            return None
        before = self.read(call.func.value)
        method = call.func.attr.value
        if before is None:
            return None
        if method in _UPDATE_METHODS:
            return self._read_keywords(call).merge_over(before)
        if method in ("enable_cache", "disable_cache"):
            return Configuration({}, (_explain_no_equivalent("cache"),)).merge_over(before)
        return Configuration({}, (f"what `{method}` changes is not known",)).merge_over(before)

    def _read_keywords(self, call: cst.Call) -> Configuration:
        """Read a call's arguments, including nested configurations."""
        configuration = Configuration()
        for argument in call.args:
            if argument.keyword is None:
                missed = (f"`{_format_node(argument.value)}` cannot be read without a keyword",)
                configuration = Configuration({}, missed).merge_over(configuration)
                continue
            setting = self.setting(argument.keyword.value, argument.value)
            configuration = setting.merge_over(configuration)
        return configuration

    def setting(self, name: str, node: cst.BaseExpression) -> Configuration:
        """Read a configuration's setting."""
        if name in _IGNORED_SETTINGS or (isinstance(node, cst.Name) and node.value == "None"):
            return Configuration()
        if name in _NESTED_SETTINGS:
            nested = self.read(node)
            return nested or Configuration({}, (f"`{_format_node(node)}` cannot be read",))
        if name == "execution_substrate":
            substrate = _SUBSTRATES.get(self._get_last_name(node) or "")
            return Configuration({"effects": substrate} if substrate else {})
        if name == "eager_load":
            return Configuration({"effects": "nightjar"} if _format_node(node) == "True" else {})
        if name not in _OPTIONS:
            return Configuration({}, (_explain_no_equivalent(name),))
        option = _OPTIONS[name]
        try:
            value = ast.literal_eval(_format_node(node))
        except (ValueError, SyntaxError):
            given = f"`{name}={_format_node(node)}`"
            missed = f"{given} is not a literal; set it by `njrt.using({option}=...)`"
            return Configuration({}, (missed,))
        if problem := find_option_problem(option, value):
            return Configuration({}, (problem,))
        return Configuration({option: value})

    def _get_last_name(self, node: cst.BaseExpression) -> str | None:
        name = self.name_of(node)
        return name.rpartition(".")[2] if name else None


def _explain_no_equivalent(name: str) -> str:
    instead = f"; {_SETTING_ALTERNATIVES[name]}" if name in _SETTING_ALTERNATIVES else ""
    return f"`{name}` has no equivalent on a block{instead}"


def _format_node(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
