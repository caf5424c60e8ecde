"use strict";
/* How often Z strays from its expectation, beside the bounds for independent contents. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const KINDS = [
    { key: "exceedance", name: "observed, mean of the heads", variable: "c", dash: "solid", mark: "●", symbol: "circle" },
    { key: "chebyshev", name: "Chebyshev", variable: "d", dash: "dash", mark: "◆", symbol: "diamond" },
    { key: "hoeffding", name: "Hoeffding", variable: "b", dash: "dot", mark: "■", symbol: "square" },
  ];

  const mean = (values) => {
    const there = values.filter((v) => v !== null);
    return there.length ? there.reduce((sum, v) => sum + v, 0) / there.length : null;
  };
  const positive = (values) => values.map((v) => (v > 0 ? v : null));

  function draw(plot, model) {
    const c = R.colours();
    const k = model.data.kernels;
    const x = k.strays.deviations;
    const of = (key, head) => {
      const start = (head.layer * k.heads + head.head) * x.length;
      return k.strays[key].slice(start, start + x.length);
    };
    const trace = (name, y, style) => ({
      type: "scatter",
      x,
      y: positive(y),
      connectgaps: false,
      text: y.map((v, i) => `${name}<br>${x[i]} sd<br><b>${R.number(v, 4)}</b>`),
      hoverinfo: "text",
      ...style,
    });
    const heads = model.heads.map((head) =>
      trace(`head ${head.name}`, of("exceedance", head), { mode: "lines", line: { color: c.none, width: 1 } }),
    );
    const lines = KINDS.map(({ key, name, variable, dash, symbol }) => {
      const rows = model.heads.map((head) => of(key, head));
      const y = x.map((_, i) => mean(rows.map((row) => row[i])));
      const color = c.coordinate[variable];
      return trace(name, y, { mode: "lines+markers", line: { color, width: 2, dash }, marker: { size: 6, symbol, color } });
    });
    return Plotly.react(
      plot,
      [...heads, ...lines],
      R.plotLayout({
        margin: { l: 56, r: 12, t: 8, b: 48 },
        hovermode: "closest",
        xaxis: R.axis({ title: R.axisTitle("|Z − E Z| in predicted sd"), tickvals: x, showgrid: false, zeroline: false }),
        yaxis: R.axis({ title: R.axisTitle("share"), type: "log", dtick: 1 }),
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
  }

  const build = () =>
    el(
      "article",
      { class: "pane aside" },
      el("h3", {}),
      el("div", { class: "plot line", role: "img" }),
      el("aside", {}, el("div", { class: "legend" }), el("p", { class: "note" })),
    );

  R.onUpdate(() => {
    const place = document.getElementById("strays");
    if (!place || !R.changed("strays")) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, plot, aside] = pane.children;
      const [key, note] = aside.children;
      const there = model.data.kernels.strays !== null;
      title.replaceChildren(model.label);
      plot.hidden = !there;
      key.hidden = !there;
      note.textContent = there ? "" : "Not in this file.";
      if (!there) continue;
      plot.setAttribute("aria-label", `Share of denominators beyond k predicted standard deviations, ${model.label}`);
      key.replaceChildren(
        ...KINDS.map(({ name, variable, mark }) =>
          el(
            "span",
            { class: "entry" },
            el("span", { class: "mark", style: `color:var(--${variable})`, "aria-hidden": "true" }, mark),
            name,
          ),
        ),
      );
      R.whenSeen(plot, () => draw(plot, model));
    }
  });
})();
