"use strict";
/* Loss against the removed fraction, one line per metric, and the same numbers as a table. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const view = { select: "global", scale: "loss" };
  const LEAST = 5e-6; // nats, what rounding leaves: less is no increase on a log axis
  const SELECT = { global: "Whole model", head: "Each head" };

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    const selects = Object.keys(SELECT).filter((how) =>
      R.offered().some((model) => model.data.ablation.selects.includes(how)),
    );
    [view.select] = selects;
    place.append(
      el(
        "div",
        { class: "row" },
        R.modelFields(),
        selects.length > 1
          ? R.segmented(
              "select",
              "Lowest bands of",
              selects.map((how) => [how, SELECT[how]]),
              view.select,
              (value) => {
                view.select = value;
              },
            )
          : null,
        R.segmented(
          "curve-scale",
          "Show",
          [
            ["loss", "Loss"],
            ["increase", "Increase, log"],
          ],
          view.scale,
          (value) => {
            view.scale = value;
          },
        ),
      ),
    );
  });

  /* Per metric and fraction: mean, least and greatest over the seeds, how many, and the standard error of a single one. */
  function sweep(model) {
    const a = model.data.ablation;
    const how = a.selects.indexOf(view.select);
    if (how < 0) return null;
    return a.metrics
      .map((metric, m) => {
        const points = a.fractions.map((fraction, f) => {
          const start = ((m * a.selects.length + how) * a.fractions.length + f) * a.seeds;
          const values = a.nll.slice(start, start + a.seeds).filter((v) => v !== null);
          if (!values.length) return null;
          return {
            fraction,
            removed: a.removed ? a.removed[how * a.fractions.length + f] : null,
            seeds: values.length,
            mean: values.reduce((sum, v) => sum + v, 0) / values.length,
            low: Math.min(...values),
            high: Math.max(...values),
            error: values.length === 1 && a.standard_error ? a.standard_error[start] : null,
          };
        });
        return { metric, points: points.filter(Boolean) };
      })
      .filter(({ points }) => points.length);
  }

  const over = (value, whole) => (whole === null ? null : value - whole);
  const signed = (value) => {
    const text = R.number(value, 3).replace("−0.000", "0.000");
    return value > 0 && text !== "0.000" ? `+${text}` : text;
  };

  function hover(metric, point, whole) {
    return [
      `<b>${R.plotText(metric)}</b>`,
      `${R.number(100 * point.fraction, 0)} % removed${point.removed === null ? "" : `, ${point.removed.toLocaleString("en")} bands`}`,
      `<b>${R.number(point.mean, 3)} nats</b>${point.error === null ? "" : ` ± ${R.number(point.error, 3)}`}`,
      ...(whole === null ? [] : [`${signed(over(point.mean, whole))} to the whole model`]),
      ...(point.seeds > 1 ? [`${point.seeds} seeds, ${R.number(point.low, 3)} to ${R.number(point.high, 3)}`] : []),
    ].join("<br>");
  }

  function draw(plot, model) {
    const c = R.colours();
    const { whole, fractions } = model.data.ablation;
    const increase = view.scale === "increase" && whole !== null;
    const y = (value) => {
      if (!increase) return value;
      return value - whole > LEAST ? value - whole : null;
    };
    const colour = (style) => c.coordinate[style.variable] || c[style.variable];
    const curves = sweep(model);
    const shades = curves
      .filter(({ points }) => points.some((point) => point.seeds > 1))
      .flatMap(({ metric, points }) => {
        const there = points.filter((point) => y(point.low) !== null);
        const edge = (pick, fill) => ({
          type: "scatter",
          mode: "lines",
          x: there.map((point) => point.fraction),
          y: there.map((point) => y(pick(point))),
          line: { width: 0, color: colour(R.ablationStyle(metric)) },
          fill,
          fillcolor: `${colour(R.ablationStyle(metric))}40`,
          hoverinfo: "skip",
        });
        return [edge((point) => point.low, "none"), edge((point) => point.high, "tonexty")];
      });
    const lines = curves.map(({ metric, points }) => {
      const style = R.ablationStyle(metric);
      const errors = points.map((point) => point.error ?? 0);
      return {
        type: "scatter",
        mode: "lines+markers",
        name: R.plotText(metric),
        x: points.map((point) => point.fraction),
        y: points.map((point) => y(point.mean)),
        text: points.map((point) => hover(metric, point, whole)),
        hoverinfo: "text",
        error_y: errors.some((v) => v > 0)
          ? { type: "data", array: errors, color: colour(style), thickness: 1.25, width: 3 }
          : undefined,
        line: { color: colour(style), width: 2, dash: style.dash },
        marker: { size: 8, color: colour(style), symbol: style.symbol, line: { width: 0.5, color: c.surface } },
      };
    });
    const edge = 0.03 * (Math.max(...fractions) - Math.min(...fractions) || 1);
    return Plotly.react(
      plot,
      [...shades, ...lines],
      R.plotLayout({
        margin: { l: 60, r: 12, t: 10, b: 48 },
        hovermode: "closest",
        xaxis: R.axis({
          title: R.axisTitle("fraction of the bands removed"),
          tickformat: ".0%",
          tickvals: fractions.length <= 12 ? fractions : undefined,
          range: [Math.min(...fractions) - edge, Math.max(...fractions) + edge],
          showgrid: false,
          zeroline: false,
        }),
        yaxis: R.axis({
          title: R.axisTitle(increase ? "increase of the loss, nats per token" : "loss, nats per token"),
          type: increase ? "log" : "linear",
          ...(increase ? { dtick: 1, exponentformat: "power" } : { nticks: 7, zeroline: false }),
        }),
        shapes:
          whole === null || increase
            ? []
            : [
                {
                  type: "line",
                  xref: "paper",
                  x0: 0,
                  x1: 1,
                  y0: whole,
                  y1: whole,
                  layer: "below",
                  line: { color: c.muted, width: 1, dash: "dot" },
                },
              ],
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
  }

  function table(model) {
    const curves = sweep(model);
    const { fractions, whole } = model.data.ablation;
    const cell = (point) => {
      if (!point) return "—";
      return whole === null ? R.number(point.mean, 3) : signed(over(point.mean, whole));
    };
    return el(
      "table",
      { class: "means sweep" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, whole === null ? "loss" : "increase, nats"),
          curves.map(({ metric }) => el("th", { scope: "col", class: "number" }, metric)),
        ),
      ),
      el(
        "tbody",
        {},
        fractions.map((fraction) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, `${R.number(100 * fraction, 0)} %`),
            curves.map(({ points }) =>
              el("td", { class: "number" }, cell(points.find((point) => point.fraction === fraction))),
            ),
          ),
        ),
      ),
    );
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("p", { class: "note", hidden: true }),
      el(
        "div",
        { class: "curves" },
        el("div", {}, el("div", { class: "plot curve", role: "img" }), el("div", { class: "legend" })),
        el("div", { class: "scroll" }),
      ),
    );

  R.onUpdate(() => {
    const place = document.getElementById("curves");
    if (!place || !R.changed("curves", view)) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, note, figures] = pane.children;
      const [figure, list] = figures.children;
      const [plot, key] = figure.children;
      const curves = sweep(model);
      const { whole } = model.data.ablation;
      title.replaceChildren(
        model.label,
        el(
          "small",
          {},
          whole === null
            ? ""
            : `whole model ${R.number(whole, 3)} nats per token${view.scale === "loss" ? " (dotted)" : ""}`,
        ),
      );
      const missing = curves === null;
      note.hidden = !missing && !(view.scale === "increase" && whole === null);
      note.textContent = missing
        ? `The file of this model has no sweep over ${SELECT[view.select].toLowerCase()}.`
        : "The file has no loss at fraction 0, so the increase is not known; shown is the loss.";
      figures.hidden = missing;
      if (missing) continue;
      plot.setAttribute(
        "aria-label",
        `Loss of ${model.label} against the fraction of bands removed; the numbers are in the table beside it`,
      );
      R.whenSeen(plot, () => draw(plot, model));
      key.replaceChildren(...curves.map(({ metric }) => R.ablationKey(metric)));
      list.replaceChildren(table(model));
    }
  });
})();
