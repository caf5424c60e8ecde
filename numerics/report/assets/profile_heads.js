"use strict";
/* The profile page's table of heads. */
(() => {
  const R = numericsReport;
  R.headTable = {
    columns: R.profileColumns,
    has: (model, key) => key in model.data.profile.columns,
    value: (model, key, head, at) => model.value(key, head, at),
    at: (model) => model.distanceIndex(R.state.distance),
    kind: {
      label: "type",
      of: (model, head, at) => model.type(head, at),
      style: (type) => ({ ...R.typeStyle(type), colour: R.colours().type(type) }),
    },
    where: () => (R.distances().length > 1 ? ` at distance ${R.state.distance}` : ""),
    search: "5.   5.1   I+   c>0.3",
  };
})();
