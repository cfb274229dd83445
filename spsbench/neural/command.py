"""`spsbench trajectories`, `spsbench train`, `spsbench predict`: a neural debugger from a seed.

spsbench trajectories --seed 1 --programs 50000 --out data    programs with calls, and their steps
spsbench train data --size medium --steps 6000 --out medium   a network
spsbench predict data --model medium/model.npz --out neural.jsonl
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from njrt.errors import require_packages
from spsbench import flags

if TYPE_CHECKING:
    from spsbench.neural.dataset import StepChoice


@click.command("trajectories")
@flags.value("--seed", 1, "Seed of the programs.", int)
@flags.value("--programs", 50_000, "How many.")
@click.option(
    "--steps",
    type=click.Choice(("sampled", "ends", "both")),
    default="sampled",
    show_default=True,
    help="Of some states, from calls to returns, or both.",
)
@click.option("--out", type=flags.FOLDER, required=True, help="Folder to write.")
def trajectories_command(seed: int, programs: int, steps: StepChoice, out: Path) -> None:
    """Write steps of a debugger in generated programs.

    The same seed gives the same files.
    """
    from spsbench.neural.dataset import write_dataset

    counts = write_dataset(out, seed, programs, steps)
    found = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    click.echo(f"{out}: programs by part: {found}", err=True)


@click.command("train")
@click.argument("data", type=flags.EXISTING_FOLDER)
@click.option("--size", default="medium", show_default=True, help="tiny, small, medium or large.")
@flags.value("--steps", 6_000, "Batches.")
@flags.value("--every", 250, "Batches between points of the curve.")
@flags.value("--batch", 8, "Programs of a batch.")
@flags.value("--length", 384, "Tokens of a program with its steps.")
@click.option("--rate", type=float, default=2e-3, show_default=True, help="Learning rate.")
@flags.value("--seed", 1, "Seed of the weights and of the order.", int)
@click.option("--out", type=flags.FOLDER, required=True, help="Folder of the training.")
def train_command(data: Path, size: str, out: Path, **numbers: Any) -> None:
    """Train a neural debugger on DATA, from scratch.

    DATA is a folder of `spsbench trajectories`.
    """
    require_packages("training", "spsbench[train]", "jax", "flax", "optax")
    from spsbench.neural.training import SIZES, TrainingPlan, train

    if size not in SIZES:
        raise click.UsageError(f"--size is one of {', '.join(SIZES)}")
    train(TrainingPlan(data, out, size, **numbers), partial(click.echo, err=True))
    click.echo(f"{out / 'model.npz'} is the network", err=True)


@click.command("predict")
@click.argument("data", type=flags.EXISTING_FOLDER)
@flags.file_option("--model", "The network, of `spsbench train`.")
@flags.value("--programs", 400, "Of the test data.")
@click.option("--out", type=flags.FILE, required=True, help="Results, JSON Lines.")
def predict_command(data: Path, model: Path | None, programs: int, out: Path) -> None:
    """Count the steps that a neural debugger answers exactly.

    A baseline is counted beside it: the last state.
    """
    from spsbench.neural.evaluation import evaluate, format_rows, write_rows

    rows = list(evaluate(data, model, programs))
    write_rows(out, rows)
    click.echo(format_rows(rows))
