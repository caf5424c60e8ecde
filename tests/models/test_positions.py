"""Score biases against the functions of transformers and their own definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from numerics.models.positions import AlibiBias, RelativeBias, alibi_slopes, mpt_alibi_slopes, scheme_name

DISTANCES = np.arange(-700, 701)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 10), (64, 256), (32, 20)])
def test_buckets_are_those_of_t5(bidirectional: bool, buckets: int, farthest: int) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    bias = RelativeBias(np.zeros((buckets, 1)), bidirectional, farthest)
    theirs = T5Attention._relative_position_bucket(torch.as_tensor(DISTANCES), bidirectional, buckets, farthest)
    assert np.array_equal(bias.buckets(DISTANCES), theirs.numpy())


def test_buckets_are_those_of_mpnet() -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    theirs = MPNetEncoder.relative_position_bucket(torch.as_tensor(DISTANCES), num_buckets=32)
    assert np.array_equal(RelativeBias(np.zeros((32, 1)), True, 128).buckets(DISTANCES), theirs.numpy())


def test_relative_bias_reads_the_row_of_key_minus_query() -> None:
    table = np.random.default_rng(0).normal(size=(8, 3))
    matrix = RelativeBias(table, bidirectional=True, max_distance=10).matrix([4], [3, 4, 5])
    assert np.array_equal(matrix[:, 0], table[[1, 0, 5]].T)


@pytest.mark.parametrize("heads", [1, 2, 6, 8, 12, 16, 71, 112])
def test_alibi_slopes_are_those_of_bloom_falcon_and_mpt(heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    np.testing.assert_allclose(alibi_slopes(heads), _get_alibi_slopes(heads, torch.device("cpu")), rtol=1e-6)
    theirs = -build_mpt_alibi_tensor(heads, 2)[:, 0, 0]
    np.testing.assert_allclose(mpt_alibi_slopes(heads, 8), theirs, rtol=1e-6)


def test_alibi_falls_with_distance() -> None:
    matrix = AlibiBias(np.array([0.5, 0.25])).matrix([3], [0, 2, 3])
    assert np.array_equal(matrix, [[[-1.5, -0.5, 0.0]], [[-0.75, -0.25, 0.0]]])


def test_scheme_names() -> None:
    assert scheme_name(True, False, "relative bias") == "learned absolute + relative bias"
    assert scheme_name(False, True, None) == "rotary"
    assert scheme_name(False, False, None) == "none"
