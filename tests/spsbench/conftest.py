"""For the tests of neural debuggers: a small network with random weights, and what JAX compiles once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Each of these tests trains for some steps, which takes less time than to compile the network.
JAX_CACHE = Path(__file__).parents[2] / "build" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(JAX_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    np = pytest.importorskip("numpy")
    from spsbench.neural.network import Network, NetworkSize, write_network
    from spsbench.neural.vocabulary import collect_vocabulary

    vocabulary = collect_vocabulary(["def f(n):"], min_count=1)
    size, random = NetworkSize(len(vocabulary), 16, 1, 2), np.random.default_rng(1)
    shapes = {"embed": (len(vocabulary), 16), "norm_out": (16,)}
    inner = {"norm_in": (16,), "qkv": (16, 48), "out": (16, 16), "norm_up": (16,)}
    inner |= {"up": (16, 64), "down": (64, 16)}
    shapes |= {f"layer0.{name}": shape for name, shape in inner.items()}
    weights = {name: random.normal(size=shape) for name, shape in shapes.items()}
    path = tmp_path_factory.mktemp("model") / "model.npz"
    path.write_bytes(write_network(Network(size, vocabulary, weights)))
    return path
