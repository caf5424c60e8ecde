"use strict";
/* One point per head: how well the kernel stands for the attention, and how well the spread of Z is predicted. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  /* Points by category, an identity line, lines at limits; a click opens the head. `log`: both axes. */
  function scatter(plot, model, { x, y, xTitle, yTitle, log, limit }) {
    const kernels = R.kernels(model);
    const c = R.colours();
    const points = model.heads
      .map((head) => ({ head, x: x(head), y: y(head) }))
      .filter((p) => p.x !== null && p.y !== null && (!log || (p.x > 0 && p.y > 0)));
    const all = points.flatMap((p) => [p.x, p.y]);
    const [low, high] = log
      ? [Math.min(...all, limit || 1) / 1.3, Math.max(...all, limit || 0) * 1.3]
      : [0, Math.max(0.1, ...all) * 1.05];
    const names = [...kernels.data.categories, null];
    const traces = names.map((name) => {
      const mine = points.filter((p) => kernels.category(p.head) === name);
      const style = R.categoryStyle(name);
      return {
        type: "scatter",
        mode: "markers",
        name: R.plotText(name || "no category"),
        x: mine.map((p) => p.x),
        y: mine.map((p) => p.y),
        customdata: mine.map((p) => p.head.name),
        text: mine.map(
          (p) =>
            `<b>${p.head.name}</b>  ${R.plotText(name || "")}<br>${xTitle} ${R.number(p.x, 3)}<br>${yTitle} ${R.number(p.y, 3)}` +
            `<br>${R.plotText(model.label)}`,
        ),
        hoverinfo: "text",
        marker: {
          symbol: style.symbol,
          size: 9,
          opacity: 0.85,
          color: c.category(name),
          line: { width: 0.5, color: c.surface },
        },
      };
    });
    const rule = (x0, y0, x1, y1, dash) => ({
      type: "line",
      x0,
      y0,
      x1,
      y1,
      layer: "below",
      line: { color: c.muted, width: 1.25, dash },
    });
    const axis = (title) => {
      const range = log ? [Math.log10(low), Math.log10(high)] : [low, high];
      return R.axis({
        title: R.axisTitle(title),
        type: log ? "log" : "linear",
        range,
        zeroline: false,
        ...(log ? logTicks(low, high) : { nticks: 6 }),
      });
    };
    const first = !plot.layout;
    Plotly.react(
      plot,
      traces,
      R.plotLayout({
        margin: { l: 56, r: 12, t: 8, b: 48 },
        hovermode: "closest",
        xaxis: axis(xTitle),
        yaxis: axis(yTitle),
        shapes: [
          rule(low, low, high, high, "solid"),
          ...(limit ? [rule(limit, low, limit, high, "dot"), rule(low, limit, high, limit, "dot")] : []),
        ],
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
    if (first) {
      plot.on("plotly_click", (event) => {
        const pane = plot.closest(".pane");
        R.openHead(R.shown()[[...pane.parentElement.children].indexOf(pane)], event.points[0].customdata);
      });
    }
    return model.heads.length - points.length;
  }

  function logTicks(low, high) {
    const values = [];
    for (let power = -6; power < 6; power++) for (const digit of [1, 2, 5]) values.push(Number(`${digit}e${power}`));
    const inside = values.filter((v) => v >= low && v <= high);
    const few = inside.length > 7 ? inside.filter((v) => /^1|0\.0*1$/.test(String(v))) : inside;
    return { tickvals: few, ticktext: few.map(String) };
  }

  function left(note, count) {
    note.hidden = !count;
    note.textContent =
      count === 1 ? "1 head is missing here and not drawn." : `${count} heads are missing here and not drawn.`;
  }

  const build = () =>
    el(
      "article",
      { class: "pane aside" },
      el("h3", {}),
      el("div", { class: "plot square", role: "img" }),
      el("aside", {}, el("div", { class: "legend" }), el("p", { class: "note", hidden: true }), el("div", {})),
    );

  const mean = (values) => {
    const there = values.filter((v) => v !== null);
    return there.length ? there.reduce((sum, v) => sum + v, 0) / there.length : null;
  };

  /* Mean distances by category, and how often the kernel is the better of the two. */
  function fidelityTable(model) {
    const kernels = R.kernels(model);
    const [own, flat] = [(head) => kernels.value("tv_kernel", head), (head) => kernels.value("tv_uniform", head)];
    const line = (name, heads) => {
      const both = heads.filter((head) => own(head) !== null && flat(head) !== null);
      const better = both.filter((head) => own(head) < flat(head)).length;
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        [heads.map(own), heads.map(flat)].map((v) => el("td", { class: "number" }, R.number(mean(v), 3))),
        el("td", { class: "number" }, `${better} of ${both.length}`),
      );
    };
    return el(
      "table",
      { class: "means" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td", {}),
          ["kernel", "uniform", "kernel nearer"].map((t) => el("th", { scope: "col", class: "number" }, t)),
        ),
      ),
      el(
        "tbody",
        {},
        kernels.data.categories
          .map((name) => [name, model.heads.filter((head) => kernels.category(head) === name)])
          .filter(([, heads]) => heads.length)
          .map(([name, heads]) => line(name, heads)),
        line("all heads", model.heads),
      ),
    );
  }

  function contextual(model) {
    const kernels = R.kernels(model);
    const list = (name, label) => {
      const heads = model.heads.filter((head) => kernels.contextual(head) === name);
      return el(
        "div",
        {},
        el("dt", {}, `${label} (${heads.length})`),
        el("dd", {}, heads.length ? heads.map((head) => R.headLink(model, head)) : "none"),
      );
    };
    return el(
      "dl",
      { class: "contextual" },
      list("both", "Contextual by both criteria"),
      list("predicted", "by the predicted spread only"),
      list("measured", "by the measured spread only"),
    );
  }

  R.onUpdate(() => {
    const fidelity = document.getElementById("fidelity");
    if (!fidelity || !R.changed("scatter")) return;
    for (const { model, pane } of R.panes(fidelity, build)) {
      const kernels = R.kernels(model);
      const [title, plot, aside] = pane.children;
      const [key, note, numbers] = aside.children;
      title.textContent = model.label;
      plot.setAttribute(
        "aria-label",
        `Total variation of kernel and of uniform, per head of ${model.label}; the numbers are in the table`,
      );
      key.replaceChildren(...R.categoryLegend(model));
      numbers.replaceChildren(fidelityTable(model));
      R.whenSeen(plot, () =>
        left(
          note,
          scatter(plot, model, {
            x: (head) => kernels.value("tv_uniform", head),
            y: (head) => kernels.value("tv_kernel", head),
            xTitle: "TV of uniform",
            yTitle: "TV of kernel",
            log: false,
          }),
        ),
      );
    }
    for (const { model, pane } of R.panes(document.getElementById("denominators"), build)) {
      const kernels = R.kernels(model);
      const [title, plot, aside] = pane.children;
      const [key, note, lists] = aside.children;
      title.replaceChildren(model.label, el("small", {}, `query ${kernels.data.queries[kernels.last]}`));
      plot.setAttribute(
        "aria-label",
        `Predicted and measured relative spread of Z, per head of ${model.label}; the numbers are in the table`,
      );
      key.replaceChildren(...R.categoryLegend(model));
      R.whenSeen(plot, () =>
        left(
          note,
          scatter(plot, model, {
            x: (head) => kernels.value("z_predicted", head),
            y: (head) => kernels.value("z_measured", head),
            xTitle: "predicted sd Z / mean Z",
            yTitle: "measured sd Z / mean Z",
            log: true,
            limit: kernels.data.thresholds.stable,
          }),
        ),
      );
      lists.replaceChildren(contextual(model));
    }
  });
})();
