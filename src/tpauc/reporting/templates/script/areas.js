// The area of a curve in a corner, exactly from counts.

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
