"""Packages that only some installations have.

require_packages("a store on Redis", "njpy-runtime[redis]", "redis")
    ConfigurationError: a store on Redis needs the package `redis`; install it with: pip install "njpy-runtime[redis]"
"""

from __future__ import annotations

from importlib.util import find_spec

from njrt.errors import ConfigurationError


def require_packages(purpose: str, requirement: str, *names: str, otherwise: str = "") -> None:
    """Raise ConfigurationError unless the packages of these import names are installed.

    `purpose` is what needs them, `requirement` what pip is to install, `otherwise` what can be done without them.
    """
    missing = [f"`{name}`" for name in names if find_spec(name) is None]
    if not missing:
        return
    packages, it = ("package", "it") if len(missing) == 1 else ("packages", "them")
    raise ConfigurationError(
        f"{purpose} needs the {packages} {' and '.join(missing)}; "
        f'install {it} with: pip install "{requirement}"'
        + (f", or {otherwise}" if otherwise else "")
    )
