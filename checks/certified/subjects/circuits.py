"""Circuits of heads: composition, virtual heads, copying; attribution by a quadrature."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from checks.certified.draws import distributions, patterns, rational_arrays
from checks.certified.exact import Array, exact, exactly, rational, squared
from checks.certified.statements import Number, Subject, matrix, number, sized, vector
from numerics.bands.attribution import products
from numerics.bands.entropy.quadrature import Rule
from numerics.circuits.composition import composition
from numerics.circuits.copying import copying_product, cross_gram
from numerics.circuits.factors import Factors
from numerics.circuits.virtual import virtual_output, virtual_pattern


@st.composite
def _composition(draw: st.DrawFn) -> list[Number]:
    """Q, K and V composition of a later head on an earlier one, squared."""
    n, width = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    query, key, value, earlier_value = (draw(rational_arrays(n, width)) for _ in range(4))
    output, earlier_output = draw(rational_arrays(width, n)), draw(rational_arrays(width, n))
    L, OV = key.T @ query, output @ value
    earlier = earlier_output @ earlier_value
    W_Q, W_K, W_V, V = (sized(matrix(W), n, width) for W in (query, key, value, earlier_value))
    W_O, U = (sized(matrix(W), width, n) for W in (output, earlier_output))
    form, writes = f"(mul (transpose {W_K}) {W_Q})", f"(mul {U} {V})"
    reads = {form: L, f"(transpose {form})": L.T, f"(mul {W_O} {W_V})": OV}
    scores = exactly(composition)(np.stack(list(reads.values()))[:, None], earlier[None])[:, 0, 0]
    return [
        number(f"compositionSq {formal} {writes}", _over(rational(squared(score)), read, earlier))
        for (formal, read), score in zip(reads.items(), scores, strict=True)
    ]


def _over(square: Fraction, read: Array, write: Array) -> Fraction:
    """`‖AB‖²` over the product of the squared norms, 0 for a zero matrix: a twin of the norms taken in `ends`."""
    norms = rational(np.sum(read * read) * np.sum(write * write))
    return square / norms if norms else norms


@st.composite
def _virtual(draw: st.DrawFn) -> list[Number]:
    """One entry of the pattern and one of the OV matrix of two heads in a row."""
    length, n, width = draw(st.integers(2, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    later, earlier = draw(patterns(length)), draw(patterns(length))
    no_scores = exact(np.zeros((0, width), dtype=int))
    heads = [
        Factors(no_scores, no_scores, draw(rational_arrays(n, width)), draw(rational_arrays(width, n)))
        for _ in range(2)
    ]
    pattern, virtual = virtual_pattern(later, earlier), virtual_output(earlier=heads[1], later=heads[0])
    OV = virtual.output @ virtual.value
    i, j = length - 1, draw(st.integers(0, length - 1))
    a, b = draw(st.integers(0, width - 1)), draw(st.integers(0, width - 1))
    A = " ".join(sized(matrix(x), length, length) for x in (later, earlier))
    W_V = [sized(matrix(head.value), n, width) for head in heads]
    W_O = [sized(matrix(head.output), width, n) for head in heads]
    return [
        number(f"mul {A} {i} {j}", pattern[i, j]),
        number(f"mul (mul {W_O[0]} {W_V[0]}) (mul {W_O[1]} {W_V[1]}) {a} {b}", OV[a, b]),
    ]


@st.composite
def _copying(draw: st.DrawFn) -> list[Number]:
    """Traces of the copying matrix W_U OV W_E and of its square, from the small product."""
    vocabulary, width, n = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    embedding, unembedding = draw(rational_arrays(vocabulary, width)), draw(rational_arrays(vocabulary, width))
    value, output = draw(rational_arrays(n, width)), draw(rational_arrays(width, n))
    small = copying_product(value, output, exactly(cross_gram)(embedding, unembedding))
    W_U, W_E = sized(matrix(unembedding), vocabulary, width), sized(matrix(embedding.T), width, vocabulary)
    OV = f"(mul {sized(matrix(output), width, n)} {sized(matrix(value), n, width)})"
    whole = f"(mul {W_U} (mul {OV} {W_E}))"
    return [
        number(f"trace {whole}", np.trace(small)),
        number(f"trace (mpow {whole} 2)", np.trace(small @ small)),
    ]


@st.composite
def _attribution(draw: st.DrawFn) -> list[Number]:
    """Keys × bands by a quadrature with any nodes; given distributions stand in for the softmax, which is not rational.

    As many keys and bands as powers of two: the code divides 1 by their number, which is an `int` in both worlds.
    """
    nodes, keys, bands = draw(st.integers(1, 3)), draw(st.sampled_from((1, 2, 4))), draw(st.sampled_from((1, 2)))
    weights, x = draw(rational_arrays(nodes)), draw(rational_arrays(keys, bands))
    p = np.stack([draw(distributions(keys)) for _ in range(nodes)])
    quadrature = exactly(products._attribution, _softmax=lambda z: p)
    found = quadrature(x.sum(axis=1), x, None, Rule(exact([0] * nodes), weights))
    j, b = draw(st.integers(0, keys - 1)), draw(st.integers(0, bands - 1))
    formal = (
        f"attribution (K := Rat) (S := {nodes}) (N := {keys}) (B := {bands}) {vector(weights)} {matrix(p)} {matrix(x)}"
    )
    return [
        number(f"{formal} {j} {b}", found[j, b]),
        number(f"sum (fun j => {formal} j {b})", found[:, b].sum()),
    ]


SUBJECTS = (
    Subject(
        "composition",
        ("Circuits",),
        ("compositionSq",),
        ("circuits.composition.composition",),
        "same code, under its root; the norms to divide by, of triangles in numerics, by a twin",
        _composition(),
    ),
    Subject(
        "virtual heads",
        ("Circuits",),
        ("mul",),
        ("circuits.virtual.virtual_pattern", "circuits.virtual.virtual_output"),
        "as is",
        _virtual(),
    ),
    Subject(
        "copying",
        ("Circuits",),
        ("trace", "mpow"),
        ("circuits.copying.cross_gram", "circuits.copying.copying_product"),
        "as is; cross_gram: same code",
        _copying(),
    ),
    Subject(
        "attribution",
        ("Bands",),
        ("attribution",),
        ("bands.attribution.products._attribution",),
        "same code; its softmax replaced by given distributions",
        _attribution(),
    ),
)
