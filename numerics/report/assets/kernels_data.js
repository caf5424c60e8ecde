"use strict";
/* Reading a model's positional kernels: numbers of a head, the rows of its kernel, which keys a query may attend to. */
(() => {
  const R = numericsReport;

  /* Little-endian float16 in base64, as numbers; NaN stays NaN. */
  function halfFloats(text) {
    const bytes = atob(text);
    const out = new Float64Array(bytes.length / 2);
    for (let i = 0; i < out.length; i++) {
      const bits = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
      const exponent = (bits >> 10) & 31;
      const fraction = bits & 1023;
      const size =
        exponent === 0
          ? fraction * 2 ** -24
          : exponent === 31
            ? fraction
              ? NaN
              : Infinity
            : (1 + fraction / 1024) * 2 ** (exponent - 15);
      out[i] = bits & 0x8000 ? -size : size;
    }
    return out;
  }

  function inRows(values, length) {
    return Array.from({ length: values.length / length }, (_, row) => values.slice(row * length, (row + 1) * length));
  }

  class Kernels {
    constructor(model) {
      this.model = model;
      this.data = model.data.kernels;
      const { queries, keys } = this.data;
      this.last = queries.length - 1;
      this.end = keys[keys.length - 1];
      this.kept = new Map();
    }

    index(head) {
      return head.layer * this.data.heads + head.head;
    }

    /* Index of the query that is looked at: the last one up to the chosen position; by default the last of all. */
    at() {
      const { query } = R.state;
      if (query === null) return this.last;
      const before = this.data.queries.filter((n) => n <= query).length;
      return Math.max(0, before - 1);
    }

    curve(name, head) {
      const values = this.data.curves[name];
      const start = this.index(head) * this.data.queries.length;
      return values ? values.slice(start, start + this.data.queries.length) : null;
    }

    curveAt(name, head, at) {
      const values = this.data.curves[name];
      return values ? values[this.index(head) * this.data.queries.length + at] : null;
    }

    /* A number of the head; those of a query at index `at`. */
    value(key, head, at) {
      if (key === "etc") return this.curveAt("etc", head, at);
      if (key === "root_etc") {
        const etc = this.curveAt("etc", head, at);
        return etc === null ? null : Math.sqrt(etc);
      }
      if (key === "z_measured") return this.relative("sd", head, this.last);
      if (key === "z_predicted") return this.relative("predicted", head, this.last);
      if (key === "contextual") return this.contextual(head);
      const column = this.data.columns[key];
      return column ? column[this.index(head)] : null;
    }

    has(key) {
      if (key === "etc" || key === "root_etc") return true;
      if (key === "z_measured") return "sd" in this.data.curves && "mean" in this.data.curves;
      if (key === "z_predicted") return "predicted" in this.data.curves && "mean" in this.data.curves;
      if (key === "contextual") return this.data.contextual.length > 0;
      return key in this.data.columns;
    }

    /* Spread of the denominator by its mean. */
    relative(name, head, at) {
      const mean = this.curveAt("mean", head, at);
      const spread = this.curveAt(name, head, at);
      return mean === null || spread === null || mean === 0 ? null : spread / mean;
    }

    category(head) {
      const code = this.data.category[this.index(head)];
      return code === null ? null : this.data.categories[code];
    }

    contextual(head) {
      const code = this.data.contextual[this.index(head)];
      return code === null || code === undefined ? null : this.data.criteria[code];
    }

    /* Mean kernel by distance; NaN where no query has a key that it may attend to. */
    profile(head) {
      const text = this.data.distance_profile ? this.data.distance_profile[this.index(head)] : null;
      return text === null ? null : halfFloats(text);
    }

    /* Kernels of the last query up to the chosen one that is kept text by text, one row per text; null: missing. */
    gallery(head) {
      const { gallery, queries, keys } = this.data;
      const text = gallery ? gallery.values[this.index(head)] : null;
      if (text === null) return null;
      const before = gallery.queries.filter((n) => n <= queries[this.at()]).length;
      const chosen = Math.max(0, before - 1);
      const rows = inRows(Array.from(halfFloats(text)), keys.length);
      const texts = rows.length / gallery.queries.length;
      return { query: gallery.queries[chosen], rows: rows.slice(chosen * texts, (chosen + 1) * texts) };
    }

    /* Denominators of the queries, one row per text; null: missing. */
    denominators(head) {
      const { denominators, queries } = this.data;
      const values = denominators ? denominators[this.index(head)] : null;
      return values === null || values.every((z) => z === null) ? null : inRows(values, queries.length);
    }

    /* Denominators of one token put at many positions, one row per text; only in the first layer. */
    substitution(head) {
      const { substitution } = this.data;
      if (!substitution || head.layer !== 0) return null;
      return inRows(substitution.values[head.head], substitution.positions.length);
    }

    /* Rows of the kernel, one per query: numbers, null for keys that are skipped or not admissible. Null: missing. */
    rows(head) {
      const at = this.index(head);
      if (this.kept.has(at)) return this.kept.get(at);
      const text = this.data.kernel[at];
      const { queries, keys, distances, skip } = this.data;
      let rows = null;
      if (text !== null) {
        const values = halfFloats(text);
        const profile = this.profile(head);
        const reach = profile && new Map(distances.map((d, i) => [d, !Number.isNaN(profile[i])]));
        rows = queries.map((n, q) =>
          keys.map((j, k) => {
            const value = values[q * keys.length + k];
            const open = j >= skip && (!reach || reach.get(n - j) || value > 0);
            return open && Number.isFinite(value) ? value : null;
          }),
        );
      }
      this.kept.set(at, rows);
      return rows;
    }
  }

  const readers = new Map();
  R.kernels = (model) => {
    if (!readers.has(model)) readers.set(model, new Kernels(model));
    return readers.get(model);
  };

  R.queries = () =>
    [...new Set(R.shown().flatMap((m) => (m.data.kernels ? m.data.kernels.queries : [])))].sort((x, y) => x - y);

  /* `label` heads the column, `full` (where it is longer) the line of the card, `name` explains. */
  R.kernelColumns = [
    { key: "etc", label: "ETC", name: "effective token count 1/Σ pos²", decimals: 1 },
    {
      key: "peak_offset",
      label: "offset",
      full: "peak offset",
      name: "offset of the largest value, key − query",
      decimals: 0,
    },
    { key: "tv_kernel", label: "TV kernel", name: "total variation of kernel and mean attention", decimals: 3 },
    { key: "tv_uniform", label: "TV uniform", name: "total variation of uniform and mean attention", decimals: 3 },
    {
      key: "tv_kernel_P",
      label: "TV P-kernel",
      name: "total variation of the kernel with P and mean attention",
      decimals: 3,
    },
    {
      key: "sink_mass",
      label: "sink",
      full: "sink mass",
      name: "attention to the skipped first positions",
      decimals: 3,
    },
    {
      key: "equivariance",
      label: "equivar.",
      full: "equivariance",
      name: "TV of kernels at equal distance; 0 = equivariant",
      decimals: 3,
    },
    {
      key: "consistency",
      label: "consist.",
      full: "consistency",
      name: "TV of kernels of different query texts; 0 = the same",
      decimals: 3,
    },
    {
      key: "z_measured",
      label: "sd Z/Z",
      full: "sd Z / mean",
      name: "relative spread of Z, measured, at the last query",
      decimals: 3,
    },
    {
      key: "z_predicted",
      label: "pred.",
      full: "predicted",
      name: "relative spread of Z, predicted, at the last query",
      decimals: 3,
    },
    {
      key: "denominator_decay",
      label: "slope Z",
      full: "slope of log Z",
      name: "slope of log Z on log n",
      decimals: 3,
    },
    { key: "key_bias_share", label: "key bias", name: "‖mean un-rotated key‖² / mean ‖key‖²", decimals: 3 },
    {
      key: "unrotated_share",
      label: "unrot.",
      full: "unrotated",
      name: "share of score variance on unrotated dims",
      decimals: 3,
    },
    { key: "group", label: "group", name: "heads of a layer with one number share a kernel", decimals: 0 },
    {
      key: "contextual",
      label: "contextual",
      name: "broad kernel and stable denominator, by which criterion",
      text: true,
    },
  ];
})();
