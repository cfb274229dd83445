"""The first lines and the last line of a compiled file: its source, and its line map.

    # compiled by njc 0.1.0 from mailbox.njpy (sha256 e0f5d87db895d9d5, abi 1)
    # do not edit: change mailbox.njpy and build again
    ...
    # njc lines 1:1 2=1 4:2 14=12 16:12 21=12 30:15 sha256 8a4145ded8909568

The first digest is of the source, the last of everything above it. Files that njc did not write,
edited files and outdated files can therefore be recognised without other records.
"""

from __future__ import annotations

import hashlib
import re

from njc import __version__
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import OPTION_NAMES, Options
from njrt.data.records import record

ABI = 1
"""The version of the contract between compiled files and the runtime."""

_HEADER = re.compile(
    rb"(?:^|(?<=\r))(?:\xef\xbb\xbf)?# compiled by njc (?P<version>\S+) "
    rb"from (?P<path>[^\r\n]+) \(sha256 (?P<digest>[0-9a-f]{16})"
    rb"(?:, options (?P<options>[0-9a-f]{16}))?(?:, code (?P<code>[0-9a-f]{16}))?, abi"
    rb" (?P<abi>\d+)\)(?=[\r\n])",
    re.MULTILINE,
)
_CLOSING_COMMENT = re.compile(
    rb"(?:^|(?<=\r))# njc lines (?P<lines>[\d:= ]*) sha256 (?P<digest>[0-9a-f]{16})\s*\Z",
    re.MULTILINE,
)


@record
class FileHeader:
    """A compilation's version, source and contract; equal headers mean equal compiled files."""

    version: str
    path: str
    digest: str
    """A short SHA-256 of the source's bytes, line ends as `\\n`."""
    options: str | None
    """A short SHA-256 of the project's options; None if it sets none."""
    abi: int
    code: str | None = None
    """A short SHA-256 of the code written for blocks; None without such code."""


def make_header(
    source: SourceFile, project: Options, version: str = __version__, written: str = ""
) -> FileHeader:
    """Return the header for a compilation of `source`; `written` is all code written for it."""
    settings = [
        (name, value)
        for name in OPTION_NAMES
        # Who has written the code changes no file: `written` is in the header.
        if (value := getattr(project, name)) is not None and name != "writer"
    ]
    options = _hash_bytes(ascii(settings).encode()) if settings else None
    code = _hash_bytes(written.encode()) if written else None
    return FileHeader(version, source.path, _hash_text(source.data), options, ABI, code)


def format_header(header: FileHeader) -> tuple[str, str]:
    """Format the header as comments."""
    options = f", options {header.options}" if header.options else ""
    code = f", code {header.code}" if header.code else ""
    return (
        f"# compiled by njc {header.version} from {header.path} "
        f"(sha256 {header.digest}{options}{code}, abi {header.abi})",
        f"# do not edit: change {header.path} and build again",
    )


def parse_header(compiled: bytes) -> FileHeader | None:
    """Read the header of a compiled file; None for a file that njc did not write."""
    found = _HEADER.search(compiled[:4096])
    if found is None:
        return None
    return FileHeader(
        found["version"].decode(errors="replace"),
        found["path"].decode(errors="replace"),
        found["digest"].decode(),
        found["options"].decode() if found["options"] else None,
        int(found["abi"]),
        found["code"].decode() if found["code"] else None,
    )


def format_closing_comment(lines: str, content: bytes) -> str:
    """Return a compiled file's last comment: its line map, and a digest of everything above."""
    return f"# njc lines {lines} sha256 {_hash_text(content)}"


def read_line_map_text(compiled: bytes) -> str | None:
    """Read the line map from the end of a compiled file, as text."""
    closing = _match_closing_comment(compiled)
    return closing["lines"].decode() if closing else None


def is_intact(compiled: bytes) -> bool:
    """Return whether a compiled file is unchanged, apart from line ends."""
    closing = _match_closing_comment(compiled)
    if closing is None:
        return False
    return _hash_text(compiled[: closing.start()]) == closing["digest"].decode()


def _match_closing_comment(compiled: bytes) -> re.Match[bytes] | None:
    """Match the last comment of a compiled file, without reading the lines above it."""
    return _CLOSING_COMMENT.match(compiled, max(compiled.rfind(b"# njc lines "), 0))


def _hash_text(content: bytes) -> str:
    return _hash_bytes(content.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
