
/*
 * Names on the map: where each is put so that none covers another, and on how many lines. They
 * come the most important first; one for which there is no room near its place is left out. Those
 * that fill gaps keep away from others.
 */
const LINES = 3;
const GAP = 3; // pixels between two names
const AWAY = 16; // around one that fills a gap
const TRIES = [[0, -0.7], [0, 0.7], [0.5, -1], [-0.5, -1], [0.5, 1], [-0.5, 1],
  [0.8, 0], [-0.8, 0], [0, -1.7], [0, 1.7], [0.8, -1.6], [-0.8, -1.6], [0.8, 1.6], [-0.8, 1.6]]; // widths, heights

/* Lines of about equal width: two where the name is wide, three where it is very wide. */
function wrapped(name, widest, measure) {
  const words = name.split(" ");
  const wanted = measure(name) <= widest ? 1 : measure(name) <= 2.4 * widest ? 2 : LINES;
  for (let width = measure(name) / wanted; ; width *= 1.08) {
    const lines = [];
    for (const word of words) {
      const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
      if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    if (lines.length <= wanted) return lines.map((line) => shortened(line, 1.7 * widest, measure));
  }
}

function shortened(line, widest, measure) {
  if (measure(line) <= widest) return line;
  let end = line.length;
  while (end > 1 && measure(line.slice(0, end) + "…") > widest) end = Math.floor(0.9 * end);
  return line.slice(0, end) + "…";
}

/* Boxes of names, { x, y } their middle; `names` have the place that they belong to. */
function arrangeNames(names, width, height) {
  const taken = [];
  for (const name of names) {
    const away = name.fills ? AWAY : GAP;
    const across = name.width / 2 + GAP, down = name.height / 2 + GAP;
    if (name.atX < 0 || name.atX > width || name.atY < 0 || name.atY > height) continue;
    for (const [right, below] of name.fills ? TRIES.slice(0, 2) : TRIES) {
      const x = Math.max(across, Math.min(width - across, name.atX + right * name.width));
      const y = Math.max(down, Math.min(height - down, name.atY + below * name.height));
      const free = taken.every((other) => Math.abs(other.x - x) >= (name.width + other.width) / 2 + away
        || Math.abs(other.y - y) >= (name.height + other.height) / 2 + away);
      if (!free) continue;
      taken.push({ ...name, x, y });
      break;
    }
  }
  return taken;
}
