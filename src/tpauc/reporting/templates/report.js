// The script of a report: move the region and the threshold, and read what follows.
//
// Areas and rates are computed from counts in the element #report-data, as src/tpauc computes them: equal input gives
// equal numbers. Nothing is loaded or sent. Without this script the page shows the report's own region and thresholds.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_POINTS = 1200; // of a drawn curve; more cannot be told apart
  const SHAPES = {
    circle: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    square: "M-4 -4h8v8h-8z",
    diamond: "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    triangle: "M0 -5.5L5 4H-5z",
  };
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ------------------------------------------------------------------------------------------------------- decoding

  function bytesOf(text) {
    const letters = atob(text);
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  }

  // Seven bits per byte, lowest first. Multiplication, because shifts would cut numbers beyond 31 bits.
  function wholeNumbers(text) {
    const bytes = bytesOf(text);
    const found = new Float64Array(bytes.reduce((n, byte) => n + (byte < 128), 0));
    let place = 0;
    let factor = 1;
    for (const byte of bytes) {
      found[place] += (byte % 128) * factor;
      factor *= 128;
      if (byte < 128) {
        place += 1;
        factor = 1;
      }
    }
    return found;
  }

  // A ranking in steps: negatives, positives, and how they are ordered inside (see reporting/ranking.py).
  function stepsOf(coded) {
    const numbers = coded.whole ? wholeNumbers : (text) => new Float64Array(bytesOf(text).buffer);
    const inner = numbers(coded.inner);
    return {
      whole: coded.whole,
      negatives: numbers(coded.negatives),
      positives: numbers(coded.positives),
      inner: coded.whole ? inner.map((value) => value - 1) : inner,
    };
  }

  // The corners of the ROC curve, as shares.
  function curveOf(steps, positives, negatives) {
    const fpr = [0];
    const tpr = [0];
    let passed = 0;
    let caught = 0;
    steps.negatives.forEach((n, step) => {
      passed += n;
      if (steps.inner[step] === 0 && n > 0 && steps.positives[step] > 0) {
        fpr.push(passed / negatives);
        tpr.push(caught / positives);
      }
      caught += steps.positives[step];
      fpr.push(passed / negatives);
      tpr.push(caught / positives);
    });
    return { fpr, tpr };
  }

  const models = data.models.map((model) => {
    const steps = stepsOf(model.steps);
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const positives = sum(steps.positives);
    const negatives = sum(steps.negatives);
    return { ...model, steps, positives, negatives, curve: curveOf(steps, positives, negatives) };
  });

  // ---------------------------------------------------------------------------------------------------------- areas

  // floor(total * share), immune to rounding of the share; the same padding as in tpauc/region.py.
  function hardMass(total, share, whole) {
    return whole ? Math.floor(total * Math.min(share + 2 ** -51, 1)) : total * share;
  }

  // Twice the pairs that positives win among the first `hardN` negatives and the last `hardP` positives of a mixed
  // step, and by how much this may be wrong. The hardest rows win no more than the average of the step. In between the
  // curve is taken as straight, which is close where a step is small.
  function cutStep(n, p, inner, hardN, hardP) {
    const high = (inner * hardN * hardP) / (n * p);
    const low = Math.max(0, inner - 2 * (n * p - hardN * hardP));
    const corner = Math.max(0, hardN / n + hardP / p - 1);
    const won = clamp(inner * corner * corner, low, high);
    return { won, error: Math.max(high - won, won - low) };
  }

  // TPAUC in the corner (alpha, beta), with a bound of its error; null if the corner holds no positive or no negative.
  function tpauc(model, alpha, beta) {
    const { steps } = model;
    const kPositive = hardMass(model.positives, alpha, steps.whole);
    const kNegative = hardMass(model.negatives, beta, steps.whole);
    if (!(kPositive > 0 && kNegative > 0)) return null;
    const easy = model.positives - kPositive;
    let passed = 0; // negatives in earlier steps
    let caught = 0; // positives in earlier steps
    let twice = 0;
    let error = 0;
    for (let step = 0; step < steps.negatives.length && passed < kNegative; step += 1) {
      const n = steps.negatives[step];
      const p = steps.positives[step];
      const hardN = Math.min(kNegative - passed, n);
      const hardP = p - clamp(easy - caught, 0, p);
      passed += n;
      caught += p;
      if (hardP === 0) continue;
      twice += 2 * hardP * Math.max(kNegative - passed, 0);
      const inner = steps.inner[step];
      if (inner < 0) twice += hardP * hardN;
      else if (inner > 0 && hardN === n && hardP === p) twice += inner;
      else if (inner > 0) {
        const cut = cutStep(n, p, inner, hardN, hardP);
        twice += cut.won;
        error += cut.error;
      }
    }
    const pairs = 2 * kPositive * kNegative;
    return { value: Math.min(twice / pairs, 1), bound: error / pairs };
  }

  // ------------------------------------------------------------------------------------------------ exact intervals

  // log Gamma by Stirling's series, from 10 on; below by recurrence.
  function logGamma(z) {
    let shift = 0;
    while (z < 10) {
      shift -= Math.log(z);
      z += 1;
    }
    const w = 1 / (z * z);
    const series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z;
    return shift + (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series;
  }

  const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);

  // The continued fraction of the incomplete beta function, by Lentz's method. It needs about sqrt(max(a, b)) terms.
  function betaFraction(a, b, x) {
    const least = 1e-300;
    const safe = (value) => (Math.abs(value) < least ? least : value);
    let c = 1;
    let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
    let fraction = d;
    for (let m = 1; m < 100000; m += 1) {
      for (const term of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 / safe(1 + term * d);
        c = safe(1 + term / c);
        fraction *= c * d;
      }
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return fraction;
  }

  // The regularised incomplete beta function I_x(a, b).
  function betaShare(a, b, x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b));
    if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
    return 1 - (front * betaFraction(b, a, 1 - x)) / b;
  }

  // The x with I_x(a, b) = share: Newton's method, kept inside a bracket by halving.
  function betaQuantile(a, b, share) {
    let low = 0;
    let high = 1;
    let x = a / (a + b);
    for (let round = 0; round < 200; round += 1) {
      const beyond = betaShare(a, b, x) - share;
      if (beyond > 0) high = x;
      else low = x;
      const slope = Math.exp((a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x) - logBeta(a, b));
      const next = x - beyond / slope;
      const moved = next > low && next < high ? next : (low + high) / 2;
      if (Math.abs(moved - x) <= 1e-15 * x || high - low < 1e-17) return moved;
      x = moved;
    }
    return x;
  }

  // Exact limits of a proportion (Clopper and Pearson); `size` may be an effective number of weighted rows.
  function limits(part, size, confidence) {
    if (!(size > 0)) return [0, 1];
    const tail = (1 - confidence) / 2;
    const share = part / size;
    const low = part > 0 ? betaQuantile(part, size - part + 1, tail) : 0;
    const high = part < size ? 1 - betaQuantile(size - part, part + 1, tail) : 1;
    return [Math.min(low, share), Math.max(high, share)];
  }

  // A share with its limits. Weights that are not whole numbers count as Kish's effective number of rows.
  function proportion(part, whole, squares, confidence) {
    if (!(whole > 0)) return { value: NaN, low: 0, high: 1 };
    const value = Math.min(part / whole, 1);
    const size = squares === null ? whole : (whole * whole) / squares;
    const [low, high] = limits(squares === null ? part : value * size, size, confidence);
    return { value, low, high };
  }

  // What a threshold does: counts, and the rates with their limits at a prevalence (null: as in these rows).
  function ratesAt(model, place, prevalence) {
    const listed = model.thresholds;
    const at = (name) => (place < 0 ? 0 : listed[name][place]);
    const last = listed.score.length - 1;
    const counts = { tp: at("tp"), fp: at("fp") };
    counts.fn = model.positives - counts.tp;
    counts.tn = model.negatives - counts.fp;
    const squared = "tpSquares" in listed;
    const squares = (...names) => (squared ? names.reduce((sum, name) => sum + name, 0) : null);
    const [tp2, fp2] = squared ? [at("tpSquares"), at("fpSquares")] : [0, 0];
    const [p2, n2] = squared ? [listed.tpSquares[last], listed.fpSquares[last]] : [0, 0];
    const rates = (level) => ({
      tpr: proportion(counts.tp, model.positives, squares(p2), level),
      fpr: proportion(counts.fp, model.negatives, squares(n2), level),
    });
    const found = rates(data.confidence);
    const alarms = counts.tp + counts.fp;
    const others = counts.fn + counts.tn;
    if (prevalence === null) {
      found.precision = proportion(counts.tp, alarms, squares(tp2, fp2), data.confidence);
      found.npv = proportion(counts.tn, others, squares(p2 - tp2, n2 - fp2), data.confidence);
      found.alarm = proportion(alarms, alarms + others, squares(p2, n2), data.confidence);
      return { counts, found };
    }
    // Both classes are independent: if each limit holds with the root of the confidence, both hold with it.
    const { tpr: t, fpr: f } = rates(data.grouped ? (1 + data.confidence) / 2 : Math.sqrt(data.confidence));
    const mixed = (tpr, fpr) => {
      const caught = prevalence * tpr;
      const alarmed = (1 - prevalence) * fpr;
      const quiet = (1 - prevalence) * (1 - fpr);
      return {
        precision: caught / (caught + alarmed),
        npv: quiet / (quiet + prevalence * (1 - tpr)),
        alarm: caught + alarmed,
      };
    };
    const value = mixed(t.value, f.value);
    const [best, worst] = [mixed(t.high, f.low), mixed(t.low, f.high)];
    for (const name of ["precision", "npv"]) found[name] = { value: value[name], low: worst[name], high: best[name] };
    found.alarm = { value: value.alarm, low: mixed(t.low, f.low).alarm, high: mixed(t.high, f.high).alarm };
    return { counts, found };
  }

  // ---------------------------------------------------------------------------------------------------------- state

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

  // ------------------------------------------------------------------------------------------------------- writing

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

  // -------------------------------------------------------------------------------------------------------- drawing

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

  // --------------------------------------------------------------------------------------------------------- region

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

  // -------------------------------------------------------------------------------------------------------- handles

  // A line that can be dragged, in any panel: a slider for keyboards and screen readers, with a wide invisible grip.
  function makeHandle(panel, label, orientation, keys) {
    const handle = make("g", { class: `handle ${orientation}`, role: "slider", tabindex: 0, "aria-label": label });
    handle.setAttribute("aria-orientation", orientation);
    handle.append(make("line", { class: "grip" }), make("line", { class: "edge" }), make("circle", { class: "knob", r: 7 }));
    handle.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key](event.shiftKey);
    });
    handlesOf(panel).append(handle);
    return handle;
  }

  // Handles are kept apart from the drawing, which is replaced while one of them is being dragged.
  function handlesOf(panel) {
    const plot = panel.querySelector(".plot > svg");
    // An image hides its parts from screen readers, and handles must be found.
    plot.setAttribute("role", "group");
    return plot.querySelector(".handles") ?? plot.appendChild(make("g", { class: "handles" }));
  }

  // Call `move(x, y)`, shares of the panel, while the pointer is down.
  function onDrag(node, panel, move) {
    const plot = panel.querySelector(".plot > svg");
    const follow = (event) => {
      const box = plot.getBoundingClientRect();
      move(
        clamp((event.clientX - box.left) / box.width, 0, 1),
        clamp((event.clientY - box.top) / box.height, 0, 1),
      );
    };
    node.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      node.setPointerCapture(event.pointerId);
      node.focus();
      hideTip();
    });
    node.addEventListener("pointermove", (event) => {
      if (node.hasPointerCapture(event.pointerId)) follow(event);
    });
    // Browsers ignore `touch-action` on parts of an SVG image, and would scroll the page instead.
    node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  }

  // Small shares need small steps: below 2 % a tenth of a percent, else a percent.
  function stepped(share, up, far) {
    const step = far ? 0.1 : share < 0.02 - 1e-9 || (!up && share < 0.02 + 1e-9) ? 0.001 : 0.01;
    return clamp(Number((share + (up ? step : -step)).toFixed(6)), 0.001, 1);
  }

  // A dragged share, rounded to what a hand can aim at.
  const aimed = (share) => clamp(Number(share.toFixed(3)), 0.001, 1);

  const handles = {};
  function makeRegionHandles() {
    const alpha = (up, far) => setRegion(stepped(state.alpha, up, far), state.beta);
    const beta = (up, far) => setRegion(state.alpha, stepped(state.beta, up, far));
    // The lower edge is at TPR = 1 - alpha: down makes alpha larger.
    handles.alpha = makeHandle(wholePanel, "alpha, the share of positives that may be missed", "vertical", {
      ArrowDown: (far) => alpha(true, far),
      ArrowUp: (far) => alpha(false, far),
      ArrowRight: (far) => alpha(true, far),
      ArrowLeft: (far) => alpha(false, far),
      PageDown: () => alpha(true, true),
      PageUp: () => alpha(false, true),
      Home: () => setRegion(0.001, state.beta),
      End: () => setRegion(1, state.beta),
    });
    handles.beta = makeHandle(wholePanel, "beta, the share of negatives that may be false alarms", "horizontal", {
      ArrowRight: (far) => beta(true, far),
      ArrowUp: (far) => beta(true, far),
      ArrowLeft: (far) => beta(false, far),
      ArrowDown: (far) => beta(false, far),
      PageUp: () => beta(true, true),
      PageDown: () => beta(false, true),
      Home: () => setRegion(state.alpha, 0.001),
      End: () => setRegion(state.alpha, 1),
    });
    onDrag(handles.alpha, wholePanel, (_, y) => setRegion(aimed(y), state.beta));
    onDrag(handles.beta, wholePanel, (x) => setRegion(state.alpha, aimed(x)));
    handles.corner = make("circle", { class: "corner", r: 10, "aria-hidden": "true" });
    handlesOf(wholePanel).append(handles.corner);
    onDrag(handles.corner, wholePanel, (x, y) => setRegion(aimed(y), aimed(x)));
  }

  function placeLine(handle, x1, y1, x2, y2, value, text) {
    for (const line of handle.querySelectorAll("line")) {
      for (const [key, share] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(key, `${100 * share}%`);
    }
    // Knobs sit where the edges of the region leave the axes: there they keep apart even if the region is small.
    const knob = handle.querySelector(".knob");
    knob.setAttribute("cx", `${100 * x1}%`);
    knob.setAttribute("cy", `${100 * y1}%`);
    handle.setAttribute("aria-valuenow", value);
    handle.setAttribute("aria-valuetext", text);
  }

  function placeHandles() {
    const { alpha, beta } = state;
    placeLine(handles.alpha, 0, alpha, beta, alpha, plain(alpha), `${plain(alpha)}: ${byId("alpha-means").textContent}`);
    placeLine(handles.beta, beta, 0, beta, alpha, plain(beta), `${plain(beta)}: ${byId("beta-means").textContent}`);
    for (const name of ["alpha", "beta"]) {
      handles[name].setAttribute("aria-valuemin", 0);
      handles[name].setAttribute("aria-valuemax", 1);
      const field = byId(name);
      // A field that is being typed in is left alone.
      if (document.activeElement !== field) field.value = plain(state[name]);
    }
    handles.corner.setAttribute("cx", `${100 * beta}%`);
    handles.corner.setAttribute("cy", `${100 * alpha}%`);
  }

  // ---------------------------------------------------------------------------------------------------------- hover

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

  // ------------------------------------------------------------------------------------------------------ threshold

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

  // -------------------------------------------------------------------------------------------------------- hand back

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

  // ---------------------------------------------------------------------------------------------------------- wiring

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
})();
