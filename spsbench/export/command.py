"""`spsbench export`: passing results, as JSON Lines with a data card.

spsbench export --repairs r.jsonl --data quixbugs.jsonl --traces traces/ --out export
    export/repairs.jsonl    (buggy, trace, rationale, fix, tests)
    export/effects.jsonl    (instruction, before, effect, after)
    export/README.md        the data card
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.export.records import EffectRecord, RepairRecord
    from spsbench.repair.results import RepairResult

_EXISTING = click.Path(path_type=Path, exists=True)

KNOWN_DATA: Mapping[str, tuple[str, str]] = {
    "b1376d72be4bd016": ("HumanEvalFix (bigcode-project/octopack)", "MIT"),
    "e6595af11c28b032": ("QuixBugs (jkoppel/QuixBugs)", "MIT"),
}
"""Source and licence of problem files, by the first 16 digits of their SHA-256."""
UNKNOWN_DATA = ("not known to this command", "that of its source")


@click.command("export")
@click.option("--repairs", multiple=True, type=_EXISTING, help="Results of `spsbench repair`.")
@click.option("--data", multiple=True, type=_EXISTING, help="Their problems (JSON Lines).")
@click.option("--traces", multiple=True, type=_EXISTING, help="Trace file or folder (NJC_TRACE).")
@click.option("--out", required=True, type=flags.FOLDER, help="Folder to write.")
def command(
    repairs: tuple[Path, ...], data: tuple[Path, ...], traces: tuple[Path, ...], out: Path
) -> None:
    """Export what passed as training data, with a data card.

    Fixes are tested again, and exported if they pass. Traces need states, which trace files have.
    """
    from njc.debug.trace_lines import read_trace
    from spsbench.export.records import (
        has_secret,
        list_effect_records,
        list_repair_records,
        redact_effect,
    )
    from spsbench.journal import read_results_file
    from spsbench.repair.results import REPAIR_KINDS, RepairResult
    from spsbench.repair.solving import read_problems
    from spsbench.repair.testing import run_tests
    from spsbench.results import InputError

    if not repairs and not traces:
        raise click.UsageError("nothing to export: name results by --repairs or traces by --traces")
    if bool(repairs) != bool(data):
        raise click.UsageError("--repairs and --data go together: results have no text of the data")
    problems, _ = read_problems(data)
    results = [
        result
        for path in repairs
        for result in read_results_file(path, REPAIR_KINDS).select(RepairResult)
    ]
    files = [
        file
        for place in traces
        for file in (sorted(place.rglob("*.jsonl")) if place.is_dir() else [place])
    ]
    with click.progressbar(results, label="testing repairs", file=sys.stderr) as bar:
        found = list(list_repair_records(bar, problems, partial(run_tests, traces=True)))
    repaired = [record for record in found if not has_secret(record)]
    traced = [record for file in files for record in list_effect_records(read_trace(file))]
    effects = [redact_effect(record) for record in traced]
    if not found and not traced:
        raise InputError(
            "nothing to export: no repair has passed, and no trace has effects of a block that"
            " ended; NJC_TRACE=FILE writes a trace"
        )
    out.mkdir(parents=True, exist_ok=True)
    _write_lines(out / "repairs.jsonl", repaired)
    _write_lines(out / "effects.jsonl", effects)
    sources = [
        *((path, "problems") for path in data),
        *((path, "repairs") for path in repairs),
        *((path, "trace of live blocks") for path in files),
    ]
    secrets = {
        "repairs": len(found) - len(repaired),
        "effects": sum(one != other for one, other in zip(traced, effects, strict=True)),
    }
    card = _render_card(results, repaired, effects, sources, secrets)
    (out / "README.md").write_text(card, encoding="utf-8", newline="\n")
    click.echo(f"{len(repaired)} repairs and {len(effects)} effects in {out}")


def _write_lines(path: Path, records: list[RepairRecord] | list[EffectRecord]) -> None:
    from njrt.values.dataclass_json import to_json

    text = "".join(to_json(record) + "\n" for record in records)
    path.write_text(text, encoding="utf-8", newline="\n")


def _render_card(
    results: list[RepairResult],
    repaired: list[RepairRecord],
    effects: list[EffectRecord],
    sources: list[tuple[Path, str]],
    secrets: Mapping[str, int],
) -> str:
    from spsbench.export.records import EffectRecord, RepairRecord, list_fields
    from spsbench.journal import compute_digest
    from spsbench.report.document import Table, format_table

    digests = [(path, what, compute_digest(path.read_bytes())) for path, what in sources]
    licences = [
        (f"buggy programs and tests of {path.name}: {source}", licence)
        for path, what, digest in digests
        if what == "problems"
        for source, licence in [KNOWN_DATA.get(digest, UNKNOWN_DATA)]
    ]
    conditions = sorted(Counter(record.condition for record in repaired).items())
    counts = {
        "lines of repairs.jsonl: exported repairs": len(repaired),
        "lines of effects.jsonl: exported effects": len(effects),
        "repairs in the results": len(results),
        "of these passed": sum(result.passed for result in results),
        "problems with an exported repair": len({record.problem for record in repaired}),
        **{f"exported, condition {condition}": number for condition, number in conditions},
        "left out: a text has the shape of a secret": secrets["repairs"],
        "blocks with exported effects": len({record.place for record in effects}),
        "effects in which secrets were redacted at the export": secrets["effects"],
    }
    models = sorted({record.model for record in repaired} | {record.model for record in effects})
    wrote = f"Models that wrote rationales, fixes and effects: {', '.join(models) or 'none'}."
    files = [(path.name, digest, what) for path, what, digest in digests]
    tables = (
        Table(("file", "sha256", "what"), files, 3, "Sources", (wrote,)),
        Table(("part", "licence"), [*licences, *OWN_LICENCES], 2, "Licences"),
        Table(("of", "count"), [(name, f"{count}") for name, count in counts.items()], 1, "Counts"),
        Table(("repairs.jsonl", ""), list_fields(RepairRecord), 2, "Fields"),
        Table(("effects.jsonl", ""), list_fields(EffectRecord), 2),
    )
    return "\n\n".join([INTRODUCTION, *map(format_table, tables), LIMITS]) + "\n"


INTRODUCTION = """\
# Data card

Training data in the form of NExT (Ni et al., 2024, arXiv:2404.14662): what a model wrote and what
passed. A line of `repairs.jsonl` is a buggy program, the trace of its failing test, a rationale,
and a fix that passed the tests again; each fix of a problem is there once. A line of
`effects.jsonl` is an effect of a live natural block, with the variables before and after it. Made
by `spsbench export --repairs --data --traces --out FOLDER`."""
OWN_LICENCES = (
    ("rationales, fixes and effects", "those of the models' terms"),
    ("instructions and variables of live blocks", "those of the programs that were traced"),
)
LIMITS = """\
### Limits

- A fix passes the tests of its problem; it may be wrong elsewhere, and may be fitted to the test
  that was shown.
- A rationale is kept because its fix passes. Nothing checks that it is true.
- The problems are public and may be in a model's training data. Do not train on them and evaluate
  on them.
- An effect is what a model did, not what was right: only refused effects and failed runs are left
  out.
- Variables are texts as in prompts: bounded, with secrets redacted by rules, which know names and
  shapes. They may hold personal data of the program.
- Traces are bounded: 500 steps, 120 characters a value, the first runs of a line and the last."""
