"use strict";
/* The profile page's table of models. */
(() => {
  const R = numericsReport;
  const { el } = R;
  R.modelTable = {
    columns: [
      { label: "Positions" },
      { label: "Layers", number: true },
      { label: "Heads/layer", number: true },
      { label: "Heads", number: true },
      { label: "N", title: "width of the residual stream", number: true },
      { label: "n", title: "dimension of a head", number: true },
      { label: "Form" },
    ],
    cells(model) {
      const p = model.data.profile;
      const { form, qk_norm } = model.made.profile;
      const norm = qk_norm && qk_norm !== "none" ? `QK-norm: ${qk_norm}` : null;
      return [
        `${model.attrs.positions || "—"}${model.rotary() ? " †" : ""}`,
        p.layers,
        p.heads,
        model.heads.length,
        p.width,
        p.head_dim,
        [form || "—", norm].filter(Boolean).join(", "),
      ];
    },
    notes: () => [
      el(
        "p",
        { class: "caption" },
        el("span", { class: "math" }, "N"),
        " is the width of the residual stream, ",
        el("span", { class: "math" }, "n"),
        " the dimension of a head.",
      ),
      ...(R.offered().some((m) => m.rotary())
        ? [
            el(
              "p",
              { class: "caption" },
              "† With rotary positions the form varies with the distance between the two tokens: use the slider below.",
            ),
          ]
        : []),
    ],
  };
})();
