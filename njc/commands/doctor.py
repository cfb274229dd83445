"""`njc doctor`: check the installation and the model."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import parse_set_flags, project_flags, with_console
from njc.doctor import HostEnvironment, diagnose
from njc.project.config import find_project
from njrt.block.session.code_system import find_system_obstacle

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Do not use the network.")
@project_flags
@with_console
def command(console: Console, offline: bool, **flags: Any) -> int:
    """Check the installation, and ask the model a question.

    The exit code is 0 if programs can run, 2 if the configuration is wrong,
    3 if the model does not answer or the policy is not possible here.
    """
    host = HostEnvironment(
        sys.version_info[:3],
        os.environ,
        parse_set_flags(flags["options"]),
        find_project(Path(), environ={}).options,
        _find_version,
        find_system_obstacle(),
    )
    checks = []
    for check in diagnose(host, offline):
        checks.append(check)
        status = click.style(f"{check.status:5}", fg=_COLORS[check.status])
        console.result(f"{status} {check.check:11} {check.says}")
    if offline:
        console.note("no model was asked (--offline)")
    return min((check.exit_code for check in checks if check.exit_code), default=0)


def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
