"""A batch's rows, and the lines of its results.

    {"mail": "Please pay 84.20 EUR."}      a row: a call's keyword arguments

    {"index": 0, "result": "invoice", "usage": {"calls": 1, ...}, "seconds": 1.2}
    {"index": 1, "line": 2, "error": {"type": "ServerError", "message": "..."}, "usage": {...}, "seconds": 3.4}

Rows are read one at a time. Empty lines are skipped. A line that is not a JSON object, or has a duplicate key,
becomes a row that fails.
"""

from __future__ import annotations

import hashlib
import json
import operator
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from njc.project.units import explaining_failure, format_path
from njc.target import InvalidRowError
from njrt.dataclass_json import make_json_value
from njrt.errors import (
    AuthenticationError,
    BudgetError,
    ConfigurationError,
    CostLimitError,
    ModelError,
    ModelNotFoundError,
    NaturalError,
    StoreError,
)
from njrt.message_json import format_json_line
from njrt.messages import read_float
from njrt.records import asdict, astuple, record

BUDGET_OPTION = "--max-{}"
"""The name of the whole batch's limit in messages."""

_MAX_REASONS, _MAX_REASON_LINES, _MAX_REASON_CHARS = 5, 5, 200


@record
class BatchRow:
    """A line in the file of rows: its index from 0, its text, a digest of the text, and its line number."""

    index: int
    text: bytes
    digest: str
    line: int

    def parse(self) -> dict[str, Any]:
        """Return the arguments in the row; raises InvalidRowError."""
        try:
            arguments = json.loads(
                self.text.decode(), object_pairs_hook=_make_object, parse_float=read_float
            )
        except UnicodeDecodeError as error:
            raise InvalidRowError(f"not UTF-8: {error.reason} at byte {error.start}") from None
        except json.JSONDecodeError as error:
            raise InvalidRowError(f"not JSON: {error.msg} at column {error.colno}") from None
        except InvalidRowError:
            raise
        except (ValueError, RecursionError) as error:  # too many digits, or nested too deep
            raise InvalidRowError(f"not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise InvalidRowError("not a JSON object with the arguments of one call")
        return arguments

    def make_result(self, result: Any, usage: RowUsage, seconds: float) -> RowOutcome:
        """Return the outcome of a call that returned; it has failed if the result has no JSON form."""
        try:
            line = _format_line(self.index, {"result": make_json_value(result)}, usage, seconds)
        except Exception as error:  # also from the result's own methods
            reason = str(error).partition("\n")[0]
            message = f"the result, a {type(result).__name__}, has no JSON form: {reason}"
            return self.make_failure(TypeError(message), usage, seconds)
        return RowOutcome(self.index, line, False, usage)

    def make_failure(self, error: BaseException, usage: RowUsage, seconds: float) -> RowOutcome:
        """Return the outcome of a call that raised an exception."""
        described = {"type": type(error).__name__, "message": describe_error(error)}
        if isinstance(error, NaturalError) and error.place:
            described["place"] = error.place
        line = _format_line(self.index, {"line": self.line, "error": described}, usage, seconds)
        stop = None
        if isinstance(error, NaturalError) and _concerns_all_rows(error):
            stop = error
            stop.run = None  # the outcome is sent between processes
        is_outage = isinstance(error, ModelError | DeadProcessError) and stop is None
        return RowOutcome(self.index, line, True, usage, stop, is_outage)


def read_rows(path: Path, most: int | None = None) -> Iterator[BatchRow]:
    """Yield a file's rows, at most `most`."""
    with explaining_failure(f"read {format_path(path)}"), path.open("rb") as file:
        index = 0
        for number, line in enumerate(file, 1):
            text = line.removeprefix(b"\xef\xbb\xbf").strip() if not index else line.strip()
            if not text:
                continue
            if most is not None and index >= most:
                return
            yield BatchRow(index, text, hashlib.sha256(text).hexdigest()[:16], number)
            index += 1


def check_rows(path: Path) -> None:
    """Raise ConfigurationError if the rows cannot be read repeatedly, or are not UTF-8."""
    if path.exists() and not path.is_file():
        raise ConfigurationError(
            f"{path} is not a regular file; rows are read several times: save them in a file first"
        )
    first = next(read_rows(path), None)
    if first is not None and first.text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise ConfigurationError(f"{path} is in UTF-16; save it in UTF-8")


class DeadProcessError(RuntimeError):
    """The process that called the function for a row died, or could not send the result."""


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidRowError(f"the key `{name}` is there more than once")
    return made


@record
class RowUsage:
    """The usage of a row's model calls; `usd` omits calls without a known price."""

    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0

    def __add__(self, other: RowUsage) -> RowUsage:
        return RowUsage(*map(operator.add, astuple(self), astuple(other)))


@record
class RowOutcome:
    """The outcome of a row's call: its line in the results, and its usage.

    `stop` is the reason why the whole batch must stop, such as a wrong key; the row is then not done. `is_outage` marks
    a row that failed because the server did not answer, or because its process died.
    """

    index: int
    line: str
    failed: bool
    usage: RowUsage
    stop: NaturalError | None = None
    is_outage: bool = False


def _concerns_all_rows(error: NaturalError) -> bool:
    """Return whether other rows would also fail with this error."""
    match error:
        case ConfigurationError() | AuthenticationError() | ModelNotFoundError() | StoreError():
            return True
        case BudgetError():  # not a budget of a run, a `with` or a tenant, which is the row's
            is_shared = error.period in ("", "total") or error.renews is not None
            return is_shared and not error.owner
        case CostLimitError():
            return BUDGET_OPTION.format("usd") in str(error)
    return False


def describe_error(error: BaseException) -> str:
    """Return the message of an exception; never raises."""
    try:
        return str(error.args[0]) if isinstance(error, NaturalError) and error.args else str(error)
    except Exception:
        return "(its message cannot be shown)"


def describe_failed_rows(results: Iterable[str]) -> Iterator[str]:
    """Yield the reasons why rows failed, the most frequent first, each with the first line numbers."""
    lines: dict[str, list[int]] = {}
    for result in map(json.loads, results):
        error = result["error"]
        reason = f"{error['type']}: {error['message']}".partition("\n")[0][:_MAX_REASON_CHARS]
        lines.setdefault(reason, []).append(result.get("line", result["index"] + 1))
    ranked = sorted(lines.items(), key=lambda item: -len(item[1]))
    for reason, numbers in ranked[:_MAX_REASONS]:
        more = ", ..." if len(numbers) > _MAX_REASON_LINES else ""
        places = ", ".join(map(str, numbers[:_MAX_REASON_LINES])) + more
        yield f"{len(numbers):,} failed, line {places}: {reason}"
    if others := ranked[_MAX_REASONS:]:
        count = sum(len(numbers) for _, numbers in others)
        yield f"{count:,} failed for {len(others):,} other reasons, which are in the results"


def _format_line(index: int, fields: dict[str, Any], usage: RowUsage, seconds: float) -> str:
    rest = {"usage": asdict(usage), "seconds": round(seconds, 3)}
    return format_json_line({"index": index, **fields, **rest})
