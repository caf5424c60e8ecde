"use strict";
/* How a token is written, on every page and on the head card: a sign for each thing in it that has no ink. */
(() => {
  const R = numericsReport;
  const { el } = R;
  const SIGNS = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
  const code = (character) => `‹${character.codePointAt(0).toString(16).toUpperCase()}›`;

  /* Pieces {text, sign} of a token: signs for spaces, line ends, controls, marks of direction and no text at all; text
     as it is, with something to stand on for an accent that would go to what comes before it. */
  function pieces(token) {
    if (token === "") return [{ text: "∅", sign: true }];
    return token
      .split(/([\p{Z}\p{C}])/u)
      .filter(Boolean)
      .map((part) => {
        if (/^[\p{Z}\p{C}]/u.test(part)) return { text: SIGNS[part] || code(part), sign: true };
        return { text: /^\p{M}/u.test(part) ? `◌${part}` : part, sign: false };
      });
  }

  /* As plain text, for labels, hints and plots. */
  R.visible = (token) =>
    pieces(token)
      .map(({ text }) => text)
      .join("");

  /* As nodes, in which a sign cannot be taken for the same character of the token. */
  R.tokenNodes = (token) => pieces(token).map(({ text, sign }) => (sign ? el("i", {}, text) : text));
})();
