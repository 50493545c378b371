// A small layered layout: parents above children, for the neighbourhood of a variable. Levels by
// longest paths, order by barycentres, places by means of the neighbours that keep their distance.

function layeredLayout(nodes, arcs, size) {
  const GAP = 24, BETWEEN = Math.min(110, 44 + 1.5 * arcs.length);
  const level = new Map(nodes.map((v) => [v, 0]));
  for (let i = 0, moved = true; moved && i < nodes.length; i++) {
    moved = false;
    for (const [p, c] of arcs) {
      if (level.get(c) <= level.get(p)) { level.set(c, level.get(p) + 1); moved = true; }
    }
  }
  for (let i = 0; i < nodes.length; i++) {  // roots come down to their children
    for (const v of nodes) {
      const below = arcs.filter(([p]) => p === v).map(([, c]) => level.get(c));
      const above = arcs.filter(([, c]) => c === v);
      if (!above.length && below.length) level.set(v, Math.max(level.get(v), Math.min(...below) - 1));
    }
  }
  const layers = Array.from({ length: Math.max(0, ...level.values()) + 1 }, () => []);
  const cells = new Map();
  const add = (key, at, w, h) => {
    const cell = { key, at, w, h, x: 0, up: [], down: [] };
    cells.set(key, cell);
    layers[at].push(cell);
    return cell;
  };
  for (const v of nodes) add(v, level.get(v), size(v).w, size(v).h);
  const chains = arcs.map(([p, c], i) => {  // an arc passes every layer between its ends
    const chain = [cells.get(p)];
    for (let at = level.get(p) + 1; at < level.get(c); at++) chain.push(add(`${i} ${at}`, at, 4, 0));
    chain.push(cells.get(c));
    for (let k = 1; k < chain.length; k++) {
      chain[k - 1].down.push(chain[k]);
      chain[k].up.push(chain[k - 1]);
    }
    return chain;
  });
  const place = (layer) => layer.forEach((cell, i) => { cell.i = i; });
  layers.forEach(place);
  const mean = (list, key) => list.reduce((sum, cell) => sum + cell[key], 0) / list.length;
  for (let sweep = 0; sweep < 24; sweep++) {
    const side = sweep % 2 ? "down" : "up";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wanted = new Map(layer.map((cell) => [cell, cell[side].length ? mean(cell[side], "i") : cell.i]));
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      place(layer);
    }
  }
  const spread = (layer, wanted) => {  // keep the order and the distances, near what is wanted
    const right = [], left = [];
    layer.forEach((cell, i) => {
      const least = i ? right[i - 1] + (layer[i - 1].w + cell.w) / 2 + GAP : -Infinity;
      right[i] = Math.max(wanted[i], least);
    });
    for (let i = layer.length - 1; i >= 0; i--) {
      const most = i < layer.length - 1
        ? left[i + 1] - (layer[i + 1].w + layer[i].w) / 2 - GAP : Infinity;
      left[i] = Math.min(wanted[i], most);
    }
    layer.forEach((cell, i) => { cell.x = (right[i] + left[i]) / 2; });
  };
  for (const layer of layers) spread(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < 30; sweep++) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      spread(layer, layer.map((cell) => {
        const around = [...cell.up, ...cell.down];
        return around.length ? mean(around, "x") : cell.x;
      }));
    }
  }
  const heights = layers.map((layer) => Math.max(0, ...layer.map((cell) => cell.h)));
  const tops = heights.map((_, i) => heights.slice(0, i).reduce((sum, h) => sum + h + BETWEEN, 0));
  const every = [...cells.values()];
  const left = Math.min(...every.map((cell) => cell.x - cell.w / 2));
  const boxes = new Map(nodes.map((v) => {
    const { x, at, w, h } = cells.get(v);
    return [v, { x: x - left, y: tops[at] + heights[at] / 2, w, h }];
  }));
  const routes = chains.map((chain) => chain.flatMap((cell, k) => {
    const x = cell.x - left, middle = tops[cell.at] + heights[cell.at] / 2;
    if (k === 0) return [[x, middle + cell.h / 2], [x, tops[cell.at] + heights[cell.at]]];
    if (k === chain.length - 1) return [[x, tops[cell.at]], [x, middle - cell.h / 2]];
    return [[x, tops[cell.at]], [x, tops[cell.at] + heights[cell.at]]];
  }));
  return {
    boxes, routes,
    width: Math.max(...every.map((cell) => cell.x + cell.w / 2)) - left,
    height: tops[tops.length - 1] + heights[heights.length - 1],
  };
}

// A route as the data of a path: straight down inside layers, an S-curve between them.
function routePath(points) {
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; i++) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]], bend = (y1 - y0) / 2;
    path += Math.abs(x1 - x0) < 0.05 ? `V${y1.toFixed(1)}`
      : `C${[x0, y0 + bend, x1, y1 - bend, x1, y1].map((z) => z.toFixed(1)).join(" ")}`;
  }
  return path;
}
