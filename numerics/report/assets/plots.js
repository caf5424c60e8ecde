"use strict";
/* What every figure shares: theme, colours, Plotly's settings, safe text for Plotly. */
(() => {
  const R = numericsReport;
  const COORDINATES = ["a", "b", "c", "d"];
  const TYPE_STYLE = {
    "I+": { name: "I+", meaning: "positive excess", symbol: "circle", mark: "●" },
    "I-": { name: "I−", meaning: "negative excess", symbol: "diamond", mark: "◆" },
    II: { name: "II", meaning: "paired", symbol: "square", mark: "■" },
    antisymmetric: { name: "antisymmetric", meaning: "S = 0", symbol: "cross", mark: "✚" },
    zero: { name: "zero", meaning: "L = 0, no profile", symbol: "x", mark: "✕" },
  };
  const CATEGORY_STYLE = {
    local: { symbol: "triangle-up", mark: "▲", variable: "--d" },
    "slow decay": { symbol: "triangle-sw", mark: "◣", variable: "--a" },
    uniform: { symbol: "square", mark: "■", variable: "--c" },
  };
  const TYPE_VARIABLE = { "I+": "--c", "I-": "--d", II: "--b", antisymmetric: "--a", zero: "--none" };
  /* Viridis, cut where it would vanish into the background. */
  const SCALE = {
    light: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58"],
    dark: ["#5a5fb0", "#3f7fa5", "#2a9d94", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  };

  /* For weights: nothing is near the background. */
  const WEIGHT_SCALE = {
    light: ["#f7faf8", "#bfe0cf", "#6dbfa3", "#2f9590", "#31688e", "#3e4989", "#440154"],
    dark: ["#1f242b", "#333b66", "#3f5f9a", "#2a8f98", "#35b779", "#9bd93c", "#fde725"],
  };

  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("numerics-theme");
    } catch {
      return null; // storage may be closed to files
    }
  };
  const theme = () => document.documentElement.dataset.theme || (prefersDark.matches ? "dark" : "light");

  function setTheme(value) {
    document.documentElement.dataset.theme = value;
    try {
      localStorage.setItem("numerics-theme", value);
    } catch {
      /* the choice then lasts as long as the page */
    }
    R.update();
  }
  if (stored()) document.documentElement.dataset.theme = stored();
  prefersDark.addEventListener("change", () => R.update());
  R.starts.push(() => {
    document.getElementById("theme").addEventListener("click", () => setTheme(theme() === "dark" ? "light" : "dark"));
  });
  R.onUpdate(() => {
    document.getElementById("theme").textContent = theme() === "dark" ? "Light" : "Dark";
  });

  R.colours = () => {
    const css = getComputedStyle(document.documentElement);
    const get = (name) => css.getPropertyValue(name).trim();
    return {
      text: get("--text"),
      muted: get("--muted"),
      line: get("--line"),
      surface: get("--surface"),
      accent: get("--accent"),
      none: get("--none"),
      coordinate: Object.fromEntries(COORDINATES.map((c) => [c, get(`--${c}`)])),
      type: (type) => get(TYPE_VARIABLE[type] || "--none"),
      category: (name) => get(R.categoryStyle(name).variable),
      scale: SCALE[theme()],
      weights: WEIGHT_SCALE[theme()],
      font: css.fontFamily || "system-ui, sans-serif",
    };
  };
  R.theme = theme;
  R.coordinates = COORDINATES;
  R.profileColumns = [
    ...["a", "b", "c", "d"].map((key) => ({ key, label: key, decimals: 4 })),
    { key: "symmetric_energy", label: "‖S‖²/‖L‖²", name: "symmetric energy", decimals: 4 },
    { key: "pairing", label: "pairing", name: "pairing: 1 − ‖λ₊ − λ₋‖ for ‖λ‖ = 1", decimals: 4 },
    { key: "balance", label: "balance", name: "balance: 1 − |n₊ − n₋| / (n₊ + n₋)", decimals: 4 },
    {
      key: "participation_ratio",
      label: "PR",
      name: "participation ratio (Σh²)² / Σh⁴ of the singular values h",
      decimals: 2,
    },
    { key: "stable_rank", label: "stable rank", name: "stable rank Σh² / h₁²", decimals: 2 },
    { key: "trace_ratio", label: "tr L/‖L‖", name: "trace ratio", decimals: 4 },
    { key: "n_positive", label: "n₊", name: "positive eigenvalues of S", decimals: 0 },
    { key: "n_negative", label: "n₋", name: "negative eigenvalues of S", decimals: 0 },
  ];
  R.typeStyle = (type) => TYPE_STYLE[type] || { name: type, meaning: "", symbol: "circle-open", mark: "○" };

  R.categoryStyle = (name) => ({ name, symbol: "circle", mark: "●", variable: "--none", ...CATEGORY_STYLE[name] });

  /* Draws now if the figure is near the window, else when it comes near: a page of many figures opens at once. */
  const waiting = new WeakMap();
  const near = new WeakSet();
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        if (!isIntersecting) near.delete(target);
        else {
          near.add(target);
          const draw = waiting.get(target);
          waiting.delete(target);
          if (draw) draw();
        }
      }
    },
    { rootMargin: "400px" },
  );
  R.whenSeen = (node, draw) => {
    if (near.has(node)) return draw();
    waiting.set(node, draw);
    return observer.observe(node);
  };

  /* Plotly reads a little markup in its texts: these characters make it plain. */
  R.plotText = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  R.plotConfig = { displaylogo: false, responsive: true, scrollZoom: false, doubleClick: false };
  R.plotLayout = (extra) => {
    const c = R.colours();
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      font: { family: c.font, size: 13, color: c.text },
      hoverlabel: {
        bgcolor: c.surface,
        bordercolor: c.line,
        font: { family: c.font, size: 13, color: c.text },
        align: "left",
      },
      ...extra,
    };
  };
  R.axis = (extra) => {
    const c = R.colours();
    return {
      gridcolor: c.line,
      linecolor: c.line,
      zerolinecolor: c.line,
      tickfont: { color: c.muted, size: 12 },
      automargin: true,
      fixedrange: true,
      ...extra,
    };
  };
  R.axisTitle = (text) => ({ text, font: { color: R.colours().muted, size: 13 }, standoff: 8 });
})();
