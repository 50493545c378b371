// 95 % credible intervals of the entries of a table: quantiles of Beta(a, b), where a is the count of
// an entry and b that of the others in its row, pseudo-counts included.

// The logarithm of the gamma function: Stirling's series, from 10 on.
function logGamma(x) {
  let shift = 0;
  while (x < 10) shift -= Math.log(x++);
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}

// The regularised incomplete beta function, by its continued fraction.
function betaShare(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b)
    + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const away = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let above = 1, below = 1 / away(1 - (a + b) * x / (a + 1)), value = below;
  for (let m = 1; m < 2000; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      below = 1 / away(1 + term * below);
      above = away(1 + term / above);
      change = above * below;
      value *= change;
    }
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return front * value;
}

function betaQuantile(p, a, b) {
  let low = 0, high = 1;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (betaShare(middle, a, b) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function entryInterval(own, others) {
  if (others <= 0) return [1, 1];
  return [betaQuantile(0.025, own, others), 1 - betaQuantile(0.025, others, own)];
}
