"use strict";
/* The bands page's table of heads: numbers of the chosen metric. */
(() => {
  const R = numericsReport;
  const { state } = R;
  const SHORT = 16; // tokens, as for kernels that are called local
  const REACH = {
    short: { name: "short", mark: "▲", variable: "--d" },
    middle: { name: "middle", mark: "◣", variable: "--a" },
    long: { name: "long", mark: "■", variable: "--c" },
  };

  function reach(model, head) {
    const bands = R.bands(model);
    const wavelength = bands.column(state.metric, "wavelength", head);
    if (wavelength === null) return null;
    const { length } = bands.data;
    return wavelength <= SHORT ? "short" : length && wavelength > length ? "long" : "middle";
  }

  function value(model, key, head) {
    const bands = R.bands(model);
    if (key === "change") return bands.change(head);
    return bands.column(state.metric, key, head);
  }

  R.headTable = {
    columns: [
      { key: "band", label: "largest band", name: "band of the largest absolute value", decimals: 0 },
      { key: "wavelength", label: "wavelength", name: "its wavelength, tokens", decimals: 1 },
      { key: "top_share", label: "top eighth", name: "share of the largest eighth of the bands", decimals: 3 },
      { key: "unrotated_share", label: "unrotated", name: "share of the dimensions that do not turn", decimals: 3 },
      {
        key: "change",
        label: "H − log N",
        name: "entropy less that of uniform attention, nats per query",
        decimals: 3,
      },
    ],
    has: (model, key) => {
      const bands = R.bands(model);
      if (key === "change") return bands.data.entropy_change !== null && bands.queries() !== null;
      const columns = bands.data.columns[state.metric];
      return Boolean(columns && columns[key] && (key !== "unrotated_share" || columns[key].some((v) => v)));
    },
    value,
    at: () => 0,
    kind: {
      label: "reach",
      name: "short: wavelength up to 16 tokens; long: beyond the length of a text",
      of: reach,
      style: (name) => {
        const css = getComputedStyle(document.documentElement);
        return { ...REACH[name], colour: css.getPropertyValue(REACH[name].variable).trim() };
      },
    },
    where: () => ` by ${state.metric}`,
    search: "5.   5.1   long   top_share>0.5",
  };
})();
