"""`spsbench run`: carry out trials, and write down what they give.

spsbench run --methods direct,manual --programs menu,graph --model openai/gpt-4.1 --out results.jsonl
spsbench run --methods all --model openai/gpt-4.1 --repeats 5 --jobs 8 --limit-cost 20
spsbench run --methods all --model scripted
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.trials.progress import Board, Show
    from spsbench.trials.running import Plan, Ran

UNDONE, SPENT = 1, 3
"""Exit codes: trials are left, for a cluster or a server failed; or for what may be spent was spent."""


@click.command("run")
@click.option("--methods", default="all", metavar="LIST", help="Methods by name, or all.")
@click.option("--programs", default="all", metavar="LIST", help="Programs by name, or all.")
@flags.model(required=True)
@flags.repeats(5)
@click.option("--jobs", type=flags.COUNT, metavar="N", help="Trials at a time; one if not said.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("results.jsonl"),
    show_default=True,
    help="The results, JSON Lines. What is there already is not run again.",
)
@flags.seconds("Seconds that a trial may take, building included.")
@flags.effects(300, "Effects that a run of a block may request.")
@click.option(
    "--max-calls",
    type=flags.COUNT,
    default=300,
    show_default=True,
    help="Model calls that a run of a block may make.",
)
@flags.temperature()
@click.option(
    "--limit-cost",
    type=flags.ABOVE_ZERO,
    metavar="USD",
    help="Stop when the trials in the file have cost that much.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Keep replies, so that a trial that is run again costs nothing. Repeats share none.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Keep the traces, the output and the lock of each trial.",
)
@click.option(
    "--executor",
    type=click.Choice(["processes", "dask"]),
    default="processes",
    show_default=True,
    help="Where trials run: on this machine, or on a Dask cluster.",
)
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="The cluster's scheduler.")
@click.option("--plain", is_flag=True, help="Lines instead of a table, on a terminal too.")
@click.pass_context
def command(ctx: click.Context, /, plain: bool, **said: Any) -> None:
    """Run trials: each program under each method, repeat by repeat.

    Each trial is a process of its own. The same command again goes on where the results end.
    """
    from spsbench.results import DamagedResultsError
    from spsbench.trials.journal import JournalInUseError
    from spsbench.trials.running import run
    from spsbench.trials.schedule import OtherConditionsError
    from spsbench.trials.workers import NoWorkersError

    tell = partial(click.echo, err=True)
    plan = plan_of(said, tell)
    try:
        ran = run(plan, tell, display(plain or not sys.stdout.isatty()))
    except (
        DamagedResultsError,
        JournalInUseError,
        NoWorkersError,
        OtherConditionsError,
    ) as error:
        raise click.ClickException(str(error)) from None
    ctx.exit(told(ran, plan, tell))


def plan_of(said: dict[str, Any], tell: Callable[[str], None]) -> Plan:
    """What the flags ask for; methods that the model cannot take part in are left out, and told."""
    from spsbench.methods import chosen, methods_in
    from spsbench.results import Limits
    from spsbench.suite import NAMES
    from spsbench.trials.running import Plan
    from spsbench.trials.schedule import possible

    try:
        asked = methods_in(said["methods"])
        programs = chosen(said["programs"], NAMES, "program")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    model, scheduler = said["model"], said["scheduler"]
    if (said["executor"] == "dask") != (scheduler is not None):
        raise click.UsageError("--executor dask and --scheduler tcp://HOST:PORT go together")
    refuse_unknown_model(model, os.environ, said["limit_cost"])
    methods = possible(asked, model)
    if without := [method.name for method in asked if method not in methods]:
        tell(f"left out, for a script cannot write their code: {', '.join(without)}")
    return Plan(
        programs,
        tuple(method.name for method in methods),
        model,
        said["repeats"],
        said["out"],
        Limits(said["seconds"], said["effects"], said["max_calls"]),
        said["temperature"],
        os.environ.get("NJC_BASE_URL"),
        said["jobs"],
        scheduler,
        said["limit_cost"],
        *(os.path.abspath(said[name]) if said[name] else None for name in ("cache", "keep")),
    )


def refuse_unknown_model(model: str, environ: Mapping[str, str], limit_cost: float | None) -> None:
    """Raise a `UsageError` where nobody could be asked, or nobody knows what it costs."""
    from njrt.errors import NaturalError
    from njrt.messages import Usage
    from njrt.models.choose import model_for
    from njrt.models.prices import cost
    from njrt.options import Options
    from spsbench.trials.job import SCRIPTED

    if model == SCRIPTED:
        return
    base_url = environ.get("NJC_BASE_URL")
    try:
        model_for(Options(model=model, base_url=base_url), environ)
    except NaturalError as error:
        raise click.UsageError(f"--model: {error}; or ask nobody: `--model scripted`") from None
    if limit_cost is not None and (base_url or cost(model, Usage()) is None):
        raise click.UsageError(f"--limit-cost: no price is known for {model}; leave the limit out")


def display(plain: bool) -> Callable[[Board], AbstractContextManager[Show]]:
    """How progress is shown: as a table where that is possible."""
    from spsbench.trials import progress

    lines = partial(progress.plain, echo=click.echo)
    if plain:
        return lines
    try:
        import rich  # noqa: F401
    except ImportError:
        return lines
    return progress.drawn


def told(ran: Ran, plan: Plan, tell: Callable[[str], None]) -> int:
    """Say how the run ended; gives the exit code."""
    for lost in ran.lost:
        trial = lost.trial
        tell(f"lost: {trial.program} {trial.method} {trial.repeat}: {lost.reason}")
    if ran.is_spent:
        tell(
            f"the limit of ${plan.limit_cost:g} is reached, and {ran.left} trials are left; "
            "allow more by --limit-cost, and the same command goes on"
        )
        return SPENT
    if ran.is_down:
        tell("the model's server fails again and again; see to it first")
    if ran.left:
        tell(f"{ran.left} trials are left; the same command goes on with them")
        return UNDONE
    tell(f"{ran.done} trials are done; results: {plan.out}")
    return 0
