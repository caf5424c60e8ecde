"use strict";
/* The bands page's table of models. */
(() => {
  const R = numericsReport;
  R.modelTable = {
    columns: [
      { label: "Layers × heads" },
      { label: "Bands", number: true },
      { label: "Wavelengths, tokens" },
      { label: "Metrics" },
      { label: "Text" },
      { label: "Tokens", number: true },
    ],
    cells(model) {
      const b = model.data.bands;
      const there = b.wavelength.filter((w) => w !== null);
      return [
        `${b.layers} × ${b.heads}`,
        b.bands,
        there.length ? `${R.wavelength(Math.min(...there))} to ${R.wavelength(Math.max(...there))}` : null,
        b.metrics.join(", "),
        model.made.bands.text,
        b.documents && b.length ? `${b.documents} × ${b.length.toLocaleString("en")}` : null,
      ];
    },
    notes: () => [],
  };
})();
