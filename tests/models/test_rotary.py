"""Rotary tables against mpmath, and the properties that make a rotation one."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.errors import UnsupportedArchitecture
from numerics.models.rotary import ROPE_TYPES, Pairing, RotaryTable, rotary_table

POSITIONS = (0, 1, 255, 1000, 4095, 131071)
PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {"rope_theta": 500000.0},
    "linear": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "yarn": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 4096},
    "longrope": {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1 + 0.01 * b for b in range(32)],
        "long_factor": [2.0] * 32,
        "original_max_position_embeddings": 4096,
    },
}


def table(kind: str = "default", pairing: Pairing = "half", rotary_dim: int | None = None, n: int = 64) -> RotaryTable:
    return rotary_table(
        PARAMETERS[kind], head_dim=n, pairing=pairing, max_positions=131072, model="m", rotary_dim=rotary_dim
    )


def exact_frequencies(kind: str, bands: int) -> list[mpmath.mpf]:
    """The published formulas once more, in 50 digits and written per band."""
    parameters = {key: mpmath.mpf(v) if isinstance(v, float | int) else v for key, v in PARAMETERS[kind].items()}
    base = parameters["rope_theta"]
    out = []
    for b in range(bands):
        theta = base ** (-mpmath.mpf(2 * b) / (2 * bands))
        if kind == "linear":
            theta /= parameters["factor"]
        elif kind == "llama3":
            context, wavelength = parameters["original_max_position_embeddings"], 2 * mpmath.pi / theta
            low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
            if wavelength > context / low:
                theta /= parameters["factor"]
            elif wavelength >= context / high:
                smooth = (context / wavelength - low) / (high - low)
                theta = (1 - smooth) * theta / parameters["factor"] + smooth * theta
        elif kind == "yarn":
            context = parameters["original_max_position_embeddings"]
            first, last = (
                bands * mpmath.log(context / (turns * 2 * mpmath.pi)) / mpmath.log(base) for turns in (32, 1)
            )
            first, last = max(mpmath.floor(first), 0), min(mpmath.ceil(last), 2 * bands - 1)
            ramp = min(max((b - first) / (last - first), 0), 1)
            theta = theta / parameters["factor"] * ramp + theta * (1 - ramp)
        elif kind == "longrope":
            theta /= mpmath.mpf(PARAMETERS[kind]["short_factor"][b])
        out.append(theta)
    return out


@pytest.mark.parametrize("kind", ROPE_TYPES)
def test_cos_and_sin_against_mpmath(kind: str) -> None:
    with mpmath.workdps(50):
        ours, exact = table(kind), exact_frequencies(kind, 32)
        for position in POSITIONS:
            cos, sin = ours.cos_sin(position)
            for b, theta in enumerate(exact):
                allowed = 1e-12 * (1 + position) * ours.attention_scaling
                assert abs(mpmath.mpf(float(cos[b])) - ours.attention_scaling * mpmath.cos(position * theta)) < allowed
                assert abs(mpmath.mpf(float(sin[b])) - ours.attention_scaling * mpmath.sin(position * theta)) < allowed


@pytest.mark.parametrize("kind", ROPE_TYPES)
def test_tables_are_those_of_transformers(kind: str) -> None:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(
        hidden_size=64, num_attention_heads=1, max_position_embeddings=131072, rope_parameters=dict(PARAMETERS[kind])
    )
    compute = ROPE_INIT_FUNCTIONS.get(kind, LlamaRotaryEmbedding.compute_default_rope_parameters)
    frequencies, scaling = compute(config)
    ours = table(kind)
    # transformers computes in float32: a few roundings of a number of the frequency's size.
    np.testing.assert_allclose(ours.frequencies, frequencies.double().numpy(), rtol=16 * 2.0**-24)
    assert ours.attention_scaling == pytest.approx(scaling, rel=1e-12)


@pytest.mark.parametrize("kind", ["dynamic", "proportional", "su", "a new one"])
def test_unknown_rope_type_is_refused(kind: str) -> None:
    with pytest.raises(UnsupportedArchitecture, match="rope_type"):
        rotary_table({"rope_type": kind, "rope_theta": 1e4}, head_dim=8, pairing="half", max_positions=8, model="m")


tables = st.builds(
    table,
    kind=st.sampled_from(["default", "linear", "llama3"]),
    pairing=st.sampled_from(["half", "interleaved"]),
    rotary_dim=st.sampled_from([16, 32, 64]),
)
vectors = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=(2, 64)))
places = st.integers(0, 5000)


@given(tables, vectors, places, places, places)
@settings(max_examples=100)
def test_score_depends_on_the_difference_of_positions_only(
    rotary: RotaryTable, qk: Any, m: int, n: int, shift: int
) -> None:
    q, k = qk
    # Each rotation errs by eps64·m·θ at most, so scores by 2·eps64·(m + n + shift)·|q||k| and a few roundings.
    allowed = 1e-15 * (10 + 4 * (m + n + shift)) * np.linalg.norm(q) * np.linalg.norm(k)
    score = rotary.rotate(q, m) @ rotary.rotate(k, n)
    assert abs(score - rotary.rotate(q, m + shift) @ rotary.rotate(k, n + shift)) < allowed
    assert abs(score - rotary.relative(q, m - n) @ k) < allowed


@given(tables, vectors, places)
@settings(max_examples=100)
def test_rotation_keeps_every_band_and_leaves_the_rest_untouched(rotary: RotaryTable, qk: Any, m: int) -> None:
    x = qk[0]
    turned = rotary.rotate(x, m)
    np.testing.assert_allclose(np.hypot(*rotary.pairs(turned)), np.hypot(*rotary.pairs(x)), rtol=1e-14)
    assert np.array_equal(turned[rotary.rotary_dim :], x[rotary.rotary_dim :])
    assert np.array_equal(rotary.rotate(x, 0), x)


@given(vectors, st.integers(1, 5000))
@settings(max_examples=50)
def test_a_fixed_permutation_maps_one_layout_to_the_other(qk: Any, m: int) -> None:
    """Dim b of the half layout is dim 2b of the interleaved one, dim b + B is dim 2b + 1; mixing them is refused."""
    half, interleaved = table(pairing="half"), table(pairing="interleaved")
    x = qk[0]
    to_interleaved = np.arange(64).reshape(2, 32).T.reshape(-1)
    assert np.array_equal(half.rotate(x, m)[to_interleaved], interleaved.rotate(x[to_interleaved], m))
    assert np.max(np.abs(half.rotate(x, m) - interleaved.rotate(x, m))) > 1e-6


def test_scaling_of_a_partial_rotary_score_is_squared_on_the_rotating_dims_only() -> None:
    yarn = table("yarn", rotary_dim=16)
    assert yarn.attention_scaling == pytest.approx(0.1 * math.log(4) + 1)
    q, k = np.random.default_rng(0).normal(size=(2, 64))
    assert yarn.rotate(q, 7) @ yarn.rotate(k, 3) == pytest.approx(yarn.relative(q, 4) @ k, rel=1e-12)
    assert np.array_equal(yarn.relative(q, 4)[16:], q[16:])
