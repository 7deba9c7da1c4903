
/*
 * The page at work: search by meaning and edits, both by the service that sent the page. Texts and
 * names are data of strangers: they enter the document as text alone. An edit carries the version
 * that the page shows. When it is done, or somebody else was faster, the page is loaded again; what
 * was typed stays.
 */
(function () {
  const live = JSON.parse(document.getElementById("data").textContent).live;
  if (!live) return;
  const LONG = 500; // characters of a text in the list
  const POLL = 2000; // milliseconds between two questions for the version
  const SLOT = "coterie " + location.pathname;
  const FIELDS = ["live-query", "live-by", "live-name", "live-to"];
  const get = (id) => document.getElementById(id);
  const names = new Map(live.clusters.map(({ id, name }) => [id, name]));
  const chosen = new Set(); // clusters
  const taken = new Set(); // texts to move: the numbers of their rows
  let boxes = []; // of the clusters, in the order of the list
  let working = false, silent = false, leaving = false, onMap = null;

  function element(tag, text, parent) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function say(text) { get("live-said").textContent = text; }

  /* What stays when the page is loaded again ------------------------------------------------- */

  function keep(said = "") {
    const state = {
      said, version: live.version, scroll: scrollY, chosen: [...chosen], taken: [...taken],
      fields: FIELDS.map((id) => get(id).value), focus: document.activeElement.id,
    };
    try { sessionStorage.setItem(SLOT, JSON.stringify(state)); } catch { /* the session is full */ }
  }

  function restore() {
    let state = null;
    try { state = JSON.parse(sessionStorage.getItem(SLOT)); } catch { /* none */ }
    if (!state) return;
    if (state.version === live.version) { // numbers of another state may be those of other texts
      for (const id of state.chosen) chosen.add(id);
      for (const row of state.taken) taken.add(row);
    }
    FIELDS.forEach((id, i) => { get(id).value = state.fields[i]; });
    say(state.said);
    if (get("live-query").value) find(false);
    scrollTo(0, state.scroll);
    const part = state.focus && get(state.focus);
    if (part && get("live").contains(part)) part.focus({ preventScroll: true });
  }

  function again(said) {
    keep(said);
    leaving = true;
    location.reload();
  }

  /* Asking the service ----------------------------------------------------------------------- */

  async function ask(path, options) {
    try {
      const answer = await fetch(path, options);
      const found = await answer.json();
      return { status: answer.status, found, message: answer.ok ? "" : found.error.message };
    } catch {
      return { status: 0, found: {}, message: "The service does not answer; look whether the change was made, and try again." };
    }
  }

  async function change(body, path = "edits") {
    if (working) return;
    working = true;
    say("Working …");
    refresh();
    const { status, found, message } = await ask(path, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...body, version: live.version }),
    });
    working = false;
    if (status === 409) return again("Somebody else has changed the run, so this was not done. The page shows it as it is now.");
    if (status !== 200) {
      say(message);
      return refresh();
    }
    get("live-name").value = get("live-to").value = "";
    again(found.done ? "Done: " + [...found.done, ...found.notes || []].join("; ") : "Undone.");
  }

  async function poll() {
    if (document.hidden) return;
    const { status, found } = await ask("version");
    if (status !== 200) {
      if (!silent) say("The service does not answer.");
      silent = true;
      return;
    }
    if (silent) say("The service answers again.");
    silent = false;
    get("live-edit").hidden = !found.may_edit;
    follow();
    get("live-news").hidden = working || found.version === live.version;
    get("live-trouble").textContent = found.trouble ? "The run cannot be read any more, so this is its last state. " + found.trouble : "";
  }

  /* Search ----------------------------------------------------------------------------------- */

  async function find(jump) {
    const query = get("live-query").value.trim();
    if (!query) return show([], "");
    const by = get("live-by").value;
    const { status, found, message } = await ask(
      "search?limit=50&q=" + encodeURIComponent(query) + "&by=" + by);
    if (status !== 200) return say(message);
    const how = found.by.length === 2 ? "meaning and words" : found.by[0];
    show(found.texts, "texts by " + how + ": “" + query + "”", jump);
  }

  async function like(hit) {
    const id = hit.id === undefined ? String(hit.row) : hit.id;
    const { status, found, message } = await ask("similar/" + encodeURIComponent(id) + "?limit=50");
    if (status !== 200) return say(message);
    show(found.texts, "texts most similar to “" + hit.text.slice(0, 60) + "”", true);
  }

  function show(hits, title, jump) { // a search that is restored does not replace what was said
    const list = get("live-hits");
    list.replaceChildren();
    list.hidden = !hits.length;
    if (title && jump) say(hits.length + " " + title);
    for (const hit of hits) {
      const item = element("li", "", list);
      const label = element("label", "", item);
      tick(label, taken, hit.row);
      const shown = hit.text.length > LONG ? hit.text.slice(0, LONG) + "…" : hit.text;
      element("bdi", " " + shown, label);
      const near = element("button", "similar", element("span", " ", item));
      near.type = "button";
      near.addEventListener("click", () => like(hit));
      const copies = hit.copies > 1 ? " · " + hit.copies + " times" : "";
      element("small", hit.name + " · row " + hit.row + copies, item);
    }
    const rows = hits.map((hit) => hit.row);
    if (title) document.dispatchEvent(new CustomEvent("coterie:show", { detail: { rows, title, jump } }));
  }

  /* Clusters and texts that are selected ----------------------------------------------------- */

  function tick(label, set, value) { // a box that selects a cluster or a text
    const box = element("input", "", label);
    box.type = "checkbox";
    box.value = value;
    box.checked = set.has(value);
    box.addEventListener("change", () => {
      if (box.checked) set.add(value);
      else set.delete(value);
      refresh();
    });
    return box;
  }

  function refresh() {
    for (const box of boxes) box.checked = chosen.has(Number(box.value));
    get("live-do-rename").disabled = working || chosen.size !== 1;
    get("live-do-split").disabled = working || chosen.size !== 1;
    get("live-do-merge").disabled = working || chosen.size < 2;
    get("live-do-move").disabled = working || !taken.size || !get("live-to").value;
    get("live-do-undo").disabled = working || !live.undo;
    get("live-do-undo").textContent = get("live-do-undo").title = live.undo ? "Undo: " + live.undo : "Undo";
    get("live-texts").textContent = taken.size === 1 ? "1 text selected." : taken.size + " texts selected.";
    get("live-take").hidden = !(onMap && onMap.length);
  }

  function clear() {
    chosen.clear();
    taken.clear();
    for (const id of ["live-query", "live-name", "live-to"]) get(id).value = "";
    show([], "");
    say("");
    refresh();
  }

  /* Edits ------------------------------------------------------------------------------------ */

  const named = () => get("live-name").value.trim();
  const actions = {
    rename() {
      if (!named()) return get("live-name").focus();
      change({ edits: [{ rename: { [[...chosen][0]]: named() } }] });
    },
    merge() {
      const edit = { merge: [...chosen] };
      if (named()) edit.name = named();
      change({ edits: [edit] });
    },
    split() { change({ edits: [{ split: { cluster: [...chosen][0], into: 2 } }] }); },
    move() {
      const rows = [...taken].map((row) => ({ row }));
      change({ edits: [{ move: { rows, to: Number(get("live-to").value) } }] });
    },
    undo() { change({ undo: true }); },
  };

  const press = (name) => { if (!get("live-do-" + name).disabled) get("live-do-" + name).click(); };
  const KEYS = {
    "/": () => get("live-query").focus(),
    r: () => {
      if (get("live-do-rename").disabled) return;
      if (!get("live-name").value) get("live-name").value = names.get([...chosen][0]);
      get("live-name").select();
    },
    m: () => press("merge"), s: () => press("split"), u: () => press("undo"), c: clear,
    v: () => { if (get("live-to").value) press("move"); else get("live-to").focus(); },
  };

  /* Wiring ----------------------------------------------------------------------------------- */

  boxes = live.clusters.map(({ id, name, size }) => {
    const label = element("label", "", element("li", "", get("live-clusters")));
    const box = tick(label, chosen, id);
    element("span", id + " · " + name, label);
    element("small", size.toLocaleString("en"), label);
    element("option", id + " · " + name, get("live-to")).value = id;
    return box;
  });
  for (const name of Object.keys(actions)) {
    if (name !== "rename") get("live-do-" + name).addEventListener("click", actions[name]);
  }
  get("live-rename").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!get("live-do-rename").disabled) actions.rename();
  });
  get("live-search").addEventListener("submit", (event) => {
    event.preventDefault();
    find(true);
  });
  get("live-drop").addEventListener("click", clear);
  get("live-take").addEventListener("click", () => {
    for (const [row] of onMap) taken.add(row);
    refresh();
  });
  get("live-to").addEventListener("input", refresh);
  get("live-reload").addEventListener("click", () => again(""));
  get("live").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !FIELDS.includes(event.target.id)) return;
    event.preventDefault(); // what was typed stays, and what the map shows
    event.stopPropagation();
    event.target.blur();
  });
  document.addEventListener("coterie:focus", (event) => {
    const { cluster, rows } = event.detail;
    onMap = cluster === null ? rows : null;
    if (names.has(cluster)) {
      chosen.clear();
      chosen.add(cluster);
    }
    refresh();
  });
  function follow() { // edits are of the clusters that the run has, not of another cut of its tree
    if (!get("cut")) return;
    const own = String(live.clusters.length), cut = get("cut").value;
    get("live-edit").disabled = cut !== own;
    get("live-cut").hidden = cut === own || get("live-edit").hidden;
    get("live-keep").textContent = "Keep these " + cut + " clusters";
  }
  if (get("live-keep")) {
    get("live-keep").addEventListener("click", () => change({ clusters: Number(get("cut").value) }, "cut"));
  }
  document.addEventListener("coterie:cut", follow);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || get("live-edit").hidden) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  addEventListener("beforeunload", (event) => {
    if (working) event.preventDefault(); // the browser asks whether to leave
  });
  addEventListener("pagehide", () => { if (!leaving) keep(""); });
  get("live").hidden = false;
  restore();
  refresh();
  follow();
  poll();
  setInterval(poll, POLL);
})();
