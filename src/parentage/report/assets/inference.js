// Exact probabilities of all variables given findings, by variable elimination.
//
// The order of elimination is given. Eliminating a variable multiplies all tables that contain it
// into one (its clique) and sums it out; what is left is a message to a later clique. Passing
// messages up and then down this tree gives every variable's probabilities (Shafer and Shenoy
// 1990). Messages are scaled to a largest entry of 1, their logarithms are kept.

// A table over some variables: `scope` rising, the last one changing fastest in `values`.
function makeTable(scope, sizes) {
  let cells = 1;
  for (const v of scope) cells *= sizes[v];
  return { scope, values: new Float64Array(cells).fill(1) };
}

// How far a step of each variable of `scope` moves in a table over `inner`; 0 if it is not there.
function stridesIn(inner, scope, sizes) {
  const stride = new Map();
  let step = 1;
  for (let a = inner.length - 1; a >= 0; a--) {
    stride.set(inner[a], step);
    step *= sizes[inner[a]];
  }
  return scope.map((v) => stride.get(v) ?? 0);
}

// Walk through a table over `scope` and one over `inner`, whose variables are among them, in the
// same states. Calls `visit(cell, place, count, step)`: the next `count` cells of the one are those
// of the other from `place` on, `step` apart. Neighbouring variables that run alike are one.
function together(scope, inner, sizes, visit) {
  const strides = stridesIn(inner, scope, sizes), axes = [];
  let cells = 1, place = 0;
  for (let a = scope.length - 1; a >= 0; a--) {
    const size = sizes[scope[a]], step = strides[a], last = axes[axes.length - 1];
    cells *= size;
    if (last && last.step * last.size === step) last.size *= size;
    else axes.push({ size, step, at: 0 });
  }
  if (!axes.length) axes.push({ size: 1, step: 0, at: 0 });
  const [run, ...outer] = axes;
  for (let cell = 0; cell < cells; cell += run.size) {
    visit(cell, place, run.size, run.step);
    for (const axis of outer) {
      place += axis.step;
      if (++axis.at < axis.size) break;
      place -= axis.step * axis.size;
      axis.at = 0;
    }
  }
}

function multiplyInto(target, factor, sizes) {
  const { values } = target, other = factor.values;
  together(target.scope, factor.scope, sizes, (cell, place, count, step) => {
    for (let i = 0; i < count; i++) values[cell + i] *= other[place + i * step];
  });
}

function divideInto(target, factor, sizes) {
  const { values } = target, other = factor.values;
  together(target.scope, factor.scope, sizes, (cell, place, count, step) => {
    for (let i = 0; i < count; i++) values[cell + i] /= other[place + i * step];
  });
}

function sumTo(table, scope, sizes) {
  const sum = makeTable(scope, sizes), total = sum.values, { values } = table;
  total.fill(0);
  together(table.scope, scope, sizes, (cell, place, count, step) => {
    for (let i = 0; i < count; i++) total[place + i * step] += values[cell + i];
  });
  return sum;
}

// Make the largest entry 1; return what everything was divided by, 0 if all entries are 0.
function scale(table) {
  let top = 0;
  for (const value of table.values) if (value > top) top = value;
  if (top > 0) for (let i = 0; i < table.values.length; i++) table.values[i] /= top;
  return top;
}

// The tree of cliques of an order of elimination.
function makeTree(families, sizes, order) {
  const near = sizes.map(() => new Set());
  for (const family of families) {
    for (const u of family) for (const v of family) if (u !== v) near[u].add(v);
  }
  const position = new Int32Array(sizes.length);
  order.forEach((v, i) => { position[v] = i; });
  const first = (scope) => Math.min(...scope.map((v) => position[v]));
  const cliques = order.map((v, i) => {
    const around = [...near[v]];
    for (const u of around) {
      for (const w of around) if (u !== w) near[u].add(w);
      near[u].delete(v);
    }
    return { variable: v, scope: [v, ...around].sort((a, b) => a - b), left: around.sort((a, b) => a - b),
             own: [], children: [], parent: -1, i };
  });
  for (const clique of cliques) {
    if (clique.left.length) {
      clique.parent = first(clique.left);
      cliques[clique.parent].children.push(clique.i);
    }
  }
  return { cliques, first };
}

// One factor for every variable: its table over itself and its parents. `tables[v]` is flat: states
// of the parents in their order, then those of v.
function familyFactor({ sizes, parents, tables }, v) {
  const family = [...parents[v], v], scope = [...family].sort((a, b) => a - b);
  const factor = makeTable(scope, sizes);
  together(scope, family, sizes, (cell, place, count, step) => {
    for (let i = 0; i < count; i++) factor.values[cell + i] = tables[v][place + i * step];
  });
  return factor;
}

// Fix the states of some variables in a table.
function fixed(factor, findings, sizes) {
  const scope = factor.scope.filter((v) => !findings.has(v));
  if (scope.length === factor.scope.length) return factor;
  const kept = makeTable(scope, sizes), strides = stridesIn(factor.scope, factor.scope, sizes);
  let start = 0;
  factor.scope.forEach((v, a) => { if (findings.has(v)) start += findings.get(v) * strides[a]; });
  const inner = scope.map((v) => strides[factor.scope.indexOf(v)]), at = scope.map(() => 0);
  for (let cell = 0, place = start; cell < kept.values.length; cell++) {
    kept.values[cell] = factor.values[place];
    for (let a = scope.length - 1; a >= 0; a--) {
      place += inner[a];
      if (++at[a] < sizes[scope[a]]) break;
      place -= inner[a] * sizes[scope[a]];
      at[a] = 0;
    }
  }
  return kept;
}

// Take the variable with the least table first, and so on; also the cells of all tables together.
function eliminationOrder(scopes, sizes) {
  const near = new Map();
  for (const scope of scopes) {
    for (const u of scope) {
      if (!near.has(u)) near.set(u, new Set());
      for (const v of scope) if (u !== v) near.get(u).add(v);
    }
  }
  const cost = (v) => [...near.get(v)].reduce((cells, u) => cells * sizes[u], sizes[v]);
  const order = [];
  let total = 0;
  while (near.size) {
    let best = null, least = Infinity;
    for (const v of near.keys()) {
      const cells = cost(v);
      if (cells < least) [best, least] = [v, cells];
    }
    const around = [...near.get(best)];
    for (const u of around) {
      for (const w of around) if (u !== w) near.get(u).add(w);
      near.get(u).delete(best);
    }
    near.delete(best);
    order.push(best);
    total += least;
  }
  return { order, total };
}

// The posterior of one variable from the part of the network that matters for it: its ancestors and
// those of the findings, as far as the findings leave them connected. Returns null when the findings
// cannot occur together, and only `total` when the tables would have more cells than `most`.
function relevantPosterior(model, target, findings, most) {
  const { sizes, parents } = model, kept = new Set(), waiting = [target, ...findings.keys()];
  while (waiting.length) {
    const v = waiting.pop();
    if (kept.has(v)) continue;
    kept.add(v);
    waiting.push(...parents[v]);
  }
  if (findings.has(target)) {
    return { states: Array.from({ length: sizes[target] }, (_, k) => Number(findings.get(target) === k)) };
  }
  let factors = [...kept].map((v) => fixed(familyFactor(model, v), findings, sizes));
  if (factors.some(({ scope, values }) => scope.length === 0 && values[0] === 0)) return null;
  const part = new Set([target]);
  for (let before = 0; part.size > before;) {
    before = part.size;
    for (const { scope } of factors) {
      if (scope.some((v) => part.has(v))) scope.forEach((v) => part.add(v));
    }
  }
  factors = factors.filter(({ scope }) => scope.some((v) => part.has(v)));
  const { order, total } = eliminationOrder(factors.map(({ scope }) => scope), sizes);
  if (total > most) return { total };
  const found = makeInference({ sizes, factors, order }).query(new Map());
  return found && { states: found.marginals[target] };
}

// `factors` are tables over the variables of `order`.
function makeInference({ sizes, factors, order }) {
  const { cliques, first } = makeTree(factors.map(({ scope }) => scope), sizes, order);
  for (const factor of factors) if (factor.scope.length) cliques[first(factor.scope)].own.push(factor);

  // Product of everything that enters a clique, except one child's message.
  function entering(clique, findings, up, down, except) {
    const whole = makeTable(clique.scope, sizes);
    for (const table of clique.own) multiplyInto(whole, table, sizes);
    if (findings.has(clique.variable)) {
      const seen = { scope: [clique.variable], values: new Float64Array(sizes[clique.variable]) };
      seen.values[findings.get(clique.variable)] = 1;
      multiplyInto(whole, seen, sizes);
    }
    for (const child of clique.children) if (child !== except) multiplyInto(whole, up[child], sizes);
    if (down) multiplyInto(whole, down, sizes);
    return whole;
  }

  // `findings` maps variables to states. Returns null when they cannot occur together.
  function query(findings) {
    const up = [], down = [], marginals = [];
    let logProbability = 0;
    for (const clique of cliques) {
      const message = sumTo(entering(clique, findings, up, null, -1), clique.left, sizes);
      const top = scale(message);
      if (top === 0) return null;
      logProbability += Math.log(top);
      up[clique.i] = message;
    }
    for (let i = cliques.length - 1; i >= 0; i--) {
      const clique = cliques[i];
      const whole = entering(clique, findings, up, down[i], -1);
      scale(whole);
      for (const child of clique.children) {
        let rest;
        if (up[child].values.every((value) => value > 1e-100)) {
          rest = { scope: whole.scope, values: whole.values.slice() };
          divideInto(rest, up[child], sizes);
        } else {
          rest = entering(clique, findings, up, down[i], child);
        }
        down[child] = sumTo(rest, cliques[child].left, sizes);
        scale(down[child]);
      }
      const own = sumTo(whole, [clique.variable], sizes).values;
      const total = own.reduce((a, b) => a + b, 0);
      marginals[clique.variable] = Array.from(own, (value) => value / total);
    }
    return { marginals, logProbability };
  }

  return { query };
}
