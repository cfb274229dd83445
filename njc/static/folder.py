"""A folder as the writer of static blocks: a coding agent or a person at hand writes the code.

    DIR/shop.total-1.9f3c01ab.md            the question: what the block needs, and how to check
    DIR/shop.total-1.9f3c01ab.py            the answer: the statements of the block
    DIR/shop.total-1.9f3c01ab.refused.py    the last refused answer; the question says why

A file's name has a digest of the block's meaning, so an answer to an older text is never taken. An
accepted answer goes into njc.lock, and both files are deleted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from njc.project.outputs import remove_files, write_all
from njc.project.units import explaining_failure, format_path, read_file
from njc.static.fit import StaticFile
from njc.static.generate import EXAMPLE_ANSWER, EXAMPLE_QUESTION, RULES
from njc.static.holes import Hole
from njrt.data.private_files import lock_folder
from njrt.data.records import record
from njrt.errors import ConfigurationError

PREFIX = "folder:"
"""Begins the value of `writer=` that names a folder."""


@record
class Open:
    """A question that has no accepted answer; `reasons` say why the last one was refused."""

    question: Path
    reasons: tuple[str, ...] = ()


def find_folder(writer: str | None) -> Path | None:
    """Return the folder that an option `writer` names; None for a model."""
    return Path(writer.removeprefix(PREFIX)) if writer and writer.startswith(PREFIX) else None


def name_question(hole: Hole) -> str:
    """Return the name of a block's files, without the suffix: `MODULE.QUALNAME-N.DIGEST`."""
    path, _, rest = hole.name.partition(":")
    qualified, _, number = rest.partition("#")
    module = path.removesuffix(".njpy").replace("/", ".")
    name = re.sub(r"[^\w.]+", "", f"{module}.{qualified}")[:100]
    digest = hashlib.sha256(f"{hole.name}\n{hole.shown}".encode()).hexdigest()[:8]
    return f"{name}-{number or 1}.{digest}"


def take_answer(file: StaticFile, hole: Hole, folder: Path) -> str | Open:
    """Return the code in the folder if it passes the checks; else leave the question there."""
    with explaining_failure(f"write {format_path(folder)}"):
        folder.mkdir(parents=True, exist_ok=True)
    question = folder / f"{name_question(hole)}.md"
    answer, refused = question.with_suffix(".py"), question.with_suffix(".refused.py")
    with lock_folder(folder):
        try:
            text = read_text(answer) if answer.exists() else ""
        except ConfigurationError as error:  # it stays as it is, and other blocks are built
            return Open(question, (str(error),))
        if not text.strip():
            if not question.exists():
                write_all({question: render_question(hole, question).encode()})
            return Open(question)
        if refused.exists() and read_text(refused) == text:
            return Open(question, ("this is the answer that was refused before",))
        if reasons := file.make_code_check(hole)(text):
            shown = render_question(hole, question, reasons)
            write_all({question: shown.encode(), refused: text.encode()})
            remove_files([answer], within=[folder])
            return Open(question, reasons)
        return text.strip("\n")


def remove_question(hole: Hole, folder: Path) -> None:
    """Delete the files of a question whose answer is in the lock."""
    question = folder / f"{name_question(hole)}.md"
    files = [question, question.with_suffix(".py"), question.with_suffix(".refused.py")]
    with lock_folder(folder):
        remove_files([file for file in files if file.exists()], within=[folder])


def find_question(file: Path, files: Sequence[StaticFile]) -> tuple[StaticFile, Hole]:
    """Return the block that an answer is for; raise ConfigurationError if there is none."""
    stem = file.name.removesuffix(".py").removesuffix(".refused")
    for found in files:
        for hole in found.holes:
            if name_question(hole) == stem:
                return found, hole
    raise ConfigurationError(
        f"{format_path(file)} answers no block of these sources; build again for the question of"
        " today"
    )


def read_text(file: Path) -> str:
    """Return the text of an answer; raise ConfigurationError if it is not UTF-8."""
    try:
        return read_file(file).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{format_path(file)} is not UTF-8: {error}") from None


def render_question(hole: Hole, question: Path, refusals: Sequence[str] = ()) -> str:
    """Return the text of a question, as Markdown."""
    answer = question.with_suffix(".py")
    reasons = "\n".join(f"- {' '.join(reason.split())}" for reason in refusals)
    parts = [
        f"# {hole.name}",
        (
            f"Write the statements for the marked line into `{answer.name}` in this folder, and"
            f" nothing else. Check them: `njc build --check-code {format_path(answer)}`."
        ),
        f"## Why the last answer was refused\n\n{reasons}" if reasons else "",
        f"## The question\n\n````text\n{hole.question}\n````",
        f"## Rules\n\n{RULES}",
        f"## An example\n\n```text\n{EXAMPLE_QUESTION}\n```\n\n{EXAMPLE_ANSWER}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"
