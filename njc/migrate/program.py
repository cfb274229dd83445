"""Migrate a program: the codemod's text, corrected according to the compiler's diagnostics.

migrate_program(SourceFile("mail.py", b"import nightjarpy as nj ..."), "mail.njpy")
    Migration(source="def judge(mail): ...", remarks=(Remark(12, ...),), leftovers=(), compilation=...)
migrate_program(SourceFile("settings.py", b"FAST = nj.DEFAULT_CONFIG"), "settings.njpy")
    LeftAlone(remarks=(Remark(1, "`nj.DEFAULT_CONFIG` is nightjarpy's; ..."),))
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import MetadataWrapper

from njc.compiler import Compilation, compile_source
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.parse import parse
from njc.frontend.prompt_references import Reference
from njc.frontend.source import SourceFile
from njc.migrate.codemod import MigrationTransformer, UnusedCodeRemover, is_markup
from njc.migrate.gathering import (
    ConfigurationCollector,
    LeftoverFinder,
    NaturalCallCollector,
    Remark,
    UsedNameCollector,
)
from njrt.records import record


@record
class Migration:
    """A migrated program, and remarks on it."""

    source: SourceFile
    remarks: tuple[Remark, ...]
    """Remarks on lines of the old program."""
    leftovers: tuple[Remark, ...]
    """Remarks on lines of the new program."""
    compilation: Compilation
    """The compilation of the new program."""


@record
class LeftAlone:
    """A program without natural code, which is not changed."""

    remarks: tuple[Remark, ...]
    """Its uses of nightjarpy, if any."""


def migrate_program(old: SourceFile, path: str) -> Migration | LeftAlone | Remark:
    """Migrate the program `old` to `path`; a returned remark is the reason why it cannot be read."""
    if isinstance(problem := parse(old), Diagnostic):  # LibCST crashes where Python refuses
        return Remark(problem.line, problem.message)
    try:
        module = cst.parse_module(old.text)
        migrated, remarks, has_natural_functions = _run_passes(module)
    except cst.ParserSyntaxError as error:
        return Remark(error.raw_line, f"not Python: {error.message}")
    except RecursionError:
        return Remark(1, "an expression is nested too deeply to be migrated; simplify it")
    source, escaped = _escape_markup(_encode_source(old, path, migrated.code))
    compilation = compile_source(source)
    if not (has_natural_functions or compilation.blocks):
        return LeftAlone(tuple(sorted(_find_leftovers(module))))
    remarks |= {*_find_lost_whitespace(old.text, module.code)}
    leftovers = _find_leftovers(migrated) | escaped
    return Migration(source, tuple(sorted(remarks)), tuple(sorted(leftovers)), compilation)


def _find_lost_whitespace(before: str, after: str) -> Iterator[Remark]:
    """Yield a remark on whitespace that LibCST does not keep, such as form feeds."""
    if before != after:
        lines = zip(before.split("\n"), after.split("\n"), strict=False)
        first = next((number for number, (old, new) in enumerate(lines, 1) if old != new), 1)
        yield Remark(first, "white space has changed here, and perhaps further down", is_open=False)


def _run_passes(module: cst.Module) -> tuple[cst.Module, set[Remark], bool]:
    """Return the new module, remarks on the old lines, and whether there are natural functions."""
    configurations, calls = ConfigurationCollector(), NaturalCallCollector()
    wrapper = MetadataWrapper(module)
    wrapper.visit(configurations)
    wrapper.visit(calls)
    migrating = MigrationTransformer(configurations.known, calls.functions)
    migrated = wrapper.visit(migrating)
    known = configurations.known
    while True:  # a configuration may be used only by another, unused one
        loaded = UsedNameCollector(known)
        migrated.visit(loaded)
        if known.keys().isdisjoint(loaded.names):
            break
        known = {name: value for name, value in known.items() if name not in loaded.names}
    cleared = migrated.visit(UnusedCodeRemover(loaded.names, configurations.known, calls.functions))
    has_natural_functions = migrating.has_natural_functions or bool(calls.functions)
    return cleared, migrating.remarks, has_natural_functions


def _find_leftovers(module: cst.Module) -> set[Remark]:
    finder = LeftoverFinder()
    MetadataWrapper(module).visit(finder)
    return finder.remarks


def _escape_markup(source: SourceFile) -> tuple[SourceFile, set[Remark]]:
    """Write `<<br>` where `<br>` looks like markup and does not name a variable."""
    compilation = compile_source(source)
    undefined = {(it.line, it.column) for it in compilation.diagnostics if it.code == "NJ201"}
    text, remarks = source.text, set()
    for block in reversed(compilation.blocks):
        for tag in reversed(block.tags):
            if not isinstance(tag, Reference) or tag.writes:
                continue
            if not is_markup(block.prompt, tag.path):
                continue
            place = source.place(tag.start)
            if {place, (place[0], place[1] + 1)} & undefined:
                text = f"{text[: tag.start]}<{text[tag.start :]}"
                message = f"`<{tag.path}>` looks like markup, so it is written `<<{tag.path}>`"
                remarks.add(Remark(place[0], message, is_open=False))
            elif f"</{tag.path}>" in block.prompt:
                message = f"`<{tag.path}>` is the variable; write `<<{tag.path}>` for markup"
                remarks.add(Remark(place[0], message))
    return _encode_source(source, source.path, text), remarks


def _encode_source(like: SourceFile, path: str, text: str) -> SourceFile:
    """Encode a text in another source's encoding."""
    return SourceFile(path, like.bom + text.encode(like.encoding))
