"use strict";
/* One behaviour over layers × heads, one map per shown model; the behaviour is chosen above. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};
  let chosen = "induction";

  const columns = () => R.circuitColumns.filter((c) => R.shown().some((m) => R.circuits(m).has(c.key)));

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    parts.kind = el("select", {
      id: "behaviour",
      onchange: () => {
        chosen = parts.kind.value;
        R.update();
      },
    });
    place.append(
      el(
        "div",
        { class: "row" },
        R.modelFields(),
        el("div", { class: "field" }, el("label", { for: "behaviour" }, "Behaviour"), parts.kind),
      ),
    );
  });

  const title = (key) => (key === "copying" ? "copying score" : R.behaviourName(key));
  /* Behaviours lie in [0, 1], the copying score in [−1, 1]. */
  const lowest = (key) => (key === "copying" ? -1 : 0);

  function cell(model, layer, number) {
    const head = model.find(`${layer}.${number}`);
    if (!head) return null;
    const circuits = R.circuits(model);
    const value = circuits.value(chosen, head);
    const category = circuits.category(head);
    const low = lowest(chosen);
    const strong = value !== null && category === R.behaviourName(chosen);
    return {
      name: head.name,
      share: value === null ? null : (value - low) / (1 - low),
      mark: strong ? R.behaviourStyle(category).mark : "",
      text: value === null ? "" : R.number(value, 2),
      lines: [
        `${head.name}${category === null || category === "none" ? "" : `  ${category}`}`,
        `${title(chosen)} ${value === null ? "missing" : circuits.text(chosen, head)}`,
        ...columns()
          .filter(({ key }) => key !== chosen && circuits.has(key))
          .map(({ key }) => `${title(key)} ${circuits.text(key, head, 2)}`),
      ],
      open: () => R.openHead(model, head.name),
    };
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("div", { class: "scroll map" }),
      el("div", { class: "legend" }),
      el("p", { class: "note" }),
    );

  R.onUpdate(() => {
    const place = document.getElementById("map");
    if (!place) return;
    const choices = columns();
    if (!choices.some(({ key }) => key === chosen)) chosen = choices[0].key;
    if (!R.changed("map", chosen, state.at)) return;
    parts.kind.replaceChildren(...choices.map(({ key }) => el("option", { value: key }, title(key))));
    parts.kind.value = chosen;
    for (const { model, pane } of R.panes(place, build)) {
      const [name, map, key, note] = pane.children;
      const { layers, heads, stack, strong } = model.data.circuits;
      name.replaceChildren(model.label, el("small", {}, title(chosen)));
      R.grid(map, {
        label: `${title(chosen)} of ${model.label}: layers down, heads across`,
        rows: Array.from({ length: layers }, (_, i) => (stack ? `${stack[i].slice(0, 3)} ${i}` : String(i))),
        columns: Array.from({ length: heads }, (_, i) => String(i)),
        rowTitle: "layer",
        columnTitle: "head",
        cell: (layer, head) => cell(model, layer, head),
        current: state.at,
      });
      const style = R.behaviourStyle(R.behaviourName(chosen));
      const called = model.heads.filter((head) => R.circuits(model).category(head) === style.name).length;
      key.replaceChildren(
        el(
          "span",
          { class: "entry scale" },
          R.number(lowest(chosen), 0),
          el("span", { class: "ramp", style: `background:linear-gradient(90deg,${R.colours().scale.join(",")})` }),
          "1",
        ),
        model.data.circuits.categories.includes(chosen)
          ? el(
              "span",
              { class: "entry" },
              el("span", { class: "mark", "aria-hidden": "true" }, style.mark),
              `the head’s strongest, ≥ ${strong}: ${called}`,
            )
          : "",
      );
      const notes = ["period", "behaviour", "copying"].map((about) => R.circuits(model).note(about)).filter(Boolean);
      note.textContent = notes.length ? `Note: ${notes.join("; ")}.` : "";
      note.hidden = !notes.length;
    }
  });
})();
