"use strict";
/* The ablation page's table of models. */
(() => {
  const R = numericsReport;
  R.modelTable = {
    columns: [
      { label: "Metrics" },
      { label: "Ranked on" },
      { label: "Read" },
      { label: "Tokens", number: true },
      { label: "Loss, nats", number: true },
    ],
    cells(model) {
      const a = model.data.ablation;
      const { rank_text: ranked, text } = model.made.ablation;
      return [
        a.metrics.join(", "),
        ranked,
        text,
        a.documents && a.length ? `${a.documents} × ${a.length.toLocaleString("en")}` : null,
        a.whole === null ? null : R.number(a.whole, 3),
      ];
    },
    notes: () => [],
  };
})();
