"use strict";
/* A map of cells, coloured by a number and marked by a sign: read by pointer, keyboard and screen reader. */
(() => {
  const R = numericsReport;
  const { el } = R;
  let hint = null;
  let owner = null; // the cell that the hint is about

  const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

  /* Colour at `share` in [0, 1] of the theme's scale, and the ink that can be read on it. */
  R.shade = (share) => {
    const { scale } = R.colours();
    const place = Math.min(1, Math.max(0, share)) * (scale.length - 1);
    const low = channels(scale[Math.floor(place)]);
    const high = channels(scale[Math.ceil(place)]);
    const rgb = low.map((v, i) => Math.round(v + (high[i] - v) * (place - Math.floor(place))));
    const linear = rgb.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return { colour: `rgb(${rgb.join(",")})`, ink: luminance > 0.18 ? "#000000" : "#ffffff" };
  };
  function show(cell) {
    if (!hint) {
      hint = el("div", { class: "hint", "aria-hidden": "true" });
      document.body.append(hint);
    }
    owner = cell;
    hint.replaceChildren(...cell.hint.map((line, i) => el(i ? "div" : "b", {}, line)));
    hint.hidden = false;
    const box = cell.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = hint;
    const left = Math.min(
      Math.max(8, box.left + box.width / 2 - width / 2),
      document.documentElement.clientWidth - width - 8,
    );
    const above = box.top - height - 8;
    hint.style.left = `${left}px`;
    hint.style.top = `${above > 0 ? above : box.bottom + 8}px`;
  }
  const hide = () => {
    if (hint) hint.hidden = true;
    owner = null;
  };
  window.addEventListener("scroll", () => owner && owner.isConnected && show(owner), { capture: true, passive: true });

  /* `rows`, `columns`: labels. `cell(r, c)`: {share in [0, 1] or null, mark, text, name, lines of the hint, open()}; null where
     nothing can be. `current`: the name of the cell that is looked at. */
  R.grid = (place, { label, rows, columns, rowTitle, columnTitle, cell, current = null }) => {
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const kept = focused || (place.querySelector("[tabindex='0']") || { dataset: {} }).dataset.name;

    const one = (r, c) => {
      const found = cell(r, c);
      if (!found) return el("td", { role: "gridcell", class: "nothing", "aria-label": "no head" });
      const missing = found.share === null;
      const shade = missing ? null : R.shade(found.share);
      const node = el(
        "td",
        {
          role: "gridcell",
          tabindex: "-1",
          class: [missing ? "missing" : "", found.name === current ? "current" : ""].join(" ").trim() || false,
          style: shade ? `background:${shade.colour};color:${shade.ink}` : false,
          "data-name": found.name,
          "aria-label": found.lines.join(", "),
          onmouseenter: () => show(node),
          onmouseleave: hide,
          onfocus: () => {
            for (const other of place.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
            node.tabIndex = 0; // one stop of Tab for the whole map
            show(node);
          },
          onblur: hide,
          onclick: () => {
            hide();
            found.open();
          },
        },
        found.mark || "",
        found.text ? el("span", { class: "figure" }, found.text) : null,
      );
      node.hint = found.lines;
      return node;
    };

    function keys(event) {
      const cells = [...event.currentTarget.rows].slice(1).map((row) => [...row.cells].slice(1));
      const r = cells.findIndex((row) => row.includes(event.target));
      if (r < 0) return undefined;
      const c = cells[r].indexOf(event.target);
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        return event.target.click();
      }
      if (event.key === "Escape") return hide();
      const step = {
        ArrowLeft: [0, -1],
        ArrowRight: [0, 1],
        ArrowUp: [-1, 0],
        ArrowDown: [1, 0],
        Home: [0, -c],
        End: [0, 1e6],
      };
      if (!step[event.key]) return undefined;
      event.preventDefault();
      const to = cells[Math.min(cells.length - 1, Math.max(0, r + step[event.key][0]))];
      const next = to[Math.min(to.length - 1, Math.max(0, c + step[event.key][1]))];
      if (!next.dataset.name) return undefined;
      return next.focus();
    }

    const table = el(
      "table",
      {
        class: columns.length > 16 ? "grid crowded" : "grid",
        role: "grid",
        "aria-label": label,
        onkeydown: keys,
        style: `--columns:${columns.length}`,
      },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td", { class: "corner" }, `${rowTitle} ↓ ${columnTitle} →`),
          columns.map((text) => el("th", { scope: "col" }, text)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((text, r) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, text),
            columns.map((_, c) => one(r, c)),
          ),
        ),
      ),
    );
    hide();
    place.replaceChildren(table);
    const cells = [...table.querySelectorAll("[data-name]")];
    const stop =
      cells.find((node) => node.dataset.name === kept) ||
      cells.find((node) => node.dataset.name === current) ||
      cells[0];
    if (stop) stop.tabIndex = 0;
    if (focused && stop) stop.focus({ preventScroll: true });
  };
})();
