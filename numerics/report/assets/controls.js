"use strict";
/* Model switch and comparison; and one pane per shown model for the figures below. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  const option = (model) => el("option", { value: model.slug }, model.label);
  const find = (slug) => R.models.find((m) => m.slug === slug) || null;

  /* The fields that choose the shown models among those the page offers; they follow the address. */
  R.modelFields = () => {
    const model = el(
      "select",
      { id: "model", onchange: () => R.go({ model: find(model.value), head: null }) },
      R.offered().map(option),
    );
    const other = el("select", { id: "other", onchange: () => R.go({ other: find(other.value), head: null }) });
    R.onUpdate(() => {
      model.value = state.model.slug;
      other.replaceChildren(
        el("option", { value: "" }, "none"),
        ...R.offered()
          .filter((m) => m !== state.model)
          .map(option),
      );
      other.value = state.other ? state.other.slug : "";
    });
    return [
      el("div", { class: "field" }, el("label", { for: "model" }, "Model"), model),
      R.offered().length > 1
        ? el("div", { class: "field" }, el("label", { for: "other" }, "Compare with"), other)
        : null,
    ];
  };

  /* One pane per shown model inside `place`, kept between redraws; `build` makes its content once. */
  R.panes = (place, build) => {
    const models = R.shown();
    while (place.children.length > models.length) place.lastElementChild.remove();
    while (place.children.length < models.length) place.append(build(place.children.length));
    place.classList.toggle("two", models.length > 1);
    return models.map((model, i) => ({ model, pane: place.children[i] }));
  };
})();
