"""What the adapter can do, as it tells its clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CAPABILITIES: Mapping[str, Any] = {
    "supportsConfigurationDoneRequest": True,
    "supportsStepBack": True,
    "supportsSetVariable": True,
    "supportsConditionalBreakpoints": True,
    "supportsFunctionBreakpoints": True,
    "supportsDataBreakpoints": True,
    "supportsRestartFrame": True,
    "supportsRestartRequest": True,
    "supportsTerminateRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsCompletionsRequest": True,
    "supportsExceptionInfoRequest": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "refusal",
            "label": "Refused effects",
            "description": "After an effect of the model that was refused",
        },
        {
            "filter": "type",
            "label": "Values of a wrong type",
            "description": "After an output that does not have its type",
        },
        {
            "filter": "limit",
            "label": "Limits",
            "description": "At the exit of a block that exceeded a limit",
        },
        {
            "filter": "divergence",
            "label": "Divergence",
            "description": "Where a repeated step is not what it was",
            "default": True,
        },
    ],
}
