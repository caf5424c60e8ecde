"use strict";
/* The head that a page looks at: a list of heads with steps, and the way to its figure for whoever chose it elsewhere. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  R.toHeading = (id) => {
    const heading = document.getElementById(id);
    heading.scrollIntoView({ block: "start" });
    heading.focus({ preventScroll: true });
  };

  /* Whoever chose a head elsewhere is taken to its figure, below `heading`. What is returned goes to an address without
     being taken there, for choices beside the figure. To be called after the figure's own `onUpdate`, which draws first. */
  R.followHead = (heading) => {
    let followed; // the head that was looked at before
    let chosenHere = false;
    R.onUpdate(() => {
      if (state.at && state.at !== followed && !chosenHere && !state.head) R.toHeading(heading);
      chosenHere = false;
      followed = state.at;
    });
    return (change) => {
      chosenHere = true;
      R.go(change);
    };
  };

  /* Fills `place` with a list of the model's heads, steps to the next ones, and a way to the head card. `lookedAt()`
     names the head of the figure below `heading`. To be called after the figure's own `onUpdate`. */
  R.headChooser = (place, heading, lookedAt) => {
    const go = R.followHead(heading);
    const list = el("select", { id: "at", onchange: () => go({ at: list.value }) });
    const step = (by) => {
      const { heads } = state.model;
      const next = heads[heads.findIndex((head) => head.name === lookedAt()) + by];
      if (next) go({ at: next.name });
    };
    R.starts.push(() => {
      document.getElementById(place).append(
        el(
          "div",
          { class: "row" },
          el("div", { class: "field" }, el("label", { for: "at" }, "Head, layer.head"), list),
          el(
            "div",
            { class: "field" },
            el("button", { type: "button", "aria-label": "Previous head", onclick: () => step(-1) }, "←"),
            " ",
            el("button", { type: "button", "aria-label": "Next head", onclick: () => step(1) }, "→"),
            " ",
            el(
              "button",
              { type: "button", id: "open-card", onclick: () => R.openHead(state.model, lookedAt()) },
              "All about this head",
            ),
          ),
        ),
      );
    });
    R.onUpdate(() => {
      const name = lookedAt();
      if (!R.changed(place, name)) return;
      list.replaceChildren(...state.model.heads.map((head) => el("option", { value: head.name }, head.name)));
      list.value = name;
    });
  };
})();
