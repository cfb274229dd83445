"""Configurations of nightjarpy as options of natural blocks.

    DEFAULT_CONFIG.with_llm_updates(model="openai/gpt-5.1", max_tokens=2000)
        Configuration({"model": "openai/gpt-5.1", "max_reply_tokens": 2000}, missed=())

    INTERPRETER_BASE_NOREG_JSON_CONFIG          Configuration({"effects": "baseline"}, missed=())
    LLMConfig(seed=1)                           Configuration({}, missed=("`seed` has no equivalent",))

Expressions are read, never evaluated: they may name presets, other configurations, and literals.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from njrt.options import find_option_problem

LiteralValue = Any
"""The value of a literal in the old program."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The options that are equivalent to a configuration, and what has no equivalent."""

    options: Mapping[str, LiteralValue] = field(default_factory=dict)
    missed: tuple[str, ...] = ()

    def merge_over(self, other: Configuration) -> Configuration:
        """Merge with another configuration; this one has precedence."""
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
"""The presets of nightjarpy; its default becomes the default of njc."""

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


@dataclass(frozen=True, slots=True)
class ConfigurationReader:
    """Reads expressions as configurations; `known` are the variables that hold one."""

    name_of: NameResolver
    known: Mapping[str, Configuration]

    def read(self, node: cst.BaseExpression) -> Configuration | None:
        """Read an expression; None if it is no configuration, or none that can be read."""
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
        """Read the arguments of a call, nested configurations included."""
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
        """Read one setting of a configuration."""
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
            return Configuration(
                {},
                (
                    f"`{name}={_format_node(node)}` is no literal; set it by `njrt.using({option}=...)`",
                ),
            )
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
