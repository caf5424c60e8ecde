"use strict";
/* Sections of the head card from the positional kernels: numbers, the kernel, ETC over queries. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const config = { ...R.plotConfig, displayModeBar: false };

  function numbers(place, model, head) {
    const kernels = R.kernels(model);
    const category = kernels.category(head);
    const style = category === null ? null : R.categoryStyle(category);
    const n = kernels.data.queries[kernels.last];
    place.append(
      el(
        "p",
        {},
        style
          ? [
              el(
                "span",
                { class: "mark", style: `color:${R.colours().category(category)}`, "aria-hidden": "true" },
                style.mark,
              ),
              el("b", {}, category),
              `, at query ${n}`,
            ]
          : "not measured here",
      ),
      el(
        "dl",
        { class: "numbers" },
        R.kernelColumns
          .filter((k) => kernels.has(k.key))
          .map((k) => {
            const value = kernels.value(k.key, head, kernels.last);
            return el(
              "div",
              { title: k.name || false },
              el("dt", {}, k.full || k.label),
              el("dd", {}, k.text ? value || "no" : R.number(value, k.decimals)),
            );
          }),
      ),
    );
  }

  function kernel(place, model, head) {
    const kernels = R.kernels(model);
    if (kernels.rows(head) === null) {
      place.append(el("p", { class: "note" }, "Missing: this head has no kernel."));
      return;
    }
    const plot = el("div", {
      class: "plot line kernel-small",
      role: "img",
      "aria-label": `Kernel of head ${head.name}, queries down, keys across`,
    });
    place.append(plot);
    R.drawKernel(plot, model, head, { small: true });
    place.append(
      el(
        "p",
        { class: "caption" },
        `Weight of each key for ${kernels.data.queries.length} queries, mean over texts; ○ the query itself. `,
        el(
          "a",
          { href: `kernels.html${R.address({ ...R.headAddress(model), at: head.name, head: null })}` },
          "Larger, with its rows",
        ),
      ),
    );
  }

  function etc(place, model, head) {
    const kernels = R.kernels(model);
    const { queries } = kernels.data;
    const mean = kernels.curve("etc", head);
    const sd = kernels.curve("etc_sd", head);
    if (mean.every((v) => v === null)) {
      place.append(el("p", { class: "note" }, "Missing: ETC was not measured."));
      return;
    }
    const c = R.colours();
    const plot = el("div", {
      class: "plot line",
      role: "img",
      "aria-label": `ETC of head ${head.name} over query positions`,
    });
    place.append(plot);
    Plotly.newPlot(
      plot,
      [
        {
          type: "scatter",
          mode: "lines+markers",
          x: queries,
          y: mean,
          error_y: sd
            ? { type: "data", array: sd.map((v) => v ?? 0), color: c.muted, thickness: 1, width: 2 }
            : undefined,
          text: queries.map(
            (n, i) => `query ${n}<br><b>ETC ${R.number(mean[i], 1)}</b>${sd ? ` ± ${R.number(sd[i], 1)}` : ""}`,
          ),
          hoverinfo: "text",
          line: { color: c.accent, width: 2 },
          marker: { size: 5 },
        },
      ],
      R.plotLayout({
        margin: { l: 44, r: 12, t: 8, b: 44 },
        xaxis: R.axis({ title: R.axisTitle("query position"), showgrid: false, zeroline: false }),
        yaxis: R.axis({ rangemode: "tozero", nticks: 5 }),
      }),
      config,
    );
    if (sd) place.append(el("p", { class: "caption" }, "Bars: standard deviation over the query texts."));
  }

  R.cardSections.push(
    { key: "kernels", title: "Positional kernel", draw: numbers },
    { key: "kernels", title: "Kernel, query × key", draw: kernel },
    { key: "kernels", title: "ETC over queries", draw: etc },
  );
})();
