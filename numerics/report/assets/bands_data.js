"use strict";
/* Reading a model's metrics of rotary bands, and how their numbers are written. */
(() => {
  const R = numericsReport;
  const POWERS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

  /* Three digits of a number of any size: −0.0123, 4.56·10⁷; an em dash where it is missing. */
  R.threeDigits = (value) => {
    if (value === null || value === undefined) return "—";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 0.001 && size < 99950)
      return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }).replace("-", "−");
    const [digits, power] = value.toExponential(2).split("e");
    return `${digits.replace("-", "−")}·10${[...power.replace("+", "")].map((c) => POWERS[c]).join("")}`;
  };

  /* A wavelength in tokens, three digits: 6.28, 628, 62.8k, 6.28M. */
  R.wavelength = (value) => {
    if (value === null || value === undefined) return "—";
    for (const [size, unit] of [
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"],
    ]) {
      if (value >= 0.9995 * size) return `${Number((value / size).toPrecision(3))}${unit}`;
    }
    return String(Number(value.toPrecision(3)));
  };

  /* `signed`: negative where the band sharpens the attention. */
  R.bandMetrics = {
    activation: { label: "Activation", symbol: "A", unit: "", signed: false, variable: "c" },
    entropy: { label: "Entropy", symbol: "h", unit: " nats", signed: true, variable: "b" },
    fisher: { label: "Fisher", symbol: "F", unit: "", signed: false, variable: "a" },
  };

  class Bands {
    constructor(model) {
      this.data = model.data.bands;
    }

    index(head) {
      return head.layer * this.data.heads + head.head;
    }

    /* Values of one metric, band by band; null where the layer has no such band. */
    values(metric, head) {
      const { values, bands } = this.data;
      const start = this.index(head) * bands;
      return values[metric] ? values[metric].slice(start, start + bands) : null;
    }

    /* The same over the head's largest absolute value: the importance, with the sign kept. */
    relative(metric, head) {
      const values = this.values(metric, head);
      const top = Math.max(...values.map((v) => Math.abs(v ?? 0)));
      return values.map((v) => (v === null ? null : v / (top || 1)));
    }

    wavelengths(layer) {
      const { wavelength, bands } = this.data;
      return wavelength.slice(layer * bands, (layer + 1) * bands);
    }

    column(metric, name, head) {
      const columns = this.data.columns[metric];
      return columns && columns[name] ? columns[name][this.index(head)] : null;
    }

    /* Queries that the sums run over; null where the file does not say. */
    queries() {
      const { documents, length } = this.data;
      return documents && length ? documents * length : null;
    }

    /* Mean of H − log N over the queries, in nats. */
    change(head) {
      const { entropy_change: change } = this.data;
      const queries = this.queries();
      const sum = change ? change[this.index(head)] : null;
      return sum === null || !queries ? null : sum / queries;
    }

    /* The layers by their table of wavelengths, the most common table first: [{layers, wavelengths}]. */
    tables() {
      const found = new Map();
      for (let layer = 0; layer < this.data.layers; layer++) {
        const wavelengths = this.wavelengths(layer);
        const key = JSON.stringify(wavelengths);
        if (!found.has(key)) found.set(key, { layers: [], wavelengths });
        found.get(key).layers.push(layer);
      }
      return [...found.values()].sort((x, y) => y.layers.length - x.layers.length);
    }
  }

  const readers = new Map();
  R.bands = (model) => {
    if (!readers.has(model)) readers.set(model, new Bands(model));
    return readers.get(model);
  };
})();
