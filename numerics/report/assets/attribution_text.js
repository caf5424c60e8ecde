"use strict";
/* The keys as a text, each coloured by its attention. One stop of Tab for all; arrows move, Enter chooses. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const FULL = 50; // percent of the colour at the largest attention: the text on it stays readable

  const build = () =>
    el(
      "article",
      { class: "pane" },
      el("h3", {}),
      el("div", { class: "words", role: "listbox" }),
      el("div", { class: "legend" }),
    );

  function lines(attribution, key) {
    const { data } = attribution;
    return [
      attribution.name(key),
      `attention ${R.threeDigits(data.probability[key])}`,
      ...(data.keys[key] === data.query ? ["the query itself"] : []),
    ];
  }

  function tokens(place, model) {
    const attribution = R.attribution(model);
    const { data } = attribution;
    const top = Math.max(...data.probability.map((p) => p ?? 0)) || 1;
    const spans = data.tokens.map((token, key) => {
      const p = data.probability[key];
      const node = el(
        "span",
        {
          role: "option",
          tabindex: "-1",
          class: ["word", p === null ? "missing" : "", data.keys[key] === data.query ? "query" : ""].join(" ").trim(),
          style: `--share:${(FULL * Math.sqrt((p ?? 0) / top)).toFixed(1)}%`,
          "data-key": String(key),
          "aria-label": lines(attribution, key).join(", "),
          onmouseenter: () => R.showHint(lines(attribution, key), box(node)),
          onmouseleave: R.hideHint,
          onfocus: () => R.showHint(lines(attribution, key), box(node)),
          onblur: R.hideHint,
          onclick: () => R.chooseKey(model, key),
        },
        R.tokenNodes(token),
      );
      return node;
    });
    /* Lines break where they do in the text, and else before a word. */
    place.replaceChildren(
      ...spans.flatMap((node, key) => [
        ...(/^[ \u2581]/.test(data.tokens[key]) ? [el("wbr")] : []),
        node,
        ...(/[\n\r]/.test(data.tokens[key]) ? [el("br")] : []),
      ]),
    );
  }

  function box(node) {
    const { left, width, top, bottom } = node.getBoundingClientRect();
    return { left: left + width / 2, top, bottom };
  }

  function keys(event) {
    const place = event.currentTarget;
    const all = [...place.querySelectorAll(".word")];
    const now = all.indexOf(event.target);
    if (now < 0) return undefined;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return all[now].click();
    }
    if (event.key === "Escape") return R.hideHint();
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: all.length - 1 };
    let next = to[event.key];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      /* The token nearest in the next line. */
      const { left, top } = all[now].getBoundingClientRect();
      const down = event.key === "ArrowDown";
      const beyond = all
        .map((node, i) => ({ i, at: node.getBoundingClientRect() }))
        .filter(({ at }) => (down ? at.top > top + 4 : at.top < top - 4));
      const line = beyond.length ? (down ? beyond[0] : beyond[beyond.length - 1]).at.top : null;
      const same = beyond.filter(({ at }) => Math.abs(at.top - line) < 4);
      if (same.length)
        next = same.reduce((best, one) =>
          Math.abs(one.at.left - left) < Math.abs(best.at.left - left) ? one : best,
        ).i;
    }
    if (next === undefined) return undefined;
    event.preventDefault();
    const node = all[Math.max(0, Math.min(all.length - 1, next))];
    all[now].tabIndex = -1;
    node.tabIndex = 0;
    return node.focus();
  }

  const made = new WeakMap(); // the model whose tokens a place holds

  R.onUpdate(() => {
    const place = document.getElementById("text");
    if (!place || !R.changed("text", R.chosenKeys())) return;
    for (const { model, pane } of R.panes(place, build)) {
      const attribution = R.attribution(model);
      const { data } = attribution;
      const [title, text, key] = pane.children;
      title.replaceChildren(model.label, el("small", {}, R.queryName(data)));
      text.setAttribute("aria-label", `The ${data.tokens.length} keys of ${R.queryName(data)}`);
      if (made.get(text) !== model) {
        if (!made.has(text)) text.addEventListener("keydown", keys);
        tokens(text, model);
        made.set(text, model);
      }
      const spans = text.querySelectorAll(".word");
      spans.forEach((node, i) => {
        node.setAttribute("aria-selected", String(i === attribution.chosen));
        node.tabIndex = i === attribution.chosen ? 0 : -1;
      });
      const top = Math.max(...data.probability.map((p) => p ?? 0));
      key.replaceChildren(
        el(
          "span",
          { class: "entry scale" },
          "attention 0",
          el("span", { class: "ramp attention", style: `--share:${FULL}%` }),
          R.threeDigits(top),
        ),
        data.keys.includes(data.query)
          ? el("span", { class: "entry" }, el("span", { class: "word query" }, "query"))
          : "",
      );
    }
  });
})();
