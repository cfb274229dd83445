# compiled by njc 0.3.0 from docstring_and_future.njpy (sha256 cb67f1e5d736f27d, abi 1)
# do not edit: change docstring_and_future.njpy and build again
"""A docstring."""

from __future__ import annotations

# The rest of the imports.
import njrt as _nj
import os


def list_files(folder: str) -> list[str]:
    names = os.listdir(folder)
    _nj.run(
        """natural
    Keep in <:names> only what a person would call a document.
    """,
        lambda: (names,),
        writes="names",
        types=lambda: {"names": list[str]},
        at="docstring_and_future.njpy:11",
        effects="answer",
    )
    return names


# njc lines 1=1 3:1 8=6 9:6 15=11 16:12 18=11 24:14 25=15 sha256 5bbebf96f98dd199
