"use strict";
/* Spectra: numbers of a head's bands over their wavelengths, one metric below the other. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const ROW = 150; // px

  /* Ticks of an axis in tokens: powers of ten, every second one where they are many. */
  R.wavelengthTicks = (low, high) => {
    const powers = [];
    for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++) powers.push(power);
    const step = Math.ceil(powers.length / 8);
    const values = powers.filter((_, i) => i % step === 0).map((power) => 10 ** power);
    return { tickvals: values, ticktext: values.map(R.wavelength) };
  };

  /* `rows`: {title, values, variable, dash, symbol, text(band)}; `wavelengths` per band. `limit`: the length of the texts. */
  R.drawSpectra = (plot, { rows, wavelengths, limit = null, overlaid = false }) => {
    const c = R.colours();
    const there = wavelengths.map((_, band) => band).filter((band) => wavelengths[band] !== null);
    const x = there.map((band) => wavelengths[band]);
    const edge = Math.max(0.02, 0.02 * Math.log10(Math.max(...x) / Math.min(...x)));
    const [low, high] = [Math.log10(Math.min(...x)) - edge, Math.log10(Math.max(...x)) + edge];
    const count = overlaid ? 1 : rows.length;
    const gap = count > 1 ? 0.12 / (count - 1) : 0;
    const height = (1 - gap * (count - 1)) / count;
    const axes = {};
    for (let i = 0; i < count; i++) {
      const top = 1 - i * (height + gap);
      axes[i ? `yaxis${i + 1}` : "yaxis"] = R.axis({
        domain: [Math.max(0, top - height), top],
        nticks: 4,
        rangemode: "tozero",
        zeroline: true,
        zerolinewidth: 1,
        zerolinecolor: c.muted,
        exponentformat: "power",
        anchor: "x",
      });
    }
    plot.style.height = `${count * (overlaid ? 1.5 * ROW : ROW) + 56}px`;
    return Plotly.react(
      plot,
      rows.map((row, i) => {
        const color = c.coordinate[row.variable] || c[row.variable];
        return {
          type: "scatter",
          mode: there.length > 96 && overlaid ? "lines" : "lines+markers",
          x,
          y: there.map((band) => row.values[band]),
          xaxis: "x",
          yaxis: overlaid || !i ? "y" : `y${i + 1}`,
          connectgaps: false,
          fill: overlaid ? "none" : "tozeroy",
          fillcolor: `${color}26`,
          text: there.map((band) => (row.values[band] === null ? "" : row.text(band))),
          hoverinfo: "text",
          line: { color, width: 1.5, dash: row.dash || "solid" },
          marker: { size: there.length > 64 ? 3 : 5, color, symbol: row.symbol || "circle" },
        };
      }),
      R.plotLayout({
        margin: { l: 52, r: 12, t: 20, b: 44 },
        hovermode: "closest",
        xaxis: R.axis({
          type: "log",
          title: R.axisTitle("wavelength, tokens"),
          range: [low, high],
          ...R.wavelengthTicks(10 ** low, 10 ** high),
          showgrid: true,
          zeroline: false,
          anchor: count > 1 ? `y${count}` : "y",
        }),
        ...axes,
        annotations: overlaid
          ? []
          : rows.map((row, i) => ({
              text: `<b>${R.plotText(row.title)}</b>`,
              xref: "paper",
              yref: "paper",
              x: 0,
              y: 1 - i * (height + gap),
              xanchor: "left",
              yanchor: "bottom",
              showarrow: false,
              font: { size: 13, color: c.text },
            })),
        shapes:
          limit && Math.log10(limit) > low && Math.log10(limit) < high
            ? [
                {
                  type: "line",
                  x0: limit,
                  x1: limit,
                  yref: "paper",
                  y0: 0,
                  y1: 1,
                  line: { color: c.muted, width: 1, dash: "dot" },
                },
              ]
            : [],
      }),
      { ...R.plotConfig, displayModeBar: false },
    );
  };

  /* Bands that stand still have no place on the axis. */
  R.standing = (wavelengths, values) => {
    const count = wavelengths.filter((w, band) => w === null && values[band] !== null).length;
    if (!count) return null;
    return el(
      "p",
      { class: "note" },
      `${count} ${count === 1 ? "band does" : "bands do"} not turn and cannot be drawn over wavelengths.`,
    );
  };

  /* The rows of a head of the model, for all metrics that its file has. */
  R.bandRows = (model, head) => {
    const bands = R.bands(model);
    const wavelengths = bands.wavelengths(head.layer);
    return bands.data.metrics.map((key) => {
      const metric = R.bandMetrics[key];
      const values = bands.values(key, head);
      const relative = bands.relative(key, head);
      return {
        title: `${metric.label}${metric.unit ? `,${metric.unit}` : ""}`,
        values,
        variable: metric.variable,
        text: (band) =>
          `band ${band}, wavelength ${R.wavelength(wavelengths[band])}` +
          `<br><b>${key} ${R.threeDigits(values[band])}${metric.unit}</b><br>importance ${R.number(Math.abs(relative[band]), 3)}`,
      };
    });
  };

  /* A choice of one of a few: `choices` are pairs of value and label. */
  R.segmented = (name, legend, choices, chosen, choose) =>
    el(
      "fieldset",
      { class: "field segmented" },
      el("legend", {}, legend),
      el(
        "div",
        {},
        choices.map(([value, label]) => {
          const box = el("input", {
            type: "radio",
            name,
            value,
            onchange: () => {
              choose(value);
              R.update();
            },
          });
          box.checked = value === chosen;
          return el("label", {}, box, el("span", {}, label));
        }),
      ),
    );
})();
