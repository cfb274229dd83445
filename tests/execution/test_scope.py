"""The scope itself: looking up, assigning, outputs and their types, putting bindings back, letting go."""

# The variables that only snippets bind look undefined and unused to ruff, and lambdas late-bound.
# ruff: noqa: F821

from __future__ import annotations

import gc
import weakref
from typing import Any

from njrt.effects import Refusal
from njrt.execution.scope.bindings import Absent, Bound
from njrt.execution.scope.names import list_loaded_names
from njrt.execution.scope.opening import make_scope

setting = 1


def test_lookup_tells_unbound_and_unknown_apart() -> None:
    def f(x):
        y: int
        scope = make_scope(lambda: (x, y, setting, len), writes="y")
        names = ("x", "y", "setting", "len", "abs", "other", "scratch")
        scope.assign("scratch", 4)
        return [scope.lookup(name) for name in names]

    assert f(3) == [
        Bound(3), Absent.UNBOUND, Bound(setting), Bound(len), Bound(abs), Absent.UNKNOWN, Bound(4),
    ]  # fmt: skip


def test_lookup_in_a_class_body() -> None:
    namespace: dict[str, Any] = {"a": 1}
    scope = make_scope(lambda: (), writes="b", ns=namespace, own="a b setting", cls="Box")
    assert (scope.lookup("a"), scope.lookup("b")) == (Bound(1), Absent.UNBOUND)
    assert scope.lookup("setting") == Bound(setting)
    assert scope.assign("b", 2) is None
    assert namespace == {"a": 1, "b": 2}


def test_assign_follows_the_rules_of_the_prompt() -> None:
    def f(x):
        y = 1
        scope = make_scope(lambda: (x, y), writes="y")
        refusal = scope.assign("x", 9)
        assert scope.assign("y", 2) is None
        assert scope.assign("z", 3) is None
        return x, y, refusal, scope.lookup("z")

    x, y, refusal, z = f(0)
    assert (x, y, z) == (0, 2, Bound(3))
    assert isinstance(refusal, Refusal)
    assert refusal.message.startswith("`x` is read-only in this block")


def test_private_names() -> None:
    def f(_Box__x):
        scope = make_scope(lambda: (_Box__x,), writes="__x", cls="Box")
        scope.assign("__x", 5)
        return _Box__x, scope.lookup("__x"), scope.list_unbound_outputs()

    assert f(1) == (5, Bound(5), ())


def test_names_come_in_the_order_of_the_prompt() -> None:
    def f(zebra, apple):
        return make_scope(lambda: (zebra, setting, apple), own="own", ns={}).names

    assert f(1, 2) == ("zebra", "setting", "apple", "own")
    assert list_loaded_names((lambda: ()).__code__) == ()


class Thing:
    name: str


def test_outputs_are_bound_or_not() -> None:
    def f():
        y: int
        thing = Thing()
        scope = make_scope(lambda: (y, thing), writes="y thing.name")
        missing = [scope.list_unbound_outputs()]
        scope.assign("y", 1)
        thing.name = "n"
        missing.append(scope.list_unbound_outputs())
        are_bound = scope.is_bound("y"), scope.is_bound("thing.other")
        return missing, are_bound, scope.read_value("thing.name")

    assert f() == ([("y", "thing.name"), ()], (True, False), "n")


def test_a_global_output_named_like_a_builtin_is_unbound() -> None:
    module: dict[str, Any] = {"__name__": "host", "make_scope": make_scope}
    exec("missing = make_scope(lambda: (id,), writes='id').list_unbound_outputs()", module)
    assert module["missing"] == ("id",)


def test_snapshot_and_restore() -> None:
    def f(x):
        y: int
        z = [1]
        scope = make_scope(lambda: (x, y, z), writes="x y z")
        before = scope.save_bindings()
        for name in ("x", "y", "z"):
            scope.assign(name, 9)
        scope.restore_bindings(before)
        return x, scope.is_bound("y"), z

    assert f(3) == (3, False, [1])


def test_snapshot_of_module_and_class() -> None:
    module: dict[str, Any] = {"__name__": "host", "make_scope": make_scope, "x": 1}
    exec("s = make_scope(lambda: (x, y), writes='x y')", module)
    before = module["s"].save_bindings()
    module["s"].assign("x", 2)
    module["s"].assign("y", 2)
    module["s"].restore_bindings(before)
    assert module["x"] == 1
    assert "y" not in module
    namespace: dict[str, Any] = {"a": 1}
    scope = make_scope(lambda: (), writes="a b", ns=namespace, own="a b")
    before = scope.save_bindings()
    namespace.update(a=2, b=2)
    scope.restore_bindings(before)
    assert namespace == {"a": 1}


def test_misfits_name_the_output() -> None:
    def f():
        y = "a"
        thing = Thing()
        thing.name = 3  # type: ignore[assignment]
        types = lambda: {"y": list[int], "thing.name": str}  # noqa: E731
        return make_scope(lambda: (y, thing), writes="y thing.name", types=types).misfits({})

    assert f() == ["`y`: expected list[int], got str", "`thing.name`: expected str, got int"]


def test_types_are_evaluated_once_and_late() -> None:
    asked = []

    def f():
        y = 1
        scope = make_scope(lambda: (y,), writes="y", types=lambda: asked.append(1) or {"y": int})
        return [scope.misfits({}), scope.misfits({})]

    assert f() == [[], []]
    assert asked == [1]


def test_close_lets_go_of_everything() -> None:
    def f():
        thing = Thing()
        scope = make_scope(lambda: (thing,), types=lambda: {"thing": type(thing)})
        scope.close()
        return scope, weakref.ref(thing)

    gc.disable()
    try:
        scope, reference = f()
        assert reference() is None
        assert scope.lookup("thing") is Absent.UNKNOWN
    finally:
        gc.enable()
