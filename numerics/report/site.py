"""Writes the static site: pages, assets, one data file and one CSV per model, swapped in as a whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import xarray as xr

from numerics import results
from numerics.errors import InvalidArgument, UnwritableOutput
from numerics.report import encode
from numerics.report.pages import CARD_SCRIPTS, PAGES, SHARED_SCRIPTS, Page

# Names the files of a report; its presence says that the folder is ours to replace.
MARKER = "numerics-report.json"


def write(datasets: Sequence[xr.Dataset], out: str | Path) -> Path:
    """Write the report of `datasets` (each from `numerics.profile`) into the folder `out`; returns its `index.html`.

    The site opens from disk with the network off. The same datasets give the same bytes. The folder appears as a whole:
    it is built beside `out` and swapped in, and an earlier report in `out` is replaced. Errors: InvalidArgument when a
    dataset holds nothing a page can show, or when `out` holds something that is not a report; UnwritableOutput when it
    cannot be written.
    """
    if not datasets:
        raise InvalidArgument("there is no dataset to report", "pass at least one result of numerics.profile")
    pages = [page for page in PAGES if any(_shows(page, dataset) for dataset in datasets)]
    for dataset in datasets:
        if not any(_shows(page, dataset) for page in pages):
            held = ", ".join(map(str, dataset.data_vars)) or "none"
            raise InvalidArgument(
                f"no page of the report shows a dataset with the variables {held}",
                "pass what numerics.profile returns",
            )
    labels = _labels(datasets)
    slugs = _slugs(labels)
    models = [_model(d, label, slug) for d, label, slug in zip(datasets, labels, slugs, strict=True)]
    folder = check_place(out)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _swap_in(folder, pages, datasets, models, slugs)
    except OSError as error:
        raise UnwritableOutput(
            f"the report cannot be written to {out}: {error.strerror or error}",
            "choose a folder you may write to with --out",
        ) from error
    return Path(out) / PAGES[0].file


def _shows(page: Page, dataset: xr.Dataset) -> bool:
    return all(name in dataset for name in page.needs)


def _model(dataset: xr.Dataset, label: str, slug: str) -> str:
    data = {page.key: page.data(dataset) for page in PAGES if _shows(page, dataset)}
    entry = {"slug": slug, "label": label, "attrs": encode.attributes(dataset), "data": data}
    return f"numericsReport.addModel({encode.script_json(entry)});\n"


def _labels(datasets: Sequence[xr.Dataset]) -> list[str]:
    """Names that tell the models apart: the model, with its form where the model comes twice, with a number at last."""
    names = [str(d.attrs.get("model", "model")) for d in datasets]
    forms = [str(d.attrs.get("form", "")) for d in datasets]
    named = [f"{n} ({f})" if names.count(n) > 1 and f else n for n, f in zip(names, forms, strict=True)]
    labels: list[str] = []
    for name in named:
        label, number = name, 2
        while label in labels:
            label, number = f"{name} #{number}", number + 1
        labels.append(label)
    return labels


def _slugs(labels: Sequence[str]) -> list[str]:
    """File names made of a-z, 0-9, `-` and `.`, distinct even where the file system ignores case."""
    slugs: list[str] = []
    for label in labels:
        stem = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.")[:60].strip("-.") or "model"
        slug, number = stem, 2
        while slug in slugs:
            slug, number = f"{stem}-{number}", number + 1
        slugs.append(slug)
    return slugs


def check_place(out: str | Path) -> Path:
    """The folder that `write` will make or replace, with links resolved. To be called before a long computation.

    Raises InvalidArgument where something stands that `write` did not make itself, UnwritableOutput where no folder
    can be made.
    """
    folder = Path(os.path.realpath(out))
    _check_replaceable(folder)
    above = next(parent for parent in folder.parents if parent.exists())
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise UnwritableOutput(f"{out} cannot be made in {above}", "choose a folder you may write to with --out")
    return folder


def _check_replaceable(folder: Path) -> None:
    next_step = "choose another folder with --out, or empty this one"
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise InvalidArgument(f"{folder} is a file, not a folder", "choose another folder with --out")
        present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
        if not present:
            return
        marker = folder / MARKER
        if MARKER not in present or marker.is_symlink():
            raise InvalidArgument(f"{folder} holds files and is not a report", next_step)
        try:
            ours = set(json.loads(marker.read_text(encoding="utf-8"))["files"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidArgument(f"{marker} does not list the files of a report", next_step) from error
        if foreign := sorted(present - ours - {MARKER}):
            raise InvalidArgument(f"{folder} holds {foreign[0]}, which is no part of the report", next_step)
    except OSError as error:
        raise UnwritableOutput(
            f"{folder} cannot be read: {error.strerror}", "choose another folder with --out"
        ) from error


def _swap_in(
    folder: Path, pages: Sequence[Page], datasets: Sequence[xr.Dataset], models: Sequence[str], slugs: Sequence[str]
) -> None:
    """Build beside `folder`, then rename; a failure at any moment leaves the earlier report in place."""
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        # A folder inside the temporary one: mkdtemp's own is private (0700), a report may be served.
        site, earlier = staging / "site", staging / "earlier"
        _build(site, pages, datasets, models, slugs)
        replaced = folder.exists()
        if replaced:
            folder.rename(earlier)
        try:
            site.rename(folder)
        except BaseException:
            if replaced:
                earlier.rename(folder)
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _build(
    site: Path, pages: Sequence[Page], datasets: Sequence[xr.Dataset], models: Sequence[str], slugs: Sequence[str]
) -> None:
    (site / "assets").mkdir(parents=True)
    (site / "data").mkdir()
    for page in pages:
        (site / page.file).write_text(_html(page, pages, slugs), encoding="utf-8", newline="\n")
    assets = files("numerics.report").joinpath("assets")
    scripts = {*SHARED_SCRIPTS, *CARD_SCRIPTS, *(s for page in pages for s in page.scripts)}
    for name in sorted({"report.css", *scripts}):
        (site / "assets" / name).write_bytes(assets.joinpath(name).read_bytes())
    plotly = files("plotly").joinpath("package_data", "plotly.min.js")
    (site / "assets" / "plotly.min.js").write_bytes(plotly.read_bytes())
    for dataset, model, slug in zip(datasets, models, slugs, strict=True):
        (site / "data" / f"{slug}.js").write_text(model, encoding="utf-8", newline="\n")
        csv = results.to_table(dataset).to_csv(index=False, lineterminator="\n")
        (site / "data" / f"{slug}.csv").write_text(csv, encoding="utf-8", newline="\n")
    written = sorted(p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file())
    (site / MARKER).write_text(json.dumps({"files": written}, indent=1) + "\n", encoding="utf-8", newline="\n")


def _html(page: Page, pages: Sequence[Page], slugs: Sequence[str]) -> str:
    assets = files("numerics.report").joinpath("assets")
    scripts = [f"assets/{name}" for name in ("plotly.min.js", *SHARED_SCRIPTS)]
    scripts += [f"data/{slug}.js" for slug in slugs]
    scripts += [f"assets/{name}" for name in (*page.scripts, *CARD_SCRIPTS)]
    links = [
        f'<a href="{p.file}"{" aria-current=page" if p is page else ""}>{escape(p.title)}</a>'
        for p in pages
        if len(pages) > 1
    ]
    return Template(assets.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(page.title),
        navigation=f"<nav>{''.join(links)}</nav>" if links else "",
        body=assets.joinpath(f"{page.key}.html").read_text(encoding="utf-8"),
        scripts="\n".join(f'<script defer src="{escape(source)}"></script>' for source in scripts),
    )
