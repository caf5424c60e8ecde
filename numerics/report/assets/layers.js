"use strict";
/* How the types are shared in each layer: stacked bars, one chart per shown model. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  function traces(model, at) {
    const c = R.colours();
    const p = model.data.profile;
    const counts = new Map();
    const totals = new Array(p.layers).fill(0);
    for (const head of model.heads) {
      const type = model.type(head, at);
      if (type === null) continue;
      if (!counts.has(type)) counts.set(type, new Array(p.layers).fill(0));
      counts.get(type)[head.layer] += 1;
      totals[head.layer] += 1;
    }
    return p.types
      .filter((t) => counts.has(t))
      .map((type) => ({
        type: "bar",
        name: R.plotText(R.typeStyle(type).name),
        x: totals.map((_, layer) => layer),
        y: counts.get(type).map((n, layer) => (totals[layer] ? n / totals[layer] : null)),
        text: counts
          .get(type)
          .map(
            (n, layer) =>
              `layer ${layer}${p.stack ? ` (${R.plotText(p.stack[layer])})` : ""}` +
              `<br><b>${R.plotText(R.typeStyle(type).name)}</b> ${n} of ${totals[layer]} heads`,
          ),
        textposition: "none",
        hoverinfo: "text",
        marker: { color: c.type(type), line: { width: 0.5, color: c.surface } },
      }));
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("div", { class: "plot bars", role: "img" }),
      el("div", { class: "legend" }),
    );

  R.onUpdate(() => {
    const place = document.getElementById("layers");
    if (!place || !R.changed("layers")) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, plot, key] = pane.children;
      const at = model.distanceIndex(state.distance);
      title.textContent = model.label;
      plot.setAttribute("aria-label", `Share of head types in each layer of ${model.label}`);
      Plotly.react(
        plot,
        traces(model, at),
        R.plotLayout({
          barmode: "stack",
          bargap: model.data.profile.layers > 16 ? 0.15 : 0.35,
          margin: { l: 52, r: 8, t: 8, b: 44 },
          xaxis: R.axis({
            title: R.axisTitle("layer"),
            showgrid: false,
            dtick: Math.max(1, Math.ceil(model.data.profile.layers / 16)),
          }),
          yaxis: R.axis({ title: R.axisTitle("share of heads"), range: [0, 1], tickformat: ".0%", dtick: 0.25 }),
        }),
        { ...R.plotConfig, displayModeBar: false },
      );
      key.replaceChildren(...R.typeLegend(model, at));
    }
  });
})();
