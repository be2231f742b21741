// What follows from the threshold: rates with their limits, the four kinds of rows.

const scorePanels = models.map((_, number) => byId(`score-panel-${number + 1}`));
const scoreHandles = [];

// The position of a score along the axis of its panel.
function axisShare(model, score) {
  const { low, high, logit } = model.axis;
  if (score === null) return 1;
  const value = logit ? Math.log(score) - Math.log1p(-score) : score;
  return clamp((value - low) / (high - low), 0, 1);
}

function scoreAt(model, share) {
  const { low, high, logit } = model.axis;
  const value = low + share * (high - low);
  return logit ? 1 / (1 + Math.exp(-value)) : value;
}

function setThreshold(threshold) {
  state.threshold = knownThreshold(models[state.model], threshold);
  refresh();
}

// Go along the list of thresholds; higher scores come first in it.
function moveThreshold(places) {
  const { score } = models[state.model].thresholds;
  const place = clamp(placeOf(models[state.model], state.threshold) + places, -1, score.length - 1);
  state.threshold = place < 0 ? null : score[place];
  refresh();
}

function makeThresholdHandles() {
  models.forEach((model, number) => {
    const far = Math.max(1, Math.round(model.thresholds.score.length / 20));
    const handle = makeHandle(scorePanels[number], `Threshold of ${model.name}`, "horizontal", {
      ArrowRight: (more) => moveThreshold(more ? -far : -1),
      ArrowUp: (more) => moveThreshold(more ? -far : -1),
      ArrowLeft: (more) => moveThreshold(more ? far : 1),
      ArrowDown: (more) => moveThreshold(more ? far : 1),
      PageUp: () => moveThreshold(-far),
      PageDown: () => moveThreshold(far),
      Home: () => moveThreshold(Infinity),
      End: () => moveThreshold(-Infinity),
    });
    onDrag(handle, scorePanels[number], (x) => setThreshold(nearestListed(model, scoreAt(model, x))));
    const { score } = model.thresholds;
    handle.setAttribute("aria-valuemin", score[score.length - 1]);
    handle.setAttribute("aria-valuemax", score[0]);
    scoreHandles.push(handle);
  });
}

// A drag stops at thresholds that are scores of rows: between two of them nothing changes.
function nearestListed(model, threshold) {
  const { score } = model.thresholds;
  const distance = (value) => Math.abs(value - threshold);
  return score.reduce((best, value) => (distance(value) < distance(best) ? value : best));
}

function showThreshold() {
  const model = models[state.model];
  scorePanels.forEach((panel, number) => {
    panel.hidden = number !== state.model;
  });
  const x = axisShare(model, state.threshold);
  const place = placeOf(model, state.threshold);
  const { counts, found } = ratesAt(model, place, state.prevalence);
  const told = `${scoreText(state.threshold)}: TPR ${percent(found.tpr.value)}, FPR ${percent(found.fpr.value)}`;
  placeLine(scoreHandles[state.model], x, 0, x, 1, state.threshold ?? model.thresholds.score[0], told);
  byId("model").value = state.model;
  const typed = byId("threshold");
  if (document.activeElement !== typed) typed.value = state.threshold === null ? "" : state.threshold;
  byId("threshold-means").textContent = origin(model);
  const field = byId("prevalence");
  if (document.activeElement !== field) field.value = plain(Number((state.prevalence ?? sampled).toPrecision(6)));
  byId("prevalence-means").textContent =
    state.prevalence === null ? "as in these rows" : `in these rows ${shareText(sampled)}`;
  showRates(found);
  showConfusion(counts, found);
  byId("interval-note").textContent = intervalNote();
}

// Where a threshold comes from, because one that was picked on these rows looks better than it is.
function origin(model) {
  if (state.threshold === null) return "no row raises an alarm";
  if (state.threshold !== model.point.threshold) return "chosen here, on these rows";
  return model.point.pickedHere ? "the report’s, picked on these rows" : "the report’s, picked beforehand";
}

function intervalNote() {
  const kind = "Exact binomial (Clopper-Pearson) intervals for a threshold that was picked on other rows; ";
  const flattered = "for one that is chosen by looking at these rows they are too favourable.";
  const grouped = data.grouped ? " They take rows as independent; rows in groups say less, which the table of thresholds allows for." : "";
  const weighted = "tpSquares" in models[0].thresholds ? " Weighted rows count as their effective number." : "";
  const both = " At another prevalence they follow from the limits of TPR and FPR, and are conservative.";
  return kind + flattered + (state.prevalence === null ? "" : both) + grouped + weighted;
}

function rateRow(name, label, texts, rate) {
  const head = make("html:th", { scope: "row", role: "rowheader" }, label);
  const interval = cell("Interval", texts[1], "");
  interval.dataset.low = rate.low;
  interval.dataset.high = rate.high;
  return make("html:tr", { role: "row", "data-rate": name }, head, cell("Value", texts[0], rate.value), interval);
}

function showRates(found) {
  const { value, low, high } = found.alarm;
  const alarms = { value: 1000 * value, low: 1000 * low, high: 1000 * high };
  const alarmTexts = [perThousand(alarms.value), `${perThousand(alarms.low)} – ${perThousand(alarms.high)}`];
  const shareRow = (name, label) => rateRow(name, label, limitTexts(found[name]), found[name]);
  byId("rates")
    .querySelector("tbody")
    .replaceChildren(
      shareRow("tpr", "TPR: positives caught"),
      shareRow("fpr", "FPR: false alarms"),
      shareRow("precision", "Precision"),
      shareRow("npv", "NPV"),
      rateRow("alarms", "Alarms per 1,000 rows", alarmTexts, alarms),
    );
}

// The four kinds of rows, as counted and as expected among 1,000 rows, whose limits are those of the rates.
function showConfusion(counts, found) {
  const prevalence = state.prevalence ?? sampled;
  const not = (rate) => ({ value: 1 - rate.value, low: 1 - rate.high, high: 1 - rate.low });
  const row = (label, share, rate, names) => {
    const cells = [rate, not(rate)].map((part, number) => {
      const [value, low, high] = [part.value, part.low, part.high].map((limit) => 1000 * share * limit);
      const node = make("html:td", { "data-label": number ? "No alarm" : "Alarm", role: "cell", "data-cell": names[number] });
      node.dataset.value = counts[names[number]];
      node.append(
        make("html:span", { class: "estimate" }, count(counts[names[number]])),
        make("html:span", { class: "interval" }, `${perThousand(value)} (${perThousand(low)} – ${perThousand(high)})`),
      );
      return node;
    });
    return make("html:tr", { role: "row" }, make("html:th", { scope: "row", role: "rowheader" }, label), ...cells);
  };
  byId("confusion")
    .querySelector("tbody")
    .replaceChildren(
      row("Positive", prevalence, found.tpr, ["tp", "fn"]),
      row("Negative", 1 - prevalence, found.fpr, ["fp", "tn"]),
    );
}
