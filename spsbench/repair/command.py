"""`spsbench repair` and `spsbench mutants`: a model repairs buggy programs, and more are made.

spsbench repair --data humanevalfix.jsonl --model openai/gpt-4.1 --samples 5 --out repairs.jsonl
spsbench repair --data quixbugs.jsonl --conditions trace,test --sample 20 --model openai/local ...
spsbench repair --data quixbugs.jsonl --rescore r.jsonl         test the recorded fixes again
spsbench repair-report r.jsonl --out report.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spsbench import flags


@click.command("repair")
@flags.file_option("--data", "Problems (JSON Lines).", multiple=True, required=True)
@flags.names("--conditions", "trace,test,neither", "Information for the model.")
@flags.model_option()
@flags.value("--samples", 1, "Repairs of a problem, by condition.")
@click.option("--sample", type=flags.POSITIVE_INT, metavar="N", help="Only N problems, at random.")
@flags.value("--seed", 0, "Seed of --sample.", int)
@flags.value("--calls", 1, "Calls of a repair.")
@flags.value("--tokens", None, "Tokens of a repair, in and out.")
@flags.value("--reply-tokens", 1024, "Longest reply.")
@flags.temperature_option()
@flags.seconds_option("Limit of wall time for one reply.", 600.0)
@flags.value("--test-seconds", 5.0, "Limit of tests.", flags.POSITIVE_FLOAT)
@flags.value("--jobs", 1, "Parallel repairs.")
@flags.out_option("repairs.jsonl", "repairs")
@flags.file_option("--rationales", "Results with rationales of another model.")
@click.option("--note", default="", metavar="TEXT", help="What to record of the server.")
@flags.file_option("--rescore", "Only test the fixes of this file again.")
@click.pass_context
def command(ctx: click.Context, /, rescore: Path | None, **values: Any) -> None:
    """Have a model repair buggy programs, and test its fixes.

    DATA are files of HumanEvalFix or QuixBugs. The conditions are trace (the failing test, and the
    steps of its run as comments), test (the failing test), neither, and rationale (the failing
    test, and a rationale of --rationales). The same command continues the results.
    """
    from spsbench.repair.solving import repair_problems, rescore_repairs

    if rescore is not None:
        rescore_repairs(rescore, values["data"], values["test_seconds"])
    else:
        ctx.exit(repair_problems(values))


@click.command("mutants")
@click.argument("data", type=flags.EXISTING_FILE)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--sample", type=flags.POSITIVE_INT, metavar="N", help="Only N programs, at random.")
@click.option("--seed", default=0, help="Seed of the sample and of the mutations.")
@click.option("--each", default=1, type=flags.POSITIVE_INT, help="Mutants of a program, at most.")
@click.option("--test-seconds", default=5.0, type=flags.POSITIVE_FLOAT, help="Limit of tests.")
def mutants_command(data: Path, out: Path, **values: Any) -> None:
    """Make buggy programs of the right ones of MBPP.

    A mutant has one other operator or constant; its tests notice it, and do
    not run out of time. Programs that fail their own tests are left out.
    """
    from spsbench.repair.mutants import write_mutants

    click.echo(write_mutants(data, out, **values))
