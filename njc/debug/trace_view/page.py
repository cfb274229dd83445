"""A trace as a single HTML page that opens offline.

    write_page(Path("trace.html"), read_index(Path("trace.jsonl")), Selection())

The page has the selected runs with their steps as gzipped JSON, and the viewer. The viewer writes
values of a trace as text nodes, and the page's policy allows no script except its own.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from pathlib import Path
from string import Template
from typing import Any

from njc.debug.timeline.steps import Step
from njc.debug.trace_view.index import RunSummary, Selection, TraceIndex, list_inputs
from njc.project.units import explaining_failure
from njrt.data.private_files import replacing

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("data.js", "list.js", "page.js")
RUN_FIELDS = (
    *("number", "id", "parent", "depth", "place", "model", "start", "seconds", "calls", "tokens"),
    *("usd", "refusals", "outcome", "error", "given", "changed", "is_unchanged"),
)
STEP_FIELDS = (
    *("kind", "name", "code", "printed", "result_kind", "ending", "shown_text", "reply_text"),
    *("start", "call_seconds", "seconds", "tokens"),
)


def write_page(target: Path, index: TraceIndex, selection: Selection) -> None:
    """Write the page of a trace; on ConfigurationError the old page is kept."""
    style, script = _read_template("page.css"), "".join(map(_read_template, SCRIPTS))
    page = Template(_read_template("page.html")).substitute(
        title=html.escape(index.path.name),
        style=style,
        script=script,
        style_digest=_digest_for_policy(style),
        script_digest=_digest_for_policy(script),
        data=pack_runs(index, selection),
    )
    with (
        explaining_failure(f"write {target}"),
        replacing(target, "x", is_private=True, encoding="utf-8", errors="replace") as file,
    ):
        file.write(page)


def _read_template(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def pack_runs(index: TraceIndex, selection: Selection) -> str:
    """Return the runs as gzipped JSON in base64, which needs no escaping in HTML."""
    runs = [describe_run(run, index) for run in index.runs if selection.has(run)]
    data = {"problems": index.problems, "runs": runs}
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def describe_run(run: RunSummary, index: TraceIndex) -> dict[str, Any]:
    """Return a run and its steps as JSON; `inputs` are the variables that its prompt reads."""
    steps = list(index.read_steps(run))
    inputs = list(list_inputs(steps[0]).items()) if run.given else []
    found = {"inputs": inputs, "steps": list(map(describe_step, steps))}
    return found | {name: getattr(run, name) for name in RUN_FIELDS}


def describe_step(step: Step) -> dict[str, Any]:
    """Return a step as JSON; `is_code` says whether its text is Python."""
    return {
        **{name: getattr(step, name) for name in STEP_FIELDS},
        "is_code": "code" in (step.executed or {}),
        "changes": step.list_changes(),
        "model": step.call.model if step.call else step.model * (step.kind == "enter"),
        "source": step.call.source if step.call else "",
        "usd": step.cost.usd,
    }


def _digest_for_policy(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
