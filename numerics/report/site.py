"""Writes the static site: pages, assets, one data file per model, one CSV per capability, swapped in as a whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import xarray as xr

from numerics.errors import InvalidArgument, UnwritableOutput
from numerics.report import encode
from numerics.report.pages import CARD_SCRIPTS, PAGES, SHARED_SCRIPTS, Page

# Names the files of a report; its presence says that the folder is ours to replace.
MARKER = "numerics-report.json"


@dataclass(frozen=True)
class Entry:
    """One model of the site: the Dataset of each page that shows it, by the page's key."""

    parts: dict[str, xr.Dataset]

    @property
    def first(self) -> xr.Dataset:
        return next(iter(self.parts.values()))


def write(datasets: Sequence[xr.Dataset], out: str | Path) -> Path:
    """Write the report of `datasets` into the folder `out`; returns its first page, `index.html` if there are profiles.

    Each dataset comes from `numerics.profile` or one of its siblings (`numerics.report.pages`). Those of one model
    (equal attrs `model` and `sha256`) become one model of the site with several capabilities; two of one capability,
    such as the profiles of two forms, stay apart. The site opens from disk with the network off. The same datasets give
    the same bytes. The folder appears as a whole: it is built beside `out` and swapped in, and an earlier report in
    `out` is replaced.
    Errors: InvalidArgument when a dataset holds nothing a page can show, or when `out` holds something that is not a
    report; UnwritableOutput when it cannot be written.
    """
    if not datasets:
        raise InvalidArgument("there is no dataset to report", "pass at least one result of numerics.profile")
    entries = _joined(datasets)
    pages = [page for page in PAGES if any(_shows(page, dataset) for dataset in datasets)]
    labels = _labels([entry.first for entry in entries])
    slugs = _slugs(labels)
    models = [_model(entry, label, slug) for entry, label, slug in zip(entries, labels, slugs, strict=True)]
    folder = check_place(out)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _swap_in(folder, pages, entries, models, slugs)
    except OSError as error:
        raise UnwritableOutput(
            f"the report cannot be written to {out}: {error.strerror or error}",
            "choose a folder you may write to with --out",
        ) from error
    return Path(out) / pages[0].file


def _joined(datasets: Sequence[xr.Dataset]) -> list[Entry]:
    """Each dataset goes to the first entry of its model that has none of its capabilities, else starts one.

    So of a model profiled in two forms, the first form carries the kernels. Without `model` and `sha256` nothing is
    known to belong together.
    """
    entries: list[tuple[tuple[str, str] | None, Entry]] = []
    for dataset in datasets:
        parts = {page.key: dataset for page in PAGES if _shows(page, dataset)}
        if not parts:
            held = ", ".join(map(str, dataset.data_vars)) or "none"
            raise InvalidArgument(
                f"no page of the report shows a dataset with the variables {held}",
                "pass what profile, positional_kernels, band_metrics, ablate, attribute or head_circuits returns",
            )
        identity = _identity(dataset)
        for known, entry in entries:
            if identity is not None and known == identity and not parts.keys() & entry.parts.keys():
                entry.parts.update(parts)
                break
        else:
            entries.append((identity, Entry(parts)))
    order = {page.key: i for i, page in enumerate(PAGES)}
    return [Entry(dict(sorted(e.parts.items(), key=lambda part: order[part[0]]))) for _, e in entries]


def _shows(page: Page, dataset: xr.Dataset) -> bool:
    some = not page.some_of or any(name in dataset for name in page.some_of)
    return some and all(name in dataset for name in page.needs)


def _identity(dataset: xr.Dataset) -> tuple[str, str] | None:
    model, sha256 = dataset.attrs.get("model"), dataset.attrs.get("sha256")
    return (str(model), str(sha256)) if model and sha256 else None


def _model(entry: Entry, label: str, slug: str) -> str:
    """The script that hands a model to the pages: attrs that all its datasets share, and all of each dataset's."""
    made = {key: encode.attributes(dataset) for key, dataset in entry.parts.items()}
    shared = {
        name: value
        for name, value in encode.attributes(entry.first).items()
        if all(attrs.get(name) == value for attrs in made.values())
    }
    data = {page.key: page.data(entry.parts[page.key]) for page in PAGES if page.key in entry.parts}
    found = {"slug": slug, "label": label, "attrs": shared, "made": made, "data": data}
    return f"numericsReport.addModel({encode.script_json(found)});\n"


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
    folder: Path, pages: Sequence[Page], entries: Sequence[Entry], models: Sequence[str], slugs: Sequence[str]
) -> None:
    """Build beside `folder`, then rename; a failure at any moment leaves the earlier report in place."""
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        # A folder inside the temporary one: mkdtemp's own is private (0700), a report may be served.
        site, earlier = staging / "site", staging / "earlier"
        _build(site, pages, entries, models, slugs)
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
    site: Path, pages: Sequence[Page], entries: Sequence[Entry], models: Sequence[str], slugs: Sequence[str]
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
    for entry, model, slug in zip(entries, models, slugs, strict=True):
        (site / "data" / f"{slug}.js").write_text(model, encoding="utf-8", newline="\n")
        for page in pages:
            if page.key in entry.parts:
                csv = page.table(entry.parts[page.key]).to_csv(index=False, lineterminator="\n")
                # No slug holds "_": the files of two models never have one name.
                (site / "data" / f"{slug}_{page.key}.csv").write_text(csv, encoding="utf-8", newline="\n")
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
        key=escape(page.key),
        navigation=f"<nav>{''.join(links)}</nav>" if links else "",
        body=assets.joinpath(f"{page.key}.html").read_text(encoding="utf-8"),
        scripts="\n".join(f'<script defer src="{escape(source)}"></script>' for source in scripts),
    )
