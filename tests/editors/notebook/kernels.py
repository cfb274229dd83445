"""Kernels of this Python for the tests of notebooks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

KERNEL = "njpy-test"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Yield a kernel of this Python, found by its name."""
    folder = tmp_path_factory.mktemp("jupyter")
    spec = folder / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "test", "language": "python"}))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JUPYTER_PATH", str(folder))
        environment.setenv("IPYTHONDIR", str(folder / "ipython"))
        yield
