// Fields, buttons and the address; then the first drawing.

function refresh() {
  showRegion();
  showThreshold();
  writeAddress();
}

// Read a field when its text is a number that it allows; say so if it is not.
function onTyped(id, problem, rule, allowed, take) {
  const field = byId(id);
  const read = () => {
    const value = field.value.trim() === "" ? NaN : Number(field.value);
    const good = allowed(value);
    field.setAttribute("aria-invalid", String(!good));
    if (good) {
      showProblem(problem, "");
      take(value);
    } else showProblem(problem, rule);
  };
  field.addEventListener("input", read);
  field.addEventListener("blur", () => {
    field.removeAttribute("aria-invalid");
    refresh();
    showProblem("threshold-problem", "");
  });
}

function switchModel(number, on) {
  if (on) state.off.delete(number);
  else if (state.off.size < models.length - 1) state.off.add(number);
  // The area that is tinted must be that of a model that is drawn.
  if (state.off.has(state.model)) focusOn(models.findIndex((_, other) => !state.off.has(other)));
  showSwitches();
  refresh();
}

function showSwitches() {
  for (const box of document.querySelectorAll("#model-legend input")) {
    box.checked = !state.off.has(Number(box.dataset.model));
  }
}

function focusOn(number) {
  state.model = number;
  state.threshold = models[number].point.threshold;
  state.off.delete(number);
}

function wire() {
  const share = (value) => value > 0 && value <= 1;
  const rule = "must be a share above 0 and at most 1";
  onTyped("alpha", "region-problem", `alpha ${rule}.`, share, (value) => setRegion(value, state.beta));
  onTyped("beta", "region-problem", `beta ${rule}.`, share, (value) => setRegion(state.alpha, value));
  onTyped("threshold", "threshold-problem", "The threshold must be a number.", Number.isFinite, setThreshold);
  const open = (value) => value > 0 && value < 1;
  onTyped("prevalence", "threshold-problem", "The prevalence must be above 0 and below 1.", open, (value) => {
    state.prevalence = value;
    refresh();
  });
  byId("model").addEventListener("change", (event) => {
    focusOn(Number(event.target.value));
    showSwitches();
    refresh();
  });
  byId("model-legend").addEventListener("change", (event) => {
    switchModel(Number(event.target.dataset.model), event.target.checked);
  });
  byId("ranking").addEventListener("click", (event) => {
    const button = event.target.closest("[data-focus]");
    if (button === null) return;
    focusOn(Number(button.dataset.focus));
    refresh();
    byId("ranking").querySelector('[aria-pressed="true"]').focus();
  });
  byId("reset-region").addEventListener("click", () => setRegion(data.alpha, data.beta));
  byId("reset-threshold").addEventListener("click", () => {
    state.prevalence = null;
    setThreshold(models[state.model].point.threshold);
  });
  byId("copy-json").addEventListener("click", () => handBack(JSON.stringify(choice(), null, 2), "JSON"));
  byId("copy-python").addEventListener("click", () => handBack(asPython(), "Python"));
  byId("copy-link").addEventListener("click", () => handBack(window.location.href, "Link"));
  window.addEventListener("hashchange", () => {
    readAddress();
    showSwitches();
    refresh();
  });
}

// The whole curve never changes; long ones take longest to thin out.
for (const model of models) model.whole = inCorner(model.curve, 1, 1);
document.documentElement.classList.add("js");
readAddress();
makeRegionHandles();
makeThresholdHandles();
[wholePanel, cornerPanel].forEach(makeHover);
wire();
showSwitches();
refresh();
