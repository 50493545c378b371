// The chosen variable: states, relatives, probability table, and why others are not its parents.

function makePanel(data, choose, stateButton, setTarget) {
  const panel = byId("panel");
  const empty = [...panel.childNodes];
  const MOST_ROWS = 300, MOST_STATES = 40, FEW_ROWS = 10;

  const link = (v) => make("button", { class: "link", type: "button", onclick: () => choose(v) },
    data.names[v]);
  function names(title, list) {
    const inside = list.length ? list.map(link) : ["none"];
    return [make("h4", {}, title), make("div", { class: "names" }, ...inside)];
  }

  function probabilityTable(v) {
    const parents = data.parents[v], sizes = data.states.map((labels) => labels.length);
    const table = data.tables[v], counts = data.counts && data.counts[v], r = sizes[v];
    const columns = Math.min(r, MOST_STATES);
    const head = make("tr", {}, ...parents.map((p) => make("th", { scope: "col" }, data.names[p])),
      ...data.states[v].slice(0, columns).map((label) => make("th", { scope: "col", class: "number" }, label)));
    if (counts) head.append(make("th", { scope: "col", class: "number" }, "rows"));
    const body = make("tbody");
    const rows = table.length / r;
    const added = data.smoothing || 1;  // pseudo-count of the prior behind the intervals
    let unseen = 0;
    for (let j = 0; j < Math.min(rows, MOST_ROWS); j++) {
      const row = make("tr");
      let rest = j;
      const labels = [];
      for (let a = parents.length - 1; a >= 0; a--) {
        labels.unshift(data.states[parents[a]][rest % sizes[parents[a]]]);
        rest = Math.floor(rest / sizes[parents[a]]);
      }
      labels.forEach((label) => row.append(make("td", {}, label)));
      const own = counts ? counts.slice(j * r, j * r + r) : [];
      const total = own.reduce((sum, count) => sum + count, 0);
      for (let k = 0; k < columns; k++) {
        const cell = make("td", { class: "number", title: counts ? `${own[k]} of ${total} rows` : null },
          percent(table[j * r + k]));
        if (counts) {
          const [low, high] = entryInterval(own[k] + added, total - own[k] + added * (r - 1));
          cell.append(document.createElement("br"),
            make("small", { "data-low": low, "data-high": high }, `${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)}`));
        }
        row.append(cell);
      }
      if (counts) row.append(make("td", { class: "number" }, String(total)));
      if (counts && total < FEW_ROWS) row.classList.add("few");
      unseen += total === 0;
      body.append(row);
    }
    const parts = [make("div", { class: "scroll", tabindex: 0, role: "region",
      "aria-label": `Probabilities of ${data.names[v]}` }, make("table", {}, make("thead", {}, head), body))];
    if (r > columns) {
      parts.push(make("p", { class: "note" }, `The first ${columns} of ${r} states.`));
    }
    if (rows > MOST_ROWS) {
      parts.push(make("p", { class: "note" }, `The first ${MOST_ROWS} of ${rows} rows.`));
    }
    if (counts) {
      const told = "Below each probability, its 95 % credible interval in % (Dirichlet posterior); last, the rows it "
        + `comes from, grey where fewer than ${FEW_ROWS}.`;
      const more = unseen ? " Where there are none, all states are alike." : "";
      parts.push(make("p", { class: "note" }, told + more));
    }
    return parts;
  }

  function others(v) {
    const parts = [];
    if (data.why[v].length) {
      parts.push(make("h4", {}, "Why others are not its parents"),
        make("ul", { class: "plain" }, ...data.why[v].map(({ v: u, text }) =>
          make("li", {}, link(u), `: ${text}`))));
    }
    if (data.next[v].length) {
      parts.push(make("h4", {}, "Other parent sets"),
        make("ul", { class: "plain" }, ...data.next[v].map(({ parents, ahead }) => {
          const set = parents.map((p) => data.names[p]).join(", ") || "no parents";
          const text = ahead > 0 ? `scores ${number(ahead)} more here, but would close a cycle or costs more elsewhere`
            : `scores ${number(-ahead)} less`;
          return make("li", {}, `${set}: ${text}`);
        })));
    }
    return parts;
  }

  // Returns the buttons of its states, so that they take part in updates.
  function show(v) {
    if (v === null) {
      panel.replaceChildren(...empty);
      return [];
    }
    const shown = data.marginals ? data.states[v].slice(0, MOST_STATES) : [];
    const buttons = shown.map((_, k) => stateButton(v, k));
    const list = make("ul", { class: "states" }, ...buttons.map((button) => make("li", {}, button)));
    const title = make("h3", { tabindex: -1 }, data.names[v]);
    const target = byId("target-variable");
    const aim = target && target.value !== String(v)
      ? [make("button", { type: "button", class: "aim", onclick: (event) => {
        event.currentTarget.hidden = true;
        setTarget(v);
      } }, "Make it the target")] : [];
    panel.replaceChildren(title, list, ...aim, ...names("Parents", data.parents[v]),
      ...names("Children", data.children[v]), ...names("Markov blanket", data.blanket[v]),
      make("p", { class: "note" }, data.blanket[v].length
        ? "Independent of all other variables given these." : "Independent of all other variables."));
    if (data.tables) panel.append(make("h4", {}, "Probabilities"), ...probabilityTable(v));
    panel.append(...others(v));
    panel.scrollTop = 0;
    return buttons;
  }

  return { show };
}
