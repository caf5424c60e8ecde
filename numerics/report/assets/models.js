"use strict";
/* The landing table, and where everything comes from (footer). */
(() => {
  const R = numericsReport;
  const { el } = R;
  let body;

  /* A page that has a table of models sets `R.modelTable`: `columns` ({label, title, number}) between the name and the
     CSV, `cells(model)` their texts, null where something is missing; `notes()` are captions below. */
  R.modelTable = null;

  const whole = (value) => (typeof value === "number" ? value.toLocaleString("en") : value);

  R.starts.push(() => {
    const place = document.getElementById("models");
    if (!place || !R.modelTable) return;
    const columns = [{ label: "Model" }, ...R.modelTable.columns, { label: "Numbers" }];
    body = el("tbody", {});
    place.append(
      el(
        "table",
        { class: "models" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            columns.map(({ label, title, number }) =>
              el(
                "th",
                { scope: "col", class: number ? "number" : false, title },
                title ? el("span", { class: "math" }, label) : label,
              ),
            ),
          ),
        ),
        body,
      ),
    );
    place.after(...R.modelTable.notes());
  });

  function row(model) {
    const cells = R.modelTable.cells(model);
    const file = `${model.slug}_${document.body.dataset.page}.csv`;
    return el(
      "tr",
      { "aria-current": R.shown().includes(model) ? "true" : false },
      el("th", { scope: "row" }, el("a", { href: R.address({ model, other: null, head: null }) }, model.label)),
      R.modelTable.columns.map(({ number }, i) =>
        el("td", { class: number ? "number" : false }, whole(cells[i] ?? "—")),
      ),
      el(
        "td",
        {},
        el("a", { href: `data/${file}`, download: file, "aria-label": `Numbers of ${model.label} as CSV` }, "CSV"),
      ),
    );
  }

  const list = (facts) =>
    el(
      "dl",
      {},
      facts
        .filter(([, value]) => value)
        .map(([name, value, title]) => el("div", {}, el("dt", {}, name), el("dd", { title: title || false }, value))),
    );
  const digest = (name, value) => [name, value ? value.slice(0, 12) : null, value];

  /* What made one capability. */
  const making = (a) => [
    ["form", a.form],
    ["QK-norm", a.qk_norm],
    ["text", a.text],
    digest("text SHA-256", a.text_sha256),
    ["made by", a.created_by],
    ["numerics", a.package_version],
    ["note", a.form_note],
    ["note", a.qk_norm_note],
  ];

  R.onUpdate(() => {
    if (body) body.replaceChildren(...R.offered().map(row));
    document.getElementById("provenance").replaceChildren(
      ...R.shown().map((model) => {
        const a = model.attrs;
        const model_facts = [
          ["source", a.source],
          digest("SHA-256", a.sha256),
          ["architecture", a.model_type],
          ["stored as", a.dtype],
        ];
        const parts = Object.entries(model.made);
        if (parts.length === 1)
          return el("div", {}, el("h2", {}, model.label), list([...model_facts, ...making(parts[0][1])]));
        return el(
          "div",
          {},
          el("h2", {}, model.label),
          list(model_facts),
          parts.map(([key, attrs]) => [el("h3", {}, key), list(making(attrs))]).flat(),
        );
      }),
    );
  });
})();
