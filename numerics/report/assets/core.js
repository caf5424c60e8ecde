"use strict";
/* The one name that the report's scripts share: models, state, hash, element builder, numbers.
   Plain scripts, because module scripts do not load from disk. No markup is ever made from text: elements only. */
const numericsReport = (() => {
  const models = [];
  const views = [];
  const state = {
    model: null,
    other: null,
    head: null, // whose card is open
    at: null, // head that a page looks at
    distance: null,
    query: null,
    colour: "layer",
    baseline: true,
    curve: true,
  };
  let page = null; // key of the page that is open

  /* One model as `data/<slug>.js` gives it, with its numbers by layer, head and distance. */
  class Model {
    constructor(entry) {
      Object.assign(this, entry);
      const p = this.data.profile;
      const parts = Object.values(this.data).filter((part) => part.heads);
      const stack = (parts.find((part) => part.stack) || {}).stack;
      const layers = Math.max(0, ...parts.map((part) => part.layers));
      const heads = Math.max(0, ...parts.map((part) => part.heads));
      this.heads = [];
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) {
          const start = p ? (layer * p.heads + head) * p.distances.length : null;
          const there = parts.some((part) => Model.holds(part, layer, head));
          if (there)
            this.heads.push({ layer, head, name: `${layer}.${head}`, start, stack: stack ? stack[layer] : null });
        }
      }
    }

    /* A capability names a head by its type, its category or that it is there; null where the layer lacks it. */
    static holds(part, layer, head) {
      if (layer >= part.layers || head >= part.heads) return false;
      const codes = part.type || part.category || part.there || [];
      const each = part.type ? part.distances.length : 1;
      const start = (layer * part.heads + head) * each;
      return codes.slice(start, start + each).some((code) => code !== null);
    }

    find(name) {
      return this.heads.find((head) => head.name === name) || null;
    }

    /* Index of a distance; a model without rotary positions has one form for all distances. -1: not measured. */
    distanceIndex(distance) {
      const distances = this.data.profile.distances;
      return distances.length === 1 && !this.rotary() ? 0 : distances.indexOf(distance);
    }

    rotary() {
      return /rotary|rope/i.test(this.attrs.positions || "");
    }

    value(column, head, at) {
      const values = this.data.profile.columns[column];
      return values && at >= 0 ? values[head.start + at] : null;
    }

    type(head, at) {
      const p = this.data.profile;
      const code = at >= 0 ? p.type[head.start + at] : null;
      return code === null ? null : p.types[code];
    }

    profile(head, at) {
      return ["a", "b", "c", "d"].map((name) => this.value(name, head, at));
    }
  }

  const addModel = (entry) => models.push(new Model(entry));
  /* The models that this page can show. */
  const offered = () => models.filter((m) => page in m.data);
  const bySlug = (slug) => offered().find((m) => m.slug === slug) || offered().find((m) => m.label === slug) || null;
  const shown = () => (state.other ? [state.model, state.other] : [state.model]);

  /* Children are elements or text; text stays text. Attributes: `on…` adds a listener, false leaves it out. */
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  /* A number for people: true minus, fixed decimals, an em dash where it is missing. */
  function number(value, decimals) {
    if (value === null || value === undefined) return "—";
    return value.toFixed(decimals).replace("-", "−");
  }

  /* Union of the shown models' distances, in order; empty where no form depends on the distance. */
  function distances() {
    const lists = shown()
      .filter((m) => m.data.profile)
      .map((m) => ({ rotary: m.rotary(), values: m.data.profile.distances }));
    const all = lists.flatMap(({ rotary, values }) => (rotary || values.length > 1 ? values : []));
    return [...new Set(all)].sort((x, y) => x - y);
  }

  /* Whether a view has to draw again: what it depends on is not what it was. */
  const seen = new Map();
  function changed(view, ...inputs) {
    const key = JSON.stringify([inputs, shown().map((m) => m.slug), state.distance, numericsReport.theme()]);
    if (seen.get(view) === key) return false;
    seen.set(view, key);
    return true;
  }

  let queued = false;
  /* Redraw once per frame, however many changes came in between. */
  function update() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      const choices = distances();
      if (choices.length && !choices.includes(state.distance)) state.distance = choices[0];
      for (const draw of views) draw();
    });
  }

  /* The address says what is looked at: #model=…&with=…&at=5.1&head=5.1 (all may be left out). */
  function address(change) {
    const next = { model: state.model, other: state.other, at: state.at, head: state.head, ...change };
    const parts = [`model=${next.model.slug}`];
    if (next.other) parts.push(`with=${next.other.slug}`);
    if (next.at) parts.push(`at=${next.at}`);
    if (next.head) parts.push(`head=${next.head}`);
    return `#${parts.join("&")}`;
  }

  const go = (change) => {
    location.hash = address(change);
  };

  function readAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    state.model = bySlug(words.get("model")) || state.model || offered()[0];
    if (words.has("model")) state.other = bySlug(words.get("with"));
    if (state.other === state.model) state.other = null;
    state.at = words.get("at");
    state.head = words.get("head");
    update();
  }

  function start() {
    page = document.body.dataset.page;
    if (!offered().length) return;
    for (const view of numericsReport.starts) view();
    window.addEventListener("hashchange", () => location.hash !== "#main" && readAddress());
    readAddress();
  }
  document.addEventListener("DOMContentLoaded", start);

  /* The other pages open with the same models. */
  views.push(() => {
    for (const link of document.querySelectorAll("nav a")) {
      link.href = link.getAttribute("href").split("#")[0] + address({ head: null });
    }
  });

  return {
    models,
    offered,
    state,
    shown,
    distances,
    addModel,
    el,
    number,
    update,
    changed,
    address,
    go,
    starts: [], // functions that build a view's elements once
    cardSections: [], // {key, title, draw(place, model, head)}, in the order shown
    onUpdate: (draw) => views.push(draw),
  };
})();
