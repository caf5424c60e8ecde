"use strict";
/* Heads of a layer that share a kernel, and pairs that unlike kernels rule out. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const layers = new Map(); // the layer looked at, by model

  /* {shared: lists of two heads or more, unlike: pairs ruled out, pairs: all} of one layer. */
  function layerGroups(model, layer) {
    const k = model.data.kernels;
    const heads = model.heads.filter((head) => head.layer === layer);
    const byGroup = new Map();
    for (const head of heads) {
      const group = R.kernels(model).value("group", head);
      if (group !== null) byGroup.set(group, [...(byGroup.get(group) || []), head]);
    }
    let unlike = 0;
    let pairs = 0;
    for (const one of heads)
      for (const other of heads) {
        if (one.head >= other.head) continue;
        const tv = k.variation ? k.variation[layer][one.head * k.heads + other.head] : null;
        if (tv === null) continue;
        pairs += 1;
        if (tv >= k.thresholds.unlike) unlike += 1;
      }
    return { shared: [...byGroup.values()].filter((group) => group.length > 1), unlike, pairs };
  }

  R.headLink = (model, head) =>
    el(
      "a",
      {
        class: "chip",
        href: R.address({ ...R.headAddress(model), head: head.name }),
        onclick: (event) => {
          event.preventDefault();
          R.openHead(model, head.name);
        },
      },
      head.name,
    );

  function table(model, now) {
    const k = model.data.kernels;
    return el(
      "table",
      { class: "groups" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["layer", "heads that share a kernel", "pairs ruled out"].map((t) => el("th", { scope: "col" }, t)),
        ),
      ),
      el(
        "tbody",
        {},
        Array.from({ length: k.layers }, (_, layer) => {
          const { shared, unlike, pairs } = layerGroups(model, layer);
          return el(
            "tr",
            { "aria-current": layer === now ? "true" : false },
            el(
              "th",
              { scope: "row" },
              el(
                "button",
                {
                  type: "button",
                  class: "quiet",
                  "aria-pressed": String(layer === now),
                  "aria-label": `Layer ${layer}: show its pairs`,
                  onclick: () => {
                    layers.set(model, layer);
                    R.update();
                  },
                },
                String(layer),
              ),
            ),
            el(
              "td",
              { class: "wrap" },
              shared.length
                ? shared.map((group) =>
                    el(
                      "span",
                      { class: "group" },
                      group.map((head) => R.headLink(model, head)),
                    ),
                  )
                : "none",
            ),
            el("td", { class: "number" }, pairs ? `${unlike} of ${pairs}` : "—"),
          );
        }),
      ),
    );
  }

  function pair(model, layer, r, c) {
    const k = model.data.kernels;
    const [one, other] = [model.find(`${layer}.${r}`), model.find(`${layer}.${c}`)];
    if (!one || !other || r === c) return null;
    const tv = k.variation[layer][r * k.heads + c];
    const group = (head) => R.kernels(model).value("group", head);
    const same = group(one) !== null && group(one) === group(other);
    const alike = tv !== null && tv <= k.thresholds.shared;
    const ruled = tv !== null && tv >= k.thresholds.unlike;
    return {
      name: `${r}-${c}`,
      share: tv,
      mark: alike ? "=" : ruled ? "×" : "",
      lines: [
        `${one.name} and ${other.name}`,
        tv === null ? "TV missing" : `TV ${R.number(tv, 3)}`,
        ...(ruled ? ["ruled out"] : []),
        ...(alike ? [same ? "one group" : "alike, but each in another group"] : []),
      ],
      open: () => R.openHead(model, one.name),
    };
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el(
        "div",
        { class: "beside" },
        el("div", { class: "scroll" }),
        el("div", {}, el("h4", {}), el("div", { class: "scroll map pairs" }), el("div", { class: "legend" })),
      ),
    );

  R.onUpdate(() => {
    const place = document.getElementById("groups");
    if (!place) return;
    const now = R.shown().map((model) => Math.min(layers.get(model) || 0, model.data.kernels.layers - 1));
    if (!R.changed("groups", now)) return;
    R.panes(place, build).forEach(({ model, pane }, i) => {
      const [title, beside] = pane.children;
      const [list, matrix] = beside.children;
      title.textContent = model.label;
      const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      list.replaceChildren(table(model, now[i]));
      if (focused) [...list.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === focused)?.focus();
      const k = model.data.kernels;
      matrix.hidden = k.variation === null;
      if (matrix.hidden) return;
      const [heading, map, key] = matrix.children;
      heading.textContent = `Pairs of layer ${now[i]}`;
      const numbers = Array.from({ length: k.heads }, (_, h) => String(h));
      R.grid(map, {
        label: `Total variation of the kernels of each pair of heads in layer ${now[i]}`,
        rows: numbers,
        columns: numbers,
        rowTitle: "head",
        columnTitle: "head",
        cell: (r, c) => pair(model, now[i], r, c),
      });
      key.replaceChildren(
        el(
          "span",
          { class: "entry scale" },
          "TV 0",
          el("span", { class: "ramp", style: `background:linear-gradient(90deg,${R.colours().scale.join(",")})` }),
          "1",
        ),
        el("span", { class: "entry" }, `= alike (TV ≤ ${k.thresholds.shared})`),
        el("span", { class: "entry" }, `× ruled out (TV ≥ ${k.thresholds.unlike})`),
      );
    });
  });
})();
