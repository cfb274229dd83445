"""`njc batch`: to be written."""
import click
@click.command("batch")
def command() -> None:
    """Call a function for every row of a file."""
