"""Runs a compiled file as on a machine that has the runtime, and neither the compiler nor an SDK.

python tests/without_compiler.py compiled_out/examples/mailbox.py             imports it
python tests/without_compiler.py compiled_out/spsbench/menu/natural.py menu   plays the task `menu`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

ABSENT = frozenset({"njc", "libcst", "black", "click", "openai", "anthropic"})


class Absence:
    """A finder that lets nobody else find what is absent."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def loaded(file: Path, name: str) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    return module


def play(task: str, program: ModuleType) -> None:
    """Play a task of SPSBench by its perfect script; every check must hold."""
    import njrt
    from spsbench.perfect import make_perfect_model
    from spsbench.suite import load_script, load_task
    from spsbench.task import check_case

    script = load_script(task)
    for case in load_task(task).cases:
        with njrt.using(model=make_perfect_model(script.lines[case.name])):
            failed = [result for result in check_case(case, program) if not result.passed]
        assert not failed, failed


def main(file: str, *tasks: str) -> None:
    assert not ABSENT & sys.modules.keys()
    sys.meta_path.insert(0, Absence())
    name = f"spsbench.programs.{tasks[0]}.natural" if tasks else "program"
    program = loaded(Path(file), name)
    for task in tasks:
        play(task, program)


if __name__ == "__main__":
    main(*sys.argv[1:])
