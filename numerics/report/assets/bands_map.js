"use strict";
/* Layer × band of one metric, one map per shown model: of one head of each layer, or of all heads together. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};
  const view = { scale: "importance", heads: "all" };
  state.metric = null; // the metric that the page is about

  const offeredMetrics = () =>
    Object.keys(R.bandMetrics).filter((metric) => R.offered().some((m) => m.data.bands.metrics.includes(metric)));

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    [state.metric] = offeredMetrics();
    parts.heads = el("select", {
      id: "map-heads",
      onchange: () => {
        view.heads = parts.heads.value;
        R.update();
      },
    });
    place.append(
      el(
        "div",
        { class: "row" },
        R.modelFields(),
        R.segmented(
          "metric",
          "Metric",
          offeredMetrics().map((metric) => [metric, R.bandMetrics[metric].label]),
          state.metric,
          (value) => {
            state.metric = value;
          },
        ),
        R.segmented(
          "scale",
          "Values",
          [
            ["importance", "Importance"],
            ["absolute", "Absolute"],
          ],
          view.scale,
          (value) => {
            view.scale = value;
          },
        ),
        el("div", { class: "field" }, el("label", { for: "map-heads" }, "Heads"), parts.heads),
      ),
    );
  });

  /* What a map shows: z[layer][band], and for each cell the head with the largest value. */
  function table(model) {
    const bands = R.bands(model);
    const { layers, bands: count } = bands.data;
    const z = [];
    const largest = [];
    const heads = [];
    for (let layer = 0; layer < layers; layer++) {
      const mine = model.heads.filter(
        (head) => head.layer === layer && (view.heads === "all" || head.head === Number(view.heads)),
      );
      const rows = mine
        .map((head) => ({
          head,
          values: view.scale === "importance" ? bands.relative(state.metric, head) : bands.values(state.metric, head),
        }))
        .filter(({ values }) => values.some((v) => v !== null));
      heads.push(rows.length);
      z.push(
        Array.from({ length: count }, (_, band) => {
          const there = rows.map(({ values }) => values[band]).filter((v) => v !== null);
          const sum = there.reduce((total, v) => total + v, 0);
          return there.length ? (view.scale === "importance" ? sum / there.length : sum) : null;
        }),
      );
      largest.push(
        Array.from({ length: count }, (_, band) => {
          const there = rows.filter(({ values }) => values[band] !== null);
          return there.length
            ? there.reduce((best, row) => (Math.abs(row.values[band]) > Math.abs(best.values[band]) ? row : best)).head
            : mine[0] || null;
        }),
      );
    }
    return { z, largest, heads };
  }

  function open(model, head) {
    if (!head) return;
    if (state.at === head.name) R.toHeading("spectrum-title");
    R.go({ ...R.headAddress(model), at: head.name, head: null });
  }

  function lines(model, shown, layer, band) {
    const metric = R.bandMetrics[state.metric];
    const bands = R.bands(model);
    const value = shown.z[layer][band];
    const importance = view.scale === "importance";
    const together = view.heads === "all";
    const wavelength = bands.wavelengths(layer)[band];
    if (value === null) return [`layer ${layer}, band ${band}`, wavelength === null ? "no such band" : "missing"];
    const what = importance
      ? `${together ? "mean " : ""}importance, ${state.metric}`
      : `${state.metric}${together ? ", sum" : ""}`;
    const head = shown.largest[layer][band];
    return [
      `layer ${layer}, band ${band}`,
      `wavelength ${R.wavelength(wavelength)} tokens`,
      `${what} ${importance ? R.number(value, 3) : R.threeDigits(value) + metric.unit}`,
      ...(!importance && state.metric === "entropy" && bands.queries()
        ? [`${R.threeDigits(value / bands.queries())} nats per query`]
        : []),
      together ? `${shown.heads[layer]} heads, largest in ${head.name}` : `head ${head.name}`,
    ];
  }

  /* Layers as ranges: 0–4, 6. */
  function ranges(layers) {
    const found = [];
    for (const layer of layers) {
      const last = found[found.length - 1];
      if (last && last[1] === layer - 1) last[1] = layer;
      else found.push([layer, layer]);
    }
    return found.map(([low, high]) => (low === high ? String(low) : `${low}–${high}`)).join(", ");
  }

  /* Band numbers below; above them wavelengths, one line per table where layers differ (three at most). */
  function axes(model, plot) {
    const bands = R.bands(model);
    const { bands: count, layers } = bands.data;
    const tables = bands.tables().slice(0, 3);
    const every = [1, 2, 4, 8, 16, 32, 64].find((step) => (count / step) * 44 <= plot.clientWidth - 70) || 64;
    const ticks = Array.from({ length: count }, (_, band) => band).filter((band) => band % every === 0);
    const range = [-0.5, count - 0.5];
    return {
      margin: { l: 46, r: 10, t: 30 + 16 * tables.length, b: 44 },
      xaxis: R.axis({
        title: R.axisTitle("band"),
        tickvals: ticks,
        ticktext: ticks.map(String),
        tickangle: 0,
        range,
        showgrid: false,
        zeroline: false,
      }),
      xaxis2: R.axis({
        title: { ...R.axisTitle("wavelength, tokens"), standoff: 4 },
        overlaying: "x",
        side: "top",
        tickvals: ticks,
        ticktext: ticks.map((band) => tables.map(({ wavelengths }) => R.wavelength(wavelengths[band])).join("<br>")),
        tickangle: 0,
        range,
        showgrid: false,
        zeroline: false,
      }),
      yaxis: R.axis({
        title: R.axisTitle("layer"),
        range: [layers - 0.5, -0.5],
        dtick: Math.max(1, Math.ceil(layers / 24)),
        showgrid: false,
        zeroline: false,
      }),
    };
  }

  function legend(model, top, stops) {
    const metric = R.bandMetrics[state.metric];
    const write = (value) => (view.scale === "importance" ? R.number(value, 2) : R.threeDigits(value) + metric.unit);
    const tables = R.bands(model).tables();
    const { residual } = R.bands(model).data;
    return [
      el(
        "span",
        { class: "entry scale" },
        metric.signed ? `${write(-top)} sharpens` : "0",
        R.ramp(stops),
        `${write(top)}${metric.signed ? " flattens" : ""}`,
      ),
      tables.length > 1
        ? el(
            "span",
            { class: "entry" },
            `Wavelengths, line by line: layers ${tables
              .slice(0, 3)
              .map(({ layers }) => ranges(layers))
              .join("; ")}${tables.length > 3 ? "; others when pointed at" : ""}.`,
          )
        : null,
      metric.signed && residual !== null
        ? el("span", { class: "entry" }, `Shares add up within ${R.threeDigits(residual)} nats.`)
        : null,
    ].filter(Boolean);
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("p", { class: "note", hidden: true }),
      el("div", {}, ...R.heatPlace("bands")),
      el("div", { class: "legend" }),
    );

  R.onUpdate(() => {
    const place = document.getElementById("map");
    if (!place) return;
    const count = Math.max(...R.shown().map((model) => model.data.bands.heads));
    if (view.heads !== "all" && Number(view.heads) >= count) view.heads = "all";
    if (!R.changed("map", state.metric, view)) return;
    parts.heads.replaceChildren(
      el("option", { value: "all" }, view.scale === "importance" ? "mean of all" : "sum of all"),
      ...Array.from({ length: count }, (_, head) =>
        el("option", { value: String(head) }, `head ${head} of each layer`),
      ),
    );
    parts.heads.value = view.heads;
    const metric = R.bandMetrics[state.metric];
    const panes = R.panes(place, build).map(({ model, pane }) => ({
      model,
      pane,
      shown: R.bands(model).data.metrics.includes(state.metric) ? table(model) : null,
    }));
    const size = (shown) => (shown ? Math.max(0, ...shown.z.flat().map((v) => Math.abs(v ?? 0))) : 0);
    /* Importances of two models can be compared, sums over their texts cannot. */
    const common = Math.max(...panes.map(({ shown }) => size(shown)));
    for (const { model, pane, shown } of panes) {
      const [title, note, figure, key] = pane.children;
      const plot = figure.firstElementChild;
      const { data } = R.bands(model);
      const there = shown !== null;
      title.textContent = model.label;
      note.hidden = there;
      note.textContent = `The file of this model holds no ${state.metric}.`;
      figure.hidden = key.hidden = !there;
      if (!there) continue;
      const top = view.scale === "importance" ? common : size(shown);
      const stops = metric.signed ? [...R.diverging()].reverse() : R.colours().weights;
      plot.setAttribute(
        "aria-label",
        `${metric.label} of ${model.label}: layers down, bands across; arrow keys move, Enter opens the head`,
      );
      plot.style.height = `${Math.round(Math.min(22, Math.max(9, 720 / data.layers)) * data.layers) + 130}px`;
      R.whenSeen(plot, () =>
        R.heat(plot, {
          rows: data.layers,
          columns: data.bands,
          z: shown.z,
          low: metric.signed ? -(top || 1) : 0,
          high: top || 1,
          stops,
          lines: (layer, band) => lines(model, shown, layer, band),
          open: (layer, band) => open(model, shown.largest[layer][band]),
          layout: { ...axes(model, plot), plot_bgcolor: R.colours().line },
          traces: [{ type: "scatter", mode: "markers", x: [0], y: [0], xaxis: "x2", opacity: 0, hoverinfo: "skip" }],
        }),
      );
      key.replaceChildren(...legend(model, top, stops));
    }
  });
})();
