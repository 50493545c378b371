// The target: what tells most about one variable, what to ask next, and a form to fill in.

// Mutual information in bits of the target with every variable, given findings: the posteriors of
// all variables in each state of the target, weighted by its probabilities.
function informationAbout(target, findings, query) {
  const now = query(findings);
  if (!now) return null;
  const bits = now.marginals.map(() => 0);
  if (findings.has(target)) return { bits, entropy: 0 };
  let entropy = 0;
  now.marginals[target].forEach((p, k) => {
    if (p <= 0) return;
    entropy -= p * Math.log2(p);
    const then = query(new Map([...findings, [target, k]]));
    then.marginals.forEach((shares, v) => {
      shares.forEach((share, j) => {
        if (share > 0) bits[v] += p * share * Math.log2(share / now.marginals[v][j]);
      });
    });
  });
  return { bits: bits.map((b, v) => (v === target || findings.has(v) ? 0 : Math.max(0, b))), entropy };
}

function makeTarget(data, { query, alone, findings, find, choose, stateButton }) {
  const select = byId("target-variable");
  if (!select) return { update: () => [] };
  const SHOWN = 12;
  const now = byId("target-now"), next = byId("target-next"), form = byId("target-form"), more = byId("target-more");
  let target = null, everything = false, buttons = [];

  // Without a tree for the whole network: those around the target, nearest first.
  function nearby(v) {
    const found = [v];
    for (const u of found) {
      if (found.length > 40) break;
      for (const w of [...data.blanket[u]]) if (!found.includes(w)) found.push(w);
    }
    return found.slice(1);
  }

  function row(v, bits, entropy) {
    const states = make("select", { "aria-label": `State of ${data.names[v]}`, "data-v": v },
      make("option", { value: "" }, "not known"),
      ...data.states[v].map((label, k) => make("option", { value: k }, label)));
    states.value = findings.has(v) ? String(findings.get(v)) : "";
    states.addEventListener("change", () => {
      const k = states.value === "" ? null : Number(states.value);
      if ((findings.get(v) ?? null) !== k) find(v, k);
    });
    const cells = [make("td", {}, make("button", { class: "link", type: "button", onclick: () => choose(v) }, data.names[v])),
      make("td", {}, states)];
    if (bits !== null) {
      const share = entropy > 0 ? bits / entropy : 0;
      cells.push(make("td", { class: "number", "data-bits": bits }, findings.has(v) ? "known" : bits.toFixed(3)),
        make("td", {}, findings.has(v) ? "" : makeBar(share, 0)));
    }
    return make("tr", { class: findings.has(v) ? "known" : null }, ...cells);
  }

  function update() {
    buttons = [];
    if (target === null) return buttons;
    const told = query ? informationAbout(target, findings, query) : null;
    buttons = data.states[target].slice(0, 40).map((_, k) => stateButton(target, k));
    now.replaceChildren(make("ul", { class: "states" }, ...buttons.map((button) => make("li", {}, button))));
    const others = data.names.map((_, v) => v).filter((v) => v !== target);
    let ranked = others, sentence;
    if (told) {
      ranked = others.sort((a, b) => Number(findings.has(b)) - Number(findings.has(a)) || told.bits[b] - told.bits[a] || a - b);
      const best = ranked.find((v) => !findings.has(v));
      sentence = findings.has(target) ? `${data.names[target]} is known.`
        : best === undefined || told.bits[best] < 1e-9 ? "No other variable tells more about it."
          : [`Best next question: `, make("button", { class: "link", type: "button", "data-best": best, onclick: () => choose(best) }, data.names[best]),
            `. It is expected to remove ${told.bits[best].toFixed(3)} of the ${told.entropy.toFixed(3)} bits that are open`
            + ` (${percent(told.bits[best] / told.entropy)}).`];
    } else if (query) {
      sentence = "The evidence cannot occur together.";
    } else {
      const first = nearby(target), rest = others.filter((v) => !first.includes(v));
      ranked = [...first, ...rest].sort((a, b) => Number(findings.has(b)) - Number(findings.has(a)));
      const found = alone(target);
      sentence = found && found.total ? `Even the part that matters for it takes tables of ${number(found.total)} cells: `
        + "set evidence on variables around it." : "Only the part of the network that matters for it is computed.";
    }
    next.replaceChildren(...[sentence].flat());
    const listed = everything ? ranked : ranked.slice(0, SHOWN + findings.size);
    form.tBodies[0].replaceChildren(...listed.map((v) => row(v, told ? told.bits[v] : null, told ? told.entropy : 0)));
    form.tHead.hidden = false;
    all(".bits", form).forEach((cell) => { cell.hidden = !told; });
    more.hidden = everything || listed.length >= ranked.length;
    return buttons;
  }

  select.addEventListener("change", () => {
    target = select.value === "" ? null : Number(select.value);
    everything = false;
    for (const part of all(".target-part")) part.hidden = target === null;
    choose(target, false);
  });
  more.addEventListener("click", () => { everything = true; update(); choose(target, false); });
  return { update, set: (v) => { select.value = String(v); select.dispatchEvent(new Event("change")); } };
}
