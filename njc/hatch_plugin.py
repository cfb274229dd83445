"""The build hook for hatchling: adds the compiled file of each `.njpy` file to a wheel.

    [build-system]
    requires = ["hatchling", "njpy"]
    build-backend = "hatchling.build"

    [tool.hatch.build.hooks.njc]

Editable installs are not changed: use `njc.hook`, or build in place.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from njc.project.units import SUFFIX
from njc.project.wheel import compile_wheel_files
from njc.static.write import fill_locked
from njrt.errors import ConfigurationError


class NaturalBuildHook(BuildHookInterface[Any]):
    """Compiles into a temporary directory; hatchling adds the files to the wheel."""

    PLUGIN_NAME = "njc"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile all natural code that the wheel includes."""
        if self.target_name != "wheel" or version == "editable":
            return
        sources = {
            file.distribution_path.replace(os.sep, "/"): Path(file.path)
            for file in self.build_config.builder.recurse_included_files()
            if file.path.endswith(SUFFIX)
        }
        try:
            compiled = compile_wheel_files(sources, Path(self.root), fill_locked)
        except ConfigurationError as error:
            self.app.abort(str(error))
        self._folder = tempfile.TemporaryDirectory(prefix="njc-")
        for path, data in compiled.items():
            file = Path(self._folder.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            build_data["force_include"][str(file)] = path

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary directory."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


@hookimpl
def hatch_register_build_hook() -> type[NaturalBuildHook]:
    """Register the hook."""
    return NaturalBuildHook
