
/*
 * The page around the map: legend, search, selection, filters, download. Texts are data of strangers, so
 * they enter the document as text nodes only.
 */
(function () {
  const STEPS = 20; // shades of confidence
  const LISTED = 100; // texts shown at once
  const DENSE = 100; // marks from which density is shown
  const NAMED = 12; // values of a column that have a look of their own
  const NOWHERE = 0xffff; // the finest cluster of texts that lie in none
  const get = (id) => document.getElementById(id);
  const data = unpack(JSON.parse(get("data").textContent));
  const n = data.x.length;
  const sampled = n < data.total;
  let focus = null; // what is selected: { kind, key, what, size, points }
  let mode = "cluster"; // or "confidence", or the place of a column
  let listed = 0, points = []; // of the list: what is selected and not left out by a filter
  let cut = data.cuts ? data.cuts.shown : 0; // the number of clusters
  let stale = false; // whether overview and articles are of another cut
  let lowered = null; // texts as search sees them

  /* Numbers travel as bytes in base64, the low byte first, as every browser of today has them. */
  function unpack(packed) {
    const numbers = (Kind, text) => {
      const signs = atob(text), bytes = new Uint8Array(signs.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = signs.charCodeAt(i);
      return new Kind(bytes.buffer);
    };
    for (const key of ["x", "y", "cluster"]) packed[key] = numbers(Uint16Array, packed[key]);
    packed.confidence = numbers(Uint8Array, packed.confidence);
    for (const column of packed.columns) column.codes = numbers(Uint8Array, column.codes);
    packed.row = packed.row === null ? Uint32Array.from(packed.x, (_, i) => i + 1) : numbers(Uint32Array, packed.row);
    if (packed.cuts) packed.cuts.leaf = numbers(Uint16Array, packed.cuts.leaf);
    return packed;
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

  /* A colour is its place in the palette, which has all shades. Clusters look as the page says;
     outliers, whose number is negative, have a shape of their own, and values of columns go round. */
  const looks = new Map((data.cuts ? data.cuts.nodes.map(([id, , , ...look]) => [id, look])
    : data.looks.map((look, c) => [data.ids[c], look])).map(([id, [color, shade, shape]]) =>
    [id, { color: color + shade * data.colors, shape }]));
  const lookOf = (number) => ({ color: number % data.colors, shape: number % data.shapes.length });
  const ODD = { color: data.colors - 1, shape: data.shapes.length };
  const lookAt = (c) => looks.get(data.ids[c]) || ODD;
  const shapes = [...data.shapes, data.odd];
  const sure = (i) => (data.confidence[i] / 100).toFixed(2);
  const has = (i) => Number(data.text !== null && data.text[i] !== null);
  const textOf = (i) => (has(i) ? data.text[i] : "Row " + data.row[i]);
  const nameOf = (i) => data.names[data.cluster[i]];
  const isolated = (text) => "\u2068" + text + "\u2069"; // a name from right to left moves nothing else
  const texts = (number) => number.toLocaleString("en") + (number === 1 ? " text" : " texts");

  const filters = makeFilters(get("filters"), data.columns, n, () => {
    spots.clear();
    figures();
    pressed();
    select();
    noteAddress();
  });
  const map = makeMap(get("canvas"), data, shapes, {
    hover: showTip,
    pick: (i) => choose(i < 0 ? null : data.ids[data.cluster[i]]),
    name: choose,
    names,
    lasso: (caught) => setFocus(caught.length ? { kind: "lasso", what: "in the lasso", points: caught } : null),
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

  function ramp() { // from unsure to sure, or early to late; orange and blue stay apart for every eye
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

  /* How a value of a column looks: from the twelfth on alike, and periods by their order. */
  const others = (column) => column.values.length > NAMED && NAMED - 1;
  function lookOfValue(column, code) {
    if (code < column.periods) return { color: Math.round((code * STEPS) / Math.max(1, column.periods - 1)), shape: 0 };
    if (column.periods) return { color: STEPS / 2, shape: data.shapes.length };
    return others(column) && code >= others(column) ? ODD : lookOf(code);
  }

  function paint() {
    const shape = new Uint8Array(n), color = new Uint8Array(n);
    const sure = mode === "confidence", column = data.columns[mode];
    const codes = mode === "cluster" ? data.cluster : sure ? null : column.codes;
    const kinds = mode === "cluster" ? data.ids.map((_, c) => lookAt(c))
      : sure ? [] : column.values.map((_, code) => lookOfValue(column, code));
    for (let i = 0; i < n; i++) {
      shape[i] = sure ? 0 : kinds[codes[i]].shape;
      color[i] = sure ? Math.round(data.confidence[i] * STEPS / 100) : kinds[codes[i]].color;
    }
    map.paint({ shape, color, colors: sure || (column && column.periods) ? ramp() : palette() },
      { ink: property("--ink"), halo: property("--halo"), shade: property("--soft") });
  }

  /* Legend -------------------------------------------------------------------------------- */

  function legend() {
    const list = get("legend"), column = data.columns[mode];
    get("legend-title").textContent = column ? column.name : mode === "confidence" ? "Confidence"
      : "Clusters";
    if (mode === "cluster") arrange(list, data.ids.map((id) => line(id)));
    else list.replaceChildren();
    if (mode === "confidence") scale(list, "0 unsure", "1 sure");
    else if (column && column.periods) scale(list, column.values[0], column.values[column.periods - 1]);
    else if (column) {
      const named = others(column) || column.values.length;
      column.values.slice(0, named).forEach((name, code) => value(list, [code], lookOf(code), name));
      if (named < column.values.length) value(list, column.values.map((_, code) => code).slice(named), ODD, "(other)");
    }
    figures();
    pressed();
  }

  function scale(list, low, high) {
    const box = element("li", "", list, "ramp");
    element("i", "", box).style.background = "linear-gradient(90deg," + ramp().join(",") + ")";
    const ends = element("b", "", box);
    element("span", low, ends);
    element("span", high, ends);
  }

  const lines = new Map(); // of the legend, by the numbers of their clusters

  function line(id) {
    if (!lines.has(id)) {
      const item = element("li");
      const button = entry(item, looks.get(id) || ODD, groups.get(id).name, () => choose(isChosen(id) ? null : id));
      button.group = id;
      lines.set(id, item);
    }
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

  function entry(parent, look, name, chosen) {
    const button = element("button", "", parent);
    button.type = "button";
    button.append(marker(look));
    element("span", name, button).dir = "auto";
    element("small", "", button);
    button.addEventListener("click", chosen);
    return button;
  }

  /* A value of a column; choosing it is a filter. */
  function value(list, codes, look, name) {
    const button = entry(element("li", "", list), look, name, () => filters.toggle(mode, codes));
    button.codes = codes;
  }

  const isChosen = (id) => focus !== null && focus.kind === "group" && focus.key === id;

  function pressed() {
    const list = get("legend");
    list.querySelectorAll("button").forEach((button) => {
      if (button.codes) return button.setAttribute("aria-pressed", String(filters.has(mode, button.codes)));
      if (button.group === undefined) return;
      const on = isChosen(button.group);
      button.setAttribute("aria-pressed", String(on));
      if (on) { // scrolls the list, never the page
        const top = button.offsetTop - list.offsetTop;
        if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) {
          list.scrollTop = top - list.clientHeight / 2;
        }
      }
    });
  }

  /* Figures: how many texts the filters leave ------------------------------------------------- */

  const first = new Map(); // what the page said without filters, by element
  let sorted = false; // whether the overview is sorted by what the filters leave

  function figures() {
    const on = filters.isOn(), kept = new Map();
    if (on) for (let i = 0; i < n; i++) if (!filters.failed[i]) kept.set(finest[i], (kept.get(finest[i]) || 0) + 1);
    const sum = [...kept.values()].reduce((a, b) => a + b, 0);
    const size = (id) => (on ? groups.get(id).leaves.reduce((all, leaf) => all + (kept.get(leaf) || 0), 0) : groups.get(id).size);
    const column = data.columns[mode], values = column && column.values.map(() => 0);
    if (column) column.codes.forEach((code, i) => { if (!filters.failed[i]) values[code]++; });
    get("legend").querySelectorAll("button").forEach((button) => {
      if (button.group === undefined && !button.codes) return;
      const number = button.codes ? button.codes.reduce((all, code) => all + values[code], 0) : size(button.group);
      button.lastChild.textContent = number.toLocaleString("en");
      button.classList.toggle("zero", on && number === 0);
    });
    if (stale) return; // the overview comes later
    const shown = [...document.querySelectorAll("[data-clusters]")].map((part) => {
      const ids = part.dataset.clusters.split(" ").map(Number).filter((id) => groups.has(id));
      return { part, known: ids.length > 0, number: ids.reduce((all, id) => all + size(id), 0) };
    }).filter(({ known }) => known);
    const most = Math.max(1, ...shown.filter(({ part }) => part.tagName === "TR").map(({ number }) => number));
    for (const { part, number } of shown) {
      const share = (100 * number) / Math.max(1, sum);
      part.classList.toggle("zero", on && number === 0);
      write(part.querySelector(".count"), on ? number.toLocaleString("en") : null);
      const percent = part.querySelector(".percent");
      write(percent, on ? share.toFixed(percent && percent.textContent.includes(".") ? 1 : 0) + "%" : null);
      const bar = part.querySelector(".bar");
      if (bar && (on || cuts || first.has(bar))) {
        if (!first.has(bar)) first.set(bar, bar.style.width);
        const width = part.tagName === "TR" ? (100 * number) / most : share;
        bar.style.width = on || (cuts && part.tagName === "TR") ? width + "%" : first.get(bar);
      }
    }
    if (on || sorted) document.querySelectorAll(".overview tbody").forEach((body) => {
      const number = (row) => size(Number(row.dataset.cluster)), place = (row) => data.ids.indexOf(Number(row.dataset.cluster));
      arrange(body, [...body.rows].sort((a, b) => (on ? number(b) - number(a) : 0) || place(a) - place(b)));
    });
    sorted = on;
    const line = on ? sum.toLocaleString("en") + " of " + (sampled ? "the " + texts(n) + " on the map" : texts(n)) + ": " + filters.said() : "";
    document.querySelectorAll(".filtered").forEach((note) => {
      note.hidden = !on;
      note.querySelector("b").textContent = line;
    });
  }

  /* Another text for an element; null: the one that it had first. */
  function write(part, text) {
    if (!part || (text === null && !first.has(part))) return;
    if (!first.has(part)) first.set(part, part.textContent);
    part.textContent = text === null ? first.get(part) : text;
  }

  /* Groups of texts: clusters, and those of other cuts. Each has the finest clusters that it is made
     of. */
  const cuts = data.cuts;
  const groups = new Map(data.ids.map((id, c) => [id, { name: data.names[c], size: data.sizes[c], leaves: [c] }]));
  if (cuts) {
    const below = new Map(cuts.leaves.map((leaf, place) => [leaf, [place]]));
    for (const [union, one, other] of cuts.merges) below.set(union, [...below.get(one), ...below.get(other)]);
    for (const [id, name, size] of cuts.nodes) groups.set(id, { name, size, leaves: below.get(id) });
    if (groups.has(-1)) groups.get(-1).leaves = [NOWHERE];
  }

  /* Names on the map --------------------------------------------------------------------------- */

  /* Points by the finest cluster that they lie in, of which every other one is made. */
  const finest = data.cuts ? data.cuts.leaf : data.cluster;
  const members = [];
  for (let i = 0; i < n; i++) (members[finest[i]] = members[finest[i]] || []).push(i);
  const pointsOf = (id) => groups.get(id).leaves.flatMap((leaf) => members[leaf] || []);
  const spots = new Map(); // of clusters

  /* Where a group of finest clusters is densest, in the block of cells with the most texts. */
  function spotOf(id) {
    if (!spots.has(id)) {
      const cells = 32, counts = new Map(), cell = (value) => Math.floor((value * cells) / 10001);
      const points = pointsOf(id).filter((i) => !filters.failed[i]);
      const at = (i) => cell(data.y[i]) * cells + cell(data.x[i]);
      for (const i of points) counts.set(at(i), (counts.get(at(i)) || 0) + 1);
      const around = [-1, 0, 1].flatMap((row) => [-1, 0, 1].map((column) => row * cells + column));
      let best = 0, block = [];
      for (const place of counts.keys()) {
        const beside = around.map((step) => place + step);
        const sum = beside.reduce((total, other) => total + (counts.get(other) || 0), counts.get(place));
        if (sum > best) [best, block] = [sum, beside];
      }
      const inside = points.filter((i) => block.includes(at(i)));
      const mean = (axis) => inside.reduce((sum, i) => sum + axis[i], 0) / inside.length;
      spots.set(id, points.length ? { x: mean(data.x), y: mean(data.y) } : null);
    }
    return spots.get(id);
  }

  /* What can be named on the map where there is room for so many names: clusters of this cut; where
     they are too many those of a coarser one, and where there is much room those of a finer one.
     Others of this cut fill gaps. */
  function named(room) {
    if (cuts) {
      const number = room < cut ? room : Math.max(cut, Math.min(room / 4, cuts.leaves.length));
      return topsOf(Math.max(2, Math.floor(number)));
    }
    return data.ids.filter((id) => id >= 0).sort((a, b) => groups.get(b).size - groups.get(a).size).slice(0, room);
  }

  function names(room, chosen) {
    const found = new Set(chosen === null ? named(room) : [...named(room), chosen]);
    const fill = room < data.ids.length ? data.ids.filter((id) => id >= 0 && !found.has(id)) : [];
    return [...found, ...fill].map((id) => ({ id, text: groups.get(id).name, size: groups.get(id).size,
      fills: !found.has(id), ...spotOf(id) }))
      .filter((one) => one.x !== undefined)
      .sort((a, b) => (b.id === chosen) - (a.id === chosen) || a.fills - b.fills || b.size - a.size);
  }

  /* Focus: what is selected ------------------------------------------------------------------ */

  const all = () => Array.from({ length: n }, (_, i) => i);

  /* A cluster, of this cut or of another that the map names; null: nothing. */
  function choose(id) {
    if (id === null) return setFocus(null);
    const { name, size } = groups.get(id), found = pointsOf(id);
    found.sort((a, b) => has(b) - has(a) || data.confidence[b] - data.confidence[a] || a - b);
    setFocus({ kind: "group", key: id, size, points: found,
      what: "in “" + name + "”" });
  }

  function search() {
    const wanted = get("search").value.trim().toLowerCase();
    if (!wanted) return focus && focus.kind === "search" ? setFocus(null) : undefined;
    lowered = lowered || data.text.map((text) => (text === null ? null : text.toLowerCase()));
    const found = all().filter((i) => lowered[i] !== null && lowered[i].includes(wanted));
    setFocus({ kind: "search", key: wanted, points: found, what: "containing “" + wanted + "”" + (sampled ? " on this page" : "") });
  }

  /* The cluster of this cut that is selected, or null. */
  const chosenCluster = () => (focus && focus.key >= 0 && data.ids.includes(focus.key) ? focus.key : null);

  function setFocus(next) {
    showLists();
    focus = next;
    if (get("search") && !(next && next.kind === "search")) get("search").value = "";
    document.querySelectorAll(".chosen").forEach((old) => old.classList.remove("chosen"));
    const cluster = chosenCluster();
    const article = cluster === null ? null : get("cluster-" + cluster);
    if (article) {
      article.classList.add("chosen");
      article.querySelector("details").open = true;
      document.querySelector(`.overview tr[data-cluster="${cluster}"]`).classList.add("chosen");
    }
    get("focus-link").hidden = article === null;
    if (article) get("focus-link").href = "#" + article.id;
    pressed();
    select();
  }

  /* The texts that are selected and that the filters leave: on the map, in the charts and the list. */
  function select() {
    const on = filters.isOn();
    const active = focus || on ? new Uint8Array(n).fill(focus ? 0 : 1) : null;
    if (focus) for (const i of focus.points) active[i] = 1;
    if (on) filters.failed.forEach((failed, i) => { if (failed) active[i] = 2; });
    map.focus(active, focus && focus.kind === "group" ? focus.key : null);
    const inFocus = focus && new Uint8Array(n);
    if (focus) for (const i of focus.points) inFocus[i] = 1;
    filters.show(inFocus);
    points = (focus ? focus.points : on ? all() : []).filter((i) => !(on && filters.failed[i]));
    get("focus").hidden = !focus && !on;
    get("clear").hidden = !focus;
    get("found").replaceChildren();
    listed = 0;
    if (focus || on) {
      const number = on || !focus.size ? points.length : focus.size;
      const part = points.length < number ? ", " + points.length.toLocaleString("en") + " of them on this page" : "";
      const title = focus && focus.title || texts(number) + (focus ? " " + focus.what : "");
      get("focus-title").textContent = title + part
        + (on ? " where " + filters.said() : focus.kind === "group" ? ", the surest first" : "");
      get("download").disabled = !points.length;
      list();
    }
    if (data.live) { // a page at work
      const cluster = chosenCluster();
      const rows = points.map((i) => [data.row[i], textOf(i)]);
      document.dispatchEvent(new CustomEvent("coterie:focus", { detail: { cluster, rows } }));
    }
  }

  /* What was searched for is marked in a text. */
  function marked(text, parent) {
    const wanted = focus && focus.kind === "search" ? focus.key : "", low = text.toLowerCase();
    if (!wanted || low.length !== text.length) return parent.append(text);
    let end = 0;
    for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, end)) {
      parent.append(text.slice(end, at));
      end = at + wanted.length;
      element("mark", text.slice(at, end), parent);
    }
    parent.append(text.slice(end));
  }

  function list() {
    for (const i of points.slice(listed, listed + LISTED)) {
      const item = element("li", "", get("found"));
      marked(textOf(i), element("bdi", "", item));
      element("small", isolated(nameOf(i)) + " · confidence " + sure(i) + " · row " + data.row[i], item);
      item.addEventListener("mouseenter", () => map.mark(i));
      item.addEventListener("mouseleave", () => map.mark(-1));
    }
    listed += LISTED;
    get("more").hidden = listed >= points.length;
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

  const files = { cluster: data.cluster, ids: data.ids, names: data.names, sizes: data.sizes }; // of the run
  const parts = new Map(); // row of the overview and article of each cluster, by its number
  let noting = 0;

  function topsOf(number) {
    const tops = new Set(cuts.leaves);
    for (const [union, one, other] of cuts.merges.slice(0, cuts.leaves.length - number)) {
      tops.delete(one);
      tops.delete(other);
      tops.add(union);
    }
    return [...tops];
  }

  function clustersOf(number) {
    if (number === cuts.shown) return files;
    const ids = topsOf(number).sort((a, b) => groups.get(b).size - groups.get(a).size || a - b);
    if (groups.has(-1)) ids.push(-1); // outliers are a last cluster that is none
    const found = ids.map((id) => groups.get(id)), places = [];
    found.forEach(({ leaves }, c) => leaves.forEach((leaf) => { places[leaf] = c; }));
    return { ids, names: found.map(({ name }) => name), sizes: found.map(({ size }) => size),
      cluster: cuts.leaf.map((leaf) => places[leaf]) };
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
    arrange(document.querySelector(".overview tbody"), shown.map((part) => part.row));
    arrange(get("articles"), shown.map((part) => part.article));
    document.querySelectorAll(".of-shown").forEach((note) => { note.hidden = cut === cuts.shown; });
    figures();
  }

  function showCut(number) {
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
    get("cut-said").textContent = away ? "Summary and files of the run are for " + cuts.shown + " clusters." + (data.live ? "" : " To write these, type: coterie cut RUN " + cut)
      : "The files of the run have these clusters. Move the slider for fewer or more.";
    get("cut-back").hidden = !away;
    legend();
    if (focus) setFocus(focus.kind !== "group" || data.ids.includes(focus.key) ? focus : null);
    else map.redraw();
    document.dispatchEvent(new CustomEvent("coterie:cut"));
  }

  function moveTo(number) {
    if (!(number >= 2)) number = cut; // what was typed is no number
    showCut(Math.min(Math.round(number), cuts.leaves.length));
    noteAddress();
  }

  /* The address has the cut and the filters, and may have a part of the page after them. */
  const address = (part) => "#" + [
    ...(cuts && cut !== cuts.shown ? ["cut=" + cut] : []),
    ...filters.pairs().map((pair) => new URLSearchParams([pair]).toString()),
    ...(part ? [part] : []),
  ].join("&");

  function noteAddress() { // browsers allow an address to change a hundred times in half a minute
    clearTimeout(noting);
    noting = setTimeout(() => history.replaceState(null, "", address("")), 200);
  }

  function readAddress() {
    const pairs = [...new URLSearchParams(location.hash.slice(1))];
    const asked = Number((pairs.find(([key]) => key === "cut") || [])[1] || 0);
    const [part] = pairs.find(([key, said]) => said === "" && key) || [""];
    const id = Number((/^cluster-(\d+)$/.exec(part) || [])[1]);
    if (asked || pairs.some(([key]) => key.startsWith("filter."))) filters.read(pairs);
    if (cuts) {
      let number = Math.max(2, Math.min(asked || cut, cuts.leaves.length));
      if (groups.has(id) && !asked && !data.ids.includes(id)) number = cutWith(id);
      if (number !== cut) showCut(number);
      showLists();
    }
    if (part && (asked || address("") !== "#")) {
      history.replaceState(null, "", address(part));
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
    for (const i of points) {
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
  get("color").addEventListener("change", () => {
    const value = get("color").value;
    mode = /^\d+$/.test(value) ? Number(value) : value;
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
    const found = all().filter((i) => wanted.has(data.row[i]));
    setFocus(found.length ? { kind: "found", title: event.detail.title, points: found } : null);
  });
  get("zoom-in").addEventListener("click", () => map.zoom(1.5));
  get("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
  get("reset").addEventListener("click", () => map.reset());
  get("clear").addEventListener("click", () => setFocus(null));
  document.querySelectorAll(".filtered button").forEach((button) => button.addEventListener("click", filters.clear));
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
        parts.set(id, { row, article: root.querySelector("#cluster-" + id) });
      });
    }
    get("cut").addEventListener("input", () => moveTo(Number(get("cut").value)));
    get("cut-number").addEventListener("change", () => moveTo(Number(get("cut-number").value)));
    document.querySelectorAll("[data-cut]").forEach((button) => {
      button.addEventListener("click", () => moveTo(Number(button.dataset.cut)));
    });
    showCut(cut);
  } else {
    paint();
    legend();
  }
  addEventListener("hashchange", readAddress);
  readAddress();
  filters.show(null);
  get("shade").checked = n >= DENSE;
  map.shade(get("shade").checked);
  get("canvas").mapState = map.state; // for tests and measurements
  get("data").page = data; // for compare.js
})();
