"""One program, migrated: the codemod's text, mended where the compiler's diagnostics show how.

migrate("mail.py", b"import nightjarpy as nj ...")
    Migration(source="def judge(mail): ...", remarks=(Remark(12, ...),), leftovers=(), compilation=...)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper

from njc.compiler import Compilation, compile_source
from njc.frontend.references import Reference
from njc.frontend.source import SourceDecodeError, SourceFile
from njc.migrate.clearing import UnusedCodeRemover
from njc.migrate.codemod import MigrationTransformer
from njc.migrate.gathering import (
    NIGHTJARPY,
    ConfigurationCollector,
    LeftoverFinder,
    NaturalCallCollector,
    UsedNameCollector,
)
from njc.migrate.prompts import is_markup
from njc.migrate.remarks import Remark


@dataclass(frozen=True, slots=True)
class Migration:
    """A migrated program, and what is to be said of it."""

    source: SourceFile
    remarks: tuple[Remark, ...]
    """Remarks on the lines of the old program."""
    leftovers: tuple[Remark, ...]
    """Remarks on the lines of the new one."""
    compilation: Compilation
    """What the compiler makes of the new one, its diagnostics above all."""


def uses_nightjarpy(data: bytes) -> bool:
    """Whether a file may be a program for nightjarpy."""
    return NIGHTJARPY.encode() in data


def migrate_program(old: SourceFile, path: str) -> Migration | str:
    """Migrate the program `old`, to be called `path` from now on; or say why it cannot be read."""
    try:
        module = cst.parse_module(old.text)
    except SourceDecodeError as error:
        return f"line {error.line}: {error}"
    except cst.ParserSyntaxError as error:
        return f"line {error.raw_line}: not Python: {error.message}"
    text, remarks, leftovers = _run_passes(module)
    remarks |= set(_find_lost_whitespace(old.text, module.code))
    source, escaped = _escape_markup(_encode_source(old, path, text))
    return Migration(
        source, tuple(sorted(remarks)), tuple(sorted(leftovers | escaped)), compile_source(source)
    )


def _find_lost_whitespace(before: str, after: str) -> Iterator[Remark]:
    """The one remark on what LibCST does not keep, such as form feeds."""
    if before != after:
        lines = zip(before.split("\n"), after.split("\n"), strict=False)
        first = next((number for number, (old, new) in enumerate(lines, 1) if old != new), 1)
        yield Remark(first, "white space has changed here, and perhaps further down", is_open=False)


def _run_passes(module: cst.Module) -> tuple[str, set[Remark], set[Remark]]:
    """Run the passes one after the other; give the text, and remarks on the old and on the new lines."""
    configurations, calls = ConfigurationCollector(), NaturalCallCollector()
    wrapper = MetadataWrapper(module)
    wrapper.visit(configurations)
    wrapper.visit(calls)
    migrating = MigrationTransformer(configurations.known, calls.functions)
    migrated = wrapper.visit(migrating)
    known = configurations.known
    while True:  # a configuration may be used by another one only, and that by none
        loaded = UsedNameCollector(known)
        migrated.visit(loaded)
        used = {name for name in known if name in loaded.names}
        if not used:
            break
        known = {name: configuration for name, configuration in known.items() if name not in used}
    cleared = migrated.visit(UnusedCodeRemover(loaded.names, configurations.known, calls.functions))
    leftovers = LeftoverFinder()
    MetadataWrapper(cleared).visit(leftovers)
    return cleared.code, migrating.remarks, leftovers.remarks


def _escape_markup(source: SourceFile) -> tuple[SourceFile, set[Remark]]:
    """Write `<<br>` where `<br>` names no variable and looks like markup."""
    compilation = compile_source(source)
    undefined = {
        (diagnostic.line, diagnostic.column)
        for diagnostic in compilation.diagnostics
        if diagnostic.code == "NJ201"
    }
    text, remarks = source.text, set()
    for block in reversed(compilation.blocks):
        for tag in reversed(block.tags):
            if (
                not isinstance(tag, Reference)
                or tag.writes
                or not is_markup(block.prompt, tag.path)
            ):
                continue
            place = source.place(tag.start)
            if {place, (place[0], place[1] + 1)} & undefined:
                text = f"{text[: tag.start]}<{text[tag.start :]}"
                message = f"`<{tag.path}>` looks like markup, so it is written `<<{tag.path}>`"
                remarks.add(Remark(place[0], message, is_open=False))
            elif f"</{tag.path}>" in block.prompt:
                message = (
                    f"`<{tag.path}>` is the variable; write `<<{tag.path}>` if markup is meant"
                )
                remarks.add(Remark(place[0], message))
    return _encode_source(source, source.path, text), remarks


def _encode_source(like: SourceFile, path: str, text: str) -> SourceFile:
    """Encode a text as another source is encoded."""
    return SourceFile(path, like.bom + text.encode(like.encoding))
