"use strict";
/* √ETC over layers × heads at one query, one map per shown model; the query is chosen above. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    parts.query = el("input", {
      type: "range",
      id: "query",
      min: 0,
      step: 1,
      oninput: () => {
        state.query = R.queries()[Number(parts.query.value)];
        R.update();
      },
    });
    parts.value = el("output", { for: "query" });
    parts.first = el("span", {});
    parts.last = el("span", {});
    place.append(
      el("div", { class: "row" }, R.modelFields()),
      el(
        "div",
        { class: "field slider" },
        el("label", { for: "query" }, "Query position"),
        el("div", { class: "track" }, parts.first, parts.query, parts.last, parts.value),
      ),
    );
  });

  /* Looks at a head's kernel further down. */
  function open(model, name) {
    if (state.at === name) R.toHeading("kernel-title");
    R.go({ ...R.headAddress(model), at: name, head: null });
  }

  /* The same colours for all shown models: from one token to the largest count at this query. */
  const largest = () =>
    Math.max(
      2,
      ...R.shown().flatMap((model) => {
        const kernels = R.kernels(model);
        return model.heads.map((head) => kernels.curveAt("etc", head, kernels.at()) || 0);
      }),
    );

  function cell(model, top, layer, number) {
    const head = model.find(`${layer}.${number}`);
    if (!head) return null;
    const kernels = R.kernels(model);
    const at = kernels.at();
    const etc = kernels.curveAt("etc", head, at);
    const sd = kernels.curveAt("etc_sd", head, at);
    const category = kernels.category(head);
    const style = category === null ? null : R.categoryStyle(category);
    return {
      name: head.name,
      share: etc === null ? null : (Math.sqrt(etc) - 1) / (Math.sqrt(top) - 1),
      mark: style ? style.mark : "",
      text: etc === null ? "" : R.number(Math.sqrt(etc), 1),
      lines: [
        `${head.name}  ${category === null ? "no category" : category}`,
        etc === null
          ? "ETC missing"
          : `ETC ${R.number(etc, 1)}${sd === null ? "" : ` ± ${R.number(sd, 1)}`}, √ETC ${R.number(Math.sqrt(etc), 2)}`,
        `peak offset ${R.number(kernels.value("peak_offset", head), 0)}`,
        `query ${kernels.data.queries[at]}`,
      ],
      open: () => open(model, head.name),
    };
  }

  R.categoryLegend = (model) => {
    const kernels = R.kernels(model);
    return kernels.data.categories.map((name) => {
      const style = R.categoryStyle(name);
      const count = model.heads.filter((head) => kernels.category(head) === name).length;
      return el(
        "span",
        { class: "entry" },
        el("span", { class: "mark", style: `color:${R.colours().category(name)}`, "aria-hidden": "true" }, style.mark),
        `${name}: ${count}`,
      );
    });
  };

  const ramp = (top) =>
    el(
      "span",
      { class: "entry scale" },
      "√ETC 1",
      el("span", { class: "ramp", style: `background:linear-gradient(90deg,${R.colours().scale.join(",")})` }),
      R.number(Math.sqrt(top), 1),
    );

  const build = () =>
    el("article", { class: "pane" }, el("h3", {}), el("div", { class: "scroll map" }), el("div", { class: "legend" }));

  R.onUpdate(() => {
    const place = document.getElementById("map");
    if (!place) return;
    const choices = R.queries();
    const now = state.query === null ? choices.length - 1 : choices.filter((n) => n <= state.query).length - 1;
    parts.query.max = choices.length - 1;
    parts.query.value = Math.max(0, now);
    const position = choices[Math.max(0, now)];
    parts.query.setAttribute("aria-valuetext", `query ${position}`);
    parts.value.textContent = String(position);
    parts.first.textContent = String(choices[0]);
    parts.last.textContent = String(choices[choices.length - 1]);
    if (!R.changed("map", state.query, state.at)) return;
    const top = largest();
    for (const { model, pane } of R.panes(place, build)) {
      const [title, map, key] = pane.children;
      const k = model.data.kernels;
      title.replaceChildren(
        model.label,
        el("small", {}, `query ${k.queries[R.kernels(model).at()]} of ${k.keys.length} positions`),
      );
      R.grid(map, {
        label: `√ETC of ${model.label}: layers down, heads across`,
        rows: Array.from({ length: k.layers }, (_, i) => (k.stack ? `${k.stack[i].slice(0, 3)} ${i}` : String(i))),
        columns: Array.from({ length: k.heads }, (_, i) => String(i)),
        rowTitle: "layer",
        columnTitle: "head",
        cell: (layer, head) => cell(model, top, layer, head),
        current: R.lookedAt(),
      });
      key.replaceChildren(ramp(top), ...R.categoryLegend(model));
    }
  });
})();
