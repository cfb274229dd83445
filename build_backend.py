"""The build backend: hatchling's, except that what is built from the repository itself has the runtime in it.

    pip install .           njc and njrt; the requirements of njpy and of njpy-runtime
    pip install -e .        the same, from the clone, and the command of spsbench
    a source distribution   njpy alone; its wheel requires njpy-runtime of the same version

So one install of the repository, by its path or its Git URL, is enough where no index has the runtime. Releases are built
from the source distributions, and no wheel names a place in a clone.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hatchling.build import build_sdist
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.requirements import Requirement

__all__ = ["RequirementsHook", "build_editable", "build_sdist", "build_wheel"]


BENCHMARK = Path("spsbench", "pyproject.toml")


class RequirementsHook(MetadataHookInterface):
    """Takes the requirements from the table of the hook: installers do not read those of `[project]` from a wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the requirements and extras, unless a source distribution has brought them."""
        for name in ("dependencies", "optional-dependencies"):
            metadata.setdefault(name, self.config[name])


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel and return its file name."""
    return _build(wheel_directory, "standard")


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel of an editable install (PEP 660) and return its file name."""
    return _build(wheel_directory, "editable")


def _build(wheel_directory: str, version: str) -> str:
    builder = WheelBuilder(os.getcwd())
    project = Path("runtime", "pyproject.toml")
    if project.exists() and builder.metadata.core:  # which calls the hook
        runtime = tomllib.loads(project.read_text())["project"]
        metadata = builder.metadata.core_raw_metadata
        metadata.update(join_metadata(metadata, runtime))
        if version == "editable":
            metadata["scripts"] |= tomllib.loads(BENCHMARK.read_text())["project"]["scripts"]
        builder.target_config["packages"] = [*builder.target_config["packages"], "runtime/njrt"]
    return os.path.basename(next(builder.build(directory=wheel_directory, versions=[version])))


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
