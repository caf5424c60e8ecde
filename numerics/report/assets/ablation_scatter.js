"use strict";
/* Entropy importance against activation importance, one point per band of every head. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const MOST = 20000; // points that are drawn
  const GOLDEN = (Math.sqrt(5) - 1) / 2;
  const view = { axes: "linear" };

  R.starts.push(() => {
    const place = document.getElementById("scatter-controls");
    if (!place) return;
    place.append(
      el(
        "div",
        { class: "row" },
        R.segmented(
          "axes",
          "Axes",
          [
            ["linear", "Linear"],
            ["log", "Log"],
          ],
          view.axes,
          (value) => {
            view.axes = value;
          },
        ),
      ),
    );
  });

  /* All bands with both importances; on log axes those where both are positive. */
  function points(model, log) {
    const { importance, bands, heads } = model.data.ablation;
    const { activation, entropy } = importance;
    const found = [];
    activation.forEach((x, i) => {
      const y = entropy[i];
      if (x === null || y === null || (log && (x <= 0 || y <= 0))) return;
      const at = Math.floor(i / bands);
      found.push({ x, y, band: i % bands, head: `${Math.floor(at / heads)}.${at % heads}` });
    });
    return found;
  }

  /* At most `MOST` of them, spread evenly and always the same: multiples of the golden ratio fill [0, 1) evenly. */
  R.thinned = (all, most = MOST) =>
    all.length <= most ? all : all.filter((_, i) => (i * GOLDEN) % 1 < most / all.length).slice(0, most);

  function fit(all, log) {
    const [x, y] = ["x", "y"].map((key) => all.map((p) => (log ? Math.log10(p[key]) : p[key])));
    const mean = (v) => v.reduce((sum, one) => sum + one, 0) / v.length;
    const [mx, my] = [mean(x), mean(y)];
    const spread = x.reduce((sum, v) => sum + (v - mx) ** 2, 0);
    if (!spread) return null;
    const slope = x.reduce((sum, v, i) => sum + (v - mx) * (y[i] - my), 0) / spread;
    const ends = [x.reduce((a, b) => Math.min(a, b)), x.reduce((a, b) => Math.max(a, b))];
    const line = { x: ends, y: ends.map((v) => my + slope * (v - mx)) };
    return log ? { x: line.x.map((v) => 10 ** v), y: line.y.map((v) => 10 ** v) } : line;
  }

  function draw(plot, model, all, shown, log) {
    const c = R.colours();
    const { bands, wavelength } = model.data.ablation;
    const turn = (p) => wavelength[Number(p.head.split(".")[0]) * bands + p.band];
    const line = fit(all, log);
    const axis = (title) =>
      R.axis({
        title: R.axisTitle(title),
        type: log ? "log" : "linear",
        ...(log ? { dtick: 1, exponentformat: "power" } : { range: [-0.03, 1.03], dtick: 0.2 }),
        zeroline: false,
      });
    const first = !plot.layout;
    Plotly.react(
      plot,
      [
        {
          type: "scatter",
          mode: "markers",
          x: shown.map((p) => p.x),
          y: shown.map((p) => p.y),
          customdata: shown.map((p) => p.head),
          text: shown.map(
            (p) =>
              `<b>${p.head}</b> band ${p.band}, wavelength ${R.wavelength(turn(p))}<br>activation ${R.number(p.x, 3)}<br>entropy ${R.number(p.y, 3)}`,
          ),
          hoverinfo: "text",
          marker: {
            size: shown.length > 2000 ? 4 : 6,
            color: c.coordinate.c,
            opacity: shown.length > 2000 ? 0.35 : 0.6,
          },
        },
        ...(line
          ? [{ type: "scatter", mode: "lines", ...line, hoverinfo: "skip", line: { color: c.text, width: 1.5 } }]
          : []),
      ],
      R.plotLayout({
        margin: { l: 56, r: 12, t: 8, b: 48 },
        hovermode: "closest",
        xaxis: axis("activation importance"),
        yaxis: axis("entropy importance"),
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
    if (first) {
      plot.on("plotly_click", ({ points: [point] }) => {
        const pane = plot.closest(".pane");
        const now = R.shown()[[...pane.parentElement.children].indexOf(pane)];
        if (point.customdata) R.openHead(now, point.customdata);
      });
    }
  }

  const build = () =>
    el(
      "article",
      { class: "pane aside" },
      el("h3", {}),
      el("div", { class: "plot square", role: "img" }),
      el("aside", {}, el("dl", { class: "numbers" }), el("p", { class: "note" })),
    );

  R.onUpdate(() => {
    const place = document.getElementById("scatter");
    if (!place || !R.changed("scatter", view)) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, plot, aside] = pane.children;
      const [numbers, note] = aside.children;
      const { importance, r_squared: plain, r_squared_log: logs, log_dropped: dropped } = model.data.ablation;
      const there = "activation" in importance && "entropy" in importance;
      title.textContent = model.label;
      plot.hidden = numbers.hidden = !there;
      if (!there) {
        note.textContent = "The file does not hold both importances.";
        continue;
      }
      const log = view.axes === "log";
      const all = points(model, log);
      const shown = R.thinned(all);
      plot.setAttribute(
        "aria-label",
        `Entropy importance against activation importance of the bands of ${model.label}`,
      );
      numbers.replaceChildren(
        ...[
          ["R²", R.number(plain, 3)],
          ["R² of the logarithms", R.number(logs, 3)],
          ["bands", all.length.toLocaleString("en")],
        ].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
      );
      note.textContent = [
        shown.length < all.length
          ? `Drawn are ${shown.length.toLocaleString("en")} of them, evenly spread; line and R² are of all.`
          : "",
        log && dropped ? `${dropped.toLocaleString("en")} bands with an importance of 0 are left out.` : "",
      ]
        .filter(Boolean)
        .join(" ");
      R.whenSeen(plot, () => draw(plot, model, all, shown, log));
    }
  });
})();
