"use strict";
/* The shown edges as a table beside the graph: its numbers, and its alternative for screen readers. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const STEP = 50;

  /* One stop of Tab for the whole table; arrows move between the names of heads. */
  function keys(event) {
    const lines = [...event.currentTarget.rows].map((row) => [...row.querySelectorAll("a")]);
    const r = lines.findIndex((row) => row.includes(event.target));
    if (r < 0) return undefined;
    const c = lines[r].indexOf(event.target);
    const to = {
      ArrowUp: [r - 1, c],
      ArrowDown: [r + 1, c],
      ArrowLeft: [r, 0],
      ArrowRight: [r, 1],
      Home: [0, c],
      End: [lines.length - 1, c],
    }[event.key];
    if (!to) return undefined;
    event.preventDefault();
    const next = (lines[Math.min(lines.length - 1, Math.max(0, to[0]))] || [])[to[1]];
    return next && next.focus();
  }

  /* The row that a pointer or the keyboard is at has its edge marked in the graph. */
  R.edgeTable = (model, place, graph, edges) => {
    const body = el("tbody", {
      onkeydown: keys,
      onfocusin: (event) => {
        for (const other of body.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
        event.target.tabIndex = 0;
      },
    });
    const more = el("button", { type: "button" }, `Show all ${edges.length.toLocaleString("en")} edges`);
    const fill = (limit) => {
      body.replaceChildren(
        ...edges.slice(0, limit).map((edge) => {
          const mark = () => R.markEdge(graph, R.edgeKey(edge));
          const clear = () => R.markEdge(graph, null);
          return el(
            "tr",
            {
              "data-edge": R.edgeKey(edge),
              onmouseenter: mark,
              onmouseleave: clear,
              onfocusin: mark,
              onfocusout: clear,
            },
            el("td", {}, R.chip(model, edge.later, { tabindex: "-1" })),
            el("td", {}, R.chip(model, edge.earlier, { tabindex: "-1" })),
            R.edgeCells(edge),
          );
        }),
      );
      const first = body.querySelector("a");
      if (first) first.tabIndex = 0;
      more.hidden = edges.length <= limit;
    };
    more.addEventListener("click", () => {
      fill(Infinity);
      body.querySelectorAll("tr")[STEP].querySelector("a").focus();
    });
    fill(STEP);
    place.hidden = !edges.length;
    place.replaceChildren(
      el(
        "div",
        { class: "scroll tall" },
        el(
          "table",
          { class: "edges" },
          el("caption", { class: "hearable" }, `Edges of composition of ${model.label}, strongest first`),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "head"),
              el("th", { scope: "col" }, "reads"),
              el("th", { scope: "col" }, "kind"),
              el("th", { scope: "col", class: "number" }, "composition"),
              el(
                "th",
                { scope: "col", class: "number", title: "(composition − baseline) / sd of the baseline" },
                "sd over random",
              ),
            ),
          ),
          body,
        ),
      ),
      more,
    );
  };
})();
