"""The pages of the report: the one place where a capability adds its own.

How to add a page
-----------------
1. Write a function `data(dataset) -> dict` that turns the capability's Dataset into what the browser draws: plain
   numbers, strings, lists, None for a missing number (`numerics.report.encode` has the roundings). It lands in
   `data/<slug>.js` under the page's `key`, and scripts find it as `model.data[key]`, the attrs of its dataset as
   `model.made[key]`. Datasets of one model are joined to one entry there; a page offers the models that hold its key
   (`numericsReport.offered()`). The heads of a model are read off `layers`, `heads` and the codes `type`, `category`
   or `there` (null: the layer lacks that head).
2. Put the page's own files into `assets/`: a body (`<key>.html`, sections with empty places) and scripts that fill it.
   Scripts are plain files in the order listed (module scripts do not load from disk). They share the one name
   `numericsReport` that `core.js` defines, build elements with `numericsReport.el` (text only, so nothing from a model
   is ever read as markup), call `numericsReport.onUpdate(draw)`, and take their colours from
   `numericsReport.colours()`.
3. Append a `Page` to `PAGES`. It is written when at least one dataset holds all its `needs`; the navigation follows.

How to add to the head card
---------------------------
The card (`#head=5.1`) is one per head, for all capabilities. A script calls
`numericsReport.cardSections.push({key, title, draw(place, model, head)})`; the section is shown for the models that
hold `key`, those of the open page first. List the script in `CARD_SCRIPTS`, which every page loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from numerics import results
from numerics.report import ablation, attribution, bands, circuits, encode, kernels


@dataclass(frozen=True)
class Page:
    """One HTML file of the site.

    `file` is its name, `key` the name of its data and of its body `assets/<key>.html`, `title` heads it and its
    entry in the navigation, `needs` are the variables a Dataset must hold to be shown, `some_of` those of which it
    must hold one at least, `data` makes its data, `scripts` draw it, `table` makes the CSV beside it.
    """

    file: str
    key: str
    title: str
    needs: tuple[str, ...]
    data: Callable[[xr.Dataset], dict[str, Any]]
    scripts: tuple[str, ...]
    table: Callable[[xr.Dataset], pd.DataFrame] = results.to_table
    some_of: tuple[str, ...] = ()


# Loaded first, by every page, in this order.
SHARED_SCRIPTS = (
    "core.js",
    "plots.js",
    "grid.js",
    "controls.js",
    "chooser.js",
    "tokens.js",
    "models.js",
    "table.js",
    "kernels_data.js",
    "bands_data.js",
    "circuits_data.js",
    "circuits_text.js",
)
# The head card and its sections; loaded by every page after its own scripts.
CARD_SCRIPTS = (
    "card.js",
    "profile_card.js",
    "kernels_plot.js",
    "kernels_card.js",
    "bands_plot.js",
    "bands_card.js",
    "circuits_card.js",
)

PAGES: tuple[Page, ...] = (
    Page(
        file="index.html",
        key="profile",
        title="Profiles of attention heads",
        needs=("profile",),
        data=encode.profile,
        scripts=("profile_models.js", "profile_controls.js", "tetrahedron.js", "layers.js", "profile_heads.js"),
    ),
    Page(
        file="kernels.html",
        key="kernels",
        title="Positional kernels",
        needs=kernels.NEEDS,
        data=kernels.kernels,
        scripts=(
            "kernels_models.js",
            "kernels_map.js",
            "kernels_head.js",
            "kernels_groups.js",
            "kernels_scatter.js",
            "kernels_strays.js",
            "kernels_layers.js",
            "kernels_heads.js",
        ),
        table=kernels.head_table,
    ),
    Page(
        file="bands.html",
        key="bands",
        title="RoPE bands",
        needs=("wavelength",),
        some_of=bands.METRICS,
        data=bands.bands,
        scripts=("bands_heat.js", "bands_models.js", "bands_map.js", "bands_head.js", "bands_heads.js"),
        table=bands.head_table,
    ),
    Page(
        file="ablation.html",
        key="ablation",
        title="Removed bands",
        needs=ablation.NEEDS,
        data=ablation.ablation,
        scripts=("ablation_models.js", "ablation_curves.js", "ablation_scatter.js"),
    ),
    Page(
        file="attribution.html",
        key="attribution",
        title="Attention by band",
        needs=attribution.NEEDS,
        data=attribution.attribution,
        scripts=(
            "bands_heat.js",
            "attribution_models.js",
            "attribution_text.js",
            "attribution_map.js",
            "attribution_token.js",
        ),
        table=attribution.key_table,
    ),
    Page(
        file="circuits.html",
        key="circuits",
        title="Head circuits",
        needs=circuits.NEEDS,
        data=circuits.circuits,
        scripts=(
            "circuits_models.js",
            "circuits_map.js",
            "circuits_graph.js",
            "circuits_edges.js",
            "circuits_tokens.js",
            "circuits_heads.js",
        ),
    ),
)
