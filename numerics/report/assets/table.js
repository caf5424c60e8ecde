"use strict";
/* The table of heads: search, sort, keyboard. Long tables are drawn a part at a time. */
(() => {
  const R = numericsReport;
  const { el, state } = R;
  const STEP = 100;

  /* A page that has a table of heads sets `R.headTable`: `columns` of numbers ({key, label, name, decimals}) of which
     those with a number are shown, `value(model, key, head, at)`, `kind` ({label, name, of(model, head, at),
     style(kind)} with style {name, mark, colour}), `at(model)`, `where()` (text after the count), `search`. */
  R.headTable = null;
  const view = { sort: "head", down: false, query: "", limit: STEP, current: null }; // current: where Tab leads
  const parts = {};
  let refocus = null; // the header that was pressed: headers are made anew

  const table = (row, key) => R.headTable.value(row.model, key, row.head, row.at);

  const texts = (row) =>
    shownColumns()
      .filter((c) => c.text)
      .map((c) => table(row, c.key));

  /* Terms, all of which must hold: `5.` or `5.1` a head, `c>0.3` a number, other text in type, stack or model. */
  function matcher(query) {
    const tests = query
      .toLowerCase()
      .replace(/−/g, "-")
      .split(/\s+/)
      .filter(Boolean)
      .map((term) => {
        const compare = /^([a-z_]+)([<>])(-?[0-9.]+)$/.exec(term);
        if (compare) {
          const [, name, sign, bound] = compare;
          const column = (R.headTable.columns.find((c) => c.key.toLowerCase() === name) || {}).key;
          return (row) => {
            const value = table(row, column);
            return value !== null && (sign === ">" ? value > Number(bound) : value < Number(bound));
          };
        }
        if (/^\d+\.$/.test(term)) return (row) => row.head.name.startsWith(term);
        if (/^\d+\.\d+$/.test(term)) return (row) => row.head.name === term;
        return (row) =>
          [row.kind, row.head.stack, row.model.label, row.head.name, ...texts(row)].some(
            (text) => text && text.toLowerCase().includes(term),
          );
      });
    return (row) => tests.every((test) => test(row));
  }

  function rows() {
    const all = R.shown()
      .flatMap((model) => {
        const at = R.headTable.at(model);
        return model.heads.map((head) => ({ model, head, at, kind: R.headTable.kind.of(model, head, at) }));
      })
      .filter(matcher(view.query));
    const keyed = all.map((row) => ({ row, key: sortKey(row) }));
    const sign = view.down ? -1 : 1;
    /* Missing numbers come last in either direction; equal ones keep the order of the model. */
    keyed.sort((p, q) => {
      if (p.key === null || q.key === null) return (p.key === null) - (q.key === null);
      return sign * (p.key < q.key ? -1 : p.key > q.key ? 1 : 0);
    });
    return keyed.map(({ row }) => row);
  }

  function sortKey(row) {
    if (view.sort === "head") return row.head.layer * 1e6 + row.head.head;
    if (view.sort === "kind") return row.kind;
    if (view.sort === "model") return row.model.label;
    return table(row, view.sort);
  }

  const shownColumns = () => R.headTable.columns.filter((c) => R.shown().some((m) => R.headTable.has(m, c.key)));

  function header(key, label, name, numeric) {
    const sorted = view.sort === key;
    return el(
      "th",
      {
        scope: "col",
        class: numeric ? "number" : false,
        "aria-sort": sorted ? (view.down ? "descending" : "ascending") : false,
      },
      el(
        "button",
        {
          type: "button",
          title: name || false,
          "data-key": key,
          onclick: () => {
            /* Numbers start with the largest: that is what one looks for. */
            view.down = sorted ? !view.down : numeric;
            view.sort = key;
            refocus = key;
            R.update();
          },
        },
        label,
        el("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (view.down ? "▼" : "▲") : ""),
      ),
    );
  }

  function line(row) {
    const style = row.kind === null ? null : R.headTable.kind.style(row.kind);
    const open = () => R.openHead(row.model, row.head.name);
    return el(
      "tr",
      { tabindex: "-1", "data-head": row.head.name, "data-model": row.model.slug, onclick: open },
      el(
        "th",
        { scope: "row" },
        el(
          "a",
          {
            href: R.address({ ...R.headAddress(row.model), head: row.head.name }),
            tabindex: "-1",
            onclick: (event) => {
              event.preventDefault();
            },
          },
          row.head.name,
        ),
      ),
      state.other ? el("td", {}, row.model.label) : null,
      R.shown().some((m) => m.heads.some((head) => head.stack)) ? el("td", {}, row.head.stack || "") : null,
      el(
        "td",
        { class: "type" },
        style
          ? [
              el("span", { class: "mark", style: `color:${style.colour}`, "aria-hidden": "true" }, style.mark),
              style.name,
            ]
          : "—",
      ),
      shownColumns().map((c) =>
        c.text
          ? el("td", {}, table(row, c.key) || "")
          : el("td", { class: "number" }, R.number(table(row, c.key), c.decimals)),
      ),
    );
  }

  /* One tab stop for all rows; arrows move between them, Enter opens. */
  function keys(event) {
    const lines = [...parts.body.children];
    const now = lines.indexOf(event.target.closest("tr"));
    const to = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      Home: 0,
      End: lines.length - 1,
      PageDown: now + 12,
      PageUp: now - 12,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return lines[now].click();
    }
    if (to === undefined) return undefined;
    event.preventDefault();
    const next = lines[Math.max(0, Math.min(lines.length - 1, to))];
    return next.focus();
  }

  function arrive(event) {
    const now = event.target.closest("tr");
    for (const one of parts.body.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
    now.tabIndex = 0;
    view.current = { ...now.dataset };
  }

  R.starts.push(() => {
    const place = document.getElementById("heads");
    if (!place || !R.headTable) return;
    parts.search = el("input", {
      type: "search",
      id: "search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: R.headTable.search,
      oninput: () => {
        view.query = parts.search.value;
        view.limit = STEP;
        R.update();
      },
    });
    parts.count = el("p", { class: "count", role: "status" });
    parts.head = el("thead", {});
    parts.body = el("tbody", { onkeydown: keys, onfocusin: arrive });
    parts.more = el("button", {
      type: "button",
      onclick: () => {
        view.limit = Infinity;
        R.update();
      },
    });
    place.append(
      el(
        "div",
        { class: "row tools" },
        el(
          "div",
          { class: "field" },
          el("label", { for: "search" }, `Search by layer, head, ${R.headTable.kind.label} or number`),
          parts.search,
        ),
        parts.count,
      ),
      el("div", { class: "scroll tall" }, el("table", { class: "heads" }, parts.head, parts.body)),
      parts.more,
    );
  });

  R.onUpdate(() => {
    if (
      !parts.body ||
      !R.changed("heads", R.headTable.where(), view.sort, view.down, view.query, view.limit === Infinity)
    )
      return;
    const all = rows();
    const focused = parts.body.contains(document.activeElement);
    parts.head.replaceChildren(
      el(
        "tr",
        {},
        header("head", "head", "layer.head, counted from 0"),
        state.other ? header("model", "model") : null,
        R.shown().some((m) => m.heads.some((head) => head.stack)) ? el("th", { scope: "col" }, "stack") : null,
        header("kind", R.headTable.kind.label, R.headTable.kind.name),
        shownColumns().map((c) => header(c.key, c.label, c.name, !c.text)),
      ),
    );
    parts.body.replaceChildren(...all.slice(0, view.limit).map(line));
    const lines = [...parts.body.children];
    const { head, model } = view.current || {};
    const kept = lines.find((tr) => tr.dataset.head === head && tr.dataset.model === model);
    if (lines.length) (kept || lines[0]).tabIndex = 0;
    if (focused && kept) kept.focus({ preventScroll: true });
    if (refocus) parts.head.querySelector(`[data-key="${refocus}"]`).focus();
    refocus = null;
    const total = R.shown().reduce((sum, m) => sum + m.heads.length, 0);
    parts.count.textContent = `${all.length.toLocaleString("en")} of ${total.toLocaleString("en")} heads${R.headTable.where()}`;
    parts.more.hidden = all.length <= view.limit;
    parts.more.textContent = `Show all ${all.length.toLocaleString("en")} rows`;
  });
})();
