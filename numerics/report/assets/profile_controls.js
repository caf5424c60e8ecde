"use strict";
/* What the profile page shows: models, colour, distance, overlays. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const parts = {};

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
        R.modelFields(),
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
    if (!parts.distance) return;
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
})();
