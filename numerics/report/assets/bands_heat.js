"use strict";
/* A map of many small cells, drawn by Plotly, read by pointer, keyboard and screen reader. Nothing that it says is markup. */
(() => {
  const R = numericsReport;
  const { el } = R;
  /* Against, nothing, for: told apart by colour-blind readers, and by lightness from the middle outwards. */
  const DIVERGING = {
    light: ["#8f3b00", "#d9731f", "#f7c08f", "#f7f8f6", "#a9cfec", "#3f86bf", "#083f7d"],
    dark: ["#ffc08a", "#d9772e", "#6b3a17", "#1f242b", "#1f4263", "#3d8bd0", "#a8d8ff"],
  };
  R.diverging = () => DIVERGING[R.theme()];
  /* The gradient of a legend. */
  R.ramp = (stops) => el("span", { class: "ramp", style: `background:linear-gradient(90deg,${stops.join(",")})` });
  /* For colours on which small numbers should be seen beside large ones. */
  R.signedRoot = (value) => (value === null ? null : Math.sign(value) * Math.sqrt(Math.abs(value)));

  let hint = null;
  R.showHint = (lines, { left, top, bottom }) => {
    if (!hint) {
      hint = el("div", { class: "hint", "aria-hidden": "true" });
      document.body.append(hint);
    }
    hint.replaceChildren(...lines.map((line, i) => el(i ? "div" : "b", {}, line)));
    hint.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = hint;
    hint.style.left = `${Math.min(Math.max(8, left - width / 2), document.documentElement.clientWidth - width - 8)}px`;
    hint.style.top = `${top - height - 8 > 0 ? top - height - 8 : bottom + 8}px`;
  };
  R.hideHint = () => {
    if (hint) hint.hidden = true;
  };
  window.addEventListener("scroll", R.hideHint, { capture: true, passive: true });

  const specs = new WeakMap();
  const cursors = new WeakMap();

  /* Where a cell is on the screen. */
  function place(plot, r, c) {
    const { xaxis, yaxis } = plot._fullLayout;
    const box = plot.getBoundingClientRect();
    const top = box.top + yaxis._offset + yaxis.d2p(r - 0.5);
    const bottom = box.top + yaxis._offset + yaxis.d2p(r + 0.5);
    return { left: box.left + xaxis._offset + xaxis.d2p(c), top, bottom };
  }

  function mark(plot) {
    const spec = specs.get(plot);
    const cursor = cursors.get(plot);
    const c = R.colours();
    const frame = ([row, column], dash) => ({
      type: "rect",
      x0: column - 0.5,
      x1: column + 0.5,
      y0: row - 0.5,
      y1: row + 0.5,
      line: { color: c.text, width: 2, dash },
    });
    const rows = (spec.current || []).map((row) => ({
      type: "rect",
      x0: -0.5,
      x1: spec.columns - 0.5,
      y0: row - 0.5,
      y1: row + 0.5,
      line: { color: c.text, width: 1.5 },
    }));
    Plotly.relayout(plot, { shapes: [...(spec.shapes || []), ...rows, ...(cursor ? [frame(cursor)] : [])] });
  }

  function keys(event) {
    const plot = event.currentTarget;
    const spec = specs.get(plot);
    if (!spec) return undefined;
    const last = [spec.rows - 1, spec.columns - 1];
    const [r, c] = cursors.get(plot) || [(spec.current || [0])[0] || 0, 0];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return spec.open && spec.open(r, c);
    }
    if (event.key === "Escape") return R.hideHint();
    const to = {
      ArrowLeft: [r, c - 1],
      ArrowRight: [r, c + 1],
      ArrowUp: [r - 1, c],
      ArrowDown: [r + 1, c],
      Home: [r, 0],
      End: [r, last[1]],
      PageUp: [r - 8, c],
      PageDown: [r + 8, c],
    }[event.key];
    if (!to) return undefined;
    event.preventDefault();
    return step(plot, to);
  }

  function step(plot, to) {
    const spec = specs.get(plot);
    const at = [Math.min(spec.rows - 1, Math.max(0, to[0])), Math.min(spec.columns - 1, Math.max(0, to[1]))];
    cursors.set(plot, at);
    mark(plot);
    const lines = spec.lines(...at);
    R.showHint(lines, place(plot, ...at));
    plot.nextElementSibling.textContent = lines.join(", ");
  }

  /* The element of a map and, after it, the line that a screen reader hears of the cell under the keyboard. */
  R.heatPlace = (kind) => [
    el("div", {
      class: `plot heat ${kind}`,
      tabindex: "0",
      role: "application",
      onkeydown: keys,
      onfocus: (event) => {
        const plot = event.currentTarget;
        if (specs.has(plot) && plot.matches(":focus-visible"))
          step(plot, cursors.get(plot) || [(specs.get(plot).current || [0])[0] || 0, 0]);
      },
      onblur: (event) => {
        R.hideHint();
        cursors.delete(event.currentTarget);
        if (specs.has(event.currentTarget)) mark(event.currentTarget);
      },
    }),
    el("p", { class: "hearable", role: "status" }),
  ];

  /* `rows` × `columns` cells, `z[row][column]` or null, coloured from −`top` (or 0) to `top`; `lines(row, column)` says what a cell
     is, `open(row, column)` is what a click does; `current`: rows that are framed; `traces`, `shapes`, `layout`: what is beside. */
  R.heat = (plot, spec) => {
    const first = !specs.has(plot);
    specs.set(plot, spec);
    cursors.delete(plot);
    const c = R.colours();
    Plotly.react(
      plot,
      [
        {
          type: "heatmap",
          x: Array.from({ length: spec.columns }, (_, i) => i),
          y: Array.from({ length: spec.rows }, (_, i) => i),
          z: spec.z,
          hoverinfo: "none",
          zmin: spec.low,
          zmax: spec.high || 1,
          colorscale: spec.stops.map((colour, i, all) => [i / (all.length - 1), colour]),
          showscale: false,
        },
        ...(spec.traces || []),
      ],
      R.plotLayout({ hovermode: "closest", plot_bgcolor: "rgba(0,0,0,0)", ...spec.layout }),
      { ...R.plotConfig, displayModeBar: false },
    );
    mark(plot);
    if (!first) return;
    plot.on("plotly_hover", ({ points, event }) => {
      const [point] = points;
      const now = specs.get(plot);
      if (point.curveNumber) return now.beside && now.beside(point, event);
      const [r, column] = [point.y, point.x];
      const { left } = place(plot, r, column);
      return R.showHint(now.lines(r, column), { left, top: event.clientY - 8, bottom: event.clientY + 12 });
    });
    plot.on("plotly_unhover", R.hideHint);
    plot.on("plotly_click", ({ points }) => {
      const [point] = points;
      const { open } = specs.get(plot);
      if (open && !point.curveNumber) open(point.y, point.x);
    });
  };
})();
