// The choice as JSON, as Python that gives the same numbers, and as a link.

function choice() {
  const model = models[state.model];
  const { counts, found } = ratesAt(model, placeOf(model, state.threshold), state.prevalence);
  const area = tpauc(model, state.alpha, state.beta);
  return {
    model: model.name,
    alpha: state.alpha,
    beta: state.beta,
    tpauc: area === null ? null : area.value,
    threshold: state.threshold,
    prevalence: state.prevalence,
    confidence: data.confidence,
    tpr: found.tpr.value,
    fpr: found.fpr.value,
    precision: Number.isNaN(found.precision.value) ? null : found.precision.value,
    alarms_per_1000: 1000 * found.alarm.value,
    true_positives: counts.tp,
    false_positives: counts.fp,
    true_negatives: counts.tn,
    false_negatives: counts.fn,
  };
}

// Python that gives the same numbers from the same rows.
function asPython() {
  const { model, alpha, beta, threshold, prevalence, confidence } = choice();
  const weight = data.weighted ? ", sample_weight=sample_weight" : "";
  const use = `${prevalence === null ? "" : `, prevalence=${prevalence}`}, confidence=${confidence}${weight}`;
  const value = threshold === null ? 'float("inf")' : String(threshold);
  return [
    "from tpauc import evaluate_threshold, operating_point, tpauc_score",
    "",
    `# y_true: the labels; y_score: the scores of ${JSON.stringify(model)}${data.weighted ? "; sample_weight: their weights" : ""}`,
    `area = tpauc_score(y_true, y_score, alpha=${alpha}, beta=${beta}${weight})`,
    "# the threshold that was chosen in the page",
    `chosen = evaluate_threshold(y_true, y_score, ${value}, alpha=${alpha}, beta=${beta}${use})`,
    "# the threshold that catches most within the region",
    `picked = operating_point(y_true, y_score, alpha=${alpha}, beta=${beta}${use})`,
    "",
  ].join("\n");
}

// The clipboard may be closed to pages from files; then the text is marked, ready to be copied by hand.
async function handBack(text, what) {
  const shown = byId("handed");
  shown.textContent = text;
  shown.hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = `${what} copied`;
  } catch {
    window.getSelection().selectAllChildren(shown);
    byId("copied").textContent = `${what} is marked below, copy it with the keyboard`;
  }
}
