"use strict";
/* The circuits page's table of heads. */
(() => {
  const R = numericsReport;
  R.headTable = {
    columns: R.circuitColumns,
    has: (model, key) => R.circuits(model).has(key),
    value: (model, key, head) => R.circuits(model).value(key, head),
    at: () => 0,
    kind: {
      label: "behaviour",
      name: "the strongest that attention shows",
      of: (model, head) => R.circuits(model).category(head),
      style: (name) => {
        const style = R.behaviourStyle(name);
        return { ...style, colour: `var(${style.variable})` };
      },
    },
    where: () => "",
    search: "5.   5.1   duplicate   induction>0.5",
  };
})();
