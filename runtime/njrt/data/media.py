"""Images, documents and audio that a block shows to its model.

    photo = njrt.Image.from_path("claim.jpg")
    \"\"\"natural
    Put into <:damaged: bool> whether the car in <photo> is damaged.
    \"\"\"

The file itself is sent to the model beside the text that names it. Files are identified by their
content: equal bytes have the same digest. A file that is given by its URL is not downloaded here:
the model's vendor does that.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import ClassVar, Literal, Self
from urllib.parse import unquote_to_bytes, urlsplit

MediaKind = Literal["image", "document", "audio"]

SUFFIXES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".html": "text/html",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".m4a": "audio/mp4",
}
"""Media types by file name extension."""

_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF.{4}WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"ID3|\xff[\xfb\xf3\xf2]"), "audio/mpeg"),
    (re.compile(rb"fLaC"), "audio/flac"),
    (re.compile(rb"OggS"), "audio/ogg"),
)
"""The first bytes of files with some media types."""

_OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
}
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+*-]+")


def find_media_type(data: bytes) -> str | None:
    """Return the media type that a file's first bytes indicate; None if they are not known."""
    return next((kind for signature, kind in _SIGNATURES if signature.match(data)), None)


@dataclass(frozen=True, repr=False)
class Media:
    """A file: its bytes and their media type, or its URL.

    If the type is not given, the first bytes determine it. `identity` is the digest that identifies
    the file, if it differs from the digest of the bytes. Raises ValueError for a file that does not
    fit this class.
    """

    data: bytes = b""
    media_type: str = ""
    url: str = ""
    identity: str = field(default="", compare=False)

    kind: ClassVar[MediaKind]
    was_made: ClassVar[bool] = False
    """Whether this process has made a file: if not, blocks' variables need no search for files."""

    def __new__(cls, *_: object, **__: object) -> Self:
        """Make a file; `pickle` and `copy` call this too."""
        Media.was_made = True
        return super().__new__(cls)

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.data, bytes | bytearray | memoryview):
            raise TypeError(
                f"{name} needs bytes, not {type(self.data).__name__}; for a file use"
                f" {name}.from_path"
            )
        for what, text in (("URL", self.url), ("media type", self.media_type)):
            if not isinstance(text, str):
                raise TypeError(f"the {what} of {name} must be a text, not {type(text).__name__}")
        address = urlsplit(self.url)
        if self.url and not (address.scheme in ("http", "https") and address.hostname):
            raise ValueError(f"{name} needs a URL with http or https, not {self.url[:80]!r}")
        data = bytes(self.data)
        if bool(data) == bool(self.url):
            raise ValueError(f"{name} needs either the bytes of a file or its URL")
        given = _OTHER_NAMES.get(self.media_type.lower(), self.media_type.lower())
        found = find_media_type(data)
        media_type = given or found or SUFFIXES.get(Path(address.path).suffix.lower(), "")
        if not media_type and self.url:
            usual = {"image": "image/*", "audio": "audio/*", "document": "application/pdf"}
            media_type = usual[self.kind]
        if not media_type:
            raise ValueError(
                f"{name} cannot tell the type of these {len(data):,} bytes; pass media_type, such"
                f" as {_EXAMPLES[self.kind]!r}"
            )
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise ValueError(
                f"{self.media_type!r} is not a media type such as {_EXAMPLES[self.kind]!r}"
            )
        if given and found and given != found:
            raise ValueError(f"these bytes are {found}, not {given}")
        if (kind := _find_kind(media_type)) != self.kind:
            raise ValueError(f"{name} cannot hold {media_type}; use {kind.capitalize()}")
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "media_type", media_type)

    @classmethod
    def from_path(cls, path: str | PathLike[str], media_type: str = "") -> Self:
        """Read a file. Its type is determined by its first bytes, or by its extension."""
        path = Path(path)
        data = path.read_bytes()
        if not data:
            raise ValueError(f"the file {path} is empty")
        found = find_media_type(data) or SUFFIXES.get(path.suffix.lower(), "")
        return cls(data, media_type or found)

    @classmethod
    def from_url(cls, url: str, media_type: str = "") -> Self:
        """Return the file at a URL, which the model's vendor downloads; decode a `data:` URL."""
        if not isinstance(url, str) or url[:5].lower() != "data:":
            return cls(url=url, media_type=media_type)
        head, comma, text = url[5:].partition(",")
        if not comma:
            raise ValueError("a data URL needs a comma before its data")
        data = unquote_to_bytes(text)
        if head.lower().endswith(";base64"):
            try:
                data = base64.b64decode(b"".join(data.split()), validate=True)
            except ValueError as error:
                raise ValueError(f"the data of this data URL is not base64: {error}") from None
        return cls(data, media_type or head.partition(";")[0])

    @cached_property
    def digest(self) -> str:
        """The file's identity: the SHA-256 of its bytes or its URL, in hexadecimal."""
        return self.identity or hashlib.sha256(self.data or self.url.encode()).hexdigest()

    @cached_property
    def base64(self) -> str:
        """The bytes in Base64."""
        return base64.b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """The file's URL, or a `data:` URL with its bytes."""
        return self.url or f"data:{self.media_type};base64,{self.base64}"

    @property
    def shown_url(self) -> str:
        """The URL without its query, which may contain a signature; empty without a URL."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}{parts.path}" if self.url else ""

    @property
    def suffix(self) -> str:
        """The file name extension for this type, such as `.png`; empty if none is known."""
        return next((end for end, kind in SUFFIXES.items() if kind == self.media_type), "")

    def __repr__(self) -> str:
        what = self.shown_url or f"{self.media_type}, {len(self.data):,} bytes"
        return f"<{type(self).__name__} {what}, sha256 {self.digest[:12]}>"


@dataclass(frozen=True, repr=False)
class Image(Media):
    """A picture: PNG, JPEG, GIF or WebP."""

    kind = "image"


@dataclass(frozen=True, repr=False)
class Document(Media):
    """A document: PDF, or text such as Markdown and CSV."""

    kind = "document"


@dataclass(frozen=True, repr=False)
class Audio(Media):
    """A recording: WAV or MP3, and what else a model takes."""

    kind = "audio"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file shown beside a message; `name` is its name in the program, such as `photos[0]`."""

    name: str
    media: Media


_EXAMPLES: dict[MediaKind, str] = {
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
}


def _find_kind(media_type: str) -> MediaKind:
    kind = media_type.partition("/")[0]
    return "image" if kind == "image" else "audio" if kind == "audio" else "document"
