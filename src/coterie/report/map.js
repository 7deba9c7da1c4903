"use strict";

/*
 * The map: a canvas that draws points and says which of them are meant. It knows nothing of the
 * rest of the page: `on.hover(point, x, y)`, `on.pick(point)`, `on.lasso(points)` and `on.clear()`
 * tell it what happened. A point is its place in the data; -1 is none.
 */
function makeMap(canvas, data, shapes, on) {
  const SIDE = 10000; // coordinates are whole numbers from 0 to this
  const PAD = 28;
  const REACH = 12; // pixels around a point that count as the point
  const FARTHEST = 60; // zoom
  const context = canvas.getContext("2d");
  const n = data.x.length;
  const outlines = shapes.map((shape) => new Path2D(shape));
  const view = { x: 0.5, y: 0.5, zoom: 1 }; // what lies in the middle, and how large
  const pointers = new Map(); // fingers or mouse buttons that are down
  let width = 1, height = 1, ratio = 1, frame = 0;
  let look = { shape: new Uint8Array(n), color: new Uint8Array(n), colors: ["#888"] };
  let ink = "#000", halo = "#fff";
  let active = null; // 1 for points in focus, 0 for the rest; null: all alike
  let labels = [], chosen = -1;
  let marked = -1; // the point with a ring
  let cross = false; // keyboard users see what the middle is
  let lassoing = false, trail = null, moved = false, last = null;
  let sprites = new Map();

  const atX = (x) => (x / SIDE - view.x) * view.zoom * (width - 2 * PAD) + width / 2;
  const atY = (y) => (y / SIDE - view.y) * view.zoom * (height - 2 * PAD) + height / 2;

  function radius() {
    const base = n < 2000 ? 4.6 : n < 8000 ? 3.4 : 2.4;
    return base * (width < 600 ? 0.75 : 1) * Math.min(2.2, Math.pow(view.zoom, 0.35));
  }

  /* A drawn shape in a colour: copying a picture is many times faster than filling a path. */
  function sprite(shape, color, size) {
    const key = shape + "|" + color + "|" + size.toFixed(1);
    let found = sprites.get(key);
    if (!found) {
      const side = Math.ceil((2 * size + 4) * ratio);
      found = document.createElement("canvas");
      found.width = found.height = side;
      const brush = found.getContext("2d");
      brush.translate(side / 2, side / 2);
      brush.scale((size * ratio) / 5, (size * ratio) / 5);
      brush.fillStyle = look.colors[color];
      brush.strokeStyle = halo;
      brush.lineWidth = 0.9;
      brush.fill(outlines[shape]);
      brush.stroke(outlines[shape]);
      sprites.set(key, found);
    }
    return found;
  }

  function draw() {
    frame = 0;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const size = radius();
    for (const pass of active ? [0, 1] : [1]) { // points in focus above the others
      context.globalAlpha = pass ? 0.9 : 0.13;
      for (let i = 0; i < n; i++) {
        if (active && active[i] !== pass) continue;
        const x = atX(data.x[i]), y = atY(data.y[i]);
        if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
        const picture = sprite(look.shape[i], look.color[i], size);
        const side = picture.width / ratio;
        context.drawImage(picture, x - side / 2, y - side / 2, side, side);
      }
    }
    context.globalAlpha = 1;
    drawLabels();
    drawRing(size);
    if (trail) drawTrail();
    if (cross) drawCross();
  }

  /* Names of clusters, the chosen one first, then the large ones; none over another. */
  function drawLabels() {
    context.font = (width < 600 ? "600 11px" : "600 13px") + " system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const taken = [];
    const order = labels.slice().sort((a, b) => (b.id === chosen) - (a.id === chosen));
    for (const label of order) {
      const half = context.measureText(label.text).width / 2 + 4;
      const x = Math.max(half, Math.min(width - half, atX(label.x)));
      const y = atY(label.y) - 14; // above the middle, so that a tight cluster stays in sight
      if (y < 8 || y > height - 8 || atX(label.x) < 0 || atX(label.x) > width) continue;
      if (taken.some((t) => Math.abs(t.x - x) < t.half + half && Math.abs(t.y - y) < 19)) continue;
      taken.push({ x, y, half });
      context.globalAlpha = chosen < 0 || label.id === chosen ? 1 : 0.45;
      context.strokeStyle = halo;
      context.lineWidth = 5;
      context.strokeText(label.text, x, y);
      context.fillStyle = ink;
      context.fillText(label.text, x, y);
    }
    context.globalAlpha = 1;
  }

  function drawRing(size) {
    if (marked < 0) return;
    context.beginPath();
    context.arc(atX(data.x[marked]), atY(data.y[marked]), size + 4, 0, 2 * Math.PI);
    context.strokeStyle = ink;
    context.lineWidth = 2.5;
    context.stroke();
  }

  function drawTrail() {
    context.beginPath();
    trail.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.setLineDash([5, 4]);
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.stroke();
    context.setLineDash([]);
  }

  function drawCross() {
    context.beginPath();
    context.moveTo(width / 2 - 9, height / 2);
    context.lineTo(width / 2 + 9, height / 2);
    context.moveTo(width / 2, height / 2 - 9);
    context.lineTo(width / 2, height / 2 + 9);
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.stroke();
  }

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function fit() {
    const box = canvas.parentElement.getBoundingClientRect();
    width = Math.max(box.width, 2 * PAD + 1);
    height = Math.max(box.height, 2 * PAD + 1);
    ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    sprites = new Map();
    redraw();
  }

  function nearest(x, y, reach) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < n; i++) {
      const dx = atX(data.x[i]) - x, dy = atY(data.y[i]) - y;
      const distance = dx * dx + dy * dy - (active && active[i] ? 4 : 0); // focus wins a tie
      if (distance < least) { least = distance; best = i; }
    }
    return best;
  }

  function inside(polygon) {
    const found = [];
    for (let i = 0; i < n; i++) {
      const x = atX(data.x[i]), y = atY(data.y[i]);
      let odd = false;
      for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
        const [ax, ay] = polygon[a], [bx, by] = polygon[b];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }

  function pan(dx, dy) {
    view.x = Math.max(0, Math.min(1, view.x - dx / view.zoom / (width - 2 * PAD)));
    view.y = Math.max(0, Math.min(1, view.y - dy / view.zoom / (height - 2 * PAD)));
    redraw();
  }

  /* The place under (x, y) stays where it is. */
  function zoom(factor, x = width / 2, y = height / 2) {
    const next = Math.max(1, Math.min(FARTHEST, view.zoom * factor));
    const shift = 1 / view.zoom - 1 / next;
    view.x += ((x - width / 2) / (width - 2 * PAD)) * shift;
    view.y += ((y - height / 2) / (height - 2 * PAD)) * shift;
    view.zoom = next;
    if (next === 1) view.x = view.y = 0.5;
    pan(0, 0);
  }

  function reset() {
    view.x = view.y = 0.5;
    view.zoom = 1;
    redraw();
  }

  function mark(point) {
    if (point !== marked) { marked = point; redraw(); }
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  function hover(event) {
    const [x, y] = place(event);
    const point = nearest(x, y, REACH);
    mark(point);
    on.hover(point, event.clientX, event.clientY);
  }

  function pinch(event) {
    const [a, b] = [...pointers.values()];
    const before = Math.hypot(a[0] - b[0], a[1] - b[1]);
    pointers.set(event.pointerId, place(event));
    const [c, d] = [...pointers.values()];
    const middle = [(c[0] + d[0]) / 2, (c[1] + d[1]) / 2];
    zoom(Math.hypot(c[0] - d[0], c[1] - d[1]) / Math.max(before, 1), ...middle);
    moved = true;
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    cross = false;
    moved = pointers.size > 1;
    last = place(event);
    trail = (lassoing || event.shiftKey) && pointers.size === 1 ? [last] : null;
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return hover(event);
    if (pointers.size === 2) return pinch(event);
    const here = place(event);
    if (trail) {
      trail.push(here);
      redraw();
    } else if (moved || Math.hypot(here[0] - last[0], here[1] - last[1]) > 4) {
      moved = true;
      on.hover(-1);
      pan(here[0] - last[0], here[1] - last[1]);
      last = here;
    }
  });

  canvas.addEventListener("pointerup", (event) => {
    if (!pointers.delete(event.pointerId)) return;
    const line = trail;
    trail = null;
    if (line && line.length > 3) on.lasso(inside(line));
    else if (!moved && pointers.size === 0) on.pick(nearest(...place(event), REACH));
    if (pointers.size === 1) last = [...pointers.values()][0];
    redraw();
  });

  canvas.addEventListener("pointercancel", (event) => {
    pointers.delete(event.pointerId);
    trail = null;
    redraw();
  });

  canvas.addEventListener("pointerleave", () => { mark(-1); on.hover(-1); });

  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // let the page scroll
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...place(event));
  }, { passive: false });

  canvas.addEventListener("dblclick", (event) => zoom(2, ...place(event)));

  const KEYS = {
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0),
    ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
    "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: reset,
    Enter: () => on.pick(nearest(width / 2, height / 2, 80)), Escape: () => on.clear(),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    cross = true;
    KEYS[event.key]();
    const point = event.key === "Escape" ? -1 : nearest(width / 2, height / 2, 80);
    const box = canvas.getBoundingClientRect();
    mark(point);
    on.hover(point, box.left + width / 2, box.top + height / 2);
    redraw();
  });
  canvas.addEventListener("blur", () => { cross = false; mark(-1); on.hover(-1); redraw(); });

  new ResizeObserver(fit).observe(canvas.parentElement);
  fit();

  return {
    draw, mark, reset, zoom,
    paint(next, colors) { look = next; ({ ink, halo } = colors); sprites = new Map(); redraw(); },
    focus(next, cluster) { active = next; chosen = cluster; redraw(); },
    label(next) { labels = next; redraw(); },
    lasso(isOn) { lassoing = isOn; canvas.classList.toggle("lasso", isOn); },
  };
}
