# compiled by njc 0.1.0 from docstring_and_future.njpy (sha256 cb67f1e5d736f27d, abi 1)
# do not edit: change docstring_and_future.njpy and build again
"""A docstring."""

from __future__ import annotations

# The rest of the imports.
import njrt as _nj
import os


def list_files(folder: str) -> list[str]:
    names = os.listdir(folder)
    try:
        _nj.run(
            """natural
    Keep in <:names> only what a person would call a document.
    """,
            lambda: (names,),
            writes="names",
            labels="return",
            at="docstring_and_future.njpy:11",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return names


# njc lines 1=1 3:1 8=6 9:6 15=11 17:12 19=11 26:14 27=15 sha256 a283994fd183763c
