"use strict";
/* Keys × bands: contributions with their sign, their sums beside. Long texts are shown a part at a time. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const PART = 40; // keys that are shown at once
  const ROW = 19; // px
  const LABEL = 14; // characters of a token
  const view = { order: "most", start: 0, scale: "all", chosen: null };
  const parts = {};

  const longest = () => Math.max(...R.shown().map((model) => model.data.attribution.keys.length));

  R.starts.push(() => {
    const place = document.getElementById("map-controls");
    if (!place) return;
    parts.order = R.segmented(
      "order",
      "Keys",
      [
        ["most", `Most attended ${PART}`],
        ["text", "In order"],
      ],
      view.order,
      (value) => {
        view.order = value;
      },
    );
    parts.start = el("input", {
      type: "range",
      id: "start",
      min: 0,
      step: 1,
      oninput: () => {
        view.start = Number(parts.start.value);
        R.update();
      },
    });
    parts.value = el("output", { for: "start" });
    parts.slider = el(
      "div",
      { class: "field slider" },
      el("label", { for: "start" }, "First key shown"),
      el("div", { class: "track" }, parts.start, parts.value),
    );
    const scale = R.segmented(
      "colours",
      "Colours",
      [
        ["all", "One scale"],
        ["key", "Each key its own"],
      ],
      view.scale,
      (value) => {
        view.scale = value;
      },
    );
    place.append(el("div", { class: "row" }, parts.order, scale), parts.slider);
  });

  /* Indices of the keys that are shown, in the order of the text. */
  function shownKeys(data) {
    const all = data.keys.map((_, key) => key);
    if (all.length <= PART) return all;
    if (view.order === "text") {
      const start = Math.min(view.start, all.length - PART);
      return all.slice(start, start + PART);
    }
    return [...all]
      .sort((x, y) => (data.probability[y] ?? -1) - (data.probability[x] ?? -1))
      .slice(0, PART)
      .sort((x, y) => x - y);
  }

  /* A key that was chosen elsewhere comes into view. */
  function follow() {
    const chosen = R.chosenKeys();
    if (view.chosen !== null && JSON.stringify(view.chosen) !== JSON.stringify(chosen)) {
      R.shown().forEach((model, i) => {
        if (chosen[i] === view.chosen[i] || shownKeys(model.data.attribution).includes(chosen[i])) return;
        view.order = "text";
        view.start = Math.max(0, chosen[i] - Math.floor(PART / 2));
      });
    }
    view.chosen = chosen;
  }

  function label(data, key) {
    const text = [...R.visible(data.tokens[key])];
    const short = text.length > LABEL ? `${text.slice(0, LABEL - 1).join("")}…` : text.join("");
    /* A mark keeps right-to-left tokens in their place. */
    return `${R.plotText(`\u2068${short}\u2069`)}  ${data.keys[key]}`;
  }

  function layout(plot, data, keys, columns, wide, panel, height) {
    const c = R.colours();
    const width = plot.clientWidth - 150 - (wide ? 150 : 0);
    const every = [1, 2, 4, 8, 16, 32, 64].find((step) => (data.bands / step) * 40 <= width) || 64;
    const ticks = Array.from({ length: data.bands }, (_, band) => band).filter((band) => band % every === 0);
    const last =
      data.unrotated && (data.bands % every === 0 || data.bands % every > every / 2 || every < 3) ? [data.bands] : [];
    const range = [-0.5, columns - 0.5];
    const split = 1 - panel / height;
    const bare = { showgrid: false, zeroline: false, tickangle: 0 };
    return {
      margin: { l: 128, r: 12, t: 46, b: 44 },
      bargap: 0.15,
      barmode: "relative",
      xaxis: R.axis({
        title: R.axisTitle("band"),
        domain: [0, wide ? 0.82 : 1],
        anchor: "y",
        tickvals: [...ticks, ...(data.unrotated ? last : [])],
        ticktext: [...ticks.map(String), ...(last.length ? ["rest"] : [])],
        range,
        ...bare,
      }),
      xaxis2: R.axis({
        title: { ...R.axisTitle("wavelength, tokens"), standoff: 4 },
        overlaying: "x",
        side: "top",
        anchor: "y2",
        domain: [0, wide ? 0.82 : 1],
        tickvals: ticks,
        ticktext: ticks.map((band) => R.wavelength(data.wavelength[band])),
        range,
        ...bare,
      }),
      yaxis: R.axis({
        domain: [0, split - 8 / height],
        tickvals: keys.map((_, i) => i),
        ticktext: keys.map((key) => label(data, key)),
        tickfont: { size: 12, color: c.text },
        automargin: false,
        range: [keys.length - 0.5, -0.5],
        ...bare,
      }),
      yaxis2: R.axis({
        domain: [split + 8 / height, 1],
        nticks: 5,
        zeroline: true,
        zerolinecolor: c.muted,
        anchor: "x",
      }),
      ...(wide
        ? {
            xaxis3: R.axis({
              title: R.axisTitle("attention"),
              domain: [0.85, 1],
              anchor: "y",
              nticks: 3,
              zeroline: true,
              zerolinecolor: c.muted,
              showgrid: true,
              tickangle: 0,
            }),
          }
        : {}),
    };
  }

  const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v ?? 0)), 0);

  function sums(attribution) {
    const { data } = attribution;
    const rows = data.keys.map((_, key) => attribution.row(key));
    return Array.from({ length: attribution.columns() }, (_, column) => R.twoSums(rows.map((row) => row[column])));
  }

  function draw(plot, model, keys) {
    const attribution = R.attribution(model);
    const { data } = attribution;
    const c = R.colours();
    const columns = attribution.columns();
    const rows = keys.map((key) => attribution.row(key));
    const top = view.scale === "all" ? largest(data.values.concat(data.unrotated || [])) : 1;
    const own = (row) => (view.scale === "all" ? row : row.map((v) => (v === null ? null : v / (largest(row) || 1))));
    const wide = plot.clientWidth >= 560;
    const panel = 90;
    const height = keys.length * ROW + panel;
    plot.style.height = `${height + 90}px`;
    const bands = sums(attribution);
    const perKey = rows.map(R.twoSums);
    const numbers = Array.from({ length: columns }, (_, i) => i);
    const each = keys.map((_, i) => i);
    const stops = R.diverging();
    const [down, up] = [stops[1], stops[stops.length - 2]];
    const bar = (extra, colour) => ({ type: "bar", hoverinfo: "none", marker: { color: colour }, ...extra });
    const mark = (extra) => ({
      type: "scatter",
      mode: "markers",
      hoverinfo: "none",
      marker: { symbol: "diamond", size: 6, color: c.text },
      ...extra,
    });
    const above = { name: "bands", x: numbers, xaxis: "x", yaxis: "y2" };
    const beside = { name: "keys", y: each, xaxis: "x3", yaxis: "y", orientation: "h" };
    R.heat(plot, {
      rows: keys.length,
      columns,
      z: rows.map((row) => own(row).map(R.signedRoot)),
      low: -Math.sqrt(top || 1),
      high: Math.sqrt(top || 1),
      stops,
      lines: (r, column) => [
        attribution.name(keys[r]),
        attribution.band(column),
        `c ${R.threeDigits(rows[r][column])}`,
        `attention ${R.threeDigits(data.probability[keys[r]])}`,
      ],
      open: (r) => {
        R.chooseKey(model, keys[r]);
        R.toHeading("token-title");
      },
      current: keys.flatMap((key, i) => (key === attribution.chosen ? [i] : [])),
      beside: (point, { clientX, clientY }) => {
        const at = { left: clientX, top: clientY - 8, bottom: clientY + 12 };
        if (point.data.name === "bands") {
          const { up: more, down: less } = bands[point.x];
          R.showHint(
            [
              attribution.band(point.x),
              `adds ${R.threeDigits(more)}, takes ${R.threeDigits(-less)}`,
              `sum ${R.threeDigits(more + less)}`,
            ],
            at,
          );
        } else {
          const { up: more, down: less } = perKey[point.y];
          R.showHint(
            [
              attribution.name(keys[point.y]),
              `attention ${R.threeDigits(data.probability[keys[point.y]])}`,
              `bands add ${R.threeDigits(more)}, take ${R.threeDigits(-less)}`,
            ],
            at,
          );
        }
      },
      traces: [
        bar({ ...above, y: bands.map((sum) => sum.up) }, up),
        bar({ ...above, y: bands.map((sum) => sum.down) }, down),
        mark({
          ...above,
          y: bands.map((sum) => sum.up + sum.down),
          marker: { symbol: "line-ew", size: 5, line: { color: c.text, width: 1.5 } },
        }),
        { type: "scatter", mode: "markers", x: [0], y: [0], xaxis: "x2", yaxis: "y2", opacity: 0, hoverinfo: "skip" },
        ...(wide
          ? [
              bar({ ...beside, x: perKey.map((sum) => sum.up) }, up),
              bar({ ...beside, x: perKey.map((sum) => sum.down) }, down),
              mark({ name: "keys", y: each, xaxis: "x3", yaxis: "y", x: keys.map((key) => data.probability[key]) }),
            ]
          : []),
      ],
      layout: layout(plot, data, keys, columns, wide, panel, height),
    });
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("div", {}, ...R.heatPlace("keys")),
      el("div", { class: "legend" }),
    );

  R.onUpdate(() => {
    const place = document.getElementById("map");
    if (!place) return;
    follow();
    const count = longest();
    parts.order.hidden = count <= PART;
    parts.slider.hidden = count <= PART || view.order !== "text";
    parts.start.max = Math.max(0, count - PART);
    parts.start.value = view.start;
    parts.value.textContent = String(view.start);
    parts.start.setAttribute("aria-valuetext", `key ${view.start}`);
    for (const box of parts.order.querySelectorAll("input")) box.checked = box.value === view.order;
    if (!R.changed("map", view)) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, figure, key] = pane.children;
      const plot = figure.firstElementChild;
      const { data } = R.attribution(model);
      const keys = shownKeys(data);
      title.replaceChildren(
        model.label,
        el(
          "small",
          {},
          `${R.queryName(data)}${keys.length < data.keys.length ? `; ${keys.length} of ${data.keys.length} keys` : ""}`,
        ),
      );
      plot.setAttribute(
        "aria-label",
        `Contributions of the bands to the attention of ${R.queryName(data)}: keys down, bands across; arrow keys move, Enter chooses the key`,
      );
      R.whenSeen(plot, () => draw(plot, model, keys));
      const top = largest(data.values.concat(data.unrotated || []));
      const ends = view.scale === "all" ? [R.threeDigits(-top), R.threeDigits(top)] : ["−1", "1"];
      key.replaceChildren(
        el("span", { class: "entry scale" }, `${ends[0]} takes`, R.ramp(R.diverging()), `${ends[1]} adds`),
        view.scale === "all" ? "" : el("span", { class: "entry" }, "1: the largest |c| of the key"),
      );
    }
  });
})();
