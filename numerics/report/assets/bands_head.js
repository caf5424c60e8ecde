"use strict";
/* The spectra of one head, all its metrics one below the other. */
(() => {
  const R = numericsReport;
  const { el, state } = R;

  /* The head that the page looks at: that of the address, else the one whose bands hold the most in the fewest. */
  function lookedAt() {
    if (state.at) return state.at;
    const { model } = state;
    const metric = model.data.bands.metrics.includes(state.metric) ? state.metric : model.data.bands.metrics[0];
    const share = (head) => R.bands(model).column(metric, "top_share", head) ?? 0;
    const heads = model.heads.filter((head) => head.layer < model.data.bands.layers);
    return heads.length ? heads.reduce((best, head) => (share(head) > share(best) ? head : best)).name : null;
  }

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("p", { class: "note", hidden: true }),
      el("div", {}, el("div", { class: "plot spectra", role: "img" }), el("div", {})),
    );

  R.onUpdate(() => {
    const place = document.getElementById("spectrum");
    if (!place) return;
    const name = lookedAt();
    if (!R.changed("spectrum", name, state.metric)) return;
    for (const { model, pane } of R.panes(place, build)) {
      const head = model.find(name || "");
      const bands = R.bands(model);
      const [title, note, figure] = pane.children;
      const [plot, standing] = figure.children;
      const rows = head ? R.bandRows(model, head) : [];
      const missing = rows.every(({ values }) => values.every((v) => v === null));
      title.replaceChildren(model.label);
      note.hidden = !missing;
      figure.hidden = missing;
      if (missing) {
        note.textContent = head ? `The bands of head ${name} are missing.` : `This model has no head ${name}.`;
        continue;
      }
      const { metrics, length } = bands.data;
      const metric = metrics.includes(state.metric) ? state.metric : metrics[0];
      const share = bands.column(metric, "top_share", head);
      const change = bands.change(head);
      title.append(
        el(
          "small",
          {},
          `head ${name}, ${metric} largest in band ${R.number(bands.column(metric, "band", head), 0)}, wavelength ` +
            `${R.wavelength(bands.column(metric, "wavelength", head))}; the largest eighth holds ${share === null ? "—" : `${R.number(100 * share, 0)} %`}` +
            `${change === null ? "" : `; H − log N = ${R.number(change, 2)} nats`}`,
        ),
      );
      plot.setAttribute("aria-label", `${metrics.join(", ")} of head ${name} of ${model.label} over wavelengths`);
      R.whenSeen(plot, () => R.drawSpectra(plot, { rows, wavelengths: bands.wavelengths(head.layer), limit: length }));
      const still = R.standing(bands.wavelengths(head.layer), rows[0].values);
      standing.replaceChildren(...(still ? [still] : []));
    }
  });

  R.headChooser("spectrum-controls", "spectrum-title", lookedAt);
})();
