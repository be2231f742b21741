// What is asked at the moment: region, model, threshold, prevalence. The address of the page holds it.

const state = {
  alpha: data.alpha,
  beta: data.beta,
  model: data.focus,
  threshold: models[data.focus].point.threshold,
  prevalence: null, // as in these rows
  off: new Set(),
};
const sampled = data.positives / (data.positives + data.negatives);
const isOwnRegion = () => state.alpha === data.alpha && state.beta === data.beta;
const shownModels = () => models.filter((_, number) => !state.off.has(number));

// The place in the list of the threshold that is in force: the nearest one that the page knows; -1 for no alarm.
function placeOf(model, threshold) {
  if (threshold === null) return -1;
  const { score } = model.thresholds;
  let low = 0;
  let high = score.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (score[middle] <= threshold) high = middle;
    else low = middle + 1;
  }
  // If the list has all scores, alarms begin at the lowest score that is not below the threshold.
  if (score[low] === threshold) return low;
  if (model.allThresholds) return score[low] > threshold ? low : low - 1;
  return low > 0 && score[low - 1] - threshold < threshold - score[low] ? low - 1 : low;
}

// A threshold that the page may state: as it was asked for if all scores are known, else the nearest one listed.
function knownThreshold(model, threshold) {
  if (threshold === null || model.allThresholds) return threshold;
  const place = placeOf(model, threshold);
  return place < 0 ? null : model.thresholds.score[place];
}

// The address holds what differs from the report, so that a link shows the same view.
function writeAddress() {
  const parts = new URLSearchParams();
  const own = models[state.model].point.threshold;
  if (!isOwnRegion()) {
    parts.set("alpha", state.alpha);
    parts.set("beta", state.beta);
  }
  if (state.model !== data.focus) parts.set("model", models[state.model].name);
  if (state.threshold !== own) parts.set("threshold", state.threshold === null ? "none" : state.threshold);
  if (state.prevalence !== null) parts.set("prevalence", state.prevalence);
  for (const number of state.off) parts.append("off", models[number].name);
  const text = parts.toString();
  if (text !== window.location.hash.slice(1)) {
    window.history.replaceState(null, "", text === "" ? window.location.pathname : `#${text}`);
  }
}

const shareOr = (text, other) => {
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return value > 0 && value <= 1 ? value : other;
};

function readAddress() {
  const parts = new URLSearchParams(window.location.hash.slice(1));
  const numberOf = (name) => models.findIndex((model) => model.name === name);
  state.alpha = shareOr(parts.get("alpha"), data.alpha);
  state.beta = shareOr(parts.get("beta"), data.beta);
  const named = numberOf(parts.get("model"));
  state.model = named < 0 ? data.focus : named;
  const model = models[state.model];
  const asked = parts.get("threshold");
  state.threshold = model.point.threshold;
  if (asked === "none") state.threshold = null;
  else if (asked !== null && asked !== "" && Number.isFinite(Number(asked))) {
    state.threshold = knownThreshold(model, Number(asked));
  }
  const prevalence = shareOr(parts.get("prevalence"), null);
  state.prevalence = prevalence === 1 ? null : prevalence;
  state.off = new Set(parts.getAll("off").map(numberOf).filter((number) => number >= 0));
  if (state.off.size === models.length) state.off.clear();
}
