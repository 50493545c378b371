// The picture: move, zoom, choose a variable, hide weak arcs.

function makePicture(data, choose) {
  const frame = byId("picture"), svg = frame.querySelector("svg");
  const boxes = all(".box", svg), arcs = all(".arc", svg);
  const ends = arcs.map((arc) => arc.dataset.arc.split(" ").map(Number));
  const root = svg.querySelector(".all");
  const full = svg.viewBox.baseVal;
  const whole = { x: full.x, y: full.y, w: full.width, h: full.height };
  let view = { ...whole };

  function show(next) {
    view = next;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  }

  // A large picture begins at its upper end, at a size in which names can be made out.
  const scale = Math.min(frame.clientWidth / whole.w, frame.clientHeight / whole.h);
  if (scale > 0 && scale < 0.5) {
    const w = Math.min(whole.w, frame.clientWidth / 0.5), h = w * frame.clientHeight / frame.clientWidth;
    show({ x: whole.x + (whole.w - w) / 2, y: whole.y, w, h: Math.min(whole.h, h) });
  }

  // Zoom around a point of the picture, by default its middle; never out of reach.
  function zoom(factor, px = view.x + view.w / 2, py = view.y + view.h / 2) {
    const w = Math.min(1.5 * whole.w, Math.max(120, view.w * factor)), f = w / view.w;
    show({ x: px - (px - view.x) * f, y: py - (py - view.y) * f, w, h: view.h * f });
  }

  // Picture units of a pixel, and the point under the pointer.
  const unit = () => 1 / svg.getScreenCTM().a;
  function under(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  }

  function move(dx, dy) { show({ ...view, x: view.x + dx, y: view.y + dy }); }

  // Bring a variable into view, at a size that can be read; leave the picture if it is already.
  function centre(v) {
    const at = boxes[v].getBoundingClientRect(), around = frame.getBoundingClientRect();
    const inside = at.left >= around.left && at.right <= around.right
      && at.top >= around.top && at.bottom <= around.bottom;
    if (inside && unit() < 1.5) return;
    const box = boxes[v].getBBox();
    const wide = Math.min(whole.w, Math.max(700, frame.clientWidth * 0.9));
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
  frame.addEventListener("keydown", (event) => {
    const step = view.w / 10;
    const keys = {
      "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: () => show({ ...whole }),
      ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0),
      ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step), Escape: () => choose(null),
    };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const button of all("[data-zoom]")) {
    const act = { in: () => zoom(0.75), out: () => zoom(1.33), whole: () => show({ ...whole }) };
    button.addEventListener("click", act[button.dataset.zoom]);
  }

  // Show which variables and arcs belong to the chosen one.
  function mark(v) {
    root.classList.toggle("chosen", v !== null);
    const near = new Set(v === null ? [] : data.blanket[v].concat(v));
    boxes.forEach((box, u) => {
      box.classList.toggle("self", u === v);
      box.classList.toggle("near", near.has(u));
    });
    arcs.forEach((arc, i) => arc.classList.toggle("near", v !== null && ends[i].includes(v)));
  }

  function markKnown(findings) {
    boxes.forEach((box, v) => box.classList.toggle("seen", findings.has(v)));
  }

  // The slider walks through the values that occur; what is not known stays.
  const measure = byId("measure"), slider = byId("weak"), told = byId("weak-told");
  const place = new Map(data.arcs.map((arc, i) => [`${arc.p} ${arc.c}`, i]));
  function values() {
    const found = data.arcs.map((arc) => arc[measure.value]).filter((x) => x !== null);
    return [...new Set(found)].sort((a, b) => a - b);
  }
  function hide() {
    const steps = values();
    slider.max = Math.max(0, steps.length);
    const least = Number(slider.value) > 0 ? steps[Number(slider.value) - 1] : -Infinity;
    let shown = 0;
    const strict = Number(slider.value) > 0;
    for (const arc of arcs) {
      const value = data.arcs[place.get(arc.dataset.arc)][measure.value];
      const weak = strict && value !== null && value <= least;
      arc.classList.toggle("weak", weak);
      shown += !weak;
    }
    const name = measure.selectedOptions[0].textContent;
    const limit = data.shares.includes(measure.value) ? percent(least) : number(least);
    told.textContent = strict ? `${shown} of ${arcs.length} arcs: ${name} above ${limit}`
      : `all ${arcs.length} arcs`;
  }
  if (measure) {
    measure.addEventListener("change", () => { slider.value = 0; hide(); });
    slider.addEventListener("input", hide);
    hide();
  }
  window.addEventListener("beforeprint", () => show({ ...whole }));
  return { mark, markKnown, centre };
}
