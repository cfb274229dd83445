"""Files as inputs of blocks: what they are, how models are sent them, and what is kept of them."""

from __future__ import annotations

import base64
import io
import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import njrt
from conversations import PLAIN
from njrt.block.agent.attachments import MAX_ATTACHMENTS
from njrt.block.session.run_block import run
from njrt.data.media import SUFFIXES, Attachment, Audio, Document, Image, Media, find_media_type
from njrt.data.message_json import message_to_json
from njrt.errors import (
    ConfigurationError,
    PolicyError,
    RecordingMismatchError,
    RejectedRequestError,
)
from njrt.log.cache import make_request_key
from njrt.messages import Request, UserMessage
from njrt.models.request_parts import normalize_messages
from openai_server import OpenAIServer, says
from spsbench.interfaces import make_settings
from vendors import VENDORS

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
PDF = b"%PDF-1.4\n1 0 obj\n"
FILES: dict[str, Media] = {
    "png": Image(PNG),
    "jpeg": Image(b"\xff\xd8\xff\xe0 picture"),
    "gif": Image(b"GIF89a picture"),
    "webp": Image(b"RIFF\x01\x02\x03\x04WEBPVP8 "),
    "image by URL": Image(url="https://example.org/a.png?signature=s3cret"),
    "pdf": Document(PDF),
    "pdf by URL": Document(url="https://example.org/a.pdf"),
    "text": Document(b"h\xc3\xa9llo", "text/plain"),
    "csv": Document(b"a,b\n1,2\n", "text/csv"),
    "wav": Audio(b"RIFF\x01\x02\x03\x04WAVEfmt "),
    "mp3": Audio(b"ID3\x03 sound"),
    "flac": Audio(b"fLaC sound"),
    "audio by URL": Audio(url="https://example.org/a.mp3"),
    "tiff": Image(b"II*\x00 picture", "image/tiff"),
    "word": Document(b"PK\x03\x04", "application/msword"),
}

BOTH = {"png", "jpeg", "gif", "webp", "image by URL", "pdf", "text", "csv"}
TAKEN = {"openai": BOTH | {"tiff", "word", "wav", "mp3"}, "anthropic": BOTH | {"pdf by URL"}}
"""Those that the adapters send; the vendor itself says whether it takes TIFF and Word."""


def ask_about(*files: Media) -> Request:
    shown = tuple(Attachment(f"file{index}", media) for index, media in enumerate(files))
    return replace(PLAIN, messages=(UserMessage("What is it?", shown),))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_vendors_are_sent_what_they_take(vendor, name):
    request = ask_about(FILES[name])
    with vendor.server([vendor.say("fine")]) as server:
        model = vendor.connect(server)
        if name not in TAKEN[vendor.name] or name in ("tiff", "word"):
            is_sent = name in TAKEN[vendor.name]
            refused = r"`file0` is .* which this model cannot be sent"
            words = "rejected the request" if is_sent else refused
            with pytest.raises(RejectedRequestError, match=words):
                model.ask(request)
            assert bool(server.seen) is is_sent
            return
        assert model.ask(request).message.text == "fine"
        content = server.seen[0].body["messages"][-1]["content"]
    assert content[0]["text"].startswith("<file0>:")
    assert content[-1]["text"] == "What is it?"


def test_the_bytes_arrive_as_they_are():
    with OpenAIServer([says("fine")]) as server:
        VENDORS["openai"].connect(server).ask(ask_about(FILES["png"], FILES["pdf"], FILES["wav"]))
        parts = [
            part for part in server.seen[0].body["messages"][1]["content"] if part["type"] != "text"
        ]
    picture, document, sound = parts
    assert base64.b64decode(picture["image_url"]["url"].partition(",")[2]) == PNG
    assert base64.b64decode(document["file"]["file_data"].partition(",")[2]) == PDF
    assert document["file"]["filename"] == "file1.pdf"
    assert base64.b64decode(sound["input_audio"]["data"]) == FILES["wav"].data


def test_pydantic_ai_is_sent_them_as_its_own_types():
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from njrt.models.pydantic_ai import PydanticAI

    seen: list[Any] = []

    def reply(messages: Any, info: Any) -> ModelResponse:
        seen.append(messages[0].parts[-1].content)
        return ModelResponse(parts=[TextPart("fine")])

    PydanticAI(FunctionModel(reply)).ask(ask_about(*FILES.values()))
    label, picture = seen[0][:2]
    assert (label, picture.data, picture.media_type) == ("<file0>:", PNG, "image/png")
    kinds = [getattr(part, "kind", "") for part in seen[0] if not isinstance(part, str)]
    assert kinds.count("binary") == 12
    assert {"image-url", "document-url", "audio-url"} < set(kinds)


def test_a_model_of_pydantic_ai_that_takes_no_such_file_says_so():
    pytest.importorskip("pydantic_ai")
    from test_pydantic_ai_model import LenientServer, connect

    with LenientServer([]) as server, pytest.raises(RejectedRequestError):
        connect(server).ask(ask_about(Document(b"PK\x03\x04", "application/x-nothing")))


# ── what a file is ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Image(b""), "either the bytes of a file or its URL"),
        (lambda: Image(PNG, url="https://example.org/a.png"), "either the bytes"),
        (lambda: Image(b"what is this"), "cannot tell the type of these 12 bytes"),
        (lambda: Image(PDF), "cannot hold application/pdf; use Document"),
        (lambda: Document(PNG), "use Image"),
        (lambda: Audio(PDF), "use Document"),
        (lambda: Image(PNG, "image/jpeg"), "these bytes are image/png, not image/jpeg"),
        (lambda: Image(PNG, "picture"), "not a media type"),
        (lambda: Image(b"xx", "image/a b"), "not a media type"),
        (lambda: Image(url="file:///etc/passwd"), "http or https"),
        (lambda: Image(url="ftp://example.org/a.png"), "http or https"),
        (lambda: Image.from_url("data:image/png;base64"), "comma"),
        (lambda: Image.from_url("data:image/png;base64,####x"), "not base64"),
        (lambda: Image.from_url("data:image/png;base64,!!iVBORw0KGgo="), "not base64"),
        (lambda: Image.from_url("data:image/png;base64,"), "either the bytes"),
        (lambda: Image.from_url("http://"), "http or https"),
        (lambda: Image.from_url("https:///a.png"), "http or https"),
        (lambda: Image.from_url("//example.org/a.png"), "http or https"),
        (lambda: Image.from_url("http://[::1/a.png"), "Invalid IPv6"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_the_class_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("data", ["text", None, 3, Path("a.png")])
def test_only_bytes_are_taken_for_bytes(data):
    with pytest.raises(TypeError, match=r"Image\.from_path"):
        Image(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Image.from_url(None),
        lambda: Image.from_url(b"https://example.org/a.png"),
        lambda: Image(url=Path("a.png")),
        lambda: Image(PNG, 5),
        lambda: Image(PNG, None),
    ],
)
def test_only_text_is_taken_for_a_url_or_a_type(make):
    with pytest.raises(TypeError, match="must be a text"):
        make()


def test_any_bytes_are_a_file_of_the_type_that_they_begin_with_or_refused():
    """Equal bytes have equal digests, and no bytes are a file of the wrong kind."""
    chance = random.Random(7)
    heads = [file.data[:12] for file in FILES.values() if file.data] + [
        b"",
        b"RIFF",
        b"%PDF",
        b"\xff",
    ]
    made = 0
    for _ in range(2_000):
        data = chance.choice(heads)[: chance.randrange(14)] + chance.randbytes(chance.randrange(12))
        cls = chance.choice((Image, Document, Audio))
        try:
            media = cls(data)
        except ValueError:
            continue
        made += 1
        assert media.media_type == find_media_type(data)
        assert media == cls(bytearray(data))
        assert media.digest == cls(memoryview(data)).digest
        assert base64.b64decode(media.base64) == data
        assert len(repr(media)) < 120
    assert made > 100


def test_a_path_gives_the_type_by_its_bytes_or_its_name(tmp_path):
    for suffix, media_type in SUFFIXES.items():
        path = tmp_path / f"file{suffix}"
        path.write_bytes(b"some bytes")
        kind = {"image": Image, "audio": Audio}.get(media_type.partition("/")[0], Document)
        assert kind.from_path(str(path)).media_type == media_type
    picture = tmp_path / "picture.dat"
    picture.write_bytes(PNG)
    assert Image.from_path(picture).media_type == "image/png"
    picture.write_bytes(b"")
    with pytest.raises(ValueError, match="is empty"):
        Image.from_path(picture)
    with pytest.raises(FileNotFoundError):
        Image.from_path(tmp_path / "none.png")


def test_a_data_url_is_decoded_and_no_other():
    assert Image.from_url(f"data:image/png;base64,{base64.b64encode(PNG).decode()}") == Image(PNG)
    assert Document.from_url("data:text/plain,a%20b").data == b"a b"
    assert Document.from_url("DATA:text/plain;charset=utf-8;BASE64,YSBi%0AK2M%3D").data == b"a b+c"
    assert Image.from_url("https://example.org/a.jpeg").media_type == "image/jpeg"
    assert "s3cret" not in repr(FILES["image by URL"])


# ── files in the variables of a block ────────────────────────────────────────────────────────────────


@dataclass
class Claim:
    number: int
    photos: list[Image]
    letter: Document | None = None
    passport: Image | None = field(default=None, repr=False)


def see(values: dict[str, Any], effects: str = "answer", **settings: Any) -> Any:
    """Return what a block whose inputs are these values binds to `seen`."""
    names = ", ".join(values)
    scope: dict[str, Any] = {}
    exec(
        f"def f(run, {names}, seen=None):\n    run(lambda: ({names}, seen))\n    return seen", scope
    )
    shown = " ".join(f"<{name}>" for name in values)
    prompt = f"natural\nLook at {shown} and put what is there into <:seen>."
    with njrt.using(**settings):
        return scope["f"](
            lambda variables: run(prompt, variables, writes="seen", at="a.njpy:1", effects=effects),
            **values,
        )


def look(values: dict[str, Any], effects: str = "answer", **settings: Any) -> Request:
    """Return the request of such a block."""
    code = njrt.testing.run("seen = True", True)
    model = njrt.Scripted([{"seen": True} if effects == "answer" else code])
    see(values, effects, **{"model": model} | settings)
    return model.requests[0]


def list_names(request: Request) -> list[str]:
    (opening,) = request.messages
    assert isinstance(opening, UserMessage)
    return [file.name for file in opening.attachments]


@pytest.mark.parametrize("effects", ["answer", "direct", "nightjar", "baseline"])
def test_a_file_is_shown_and_named_in_the_text(effects):
    model = njrt.Scripted([{"seen": True}])
    if effects in ("answer", "direct"):
        request = look({"photo": Image(PNG)}, effects)
        (opening,) = request.messages
        assert opening.attachments == (Attachment("photo", Image(PNG)),)
        assert "photo" in opening.text
        assert "image/png, 69 bytes" in opening.text
        assert "from_path" not in opening.text
        assert "IHDR" not in opening.text
        return
    photo, seen = Image(PNG), None
    with (
        njrt.using(model=model, **make_settings(effects)),
        pytest.raises(njrt.ModelError, match="asks for reply 2"),
    ):
        run("natural\n<photo> <:seen>", lambda: (photo, seen), writes="seen")
    assert list_names(model.requests[0]) == ["photo"]


def test_files_are_found_in_lists_dicts_and_objects():
    first, second = Image(PNG), Image(b"GIF89a picture")
    values = {
        "photos": [first, second],
        "pages": {"front": Document(PDF), 2: Audio(b"ID3 a")},
        "claim": Claim(3, [Image(b"\xff\xd8\xff 1")], Document(b"%PDF-2")),
    }
    assert list_names(look(values)) == [
        "photos[0]", "photos[1]", "pages['front']", "pages[2]", "claim.photos[0]", "claim.letter",
    ]  # fmt: skip


def test_files_that_are_not_found_are_left_to_code():
    values = {"pages": {(1, 2): Audio(b"ID3 b"), 2: Audio(b"ID3 a")}}
    assert list_names(look(values, "direct")) == ["pages[2]"]
    with pytest.raises(PolicyError, match="holds `<Audio audio/mpeg"):
        look(values, authority="strict")


def test_a_file_is_shown_once():
    photo = Image(PNG)
    loop: list[Any] = [photo]
    loop.append(loop)
    assert list_names(look({"photo": photo, "again": [photo, Image(PNG)], "loop": loop})) == [
        "photo"
    ]


def test_secrets_and_hidden_fields_are_not_shown():
    shown, hidden = Image(PNG), Image(b"GIF89a hidden")
    claim = Claim(1, [shown], passport=hidden)
    assert list_names(look({"claim": claim, "secret": hidden, "login": {"password": hidden}})) == [
        "claim.photos[0]"
    ]
    assert list_names(look({"secret": hidden}, redact=False)) == ["secret"]


def test_too_many_files_are_an_error_and_not_left_out():
    photos = [Image(b"GIF89a" + bytes([number])) for number in range(MAX_ATTACHMENTS + 1)]
    with pytest.raises(ConfigurationError, match=r"`photos\[100\]` is one file more than the 100"):
        look({"photos": photos})
    assert len(list_names(look({"photos": photos[:-1]}))) == MAX_ATTACHMENTS


def test_odd_objects_are_searched_without_running_their_code():
    class Odd:
        def __init__(self) -> None:
            self.photo = Image(PNG)

        @property
        def __class__(self) -> type:
            raise AssertionError("read")

        @property
        def other(self) -> Image:
            raise AssertionError("read")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    deep: Any = Image(PNG)
    for _ in range(50):
        deep = [deep]
    values = {"odd": Odd(), "deep": deep, "many": list(range(10_000))}
    assert list_names(look(values, "direct")) == ["odd.photo"]
    assert list_names(look({"odd": Odd()})) == ["odd.photo"]


def test_pictures_of_pillow_are_shown_by_their_pixels():
    pillow = pytest.importorskip("PIL.Image")
    picture = pillow.new("RGB", (3, 2), "red")
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=0)
    for same in (picture, pillow.open(file)):
        (opening,) = look({"photo": same}).messages
        (shown,) = opening.attachments
        assert shown.media.media_type == "image/png"
        assert pillow.open(io.BytesIO(shown.media.data)).size == (3, 2)
        assert (
            shown.media.digest == look({"photo": picture}).messages[0].attachments[0].media.digest
        )
    for mode in ("1", "L", "P", "RGBA", "CMYK", "F", "I"):
        assert list_names(look({"photo": pillow.new(mode, (2, 2))})) == ["photo"]
    file.seek(0)
    cut = pillow.open(io.BytesIO(file.getvalue()[:-30]))
    with pytest.raises(ConfigurationError, match="`photo` cannot be shown to a model"):
        look({"photo": cut})


# ── what is kept of a file ───────────────────────────────────────────────────────────────────────────


def test_a_recording_has_the_digest_of_a_file(tmp_path):
    path = tmp_path / "recordings" / "claims.jsonl"
    look({"photo": Image(PNG), "letter": Document(PDF)}, record=path)
    lines = path.read_text()
    (call,) = [json.loads(line) for line in lines.splitlines()[1:]]
    photo, letter = call["shown"][0]["attached"]
    assert photo == {
        "name": "photo",
        "media_type": "image/png",
        "size": 69,
        "digest": Image(PNG).digest,
    }
    assert letter["digest"] == Document(PDF).digest
    assert [file.name for file in path.parent.iterdir()] == ["claims.jsonl"]
    assert len(lines) < 3_000
    replay = f"none:{path}"
    assert see({"photo": Image(PNG), "letter": Document(PDF)}, record=replay) is True
    with pytest.raises(RecordingMismatchError, match=r"now: .*photo = <Image image/png, 70 bytes"):
        see({"photo": Image(PNG + b"x"), "letter": Document(PDF)}, record=replay)


def test_the_cache_tells_files_apart_by_their_bytes():
    keys = {make_request_key(ask_about(media), "m") for media in FILES.values()}
    assert len(keys) == len(FILES)
    again = make_request_key(ask_about(Image(bytes(PNG))), "m")
    assert again == make_request_key(ask_about(FILES["png"]), "m")


def test_a_trace_has_digest_and_size_and_no_bytes(tmp_path):
    path = tmp_path / "trace.jsonl"
    look({"photo": Image(PNG), "link": FILES["image by URL"]}, trace=path)
    text = path.read_text()
    (asked,) = [json.loads(line) for line in text.splitlines() if '"asked"' in line]
    photo, link = asked["shown"][0]["attached"]
    assert (photo["size"], photo["digest"]) == (69, Image(PNG).digest)
    assert link["url"] == "https://example.org/a.png"
    assert "s3cret" not in text
    assert Image(PNG).base64 not in text


def test_accounts_keep_no_bytes():
    with njrt.watch() as watch:
        look({"photo": Image(PNG)})
    (asked,) = watch.runs[0].calls[0].request.messages
    assert "<photo>" in asked.text
    assert asked.attachments == ()


def test_messages_without_files_are_written_as_before():
    assert message_to_json(UserMessage("a\nb")) == {"user": ["a", "b"]}


def test_joined_messages_keep_their_files():
    first, second = Attachment("a", Image(PNG)), Attachment("b", Document(PDF))
    messages = [UserMessage("one", (first,)), UserMessage("", (second,)), UserMessage(" ")]
    (joined,) = normalize_messages(messages)
    assert joined.attachments == (first, second)


def test_cached_tokens_are_in_the_accounts():
    usage = njrt.messages.Usage(100, 5, 60, 0.01)
    reply = njrt.messages.Reply(njrt.messages.ModelMessage('{"seen": true}'), usage=usage)
    with njrt.watch() as watch:
        see({"photo": Image(PNG)}, model=njrt.Scripted([reply]))
    assert watch.totals.cached_tokens == 60
