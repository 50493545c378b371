// The figure: the whole network or the neighbourhood of a variable; move, zoom, choose, hide weak
// arcs, show bars in the boxes, colour what evidence moves.

function makePicture(data, choose) {
  const frame = byId("picture"), whole = frame.querySelector("svg.whole");
  const barred = frame.querySelector("svg.barred"), around = frame.querySelector("svg.around");
  const LARGE = 60, MOST_AROUND = 45, MOST_BARS = 6, LINE = 15, BAR = 56, NARROW = 600;
  const scope = byId("scope"), bars = byId("bars");
  const styles = new Map(all(".arc", whole).map((arc) => [arc.dataset.arc, arc]));
  let chosen = null, marginals = data.marginals, known = new Map();
  let svg = whole, boxes = [], arcs = [], full = null, view = null;

  function show(next) {
    view = next;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  }

  // What is drawn, with a margin, where the frame is smaller than the figure's own view.
  function tight({ x, y, w, h }) {
    if (frame.clientWidth >= w && frame.clientHeight >= h) return { x, y, w, h };
    const box = svg.querySelector(".all").getBBox(), margin = 12;
    if (!box.width || !box.height) return { x, y, w, h };
    return { x: box.x - margin, y: box.y - margin, w: box.width + 2 * margin, h: box.height + 2 * margin };
  }

  // Turn to one of the figures; a large one begins at its upper end, large enough to be read, unless
  // all of it is asked for or the frame is too narrow for anything else.
  function use(next, entire = false) {
    for (const one of [whole, barred, around]) if (one) one.classList.toggle("off", one !== next);
    svg = next;
    boxes = all(".box", svg);
    arcs = all(".arc", svg);
    const [x, y, w, h] = (svg.dataset.full || svg.getAttribute("viewBox")).split(" ").map(Number);
    svg.dataset.full = [x, y, w, h].join(" ");
    full = tight({ x, y, w, h });
    const scale = Math.min(frame.clientWidth / full.w, frame.clientHeight / full.h);
    const least = entire ? 0 : frame.clientWidth < NARROW ? 0.2 : svg === around ? 0.4 : 0.5;
    if (scale > 0 && scale < least) {
      const wide = Math.min(full.w, frame.clientWidth / 0.5), high = wide * frame.clientHeight / frame.clientWidth;
      show({ x: full.x + (full.w - wide) / 2, y: high < full.h ? full.y : full.y + (full.h - high) / 2, w: wide, h: high });
    } else show({ ...full });
    mark();
    colour(marginals, known);
    hide();
  }

  // Zoom around a point of the figure, by default its middle; never out of reach.
  function zoom(factor, px = view.x + view.w / 2, py = view.y + view.h / 2) {
    const w = Math.min(1.5 * full.w, Math.max(120, view.w * factor)), f = w / view.w;
    show({ x: px - (px - view.x) * f, y: py - (py - view.y) * f, w, h: view.h * f });
  }

  // Units of the figure in a pixel, and the point under the pointer.
  const unit = () => 1 / svg.getScreenCTM().a;
  function under(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  }

  function move(dx, dy) { show({ ...view, x: view.x + dx, y: view.y + dy }); }

  // Bring a variable into view, at a size that can be read; leave the figure if it is already.
  function centre(v) {
    const its = boxes.find((box) => Number(box.dataset.v) === v);
    if (!its) return;
    const at = its.getBoundingClientRect(), outer = frame.getBoundingClientRect();
    const inside = at.left >= outer.left && at.right <= outer.right
      && at.top >= outer.top && at.bottom <= outer.bottom;
    if (inside && unit() < 1.5) return;
    const box = its.getBBox();
    const wide = Math.min(full.w, Math.max(700, frame.clientWidth * 0.9));
    const w = Math.min(view.w, wide), h = w * frame.clientHeight / frame.clientWidth;
    show({ x: box.x + box.width / 2 - w / 2, y: box.y + box.height / 2 - h / 2, w, h });
  }

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls as usual
    event.preventDefault();
    const at = under(event);
    zoom(Math.exp(event.deltaY * 0.002), at.x, at.y);
  }, { passive: false });

  let held = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = { x: event.clientX, y: event.clientY, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    move(-dx * unit(), -dy * unit());
    held = { x: event.clientX, y: event.clientY, moved: true };
    frame.classList.add("moving");
  });
  window.addEventListener("pointerup", (event) => {
    if (held && !held.moved && frame.contains(event.target)) {
      const box = event.target.closest(".box");
      choose(box ? Number(box.dataset.v) : null);
    }
    held = null;
    frame.classList.remove("moving");
  });
  window.addEventListener("pointercancel", () => { held = null; });
  frame.addEventListener("keydown", (event) => {
    const step = view.w / 10;
    const keys = {
      "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: () => show({ ...full }),
      ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0),
      ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step), Escape: () => choose(null),
    };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const button of all("[data-zoom]")) {
    const act = { in: () => zoom(0.75), out: () => zoom(1.33), whole: () => show({ ...full }) };
    button.addEventListener("click", act[button.dataset.zoom]);
  }

  // Variables at most two steps away, or one where two are too many.
  function near(v) {
    let found = new Set([v]);
    for (let step = 0; step < 2; step++) {
      const next = new Set(found);
      for (const u of found) for (const w of [...data.parents[u], ...data.children[u]]) next.add(w);
      if (step && next.size > MOST_AROUND) break;
      found = next;
    }
    return [...found].sort((a, b) => a - b);
  }

  function drawAround(v, entire = false) {
    const nodes = near(v), inside = new Set(nodes), withBars = bars && bars.checked;
    const links = nodes.flatMap((c) => data.parents[c].filter((p) => inside.has(p)).map((p) => [p, c]));
    const size = (u) => {
      const box = whole.querySelector(`.box[data-v="${u}"] rect`);
      const w = Number(box.getAttribute("width")), h = Number(box.getAttribute("height"));
      if (!withBars) return { w, h };
      const its = barred && barred.querySelector(`.box[data-v="${u}"] rect`);
      const wide = its ? Number(its.getAttribute("width")) : 140;
      return { w: Math.max(w, wide), h: h + LINE * Math.min(MOST_BARS, data.states[u].length) };
    };
    const layout = layeredLayout(nodes, links, size);
    const group = makeSvg("g", { class: "all", "font-size": 13 });
    layout.routes.forEach((points, i) => {
      const arc = styles.get(links[i].join(" ")).cloneNode(true), head = arc.querySelector(".head");
      const route = points.map((point) => [...point]), tip = route[route.length - 1];
      if (head) {
        const [corner, left, right] = head.getAttribute("points").split(" ").map((c) => c.split(",").map(Number));
        const length = corner[1] - left[1], half = (right[0] - left[0]) / 2, base = tip[1] - length;
        head.setAttribute("points", [[tip[0], tip[1]], [tip[0] - half, base], [tip[0] + half, base]].join(" "));
        route[route.length - 2][1] = Math.min(route[route.length - 2][1], base);
        route[route.length - 1] = [tip[0], base];
      }
      arc.querySelector(".line").setAttribute("d", routePath(route));
      group.append(arc);
    });
    for (const [u, { x, y, w, h }] of layout.boxes) {
      const box = whole.querySelector(`.box[data-v="${u}"]`).cloneNode(true), rect = box.querySelector("rect");
      const old = { x: Number(rect.getAttribute("x")), y: Number(rect.getAttribute("y")), w: Number(rect.getAttribute("width")) };
      for (const text of all("text", box)) {
        text.setAttribute("x", x);
        text.setAttribute("y", Number(text.getAttribute("y")) - old.y + y - h / 2);
      }
      for (const [key, value] of Object.entries({ x: x - w / 2, y: y - h / 2, width: w, height: h })) {
        rect.setAttribute(key, value);
      }
      group.append(box);
    }
    around.replaceChildren(group);
    const wide = Math.max(layout.width + 36, 520), high = Math.max(layout.height + 36, 330);
    around.dataset.full = [(layout.width - wide) / 2, (layout.height - high) / 2, wide, high].join(" ");
    use(around, entire);
  }

  // The busiest variable is what a large network is first shown around.
  function hub() {
    const links = data.names.map((_, v) => data.parents[v].length + data.children[v].length);
    return links.indexOf(Math.max(...links));
  }

  function draw(entire = false) {
    if (scope.value === "around" && data.names.length) drawAround(chosen ?? hub(), entire);
    else use(bars && bars.checked && barred ? barred : whole, entire);
  }

  // Show which variables and arcs belong to the chosen one.
  function mark(v = chosen) {
    chosen = v;
    svg.querySelector(".all").classList.toggle("chosen", v !== null);
    const belonging = new Set(v === null ? [] : data.blanket[v].concat(v));
    for (const box of boxes) {
      box.classList.toggle("self", Number(box.dataset.v) === v);
      box.classList.toggle("near", belonging.has(Number(box.dataset.v)));
    }
    for (const arc of arcs) {
      arc.classList.toggle("near", v !== null && arc.dataset.arc.split(" ").map(Number).includes(v));
    }
  }

  function pick(v) {
    const changed = v !== chosen;
    mark(v);
    if (changed && v !== null && scope.value === "around") drawAround(v);
  }

  // How far evidence moves a variable: half the sum of the changes of its probabilities, in steps.
  const STEPS = [0.01, 0.05, 0.1, 0.2, 0.4];
  function colour(now, findings) {
    [marginals, known] = [now, findings];
    for (const box of boxes) {
      const v = Number(box.dataset.v);
      box.classList.toggle("seen", findings.has(v));
      const shift = now && findings.size && now[v]
        ? now[v].reduce((sum, p, k) => sum + Math.abs(p - data.marginals[v][k]), 0) / 2 : 0;
      box.dataset.moved = findings.has(v) ? 0 : STEPS.filter((step) => shift >= step).length;
    }
    if (bars && bars.checked && (svg === barred || svg === around)) boxes.forEach(fillBars);
  }

  function fillBars(box) {
    const v = Number(box.dataset.v), rect = box.querySelector("rect");
    const [x, y, w, h] = ["x", "y", "width", "height"].map((key) => Number(rect.getAttribute(key)));
    all(".mini", box).forEach((old) => old.remove());
    if (!data.states) return;
    const count = Math.min(MOST_BARS, data.states[v].length), shares = marginals ? marginals[v] : null;
    const bar = Math.min(BAR, (w - 16) / 2), space = w - 20 - bar;
    for (let k = 0; k < count; k++) {
      const top = y + h - 6 - LINE * (count - k), label = data.states[v][k];
      const fits = Math.floor(space / 5.6), tail = Math.floor((fits - 1) / 2);
      const short = label.length > fits ? `${label.slice(0, fits - 1 - tail)}…${label.slice(label.length - tail)}` : label;
      box.append(makeSvg("g", { class: "mini" },
        makeSvg("text", { x: x + 8, y: top + 11, "text-anchor": "start", "font-size": 10.5 },
          short),
        makeSvg("rect", { class: "rail", x: x + w - 8 - bar, y: top + 3, width: bar, height: 8, fill: "#dfe3e7" }),
        makeSvg("rect", { class: "fill", x: x + w - 8 - bar, y: top + 3, height: 8, fill: "#7fa6c9",
          width: shares ? bar * shares[k] : 0 }),
        makeSvg("title", {}, label)));
    }
  }

  // The slider walks through the values that occur; what is not known stays.
  const measure = byId("measure"), slider = byId("weak"), told = byId("weak-told");
  const place = new Map(data.arcs.map((arc, i) => [`${arc.p} ${arc.c}`, i]));
  function values() {
    const found = data.arcs.map((arc) => arc[measure.value]).filter((x) => x !== null);
    return [...new Set(found)].sort((a, b) => a - b);
  }
  function hide() {
    if (!measure) return;
    const steps = values();
    slider.max = Math.max(0, steps.length);
    const strict = Number(slider.value) > 0;
    const least = strict ? steps[Number(slider.value) - 1] : -Infinity;
    const isWeak = (arc) => strict && arc[measure.value] !== null && arc[measure.value] <= least;
    for (const arc of arcs) arc.classList.toggle("weak", isWeak(data.arcs[place.get(arc.dataset.arc)]));
    const shown = data.arcs.filter((arc) => !isWeak(arc)).length;
    const name = measure.selectedOptions[0].textContent;
    const limit = data.shares.includes(measure.value) ? percent(least) : number(least);
    const every = data.arcs.length, noun = every === 1 ? "arc" : "arcs";
    told.textContent = strict ? `${shown} of ${every} ${noun}: ${name} above ${limit}`
      : every === 1 ? "1 arc" : `all ${every} arcs`;
  }
  if (measure) {
    measure.addEventListener("change", () => { slider.value = 0; hide(); });
    slider.addEventListener("input", hide);
  }
  scope.addEventListener("change", () => draw());
  if (bars) bars.addEventListener("change", () => draw(true));
  window.addEventListener("beforeprint", () => show({ ...full }));
  if (data.names.length > LARGE) scope.value = "around";
  draw();
  return { pick, colour, centre, current: () => ({ svg, full }), first: data.names.length > LARGE ? hub() : null };
}
