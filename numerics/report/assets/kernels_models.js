"use strict";
/* The kernels page's table of models. */
(() => {
  const R = numericsReport;
  const { el } = R;
  R.modelTable = {
    columns: [
      { label: "Positions" },
      { label: "Kernel" },
      { label: "Layers", number: true },
      { label: "Heads/layer", number: true },
      { label: "Text" },
      { label: "Samples", number: true },
      { label: "Length", number: true },
      { label: "Queries", number: true },
    ],
    cells(model) {
      const k = model.data.kernels;
      const { text } = model.made.kernels;
      return [model.attrs.positions, k.kind, k.layers, k.heads, text, k.samples, k.keys.length, k.queries.length];
    },
    notes: () => [
      el(
        "p",
        { class: "caption" },
        "Kernel P: the mean embedding stands for the keys. Mean-key: one mean un-rotated key per head, rotated to each distance ",
        "(rotary heads, whose mean embedding carries hardly any position).",
      ),
    ],
  };
})();
