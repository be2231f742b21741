// How numbers are written, elements made, and changes told to a screen reader.

const signed = (text) => text.replace(/-/g, "−");
const four = (value) => value.toFixed(4);
// One decimal, or as many as show these digits of a rare event or its opposite; as in reporting/wording.py.
function decimalsOf(share, digits = 2) {
  const rare = 100 * Math.min(share, 1 - share);
  return rare > 0 ? clamp(digits - 1 - Math.floor(Math.log10(rare)), 1, 4) : 1;
}
const percent = (value, decimals = decimalsOf(value)) =>
  Number.isNaN(value) ? "none" : `${(100 * value).toFixed(decimals)}\u00a0%`;
// A rate and its limits, with equally many decimals.
function limitTexts({ value, low, high }) {
  const decimals = Math.max(decimalsOf(value), decimalsOf(high - low, 1));
  return [percent(value, decimals), `${(100 * low).toFixed(decimals)} – ${percent(high, decimals)}`];
}
// As many digits as a typed number has, no trace of binary fractions: 1 - 0.9 is 0.1.
const plain = (value) => String(Number(value.toPrecision(12)));
const scoreText = (value) => (value === null ? "∞" : signed(String(Number(value.toPrecision(4)))));
const shareText = (value) => `${plain(Number((100 * value).toFixed(3)))}\u00a0%`;
const count = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
function perThousand(value) {
  if (value > 0 && value < 0.0995) return value.toPrecision(2);
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

function make(name, attributes, ...children) {
  const node = name.startsWith("html:")
    ? document.createElement(name.slice(5))
    : document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// What a screen reader says once the hand rests, not at every pixel.
let waiting = 0;
function announce(text) {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => {
    byId("announcer").textContent = text;
  }, 400);
}
