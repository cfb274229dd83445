"""Natural programs for tests: compiled by njc, run on njrt, with a model that says what its script says.

program = Program('''
    def f(x):
        \"\"\"natural
        Double <x> into <:y>.
        \"\"\"
        return y
''')
program.call("f", 2, says=[run("y = x * 2", done=True)])        4
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.project.config import Project
from njc.static.load import load_code
from njrt.block.session.settings import using
from njrt.data.options import NO_OPTIONS, Options
from njrt.log.accounts import RunAccount, last_run
from njrt.testing import Request, Said, Scripted, ToolMessage, UserMessage, run

Script = Iterable[Said] | Callable[[Request], Said]


def ended_by(*codes: str) -> list[Said]:
    """Replies that each run their code and end a block."""
    return [run(code, done=True) for code in codes]


def get_last_run() -> RunAccount:
    """Return the account of the last run in this thread, of which there must be one."""
    run = last_run()
    assert run is not None
    return run


def load(text: str, folder: Path, project: Project | None = None) -> dict[str, Any]:
    """Compile a program and run its module."""
    path = folder / "prog.njpy"
    path.write_text(textwrap.dedent(text))
    code, _ = load_code(path, path.read_bytes(), project or Project())
    namespace: dict[str, Any] = {"__name__": "prog"}
    exec(code, namespace)
    return namespace


EVERYTHING = Options(authority="code", jumps="all")
"""What lets the model's code do all that the language has, whatever the prompt says."""


class Program:
    """A compiled module; `model` is the one that was asked last."""

    def __init__(
        self, text: str, path: str = "program.njpy", project: Options = EVERYTHING
    ) -> None:
        source = SourceFile(path, textwrap.dedent(text).encode())
        compilation = compile_source(source, project=project)
        errors = [each for each in compilation.diagnostics if each.severity == "error"]
        assert compilation.output is not None, errors
        file = path.replace(".njpy", ".py")
        self.code = compile(compilation.output, file, "exec", dont_inherit=True)
        self.model = Scripted([])

    def load(self, says: Script = (), **settings: Any) -> dict[str, Any]:
        """Run the module itself, and give its variables."""
        names: dict[str, Any] = {"__name__": "program"}
        self.model = Scripted(says)
        with using(model=self.model, **settings):
            exec(self.code, names)
        return names

    def call(self, name: str, *arguments: Any, says: Script, **settings: Any) -> Any:
        """Call a function of the module, whose top level holds no blocks."""
        with self.saying(says, **settings) as names:
            return names[name](*arguments)

    @contextmanager
    def saying(self, says: Script, **settings: Any) -> Iterator[dict[str, Any]]:
        """Yield the variables of the module, and have a model say this to its functions inside."""
        names = self.load()
        self.model = Scripted(says)
        with using(model=self.model, **settings):
            yield names

    def told(self) -> list[str]:
        """What the model was told, in order: the openings, the results of its calls."""
        return told(self.model)


class PlainProgram(Program):
    """A compiled module whose project sets no options: what a block may do is as its prompt says."""

    def __init__(self, text: str) -> None:
        super().__init__(text, project=NO_OPTIONS)


def told(model: Scripted) -> list[str]:
    """Return the texts of all messages to a model, each once, in the order of the requests that brought them."""
    texts = []
    for request in model.requests:
        match request.messages[-1]:
            case UserMessage(text):
                texts.append(text)
            case ToolMessage(results):
                texts += [result.text for result in results]
    return texts
