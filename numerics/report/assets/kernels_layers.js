"use strict";
/* What holds per layer: positional share, content that survives a shift; and the first layer's approximation. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const STYLES = [
    { variable: "c", dash: "solid", symbol: "circle", mark: "●" },
    { variable: "d", dash: "dash", symbol: "diamond", mark: "◆" },
    { variable: "b", dash: "dot", symbol: "square", mark: "■" },
    { variable: "a", dash: "dashdot", symbol: "cross", mark: "✚" },
  ];
  const style = (i) => STYLES[i % STYLES.length];

  function lines(plot, series, { xTitle, range, decimals = 3, whole = true }) {
    const c = R.colours();
    const length = series[0].x.length;
    return Plotly.react(
      plot,
      series.map((s) => ({
        type: "scatter",
        mode: s.thin ? "lines" : "lines+markers",
        x: s.x,
        y: s.y,
        connectgaps: false,
        text: s.y.map(
          (v, i) =>
            `${s.name ? `${R.plotText(s.name)}<br>` : ""}${xTitle} ${s.x[i]}<br><b>${R.number(v, decimals)}</b>`,
        ),
        hoverinfo: "text",
        line: s.thin
          ? { color: c.none, width: 1 }
          : { color: c.coordinate[s.style.variable], width: 2, dash: s.style.dash },
        marker: s.thin ? {} : { size: 6, symbol: s.style.symbol, color: c.coordinate[s.style.variable] },
      })),
      R.plotLayout({
        margin: { l: 44, r: 12, t: 8, b: 44 },
        hovermode: "closest",
        xaxis: R.axis({
          title: R.axisTitle(xTitle),
          showgrid: false,
          zeroline: false,
          ...(whole ? { dtick: Math.max(1, Math.ceil(length / 8)) } : {}),
        }),
        yaxis: R.axis({ nticks: 5, ...(range ? { range } : { rangemode: "tozero" }) }),
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
  }

  const figure = (title) =>
    el(
      "div",
      {},
      el("h4", {}, title),
      el("div", { class: "plot line", role: "img", "aria-label": title }),
      el("div", { class: "legend" }),
    );
  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el(
        "div",
        { class: "pair trio" },
        figure("Positional share of the variance"),
        figure("Content that survives a shift"),
        figure("First layer: TV of the approximation"),
      ),
    );

  function draw(model, pane) {
    const k = model.data.kernels;
    const numbers = Array.from({ length: k.layers }, (_, i) => i);
    const [share, survival, first] = pane.children[1].children;
    share.hidden = !k.positional_share;
    survival.hidden = !k.content_survival;
    first.hidden = !k.tv_first_layer;
    if (!share.hidden) {
      R.whenSeen(share.children[1], () =>
        lines(share.children[1], [{ x: numbers, y: k.positional_share, style: style(0) }], { xTitle: "layer" }),
      );
    }
    if (!survival.hidden) {
      const series = k.shifts.map((shift, s) => ({
        name: `shift ${shift}`,
        x: numbers,
        y: numbers.map((layer) => k.content_survival[layer * k.shifts.length + s]),
        style: style(s),
      }));
      const low = Math.min(...k.content_survival.filter((v) => v !== null));
      R.whenSeen(survival.children[1], () =>
        lines(survival.children[1], series, { xTitle: "layer", range: [Math.min(0, low * 1.05), 1.05] }),
      );
      survival.children[2].replaceChildren(
        ...series.map((s) =>
          el(
            "span",
            { class: "entry" },
            el(
              "span",
              { class: "mark", style: `color:var(--${s.style.variable})`, "aria-hidden": "true" },
              s.style.mark,
            ),
            s.name,
          ),
        ),
      );
    }
    if (!first.hidden) {
      const heads = model.heads.filter((head) => head.layer === 0);
      const rows = heads.map((head) =>
        k.tv_first_layer.slice(head.head * k.queries.length, (head.head + 1) * k.queries.length),
      );
      const mean = k.queries.map((_, q) => {
        const there = rows.map((row) => row[q]).filter((v) => v !== null);
        return there.length ? there.reduce((sum, v) => sum + v, 0) / there.length : null;
      });
      R.whenSeen(first.children[1], () =>
        lines(
          first.children[1],
          [
            ...heads.map((head, i) => ({ name: `head ${head.name}`, x: k.queries, y: rows[i], thin: true })),
            { name: "mean of the heads", x: k.queries, y: mean, style: style(0) },
          ],
          { xTitle: "query", whole: false },
        ),
      );
    }
  }

  R.onUpdate(() => {
    const place = document.getElementById("per-layer");
    if (!place || !R.changed("per-layer")) return;
    for (const { model, pane } of R.panes(place, build)) {
      pane.children[0].textContent = model.label;
      draw(model, pane);
    }
  });
})();
