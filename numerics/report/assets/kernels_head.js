"use strict";
/* The kernel of one head: query × key, one row of it, and its mean by distance. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const config = { ...R.plotConfig, displayModeBar: false };

  /* The head that the page looks at: that of the address, else the one with the smallest count. */
  R.lookedAt = () => {
    if (state.at) return state.at;
    const kernels = R.kernels(state.model);
    const etc = (head) => kernels.curveAt("etc", head, kernels.last) ?? Infinity;
    const heads = [...state.model.heads].sort((x, y) => etc(x) - etc(y));
    return heads.length ? heads[0].name : null;
  };

  const digits = (value) => R.weight(value);

  function drawRow(plot, model, head) {
    const kernels = R.kernels(model);
    const { queries, keys } = kernels.data;
    const at = kernels.at();
    const row = kernels.rows(head)[at];
    const open = row.map((_, k) => k).filter((k) => row[k] !== null);
    const c = R.colours();
    return Plotly.react(
      plot,
      [
        {
          type: "scatter",
          mode: open.length > 64 ? "lines" : "lines+markers",
          x: open.map((k) => keys[k]),
          y: open.map((k) => row[k]),
          text: open.map(
            (k) => `key ${keys[k]}, offset ${R.number(keys[k] - queries[at], 0)}<br><b>pos ${digits(row[k])}</b>`,
          ),
          hoverinfo: "text",
          line: { color: c.accent, width: 1.75 },
          marker: { size: 4 },
        },
        {
          type: "scatter",
          mode: "lines",
          x: open.length ? [keys[open[0]], keys[open[open.length - 1]]] : [],
          y: open.length ? [1 / open.length, 1 / open.length] : [],
          text: `uniform on ${open.length} keys: ${digits(1 / open.length)}`,
          hoverinfo: "text",
          line: { color: c.muted, width: 1.5, dash: "dash" },
        },
      ],
      R.plotLayout({
        margin: { l: 52, r: 12, t: 8, b: 44 },
        xaxis: R.axis({
          title: R.axisTitle("key position"),
          showgrid: false,
          zeroline: false,
          range: [keys[0] - 0.02 * keys.length, kernels.end + 0.02 * keys.length],
        }),
        yaxis: R.axis({ rangemode: "tozero", nticks: 5 }),
        shapes: [
          {
            type: "line",
            x0: queries[at],
            x1: queries[at],
            yref: "paper",
            y0: 0,
            y1: 1,
            line: { color: c.muted, width: 1, dash: "dot" },
          },
        ],
      }),
      config,
    );
  }

  /* The distances nearest to zero that hold 99 % of the profile, at least 16 either way. */
  function window99(distances, profile) {
    const total = profile.reduce((sum, v) => sum + (v || 0), 0);
    const order = [...new Set(distances.map(Math.abs))].sort((x, y) => x - y);
    let held = 0;
    for (const size of order) {
      distances.forEach((d, i) => {
        if (Math.abs(d) === size) held += profile[i] || 0;
      });
      if (size >= 16 && held >= 0.99 * total) return size;
    }
    return order[order.length - 1];
  }

  function drawProfile(plot, model, head) {
    const kernels = R.kernels(model);
    const { distances } = kernels.data;
    const profile = kernels.profile(head);
    const c = R.colours();
    const size = window99(distances, profile);
    const x = distances.filter((d) => Math.abs(d) <= size);
    const y = x.map((d) => profile[distances.indexOf(d)]).map((v) => (Number.isNaN(v) ? null : v));
    return Plotly.react(
      plot,
      [
        {
          type: "scatter",
          mode: x.length > 64 ? "lines" : "lines+markers",
          x,
          y,
          connectgaps: false,
          text: x.map((d, i) => (y[i] === null ? "" : `distance ${R.number(d, 0)}<br><b>mean pos ${digits(y[i])}</b>`)),
          hoverinfo: "text",
          line: { color: c.accent, width: 1.75 },
          marker: { size: 4 },
        },
      ],
      R.plotLayout({
        margin: { l: 52, r: 12, t: 8, b: 44 },
        xaxis: R.axis({ title: R.axisTitle("distance, query − key"), showgrid: false, zeroline: true }),
        yaxis: R.axis({ rangemode: "tozero", nticks: 5 }),
      }),
      config,
    );
  }

  /* One thin line per text. */
  function drawTexts(plot, x, rows, xTitle, nonnegative) {
    const c = R.colours();
    return Plotly.react(
      plot,
      rows.map((row, text) => ({
        type: "scatter",
        mode: "lines",
        x,
        y: row,
        connectgaps: false,
        text: row.map((value, i) => `text ${text}, ${xTitle} ${x[i]}<br><b>${digits(value)}</b>`),
        hoverinfo: "text",
        opacity: 0.7,
        line: { color: c.accent, width: 1 },
      })),
      R.plotLayout({
        margin: { l: 52, r: 12, t: 8, b: 44 },
        showlegend: false,
        xaxis: R.axis({ title: R.axisTitle(xTitle), showgrid: false, zeroline: false }),
        yaxis: R.axis({ rangemode: nonnegative ? "tozero" : "normal", nticks: 5 }),
      }),
      config,
    );
  }

  function build() {
    const figure = (id, title, kind) =>
      el("div", {}, el("h4", {}, title), el("div", { class: `plot ${kind}`, role: "img" }));
    return el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("p", { class: "note", hidden: true }),
      el(
        "div",
        { class: "figures" },
        el("div", { class: "plot kernel", role: "img" }),
        el("div", { class: "pair" }, figure("row", "", "line"), figure("profile", "Mean by distance", "line")),
        el(
          "div",
          { class: "pair" },
          figure("gallery", "", "line"),
          figure("denominators", "Denominator Z of each query, by text", "line"),
          figure("substitution", "Denominator Z of one token put at each position, by text", "line"),
        ),
      ),
    );
  }

  function figures(pane, model, head) {
    const [kernel, pair, texts] = pane.children[2].children;
    const [row, profile] = pair.children;
    const [gallery, ofTexts, substitution] = texts.children;
    const kernels = R.kernels(model);
    const n = kernels.data.queries[kernels.at()];
    R.whenSeen(kernel, () => {
      const first = !kernel.layout;
      R.drawKernel(kernel, model, head);
      if (first) {
        kernel.on("plotly_click", (event) => {
          const now = R.shown()[[...pane.parentElement.children].indexOf(pane)];
          state.query = now.data.kernels.queries[event.points[0].y];
          R.update();
        });
      }
    });
    row.children[0].textContent = `Row of query ${n}`;
    R.whenSeen(row.children[1], () => drawRow(row.children[1], model, head));
    profile.hidden = kernels.profile(head) === null;
    if (!profile.hidden) R.whenSeen(profile.children[1], () => drawProfile(profile.children[1], model, head));
    const { keys, skip, substitution: put } = kernels.data;
    const singles = kernels.gallery(head);
    gallery.hidden = singles === null;
    if (singles) {
      const seen = kernels.rows(head)[kernels.data.queries.indexOf(singles.query)];
      const open = keys.map((_, k) => k).filter((k) => seen[k] !== null);
      const shown = singles.rows.map((weights) => open.map((k) => weights[k]));
      const across = open.map((k) => keys[k]);
      gallery.children[0].textContent = `Query ${singles.query} in single texts`;
      gallery.children[1].setAttribute(
        "aria-label",
        `Kernels of head ${head.name} at query ${singles.query} in single texts`,
      );
      R.whenSeen(gallery.children[1], () => drawTexts(gallery.children[1], across, shown, "key position", true));
    }
    const denominators = kernels.denominators(head);
    ofTexts.hidden = denominators === null;
    if (denominators) {
      R.whenSeen(ofTexts.children[1], () =>
        drawTexts(ofTexts.children[1], kernels.data.queries, denominators, "query", false),
      );
    }
    const replaced = kernels.substitution(head);
    substitution.hidden = replaced === null;
    if (replaced) {
      R.whenSeen(substitution.children[1], () =>
        drawTexts(substitution.children[1], put.positions, replaced, "position", false),
      );
    }
    ofTexts.children[1].setAttribute("aria-label", `Denominators of head ${head.name} by text`);
    substitution.children[1].setAttribute("aria-label", `Denominators of head ${head.name} for one token, by text`);
    kernel.setAttribute("aria-label", `Kernel of head ${head.name} of ${model.label}, queries down, keys across`);
    row.children[1].setAttribute("aria-label", `Kernel of head ${head.name} at query ${n} over key positions`);
    profile.children[1].setAttribute("aria-label", `Kernel of head ${head.name} averaged by distance`);
  }

  R.onUpdate(() => {
    const place = document.getElementById("kernel");
    if (!place) return;
    const name = R.lookedAt();
    if (!R.changed("kernel", name, state.query)) return;
    for (const { model, pane } of R.panes(place, build)) {
      const head = model.find(name || "");
      const kernels = R.kernels(model);
      const missing = !head || kernels.rows(head) === null;
      const [title, note, all] = pane.children;
      title.replaceChildren(model.label);
      note.hidden = !missing;
      all.hidden = missing;
      if (missing) {
        note.textContent = head ? `The kernel of head ${name} is missing.` : `This model has no head ${name}.`;
        continue;
      }
      const at = kernels.at();
      const offset = kernels.value("peak_offset", head);
      title.append(
        el(
          "small",
          {},
          `head ${name}, ${kernels.category(head) || "no category"}, ETC ${R.number(kernels.curveAt("etc", head, at), 1)} at query ` +
            `${kernels.data.queries[at]}, peak offset ${R.number(offset, 0)}`,
        ),
      );
      figures(pane, model, head);
    }
  });

  R.headChooser("kernel-controls", "kernel-title", R.lookedAt);
})();
