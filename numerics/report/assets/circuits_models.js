"use strict";
/* The circuits page's table of models. */
(() => {
  const R = numericsReport;
  const { el } = R;
  R.modelTable = {
    columns: [
      { label: "Positions" },
      { label: "Form" },
      { label: "Layers", number: true },
      { label: "Heads/layer", number: true },
      { label: "Period", number: true },
      { label: "Seeds", number: true },
      { label: "Loss by copy", number: true },
      { label: "In-context learning", number: true },
    ],
    cells(model) {
      const { layers, heads, loss, in_context_learning: score } = model.data.circuits;
      const { form, period, copies, seeds } = model.made.circuits;
      const late = score && score[0] !== null;
      return [
        model.attrs.positions,
        form,
        layers,
        heads,
        period && `${period}${copies ? ` × ${copies}` : ""}`,
        seeds,
        loss && loss.map((nats) => R.number(nats, 2)).join(" → "),
        late ? R.number(score[0], 2) + (score[1] === null ? "" : ` ± ${R.number(score[1], 2)}`) : null,
      ];
    },
    notes: () => [
      el(
        "p",
        { class: "caption" },
        "Loss in nats on each copy of the random text, without the copy’s first token. In-context learning: loss around token ",
        "500 of a text minus that around token 50, ± standard error; negative where context helps.",
      ),
    ],
  };
})();
