// Exact confidence limits of rates, and what a threshold does at a prevalence.

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
