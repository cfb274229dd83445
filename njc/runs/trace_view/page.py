"""Traces of any size as a single HTML page that opens offline.

    write_page(Path("trace.html"), [read_index(Path("trace.jsonl"))], Selection())

The page contains names and columns of numbers as gzipped data, the viewer, and chunks with the
texts of steps, which are unpacked when they are shown. Neither this process nor the page holds all
texts. The viewer writes values of a trace as text nodes, and the page's policy allows no script
except its own.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
import sys
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from njc.project.units import explaining_failure
from njc.runs.timeline.steps import Step, StepKind
from njc.runs.trace_view.index import RunSummary, Selection, TraceIndex
from njrt.errors import require_packages
from njrt.private_files import replacing

CHUNK_CHARS = 256_000
"""The number of characters of JSON in a chunk."""

COMPRESSION = 3
"""The gzip level; 6 takes three times as long and makes the page only a tenth smaller."""

STEP_KINDS: tuple[StepKind, ...] = ("enter", "effect", "call", "exit")
REFUSED, JUMP, FAILED, UNCHANGED = 1, 2, 4, 8

RUN_COLUMN_TYPES = {
    "start": "d",
    **dict.fromkeys(("seconds", "usd"), "f"),
    "parent": "i",
    **dict.fromkeys(("place", "model", "outcome"), "I"),
    **dict.fromkeys(("calls", "effects", "tokens", "refusals", "failures", "depth"), "I"),
    **dict.fromkeys(("first", "steps", "digest", "digest2"), "I"),
    "unchanged": "B",
}
_PLAIN_COLUMNS = ("start", "seconds", "calls", "effects", "refusals", "failures", "depth")
STEP_COLUMN_TYPES = {
    "start": "d",
    **dict.fromkeys(("call", "code", "usd"), "f"),
    **dict.fromkeys(("tokens", "digest", "digest2"), "I"),
    **dict.fromkeys(("kind", "flags"), "B"),
}
"""The columns of numbers for each run and step, with `array` type codes; `usd` is -1 if unknown."""

_CHUNKS_HERE = "<!-- chunks -->"


class Columns:
    """Columns of numbers, filled row by row (state: the rows so far)."""

    def __init__(self, types: dict[str, str]) -> None:
        self.arrays = {name: array(code) for name, code in types.items()}

    def add(self, **row: float) -> None:
        for name, column in self.arrays.items():
            column.append(row[name])  # type: ignore[arg-type]

    @property
    def length(self) -> int:
        return len(next(iter(self.arrays.values())))

    def pack(self) -> bytes:
        """Return all columns, one after another, in little-endian order."""
        packed = []
        for column in self.arrays.values():
            if sys.byteorder == "big":
                column = array(column.typecode, column)
                column.byteswap()
            packed.append(column.tobytes())
        return b"".join(packed)

    def describe(self) -> list[list[Any]]:
        return [[name, column.typecode, len(column)] for name, column in self.arrays.items()]


class _Names(dict[str, int]):
    """Numbers standing for repeated texts."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


class _PageData:
    """The data of a page, collected by run; chunks go to a file (state: everything but chunks)."""

    def __init__(self, chunks: IO[str]) -> None:
        self.runs = Columns(RUN_COLUMN_TYPES)
        self.steps = Columns(STEP_COLUMN_TYPES)
        self.places, self.models, self.outcomes = (_Names() for _ in range(3))
        self.ids: list[str] = []
        self.errors: dict[int, str] = {}
        self.traces: list[dict[str, Any]] = []
        self.first_steps: list[int] = []
        self._chunks = chunks
        self._waiting: list[str] = []
        self._waiting_chars = 0

    def add_trace(self, index: TraceIndex) -> None:
        first_run = self.runs.length
        for run in index.runs:
            self._add_run(run, first_run, index.read_steps(run))
        self.traces.append(
            {
                "path": index.path.name,
                "first": first_run,
                "runs": len(index.runs),
                "problems": index.problems,
                "processes": index.processes,
            }
        )

    def _add_run(self, run: RunSummary, first_run: int, steps: Iterator[Step]) -> None:
        if run.error:
            self.errors[self.runs.length] = run.error
        self.ids.append(run.id)
        first_step = self.steps.length
        for step in steps:
            is_first = self.steps.length == first_step
            brief = (run.given, run.changed) if is_first else ("", step.changed)
            self._add_step(step, brief)
        digest, digest2 = _split_digest(run.digest)
        self.runs.add(
            **{name: getattr(run, name) for name in _PLAIN_COLUMNS},
            usd=-1.0 if run.usd is None else run.usd,
            parent=-1 if run.parent is None else first_run + run.parent - 1,
            place=self.places[run.place],
            model=self.models[run.model],
            outcome=self.outcomes[run.outcome],
            tokens=min(run.tokens, 0xFFFFFFFF),
            first=first_step,
            steps=self.steps.length - first_step,
            digest=digest,
            digest2=digest2,
            unchanged=run.is_unchanged,
        )

    def _add_step(self, step: Step, brief: tuple[str, str]) -> None:
        flags = REFUSED * step.is_refused | JUMP * step.is_jump
        flags |= UNCHANGED * step.is_unchanged
        digest, digest2 = _split_digest(step.comparable_digest)
        packed = _pack_step(step, brief)
        if not self._waiting:
            self.first_steps.append(self.steps.length)
        self.steps.add(
            start=step.start,
            call=step.call_seconds,
            code=step.seconds,
            usd=-1.0 if step.cost.usd is None else step.cost.usd,
            tokens=min(step.tokens, 0xFFFFFFFF),
            digest=digest,
            digest2=digest2,
            kind=STEP_KINDS.index(step.kind),
            flags=flags | FAILED * (step.result_kind == "error"),
        )
        self._waiting.append(packed)
        self._waiting_chars += len(packed)
        if self._waiting_chars >= CHUNK_CHARS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            number = len(self.first_steps) - 1
            packed = pack(f"[{','.join(self._waiting)}]")
            self._chunks.write(f'<script type="application/octet-stream" id="chunk-{number}">')
            self._chunks.write(f"{packed}</script>\n")
            self._waiting, self._waiting_chars = [], 0

    def describe(self, selection: Selection) -> dict[str, Any]:
        """Return the data that the viewer needs first."""
        return {
            "traces": self.traces,
            "places": list(self.places),
            "models": list(self.models),
            "outcomes": list(self.outcomes),
            "ids": self.ids,
            "errors": self.errors,
            "chunks": self.first_steps,
            "runs": self.runs.describe(),
            "steps": self.steps.describe(),
            "selection": asdict(selection),
        }


def _split_digest(digest: bytes) -> tuple[int, int]:
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def _pack_step(step: Step, brief: tuple[str, str]) -> str:
    changes = step.list_changes()
    model = step.model if step.kind == "enter" else ""
    return json.dumps(
        [
            step.name,
            step.code,
            step.ending,
            step.result_kind,
            changes,
            step.printed,
            step.shown_text,
            step.reply_text,
            step.call.model if step.call else model,
            step.call.source if step.call else "",
            [step.turn, step.cost.input, step.cost.output, step.cost.cached],
            brief,
        ],
        ensure_ascii=False,
    )


def pack(data: str | bytes) -> str:
    """Return data as gzip in base64, which needs no escaping in HTML."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(data, COMPRESSION, mtime=0)).decode()


def write_page(target: Path, indexes: Sequence[TraceIndex], selection: Selection) -> None:
    """Write the page of one or two traces; on ConfigurationError the old page is kept.

    Needs the extra `trace`.
    """
    require_packages("the page", "njpy[trace]", "jinja2")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("njc.runs.trace_view"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    style, script = (
        "".join(environment.get_template(name).render() for name in names)
        for names in (["page.css"], ["data.js", "steps.js", "list.js", "page.js"])
    )
    with (
        explaining_failure(f"write {target}"),
        tempfile.TemporaryFile("w+", encoding="ascii", dir=target.parent) as chunks,
    ):
        data = _PageData(chunks)
        for index in indexes:
            data.add_trace(index)
        data.flush()
        page = environment.get_template("page.html").render(
            title=" and ".join(index.path.name for index in indexes),
            style=style,
            script=script,
            style_digest=_digest_for_policy(style),
            script_digest=_digest_for_policy(script),
            names=pack(json.dumps(data.describe(selection), ensure_ascii=False)),
            columns=pack(data.runs.pack() + data.steps.pack()),
        )
        chunks.seek(0)
        _write_around(target, page, chunks)


def _digest_for_policy(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _write_around(target: Path, page: str, chunks: IO[str]) -> None:
    """Write the page, with the chunks inserted, in place of the old one."""
    head, _, tail = page.rpartition(_CHUNKS_HERE)
    with replacing(target, "x", is_private=True, encoding="utf-8", errors="replace") as file:
        file.write(head)
        shutil.copyfileobj(chunks, file)
        file.write(tail)
