"""The network, as it is trained: a small decoder-only transformer in flax.

`network` computes the same in numpy, without JAX.
"""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from spsbench.neural.network import ROTATION_BASE, NetworkSize

Array = Any


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    size: NetworkSize

    @nn.compact
    def __call__(self, x: Array, seen: Array, cos: Array, sin: Array) -> Array:
        """Return the activations after the layer."""
        width, heads = self.size.width, self.size.heads
        normed = nn.RMSNorm(name="norm_in")(x)
        query, key, value = jnp.split(
            nn.Dense(3 * width, use_bias=False, name="qkv")(normed), 3, -1
        )
        shape = (*x.shape[:-1], heads, width // heads)
        query, key = rotate(query.reshape(shape), cos, sin), rotate(key.reshape(shape), cos, sin)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // heads) ** 0.5
        weights = jax.nn.softmax(jnp.where(seen[:, None], scores, -1e9))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value.reshape(shape)).reshape(x.shape)
        x = x + nn.Dense(width, use_bias=False, name="out")(mixed)
        inner = nn.Dense(4 * width, use_bias=False, name="up")(nn.RMSNorm(name="norm_up")(x))
        return x + nn.Dense(width, use_bias=False, name="down")(jnp.square(nn.relu(inner)))


class Network(nn.Module):
    """Returns the scores of the next token at each place."""

    size: NetworkSize

    @nn.compact
    def __call__(self, tokens: Array, positions: Array, seen: Array) -> Array:
        """Return the scores."""
        embed = nn.Embed(
            self.size.vocabulary,
            self.size.width,
            embedding_init=nn.initializers.normal(0.02),
            name="embed",
        )
        x = embed(tokens)
        cos, sin = make_rotation(positions, self.size.width // self.size.heads)
        for number in range(self.size.layers):
            x = Block(self.size, name=f"layer{number}")(x, seen, cos, sin)
        return embed.attend(nn.RMSNorm(name="norm_out")(x))


def make_rotation(positions: Array, width: int) -> tuple[Array, Array]:
    """Return the cosines and sines of rotary positions."""
    angles = positions[..., None] * ROTATION_BASE ** (-jnp.arange(0, width, 2) / width)
    return jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Return queries or keys, rotated by their positions."""
    one, other = jnp.split(x, 2, -1)
    return jnp.concatenate([one * cos - other * sin, one * sin + other * cos], -1)


def find_seen(states: Array, actions: Array) -> Array:
    """Return which token sees which: those before it in its own branch."""
    causal = jnp.tril(jnp.ones((states.shape[1], states.shape[1]), bool))
    state, action = states[:, None], actions[:, None]
    own_state = (state == 0) | (state == states[..., None])
    own_action = (state == 0) | (action == 0) | (action == actions[..., None])
    return causal & own_state & own_action
