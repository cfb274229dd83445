"""Compile the text of a file, as `njc build` does."""

from __future__ import annotations

from njc.compiler.compiler import Compilation, compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import NO_OPTIONS, Options


def compile_text(text: str | bytes, project: Options = NO_OPTIONS) -> Compilation:
    """Compile a file; whatever is found in it, nothing is raised."""
    data = text.encode() if isinstance(text, str) else text
    return compile_source(SourceFile("p.njpy", data), project=project)


def compile_output(text: str | bytes, project: Options = NO_OPTIONS) -> bytes:
    """Return the compiled file; AssertionError with what was found if there is none."""
    compilation = compile_text(text, project)
    assert compilation.output is not None, compilation.diagnostics
    return compilation.output


def find_codes(text: str | bytes) -> list[str]:
    """Return the codes of what is found in a file, in its order; without hints."""
    return [finding.code for finding in compile_text(text).diagnostics]
