"use strict";
/* Reading an attribution, and the page's table of queries. */
(() => {
  const R = numericsReport;
  const { state } = R;

  class Attribution {
    constructor(model) {
      this.data = model.data.attribution;
      this.chosen = this.data.probability.reduce((best, p, i, all) => (p > (all[best] ?? -1) ? i : best), 0);
    }

    /* Contributions to one key, band by band; the dimensions that do not turn come last, where there are any. */
    row(key) {
      const { values, bands, unrotated } = this.data;
      const row = values.slice(key * bands, (key + 1) * bands);
      return unrotated ? [...row, unrotated[key]] : row;
    }

    columns() {
      return this.data.bands + (this.data.unrotated ? 1 : 0);
    }

    band(column) {
      const { bands, wavelength } = this.data;
      return column < bands
        ? `band ${column}, wavelength ${R.wavelength(wavelength[column])} tokens`
        : "dimensions that do not turn";
    }

    name(key) {
      return `key ${this.data.keys[key]}  ${R.visible(this.data.tokens[key])}`;
    }
  }

  /* What the positive and the negative of some numbers sum to. */
  R.twoSums = (values) => ({
    up: values.reduce((sum, v) => sum + (v > 0 ? v : 0), 0),
    down: values.reduce((sum, v) => sum + (v < 0 ? v : 0), 0),
  });

  const readers = new Map();
  R.attribution = (model) => {
    if (!readers.has(model)) readers.set(model, new Attribution(model));
    return readers.get(model);
  };
  /* Looks at another key of the model: in the text, in the map and by itself. */
  R.chooseKey = (model, key) => {
    R.attribution(model).chosen = key;
    R.update();
  };
  R.chosenKeys = () => R.shown().map((model) => R.attribution(model).chosen);
  R.queryName = ({ layer, head, query, query_token: token }) =>
    [
      layer === null || head === null ? null : `head ${layer}.${head}`,
      query === null ? null : `query ${query}`,
      token === null ? null : R.visible(token),
    ]
      .filter(Boolean)
      .join(", ");

  R.modelTable = {
    columns: [
      { label: "Head" },
      { label: "Query", number: true },
      { label: "Token" },
      { label: "Keys", number: true },
      { label: "Bands", number: true },
      { label: "Identities off by" },
    ],
    cells(model) {
      const a = model.data.attribution;
      return [
        a.layer === null || a.head === null ? null : `${a.layer}.${a.head}`,
        a.query,
        a.query_token === null ? null : R.visible(a.query_token),
        a.keys.length,
        a.bands,
        a.residual === null ? null : R.threeDigits(a.residual),
      ];
    },
    notes: () => [],
  };

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    place.append(
      R.el(
        "div",
        { class: "row" },
        R.modelFields(),
        R.el(
          "div",
          { class: "field" },
          R.el(
            "button",
            {
              type: "button",
              id: "open-card",
              onclick: () => {
                const { layer, head } = state.model.data.attribution;
                R.openHead(state.model, `${layer}.${head}`);
              },
            },
            "All about this head",
          ),
        ),
      ),
    );
  });
  R.onUpdate(() => {
    const button = document.getElementById("open-card");
    const { layer, head } = state.model.data.attribution;
    button.hidden = !state.model.find(`${layer}.${head}`);
  });
})();
