// Puts the page together: one chosen variable, one set of findings, everything follows them.

const data = JSON.parse(byId("page-data").textContent);
const sizes = data.states ? data.states.map((labels) => labels.length) : [];
if (data.counts && !data.tables) data.tables = tablesFromCounts();
data.children = data.names.map((_, v) =>
  data.parents.flatMap((members, child) => (members.includes(v) ? [child] : [])));
data.blanket = data.names.map((_, v) => {
  const near = new Set([...data.parents[v], ...data.children[v],
    ...data.children[v].flatMap((child) => data.parents[child])]);
  near.delete(v);
  return [...near].sort((a, b) => a - b);
});

// (count + smoothing) / total in every row; all states alike where there is nothing.
function tablesFromCounts() {
  return data.counts.map((counts, v) => {
    const r = sizes[v], table = counts.map((count) => count + data.smoothing);
    for (let j = 0; j < table.length; j += r) {
      let total = 0;
      for (let k = 0; k < r; k++) total += table[j + k];
      for (let k = 0; k < r; k++) table[j + k] = total > 0 ? table[j + k] / total : 1 / r;
    }
    return table;
  });
}

const findings = new Map();
const model = data.tables && { sizes, parents: data.parents, tables: data.tables };
const inference = data.order.length ? makeInference({ sizes, order: data.order,
  factors: data.names.map((_, v) => familyFactor(model, v)) }) : null;
const before = data.marginals;
const canFind = Boolean(inference || (model && before));
let panelButtons = [], targetButtons = [];
const cardButtons = all(".card .state");

// Where the whole network is too wide: the part that matters for one variable.
const alone = (v) => relevantPosterior(model, v, findings, data.limit);

function stateButton(v, k) {
  const label = data.states[v][k];
  return make("button", { class: "state", type: "button", "data-v": v, "data-k": k,
    "aria-pressed": "false", disabled: canFind ? null : "" },
    make("span", { class: "label", title: label }, label), makeBar(before[v][k], before[v][k]),
    make("span", { class: "value" }, percent(before[v][k])));
}

function showState(button, shares) {
  const v = Number(button.dataset.v), k = Number(button.dataset.k);
  const p = shares ? shares[k] : null;
  button.dataset.p = p === null ? "" : p;
  button.setAttribute("aria-pressed", String(findings.get(v) === k));
  button.querySelector(".fill").setAttribute("width", 100 * (p ?? 0));
  button.querySelector(".value").textContent = percent(p);
}

function showFindings(found) {
  const strip = byId("evidence");
  strip.hidden = findings.size === 0;
  strip.replaceChildren("Given");
  for (const [v, k] of findings) {
    const said = `${data.names[v]} = ${data.states[v][k]}`;
    strip.append(make("button", { class: "chip", type: "button", "aria-label": `Clear ${said}`,
      onclick: () => find(v, null) }, `${said} ×`));
  }
  if (found) {
    const log10 = found.logProbability / Math.LN10;
    const p = log10 > -4 ? percent(Math.exp(found.logProbability)) : `10^${log10.toFixed(1)}`;
    strip.append(make("span", { class: "note" }, `the probability of this evidence is ${p}`));
  } else if (inference) {
    strip.append(make("span", { class: "warn" }, "cannot occur together: their probability is 0"));
  }
  strip.append(make("button", { type: "button", onclick: clear }, "Clear evidence"));
  byId("moved").hidden = findings.size === 0 || !found;
}

function update() {
  const found = inference ? inference.query(findings) : null;
  targetButtons = target.update();
  if (inference) {
    for (const button of [...cardButtons, ...panelButtons, ...targetButtons]) {
      showState(button, found && found.marginals[Number(button.dataset.v)]);
    }
  } else if (canFind) {
    const known = new Map();
    for (const button of [...panelButtons, ...targetButtons]) {
      const v = Number(button.dataset.v);
      if (!known.has(v)) known.set(v, alone(v));
      showState(button, known.get(v) && known.get(v).states);
    }
  }
  for (const card of all(".card")) card.classList.toggle("known", findings.has(Number(card.dataset.v)));
  picture.colour(found ? found.marginals : inference ? null : before, findings);
  showFindings(found);
}

function find(v, k) {
  if (k === null || findings.get(v) === k) findings.delete(v);
  else findings.set(v, k);
  update();
}

function clear() {
  findings.clear();
  update();
}

function choose(v, centred = false) {
  picture.pick(v);
  panelButtons = panel.show(v);
  if (v !== null && centred) picture.centre(v);
  if (canFind) update();
}

const picture = makePicture(data, choose);
const panel = makePanel(data, (v) => choose(v, true), stateButton, (v) => {
  target.set(v);
  byId("target").scrollIntoView();
});
const target = makeTarget(data, { query: inference && inference.query, alone, findings, find, choose, stateButton });
makeExports(picture);

document.addEventListener("click", (event) => {
  const state = event.target.closest(".state");
  if (state && !state.disabled) find(Number(state.dataset.v), Number(state.dataset.k));
  const name = event.target.closest("[data-choose]");
  if (name) {
    choose(Number(name.dataset.choose), true);
    byId("network").scrollIntoView();
    byId("panel").querySelector("h3").focus({ preventScroll: true });
  }
});

const search = byId("find");
const lower = data.names.map((name) => name.toLowerCase());
search.addEventListener("change", () => {
  const typed = search.value.trim().toLowerCase();
  const exact = lower.indexOf(typed);
  const v = exact >= 0 ? exact : lower.findIndex((name) => typed && name.includes(typed));
  if (v >= 0) choose(v, true);
});

const filter = byId("filter");
if (filter) {
  filter.addEventListener("input", () => {
    const typed = filter.value.trim().toLowerCase();
    for (const card of all(".card")) card.hidden = !lower[Number(card.dataset.v)].includes(typed);
  });
}

for (const table of all("table.sortable")) makeSortable(table);
if (picture.first !== null) choose(picture.first);
else if (canFind) update();
document.documentElement.dataset.ready = "yes";
