"use strict";
/* Which head reads what another wrote: heads as nodes, layers downwards, edges by composition, thinned by a threshold. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const KINDS = ["Q", "K", "V"];
  const BEND = { Q: -1, K: 0.55, V: 1.3 }; // edges of one pair of heads lie side by side
  const COUNTS = [1, 2, 3, 5, 8, 12, 20, 30, 40, 60, 80, 120, 160, 240, 320, 450, 650, 900, 1200, 1800, 2400, 3000];
  const PER_MODEL = 40; // edges at first
  const LABELLED = 40; // from this distance of nodes on their names fit
  const MARGIN = 30;
  const kinds = new Set(KINDS);
  const thresholds = new Map(); // chosen ones, by what is shown
  const parts = {};
  let hint = null;

  const shownKinds = () => KINDS.filter((kind) => kinds.has(kind));
  /* The chosen head where a model has it. */
  const lookedAt = () => (state.at && R.shown().some((model) => model.find(state.at)) ? state.at : null);
  const edgesOf = (model) => {
    const at = lookedAt();
    return at && !model.find(at) ? [] : R.circuits(model).edges(shownKinds(), at);
  };

  /* Strengths at which 1, 2, 3, 5, … edges are left, over all shown models. */
  function steps() {
    const values = R.shown()
      .flatMap((model) => edgesOf(model).map((edge) => edge.value))
      .sort((x, y) => y - x);
    const counts = COUNTS.filter((n) => n < values.length);
    if (values.length) counts.push(values.length);
    return counts.map((n) => values[n - 1]);
  }

  const view = () => JSON.stringify([R.shown().map((model) => model.slug), lookedAt()]);

  function threshold(choices = steps()) {
    const own = thresholds.get(view());
    if (own !== undefined) return own;
    const first = COUNTS.filter((n) => n <= PER_MODEL * R.shown().length).length - 1;
    return choices.length ? choices[Math.min(first, choices.length - 1)] : null;
  }

  R.shownEdges = (model) => {
    const bound = threshold();
    return edgesOf(model).filter((edge) => edge.value >= bound);
  };
  R.edgeKey = (edge) => `${edge.earlier}→${edge.later} ${edge.kind}`;

  function choose(model, name) {
    go({ ...R.headAddress(model), at: name === state.at ? null : name, head: null });
  }

  R.starts.push(() => {
    const place = document.getElementById("graph-controls");
    if (!place) return;
    parts.head = el("select", {
      id: "at",
      onchange: () => go({ at: parts.head.value || null }),
    });
    parts.card = el(
      "button",
      { type: "button", id: "open-card", onclick: () => R.openHead(state.model, state.at) },
      "All about this head",
    );
    parts.threshold = el("input", {
      type: "range",
      id: "threshold",
      min: 0,
      step: 1,
      oninput: () => {
        const choices = steps();
        thresholds.set(view(), choices[choices.length - 1 - Number(parts.threshold.value)]);
        R.update();
      },
    });
    parts.value = el("output", { for: "threshold" });
    parts.first = el("span", {});
    parts.last = el("span", {});
    const check = (kind) => {
      const box = el("input", {
        type: "checkbox",
        id: `kind-${kind}`,
        onchange: () => {
          if (box.checked) kinds.add(kind);
          else kinds.delete(kind);
          R.update();
        },
      });
      box.checked = true;
      return el("label", { class: "check", for: `kind-${kind}` }, box, R.stroke(kind), `${kind}-composition`);
    };
    place.append(
      el(
        "div",
        { class: "row" },
        el("div", { class: "field" }, el("label", { for: "at" }, "Edges of head"), parts.head),
        el("div", { class: "field" }, parts.card),
        el("div", { class: "field checks", role: "group", "aria-label": "Kinds of composition" }, KINDS.map(check)),
      ),
      el(
        "div",
        { class: "field slider" },
        el("p", { class: "said" }, el("label", { for: "threshold" }, "Composition of at least"), " ", parts.value),
        el("div", { class: "track" }, parts.first, parts.threshold, parts.last),
      ),
    );
    new ResizeObserver(() => R.update()).observe(document.getElementById("graph"));
  });

  /* --- hint at the pointer or beside a node --- */

  function show(lines, x, y) {
    if (!hint) {
      hint = el("div", { class: "hint", "aria-hidden": "true" });
      document.body.append(hint);
    }
    hint.replaceChildren(...lines.map((line, i) => el(i ? "div" : "b", {}, line)));
    hint.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = hint;
    hint.style.left = `${Math.min(Math.max(8, x - width / 2), document.documentElement.clientWidth - width - 8)}px`;
    hint.style.top = `${y - height - 12 > 0 ? y - height - 12 : y + 16}px`;
  }
  const hide = () => {
    if (hint) hint.hidden = true;
  };
  window.addEventListener("scroll", hide, { capture: true, passive: true });

  const edgeLines = (edge) => [
    `${edge.later} reads ${edge.earlier}`,
    `${edge.kind}-composition ${R.composition(edge.value)}`,
    R.overRandom(edge.excess),
  ];

  /* --- drawing --- */

  /* Elements of a drawing have a namespace of their own: that of the drawing in the page. */
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS(document.getElementById("drawing").namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) node.setAttribute(name, value);
    }
    node.append(...children.flat());
    return node;
  }

  function layout(model, width) {
    const { layers, heads } = model.data.circuits;
    const across = Math.min(104, Math.max(15, (width - MARGIN - 8) / heads));
    const down = layers <= 12 ? 54 : layers <= 24 ? 44 : 36;
    return {
      across,
      width: MARGIN + heads * across + 8,
      height: MARGIN + layers * down,
      labelled: across >= LABELLED,
      x: (head) => MARGIN + (head + 0.5) * across,
      y: (layer) => MARGIN + (layer + 0.5) * down,
    };
  }

  function path(model, place, edge) {
    const [from, to] = [model.find(edge.earlier), model.find(edge.later)];
    const [x1, y1, x2, y2] = [place.x(from.head), place.y(from.layer), place.x(to.head), place.y(to.layer)];
    /* Past the nodes of its own column. */
    const past = from.head === to.head && to.layer - from.layer > 1 ? 0.5 : 0.22;
    const bend = BEND[edge.kind] * Math.min(30, place.across * past);
    const third = (y2 - y1) / 3;
    return `M${x1} ${y1}C${x1 + bend} ${y1 + third} ${x2 + bend} ${y2 - third} ${x2} ${y2}`;
  }

  function drawEdge(model, place, edge, share) {
    const d = path(model, place, edge);
    const move = (event) => show(edgeLines(edge), event.clientX, event.clientY);
    return svg(
      "g",
      {
        class: `edge ${edge.kind}`,
        "data-edge": R.edgeKey(edge),
        onmouseenter: move,
        onmousemove: move,
        onmouseleave: hide,
      },
      svg("path", { class: "near", d }),
      svg("path", { class: "line", d, "stroke-width": (1.4 + 2.6 * share).toFixed(2) }),
    );
  }

  function drawNode(model, place, head, counts) {
    const circuits = R.circuits(model);
    const { reads, written } = counts;
    const category = circuits.category(head);
    const lines = [
      `${head.name}${category === null || category === "none" ? "" : `  ${category}`}`,
      `reads ${reads}, is read by ${written} of the edges shown`,
    ];
    const [x, y] = [place.x(head.head), place.y(head.layer)];
    const quiet = !reads && !written;
    const named = place.labelled && !quiet;
    const node = svg(
      "g",
      {
        class: ["node", quiet && "quiet", named && "named", head.name === state.at && "chosen"]
          .filter(Boolean)
          .join(" "),
        role: "button",
        tabindex: "-1",
        "data-name": head.name,
        "aria-pressed": String(head.name === state.at),
        "aria-label": `Head ${lines.join(", ")}`,
        onmouseenter: () => {
          const box = node.getBoundingClientRect();
          show(lines, box.left + box.width / 2, box.top);
        },
        onmouseleave: hide,
        onfocus: () => {
          for (const other of node.ownerSVGElement.querySelectorAll("[tabindex='0']")) {
            other.setAttribute("tabindex", "-1");
          }
          node.setAttribute("tabindex", "0"); // one stop of Tab for all nodes
          if (node.matches(":focus-visible")) {
            const box = node.getBoundingClientRect();
            show(lines, box.left + box.width / 2, box.top);
          }
        },
        onblur: hide,
        onclick: () => {
          hide();
          choose(model, head.name);
        },
      },
      /* What the pointer meets: the node’s whole place where it is small. */
      svg("circle", { class: "near", cx: x, cy: y, r: Math.min(12, place.across / 2) }),
      named
        ? [
            svg("rect", { x: x - 17, y: y - 10, width: 34, height: 20, rx: 10 }),
            svg("text", { x, y: y + 4 }, head.name),
          ]
        : svg("circle", { class: "dot", cx: x, cy: y, r: quiet ? 2.5 : Math.min(5.5, place.across / 3) }),
    );
    return node;
  }

  function keys(event) {
    const from = event.target.dataset.name;
    if (!from) return undefined;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return event.target.dispatchEvent(new MouseEvent("click"));
    }
    if (event.key === "Escape") return hide();
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return undefined;
    event.preventDefault();
    const [layer, head] = from.split(".").map(Number);
    const next = event.currentTarget.querySelector(`.node[data-name="${layer + step[0]}.${head + step[1]}"]`);
    return next && next.focus();
  }

  function draw(model, place, edges) {
    const { layers, heads } = model.data.circuits;
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const kept = focused || (place.querySelector("[tabindex='0']") || { dataset: {} }).dataset.name;
    const at = layout(model, place.clientWidth || 320);
    const counts = new Map(model.heads.map((head) => [head.name, { reads: 0, written: 0 }]));
    for (const edge of edges) {
      counts.get(edge.later).reads += 1;
      counts.get(edge.earlier).written += 1;
    }
    const [top, low] = edges.length ? [edges[0].value, edges[edges.length - 1].value] : [1, 0];
    const share = (edge) => (top > low ? (edge.value - low) / (top - low) : 1);
    const numbers = (length) => Array.from({ length }, (_, i) => i);
    const every = at.across < 20 ? 2 : 1; // two digits need their room
    const drawing = svg(
      "svg",
      {
        width: at.width,
        height: at.height,
        viewBox: `0 0 ${at.width} ${at.height}`,
        role: "group",
        "aria-label":
          `Composition between heads of ${model.label}: ${edges.length} edges, listed in the table. ` +
          "Arrow keys move between heads, Enter shows the edges of one.",
        onkeydown: keys,
      },
      svg(
        "g",
        { class: "labels", "aria-hidden": "true" },
        numbers(heads)
          .filter((head) => head % every === 0)
          .map((head) => svg("text", { x: at.x(head), y: 14 }, String(head))),
        numbers(layers).map((layer) =>
          svg("text", { class: "layer", x: MARGIN - 10, y: at.y(layer) + 4 }, String(layer)),
        ),
        numbers(layers).map((layer) => svg("line", { x1: MARGIN, x2: at.width, y1: at.y(layer), y2: at.y(layer) })),
      ),
      /* The strongest on top. */
      svg(
        "g",
        { class: "edges", "aria-hidden": "true" },
        [...edges].reverse().map((edge) => drawEdge(model, at, edge, share(edge))),
      ),
      svg(
        "g",
        { class: "nodes" },
        model.heads
          .filter((head) => head.layer < layers && head.head < heads)
          .map((head) => drawNode(model, at, head, counts.get(head.name))),
      ),
    );
    hide();
    place.replaceChildren(drawing);
    const nodes = [...drawing.querySelectorAll(".node")];
    const stop =
      nodes.find((node) => node.dataset.name === kept) ||
      nodes.find((node) => node.dataset.name === state.at) ||
      nodes[0];
    if (stop) stop.setAttribute("tabindex", "0");
    if (focused && stop) stop.focus({ preventScroll: true });
  }

  /* Marks the edge that a row of the table is about. */
  R.markEdge = (place, key) => {
    for (const edge of place.querySelectorAll(".edge")) edge.classList.toggle("marked", edge.dataset.edge === key);
  };

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("p", { class: "note" }),
      el(
        "div",
        { class: "graph-beside" },
        el("div", {}, el("div", { class: "scroll graph" })),
        el("div", { class: "edge-table" }),
      ),
      el("p", { class: "caption" }),
    );

  function controls(choices, bound) {
    const names = [...new Set(R.shown().flatMap((model) => model.heads.map((head) => head.name)))];
    parts.head.replaceChildren(
      el("option", { value: "" }, "all heads"),
      ...names.map((name) => el("option", { value: name }, name)),
    );
    parts.head.value = lookedAt() || "";
    parts.card.disabled = !lookedAt();
    const shown = R.shown().reduce((sum, model) => sum + R.shownEdges(model).length, 0);
    parts.threshold.max = Math.max(0, choices.length - 1);
    parts.threshold.disabled = choices.length < 2;
    const over = choices.filter((value) => value >= bound).length;
    parts.threshold.value = choices.length - Math.max(1, over);
    const said = choices.length ? `${R.composition(bound)}: ${shown} ${shown === 1 ? "edge" : "edges"}` : "no edges";
    parts.threshold.setAttribute("aria-valuetext", said);
    parts.value.textContent = said;
    parts.first.textContent = choices.length ? R.composition(choices[choices.length - 1]) : "";
    parts.last.textContent = choices.length ? R.composition(choices[0]) : "";
  }

  /* Random heads, and what is not here. */
  function caption(model) {
    const { edges, strongest, each } = model.data.circuits.composition;
    const known = Object.entries(edges);
    const random = known
      .filter(([, { baseline }]) => baseline !== null)
      .map(
        ([kind, k]) =>
          `${kind} ${R.composition(k.baseline)}${k.baseline_sd === null ? "" : ` ± ${R.composition(k.baseline_sd)}`}`,
      );
    const all = known.reduce((sum, [, { pairs }]) => sum + pairs, 0);
    const kept = known.reduce((sum, [, { value }]) => sum + value.length, 0);
    const first = random.length
      ? `Random heads of the same shapes: ${random.join(", ")} (mean ± sd of a pair).`
      : "No random baseline was measured.";
    if (kept === all) return `${first} All ${all.toLocaleString("en")} edges are here.`;
    return (
      `${first} Of ${all.toLocaleString("en")} edges ${kept.toLocaleString("en")} are here, ` +
      `${(all - kept).toLocaleString("en")} weaker ones are left out: the ${strongest} strongest of each kind are kept, ` +
      `and for each head the ${each} strongest that it reads and the ${each} strongest that read it.`
    );
  }

  R.onUpdate(() => {
    const place = document.getElementById("graph");
    if (!place) return;
    const choices = steps();
    const bound = threshold(choices);
    if (!R.changed("graph", lookedAt(), shownKinds(), bound, place.clientWidth)) return;
    controls(choices, bound);
    for (const { model, pane } of R.panes(place, build)) {
      const [title, note, beside, below] = pane.children;
      const at = lookedAt();
      const missing = at && !model.find(at);
      const edges = R.shownEdges(model);
      title.replaceChildren(model.label, el("small", {}, at ? `edges of head ${at}` : "all heads"));
      note.hidden = !missing && edges.length > 0;
      note.textContent = missing
        ? `This model has no head ${at}.`
        : at
          ? `Head ${at} has no edge of these kinds at this threshold.`
          : "No edge of these kinds at this threshold.";
      beside.classList.toggle("wide", model.data.circuits.heads > 16);
      draw(model, beside.children[0].firstElementChild, edges);
      R.edgeTable(model, beside.children[1], beside.children[0], edges);
      below.textContent = caption(model);
    }
  });
  const go = R.followHead("graph-title");
})();
