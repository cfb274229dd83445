"""`njc show --stage blocks|lower FILE`: what the compiler sees in a file, and what it makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, assert_never

import click

from njc.commands.console import Console
from njc.commands.flags import SOURCE, pass_console, project_flags, project_for, speaking
from njc.compiler import compile_source
from njc.frontend.blocks import NaturalBlock, described
from njc.project.build import Task, findings_in, result_of, source_of
from njc.project.report import rendered
from njc.project.units import units_of

Stage = Literal["blocks", "lower"]


@click.command("show")
@SOURCE
@click.option(
    "--stage",
    type=click.Choice(["blocks", "lower"]),
    default="blocks",
    help="`blocks`: each natural block (the default); `lower`: the compiled file.",
)
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How it is written; `text` by default.",
)
@project_flags
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    source: Path,
    stage: Stage,
    format: Literal["text", "json"],
    **flags: Any,
) -> None:
    """Show how njc understands FILE."""
    project = project_for([source], flags)
    (unit,) = units_of([source], project)
    task = Task(unit, source_of(unit), project.options, thorough=True)
    compilation = compile_source(task.source, project=task.options)
    result = result_of(task, compilation)
    console.findings(rendered(findings_in([result], project.warnings), "text"))
    match stage:
        case "blocks":
            if format == "json":
                console.result(_as_json([described(each) for each in compilation.blocks]))
            else:
                console.result("\n\n".join(map(_text, compilation.blocks)))
        case "lower" if result.output is not None:
            text = result.output.decode(task.source.encoding)
            console.result(_as_json({"compiled": text}) if format == "json" else text.rstrip("\n"))
        case "lower":
            pass
        case _:
            assert_never(stage)
    ctx.exit(int(result.output is None))


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _text(block: NaturalBlock) -> str:
    """Write a block as its place and a few rows, the prompt's first line last."""
    said = described(block)
    rows = {
        "reads": " ".join(said["reads"]),
        "writes": " ".join(said["writes"]),
        "labels": " ".join(said["labels"]),
        "options": " ".join(f"{name}={value!r}" for name, value in said["options"].items()),
        "prompt": block.prompt.strip().partition("\n")[0],
    }
    head = f"lines {block.line}-{block.end_line}, {block.scope.kind} {block.scope.name}"
    return "\n".join([head, *(f"  {name:8} {row}" for name, row in rows.items() if row)])
