"""The runs of a cell's blocks, as the rich output of a notebook.

    %njpy trace      In[3]:2   gpt-4.1   completed   1.2 s   1 call   310 tokens   $0.0004
                       total = 12

One row a run, with its effects below; in HTML as a table whose rows open, without any script; else as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from njc.runs.timeline.effect_text import format_effect
from njrt.effect_json import effect_to_json
from njrt.effects import Refusal
from njrt.observability.accounts import BlockRun, PerformedEffect

COLUMNS = ("block", "model", "outcome", "seconds", "calls", "tokens", "USD")
STYLE = "text-align:left;white-space:pre-wrap;vertical-align:top"


class CellTrace:
    """The runs of the blocks of one cell; a notebook shows it as HTML, a terminal as text."""

    def __init__(self, runs: Sequence[BlockRun]) -> None:
        self.runs = tuple(runs)

    def __repr__(self) -> str:
        if not self.runs:
            return "no block has run"
        lines = []
        for run in self.runs:
            lines.append("  ".join(list_figures(run)))
            lines += [
                f"    {line}" for text in list_effect_texts(run) for line in text.splitlines()
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self.runs:
            return "<p>no block has run</p>"
        heads = "".join(f'<th style="{STYLE}">{column}</th>' for column in COLUMNS)
        rows = "".join(_format_row(run) for run in self.runs)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def list_figures(run: BlockRun) -> list[str]:
    """Return the columns of a run."""
    totals = run.totals
    outcome = f"{run.outcome}: {run.error}" if run.error else run.outcome
    return [
        run.place,
        run.model,
        outcome,
        f"{totals.seconds:.1f} s",
        f"{totals.calls:,} call" + ("" if totals.calls == 1 else "s"),
        f"{totals.tokens:,} tokens",
        f"${totals.usd:.4f}",
    ]


def list_effect_texts(run: BlockRun) -> list[str]:
    """Return what each effect was, and what the model was answered where it was."""
    return [_format_effect(done) for done in run.effects]


def _format_effect(done: PerformedEffect) -> str:
    effect = done.effect
    is_unreadable = isinstance(effect, Refusal)
    text = "(unreadable)" if is_unreadable else format_effect(effect_to_json(effect)).rstrip()
    if done.is_refused:
        return f"{text}\n  refused: {done.result}"
    return text if done.result == "completed" else f"{text}\n  -> {done.result}"


def _format_row(run: BlockRun) -> str:
    cells = "".join(f'<td style="{STYLE}">{escape(text)}</td>' for text in list_figures(run))
    texts = "\n\n".join(list_effect_texts(run))
    count = len(run.effects)
    noun = "effect" if count == 1 else "effects"
    details = f"<details><summary>{count} {noun}</summary><pre>{escape(texts)}</pre></details>"
    return f'<tr>{cells}</tr><tr><td colspan="{len(COLUMNS)}" style="{STYLE}">{details}</td></tr>'
