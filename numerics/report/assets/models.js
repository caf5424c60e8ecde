"use strict";
/* The landing table, and where everything comes from (footer). */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  let body;

  R.starts.push(() => {
    const place = document.getElementById("models");
    if (!place) return;
    const head = ["Model", "Positions", "Layers", "Heads/layer", "Heads", "N", "n", "Form", "Numbers"];
    const titles = { N: "width of the residual stream", n: "dimension of a head" };
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
            head.map((h, i) =>
              el(
                "th",
                { scope: "col", class: i >= 2 && i <= 6 ? "number" : false, title: titles[h] },
                titles[h] ? el("span", { class: "math" }, h) : h,
              ),
            ),
          ),
        ),
        body,
      ),
    );
    if (R.models.some((m) => m.rotary())) {
      place.after(
        el(
          "p",
          { class: "caption" },
          "† With rotary positions the form varies with the distance between the two tokens: use the slider below.",
        ),
      );
    }
    place.after(
      el(
        "p",
        { class: "caption" },
        el("span", { class: "math" }, "N"),
        " is the width of the residual stream, ",
        el("span", { class: "math" }, "n"),
        " the dimension of a head.",
      ),
    );
  });

  function row(model) {
    const p = model.data.profile;
    const whole = (value) => (value === null || value === undefined ? "—" : value.toLocaleString("en"));
    const numbers = [p.layers, p.heads, model.heads.length, p.width, p.head_dim];
    const form = [
      model.attrs.form || "—",
      model.attrs.qk_norm && model.attrs.qk_norm !== "none" ? `QK-norm: ${model.attrs.qk_norm}` : null,
    ];
    return el(
      "tr",
      { "aria-current": R.shown().includes(model) ? "true" : false },
      el("th", { scope: "row" }, el("a", { href: R.address({ model, other: null, head: null }) }, model.label)),
      el("td", {}, `${model.attrs.positions || "—"}${model.rotary() ? " †" : ""}`),
      numbers.map((n) => el("td", { class: "number" }, whole(n))),
      el("td", {}, form.filter(Boolean).join(", ")),
      el(
        "td",
        {},
        el(
          "a",
          {
            href: `data/${model.slug}.csv`,
            download: `${model.slug}.csv`,
            "aria-label": `Numbers of ${model.label} as CSV`,
          },
          "CSV",
        ),
      ),
    );
  }

  R.onUpdate(() => {
    if (body) body.replaceChildren(...R.models.map(row));
    document.getElementById("provenance").replaceChildren(
      ...R.shown().map((model) => {
        const a = model.attrs;
        const facts = [
          ["source", a.source],
          ["SHA-256", a.sha256 ? a.sha256.slice(0, 12) : null],
          ["architecture", a.model_type],
          ["stored as", a.dtype],
          ["form", a.form],
          ["QK-norm", a.qk_norm],
          ["made by", a.created_by],
          ["numerics", a.package_version],
          ["note", a.form_note],
          ["note", a.qk_norm_note],
        ].filter(([, value]) => value);
        return el(
          "div",
          {},
          el("h2", {}, model.label),
          el(
            "dl",
            {},
            facts.map(([name, value]) =>
              el("div", {}, el("dt", {}, name), el("dd", { title: name === "SHA-256" ? a.sha256 : false }, value)),
            ),
          ),
        );
      }),
    );
  });
})();
