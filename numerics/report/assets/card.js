"use strict";
/* The head card, `#head=5.1`: one place per head to which every capability adds a section; the shown models lie side by
   side in it. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  let dialog;
  let opener = null;

  /* A head of the model shown beside keeps the pair; a head of any other model shows that model alone. */
  R.headAddress = (model) => (R.shown().includes(model) ? {} : { model, other: null });
  R.openHead = (model, name) => {
    opener = document.activeElement;
    R.go({ ...R.headAddress(model), head: name });
  };

  function step(by) {
    const heads = state.model.heads;
    const now = heads.findIndex((h) => h.name === state.head);
    const next = heads[now + by];
    return el(
      "button",
      {
        type: "button",
        class: "quiet",
        disabled: now < 0 || !next,
        "aria-label": by < 0 ? "Previous head" : "Next head",
        id: by < 0 ? "card-previous" : "card-next",
        onclick: () => R.go({ head: next.name }),
      },
      by < 0 ? "←" : "→",
    );
  }

  function column(model) {
    const head = model.find(state.head);
    const place = el("div", { class: "card-model" }, el("h3", {}, model.label));
    if (!head) {
      place.append(el("p", { class: "note" }, `This model has no head ${state.head}.`));
      return place;
    }
    dialog.querySelector(".card-models").append(place); // in the page before drawing: figures need their width
    /* What the page is about comes first. */
    const here = (section) => section.key === document.body.dataset.page;
    for (const section of [...R.cardSections].sort((x, y) => here(y) - here(x))) {
      if (!(section.key in model.data)) continue;
      const body = el("div", {});
      place.append(el("section", {}, el("h4", {}, section.title), body));
      section.draw(body, model, head);
    }
    return place;
  }

  function close() {
    R.go({ head: null });
  }

  R.starts.push(() => {
    dialog = document.getElementById("card");
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close();
    });
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    dialog.addEventListener("keydown", (event) => {
      if (event.target.closest("input")) return;
      if (event.key === "ArrowLeft") dialog.querySelector("#card-previous").click();
      if (event.key === "ArrowRight") dialog.querySelector("#card-next").click();
    });
  });

  R.onUpdate(() => {
    if (!state.head) {
      if (dialog.open) {
        dialog.close();
        for (const plot of dialog.querySelectorAll(".plot")) Plotly.purge(plot);
        dialog.replaceChildren();
        /* Rows are made anew at each update: the one that was opened is then the row that Tab reaches. */
        const back = opener && (opener.isConnected ? opener : document.querySelector("#heads tr[tabindex='0']"));
        if (back) back.focus({ preventScroll: true });
        opener = null;
      }
      return;
    }
    const focused = dialog.contains(document.activeElement) ? document.activeElement.id : null;
    for (const plot of dialog.querySelectorAll(".plot")) Plotly.purge(plot);
    dialog.replaceChildren(
      el(
        "header",
        {},
        el("h2", { id: "card-title", tabindex: "-1" }, `Head ${state.head}`),
        step(-1),
        step(1),
        el(
          "button",
          { type: "button", class: "quiet", id: "card-close", "aria-label": "Close", onclick: close },
          "Close",
        ),
      ),
      el("div", { class: "card-models" }),
    );
    if (!dialog.open) dialog.showModal();
    dialog.classList.toggle("wide", R.shown().length > 1);
    for (const model of R.shown()) dialog.querySelector(".card-models").append(column(model));
    const again = focused && document.getElementById(focused);
    (again && !again.disabled ? again : dialog.querySelector("#card-close")).focus({ preventScroll: true });
  });
})();
