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

// Call `visit(cell, place)` for every cell of a table over `scope`; `place` is the cell of a table
// over `inner` in the same states.
function together(scope, inner, sizes, visit) {
  const strides = stridesIn(inner, scope, sizes);
  const at = new Int32Array(scope.length);
  let cells = 1;
  for (const v of scope) cells *= sizes[v];
  let place = 0;
  for (let cell = 0; cell < cells; cell++) {
    visit(cell, place);
    for (let a = scope.length - 1; a >= 0; a--) {
      place += strides[a];
      if (++at[a] < sizes[scope[a]]) break;
      place -= strides[a] * sizes[scope[a]];
      at[a] = 0;
    }
  }
}

function multiplyInto(target, factor, sizes) {
  const { values } = target, other = factor.values;
  together(target.scope, factor.scope, sizes, (cell, place) => { values[cell] *= other[place]; });
}

function divideInto(target, factor, sizes) {
  const { values } = target, other = factor.values;
  together(target.scope, factor.scope, sizes, (cell, place) => { values[cell] /= other[place]; });
}

function sumTo(table, scope, sizes) {
  const sum = makeTable(scope, sizes);
  sum.values.fill(0);
  together(table.scope, scope, sizes, (cell, place) => { sum.values[place] += table.values[cell]; });
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

// `tables[v]` is flat: states of the parents in their order, then those of v.
function makeInference(model) {
  const { sizes, parents, tables, order } = model;
  const families = parents.map((members, v) => [...members, v]);
  const { cliques, first } = makeTree(families, sizes, order);
  families.forEach((family, v) => {
    const scope = [...family].sort((a, b) => a - b);
    const table = makeTable(scope, sizes);
    together(scope, family, sizes, (cell, place) => { table.values[cell] = tables[v][place]; });
    cliques[first(scope)].own.push(table);
  });

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
