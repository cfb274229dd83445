"""The network in numpy: a trained model's answers, generated token by token.

network = load_network(Path("model.npz"))
prefix = network.read(network.start(), ids)        the source and a state, once for all actions
network.answer(prefix, ids, stop)                  the ids that follow, always the likeliest
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from spsbench.neural.vocabulary import Vocabulary
from spsbench.results import InputError

ROTATION_BASE = 10_000.0
EPSILON = 1e-6
Array = Any


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The dimensions of a network."""

    vocabulary: int
    width: int
    layers: int
    heads: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The state after reading a text: each layer's keys and values, and the next token's scores."""

    keys: tuple[Array, ...]
    values: tuple[Array, ...]
    scores: Array = None

    @property
    def length(self) -> int:
        """The number of tokens read."""
        return len(self.keys[0])


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network."""

    size: NetworkSize
    vocabulary: Vocabulary
    weights: Mapping[str, Array]

    def start(self) -> Reading:
        """Return the state before the first token."""
        empty = np.zeros((0, self.size.heads, self.size.width // self.size.heads), np.float32)
        return Reading((empty,) * self.size.layers, (empty,) * self.size.layers)

    def read(self, before: Reading, ids: Sequence[int]) -> Reading:
        """Return the state after more tokens."""
        x = self.weights["embed"][list(ids)]
        places = np.arange(before.length, before.length + len(ids))
        rotation = _make_rotation(places, self.size.width // self.size.heads)
        keys, values = [], []
        for number in range(self.size.layers):
            held = before.keys[number], before.values[number]
            x, key, value = self._run_layer(f"layer{number}.", x, held, rotation)
            keys.append(key)
            values.append(value)
        last = _norm(x[-1], self.weights["norm_out"])
        return Reading(tuple(keys), tuple(values), self.weights["embed"] @ last)

    def answer(self, before: Reading, ids: Sequence[int], stop: int, limit: int) -> list[int]:
        """Return the likeliest tokens after `ids`, up to `stop` or at most `limit` of them."""
        reading = self.read(before, ids)
        found: list[int] = []
        while len(found) < limit:
            found.append(int(np.argmax(reading.scores)))
            if found[-1] == stop:
                break
            reading = self.read(reading, found[-1:])
        return found

    def _run_layer(
        self, name: str, x: Array, held: tuple[Array, Array], rotation: tuple[Array, Array]
    ) -> tuple[Array, Array, Array]:
        weights, heads = self.weights, self.size.heads
        shape = (len(x), heads, self.size.width // heads)
        normed = _norm(x, weights[f"{name}norm_in"])
        query, key, value = (
            part.reshape(shape) for part in np.split(normed @ weights[f"{name}qkv"], 3, -1)
        )
        key = np.concatenate([held[0], _rotate(key, *rotation)])
        value = np.concatenate([held[1], value])
        scores = np.matmul(
            _rotate(query, *rotation).transpose(1, 0, 2), key.transpose(1, 2, 0)
        ) / np.float32(shape[2] ** 0.5)
        if len(x) > 1:
            places = np.arange(len(key))
            scores[:, places > places[-len(x) :, None]] = -1e9
        mixed = np.matmul(_softmax(scores), value.transpose(1, 0, 2)).transpose(1, 0, 2)
        x = x + mixed.reshape(len(x), -1) @ weights[f"{name}out"]
        inner = np.maximum(_norm(x, weights[f"{name}norm_up"]) @ weights[f"{name}up"], 0)
        return x + (inner * inner) @ weights[f"{name}down"], key, value


def _make_rotation(places: Array, width: int) -> tuple[Array, Array]:
    angles = places[:, None] * ROTATION_BASE ** (-np.arange(0, width, 2) / width)
    return np.cos(angles)[:, None].astype(np.float32), np.sin(angles)[:, None].astype(np.float32)


def _rotate(x: Array, cos: Array, sin: Array) -> Array:
    one, other = np.split(x, 2, -1)
    return np.concatenate([one * cos - other * sin, one * sin + other * cos], -1)


def _norm(x: Array, scale: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + EPSILON) * scale


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def write_network(network: Network) -> bytes:
    """Return a network as an `.npz` file with 16-bit weights."""
    head = json.dumps({"size": asdict(network.size), "words": network.vocabulary.words})
    weights = {name: array.astype(np.float16) for name, array in network.weights.items()}
    file = io.BytesIO()
    np.savez_compressed(file, head=np.array(head), **weights)
    return file.getvalue()


def load_network(path: Path) -> Network:
    """Return the network in an `.npz` file; InputError names a file that contains none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(str(file["head"]))
            names = [name for name in file.files if name != "head"]
            weights = {name: file[name].astype(np.float32) for name in names}
        return Network(NetworkSize(**head["size"]), Vocabulary(tuple(head["words"])), weights)
    except (OSError, EOFError, LookupError, TypeError, ValueError, BadZipFile) as problem:
        raise InputError(
            f"{path} has no network: {problem}; name the file model.npz of `spsbench train`"
        ) from None
