"use strict";
/* Model switch, comparison, colour, distance, overlays; and one pane per shown model for the figures below. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};

  const option = (model) => el("option", { value: model.slug }, model.label);
  const find = (slug) => R.models.find((m) => m.slug === slug) || null;

  function check(key, label) {
    const box = el("input", {
      type: "checkbox",
      id: `show-${key}`,
      onchange: () => {
        state[key] = box.checked;
        R.update();
      },
    });
    box.checked = state[key];
    return el("label", { class: "check", for: `show-${key}` }, box, label);
  }

  function radio(value, label) {
    const box = el("input", {
      type: "radio",
      name: "colour",
      value,
      onchange: () => {
        state.colour = value;
        R.update();
      },
    });
    box.checked = state.colour === value;
    return el("label", {}, box, el("span", {}, label));
  }

  R.starts.push(() => {
    const place = document.getElementById("controls");
    if (!place) return;
    parts.model = el(
      "select",
      { id: "model", onchange: () => R.go({ model: find(parts.model.value), head: null }) },
      R.models.map(option),
    );
    parts.other = el("select", { id: "other", onchange: () => R.go({ other: find(parts.other.value), head: null }) });
    parts.distance = el("input", {
      type: "range",
      id: "distance",
      min: 0,
      step: 1,
      oninput: () => {
        state.distance = R.distances()[Number(parts.distance.value)];
        R.update();
      },
    });
    parts.value = el("output", { for: "distance" });
    parts.first = el("span", {});
    parts.last = el("span", {});
    parts.slider = el(
      "div",
      { class: "field slider" },
      el("label", { for: "distance" }, "Distance, query − key"),
      el("div", { class: "track" }, parts.first, parts.distance, parts.last, parts.value),
    );
    parts.fixed = el("p", { class: "field fixed" }, "Without rotary positions the form is the same at every distance.");
    parts.single = el("p", { class: "field fixed" });
    place.append(
      el(
        "div",
        { class: "row" },
        el("div", { class: "field" }, el("label", { for: "model" }, "Model"), parts.model),
        R.models.length > 1
          ? el("div", { class: "field" }, el("label", { for: "other" }, "Compare with"), parts.other)
          : null,
        el(
          "fieldset",
          { class: "field segmented" },
          el("legend", {}, "Colour by"),
          el("div", {}, radio("layer", "Layer"), radio("type", "Type")),
        ),
        el(
          "div",
          { class: "field checks" },
          check("baseline", "Random baseline"),
          check("curve", "Accumulating curve"),
        ),
      ),
      parts.slider,
      parts.fixed,
      parts.single,
    );
  });

  R.onUpdate(() => {
    if (!parts.model) return;
    parts.model.value = state.model.slug;
    parts.other.replaceChildren(
      el("option", { value: "" }, "none"),
      ...R.models.filter((m) => m !== state.model).map(option),
    );
    parts.other.value = state.other ? state.other.slug : "";
    const choices = R.distances();
    const rotary = R.shown().some((m) => m.rotary());
    parts.slider.hidden = choices.length < 2;
    parts.fixed.hidden = rotary || choices.length > 1;
    parts.single.hidden = !(rotary && choices.length === 1);
    parts.single.textContent = `Measured at distance ${choices[0]} only (query − key).`;
    if (choices.length < 2) return;
    parts.distance.max = choices.length - 1;
    parts.distance.value = choices.indexOf(state.distance);
    parts.distance.setAttribute("aria-valuetext", `distance ${state.distance}`);
    parts.value.textContent = String(state.distance);
    parts.first.textContent = String(choices[0]);
    parts.last.textContent = String(choices[choices.length - 1]);
  });

  /* One pane per shown model inside `place`, kept between redraws; `build` makes its content once. */
  R.panes = (place, build) => {
    const models = R.shown();
    while (place.children.length > models.length) place.lastElementChild.remove();
    while (place.children.length < models.length) place.append(build(place.children.length));
    place.classList.toggle("two", models.length > 1);
    return models.map((model, i) => ({ model, pane: place.children[i] }));
  };
})();
