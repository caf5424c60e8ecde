"use strict";
/* Sections of the head card from the bands: numbers and spectra; importances from an ablation. */
(() => {
  const R = numericsReport;
  const { el } = R;

  function spectra(place, model, head) {
    const bands = R.bands(model);
    const { metrics, length } = bands.data;
    const wavelengths = bands.wavelengths(head.layer);
    if (metrics.every((metric) => bands.values(metric, head).every((v) => v === null))) {
      place.append(el("p", { class: "note" }, "Missing: this head has no bands."));
      return;
    }
    const facts = metrics.map((metric) => [
      metric,
      `band ${R.number(bands.column(metric, "band", head), 0)}, λ ${R.wavelength(bands.column(metric, "wavelength", head))}`,
    ]);
    const change = bands.change(head);
    if (change !== null) facts.push(["H − log N, nats", R.number(change, 3)]);
    place.append(
      el(
        "dl",
        { class: "numbers single" },
        facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
      ),
    );
    const plot = el("div", {
      class: "plot spectra",
      role: "img",
      "aria-label": `${metrics.join(", ")} of the bands of head ${head.name} over their wavelengths`,
    });
    place.append(plot);
    R.drawSpectra(plot, { rows: R.bandRows(model, head), wavelengths, limit: length });
    const note = R.standing(wavelengths, bands.values(metrics[0], head));
    place.append(
      ...(note ? [note] : []),
      el(
        "p",
        { class: "caption" },
        `Above, the largest band of each; below, sums over the text${length ? `; dotted: the length of a text, ${length} tokens` : ""}. `,
        el(
          "a",
          { href: `bands.html${R.address({ ...R.headAddress(model), at: head.name, head: null })}` },
          "Beside the other heads",
        ),
      ),
    );
  }

  function importances(place, model, head) {
    const { importance, bands, heads, wavelength } = model.data.ablation;
    const start = (head.layer * heads + head.head) * bands;
    const wavelengths = wavelength.slice(head.layer * bands, (head.layer + 1) * bands);
    const plot = el("div", {
      class: "plot spectra",
      role: "img",
      "aria-label": `Importances of the bands of head ${head.name} over their wavelengths`,
    });
    const rows = Object.entries(importance).map(([metric, values]) => ({
      ...R.ablationStyle(metric),
      title: metric,
      values: values.slice(start, start + bands),
    }));
    for (const row of rows) {
      row.text = (band) =>
        `band ${band}, wavelength ${R.wavelength(wavelengths[band])}<br><b>${R.plotText(row.title)} ${R.number(row.values[band], 3)}</b>`;
    }
    place.append(plot);
    R.drawSpectra(plot, { rows, wavelengths, overlaid: true });
    place.append(
      el(
        "p",
        { class: "legend" },
        rows.map((row) => R.ablationKey(row.title)),
      ),
    );
  }

  /* How a metric is told apart in the figures about removed bands: colour, dash, sign. */
  const STYLES = {
    activation: { variable: "c", dash: "solid", symbol: "circle", mark: "●" },
    entropy: { variable: "b", dash: "dash", symbol: "square", mark: "■" },
    "entropy-signed": { variable: "d", dash: "dashdot", symbol: "triangle-up", mark: "▲" },
    fisher: { variable: "a", dash: "dot", symbol: "diamond", mark: "◆" },
    random: { variable: "none", dash: "longdash", symbol: "x", mark: "✕" },
  };
  R.ablationStyle = (metric) => STYLES[metric] || { variable: "text", dash: "solid", symbol: "circle-open", mark: "○" };
  R.ablationKey = (metric) => {
    const { variable, mark } = R.ablationStyle(metric);
    return el(
      "span",
      { class: "entry" },
      el("span", { class: "mark", style: `color:var(--${variable})`, "aria-hidden": "true" }, mark),
      metric,
    );
  };

  R.cardSections.push(
    { key: "bands", title: "Rotary bands", draw: spectra },
    {
      key: "ablation",
      title: "Importance of its bands",
      draw: (place, model, head) =>
        Object.keys(model.data.ablation.importance).length
          ? importances(place, model, head)
          : place.append(el("p", { class: "note" }, "Missing: the file holds no importances.")),
    },
  );
})();
