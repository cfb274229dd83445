"""The command for setuptools: adds the compiled file of each `.njpy` file to a wheel.

    [build-system]
    requires = ["setuptools>=70.1", "njpy"]
    build-backend = "setuptools.build_meta"

    [tool.setuptools.cmdclass]
    build_py = "njc.setuptools_plugin.BuildNatural"

Source distributions contain the `.njpy` files and njc.lock. Editable installs are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

from njc.project.config import LOCK_FILE_NAME
from njc.project.units import SUFFIX
from njc.project.wheel import compile_wheel_files
from njc.static.write import fill_locked
from njrt.errors import ConfigurationError


class BuildNatural(build_py):  # type: ignore[misc]
    """`build_py`, which also compiles natural code."""

    editable_mode: bool = False

    def run(self) -> None:
        """Copy Python code and compile natural code into the build directory."""
        super().run()
        if self.editable_mode:
            return
        try:
            sources = dict(self._find_natural_sources())
            compiled = compile_wheel_files(sources, Path.cwd(), fill_locked)
        except ConfigurationError as error:
            raise CompileError(str(error)) from None
        for path, data in compiled.items():
            file = Path(self.build_lib, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def get_source_files(self) -> list[str]:
        """Return the files of a source distribution."""
        return [
            *super().get_source_files(),
            *(str(file) for _, file in self._find_natural_sources()),
            *(str(file) for file in Path().glob(LOCK_FILE_NAME)),
        ]

    def _find_natural_sources(self) -> Iterator[tuple[str, Path]]:
        for package in self.packages or ():
            for file in sorted(Path(self.get_package_dir(package)).glob(f"*{SUFFIX}")):
                yield f"{package.replace('.', '/')}/{file.name}", file
        for module in self.py_modules or ():
            package, _, name = module.rpartition(".")
            file = Path(self.get_package_dir(package), name + SUFFIX)
            if file.exists():
                yield module.replace(".", "/") + SUFFIX, file
