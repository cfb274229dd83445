"""Findings for other programs: JSON, annotations of GitHub, or SARIF for code scanning.

json      [{"code": "NJ201", "severity": "error", "path": "mailbox.njpy", "line": 12, ...}]
github    ::error file=mailbox.njpy,line=12,col=14,title=NJ201::`quer` is not defined here
sarif     {"version": "2.1.0", "runs": [{"tool": ..., "results": [...]}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from njc import __version__
from njc.frontend.diagnostics import CODES, Diagnostic

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def format_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Write findings as a JSON list, one object each."""
    found = [asdict(diagnostic) for diagnostic in diagnostics]
    for each in found:
        del each["imports"]  # the correction of an editor is the replacement alone
    return json.dumps(found, indent=2, ensure_ascii=False)


def format_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Write findings as workflow commands, which GitHub shows at the lines of a pull request."""
    return "\n".join(map(_format_annotation, diagnostics))


def _format_annotation(diagnostic: Diagnostic) -> str:
    place = {
        "file": diagnostic.path,
        "line": diagnostic.line,
        "endLine": diagnostic.end_line,
        "col": diagnostic.column,
        "endColumn": diagnostic.end_column,
        "title": diagnostic.code,
    }
    if diagnostic.end_line != diagnostic.line:
        del place["col"], place["endColumn"]
    properties = ",".join(f"{name}={_escape_property(str(value))}" for name, value in place.items())
    message = diagnostic.message + (f"\n{diagnostic.hint}" if diagnostic.hint else "")
    level = "notice" if diagnostic.severity == "hint" else diagnostic.severity
    return f"::{level} {properties}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


_SARIF_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}


def format_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Write findings as a SARIF 2.1.0 log."""
    rules = sorted({diagnostic.code for diagnostic in diagnostics})
    driver = {
        "name": "njc",
        "version": __version__,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": CODES[code].title},
                "fullDescription": {"text": CODES[code].explanation},
                "defaultConfiguration": {"level": _SARIF_LEVELS[CODES[code].severity]},
            }
            for code in rules
        ],
    }
    results = [
        _make_sarif_result(diagnostic, rules.index(diagnostic.code)) for diagnostic in diagnostics
    ]
    log = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _make_sarif_result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{diagnostic.message}; {diagnostic.hint}" if diagnostic.hint else diagnostic.message
    region = {
        "startLine": diagnostic.line,
        "startColumn": diagnostic.column,
        "endLine": diagnostic.end_line,
        "endColumn": diagnostic.end_column,
    }
    location = {"artifactLocation": {"uri": diagnostic.path}, "region": region}
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }
