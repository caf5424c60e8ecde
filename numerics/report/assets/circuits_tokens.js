"use strict";
/* Token pairs of the chosen heads: whom the head looks for, what it then writes, both joined; and their virtual heads. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};
  let head = null; // whose tables are shown
  let followed = null; // the head of the address that was last taken over

  const names = () => [
    ...new Set(R.shown().flatMap((model) => (model.data.circuits.pairs || []).map((table) => table.head))),
  ];

  R.starts.push(() => {
    const place = document.getElementById("pair-controls");
    if (!place) return;
    parts.head = el("select", {
      id: "pair-head",
      onchange: () => {
        head = parts.head.value;
        R.update();
      },
    });
    place.append(
      el(
        "div",
        { class: "row" },
        el("div", { class: "field" }, el("label", { for: "pair-head" }, "Head, layer.head"), parts.head),
      ),
    );
  });

  const build = () =>
    el("article", { class: "pane" }, el("h3", {}), el("p", { class: "note" }), el("div", { class: "token-tables" }));

  function drawPane(model, pane) {
    const [title, note, place] = pane.children;
    const tables = R.circuits(model).pairs(head);
    const said = R.circuits(model).note("pair");
    title.replaceChildren(model.label, el("small", {}, `head ${head}`));
    note.textContent = tables
      ? said
        ? `${said[0].toUpperCase()}${said.slice(1)}.`
        : ""
      : `No token pairs of head ${head} were measured in this model.`;
    note.hidden = !note.textContent;
    place.replaceChildren(
      ...(tables ? R.tokenTables(tables) : []).map(({ key, title: heading, columns, rows }) =>
        el(
          "div",
          { "data-table": key },
          el("h4", {}, heading),
          el(
            "div",
            { class: "scroll tall", tabindex: "0", role: "group", "aria-label": heading },
            R.tokenTable(columns, rows, `${heading}, head ${head} of ${model.label}`),
          ),
        ),
      ),
    );
  }

  function virtual(model, pane) {
    const { kinds, virtual: heads } = model.data.circuits;
    const [title, note, place] = pane.children;
    title.textContent = model.label;
    note.hidden = Boolean(heads);
    note.textContent = "No virtual head was measured in this model.";
    if (!heads) return place.replaceChildren();
    const labels = kinds.map((kind) => (R.circuitColumns.find(({ key }) => key === kind) || { label: kind }).label);
    return place.replaceChildren(
      el(
        "div",
        { class: "scroll" },
        el(
          "table",
          { class: "virtual" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "earlier → later"),
              [...labels, "copying"].map((label) => el("th", { scope: "col", class: "number" }, label)),
            ),
          ),
          el(
            "tbody",
            {},
            heads.map((one) =>
              el(
                "tr",
                {},
                el("th", { scope: "row" }, one.name),
                kinds.map((_, i) => {
                  const sd = one.behaviour_sd ? one.behaviour_sd[i] : null;
                  const value = one.behaviour[i];
                  const text = R.number(value, 3) + (value === null || sd === null ? "" : ` ± ${R.number(sd, 3)}`);
                  return el("td", { class: "number" }, text);
                }),
                el("td", { class: "number" }, R.number(one.copying, 3)),
              ),
            ),
          ),
        ),
      ),
    );
  }

  R.onUpdate(() => {
    const place = document.getElementById("pairs");
    if (!place) return;
    const choices = names();
    if (state.at !== followed && choices.includes(state.at)) head = state.at;
    followed = state.at;
    if (choices.length && !choices.includes(head)) head = choices[0];
    if (!R.changed("pairs", head)) return;
    const none = document.getElementById("no-pairs");
    none.hidden = choices.length > 0;
    for (const id of ["pair-controls", "pairs", "about-pairs"]) document.getElementById(id).hidden = !choices.length;
    document.getElementById("virtual-section").hidden = !R.shown().some((model) => model.data.circuits.virtual);
    if (!choices.length) return;
    parts.head.replaceChildren(...choices.map((name) => el("option", { value: name }, name)));
    parts.head.value = head;
    for (const { model, pane } of R.panes(place, build)) drawPane(model, pane);
    for (const { model, pane } of R.panes(document.getElementById("virtual"), build)) virtual(model, pane);
  });
})();
