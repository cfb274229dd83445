"""Running workflows again. DBOS looks for interrupted workflows and for results once a second; in tests it looks more often."""

from __future__ import annotations

from typing import Any

from dbos import DBOS, WorkflowHandle, _core, _dbos

SECONDS = 0.03


def poll_often() -> None:
    """Call this before each launch."""
    _core.DEFAULT_POLLING_INTERVAL = SECONDS
    queue = _dbos._get_or_create_dbos_registry().get_internal_queue()
    queue._polling_interval_sec = SECONDS


def replay(identity: str, first_step: int) -> Any:
    """Run a workflow again that has stored the steps before `first_step` only."""
    handle: WorkflowHandle[Any] = DBOS.fork_workflow(identity, first_step)
    return handle.get_result(polling_interval_sec=SECONDS)
