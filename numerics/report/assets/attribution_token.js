"use strict";
/* The contributions to one key over the wavelengths of the bands. */
(() => {
  const R = numericsReport;
  const { el } = R;

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("div", { class: "plot spectra", role: "img" }),
      el("p", { class: "caption" }),
    );

  R.onUpdate(() => {
    const place = document.getElementById("token");
    if (!place || !R.changed("token", R.chosenKeys())) return;
    for (const { model, pane } of R.panes(place, build)) {
      const attribution = R.attribution(model);
      const { data, chosen } = attribution;
      const [title, plot, note] = pane.children;
      const values = attribution.row(chosen).slice(0, data.bands);
      const { up, down } = R.twoSums(values);
      title.replaceChildren(
        model.label,
        el("small", {}, `${attribution.name(chosen)}, attention ${R.threeDigits(data.probability[chosen])}`),
      );
      plot.setAttribute("aria-label", `Contributions of the bands to ${attribution.name(chosen)} over wavelengths`);
      R.whenSeen(plot, () =>
        R.drawSpectra(plot, {
          wavelengths: data.wavelength,
          rows: [
            {
              title: "contribution c",
              values,
              variable: "c",
              text: (band) => `${attribution.band(band)}<br><b>c ${R.threeDigits(values[band])}</b>`,
            },
          ],
        }),
      );
      note.textContent =
        `The bands add ${R.threeDigits(up)} and take ${R.threeDigits(-down)}` +
        `${data.unrotated ? `; the dimensions that do not turn give ${R.threeDigits(data.unrotated[chosen])}` : ""}.`;
    }
  });
})();
