"use strict";
/* How head circuits are written, on their page and on the head card: links to heads, kinds of edges, tokens. */
(() => {
  const R = numericsReport;
  const { el } = R;

  /* A link that opens the head's card. */
  R.chip = (model, name, attributes = {}) =>
    el(
      "a",
      {
        class: "chip",
        href: R.address({ ...R.headAddress(model), head: name }),
        onclick: (event) => {
          event.preventDefault();
          R.openHead(model, name);
        },
        ...attributes,
      },
      name,
    );

  R.stroke = (kind) => el("span", { class: `stroke ${kind}`, "aria-hidden": "true" });

  R.token = (text) => el("bdi", { class: "token" }, R.tokenNodes(text));

  R.edgeCells = (edge) => [
    el("td", {}, R.stroke(edge.kind), edge.kind),
    el("td", { class: "number" }, R.composition(edge.value)),
    el("td", { class: "number" }, edge.excess === null ? "—" : R.signed(edge.excess, 1)),
  ];

  const TABLES = [
    { key: "QK", title: "QK: query token attends to key token", columns: ["query", "key", "score"] },
    { key: "OV", title: "OV: source token raises output token", columns: ["source", "output", "logit"] },
    {
      key: "trigrams",
      title: "Skip-trigrams",
      columns: ["source …", "destination", "→ output", "QK", "OV"],
    },
  ];

  const decimals = (value) => (Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2);

  R.tokenTable = (columns, rows, label) =>
    el(
      "table",
      { class: "tokens" },
      el("caption", { class: "hearable" }, label),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((name, i) =>
            el("th", { scope: "col", class: rows.length && typeof rows[0][i] === "number" ? "number" : false }, name),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            row.map((cell) =>
              typeof cell === "number"
                ? el("td", { class: "number" }, R.number(cell, decimals(cell)))
                : el("td", {}, R.token(cell)),
            ),
          ),
        ),
      ),
    );

  /* {title, columns, rows} of the tables that a head has. */
  R.tokenTables = (tables) =>
    TABLES.map((table) => ({ ...table, rows: tables[table.key] || [] })).filter(({ rows }) => rows.length);
})();
