"""Find the files among a block's inputs, which are sent to the model with the text.

    photo = Image.from_path("a.png")            Attachment("photo", <Image ...>)
    claim = Claim(3, photos=[first, second])    Attachment("claim.photos[0]", ...), one for each

Files are `njrt.Image`, `Document` and `Audio`, and Pillow's pictures. They are found in variables,
in lists, tuples and dicts, and in the attributes of the program's objects. Redacted files are left
out: those named like a secret, or in fields with `repr=False`. A file that is reached in several
ways is sent once.

Not detected: files in sets or properties, more than `MAX_DEPTH` levels deep or beyond
`MAX_SEARCHED_ITEMS`, and files that the block's code produces.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from njrt.data.media import Attachment, Image, Media
from njrt.data.outcome import UserValue
from njrt.errors import ConfigurationError
from njrt.values.introspection import is_a, is_exactly, is_user_class, read_attributes
from njrt.values.rendering.hidden_attributes import list_hidden_attributes
from njrt.values.rendering.one_line import find_write_function
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.writer import ValueWriter

MAX_ATTACHMENTS = 100
"""The most files that one block may show, about as many as vendors accept in one request."""

MAX_DEPTH = 4
"""Levels of lists and objects that are searched."""

MAX_SEARCHED_ITEMS = 1_000
"""The most items of one list or dict that are searched for files, and the most values in all."""


def find_attachments(inputs: Mapping[str, UserValue], redactor: Redactor) -> FileSearch:
    """Search the inputs of a block for files; their names are paths of the program."""
    search = FileSearch(redactor)
    if Media.was_made or "PIL.Image" in sys.modules:
        for path, value in inputs.items():
            search.add(path, value, path)
    return search


class FileSearch:
    """Collects the files in values (state: the files found, and the objects searched so far)."""

    def __init__(self, redactor: Redactor) -> None:
        self.found: list[Attachment] = []
        self._files: set[int] = set()
        """Ids of the objects that are files."""
        self._redactor = redactor
        self._seen: set[int] = set()
        self._left = MAX_SEARCHED_ITEMS

    def has(self, value: UserValue) -> bool:
        """Return whether a value is one of the files."""
        return id(value) in self._files

    def add(self, path: str, value: UserValue, label: str, depth: int = 0) -> None:
        """Add the files in `value`, which the program reaches by `path` and names by `label`."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH or id(type(value)) in _PLAIN_TYPES:
            return
        try:
            media = read_media(value)
        except (ValueError, OSError) as error:  # such as a picture with a closed or truncated file
            raise ConfigurationError(
                f"`{path}` cannot be shown to a model: {error}; load or convert it first"
            ) from None
        if media is None:
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._add_parts(path, value, label, depth + 1)
            return
        self._files.add(id(value))
        text = repr(media)
        if self._redactor.write_named(label, media, lambda: text) != text:
            return
        if any(media.digest == file.media.digest for file in self.found):
            return
        if len(self.found) == MAX_ATTACHMENTS:
            raise ConfigurationError(
                f"`{path}` is one file more than the {MAX_ATTACHMENTS} that a block may show; pass"
                " fewer at a time"
            )
        self.found.append(Attachment(path, media))

    def _add_parts(self, path: str, value: UserValue, label: str, depth: int) -> None:
        """Add the files in the items and attributes of a value."""
        for inner, part, name in list_parts(path, value):
            before = len(self.found)
            self.add(inner, part, name or label, depth)
            if len(self.found) > before and inner == f"{path}.{name}":
                writer = ValueWriter(find_write_function, self._redactor)
                if name in list_hidden_attributes(value, writer):
                    del self.found[before:]


_PLAIN_TYPES = frozenset(map(id, (str, bytes, bytearray, bool, int, float, complex, type(None))))
"""The ids of classes without parts: ids, as a metaclass may define how classes are compared."""


def list_parts(path: str, value: UserValue) -> Iterator[tuple[str, UserValue, str]]:
    """Yield the items or attributes that may hold a file, each as path, value and name or ""."""
    if is_exactly(value, list, tuple):
        for index, item in enumerate(value[:MAX_SEARCHED_ITEMS]):
            if id(type(item)) not in _PLAIN_TYPES:
                yield f"{path}[{index}]", item, ""
    elif is_exactly(value, dict):
        for key, item in list(islice(value.items(), MAX_SEARCHED_ITEMS)):
            if id(type(item)) not in _PLAIN_TYPES and is_exactly(key, str, int):
                yield f"{path}[{key!r}]", item, key if type(key) is str else ""
    elif is_user_class(type(value)) and not is_a(value, type):
        for name, part in list(read_attributes(value).items()):
            if type(name) is str and id(type(part)) not in _PLAIN_TYPES:
                yield f"{path}.{name}", part, name


def read_media(value: Any) -> Media | None:
    """Return a value as a file if it is one of ours or Pillow's; else None."""
    if is_a(value, Media):
        media: Media = value
        return media
    picture = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return read_picture(value) if picture is not None and is_a(value, picture) else None


def read_picture(picture: Any) -> Image:
    """Return a Pillow picture as PNG with its pixels' digest: PNG bytes depend on the version."""
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    pixels = hashlib.sha256(f"{picture.mode} {picture.size}".encode())
    pixels.update(picture.convert("RGBA").tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG")
    return Image(file.getvalue(), "image/png", identity=pixels.hexdigest())
