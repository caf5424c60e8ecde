"use strict";
/* The picture of a kernel, query × key: on its page and, smaller, on the head card. */
(() => {
  const R = numericsReport;
  const config = { ...R.plotConfig, displayModeBar: false };

  /* A weight of a kernel: three digits. */
  R.weight = (value) =>
    value === 0 ? "0" : value >= 0.001 ? value.toPrecision(3) : value.toExponential(1).replace("-", "−");

  /* Ticks of a colour bar for √pos: the weights themselves. */
  function ticks(top) {
    const shares = [0, 0.1, 0.4, 1].map((share) => share * top);
    return {
      tickvals: shares.map(Math.sqrt),
      ticktext: shares.map((v) => (v === 0 ? "0" : String(Number(v.toPrecision(2))))),
    };
  }

  R.drawKernel = (plot, model, head, { small = false } = {}) => {
    const kernels = R.kernels(model);
    const { queries, keys, skip } = kernels.data;
    const rows = kernels.rows(head);
    const c = R.colours();
    const top = Math.max(...rows.map((row) => Math.max(...row.map((v) => v ?? 0))));
    const first = Math.max(
      0,
      keys.findIndex((j) => j >= skip),
    );
    const shown = rows.map((row) => row.slice(first));
    const step = Math.ceil(queries.length / (small ? 6 : 16));
    const labelled = queries.map((_, i) => i).filter((i) => (queries.length - 1 - i) % step === 0);
    return Plotly.react(
      plot,
      [
        {
          type: "heatmap",
          x: keys.slice(first),
          y: queries.map((_, i) => i),
          z: shown.map((row) => row.map((v) => (v === null ? null : Math.sqrt(v)))),
          text: shown.map((row, q) =>
            row.map((v, k) => {
              const j = keys[first + k];
              return v === null
                ? ""
                : `query ${queries[q]}, key ${j}<br>offset ${R.number(j - queries[q], 0)}<br><b>pos ${R.weight(v)}</b>`;
            }),
          ),
          hoverinfo: "text",
          hoverongaps: false,
          zmin: 0,
          zmax: Math.sqrt(top) || 1,
          colorscale: c.weights.map((colour, i, all) => [i / (all.length - 1), colour]),
          showscale: !small,
          colorbar: {
            thickness: 10,
            outlinewidth: 0,
            tickfont: { color: c.muted, size: 12 },
            ...ticks(top),
            title: { text: "pos", font: { size: 13, color: c.muted } },
          },
        },
        {
          type: "scatter",
          mode: "markers",
          x: queries,
          y: queries.map((_, i) => i),
          hoverinfo: "skip",
          marker: { symbol: "circle-open", size: small ? 5 : 8, color: c.text, line: { width: 1.5, color: c.text } },
        },
      ],
      R.plotLayout({
        margin: { l: 52, r: 8, t: 8, b: 44 },
        plot_bgcolor: c.line,
        xaxis: R.axis({
          title: R.axisTitle("key position"),
          showgrid: false,
          zeroline: false,
          range: [keys[first] - 0.5, kernels.end + 0.5],
        }),
        yaxis: R.axis({
          title: R.axisTitle("query position"),
          tickvals: labelled,
          ticktext: labelled.map((i) => String(queries[i])),
          range: [queries.length - 0.5, -0.5],
          showgrid: false,
          zeroline: false,
        }),
        shapes: small
          ? []
          : [
              {
                type: "rect",
                xref: "paper",
                x0: 0,
                x1: 1,
                y0: kernels.at() - 0.5,
                y1: kernels.at() + 0.5,
                line: { color: c.text, width: 1.5 },
              },
            ],
      }),
      config,
    );
  };
})();
