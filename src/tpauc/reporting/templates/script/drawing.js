// The curves in their panels.

// The value at `at` along rising `keys`, on straight lines between them.
function between(keys, values, at) {
  let low = 0;
  let high = keys.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (keys[middle] <= at) low = middle;
    else high = middle;
  }
  const width = keys[high] - keys[low];
  return width > 0 ? values[low] + ((values[high] - values[low]) * (at - keys[low])) / width : values[high];
}

// The place of the first of rising values that is at least as large as a limit.
function firstAtLeast(values, limit) {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] >= limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The part of a curve in the corner of the given height and width, as shares of it: [[x, y], ...].
function inCorner({ fpr, tpr }, height, width) {
  const lowest = 1 - height;
  const points = [];
  const add = (x, y) => points.push([clamp(x / width, 0, 1), clamp((y - lowest) / height, 0, 1)]);
  let first = firstAtLeast(tpr, lowest);
  if (first > 0) {
    const [a, b] = [tpr[first - 1], tpr[first]];
    const entry = fpr[first - 1] + ((fpr[first] - fpr[first - 1]) * (lowest - a)) / (b - a);
    if (entry > width) return [];
    add(entry, lowest);
  }
  for (; first < fpr.length && fpr[first] <= width; first += 1) add(fpr[first], tpr[first]);
  if (first < fpr.length && points.length > 0) add(width, between(fpr, tpr, width));
  return thinned(points);
}

// The first and last point of each stretch of the curve; the eye sees no difference.
function thinned(points) {
  if (points.length <= MOST_POINTS) return points;
  const stretch = ([x, y]) => Math.floor(((x + y) * MOST_POINTS) / 4);
  return points.filter((point, place) => {
    const here = stretch(point);
    const starts = place === 0 || stretch(points[place - 1]) !== here;
    return starts || place === points.length - 1 || stretch(points[place + 1]) !== here;
  });
}

const pathOf = (points) =>
  `M${points.map(([x, y]) => `${(1000 * x).toFixed(2)} ${(1000 * (1 - y)).toFixed(2)}`).join("L")}`;

// Multiples of 1, 2 or 5 times a power of ten.
function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= rough * 0.999);
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + 1e-9 * step; number += 1) {
    found.push([(number * step - low) / (high - low), plain(number * step)]);
  }
  return found;
}

function axesOf(height, width) {
  const across = ticks(0, width).flatMap(([place, text]) => [
    make("line", { class: "grid", x1: `${100 * place}%`, x2: `${100 * place}%`, y2: "100%" }),
    make("text", { class: "tick", x: `${100 * place}%`, y: "100%", dy: 17, "text-anchor": "middle" }, text),
  ]);
  const up = ticks(1 - height, 1).flatMap(([place, text]) => [
    make("line", { class: "grid", x2: "100%", y1: `${100 * (1 - place)}%`, y2: `${100 * (1 - place)}%` }),
    make("text", { class: "tick", x: -8, y: `${100 * (1 - place)}%`, dy: 4, "text-anchor": "end" }, text),
  ]);
  const turned = { class: "axis-label", transform: "translate(-44) rotate(-90)", "text-anchor": "middle" };
  return [
    ...across,
    ...up,
    make("svg", { y: "50%" }, make("text", turned, "true positive rate")),
    make("text", { class: "axis-label", x: "50%", y: "100%", dy: 38, "text-anchor": "middle" }, "false positive rate"),
  ];
}

function linePath(points, colour, dash, width, name) {
  const look = { class: "line", style: `--colour: var(--${colour})`, "stroke-width": width };
  if (name !== "") look["data-name"] = name;
  return make("path", { ...look, "stroke-dasharray": dash.join(" "), d: pathOf(points) });
}

function areaPath(kind, colour, opacity, points) {
  const look = { class: `area ${kind}`, style: `--colour: var(--${colour})`, "fill-opacity": opacity };
  return make("path", { ...look, d: `${pathOf(points)}Z` });
}

// The area under a curve inside the region, in a corner of the plot.
function tintOf(model, height, width) {
  const [across, up] = [state.beta / width, state.alpha / height];
  const inside = inCorner(model.curve, state.alpha, state.beta).map(([x, y]) => [x * across, 1 - up + y * up]);
  if (inside.length === 0) return [];
  const floor = [[inside[inside.length - 1][0], 1 - up], [inside[0][0], 1 - up]];
  return [areaPath("inside", "region", 0.32, [...inside, ...floor])];
}

function bandOf(model, height, width) {
  const { band } = model;
  if (band === null) return [];
  const grid = [...band.fpr.filter((fpr) => fpr < width), width];
  const edge = (limit) =>
    grid.map((fpr) => [fpr / width, clamp((between(band.fpr, band[limit], fpr) - 1 + height) / height, 0, 1)]);
  return [areaPath("band", model.colour, 0.16, [...edge("high"), ...edge("low").reverse()])];
}

function markOf(model, fpr, tpr, filled, height, width, text) {
  const [x, y] = [fpr / width, (tpr - 1 + height) / height];
  if (x > 1 || y < 0) return [];
  const look = { class: filled ? "mark" : "mark hollow", style: `--colour: var(--${model.colour})` };
  const title = make("title", {}, text);
  const shape = make("path", { ...look, d: SHAPES[model.shape] });
  return [make("svg", { x: `${100 * x}%`, y: `${100 * (1 - y)}%` }, title, shape)];
}

// Draw the corner of the given height and width of the ROC plot into a panel.
function drawCorner(panel, height, width, current) {
  const focus = models[state.model];
  const curves = make("svg", { class: "curves", viewBox: "0 0 1000 1000", preserveAspectRatio: "none" });
  if (!state.off.has(state.model)) curves.append(...tintOf(focus, height, width), ...bandOf(focus, height, width));
  const chance = inCorner({ fpr: [0, 1], tpr: [0, 1] }, height, width);
  if (chance.length > 0) curves.append(linePath(chance, "faint", [3, 3], 1, ""));
  const marks = [];
  for (const model of shownModels()) {
    const points = height === 1 && width === 1 ? model.whole : inCorner(model.curve, height, width);
    if (points.length > 0) curves.append(linePath(points, model.colour, model.dash, 2, model.name));
    const { point } = model;
    const text = `${model.name}: FPR ${four(point.fpr)}, TPR ${four(point.tpr)}`;
    const inside = point.fpr <= state.beta && point.tpr >= 1 - state.alpha;
    marks.push(...markOf(model, point.fpr, point.tpr, isOwnRegion() ? point.feasible : inside, height, width, text));
  }
  const region = make("rect", {
    class: "region",
    width: `${(100 * state.beta) / width}%`,
    height: `${(100 * state.alpha) / height}%`,
  });
  const [x, y] = [current.fpr / width, (current.tpr - 1 + height) / height];
  const ring =
    x <= 1 && y >= 0 && !state.off.has(state.model)
      ? [make("circle", { class: "current", cx: `${100 * x}%`, cy: `${100 * (1 - y)}%`, r: 9 })]
      : [];
  const drawing = panel.querySelector(".drawing");
  drawing.replaceChildren(...axesOf(height, width), curves, region, ...marks, ...ring);
}

// The corner to enlarge: the region; if no curve reaches it, one of its shape that is large enough. A region grows
// until its lower right end touches a curve, and by half of that so that the curve is seen; as in figures.py.
function cornerToShow(reached) {
  if (reached) return [state.alpha, state.beta];
  const times = shownModels().map(({ curve: { fpr, tpr } }) => {
    const across = fpr.map((rate) => rate / state.beta);
    const ahead = across.map((steps, place) => steps - (1 - tpr[place]) / state.alpha);
    return between(ahead, across, 0);
  });
  const enough = 1.5 * Math.min(...times);
  return [Math.min(1, enough * state.alpha), Math.min(1, enough * state.beta)];
}
