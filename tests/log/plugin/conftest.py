"""pytest run on projects of natural code, with the plugin given by name, be it installed or not."""

from __future__ import annotations

import importlib
import os
import pkgutil

import pytest

import njrt

# A project that is run in this process forgets the modules that it was the first to import. The runtime
# must not be among them, or there would be two of it.
for module in pkgutil.walk_packages(njrt.__path__, "njrt."):
    importlib.import_module(module.name)

COMPILED = '''
import njrt as _nj


def double(number):
    answer: _nj.Any
    _nj.run(
        """natural
        Bind <:answer> to twice <number>.
        """,
        lambda: (answer, number),
        writes="answer",
        at="doubling.njpy:2",
    )
    return answer
'''


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project with one natural function, in an environment that configures no model."""
    for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    # The other plugins of this environment are not tested here, and take a second to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(doubling=COMPILED)
    pytester.makeini("[pytest]\naddopts = -p no:njrt -p njrt.pytest_plugin\n")
    return pytester
