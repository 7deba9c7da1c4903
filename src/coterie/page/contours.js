
/*
 * Density as areas: outlines of equal density by marching squares over a smoothed grid. The grid
 * is wider than the map, so every outline is closed and none is cut off at the edge.
 */
const CELLS = 128; // of the map on each side
const RIM = 10; // cells around it
const BLUR = [2, 2, 1]; // reach of each mean that is taken, in cells: together nearly a bell curve
const BANDS = [0.06, 0.14, 0.26, 0.42, 0.64]; // parts of the highest density

/* For each band the outlines of what is denser, as an SVG path in coordinates of the map. */
function contours(counts) {
  const side = CELLS + 2 * RIM;
  let grid = new Float32Array(side * side);
  for (let i = 0; i < counts.length; i++) {
    grid[(Math.floor(i / CELLS) + RIM) * side + (i % CELLS) + RIM] = counts[i];
  }
  for (const reach of BLUR) grid = blurred(blurred(grid, side, reach), side, reach);
  const most = grid.reduce((a, b) => Math.max(a, b), 0);
  return most ? BANDS.map((part) => isolines(grid, side, part * most)) : [];
}

/* Means along the rows, which become columns: twice, and both axes are done. */
function blurred(grid, side, reach) {
  const out = new Float32Array(grid.length);
  for (let row = 0; row < side; row++) {
    let sum = 0;
    for (let i = -reach; i < side; i++) {
      if (i + reach < side) sum += grid[row * side + i + reach];
      if (i > reach) sum -= grid[row * side + i - reach - 1];
      if (i >= 0) out[i * side + row] = sum / (2 * reach + 1);
    }
  }
  return out;
}

/* Edges of a square where a line enters and leaves it, by which corners are inside; the inside is
   on the left. Corners: top left 8, top right 4, bottom right 2, bottom left 1. */
const CROSSED = ["", "BL", "RB", "RL", "TR", "TRBL", "TB", "TL", "LT", "BT", "LTRB", "RT", "LR", "BR", "LB", ""];

function isolines(grid, side, level) {
  const next = new Map(); // the edge where a line goes on; an edge is twice its first corner, plus one if it goes down
  for (let y = 0; y + 1 < side; y++) {
    for (let x = 0; x + 1 < side; x++) {
      const i = y * side + x;
      const inside = (grid[i] >= level) * 8 + (grid[i + 1] >= level) * 4
        + (grid[i + side + 1] >= level) * 2 + (grid[i + side] >= level);
      const edges = { T: 2 * i, R: 2 * (i + 1) + 1, B: 2 * (i + side), L: 2 * i + 1 };
      const line = CROSSED[inside];
      for (let k = 0; k < line.length; k += 2) next.set(edges[line[k]], edges[line[k + 1]]);
    }
  }
  const spot = (edge) => {
    const i = edge >> 1, step = edge & 1 ? side : 1;
    const share = (level - grid[i]) / (grid[i + step] - grid[i]);
    const x = (i % side) + (edge & 1 ? 0 : share), y = Math.floor(i / side) + (edge & 1 ? share : 0);
    return [x, y].map((value) => Math.round(((value - RIM + 0.5) * SIDE) / CELLS));
  };
  let path = "";
  while (next.size) { // curves through the middles of the lines, which are their corners
    const ring = [];
    for (let edge = next.keys().next().value; next.has(edge);) {
      ring.push(spot(edge));
      const after = next.get(edge);
      next.delete(edge);
      edge = after;
    }
    const middles = ring.map(([x, y], i) => {
      const [u, v] = ring[(i + 1) % ring.length];
      return `${(x + u) >> 1} ${(y + v) >> 1}`;
    });
    path += "M" + middles[ring.length - 1] + ring.map(([x, y], i) => `Q${x} ${y} ${middles[i]}`).join("") + "Z";
  }
  return path;
}
