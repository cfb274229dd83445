"""Findings for programs: one JSON document, GitHub's annotations, or SARIF for code scanning.

json      [{"code": "NJ201", "severity": "error", "path": "mailbox.njpy", "line": 12, ...}]
github    ::error file=mailbox.njpy,line=12,col=14,title=NJ201::`quer` is not defined here
sarif     {"version": "2.1.0", "runs": [{"tool": ..., "results": [...]}]}
"""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from njc import __version__
from njc.frontend.diagnostics import CODES, Diagnostic

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def format_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Write findings as a JSON list, one object each."""
    return json_.dumps([asdict(each) for each in diagnostics], indent=2, ensure_ascii=False)


def format_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Write findings as workflow commands, which GitHub shows beside the lines of a pull request."""
    return "\n".join(_format_annotation(each) for each in diagnostics)


def _format_annotation(each: Diagnostic) -> str:
    place = {
        "file": each.path,
        "line": each.line,
        "endLine": each.end_line,
        "col": each.column,
        "endColumn": each.end_column,
        "title": each.code,
    }
    if each.end_line != each.line:
        del place["col"], place["endColumn"]
    properties = ",".join(f"{name}={_escape_property(str(value))}" for name, value in place.items())
    message = each.message + (f"\n{each.hint}" if each.hint else "")
    return f"::{each.severity} {properties}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


def format_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Write findings as a SARIF 2.1.0 log."""
    rules = sorted({each.code for each in diagnostics})
    driver = {
        "name": "njc",
        "version": __version__,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": CODES[code].title},
                "fullDescription": {"text": CODES[code].explanation},
                "defaultConfiguration": {"level": CODES[code].severity},
            }
            for code in rules
        ],
    }
    results = [_make_sarif_result(each, rules.index(each.code)) for each in diagnostics]
    log = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }
    return json_.dumps(log, indent=2, ensure_ascii=False)


def _make_sarif_result(each: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{each.message}; {each.hint}" if each.hint else each.message
    region = {
        "startLine": each.line,
        "startColumn": each.column,
        "endLine": each.end_line,
        "endColumn": each.end_column,
    }
    location = {"artifactLocation": {"uri": each.path}, "region": region}
    return {
        "ruleId": each.code,
        "ruleIndex": rule,
        "level": each.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }
