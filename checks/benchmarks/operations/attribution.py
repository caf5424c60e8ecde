"""Attribution of one query's attention to keys × bands: all nodes in two products against node by node, float64.

T is the number of keys. Both paths take 16 nodes, where the product stops here; it checks both sums too.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.bands.attribution import pair_attribution
from numerics.bands.attribution.reference import pair_attribution_reference
from numerics.bands.entropy.quadrature import gauss_legendre

Float = NDArray[np.float64]

BANDS, SPREAD, NODES = 32, 3.0, 16
SCALE = SPREAD / np.sqrt(2 * BANDS)


def by_products(q: Float, k: Float) -> Float:
    """Attributions (N, B) as the product computes them."""
    return pair_attribution(q, k, n_bands=BANDS, pairing="half", scale=SCALE).attribution


def node_by_node(q: Float, k: Float) -> Float:
    """The same, one softmax and one (N, B) update a node."""
    return pair_attribution_reference(q, k, gauss_legendre(NODES), n_bands=BANDS, pairing="half", scale=SCALE)


def query(n_keys: int) -> Calls:
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal(2 * BANDS), rng.standard_normal((n_keys, 2 * BANDS))
    return {"node by node": partial(node_by_node, q, k), "products": partial(by_products, q, k)}


CASES = tuple(
    Case(
        "attribution", ("node by node", "products"), partial(query, n_keys), apart(1e-9, relative=True), T=n_keys,
        bands=BANDS, turns=15,
    )
    for n_keys in (2048, 8192, 32768, 131072)
)  # fmt: skip
