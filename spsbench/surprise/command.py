"""`spsbench surprise`: is a wrong prediction an alarm for a wrong effect?

spsbench surprise --model openai/gpt-4.1-mini --out surprises.jsonl
spsbench surprise --model openai/local --sample 10 --seed 1 --out surprises.jsonl
spsbench surprise-report surprises.jsonl --out surprise.md
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("surprise")
@flags.model_option()
@flags.number("--sample", "Only N effects, at random.")
@flags.seed_option(0, "Seed of sample and mistakes.")
@flags.reply_seconds_option(default=600.0)
@flags.number("--jobs", "Predictions at a time.")
@flags.out_option("surprises.jsonl", "effects")
@flags.scheduler_option()
@flags.note_option()
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Plant wrong effects, and have a model predict each effect.

    The programs run on their perfect scripts. Each effect is predicted twice: as it is, and with a mistake (a wrong
    value, a dropped statement, a dropped jump). A wrong prediction is an alarm. The same command again
    continues the results.
    """
    from spsbench.surprise.playing import predict_effects

    ctx.exit(predict_effects(values))
