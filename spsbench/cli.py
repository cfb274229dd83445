"""The command `spsbench`.

$ spsbench loc      lines of code of the natural and the manual programs
$ spsbench run      trials: each program under each method, with a model
$ spsbench graph    large objects: copied into the prompt, or shared
$ spsbench gsm8k    school problems, which share no state
$ spsbench states   the states of an executed program: JSON Lines, or tokens
$ spsbench trajectories   steps of a debugger in generated programs, as training data
$ spsbench train    a small network that predicts such steps
$ spsbench predict  how many steps it answers exactly
$ spsbench curve    the curve of its training as a picture
$ spsbench mutants  right programs, made buggy
$ spsbench repair   buggy programs: repaired by a model, with and without execution traces
$ spsbench crux     predicting outputs, inputs and states of CruxEval's functions
$ spsbench surprise planted wrong effects, and whether a prediction notices them
$ spsbench export   repairs that passed and effects of live blocks, as training data
$ spsbench suite    other people's suites of tasks: JSON tool calls, code as action, natural blocks
$ spsbench replay   published traces, replayed on this runtime
$ spsbench report   results beside the paper's tables: text, Markdown, CSV, a page
"""

from __future__ import annotations

from typing import Any

import click

from njrt.errors import NaturalError
from spsbench.crux import command as crux
from spsbench.export import command as export
from spsbench.neural import command as neural
from spsbench.repair import command as repair
from spsbench.repair import mutants_command
from spsbench.replay import command as replay
from spsbench.report import command as report
from spsbench.states import command as states
from spsbench.studies import graph_command, gsm8k_command
from spsbench.suites import command as suites
from spsbench.surprise import command as surprise
from spsbench.trials import command as run


class Commands(click.Group):
    """The group of all commands; an error of the runtime is a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except NaturalError as error:
            click.ClickException(str(error)).show()
            ctx.exit(error.exit_code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="njpy", prog_name="spsbench")
def main() -> None:
    """Run the benchmark of shared program state: 25 tasks, each as two programs."""


@main.command()
def loc() -> None:
    """Count lines of code, beside the paper."""
    from spsbench.loc import count_lengths, format_length_table

    click.echo(format_length_table(count_lengths()))


main.add_command(crux.command)
main.add_command(graph_command.command)
main.add_command(gsm8k_command.command)
main.add_command(repair.command)
main.add_command(repair.report_command)
main.add_command(mutants_command.command)
main.add_command(suites.command)
main.add_command(suites.report_command)
main.add_command(surprise.command)
main.add_command(surprise.report_command)
main.add_command(export.command)
main.add_command(neural.trajectories_command)
main.add_command(neural.train_command)
main.add_command(neural.predict_command)
main.add_command(neural.curve_command)
main.add_command(replay.command)
main.add_command(report.command)
main.add_command(run.command)
main.add_command(states.command)
