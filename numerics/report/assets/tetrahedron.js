"use strict";
/* The heads as points of the tetrahedron: one Plotly scene per shown model, turned together. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  /* A regular tetrahedron on two opposite edges: a above b in front, c left and d right behind. So the vertical says
     antisymmetric or symmetric, the horizontal positive or negative, and no label lies on the heads in the middle. */
  const k = Math.SQRT1_2;
  const lift = 0.15; // along the axis of turning, so that the first view is centred
  const VERTEX = { a: [0, -k, lift + 1], b: [0, -k, lift - 1], c: [-1, k, lift], d: [1, k, lift] };
  const RANGE = 1.2; // of each axis, either way: holds all vertices
  const LABEL = {
    a: { text: "<b>a</b> antisymmetric", yshift: 13 },
    b: { text: "<b>b</b> paired symmetric H", yshift: -13 },
    c: { text: "<b>c</b> positive<br>semidefinite", side: -1, yshift: 22 },
    d: { text: "<b>d</b> negative<br>semidefinite", side: 1, yshift: 22 },
  };
  /* Without perspective: equal differences look equal. */
  const HOME = {
    eye: { x: 0.25, y: -1.5, z: 0.34 },
    up: { x: 0, y: 0, z: 1 },
    center: { x: 0, y: 0, z: 0 },
    projection: { type: "orthographic" },
  };

  const point = (p) => [0, 1, 2].map((k) => R.coordinates.reduce((sum, name, i) => sum + p[i] * VERTEX[name][k], 0));
  const columns = (points) => [0, 1, 2].map((k) => points.map((p) => (p ? p[k] : null)));
  R.tetrahedronPoint = point;

  function line(points, style) {
    const [x, y, z] = columns(points);
    return { type: "scatter3d", mode: "lines", x, y, z, hoverinfo: "skip", ...style };
  }

  function hover(model, head, at) {
    const p = model.profile(head, at).map((v) => R.number(v, 4));
    const kind = R.typeStyle(model.type(head, at));
    const rows = [
      `<b>${head.name}</b>  ${R.plotText(kind.name)}${head.stack ? `  ${R.plotText(head.stack)}` : ""}`,
      `a ${p[0]}   b ${p[1]}`,
      `c ${p[2]}   d ${p[3]}`,
      `stable rank ${R.number(model.value("stable_rank", head, at), 2)}`,
      R.plotText(model.label),
    ];
    return rows.join("<br>");
  }

  /* The heads that have a point here; a missing profile is no point at all. */
  const drawn = (model, at) => model.heads.filter((head) => model.profile(head, at).every((v) => v !== null));

  function traces(model) {
    const c = R.colours();
    const at = model.distanceIndex(state.distance);
    const heads = drawn(model, at);
    const [x, y, z] = columns(heads.map((head) => point(model.profile(head, at))));
    const byType = state.colour === "type";
    const marker = {
      size: heads.length > 400 ? 4 : 5.5,
      opacity: 0.92,
      line: { width: heads.length > 400 ? 0 : 0.5, color: c.surface },
      color: byType ? heads.map((h) => c.type(model.type(h, at))) : heads.map((h) => h.layer),
      symbol: byType ? heads.map((h) => R.typeStyle(model.type(h, at)).symbol) : "circle",
    };
    if (!byType) {
      Object.assign(marker, {
        cmin: 0,
        cmax: Math.max(1, model.data.profile.layers - 1),
        showscale: false,
        colorscale: c.scale.map((colour, i) => [i / (c.scale.length - 1), colour]),
      });
    }
    const edges = ["a", "b", "c", "a", "d", "c", null, "b", "d"].map((v) => (v ? VERTEX[v] : null));
    const middle = point([0.5, 0.5, 0, 0]);
    const open = model === state.model || state.other ? model.find(state.head || "") : null;
    const mark = open && heads.includes(open) ? [point(model.profile(open, at))] : [];
    const [mx, my, mz] = columns(mark);
    const base = model.data.profile.baseline || [];
    const numbers = base.map((v, i) => `${R.coordinates[i]} ${R.number(v, 4)}`).join("   ");
    const [bx, by, bz] = columns(baseline(model) ? [baseline(model)] : []);
    return [
      line(edges, { line: { color: c.muted, width: 2 } }),
      line([VERTEX.c, middle, VERTEX.d], { line: { color: c.text, width: 4, dash: "dash" }, visible: state.curve }),
      {
        type: "scatter3d",
        mode: "markers",
        x,
        y,
        z,
        marker,
        text: heads.map((head) => hover(model, head, at)),
        hoverinfo: "text",
        customdata: heads.map((h) => h.name),
      },
      {
        type: "scatter3d",
        mode: "markers",
        x: bx,
        y: by,
        z: bz,
        hoverinfo: "text",
        text: [`<b>random baseline</b><br>${numbers}`],
        marker: { symbol: "cross", size: 9, color: c.text, line: { width: 1, color: c.surface } },
      },
      {
        type: "scatter3d",
        mode: "markers",
        x: mx,
        y: my,
        z: mz,
        hoverinfo: "skip",
        marker: { symbol: "circle-open", size: 16, color: c.text, line: { width: 3, color: c.text } },
      },
    ];
  }

  const baseline = (model) => {
    const p = model.data.profile.baseline;
    return state.baseline && p && p.every((v) => v !== null) ? point(p) : null;
  };

  /* Every scene looks from the same side, so that two models can be compared by eye. */
  let camera = HOME;
  let zoom = 1;
  /* Without perspective Plotly draws the length of an axis, times its aspect, at half the plot's height (measured). The
     aspect that fits the first view to the plot, with room for the labels beside c and d, above a and below b. */
  const beside = (plot) => (plot.clientWidth < 480 ? 16 : 42); // how far the middle of the labels c and d lies outside
  function aspect(plot) {
    const { clientWidth: width, clientHeight: height } = plot;
    const unit = Math.max(20, Math.min((width / 2 - 42 - beside(plot)) / 1.1, (height / 2 - 32) / 0.99)); // pixels
    const scale = (zoom * unit * 2 * RANGE) / (height / 2);
    return { x: scale, y: scale, z: scale };
  }

  function layout(model, plot) {
    const c = R.colours();
    const base = baseline(model);
    const quiet = { arrowcolor: c.muted, arrowwidth: 1, arrowhead: 0, font: { size: 12, color: c.muted } };
    const note = ([x, y, z], extra) => ({ x, y, z, font: { size: 13, color: c.text }, ...extra });
    const hidden = { visible: false, showspikes: false, range: [-RANGE, RANGE] };
    return R.plotLayout({
      margin: { l: 0, r: 0, t: 0, b: 0 },
      scene: {
        xaxis: hidden,
        yaxis: hidden,
        zaxis: hidden,
        aspectmode: "manual",
        aspectratio: aspect(plot),
        dragmode: "turntable",
        camera,
        annotations: [
          ...R.coordinates.map((name) =>
            note(VERTEX[name], { ...LABEL[name], xshift: (LABEL[name].side || 0) * beside(plot), showarrow: false }),
          ),
          ...(state.curve
            ? [note(point([0.16, 0.16, 0, 0.68]), { text: "a = b, cd = 0", ax: 20, ay: 52, ...quiet })]
            : []),
          ...(base ? [note(base, { text: "random baseline", ax: 64, ay: 70, ...quiet })] : []),
        ],
      },
    });
  }

  /* Plotly hands back copies, also of what it was given: without this comparison two scenes turn each other forever. */
  const same = (p, q) =>
    ["eye", "center", "up"].every((part) => ["x", "y", "z"].every((i) => Math.abs(p[part][i] - q[part][i]) < 1e-9));

  function turn(next, from) {
    camera = next;
    for (const plot of document.querySelectorAll("#tetrahedron .plot")) {
      if (plot !== from && plot.layout)
        Plotly.relayout(plot, { "scene.camera": next, "scene.aspectratio": aspect(plot) });
    }
  }

  function keys(event) {
    const { x, y, z } = camera.eye;
    const far = Math.hypot(x, y, z);
    let azimuth = Math.atan2(y, x);
    let height = Math.asin(z / far);
    if (event.key === "ArrowLeft") azimuth -= 0.12;
    else if (event.key === "ArrowRight") azimuth += 0.12;
    else if (event.key === "ArrowUp") height = Math.min(1.5, height + 0.1);
    else if (event.key === "ArrowDown") height = Math.max(-1.5, height - 0.1);
    else if (event.key === "+" || event.key === "=") zoom = Math.min(8, zoom * 1.15);
    else if (event.key === "-") zoom = Math.max(0.5, zoom / 1.15);
    else if (event.key === "0") zoom = 1;
    else return undefined;
    event.preventDefault();
    if (event.key === "0") return turn(HOME, null);
    const eye = {
      x: far * Math.cos(height) * Math.cos(azimuth),
      y: far * Math.cos(height) * Math.sin(azimuth),
      z: far * Math.sin(height),
    };
    return turn({ ...camera, eye }, null);
  }

  const home = {
    name: "home",
    title: "First view",
    icon: Plotly.Icons.home,
    click: () => {
      zoom = 1;
      turn(HOME, null);
    },
  };

  function build() {
    const plot = el("div", { class: "plot solid", tabindex: "0", role: "application", onkeydown: keys });
    return el(
      "article",
      { class: "pane solid" },
      el("h3", {}),
      plot,
      el("aside", {}, el("div", { class: "legend" }), el("div", { class: "scroll" })),
    );
  }

  function legend(model, at) {
    if (state.colour === "layer") {
      return [
        el("span", {}, "Layer 0"),
        el("span", { class: "ramp", style: `background:linear-gradient(90deg,${R.colours().scale.join(",")})` }),
        el("span", {}, String(model.data.profile.layers - 1)),
      ];
    }
    return R.typeLegend(model, at);
  }

  R.typeLegend = (model, at) => {
    const counts = new Map();
    for (const head of model.heads) counts.set(model.type(head, at), (counts.get(model.type(head, at)) || 0) + 1);
    return model.data.profile.types
      .filter((t) => counts.has(t))
      .map((t) => {
        const style = R.typeStyle(t);
        return el(
          "span",
          { class: "entry" },
          el("span", { class: "mark", style: `color:${R.colours().type(t)}`, "aria-hidden": "true" }, style.mark),
          `${style.name}${style.meaning ? ` (${style.meaning})` : ""}: ${counts.get(t)}`,
        );
      });
  };

  function summary(model, at) {
    const heads = drawn(model, at);
    const mean = (name) =>
      heads.length ? heads.reduce((sum, h) => sum + model.value(name, h, at), 0) / heads.length : null;
    const row = (label, values) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, label),
        values.map((v) => el("td", { class: "number" }, R.number(v, 3))),
      );
    const missing = model.heads.length - heads.length;
    return [
      el(
        "table",
        { class: "means" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td", {}),
            R.coordinates.map((n) => el("th", { scope: "col", class: "number" }, el("i", { class: `key ${n}` }), n)),
          ),
        ),
        el(
          "tbody",
          {},
          row(`Mean of ${heads.length.toLocaleString("en")} heads`, R.coordinates.map(mean)),
          model.data.profile.baseline ? row("Random baseline", model.data.profile.baseline) : null,
        ),
      ),
      missing
        ? el(
            "p",
            { class: "note" },
            missing === 1
              ? "1 head has no profile here and is not drawn."
              : `${missing} heads have no profile here and are not drawn.`,
          )
        : null,
    ];
  }

  window.addEventListener("resize", R.update);
  R.onUpdate(() => {
    const place = document.getElementById("tetrahedron");
    if (!place) return;
    for (const { model, pane } of R.panes(place, build)) {
      const [title, plot, aside] = pane.children;
      const [key, numbers] = aside.children;
      const at = model.distanceIndex(state.distance);
      const where = model.rotary()
        ? at < 0
          ? `distance ${state.distance} was not measured`
          : `distance ${model.data.profile.distances[at]}`
        : "all distances";
      title.replaceChildren(model.label, el("small", {}, where));
      plot.setAttribute(
        "aria-label",
        `Tetrahedron of the heads of ${model.label}; the same numbers are in the table of heads`,
      );
      const first = !plot.layout;
      Plotly.react(plot, traces(model), layout(model, plot), { ...R.plotConfig, modeBarButtons: [["toImage", home]] });
      if (first) {
        plot.on("plotly_click", (event) => {
          const name = event.points[0].customdata;
          const now = R.shown()[[...place.children].indexOf(pane)];
          if (name) R.openHead(now, name);
        });
        plot.on(
          "plotly_relayout",
          (change) =>
            change["scene.camera"] && !same(change["scene.camera"], camera) && turn(change["scene.camera"], plot),
        );
      }
      key.replaceChildren(...legend(model, at));
      numbers.replaceChildren(...summary(model, at).filter(Boolean));
    }
  });
})();
