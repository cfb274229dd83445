"""Where the blocks of a source file are.

    find_block_at(Path("mail.njpy"), 14)       BlockLines(first=12, last=16), the block that has line 14
    find_block_lines(Path("mail.njpy"), 12)    the block that begins in line 12

Nothing is found in a file that cannot be read or parsed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from njc.frontend.blocks import NaturalBlock, find_blocks
from njc.frontend.parse import Module, parse
from njc.frontend.source import SourceFile


@dataclass(frozen=True, slots=True)
class BlockLines:
    """The lines of the literal of a block, from its opening quotes to its closing ones, numbered from 1."""

    first: int
    last: int


def find_block_at(file: Path, line: int) -> BlockLines | None:
    """Return the block that has a line."""
    for lines in list_block_lines(file):
        if lines.first <= line <= lines.last:
            return lines
    return None


def find_block_lines(file: Path, first: int) -> BlockLines | None:
    """Return the block that begins in a line, as the place of a step says it."""
    return next((lines for lines in list_block_lines(file) if lines.first == first), None)


def list_block_lines(file: Path) -> tuple[BlockLines, ...]:
    """Return the lines of all blocks of a file."""
    try:
        return _parse_block_lines(file, file.stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=64)
def _parse_block_lines(file: Path, changed_at: int) -> tuple[BlockLines, ...]:
    module = parse(SourceFile(file.name, file.read_bytes()))
    if not isinstance(module, Module):
        return ()
    blocks = [found for found in find_blocks(module) if isinstance(found, NaturalBlock)]
    return tuple(BlockLines(block.line, block.end_line) for block in blocks)


def find_source(place: str, folders: Iterable[Path]) -> Path | None:
    """Return the file of a place such as `shop/mail.njpy:12`, in one of these folders."""
    name = place.rpartition(":")[0]
    for folder in folders:
        if name and (folder / name).is_file():
            return folder / name
    return None
