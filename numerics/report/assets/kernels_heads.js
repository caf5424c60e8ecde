"use strict";
/* The kernels page's table of heads. */
(() => {
  const R = numericsReport;
  R.headTable = {
    columns: R.kernelColumns,
    has: (model, key) => R.kernels(model).has(key),
    value: (model, key, head, at) => R.kernels(model).value(key, head, at),
    at: (model) => R.kernels(model).at(),
    kind: {
      label: "category",
      name: "at the last query",
      of: (model, head) => R.kernels(model).category(head),
      style: (name) => ({ ...R.categoryStyle(name), colour: R.colours().category(name) }),
    },
    where: () => (R.state.query === null ? "" : ` at query ${R.state.query}`),
    search: "5.   5.1   local   etc<4",
  };
})();
