// Decoding: the rankings of the models, from text in the page to counts and curves.

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
