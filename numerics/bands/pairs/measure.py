"""Attribution of one query's attention to keys and bands, for one head of a model."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from numerics.bands.attribution import PairAttribution, pair_attribution
from numerics.bands.measure import rotary_tables
from numerics.errors import InvalidArgument
from numerics.text.chunking import start_tokens

if TYPE_CHECKING:
    from numerics.models import Model
    from numerics.models.visitor import AttentionCall


def attribute(model: Model, text: str, layer: int, head: int, query: int = -1) -> xr.Dataset:
    """What each band of head `layer.head` contributes to the attention that the token at `query` gives to each key.

    `query` is a position of the tokenized text, its special tokens at the start included; negative ones count from the
    end. Returns over the admissible keys (causal, window): `attribution(key, band)` and, where only some dims rotate,
    `attribution_unrotated(key)`, which sum to `probability(key)` for each key, and over the keys to the same number
    1/B (1/(B + 1)) for each band; `residual(identity)`: how far the sums over `bands` and over `keys` are off, over
    the largest probability; coords `token(key)`, `frequency(band)` (radians per token), `wavelength(band)` (tokens).
    Raises InvalidArgument.
    """
    table = rotary_tables(model)[model.heads(layer).layer]
    if not 0 <= head < model.n_heads:
        raise InvalidArgument(f"{model.name} has no head {head}", f"its heads are 0 to {model.n_heads - 1}")
    tokenizer = model.vocabulary.tokenizer
    ids = [*start_tokens(tokenizer), *tokenizer(text, add_special_tokens=False)["input_ids"]]
    if not ids:
        raise InvalidArgument("the text has no tokens", "give some text")
    if not -len(ids) <= query < len(ids):
        raise InvalidArgument(
            f"the text has {len(ids)} tokens, none at {query}", f"use a query from {-len(ids)} to {len(ids) - 1}"
        )
    at = query % len(ids)
    seen: dict[str, xr.Dataset] = {}

    def observe(call: AttentionCall) -> None:
        if call.layer != layer:
            return
        keys = np.arange(len(ids))
        kv_head = head * call.k.shape[1] // model.n_heads  # some models repeat their keys for every query head
        if call.mask is not None:
            keys = keys[call.mask.expand(1, model.n_heads, len(ids), len(ids))[0, head, at].numpy()]
        found = pair_attribution(
            call.q[0, head, at].double().numpy(),
            call.k[0, kv_head].double().numpy()[keys],
            n_bands=table.n_bands,
            pairing=table.pairing,
            scale=call.scale,
            softcap=call.softcap,
        )
        tokens = [tokenizer.decode([ids[key]]) for key in keys]
        seen["table"] = _table(found, keys, tokens, table.frequencies)

    with torch.no_grad(), model.attention(observe):
        model.forward(torch.tensor([ids]), logits=False)
    found = seen["table"]
    found.attrs = {
        **model.provenance(f"numerics attribute {model.source} --layer {layer} --head {head} --query {query}"),
        "text": text,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "compute_dtype": model.compute_dtype,
        "layer": layer,
        "head": head,
        "query": at,
        "query_token": tokenizer.decode([ids[at]]),
    }
    return found


def _table(
    found: PairAttribution, keys: NDArray[np.int64], tokens: list[str], frequencies: NDArray[np.float64]
) -> xr.Dataset:
    bands = len(frequencies)
    table = xr.Dataset(
        {
            "attribution": (("key", "band"), found.attribution[:, :bands]),
            "probability": ("key", found.probability),
            "residual": ("identity", [found.over_bands, found.over_keys]),
        },
        coords={
            "key": keys,
            "token": ("key", tokens),
            "band": np.arange(bands),
            "frequency": ("band", frequencies),
            "wavelength": ("band", 2 * math.pi / frequencies),
            "identity": ["bands", "keys"],
        },
    )
    if found.attribution.shape[1] > bands:
        table["attribution_unrotated"] = ("key", found.attribution[:, bands])
    return table
