"use strict";
/* Sections of the head card from the profile: numbers, profile over distance, spectrum of the symmetric part. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const DASH = { a: "dash", b: "solid", c: "solid", d: "dot" };
  const config = { ...R.plotConfig, displayModeBar: false };

  function numbers(place, model, head) {
    const at = model.distanceIndex(state.distance);
    const type = model.type(head, at);
    const p = model.profile(head, at);
    const c = R.colours();
    const style = type === null ? null : R.typeStyle(type);
    place.append(
      el(
        "p",
        {},
        style
          ? [
              el("span", { class: "mark", style: `color:${c.type(type)}`, "aria-hidden": "true" }, style.mark),
              el("b", {}, style.name),
              style.meaning ? ` ${style.meaning}` : "",
            ]
          : "not measured here",
        model.rotary() && at >= 0 ? `, at distance ${model.data.profile.distances[at]}` : "",
        head.stack ? `, ${head.stack}` : "",
      ),
    );
    if (p.every((v) => v !== null)) {
      place.append(
        el(
          "div",
          {
            class: "strip",
            role: "img",
            "aria-label": R.coordinates.map((n, i) => `${n} ${R.number(p[i], 4)}`).join(", "),
          },
          R.coordinates.map((n, i) => el("span", { class: `key ${n}`, style: `flex-grow:${p[i]}` })),
        ),
      );
    }
    place.append(
      el(
        "dl",
        { class: "numbers" },
        R.profileColumns
          .filter((k) => k.key in model.data.profile.columns)
          .map((k) =>
            el(
              "div",
              { title: k.name || false },
              el("dt", {}, R.coordinates.includes(k.key) ? el("i", { class: `key ${k.key}` }) : null, k.label),
              el("dd", {}, R.number(model.value(k.key, head, at), k.decimals)),
            ),
          ),
      ),
    );
  }

  function overDistance(place, model, head) {
    const distances = model.data.profile.distances;
    if (distances.length < 2) {
      place.append(
        el(
          "p",
          { class: "caption" },
          model.rotary()
            ? `Measured at distance ${distances[0]} only.`
            : "The form does not depend on the distance: positions enter outside it.",
        ),
      );
      return;
    }
    const c = R.colours();
    const ticks = distances.map((d, i) => i);
    if (R.coordinates.every((name) => ticks.every((i) => model.value(name, head, i) === null))) {
      place.append(el("p", { class: "note" }, "Missing: L = 0 at every distance."));
      return;
    }
    const plot = el("div", {
      class: "plot line",
      role: "img",
      "aria-label": `Profile of head ${head.name} over distance`,
    });
    place.append(plot);
    const now = model.distanceIndex(state.distance);
    const every = Math.ceil(distances.length / Math.max(2, plot.clientWidth / 28));
    const labelled = ticks.filter((i) => i % every === 0);
    const traces = R.coordinates.map((name) => ({
      type: "scatter",
      mode: "lines+markers",
      name,
      x: ticks,
      y: ticks.map((i) => model.value(name, head, i)),
      connectgaps: false,
      line: { color: c.coordinate[name], width: 2, dash: DASH[name] },
      marker: { size: 5, color: c.coordinate[name] },
      text: ticks.map((i) => `distance ${distances[i]}<br><b>${name}</b> ${R.number(model.value(name, head, i), 4)}`),
      hoverinfo: "text",
    }));
    Plotly.newPlot(
      plot,
      traces,
      R.plotLayout({
        margin: { l: 44, r: 12, t: 8, b: 44 },
        xaxis: R.axis({
          title: R.axisTitle("distance, query − key"),
          tickvals: labelled,
          ticktext: labelled.map((i) => String(distances[i])),
          showgrid: false,
          zeroline: false,
          tickangle: 0,
        }),
        yaxis: R.axis({ rangemode: "tozero", nticks: 5 }),
        shapes:
          now < 0
            ? []
            : [
                {
                  type: "line",
                  x0: now,
                  x1: now,
                  yref: "paper",
                  y0: 0,
                  y1: 1,
                  line: { color: c.muted, width: 1, dash: "dot" },
                },
              ],
      }),
      config,
    );
    place.append(
      el(
        "p",
        { class: "legend" },
        R.coordinates.map((n) => el("span", { class: "entry" }, el("i", { class: `key ${n}` }), n)),
      ),
    );
  }

  function spectrum(place, model, head) {
    const p = model.data.profile;
    const values = p.spectrum ? p.spectrum[head.layer * p.heads + head.head] : null;
    if (!values || values.every((v) => v === 0)) {
      place.append(el("p", { class: "note" }, "Missing: S has no eigenvalue to show."));
      return;
    }
    const c = R.colours();
    const parts = [
      ["λ₊ (positive)", values.filter((v) => v > 0).sort((x, y) => y - x), c.coordinate.c, "solid"],
      [
        "λ₋ (|negative|)",
        values
          .filter((v) => v < 0)
          .map((v) => -v)
          .sort((x, y) => y - x),
        c.coordinate.d,
        "dot",
      ],
    ];
    const plot = el("div", {
      class: "plot line",
      role: "img",
      "aria-label": `Eigenvalues of the symmetric part of head ${head.name}`,
    });
    place.append(plot);
    Plotly.newPlot(
      plot,
      parts.map(([name, y, color, dash]) => ({
        type: "scatter",
        mode: y.length > 40 ? "lines" : "lines+markers",
        x: y.map((_, i) => i + 1),
        y,
        name,
        line: { color, width: 2, dash },
        marker: { size: 4 },
        text: y.map((v, i) => `${name}, ${i + 1} of ${y.length}<br><b>${R.number(v, 4)}</b>`),
        hoverinfo: "text",
      })),
      R.plotLayout({
        margin: { l: 44, r: 12, t: 8, b: 44 },
        xaxis: R.axis({ title: R.axisTitle("rank"), showgrid: false, zeroline: false }),
        yaxis: R.axis({ rangemode: "tozero", nticks: 5 }),
      }),
      config,
    );
    place.append(
      el(
        "p",
        { class: "legend" },
        el("span", { class: "entry" }, el("i", { class: "key c" }), "λ₊ positive"),
        el("span", { class: "entry" }, el("i", { class: "key d" }), "λ₋ |negative|"),
      ),
      el(
        "p",
        { class: "caption" },
        `Eigenvalues of S / ‖L‖${p.distances.length > 1 ? ` at distance ${p.distances[0]}` : ""}. `,
        "Where the two curves agree the eigenvalues are paired (b); the gap between them is c or d.",
      ),
    );
  }

  R.cardSections.push(
    { key: "profile", title: "Profile", draw: numbers },
    { key: "profile", title: "Profile over distance", draw: overDistance },
    { key: "profile", title: "Spectrum of the symmetric part", draw: spectrum },
  );
})();
