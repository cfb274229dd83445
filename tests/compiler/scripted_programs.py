"""Programs whose prompts say what the model will answer: the code between `---` and `---` in each.

def f(x):                                       compiled by njc, run on njrt; the model answers
    '''natural                                  `y = x * 2`, as one call that ends the block
    Double <x> into <:y>.
    ---
    y = x * 2
    ---
    '''
    return y
"""

from __future__ import annotations

import sys
import textwrap
import warnings
from types import ModuleType
from typing import Any

from njc.compiler.compiler import Compilation, compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.block.session.settings import using
from njrt.data.options import Jumps, Options
from njrt.testing import Request, Scripted, ToolCall, UserMessage, run


def compiled(text: str, path: str = "program.njpy", jumps: Jumps = "all") -> Compilation:
    """Compile a program; warnings are fine, errors are not."""
    compilation = compile_source(
        SourceFile(path, text.encode()), project=Options(authority="code", jumps=jumps)
    )
    errors = [
        diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "error"
    ]
    assert not errors, errors
    return compilation


def answer(request: Request) -> ToolCall:
    """Answer as the prompt says: run the code between its two `---`."""
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    code = first.text.split("---\n", 1)[1].split("\n---", 1)[0]
    return run(textwrap.dedent(code).strip("\n"), done=True)


def outcome_of(text: str, name: str = "scripted_program", jumps: Jumps = "all") -> dict[str, Any]:
    """Compile a program, run it with the scripted model, and give its module's variables."""
    output = compiled(textwrap.dedent(text), jumps=jumps).output
    assert output is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = compile(output, "program.py", "exec")
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        with using(model=Scripted(answer), policy="guarded"):
            exec(code, module.__dict__)
    finally:
        del sys.modules[name]
    return module.__dict__
