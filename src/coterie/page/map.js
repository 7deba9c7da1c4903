"use strict";

/*
 * The map: a canvas that draws points and says which of them are meant. It knows nothing of the
 * rest of the page: `on.hover(point, x, y)`, `on.pick(point)`, `on.name(id)`, `on.lasso(points)` and
 * `on.clear()` tell it what happened, and `on.names(room)` gives the names to show, where there is
 * room for so many. A point is its place in the data; -1 is none.
 *
 * The marks are drawn by a painter into a picture of its own: of many by WebGL, of few, or where
 * there is no WebGL, by canvas 2D. Where one drawing takes long, the last picture is moved and
 * scaled while the map moves, and drawn anew when it rests.
 */

const SIDE = 10000; // coordinates are whole numbers from 0 to this
const MANY = 5000; // marks from which WebGL draws them
const ODDS = [0.13, 0.9]; // opacity of marks beside the focus, and in it; others are not drawn

/*
 * Marks without WebGL: the pixels of a drawn shape are added to an image, colours times opacity, by
 * two multiplications each. Ten times as fast as copying shapes by canvas 2D.
 */
function planePainter(data, outlines) {
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d");
  const n = data.x.length;
  let stamps = new Map(), look = null, halo = "#fff", active = null, drawn = 0, image = null, reach = 0;

  /* Colours times opacity, what is left of the colour below (of 256), and where they go. */
  function stamp(shape, color, size, pass) {
    const key = (shape * 64 + color) * 2 + pass;
    let found = stamps.get(key);
    if (!found) {
      const side = 2 * reach, small = document.createElement("canvas");
      small.width = small.height = side;
      const brush = small.getContext("2d");
      drawShape(brush, outlines[shape], reach, reach, size / 5, look.colors[color], halo);
      const { data: bytes } = brush.getImageData(0, 0, side, side);
      const ink = [], left = [], at = [];
      for (let i = 0; i < side * side; i++) {
        const opacity = (bytes[4 * i + 3] / 255) * ODDS[pass];
        if (opacity < 0.01) continue;
        const [r, g, b] = bytes.subarray(4 * i, 4 * i + 3);
        ink.push((Math.floor(255 * opacity) << 24) | (Math.floor(b * opacity) << 16)
          | (Math.floor(g * opacity) << 8) | Math.floor(r * opacity));
        left.push(Math.floor(256 * (1 - opacity)));
        at.push((Math.floor(i / side) - reach) * image.width + (i % side) - reach);
      }
      found = { ink: Int32Array.from(ink), left: Int32Array.from(left), at: Int32Array.from(at) };
      stamps.set(key, found);
    }
    return found;
  }

  function divide(pixels) { // colours alone, as a canvas wants them
    for (let i = 0; i < pixels.length; i++) {
      const pixel = pixels[i];
      if (pixel === 0) continue;
      const opacity = pixel >>> 24, by = 255 / opacity;
      pixels[i] = (opacity << 24) | ((((pixel >>> 16) & 255) * by) << 16)
        | ((((pixel >>> 8) & 255) * by) << 8) | ((pixel & 255) * by);
    }
  }

  return {
    picture, kind: "2d",
    paint(next, edge, fresh) {
      look = next;
      halo = edge;
      if (fresh) stamps = new Map();
    },
    focus(next) { active = next; },
    render(width, height, scaleX, scaleY, offX, offY, size) {
      picture.width = width;
      picture.height = height;
      if (size !== drawn) stamps = new Map();
      drawn = size;
      reach = Math.ceil(size + 2);
      const side = 4 * reach; // marks at the edge need no care
      if (!image || image.width !== width + side || image.height !== height + side) {
        image = new ImageData(width + side, height + side);
        stamps = new Map();
      }
      const pixels = new Int32Array(image.data.buffer);
      pixels.fill(0);
      for (const pass of active ? [0, 1] : [1]) { // points in focus above the others
        for (let i = 0; i < n; i++) {
          if (active && active[i] !== pass) continue;
          const x = Math.round(data.x[i] * scaleX + offX), y = Math.round(data.y[i] * scaleY + offY);
          if (x < -reach || y < -reach || x > width + reach || y > height + reach) continue;
          const { ink, left, at } = stamp(look.shape[i], look.color[i], size, pass);
          const place = (y + 2 * reach) * image.width + x + 2 * reach;
          for (let k = 0; k < at.length; k++) {
            const below = pixels[place + at[k]], rest = left[k];
            pixels[place + at[k]] = (ink[k] + ((Math.imul(below & 0xff00ff, rest) >>> 8) & 0xff00ff)
              + (Math.imul((below >>> 8) & 0xff00ff, rest) & ~0xff00ff)) | 0;
          }
        }
      }
      divide(pixels);
      context.putImageData(image, -2 * reach, -2 * reach);
    },
  };
}

function drawShape(brush, outline, x, y, scale, color, halo) {
  brush.setTransform(scale, 0, 0, scale, x, y);
  brush.fillStyle = color;
  brush.strokeStyle = halo;
  brush.lineWidth = 0.9;
  brush.fill(outline);
  brush.stroke(outline);
}

/* The same marks by WebGL, from one texture that holds every shape in every colour; or null. */
function glPainter(data, outlines) {
  const picture = document.createElement("canvas");
  const gl = picture.getContext("webgl", { premultipliedAlpha: true, antialias: false });
  if (!gl || gl.isContextLost()) return null;
  const CELL = 64, COLUMNS = 8, ROWS = 32; // a texture of 512 x 2048
  const n = data.x.length;
  const vertex = `
    attribute vec2 place; attribute vec3 look;
    uniform vec4 where; uniform vec2 side; uniform float size, pass, focused;
    varying vec2 cell; varying float opacity;
    void main() {
      vec2 at = (place * where.xy + where.zw) / side * 2.0 - 1.0;
      bool out_of_turn = focused > 0.5 && abs(look.z - pass) > 0.5;
      gl_Position = out_of_turn ? vec4(9.0, 9.0, 0.0, 1.0) : vec4(at.x, -at.y, 0.0, 1.0);
      gl_PointSize = size;
      cell = look.xy;
      opacity = pass > 0.5 ? ${ODDS[1]} : ${ODDS[0]};
    }`;
  const fragment = `
    precision mediump float;
    uniform sampler2D shapes; varying vec2 cell; varying float opacity;
    void main() {
      gl_FragColor = opacity * texture2D(shapes, (cell + gl_PointCoord) / vec2(${COLUMNS}.0, ${ROWS}.0));
    }`;
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const uniform = (name) => gl.getUniformLocation(program, name);
  const at = { where: uniform("where"), side: uniform("side"), size: uniform("size"),
    pass: uniform("pass"), focused: uniform("focused") };

  function buffer(name, values, width) {
    const made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    const place = gl.getAttribLocation(program, name);
    const kind = values instanceof Uint16Array ? gl.UNSIGNED_SHORT : gl.UNSIGNED_BYTE;
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, kind, false, 0, 0);
    return made;
  }
  const places = new Uint16Array(2 * n);
  for (let i = 0; i < n; i++) { places[2 * i] = data.x[i]; places[2 * i + 1] = data.y[i]; }
  buffer("place", places, 2);
  const looks = new Uint8Array(4 * n); // shape, colour, focus; four bytes a mark keep them aligned
  const lookBuffer = buffer("look", looks, 3);
  gl.vertexAttribPointer(gl.getAttribLocation(program, "look"), 3, gl.UNSIGNED_BYTE, false, 4, 0);
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
  let focused = false, changed = true;

  return {
    picture, kind: "webgl",
    lost: () => gl.isContextLost(),
    paint(look, halo, fresh) {
      if (fresh) this.mix(look.colors, halo);
      for (let i = 0; i < n; i++) { looks[4 * i] = look.shape[i]; looks[4 * i + 1] = look.color[i]; }
      changed = true;
    },
    mix(colors, halo) {
      const atlas = document.createElement("canvas");
      atlas.width = COLUMNS * CELL;
      atlas.height = ROWS * CELL;
      const brush = atlas.getContext("2d");
      colors.forEach((color, row) => outlines.forEach((outline, column) => {
        drawShape(brush, outline, (column + 0.5) * CELL, (row + 0.5) * CELL, CELL / 16, color, halo);
      }));
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, atlas);
      gl.generateMipmap(gl.TEXTURE_2D);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_NEAREST);
    },
    focus(active) {
      focused = active !== null;
      if (active) for (let i = 0; i < n; i++) looks[4 * i + 2] = active[i];
      changed = true;
    },
    render(width, height, scaleX, scaleY, offX, offY, size) {
      if (picture.width !== width || picture.height !== height) {
        picture.width = width;
        picture.height = height;
      }
      if (changed) {
        gl.bindBuffer(gl.ARRAY_BUFFER, lookBuffer);
        gl.bufferSubData(gl.ARRAY_BUFFER, 0, looks);
        changed = false;
      }
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(at.where, scaleX, scaleY, offX, offY);
      gl.uniform2f(at.side, width, height);
      gl.uniform1f(at.size, size * 3.2); // a shape of radius 5 in a cell of 16
      gl.uniform1f(at.focused, focused ? 1 : 0);
      for (const pass of focused ? [0, 1] : [1]) {
        gl.uniform1f(at.pass, pass);
        gl.drawArrays(gl.POINTS, 0, n);
      }
    },
  };
}

/* Points by the cells of a grid that they lie in: finds those near a place. */
function gridIndex(data) {
  const cells = 256, n = data.x.length;
  const cell = (value) => Math.max(0, Math.min(cells - 1, Math.floor((value * cells) / SIDE)));
  const starts = new Uint32Array(cells * cells + 1), order = new Uint32Array(n);
  for (let i = 0; i < n; i++) starts[cell(data.y[i]) * cells + cell(data.x[i]) + 1]++;
  for (let i = 0; i < cells * cells; i++) starts[i + 1] += starts[i];
  const next = starts.slice();
  for (let i = 0; i < n; i++) order[next[cell(data.y[i]) * cells + cell(data.x[i])]++] = i;
  return function each(left, right, top, bottom, visit) {
    for (let row = cell(top); row <= cell(bottom); row++) {
      const end = starts[row * cells + cell(right) + 1];
      for (let k = starts[row * cells + cell(left)]; k < end; k++) visit(order[k]);
    }
  };
}

function makeMap(canvas, data, shapes, on) {
  const PAD = 36;
  const REACH = 12; // pixels around a point that count as the point
  const FARTHEST = 60; // zoom
  const ROOM = 24000; // pixels of the map for one name
  const BAND = 0.07; // opacity of an area denser than others
  const SLOW = 24; // milliseconds of a drawing from which the last picture is moved instead
  const SLUGGISH = 120; // milliseconds that a graphics card never takes
  const REST = [90, 800]; // milliseconds without a move, then it is drawn anew; more if that is slow
  const MARGIN = 160; // pixels around the window that a slow drawing holds, too
  const context = canvas.getContext("2d");
  const n = data.x.length;
  const outlines = shapes.map((shape) => new Path2D(shape));
  const view = { x: 0.5, y: 0.5, zoom: 1 }; // what lies in the middle, and how large
  const pointers = new Map(); // fingers or mouse buttons that are down
  let width = 1, height = 1, ratio = 1, frame = 0;
  let look = { shape: new Uint8Array(n), color: new Uint8Array(n), colors: ["#888"] };
  let ink = "#000", halo = "#fff";
  let active = null; // 1 for points in focus, 0 for the rest; null: all alike
  let chosen = null; // the name of what is selected
  const near = gridIndex(data);
  let marked = -1; // the point with a ring
  let cross = false; // keyboard users see what the middle is
  let lassoing = false, trail = null, moved = false, last = null;
  let painter = (n > MANY && glPainter(data, outlines)) || planePainter(data, outlines);
  let drawn = null; // what the picture of the painter shows
  let slow = false, sluggish = 0, rest = 0, cost = 0;
  let bands = [], partly = false, shaded = false, shade = "#888", mixed = "";
  let shown = []; // names, as they are placed now
  const still = document.createElement("canvas"); // density and marks, where the picture is moved

  const atX = (x) => (x / SIDE - view.x) * view.zoom * (width - 2 * PAD) + width / 2;
  const atY = (y) => (y / SIDE - view.y) * view.zoom * (height - 2 * PAD) + height / 2;

  function radius() {
    const base = n < 2000 ? 4.6 : n < 8000 ? 3.4 : n < 40000 ? 2.4 : n < 100000 ? 1.7 : 1.3;
    const grown = base * (width < 600 ? 0.75 : 1) * Math.pow(view.zoom, n < 40000 ? 0.35 : 0.5);
    return Math.min(base < 3 ? 5.3 : 2.2 * base, grown);
  }

  function changed() {
    drawn = null;
    redraw();
  }

  /* Draw the marks into the picture of the painter, as the view is now. */
  function renderMarks() {
    const begun = performance.now();
    if (painter.lost && (painter.lost() || sluggish > 2)) { // no graphics card, or its driver gave up
      painter = planePainter(data, outlines);
      painter.paint(look, halo, true);
      painter.focus(active);
    }
    const margin = slow ? MARGIN : 0;
    const across = view.zoom * (width - 2 * PAD), down = view.zoom * (height - 2 * PAD);
    painter.render(
      Math.round((width + 2 * margin) * ratio), Math.round((height + 2 * margin) * ratio),
      (across / SIDE) * ratio, (down / SIDE) * ratio,
      (width / 2 - view.x * across + margin) * ratio, (height / 2 - view.y * down + margin) * ratio,
      radius() * ratio,
    );
    drawn = { ...view, margin };
    if (margin) {
      still.width = painter.picture.width;
      still.height = painter.picture.height;
      const brush = still.getContext("2d");
      brush.setTransform(ratio, 0, 0, ratio, margin * ratio, margin * ratio);
      drawDensity(brush);
      brush.resetTransform();
      brush.drawImage(painter.picture, 0, 0);
    }
    return begun;
  }

  function draw() {
    frame = 0;
    const same = drawn && drawn.x === view.x && drawn.y === view.y && drawn.zoom === view.zoom;
    let begun = 0;
    if (!drawn || (!same && !slow)) begun = renderMarks();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!drawn.margin) drawDensity(context);
    placePicture(drawn.margin ? still : painter.picture);
    if (begun) {
      cost = performance.now() - begun;
      if (cost > SLUGGISH) sluggish++;
      slow = cost > SLOW;
    }
    clearTimeout(rest);
    if (slow && !same && !begun) rest = setTimeout(changed, Math.max(REST[0], Math.min(cost, REST[1])));
    drawNames(context);
    drawRing(radius());
    if (trail) drawTrail();
    if (cross) drawCross();
  }

  /* The picture of the marks, moved and scaled from the view it was drawn for to this one. */
  function placePicture(picture) {
    const factor = view.zoom / drawn.zoom;
    const across = drawn.zoom * (width - 2 * PAD), down = drawn.zoom * (height - 2 * PAD);
    const x = width / 2 + factor * (across * (drawn.x - view.x) - width / 2 - drawn.margin);
    const y = height / 2 + factor * (down * (drawn.y - view.y) - height / 2 - drawn.margin);
    context.drawImage(picture, x, y, (picture.width / ratio) * factor, (picture.height / ratio) * factor);
  }

  /* How many texts of the map lie where, without those that are left out. */
  function measureDensity() {
    partly = active !== null && active.includes(2);
    const counts = new Uint32Array(CELLS * CELLS);
    const cell = (value) => Math.min(CELLS - 1, Math.floor((value / SIDE) * CELLS));
    for (let i = 0; i < n; i++) if (!partly || active[i] < 2) counts[cell(data.y[i]) * CELLS + cell(data.x[i])]++;
    bands = contours(counts).map((path) => ({ path, area: new Path2D(path) }));
  }

  const toMap = () => [(atX(SIDE) - atX(0)) / SIDE, 0, 0, (atY(SIDE) - atY(0)) / SIDE, atX(0), atY(0)];

  function drawDensity(brush) {
    if (!shaded) return;
    brush.save();
    brush.transform(...toMap());
    brush.fillStyle = shade;
    brush.globalAlpha = BAND;
    for (const { area } of bands) brush.fill(area);
    brush.restore();
  }

  const FONT = "system-ui, sans-serif", LINE = 1.15; // of names; the height of a line by that of the font
  const widths = new Map(); // of names in a font of 100 pixels
  const blocks = new Map(), pictures = new Map(); // of names

  function wide(text) {
    if (!widths.has(text)) {
      context.font = "600 100px " + FONT;
      widths.set(text, context.measureText(text).width);
    }
    return widths.get(text);
  }

  /* Names that there is room for, the larger a cluster the larger its name; the chosen one first. */
  function placeNames() {
    const [least, most] = width < 600 ? [10, 13.5] : [11.5, 17.5], widest = width < 600 ? 80 : 120;
    const room = Math.max(5, (width * height) / ROOM) * view.zoom * view.zoom;
    const names = on.names(Math.pow(1.25, Math.floor(Math.log(room) / Math.log(1.25))), chosen); // in steps: they stay a while
    const largest = names.reduce((a, name) => (name.fills ? a : Math.max(a, name.size)), 1);
    return arrangeNames(names.map((name) => {
      const grown = name.fills ? 0 : (most - least) * Math.sqrt(name.size / largest);
      return { ...name, ...block(name.text, Math.round(2 * (least + grown)) / 2, widest),
        atX: atX(name.x), atY: atY(name.y), faint: chosen !== null && name.id !== chosen };
    }), width, height);
  }

  /* A name on its lines, which is measured once. */
  function block(text, font, widest) {
    const key = font + " " + widest + " " + text;
    if (!blocks.has(key)) {
      const lines = wrapped(text, widest, (part) => (wide(part) * font) / 100);
      blocks.set(key, { key, font, lines, width: (Math.max(...lines.map(wide)) * font) / 100,
        height: lines.length * font * LINE });
    }
    return blocks.get(key);
  }

  function drawNames(brush) {
    shown = placeNames();
    for (const name of shown) {
      const { picture, rim } = written(name);
      brush.globalAlpha = name.faint ? 0.45 : 1;
      brush.drawImage(picture, name.x - name.width / 2 - rim, name.y - name.height / 2 - rim,
        picture.width / ratio, picture.height / ratio);
    }
    brush.globalAlpha = 1;
  }

  /* The picture of a name: text with a halo takes long to draw, and names stay while the map moves. */
  function written({ key, lines, font, width: across, height: down }) {
    const look = [key, ink, halo, ratio].join(" ");
    if (!pictures.has(look)) {
      const picture = document.createElement("canvas"), brush = picture.getContext("2d"), rim = font / 2;
      picture.width = Math.ceil((across + 2 * rim) * ratio);
      picture.height = Math.ceil((down + 2 * rim) * ratio);
      brush.scale(ratio, ratio);
      brush.textAlign = "center";
      brush.textBaseline = "middle";
      brush.lineJoin = "round";
      brush.font = `600 ${font}px ${FONT}`;
      brush.strokeStyle = halo;
      brush.lineWidth = font / 2.8;
      brush.fillStyle = ink;
      for (const draw of ["strokeText", "fillText"]) {
        lines.forEach((line, i) => brush[draw](line, rim + across / 2, rim + (i + 0.5) * font * LINE));
      }
      pictures.set(look, { picture, rim });
    }
    return pictures.get(look);
  }

  const nameAt = (x, y) => shown.find((name) =>
    Math.abs(name.x - x) < name.width / 2 + GAP && Math.abs(name.y - y) < name.height / 2);

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
    drawn = null;
    redraw();
  }

  function nearest(x, y, reach) {
    let best = -1, least = reach * reach;
    const [scaleX, , , scaleY, offX, offY] = toMap();
    near((x - reach - offX) / scaleX, (x + reach - offX) / scaleX,
      (y - reach - offY) / scaleY, (y + reach - offY) / scaleY, (i) => {
        if (active && active[i] === 2) return;
        const dx = atX(data.x[i]) - x, dy = atY(data.y[i]) - y;
        const distance = dx * dx + dy * dy - (active && active[i] ? 4 : 0); // focus wins a tie
        if (distance < least || (distance === least && i < best)) { least = distance; best = i; }
      });
    return best;
  }

  function inside(polygon) {
    const found = [];
    const [scaleX, , , scaleY, offX, offY] = toMap();
    const corners = polygon.map(([x, y]) => [(x - offX) / scaleX, (y - offY) / scaleY]);
    const [across, down] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
    near(Math.min(...across), Math.max(...across), Math.min(...down), Math.max(...down), (i) => {
      if (active && active[i] === 2) return;
      let odd = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
        const [ax, ay] = corners[a], [bx, by] = corners[b];
        if (ay > data.y[i] !== by > data.y[i]
          && data.x[i] < ((bx - ax) * (data.y[i] - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) found.push(i);
    });
    return found.sort((a, b) => a - b);
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

  /* The map as it is seen now, twice as fine, on paper. */
  function toPng(paper) {
    const picture = document.createElement("canvas");
    const before = ratio;
    ratio = 2;
    renderMarks();
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(height * ratio);
    const brush = picture.getContext("2d");
    brush.fillStyle = paper;
    brush.fillRect(0, 0, picture.width, picture.height);
    brush.scale(ratio, ratio);
    drawDensity(brush);
    brush.drawImage(painter.picture, -drawn.margin, -drawn.margin,
      painter.picture.width / ratio, painter.picture.height / ratio);
    drawNames(brush);
    ratio = before;
    changed();
    return new Promise((done) => picture.toBlob(done, "image/png"));
  }

  /* The same as SVG. Of very many marks each is a dot of its colour: shapes would be megabytes. */
  function toSvg(paper) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const put = (parent, tag, attributes, text) => {
      const made = document.createElementNS(space, tag);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text) made.textContent = text;
      parent.append(made);
      return made;
    };
    const [w, h] = [width, height].map((side) => side.toFixed(0));
    for (const [key, value] of [["width", w], ["height", h], ["viewBox", `0 0 ${w} ${h}`]]) {
      svg.setAttribute(key, value);
    }
    put(svg, "rect", { width: w, height: h, fill: paper });
    if (shaded) {
      const layer = put(svg, "g", { transform: `matrix(${toMap().join(" ")})`, fill: shade, "fill-opacity": BAND });
      for (const { path } of bands) put(layer, "path", { d: path });
    }
    const size = radius();
    for (const pass of active ? [0, 1] : [1]) {
      const groups = new Map(); // places by colour and shape
      let count = 0;
      for (let i = 0; i < n; i++) {
        if (active && active[i] !== pass) continue;
        const x = atX(data.x[i]), y = atY(data.y[i]);
        if (x < -size || y < -size || x > width + size || y > height + size) continue;
        const key = look.color[i] * 64 + look.shape[i];
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push([x.toFixed(1), y.toFixed(1)]);
        count++;
      }
      const layer = put(svg, "g", { opacity: ODDS[pass] });
      for (const [key, places] of [...groups].sort((a, b) => a[0] - b[0])) {
        const color = look.colors[key >> 6];
        if (count > 4 * MANY) {
          put(layer, "path", { d: places.map(([x, y]) => `M${x} ${y}h0`).join(""), fill: "none",
            stroke: color, "stroke-width": (2 * size).toFixed(2), "stroke-linecap": "round" });
        } else {
          const group = put(layer, "g", { fill: color });
          for (const [x, y] of places) {
            put(group, "path", { d: shapes[key & 63],
              transform: `translate(${x} ${y}) scale(${(size / 5).toFixed(3)})` });
          }
        }
      }
    }
    const names = put(svg, "g", { "font-family": FONT, "font-weight": 600, "text-anchor": "middle",
      "dominant-baseline": "central", fill: ink, stroke: paper, "stroke-width": 4,
      "stroke-linejoin": "round", "paint-order": "stroke" });
    for (const { lines, x, y, height: down, font, faint } of shown) {
      lines.forEach((line, i) => put(names, "text", { x: x.toFixed(1), opacity: faint ? 0.45 : 1,
        y: (y - down / 2 + (i + 0.5) * font * LINE).toFixed(1), "font-size": font }, line));
    }
    return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
  }

  function mark(point) {
    if (point !== marked) { marked = point; redraw(); }
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  function hover(event) {
    const [x, y] = place(event), named = nameAt(x, y);
    canvas.style.cursor = named ? "pointer" : "";
    const point = named ? -1 : nearest(x, y, REACH);
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
    else if (!moved && pointers.size === 0) {
      const named = nameAt(...place(event));
      if (named) on.name(named.id);
      else on.pick(nearest(...place(event), REACH));
    }
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
    mark, reset, zoom, toPng, toSvg,
    draw() { drawn = null; draw(); },
    paint(next, colors) {
      const key = JSON.stringify([next.colors, colors]), fresh = key !== mixed; // else marks changed alone
      mixed = key;
      look = next;
      ({ ink, halo } = colors);
      shade = colors.shade;
      painter.paint(look, halo, fresh);
      changed();
    },
    focus(next, name) {
      active = next;
      chosen = name;
      painter.focus(next);
      if (shaded && (partly || (next && next.includes(2)))) measureDensity();
      changed();
    },
    redraw,
    shade(isOn) {
      shaded = isOn;
      if (shaded) measureDensity();
      changed();
    },
    lasso(isOn) { lassoing = isOn; canvas.classList.toggle("lasso", isOn); },
    state: () => ({ painter: painter.kind, slow, cost, zoom: view.zoom, bands: bands.length,
      names: shown.map(({ id, lines, x, y, width, height, fills }) => ({ id, lines, x, y, width, height, fills })) }),
  };
}

