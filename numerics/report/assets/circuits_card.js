"use strict";
/* Sections of the head card from the head circuits: behaviours and copying, strongest edges, token pairs. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const FIRST = 5;

  function numbers(place, model, head) {
    const circuits = R.circuits(model);
    const category = circuits.category(head);
    if (category === null) {
      place.append(el("p", { class: "note" }, "Missing: the circuits of this head were not measured."));
      return;
    }
    const style = R.behaviourStyle(category);
    place.append(
      el(
        "p",
        {},
        el("span", { class: "mark", style: `color:var(${style.variable})`, "aria-hidden": "true" }, style.mark),
        category === "none" ? `no behaviour of ${model.data.circuits.strong} or more` : el("b", {}, category),
      ),
      el(
        "dl",
        { class: "numbers single" },
        R.circuitColumns
          .filter(({ key }) => circuits.has(key))
          .map(({ key, name }) =>
            el(
              "div",
              { title: name },
              el("dt", {}, key === "copying" ? "copying score" : R.behaviourName(key)),
              el("dd", {}, circuits.text(key, head)),
            ),
          ),
      ),
    );
  }

  function list(model, heading, edges, end) {
    return el(
      "div",
      {},
      el("h5", {}, heading),
      edges.length
        ? el(
            "table",
            { class: "edges" },
            el("caption", { class: "hearable" }, heading),
            el(
              "thead",
              {},
              el(
                "tr",
                {},
                el("th", { scope: "col" }, "head"),
                el("th", { scope: "col" }, "kind"),
                el("th", { scope: "col", class: "number" }, "composition"),
                el("th", { scope: "col", class: "number" }, "sd over random"),
              ),
            ),
            el(
              "tbody",
              {},
              edges
                .slice(0, FIRST)
                .map((edge) => el("tr", {}, el("td", {}, R.chip(model, edge[end])), R.edgeCells(edge))),
            ),
          )
        : el("p", { class: "note" }, "none measured"),
    );
  }

  const KINDS = ["Q", "K", "V"];

  function composition(place, model, head) {
    const edges = R.circuits(model).edges(KINDS, head.name);
    place.append(
      list(
        model,
        "It reads",
        edges.filter((edge) => edge.later === head.name),
        "earlier",
      ),
      list(
        model,
        "It is read by",
        edges.filter((edge) => edge.earlier === head.name),
        "later",
      ),
      el(
        "p",
        { class: "caption" },
        "The strongest of either side. ",
        el(
          "a",
          { href: `circuits.html${R.address({ ...R.headAddress(model), at: head.name, head: null })}` },
          "All its edges in the graph",
        ),
      ),
    );
  }

  function pairs(place, model, head) {
    const tables = R.circuits(model).pairs(head.name);
    place.parentElement.hidden = !tables;
    if (!tables) return;
    for (const { title, columns, rows } of R.tokenTables(tables)) {
      place.append(
        el("h5", {}, title),
        el("div", { class: "scroll" }, R.tokenTable(columns, rows.slice(0, FIRST), `${title}, head ${head.name}`)),
      );
    }
  }

  R.cardSections.push(
    { key: "circuits", title: "Circuits", draw: numbers },
    { key: "circuits", title: "Composition", draw: composition },
    { key: "circuits", title: "Token pairs", draw: pairs },
  );
})();
