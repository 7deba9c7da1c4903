
/*
 * The page at work: search by meaning, edits, and what others have changed, all by the service that
 * sent the page. Texts and names are data of strangers: they enter the document as text alone.
 * Edits wait in a queue, which the session keeps, and are sent one by one, in order. Each has an id,
 * so that one may be sent again where no answer came: the service does it once. The tools follow
 * the run at once; the page around them is loaded anew when nothing waits and nobody types.
 */
(function () {
  const live = JSON.parse(document.getElementById("data").textContent).live; // what this page shows
  if (!live) return;
  const LONG = 500; // characters of a text in the list
  const POLL = 2000; // milliseconds between two questions for the version
  const IDLE = 500; // milliseconds after the last key or click until the page may be loaded anew
  const SLOT = "coterie " + location.pathname;
  const get = (id) => document.getElementById(id);
  const names = new Map(); // of the clusters of the run as it is now
  const chosen = new Set(); // clusters
  const taken = new Set(); // texts to move: the numbers of their rows
  let now = live; // the run as it is now
  let heard = live.logged; // changes that this page has told of
  let page = token(); // this page among all that edit the run
  let queue = []; // { id, path, body, title, state, why, form }; state: waiting, done or failed
  let boxes = []; // of the clusters, in the order of the list
  let sending = false, silent = false, leaving = false, trouble = "", onMap = null, acted = 0;

  function token() {
    return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function element(tag, text, parent) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function say(text) { get("live-said").textContent = text; }

  /* What stays when the page is loaded anew -------------------------------------------------- */

  function keep(said = get("live-said").textContent) {
    const state = {
      said, page, queue, made: now.made, scroll: scrollY, edit: !get("live-edit").hidden, chosen: [...chosen], taken: [...taken],
      query: get("live-query").value, by: get("live-by").value,
      name: get("live-name").value, to: get("live-to").value,
      focus: document.activeElement.id, box: document.activeElement.closest("#live-clusters input")?.value,
    };
    try { sessionStorage.setItem(SLOT, JSON.stringify(state)); } catch { /* the session is full */ }
  }

  function restore() {
    let state = null;
    try { state = JSON.parse(sessionStorage.getItem(SLOT)); } catch { /* none */ }
    if (!state) return;
    page = state.page || page;
    queue = state.queue || [];
    if (state.made === live.made) { // numbers of another run are those of other clusters and rows
      for (const id of state.chosen) if (names.has(id)) chosen.add(id);
      for (const row of state.taken) taken.add(row);
    }
    get("live-query").value = state.query;
    get("live-by").value = state.by;
    get("live-name").value = state.name;
    if (state.made === live.made && names.has(Number(state.to))) get("live-to").value = state.to;
    get("live-edit").hidden = !state.edit; // until the service is asked
    say(state.said || "");
    if (state.query) find(false);
    refresh();
    scrollTo(0, state.scroll);
    focusAgain(state);
  }

  function focusAgain({ focus, box }) { // those who work with keys go on where they were
    const part = focus && get(focus);
    if (part && get("live").contains(part) && !part.disabled) part.focus({ preventScroll: true });
    else if (box || chosen.size) focusBox(boxes.findIndex((one) => one.value === (box || String([...chosen][0]))), 1);
  }

  function focusBox(from, step) { // the next one that is shown, else the last before
    for (const way of [step, -step]) {
      for (let i = from; i >= 0 && i < boxes.length; i += way) {
        if (!boxes[i].closest("li").hidden) return boxes[i].focus();
      }
    }
  }

  function again() {
    keep();
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
      return { status: 0, found: {}, message: "the service does not answer" };
    }
  }

  const waiting = () => queue.filter((item) => item.state === "waiting");

  /* Queue a change. What it is made of is no longer selected, so that a second click does nothing;
     if it fails, it is selected again. */
  function change(title, body, { clusters, name, texts, path = "edits" } = {}) {
    if (!waiting().length) queue = [];
    const form = { chosen: clusters ? [...chosen] : [], name: name ? get("live-name").value : "", taken: texts ? [...taken] : [] };
    queue.push({ id: page + "-" + token(), path, body, title, seen: now.seen, state: "waiting", why: "", form });
    if (clusters) chosen.clear();
    if (name) get("live-name").value = "";
    if (texts) taken.clear();
    say("");
    refresh();
    send();
  }

  async function send() {
    if (sending) return;
    sending = true;
    for (let item; (item = waiting()[0]);) {
      item.why = "working …";
      refresh();
      const { status, found, message } = await ask(item.path, {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...item.body, id: item.id, seen: item.seen }),
      });
      if ([0, 502, 503, 504].includes(status)) { // it is not known whether it was done
        item.why = "no answer yet: " + message + "; it is sent again";
        refresh();
        await new Promise((next) => setTimeout(next, POLL));
        continue;
      }
      await catchUp();
      item.state = status === 200 ? "done" : "failed";
      item.why = status !== 200 ? message : found.done ? [...found.done, ...found.notes || []].join("; ") : "";
      if (status !== 200) giveBack(item.form);
      item.body = item.form = null; // it may hold many rows
      refresh();
    }
    sending = false;
    settle();
  }

  function giveBack({ chosen: ids, name, taken: rows }) { // unless something else was begun
    if (chosen.size || taken.size || get("live-name").value) return;
    for (const id of ids) if (names.has(id)) chosen.add(id);
    for (const row of rows) taken.add(row);
    get("live-name").value = name;
  }

  /* The tools show the run as it is now, and tell what others have done to it. */
  async function catchUp() {
    const { status, found } = await ask("live");
    if (leaving || status !== 200 || (found.made === now.made && found.logged < now.logged)) return;
    const fresh = found.logged - heard;
    const others = fresh > 0 ? found.changes.slice(-fresh).filter((one) => !one.id.startsWith(page + "-")) : [];
    const told = others.map((one) => one.by + " " + one.said).join("; ");
    if (found.made !== now.made) {
      chosen.clear();
      taken.clear();
      say("Another run has taken the place of this one.");
    } else if (told) say(told[0].toUpperCase() + told.slice(1) + ". The list of clusters shows it now.");
    heard = found.logged;
    now = found;
    const place = boxes.indexOf(document.activeElement), focused = document.activeElement.value;
    list();
    refresh();
    if (place >= 0) { // those who work with keys go on where they were
      const same = boxes.findIndex((box) => box.value === focused);
      focusBox(Math.min(same < 0 ? place : same, boxes.length - 1), 1);
      keep();
    }
  }

  const behind = () => now.version !== live.version;

  /* Show the run as it is now in all of the page, unless that would interrupt somebody. */
  function settle() {
    const searching = document.activeElement === get("live-query") && get("live-query").value;
    const working = waiting().length || searching || taken.size || get("live-name").value;
    get("live-news").hidden = !behind() || waiting().length > 0;
    if (leaving || !behind() || working) return;
    const left = acted + IDLE - Date.now();
    if (left > 0) setTimeout(settle, left);
    else again();
  }

  async function poll() {
    if (document.hidden) return;
    const { status, found } = await ask("version");
    if (status !== 200) {
      if (!silent) say("The service does not answer. What you do is not lost; it will be tried again.");
      silent = true;
      return;
    }
    if (silent) say("The service answers again.");
    silent = false;
    get("live-edit").hidden = !found.may_edit;
    follow();
    if (found.trouble && found.trouble !== trouble) say("The run cannot be read any more, so this is its last state. " + found.trouble);
    if (!found.trouble && trouble) say("The run can be read again.");
    trouble = found.trouble || "";
    if (found.version !== now.version || found.seen !== now.seen) await catchUp();
    settle();
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
      const box = element("input", "", label);
      box.type = "checkbox";
      box.checked = taken.has(hit.row);
      box.addEventListener("change", () => {
        if (box.checked) taken.add(hit.row);
        else taken.delete(hit.row);
        refresh();
      });
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

  function refresh() {
    for (const box of boxes) box.checked = chosen.has(Number(box.value));
    get("live-do-rename").disabled = get("live-do-split").disabled = chosen.size !== 1;
    get("live-do-merge").disabled = chosen.size < 2;
    get("live-do-move").disabled = !taken.size || !get("live-to").value;
    get("live-texts").textContent = taken.size === 1 ? "1 text selected." : taken.size + " texts selected.";
    get("live-take").hidden = !(onMap && onMap.length);
    const last = undoable().pop();
    get("live-do-undo").disabled = !last;
    get("live-do-undo").textContent = get("live-do-undo").title = last ? "Undo: " + last.said : "Undo";
    showQueue();
    keep();
  }

  /* What can be undone when all that waits is done; the last one is at the end. */
  function undoable() {
    const known = new Set(now.changes.map((one) => one.id));
    const stack = now.changes.filter((one) => one.can_undo);
    for (const { id, body, title } of waiting()) {
      if (known.has(id)) continue; // done, but the answer is on its way
      if (body.undo) stack.pop();
      else stack.push({ id, said: title });
    }
    return stack;
  }

  function showQueue() {
    const shown = queue.map(({ title, state, why }) => [state,
      title + " · " + (state === "waiting" ? why || "waiting" : state + (why ? ": " + why : ""))]);
    const items = get("live-queue").children;
    shown.forEach(([state, text], i) => {
      const item = items[i] || element("li", "", get("live-queue"));
      if (item.textContent !== text) item.textContent = text;
      item.className = state;
    });
    while (items.length > shown.length) items[items.length - 1].remove();
  }

  function clear() {
    chosen.clear();
    taken.clear();
    get("live-name").value = get("live-query").value = get("live-to").value = "";
    show([], "");
    say("");
    refresh();
  }

  /* Edits ------------------------------------------------------------------------------------ */

  const named = () => get("live-name").value.trim();
  const called = (ids) => ids.map((id) => names.get(id)).join(" and ");
  const actions = {
    rename() {
      const name = named(), [id] = chosen;
      if (!name) return get("live-name").focus();
      change("rename of " + names.get(id) + " to " + name, { edits: [{ rename: { [id]: name } }] }, { clusters: true, name: true });
    },
    merge() {
      const edit = { merge: [...chosen] };
      if (named()) edit.name = named();
      change("merge of " + called([...chosen]), { edits: [edit] }, { clusters: true, name: true });
    },
    split() {
      change("split of " + called([...chosen]), { edits: [{ split: { cluster: [...chosen][0], into: 2 } }] }, { clusters: true });
    },
    move() {
      const rows = [...taken].map((row) => ({ row })), to = Number(get("live-to").value);
      change("move of " + rows.length + (rows.length === 1 ? " text to " : " texts to ") + names.get(to), { edits: [{ move: { rows, to } }] }, { texts: true });
    },
    undo() {
      const last = undoable().pop();
      change("undo: " + last.said, { undo: last.id });
    },
  };

  const press = (name) => { if (!get("live-do-" + name).disabled) get("live-do-" + name).click(); };
  const KEYS = {
    "/": () => get("live-query").focus(),
    r: () => {
      if (get("live-do-rename").disabled) return;
      if (!get("live-name").value) get("live-name").value = names.get([...chosen][0]);
      get("live-name").select();
    },
    m: () => press("merge"), s: () => press("split"), u: () => press("undo"), v: () => { if (get("live-to").value) press("move"); else get("live-to").focus(); },
    c: clear,
  };

  /* Wiring ----------------------------------------------------------------------------------- */

  function list() { // of clusters; what is selected stays
    const to = get("live-to").value;
    names.clear();
    for (const { id, name } of now.clusters) names.set(id, name);
    for (const id of [...chosen]) if (!names.has(id)) chosen.delete(id);
    get("live-to").replaceChildren(get("live-to").options[0]);
    const same = boxes.length === now.clusters.length && boxes.every((box, i) => Number(box.value) === now.clusters[i].id);
    if (!same) { // else they stay as they are, with a key that is down
      get("live-clusters").replaceChildren();
      boxes = now.clusters.map(({ id }) => clusterBox(id));
    }
    now.clusters.forEach(({ id, name, size }, i) => {
      const [, span, small] = boxes[i].closest("label").children;
      span.textContent = id + " · " + name;
      small.textContent = size.toLocaleString("en");
      element("option", id + " · " + name, get("live-to")).value = id;
    });
    if (names.has(Number(to))) get("live-to").value = to;
  }

  function clusterBox(id) {
    const label = element("label", "", element("li", "", get("live-clusters")));
    const box = element("input", "", label);
    box.type = "checkbox";
    box.value = id;
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      refresh();
    });
    element("span", "", label);
    element("small", "", label);
    return box;
  }

  for (const name of Object.keys(actions)) {
    if (name !== "rename") get("live-do-" + name).addEventListener("click", actions[name]);
  }
  get("live-rename").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!get("live-do-rename").disabled) actions.rename();
  });
  get("live-search").addEventListener("submit", (event) => {
    event.preventDefault();
    keep();
    find(true);
  });
  get("live-drop").addEventListener("click", clear);
  get("live-take").addEventListener("click", () => {
    for (const [row] of onMap) taken.add(row);
    refresh();
  });
  get("live-clusters").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    focusBox(boxes.indexOf(event.target) + step, step);
  });
  get("live-reload").addEventListener("click", again);
  for (const id of ["live-query", "live-name", "live-to", "live-by"]) {
    get(id).addEventListener("input", refresh);
    get(id).addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // what was typed stays, and what the map shows
      event.stopPropagation();
      get(id).blur();
    });
  }
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
    get("live-keep").addEventListener("click", () => {
      const clusters = Number(get("cut").value);
      change("cut into " + clusters + " clusters", { clusters }, { path: "cut" });
    });
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
    if (leaving) return;
    keep("");
    if (waiting().length) event.preventDefault(); // the browser asks whether to leave
  });
  for (const kind of ["pointerdown", "keydown", "input"]) {
    document.addEventListener(kind, () => { acted = Date.now(); }, true);
  }
  get("live").hidden = false;
  list();
  restore();
  refresh();
  follow();
  if (waiting().length) send();
  poll();
  setInterval(poll, POLL);
})();
