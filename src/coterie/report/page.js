
/*
 * The page around the map: legend, search, selection, download. Texts are data of strangers, so
 * they enter the document as text nodes only.
 */
(function () {
  const STEPS = 20; // shades of confidence
  const LISTED = 100; // texts shown at once
  const get = (id) => document.getElementById(id);
  const data = unpack(JSON.parse(get("data").textContent));
  const n = data.x.length;
  const sampled = n < data.total;
  const partly = data.text !== null && data.held !== null; // the page has the texts of some marks
  let focus = null; // { kind, key, title, points }
  let mode = "cluster"; // or "confidence", or the place of a column
  let listed = 0;
  let lowered = null; // texts as search sees them

  /* Numbers travel as bytes in base64, the low byte first: 200,000 marks are some megabytes. */
  function unpack(packed) {
    const numbers = (Kind, text) => {
      const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
      const view = new DataView(bytes.buffer), width = Kind.BYTES_PER_ELEMENT;
      const read = { 1: "getUint8", 2: "getUint16", 4: "getUint32" }[width];
      return Kind.from({ length: bytes.length / width }, (_, i) => view[read](i * width, true));
    };
    for (const key of ["x", "y", "cluster"]) packed[key] = numbers(Uint16Array, packed[key]);
    packed.confidence = numbers(Uint8Array, packed.confidence);
    for (const column of packed.columns) column.codes = numbers(Uint8Array, column.codes);
    packed.row = packed.row === null ? Uint32Array.from(packed.x, (_, i) => i + 1) : numbers(Uint32Array, packed.row);
    if (packed.cuts) packed.cuts.leaf = numbers(Uint16Array, packed.cuts.leaf);
    if (packed.density) packed.density = numbers(Uint32Array, packed.density);
    if (packed.text && packed.held) {
      const texts = new Array(packed.x.length).fill(null);
      packed.held = numbers(Uint32Array, packed.held);
      packed.held.forEach((i, place) => { texts[i] = packed.text[place]; });
      packed.text = texts;
    }
    return packed;
  }

  function count(codes, kinds) {
    const out = new Array(kinds).fill(0);
    for (const code of codes) out[code]++;
    return out;
  }

  function element(tag, text, parent, name) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    if (parent) parent.append(made);
    return made;
  }

  function marker(look) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("class", "mark k" + (look.color % data.colors) + " s" + Math.floor(look.color / data.colors));
    svg.setAttribute("viewBox", "-7 -7 14 14");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", shapes[look.shape]);
    svg.append(path);
    return svg;
  }

  /* A colour is its place in the palette, which has all shades. Outliers, whose number is negative,
     have a shape of their own. Clusters of a tree look as the page says, others by their numbers. */
  const looks = new Map(!data.cuts ? [] : data.cuts.nodes.map(([id, , , color, shade, shape]) =>
    [id, { color: color + shade * data.colors, shape }]));
  const lookOf = (number) => (number < 0 ? { color: data.colors - 1, shape: data.shapes.length }
    : { color: number % data.colors, shape: number % data.shapes.length });
  const lookAt = (c) => looks.get(data.ids[c]) || lookOf(data.ids[c]);
  const shapes = [...data.shapes, data.odd];
  const sure = (i) => (data.confidence[i] / 100).toFixed(2);
  const has = (i) => Number(data.text !== null && data.text[i] !== null);
  const textOf = (i) => (has(i) ? data.text[i] : "Row " + data.row[i]);
  const nameOf = (i) => data.names[data.cluster[i]];
  const isolated = (text) => "\u2068" + text + "\u2069"; // a name from right to left moves nothing else
  const texts = (number) => number.toLocaleString("en") + (number === 1 ? " text" : " texts");

  const map = makeMap(get("canvas"), data, shapes, {
    hover: showTip,
    pick: (i) => (i < 0 ? setFocus(null) : chooseCluster(data.cluster[i])),
    lasso: (points) => setFocus(points.length ? {
      kind: "lasso", key: -1, title: texts(points.length) + " in the lasso", points,
    } : null),
    clear: () => setFocus(null),
  });

  /* Colours ------------------------------------------------------------------------------- */

  function property(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function mix(one, other, share) {
    const channel = (hex, at) => parseInt(hex.slice(at, at + 2), 16);
    const parts = [1, 3, 5].map((at) =>
      Math.round(channel(one, at) * (1 - share) + channel(other, at) * share));
    return "rgb(" + parts.join(",") + ")";
  }

  function ramp() { // from unsure to sure; orange and blue stay apart for every eye
    const [low, middle, high] = [property("--c5"), property("--line"), property("--c0")];
    return Array.from({ length: STEPS + 1 }, (_, i) => {
      const share = (2 * i) / STEPS;
      return share < 1 ? mix(low, middle, share) : mix(middle, high, share - 1);
    });
  }

  function palette() { // each colour, then its shade with more ink and that with more paper
    const plain = Array.from({ length: data.colors }, (_, i) => property("--c" + i));
    const [ink, paper] = [property("--ink"), property("--paper")];
    return [...plain, ...plain.map((c) => mix(c, ink, 0.4)), ...plain.map((c) => mix(c, paper, 0.45))];
  }

  function paint() {
    const shape = new Uint8Array(n), color = new Uint8Array(n);
    const sure = mode === "confidence", colors = sure ? ramp() : palette();
    const codes = mode === "cluster" ? data.cluster : sure ? null : data.columns[mode].codes;
    const kinds = mode === "cluster" ? data.ids.map((_, c) => lookAt(c))
      : sure ? [] : data.columns[mode].values.map((_, code) => lookOf(code));
    for (let i = 0; i < n; i++) {
      shape[i] = sure ? 0 : kinds[codes[i]].shape;
      color[i] = sure ? Math.round(data.confidence[i] * STEPS / 100) : kinds[codes[i]].color;
    }
    map.paint({ shape, color, colors },
      { ink: property("--ink"), halo: property("--halo"), shade: property("--soft") });
  }

  /* Legend -------------------------------------------------------------------------------- */

  function legend() {
    const list = get("legend");
    if (mode === "cluster" && !data.tree) {
      get("legend-title").textContent = "Clusters";
      arrange(list, data.ids.map((_, c) => line(c)));
      return pressed();
    }
    list.replaceChildren();
    if (mode === "confidence") {
      get("legend-title").textContent = "Confidence";
      const box = element("li", "", list, "ramp");
      element("i", "", box).style.background = "linear-gradient(90deg," + ramp().join(",") + ")";
      const ends = element("b", "", box);
      element("span", "0 unsure", ends);
      element("span", "1 sure", ends);
      return;
    }
    const column = mode === "cluster" ? null : data.columns[mode];
    if (data.tree && (column === null || column.name === data.first)) {
      get("legend-title").textContent = "Clusters by theme";
      const tools = element("li", "", list, "tools");
      for (const [text, open] of [["Open all", true], ["Close all", false]]) {
        const button = element("button", text, tools);
        button.type = "button";
        button.addEventListener("click", () => {
          list.querySelectorAll("details").forEach((part) => { part.open = open; });
        });
      }
      for (const node of tree) branch(node, list, column);
      data.ids.forEach((id, c) => { // outliers are in no theme
        if (id < 0) entry(list, { kind: "cluster", key: c }, column ? null : lookAt(c), data.names[c], data.sizes[c]);
      });
    } else {
      get("legend-title").textContent = column.name;
      const sizes = count(column.codes, column.values.length);
      column.values.forEach((name, i) => entry(list, { kind: "value", key: i }, lookOf(i), name, sizes[i]));
    }
    pressed();
  }

  const lines = new Map(); // of the legend, by the numbers of their clusters

  function line(c) {
    const id = data.ids[c];
    if (!lines.has(id)) {
      lines.set(id, element("li"));
      entry(lines.get(id), { kind: "cluster" }, lookAt(c), data.names[c], data.sizes[c]);
    }
    lines.get(id).firstChild.chooses.key = c; // its place in this cut
    return lines.get(id);
  }

  /* What a list shows; of what stays, nothing is touched. */
  function arrange(list, wanted) {
    const kept = new Set(wanted);
    for (const old of [...list.children]) if (!kept.has(old)) old.remove();
    let next = list.firstElementChild;
    for (const item of wanted) {
      if (item === next) next = next.nextElementSibling;
      else list.insertBefore(item, next);
    }
  }

  /* A line of the legend that selects what it names; without a marker where it has no look. */
  function entry(parent, what, look, name, size) {
    const button = element("button", "", parent.tagName === "UL" ? element("li", "", parent) : parent);
    button.type = "button";
    button.chooses = what;
    if (look !== null) button.append(marker(look));
    element("span", name, button).dir = "auto";
    element("small", size.toLocaleString("en"), button);
    button.addEventListener("click", () => {
      if (focus && focus.kind === what.kind && focus.key === what.key) setFocus(null);
      else ({ cluster: chooseCluster, value: chooseValue, theme: chooseTheme })[what.kind](what.key);
    });
  }

  /* A theme with what is inside; the marker is that of the theme where the map is coloured so. */
  function branch(node, parent, column) {
    const code = column ? column.values.indexOf(node.name) : -1;
    if (node.cluster !== undefined) {
      const c = node.cluster;
      const alone = column ? column.values.indexOf(data.names[c]) : -1; // a theme of one
      const look = !column ? lookAt(c) : alone < 0 ? null : lookOf(alone);
      entry(parent, { kind: "cluster", key: c }, look, data.names[c], data.sizes[c]);
      return;
    }
    const part = element("details", "", element("li", "", parent));
    const head = element("summary", "", part);
    entry(head, { kind: "theme", key: node.key }, code < 0 ? null : lookOf(code), node.name, node.size);
    const inside = element("ul", "", part);
    for (const child of node.inside) branch(child, inside, column);
  }

  function pressed() {
    const list = get("legend");
    list.querySelectorAll("button").forEach((button) => {
      const what = button.chooses;
      if (!what) return;
      const on = focus !== null && focus.kind === what.kind && focus.key === what.key;
      button.setAttribute("aria-pressed", String(on));
      if (on) { // scrolls the list, never the page
        for (let up = button.closest("details"); up; up = up.parentElement.closest("details")) {
          if (up.querySelector("summary button") !== button) up.open = true;
        }
        const top = button.offsetTop - list.offsetTop;
        if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) {
          list.scrollTop = top - list.clientHeight / 2;
        }
      }
    });
  }

  /* Themes: groups of clusters, which may hold smaller ones; each gets a number. */
  const themes = [];
  let depth = 0;

  function grow(node, level) {
    if (node.cluster !== undefined) {
      depth = Math.max(depth, level);
      return { ...node, level, clusters: [node.cluster] };
    }
    const inside = node.inside.map((child) => grow(child, level + 1));
    const grown = { ...node, inside, level, clusters: inside.flatMap((child) => child.clusters) };
    grown.key = themes.push(grown) - 1;
    return grown;
  }
  const tree = (data.tree || []).map((node) => grow(node, 0));

  const spots = new Map(); // of clusters by their numbers

  function labels() {
    const middle = (values) => values.sort()[values.length >> 1];
    const short = (name) => (name.length > 30 ? name.slice(0, 29) + "…" : name);
    const members = data.names.map(() => []);
    for (let i = 0; i < n; i++) members[data.cluster[i]].push(i);
    const found = [];

    /* At the median of the largest cluster: that of all may lie between them, where nothing is. */
    function put(id, name, clusters, levels) {
      const most = clusters.reduce((a, b) => (members[b].length > members[a].length ? b : a));
      if (!members[most].length) return;
      const size = clusters.reduce((sum, c) => sum + members[c].length, 0);
      let spot = spots.get(data.ids[most]); // the same in every cut
      if (!spot) {
        const [x, y] = [data.x, data.y].map((axis) => middle(Uint16Array.from(members[most], (i) => axis[i])));
        spots.set(data.ids[most], spot = { x, y });
      }
      for (const level of levels) found.push({ id, level, size, text: short(name), ...spot });
    }

    const from = (level) => Array.from({ length: depth + 1 - level }, (_, i) => level + i);
    const visit = (node) => {
      if (node.cluster !== undefined) put(node.cluster, data.names[node.cluster], node.clusters, from(node.level));
      else {
        put("theme " + node.key, node.name, node.clusters, [node.level]);
        node.inside.forEach(visit);
      }
    };
    if (tree.length) tree.forEach(visit);
    else data.names.forEach((name, c) => { if (data.ids[c] >= 0) put(c, name, [c], [0]); });
    map.label(found.sort((a, b) => b.size - a.size));
  }

  /* Focus: what is selected ------------------------------------------------------------------ */

  const all = () => Array.from({ length: n }, (_, i) => i);

  function chooseCluster(c) {
    const points = all().filter((i) => data.cluster[i] === c);
    points.sort((a, b) => has(b) - has(a) || data.confidence[b] - data.confidence[a] || a - b);
    const part = points.length < data.sizes[c] ? ", " + points.length + " of them on this page" : "";
    const title = texts(data.sizes[c]) + " in “" + data.names[c] + "”" + part + ", the surest first";
    setFocus({ kind: "cluster", key: c, title, points });
  }

  function chooseTheme(key) {
    const theme = themes[key], within = new Set(theme.clusters);
    const points = all().filter((i) => within.has(data.cluster[i]));
    points.sort((a, b) => has(b) - has(a) || data.confidence[b] - data.confidence[a] || a - b);
    const part = points.length < theme.size ? ", " + points.length + " of them on this page" : "";
    const title = texts(theme.size) + " in the theme “" + theme.name + "” of " + theme.clusters.length + " clusters" + part;
    setFocus({ kind: "theme", key, title, points });
  }

  function chooseValue(code) {
    const column = data.columns[mode];
    const points = all().filter((i) => column.codes[i] === code);
    const title = texts(points.length) + " with " + column.name + " “" + column.values[code] + "”";
    setFocus({ kind: "value", key: code, title, points });
  }

  function search() {
    const wanted = get("search").value.trim().toLowerCase();
    if (!wanted) return focus && focus.kind === "search" ? setFocus(null) : undefined;
    lowered = lowered || data.text.map((text) => (text === null ? null : text.toLowerCase()));
    const points = all().filter((i) => lowered[i] !== null && lowered[i].includes(wanted));
    const where = sampled || partly ? " on this page" : "";
    const verb = points.length === 1 ? " contains “" : " contain “";
    const title = texts(points.length) + where + verb + wanted + "”";
    setFocus({ kind: "search", key: -1, title, points });
  }

  function setFocus(next) {
    showLists();
    focus = next;
    const cluster = next && next.kind === "cluster" ? next.key : -1;
    let active = null;
    if (next) {
      active = new Uint8Array(n);
      for (const i of next.points) active[i] = 1;
    }
    if (get("search") && !(next && next.kind === "search")) get("search").value = "";
    map.focus(active, next && next.kind === "theme" ? "theme " + next.key : cluster);
    pressed();
    document.querySelectorAll(".chosen").forEach((old) => old.classList.remove("chosen"));
    const article = cluster < 0 ? null : get("cluster-" + data.ids[cluster]);
    if (article) {
      article.classList.add("chosen");
      const row = document.querySelector(`.overview tr[data-cluster="${data.ids[cluster]}"]`);
      row.classList.add("chosen");
      const theme = row.closest("details");
      if (theme) theme.open = true;
    }
    get("focus").hidden = next === null;
    get("focus-link").hidden = article === null;
    if (article) get("focus-link").href = "#" + article.id;
    get("found").replaceChildren();
    listed = 0;
    if (next) {
      get("focus-title").textContent = next.title;
      get("download").disabled = !next.points.length;
      list();
    }
    if (data.live) { // a page at work
      const rows = next ? next.points.map((i) => [data.row[i], textOf(i)]) : [];
      const detail = { cluster: cluster < 0 ? null : data.ids[cluster], rows };
      document.dispatchEvent(new CustomEvent("coterie:focus", { detail }));
    }
  }

  function list() {
    for (const i of focus.points.slice(listed, listed + LISTED)) {
      const item = element("li", "", get("found"));
      element("bdi", textOf(i), item);
      element("small", isolated(nameOf(i)) + " · confidence " + sure(i) + " · row " + data.row[i], item);
      item.addEventListener("mouseenter", () => map.mark(i));
      item.addEventListener("mouseleave", () => map.mark(-1));
    }
    listed += LISTED;
    get("more").hidden = listed >= focus.points.length;
  }

  function showTip(i, x, y) {
    const tip = get("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    element("bdi", textOf(i), tip);
    element("small", isolated(nameOf(i)) + " · confidence " + sure(i), tip);
    for (const column of data.columns) {
      element("small", column.name + ": " + column.values[column.codes[i]], tip);
    }
    const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
    const top = y + 16 + tip.offsetHeight > innerHeight ? y - 16 - tip.offsetHeight : y + 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  }

  /* Cuts: the same texts in fewer or more clusters ---------------------------------------------- */

  const cuts = data.cuts;
  const files = { cluster: data.cluster, ids: data.ids, names: data.names, sizes: data.sizes }; // of the run
  const parts = new Map(); // row of the overview and article of each cluster, by its number
  const nodes = new Map(!cuts ? [] : cuts.nodes.map(([id, name, size]) => [id, { name, size }]));
  let cut = cuts ? cuts.shown : 0, stale = false, noting = 0;

  function clustersOf(number) {
    if (number === cuts.shown) return files;
    const above = new Map();
    for (const [union, one, other] of cuts.merges.slice(0, cuts.leaves.length - number)) {
      above.set(one, union).set(other, union);
    }
    const tops = cuts.leaves.map((leaf) => {
      while (above.has(leaf)) leaf = above.get(leaf);
      return leaf;
    });
    const ids = [...new Set(tops)].sort((a, b) => nodes.get(b).size - nodes.get(a).size || a - b);
    const place = new Map(ids.map((id, c) => [id, c])), places = tops.map((id) => place.get(id));
    const out = { ids, names: ids.map((id) => nodes.get(id).name), sizes: ids.map((id) => nodes.get(id).size) };
    const odd = files.ids.indexOf(-1); // outliers are a last cluster that is none
    if (odd >= 0) for (const key of ["ids", "names", "sizes"]) out[key].push(files[key][odd]);
    out.cluster = cuts.leaf.map((leaf) => (leaf < places.length ? places[leaf] : out.ids.length - 1));
    return out;
  }

  /* The cut nearest to this one that shows a cluster. */
  function cutWith(id) {
    const finest = cuts.leaves.length;
    const born = cuts.merges.findIndex((merge) => merge[0] === id);
    const gone = cuts.merges.findIndex((merge) => merge.includes(id, 1));
    return Math.max(finest - gone, Math.min(finest - born - 1, cut));
  }

  /* Overview and articles, if a move of the slider has changed them. */
  function showLists() {
    if (!stale) return;
    stale = false;
    const shown = data.ids.filter((id) => id >= 0).map((id) => parts.get(id));
    const most = Math.max(...data.sizes.slice(0, shown.length));
    shown.forEach(({ bar }, c) => { bar.style.width = (100 * data.sizes[c]) / most + "%"; });
    arrange(document.querySelector(".overview tbody"), shown.map((part) => part.row));
    arrange(get("articles"), shown.map((part) => part.article));
    document.querySelectorAll(".of-shown").forEach((note) => { note.hidden = cut === cuts.shown; });
  }

  function showCut(number) {
    const before = focus && focus.kind === "cluster" ? data.ids[focus.key] : null;
    document.querySelectorAll(".chosen").forEach((old) => old.classList.remove("chosen"));
    cut = number;
    Object.assign(data, clustersOf(cut));
    if (mode === "cluster") paint(); // while no style has changed, which it reads
    if (!stale) requestAnimationFrame(() => setTimeout(showLists)); // when the map is drawn
    stale = true;
    const away = cut !== cuts.shown;
    get("cut").value = get("cut-number").value = cut;
    get("cut").setAttribute("aria-valuetext", cut + " clusters");
    document.querySelectorAll(".cut button").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.cut) === cut));
    });
    get("cut-said").textContent = away ? "Summary and files of the run are for " + cuts.shown + " clusters. To write these, type: coterie cut RUN " + cut
      : "The files of the run have these clusters. Move the slider for fewer or more.";
    get("cut-back").hidden = !away;
    legend();
    labels();
    if (before !== null) {
      const c = data.ids.indexOf(before);
      if (c < 0) setFocus(null);
      else chooseCluster(c);
    } else if (focus) setFocus(focus);
    document.dispatchEvent(new CustomEvent("coterie:cut"));
  }

  function moveTo(number) {
    if (!(number >= 2)) number = cut; // what was typed is no number
    showCut(Math.min(Math.round(number), cuts.leaves.length));
    clearTimeout(noting); // browsers allow an address to change a hundred times in half a minute
    noting = setTimeout(() => history.replaceState(null, "", cut === cuts.shown ? "#" : "#cut=" + cut), 200);
  }

  /* The address has the cut, and may have a part of the page after it. */
  function readAddress() {
    const [, asked, part] = /^#(?:cut=(\d+))?&?(.*)$/.exec(location.hash) || [];
    const id = Number((/^cluster-(\d+)$/.exec(part) || [])[1]);
    let number = Math.max(2, Math.min(Number(asked || cut), cuts.leaves.length));
    if (nodes.has(id) && !asked && !data.ids.includes(id)) number = cutWith(id);
    if (number !== cut) showCut(number);
    showLists();
    if (part && (asked || cut !== cuts.shown)) {
      history.replaceState(null, "", "#cut=" + cut + "&" + part);
      if (get(part)) get(part).scrollIntoView();
    }
  }

  /* Download ---------------------------------------------------------------------------------- */

  function cell(value) {
    const text = String(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text; // no formulas in spreadsheets
    return '"' + safe.replace(/"/g, '""') + '"';
  }

  function download() {
    const head = ["row", "cluster", "name", "confidence", ...data.columns.map((c) => c.name)];
    const lines = [data.text ? [...head, "text"] : head];
    for (const i of focus.points) {
      const line = [data.row[i], data.ids[data.cluster[i]], nameOf(i), sure(i)];
      for (const column of data.columns) line.push(column.values[column.codes[i]]);
      lines.push(data.text ? [...line, has(i) ? data.text[i] : ""] : line);
    }
    const content = "\ufeff" + lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
    save(new Blob([content], { type: "text/csv" }), "selected-texts.csv");
  }

  function save(blob, name) {
    const link = element("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* Wiring -------------------------------------------------------------------------------------- */

  const choices = [["cluster", "cluster"], ["confidence", "confidence"]];
  data.columns.forEach((column, i) => choices.push([String(i), column.name]));
  for (const [value, name] of choices) element("option", name, get("color")).value = value;
  const first = data.columns.findIndex((column) => column.name === data.first);
  if (first >= 0) {
    mode = first;
    get("color").value = String(first);
  }
  get("color").addEventListener("change", () => {
    const value = get("color").value;
    mode = /^\d+$/.test(value) ? Number(value) : value;
    if (focus && focus.kind === "value") setFocus(null);
    paint();
    legend();
  });
  let pause = 0;
  if (get("search")) {
    get("search").addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(search, 120);
    });
  }
  document.addEventListener("coterie:show", (event) => { // texts that the service has found
    const wanted = new Set(event.detail.rows);
    const points = all().filter((i) => wanted.has(data.row[i]));
    setFocus(points.length ? { kind: "found", key: -1, title: event.detail.title, points } : null);
  });
  get("zoom-in").addEventListener("click", () => map.zoom(1.5));
  get("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
  get("reset").addEventListener("click", () => map.reset());
  get("clear").addEventListener("click", () => setFocus(null));
  get("more").addEventListener("click", list);
  get("download").addEventListener("click", download);
  get("png").addEventListener("click", async () => save(await map.toPng(property("--raised")), "map.png"));
  get("svg").addEventListener("click", () => save(map.toSvg(property("--raised")), "map.svg"));
  get("shade").addEventListener("change", () => map.shade(get("shade").checked));
  get("lasso").addEventListener("click", () => {
    const on = get("lasso").getAttribute("aria-pressed") !== "true";
    get("lasso").setAttribute("aria-pressed", String(on));
    map.lasso(on);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && focus) setFocus(null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { paint(); legend(); });
  matchMedia("print").addEventListener("change", () => { // paper is white, also in dark rooms
    showLists();
    paint();
    map.draw(); // at once: the printer does not wait for the next frame
  });
  document.querySelectorAll(".needs-script").forEach((part) => { part.hidden = false; });
  if (cuts) {
    for (const root of [document, get("others") && get("others").content]) {
      if (!root) continue;
      root.querySelectorAll("tr[data-cluster]").forEach((row) => {
        const id = Number(row.dataset.cluster);
        parts.set(id, { row, bar: row.querySelector(".bar"), article: root.querySelector("#cluster-" + id) });
      });
    }
    get("cut").addEventListener("input", () => moveTo(Number(get("cut").value)));
    get("cut-number").addEventListener("change", () => moveTo(Number(get("cut-number").value)));
    document.querySelectorAll("[data-cut]").forEach((button) => {
      button.addEventListener("click", () => moveTo(Number(button.dataset.cut)));
    });
    addEventListener("hashchange", readAddress);
    showCut(cut);
    readAddress();
  } else {
    paint();
    legend();
    labels();
  }
  get("shade").checked = sampled && map.state().density;
  get("shade").disabled = !map.state().density;
  map.shade(get("shade").checked);
  get("canvas").mapState = map.state; // for tests and measurements
})();
