// The point of a curve under the pointer.

const tip = make("html:div", { class: "tip", "aria-hidden": "true" });
tip.hidden = true;
const ring = make("circle", { class: "pointed", r: 6 });
let pointed = null; // the model and the place in its list of thresholds under the pointer

function hideTip() {
  tip.hidden = true;
  ring.remove();
  pointed = null;
}

// The listed threshold whose point of the curve is nearest to the pointer, among the models that are switched on.
function nearestPoint(panel, box, event) {
  const [height, width] = corners.get(panel);
  let nearest = { distance: 40 };
  models.forEach((model, number) => {
    if (state.off.has(number)) return;
    model.thresholds.score.forEach((score, place) => {
      const fpr = model.thresholds.fp[place] / model.negatives;
      const tpr = model.thresholds.tp[place] / model.positives;
      const [x, y] = [fpr / width, (1 - tpr) / height];
      if (x > 1 || y > 1) return;
      const distance = Math.hypot(event.clientX - box.left - x * box.width, event.clientY - box.top - y * box.height);
      if (distance < nearest.distance) nearest = { distance, model, number, place, score, fpr, tpr, x, y };
    });
  });
  return nearest;
}

function showTip(panel, event) {
  const plot = panel.querySelector(".plot");
  const box = plot.querySelector("svg").getBoundingClientRect();
  const found = nearestPoint(panel, box, event);
  if (!("model" in found)) {
    hideTip();
    return;
  }
  pointed = found;
  const rates = `TPR ${four(found.tpr)}, FPR ${four(found.fpr)}`;
  tip.replaceChildren(
    make("html:strong", {}, found.model.name),
    make("html:span", {}, rates),
    make("html:span", {}, `threshold ${scoreText(found.score)}`),
  );
  plot.append(tip);
  tip.hidden = false;
  ring.setAttribute("cx", `${100 * found.x}%`);
  ring.setAttribute("cy", `${100 * found.y}%`);
  ring.setAttribute("style", `--colour: var(--${found.model.colour})`);
  handlesOf(panel).append(ring);
  const outer = plot.getBoundingClientRect();
  const left = box.left - outer.left + found.x * box.width + 14;
  const fits = left + tip.offsetWidth < outer.width;
  tip.style.left = `${fits ? left : Math.max(0, left - tip.offsetWidth - 28)}px`;
  tip.style.top = `${box.top - outer.top + found.y * box.height + 12}px`;
}

function makeHover(panel) {
  const plot = panel.querySelector(".plot > svg");
  plot.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) showTip(panel, event);
  });
  plot.addEventListener("pointerleave", hideTip);
  plot.addEventListener("click", (event) => {
    if (event.target.closest(".handle, .corner") !== null) return;
    if (pointed === null) showTip(panel, event); // a finger points only when it taps
    if (pointed === null) return;
    state.model = pointed.number;
    setThreshold(pointed.score);
  });
}
