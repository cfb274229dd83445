"""The child process that tests a block's code against its contract: `python -m njc.static.contract_worker`.

    {"code": "total = -n", "inputs": {"n": "int"}, "ensures": ["total >= 0"], ...}
        ->  {"held": 0, "refusal": "with n=1 it gives total=-1, and `assert total >= 0` is false"}

Hypothesis generates the inputs, the same in every run, and reduces a counterexample.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from njc.worker import Message, open_channel
from njrt.execution.contracts import UnknownEffectError, evaluate, parse_assert
from njrt.execution.guard.allowed import MODULES_WITH_EFFECTS
from njrt.execution.side_effects import refuse_side_effects
from njrt.execution.symbols import find_names
from njrt.timeouts import Allowance, DeadlineExceeded
from njrt.values.encode import decode_values

EXAMPLES = 200
RUN_SECONDS, ALL_SECONDS = 2.0, 6.0
"""Limits for one run of the code and for all runs; a run that is stopped does not count."""
MAX_SHOWN = 200
MEMORY_BYTES = 2 << 30
_FUNCTION, _ROUND, _NAMES = "_nj_block", "_nj_round", "_nj_names"


class BrokenContractError(Exception):
    """The code breaks an assert; the message shows how."""


def test_contract(task: Message) -> dict[str, Any]:
    """Run the code on inputs; return on how many the asserts held, or a counterexample."""
    # Hypothesis looks up classes' annotations in their modules.
    namespace = vars(sys.modules.setdefault("contract", ModuleType("contract")))
    for text in task["prelude"]:
        exec(text, namespace)
    if may_have_effects(task["code"], namespace):
        return {"held": 0, "refusal": ""}
    namespace[_NAMES] = Names
    kinds = {name: eval(text, namespace) for name, text in task["inputs"].items()}
    recorded = list(decode_recorded(task["recorded"], namespace))
    exec(write_function(task["code"], kinds or (recorded[0] if recorded else ())), namespace)

    allowance, has_ended = Allowance(ALL_SECONDS), False

    def run(values: dict[str, Any], is_recorded: bool = False) -> bool | None:
        """Return whether the asserts after the block were evaluated and held; None for inputs that it never gets."""
        nonlocal has_ended
        if allowance.left <= 0:
            return False
        try:
            if not all(holds(text, namespace, values) for text in task["requires"]):
                return None
        except UnknownEffectError:
            if not is_recorded:  # it is unknown whether the block gets such inputs
                return None
        except Exception:
            return False
        try:
            code = partial(namespace[_FUNCTION], **copy.deepcopy(values))
            after = allowance.call(RUN_SECONDS, code)
        except Exception as error:  # exceptions from the code are the program's business
            has_ended = has_ended or not isinstance(error, DeadlineExceeded)
            return False
        has_ended = True
        if not isinstance(after, Names):
            return False  # a jump leaves the block before its asserts
        was_evaluated = False
        for text in task["ensures"]:
            try:
                problem = "" if holds(text, namespace, after) else "is false"
                was_evaluated = True
            except UnknownEffectError as error:
                if error.args:  # the asserts below may see a change by this one
                    break
                continue
            except NameError:  # a name of the program that does not exist here
                raise
            except Exception as error:
                problem = f"raises {type(error).__name__}: {error}"
            if problem:
                raise BrokenContractError(
                    f"{describe(values, after)}, and `assert {text}` {problem}"
                )
        return was_evaluated

    try:
        if not re.search(
            r"\b(isnan|isinf|isfinite|nan|inf)\b", str([task["requires"], task["ensures"]])
        ):
            leave_out_odd_numbers()
        held = sum(bool(run(values, True)) for values in recorded) + run_on_made_inputs(run, kinds)
    except BrokenContractError as error:
        return {"held": 0, "refusal": str(error)}
    endless = allowance.left <= 0 and not has_ended
    refusal = f"the code does not end: each run took over {RUN_SECONDS:g} s" if endless else ""
    return {"held": held, "refusal": refusal}


def leave_out_odd_numbers() -> None:
    """Stop Hypothesis from generating NaN and infinities, which few programs mean by `float`."""
    with suppress(ImportError):
        from hypothesis import strategies as st

        floats = st.floats(allow_nan=False, allow_infinity=False)
        st.register_type_strategy(float, floats)
        decimals = st.decimals(allow_nan=False, allow_infinity=False)
        st.register_type_strategy(Decimal, decimals)


def run_on_made_inputs(
    run: Callable[[dict[str, Any]], bool | None], kinds: Mapping[str, Any]
) -> int:
    """Run the code on inputs that Hypothesis generates; return on how many the asserts held."""
    if not kinds:
        return 0
    from hypothesis import HealthCheck, assume, given, settings
    from hypothesis import strategies as st
    from hypothesis.errors import Unsatisfiable

    held = 0

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.fixed_dictionaries({name: st.from_type(kind) for name, kind in kinds.items()}))
    def check(values: dict[str, Any]) -> None:
        nonlocal held
        has_held = run(values)
        assume(has_held is not None)
        held += bool(has_held)

    with suppress(Unsatisfiable):  # no input satisfies the asserts before the block
        check()
    return held


def decode_recorded(
    recorded: Iterable[Mapping[str, Any]], namespace: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the inputs of recorded runs that can be recreated."""
    for run in recorded:
        with suppress(Exception):
            yield decode_values(run["before"], namespace, run["classes"])


class Names(dict[str, Any]):
    """The variables after code that did not jump."""


def write_function(code: str, parameters: Iterable[str]) -> str:
    """Return a function around code that returns its `Names` at the end; a loop lets the code jump."""
    body = textwrap.indent(code.strip("\n") or "pass", " " * 8)
    return (
        f"def {_FUNCTION}({', '.join(parameters)}):\n    for {_ROUND} in (0,):\n{body}\n"
        f"        return {_NAMES}(locals())\n"
    )


def holds(text: str, namespace: dict[str, Any], names: Mapping[str, Any]) -> bool:
    """Return whether an assert is true; raises UnknownEffectError if it may do more than compute."""
    test, _ = parse_assert(text)
    read = find_names(ast.Module([ast.Expr(test)], []), None).read
    values = {name: names[name] for name in read if name in names}
    return refuse_side_effects(lambda: bool(evaluate(test, namespace, values)), UnknownEffectError)


def may_have_effects(code: str, namespace: Mapping[str, Any]) -> bool:
    """Return whether code uses functions or modules that may do more than compute."""
    values = (namespace.get(node.id) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name))  # fmt: skip
    for value in values:
        if isinstance(value, ModuleType | FunctionType | BuiltinFunctionType):
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__ or ""
            package = name.partition(".")[0]
            if package not in sys.stdlib_module_names or package in MODULES_WITH_EFFECTS:
                return True
    return False


def describe(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Describe a run as text."""
    given = ", ".join(f"{name}={cut(value)}" for name, value in before.items())
    made = ", ".join(
        f"{name}={cut(value)}"
        for name, value in after.items()
        if name != _ROUND and (name not in before or value != before[name])
    )
    return f"with {given} it gives {made or 'nothing'}"


def cut(value: Any) -> str:
    """Return a value as text of limited length."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def main() -> None:
    """Test the task that the parent sends."""
    channel = open_channel(MEMORY_BYTES)
    task = channel.receive()
    try:
        channel.send(test_contract(task))
    except Exception as error:
        channel.send({"held": 0, "refusal": "", "problem": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
