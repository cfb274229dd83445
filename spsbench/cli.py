"""The command `spsbench`; `spsbench --help` lists its commands."""

from __future__ import annotations

from typing import Any

import click

from njrt.errors import NaturalError
from spsbench.export import command as export
from spsbench.neural import command as neural
from spsbench.repair import command as repair
from spsbench.report import command as report
from spsbench.states import command as states
from spsbench.trials import command as run


class Commands(click.Group):
    """The command group; reports file, option and runtime errors as a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (OSError, ValueError, NaturalError) as error:
            from spsbench.results import InputError

            message = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                message = f"cannot use {error.filename}: {error.strerror}; name another file"
            elif not isinstance(error, InputError | NaturalError):
                raise
            click.ClickException(message).show()
            ctx.exit(getattr(error, "exit_code", InputError.exit_code))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="njpy", prog_name="spsbench")
def main() -> None:
    """Run the benchmark of shared program state: 25 tasks, each as two programs."""


@main.command()
def loc() -> None:
    """Count lines of code, beside the paper."""
    from spsbench.loc import count_lengths, format_length_table

    click.echo(format_length_table(count_lengths()))


for command in (
    *(repair.command, export.command),
    *(neural.trajectories_command, neural.train_command, neural.predict_command),
    *(report.command, run.command, states.command),
    report.make_report_command(
        "repair-report", "spsbench.repair.table", "Report RESULTS of `spsbench repair`."
    ),
):
    main.add_command(command)
