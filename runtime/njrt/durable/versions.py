"""Which program may go on with a workflow: the one that began it.

    find_version()       "4f0c…"      the digest of the program's natural code and of the modules with workflows and effects

Not part of it: modules without natural code, workflows or effects; modules that are imported later; installed packages; the model and
other settings. A change there shows only where a step differs from the stored one.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from njrt.errors import NaturalError

if TYPE_CHECKING:
    from dbos import WorkflowStatus

UNFINISHED = ["PENDING", "ENQUEUED"]

_functions: list[Callable[..., Any]] = []
"""The functions that are workflows and effects."""


class WorkflowVersionError(NaturalError):
    """The workflow was begun by another version of the program, which must end it."""


class VersionWarning(UserWarning):
    """The database has workflows that this version of the program does not take up."""


def note_function(function: Callable[..., Any]) -> None:
    """Remember a workflow or an effect of the program."""
    _functions.append(function)


def find_version() -> str:
    """Return the version of the program that has been imported so far."""
    modules = {function.__module__ for function in _functions}
    modules |= {name for name, module in list(sys.modules.items()) if has_natural_code(module)}
    texts = {name: read_source(sys.modules.get(name)) for name in modules}
    texts |= {
        f"{function.__module__}.{function.__qualname__}": repr(function.__code__.co_code)
        for function in _functions
        if not texts[function.__module__]
    }
    digest = hashlib.sha256(repr(sorted(texts.items())).encode(errors="replace"))
    return digest.hexdigest()[:16]


def has_natural_code(module: ModuleType) -> bool:
    """Return whether a module is a compiled file: it has the runtime under the name that njc gives it."""
    return getattr(module, "__dict__", {}).get("_nj", module) is sys.modules["njrt"]


def read_source(module: ModuleType | None) -> str:
    """Return the text of a module; empty if there is none."""
    try:
        return "" if module is None else inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def find_other_versions(version: str) -> dict[str, str]:
    """Return the workflows that were interrupted under another version, with it."""
    from dbos import DBOS

    found = DBOS.list_workflows(status=UNFINISHED, load_input=False, load_output=False)
    return {
        workflow.workflow_id: workflow.app_version
        for workflow in found
        if workflow.app_version not in (None, version)
    }


def check_version(workflow: WorkflowStatus | None) -> None:
    """Raise `WorkflowVersionError` if a workflow was begun by another program and has not ended."""
    from dbos import DBOS

    if workflow is None or workflow.status not in UNFINISHED:
        return
    if workflow.app_version not in (None, DBOS.application_version):
        raise WorkflowVersionError(
            f"the workflow {workflow.workflow_id} was begun by version {workflow.app_version} of the program and has not ended; this "
            f"is version {DBOS.application_version}. Run the program that began it until it has ended, or, if its steps are the "
            f"same in this one, launch with version={workflow.app_version!r}"
        )
