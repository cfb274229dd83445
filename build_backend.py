"""The build backend: hatchling's, except that an editable install of a clone has the runtime in it.

    pip install -e .        njc, spsbench and njrt from the clone; the requirements of njpy and of njpy-runtime
    a wheel of njpy         njc and spsbench; it requires njpy-runtime of the same version

So one editable install is all that work on the two distributions needs, and no wheel names a place in a clone.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hatchling.build import build_sdist, build_wheel
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

__all__ = ["build_editable", "build_sdist", "build_wheel"]


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel of an editable install (PEP 660) and return its file name."""
    builder = WheelBuilder(os.getcwd())
    runtime = tomllib.loads(Path("runtime", "pyproject.toml").read_text())["project"]
    builder.metadata.core_raw_metadata.update(
        join_metadata(builder.metadata.core_raw_metadata, runtime)
    )
    return os.path.basename(next(builder.build(directory=wheel_directory, versions=["editable"])))


def join_metadata(compiler: Mapping[str, Any], runtime: Mapping[str, Any]) -> dict[str, Any]:
    """Put the requirements and entry points of the runtime in place of the requirement of it."""
    extras = compiler["optional-dependencies"]
    return {
        "dependencies": [*_inline(compiler["dependencies"], runtime)],
        "optional-dependencies": {name: [*_inline(extras[name], runtime)] for name in extras},
        "entry-points": {**compiler["entry-points"], **runtime["entry-points"]},
    }


def _inline(requirements: Iterable[str], runtime: Mapping[str, Any]) -> Iterator[str]:
    """Replace `njpy-runtime[a,b]` by what the runtime and its extras `a` and `b` require."""
    for text in requirements:
        requirement = Requirement(text)
        if requirement.name != runtime["name"]:
            yield text
            continue
        yield from runtime["dependencies"]
        for extra in sorted(requirement.extras):
            yield from _inline(runtime["optional-dependencies"][extra], runtime)
