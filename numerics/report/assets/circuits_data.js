"use strict";
/* Reading a model's head circuits: behaviours of a head, edges of composition, tables of tokens. */
(() => {
  const R = numericsReport;

  const STYLES = {
    "previous token": { mark: "◄", variable: "--a" },
    "duplicate token": { mark: "■", variable: "--b" },
    induction: { mark: "◆", variable: "--c" },
    "first token": { mark: "▼", variable: "--d" },
    none: { mark: "·", variable: "--none" },
  };
  const words = (kind) => kind.replace(/_/g, " ");

  class Circuits {
    constructor(model) {
      this.model = model;
      this.data = model.data.circuits;
    }

    index(head) {
      return head.layer * this.data.heads + head.head;
    }

    has(key) {
      return key === "copying" ? this.data.copying !== null : key in this.data.behaviour;
    }

    /* A behaviour, or the copying score, of a head; null: missing. */
    value(key, head) {
      if (head.layer >= this.data.layers || head.head >= this.data.heads || !this.has(key)) return null;
      return (key === "copying" ? this.data.copying : this.data.behaviour[key])[this.index(head)];
    }

    spread(key, head) {
      const sd = this.data.behaviour_sd;
      return sd && key in sd && this.value(key, head) !== null ? sd[key][this.index(head)] : null;
    }

    text(key, head, decimals = 3) {
      const sd = this.spread(key, head);
      return R.number(this.value(key, head), decimals) + (sd === null ? "" : ` ± ${R.number(sd, decimals)}`);
    }

    /* The behaviour that a head is called by; null: the layer lacks it. */
    category(head) {
      const outside = head.layer >= this.data.layers || head.head >= this.data.heads;
      const code = outside ? null : this.data.category[this.index(head)];
      return code === null ? null : words(this.data.categories[code]);
    }

    /* Edges of these kinds, strongest first: {kind, earlier, later, value, excess}; of one head, or those of all heads
       that are among the strongest of their kind. */
    edges(kinds, name = null) {
      const { heads, composition } = this.data;
      const head = name && this.model.find(name);
      const at = head ? this.index(head) : null;
      const label = (i) => `${Math.floor(i / heads)}.${i % heads}`;
      const found = [];
      for (const kind of kinds) {
        const edges = composition.edges[kind];
        if (!edges) continue;
        const { later, earlier, value, strongest, baseline, baseline_sd: sd } = edges;
        const end = name ? value.length : strongest;
        for (let i = 0; i < end; i++) {
          if (name && later[i] !== at && earlier[i] !== at) continue;
          found.push({
            kind,
            later: label(later[i]),
            earlier: label(earlier[i]),
            value: value[i],
            excess: baseline === null || !sd ? null : (value[i] - baseline) / sd,
          });
        }
      }
      return found.sort((x, y) => y.value - x.value);
    }

    pairs(name) {
      return (this.data.pairs || []).find((table) => table.head === name) || null;
    }

    note(name) {
      return this.model.made.circuits[`${name}_note`] || null;
    }
  }

  const readers = new Map();
  R.circuits = (model) => {
    if (!readers.has(model)) readers.set(model, new Circuits(model));
    return readers.get(model);
  };

  R.composition = (value) => R.number(value, 4);
  R.behaviourName = words;
  R.behaviourStyle = (name) => ({ name, mark: "●", variable: "--none", ...STYLES[name] });
  R.signed = (value, decimals) => {
    const text = R.number(value, decimals);
    if (Number(value.toFixed(decimals)) === 0) return text.replace("−", ""); // no −0.0
    return value > 0 ? `+${text}` : text;
  };
  R.overRandom = (excess) => (excess === null ? "no random baseline" : `${R.signed(excess, 1)} sd over random`);

  R.circuitColumns = [
    { key: "previous_token", label: "previous", name: "attention to the token before", decimals: 3 },
    { key: "duplicate_token", label: "duplicate", name: "attention to the same token in the copy before", decimals: 3 },
    { key: "induction", label: "induction", name: "attention to the token after the earlier copy", decimals: 3 },
    { key: "first_token", label: "first", name: "attention to the first position", decimals: 3 },
    {
      key: "direct_copying",
      label: "direct copying",
      name: "share of tokens whose own logit the head raises above the mean",
      decimals: 3,
    },
    { key: "copying", label: "copying", name: "Σ Re λ / Σ|λ| of the OV circuit between tokens", decimals: 3 },
  ];
})();
