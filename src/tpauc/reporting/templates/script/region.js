// What follows from the region: areas, ranking, the corner that is enlarged.

const [wholePanel, cornerPanel] = [byId("roc-panel-1"), byId("roc-panel-2")];
const corners = new Map(); // what each panel shows: its height and width as rates

function showRegion() {
  const focus = models[state.model];
  const areas = models
    .map((model, number) => ({ model, number, area: tpauc(model, state.alpha, state.beta) }))
    .filter(({ number }) => !state.off.has(number));
  const valid = areas.every(({ area }) => area !== null);
  showProblem("region-problem", valid ? "" : emptyRegionText());
  byId("alpha-means").textContent = `at least ${shareText(1 - state.alpha)} caught`;
  byId("beta-means").textContent = `at most ${shareText(state.beta)} false alarms`;
  const place = placeOf(focus, state.threshold);
  const current = {
    tpr: place < 0 ? 0 : focus.thresholds.tp[place] / focus.positives,
    fpr: place < 0 ? 0 : focus.thresholds.fp[place] / focus.negatives,
  };
  const reached = !valid || areas.some(({ area }) => area.value > 0);
  corners.set(wholePanel, [1, 1]).set(cornerPanel, cornerToShow(reached));
  for (const [panel, [height, width]] of corners) drawCorner(panel, height, width, current);
  cornerPanel.querySelector("figcaption").textContent = reached ? "Inside the region" : "Around the region";
  const shown = `FPR at most ${plain(state.beta)}, TPR at least ${plain(1 - state.alpha)}`;
  cornerPanel
    .querySelector("svg[role]")
    .setAttribute("aria-label", reached ? `The curves inside the region (${shown}).` : `No curve reaches the region.`);
  for (const node of document.querySelectorAll('[data-shows="focus"]')) node.textContent = focus.name;
  for (const node of document.querySelectorAll('[data-shows="band"] .key')) {
    node.setAttribute("style", `--colour: var(--${focus.colour})`);
  }
  placeHandles();
  if (valid) showRanking(areas.sort((a, b) => b.area.value - a.area.value));
  document.documentElement.classList.toggle("elsewhere", !isOwnRegion());
}

function emptyRegionText() {
  const [model] = models;
  const none = hardMass(model.positives, state.alpha, model.steps.whole) > 0 ? "negatives" : "positives";
  const [name, n] = none === "positives" ? ["alpha", data.positives] : ["beta", data.negatives];
  return `This ${name} selects none of the ${count(n)} ${none}; it must be at least ${plain(1 / n)}.`;
}

function showProblem(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = text === "";
}

function cell(label, text, value, ...more) {
  const attributes = { "data-label": label, role: "cell", "data-value": value };
  return make("html:td", attributes, make("html:span", { class: "number" }, text), ...more);
}

const legendSwatches = document.querySelectorAll("#model-legend .swatch:not(.key)");

function showRanking(areas) {
  const rows = areas.map(({ model, number, area }) => {
    const swatch = legendSwatches[number].cloneNode(true);
    const name = make("html:button", { type: "button", class: "name", "data-focus": number }, swatch);
    name.append(make("html:span", {}, model.name));
    if (number === state.model) name.setAttribute("aria-pressed", "true");
    const bar = make("svg", { class: "bar thick", "aria-hidden": "true" });
    bar.append(
      make("line", { class: "track", x2: "100%", y1: 4, y2: 4 }),
      make("line", { class: "span", style: "--colour: var(--accent)", x2: `${100 * area.value}%`, y1: 4, y2: 4 }),
    );
    const share = make("html:td", { class: "share", "data-label": "Share of the region", role: "cell" });
    share.append(bar, make("html:span", { class: "number" }, percent(area.value)));
    const head = make("html:th", { scope: "row", role: "rowheader" }, name);
    const bound = area.bound > 1e-9 ? ` ± ${area.bound.toExponential(0)}` : "";
    const size = area.value * state.alpha * state.beta;
    const cells = [cell("TPAUC", four(area.value) + bound, area.value), share, cell("Area", size.toPrecision(4), size)];
    cells[0].setAttribute("data-bound", area.bound);
    return make("html:tr", { role: "row", style: `--accent: var(--${model.colour})` }, head, ...cells);
  });
  byId("ranking").querySelector("tbody").replaceChildren(...rows);
  const bounds = areas.map(({ area }) => area.bound);
  byId("ranking-note").textContent =
    (isOwnRegion() ? "" : "Intervals and tests above are for the report’s own region, not for this one. ") +
    (Math.max(...bounds) > 1e-9
      ? "The curves have more steps than the page holds, so areas outside the report’s region have the stated error at most."
      : "These areas are exact.");
  const [best] = areas;
  const first = `${best.model.name} has the highest TPAUC, ${four(best.area.value)}`;
  const told = best.area.value > 0 ? first : "no curve reaches the region, TPAUC is 0";
  announce(`alpha ${plain(state.alpha)}, beta ${plain(state.beta)}: ${told}`);
}

function setRegion(alpha, beta) {
  state.alpha = clamp(alpha, 0, 1);
  state.beta = clamp(beta, 0, 1);
  refresh();
}
