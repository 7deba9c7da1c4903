
/*
 * The page at work: search by meaning, edits, and what others have changed, all by the service that
 * sent the page. Texts and names are data of strangers: they enter the document as text alone.
 * After a change the page is loaded anew. What was typed and selected is kept in the session.
 */
(function () {
  const live = JSON.parse(document.getElementById("data").textContent).live;
  if (!live) return;
  const OTHERS = "Somebody has changed the run. This is its new state.";
  const LONG = 500; // characters of a text in the list
  const POLL = 2000; // milliseconds between two questions for the version
  const SLOT = "coterie " + location.pathname;
  const get = (id) => document.getElementById(id);
  const names = new Map(live.clusters.map((cluster) => [cluster.id, cluster.name]));
  const locked = new Set(live.locked), done = new Set(live.done.filter((id) => names.has(id)));
  const chosen = new Set(); // clusters
  const taken = new Set(); // texts to move: the numbers of their rows
  const boxes = []; // of the clusters, in the order of the list
  let busy = false, silent = false, leaving = false, refused = false, trouble = "", onMap = null;

  function element(tag, text, parent) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function say(text) { get("live-said").textContent = text; }

  /* What stays when the page is loaded anew -------------------------------------------------- */

  function keep(said) {
    const state = {
      said, made: live.made, scroll: scrollY, edit: !get("live-edit").hidden, chosen: [...chosen], taken: [...taken],
      query: get("live-query").value, by: get("live-by").value,
      name: get("live-name").value, to: get("live-to").value, open: get("live-open").checked,
      focus: document.activeElement.id, box: document.activeElement.closest("#live-clusters input")?.value,
    };
    try { sessionStorage.setItem(SLOT, JSON.stringify(state)); } catch { /* the session is full */ }
  }

  function restore() {
    let state = null;
    try { state = JSON.parse(sessionStorage.getItem(SLOT)); } catch { /* none */ }
    if (!state) return;
    if (state.made === live.made) { // numbers of another run are those of other clusters and rows
      for (const id of state.chosen) if (names.has(id)) chosen.add(id);
      for (const row of state.taken) taken.add(row);
    }
    get("live-query").value = state.query;
    get("live-by").value = state.by;
    get("live-name").value = state.name;
    if (state.made === live.made && names.has(Number(state.to))) get("live-to").value = state.to;
    get("live-open").checked = state.open;
    get("live-edit").hidden = !state.edit; // until the service is asked
    say(state.said === OTHERS && live.last.length ? OTHERS + " Last edit: " + live.last.join("; ") + "." : state.said || "");
    if (state.query) find(false);
    refresh();
    scrollTo(0, state.scroll);
    focusAgain(state);
    keep("");
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
      return { status: 0, found: {}, message: "The service does not answer. Try again." };
    }
  }

  async function change(body, after) {
    if (busy) return;
    busy = true;
    say("Working …");
    const { status, found, message } = await ask("edits", {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", "If-Match": `"${live.version}"` },
    });
    busy = false;
    if (status === 409) {
      refused = true;
      get("live-news").hidden = false;
      return say("Somebody was faster, so nothing was written. Look at the changes, then try again.");
    }
    if (status !== 200) return say(message);
    after();
    again(found.done ? [...found.done, ...found.notes].join("; ") + "." : "Change " + found.undone + " is undone.");
  }

  async function poll() {
    if (busy || document.hidden) return;
    const { status, found } = await ask("version");
    if (busy) return;
    if (status !== 200) {
      if (!silent) say("The service does not answer. What you do is not lost; it will be tried again.");
      silent = true;
      return;
    }
    if (silent) say("The service answers again.");
    silent = false;
    get("live-edit").hidden = !found.may_edit;
    if (found.trouble && found.trouble !== trouble) say("The run cannot be read any more, so this is its last state. " + found.trouble);
    if (!found.trouble && trouble) say("The run can be read again.");
    trouble = found.trouble || "";
    if (found.version === live.version) {
      get("live-news").hidden = true;
      return;
    }
    const typing = document.activeElement.closest("#live input:not([type=checkbox]), #live select");
    const working = typing || refused || taken.size || get("live-name").value;
    if (working) get("live-news").hidden = false; // nobody's work is interrupted
    else again(OTHERS);
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
    const ids = [...chosen];
    const free = ids.filter((id) => !locked.has(id));
    for (const box of boxes) {
      const id = Number(box.value);
      box.checked = chosen.has(id);
      box.closest("li").hidden = get("live-open").checked && done.has(id) && !chosen.has(id);
    }
    get("live-count").textContent = done.size + " of " + boxes.length + " done.";
    get("live-do-rename").disabled = free.length !== 1 || ids.length !== 1;
    get("live-do-split").disabled = free.length !== 1 || ids.length !== 1;
    get("live-do-merge").disabled = free.length < 2 || free.length !== ids.length;
    get("live-do-lock").disabled = !free.length;
    get("live-do-unlock").disabled = free.length === ids.length;
    get("live-do-done").disabled = ids.every((id) => done.has(id));
    get("live-do-reopen").disabled = !ids.some((id) => done.has(id));
    get("live-do-move").disabled = !taken.size || !get("live-to").value;
    get("live-texts").textContent = taken.size === 1 ? "1 text selected." : taken.size + " texts selected.";
    get("live-take").hidden = !(onMap && onMap.length);
    keep("");
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
  const forget = () => { get("live-name").value = ""; };
  const actions = {
    rename() {
      const name = named();
      if (!name) return get("live-name").focus();
      const [id] = chosen;
      change({ edits: [{ rename: { [id]: name } }] }, forget);
    },
    merge() {
      const edit = { merge: [...chosen] };
      if (named()) edit.name = named();
      change({ edits: [edit] }, () => { forget(); chosen.clear(); });
    },
    split() {
      change({ edits: [{ split: { cluster: [...chosen][0], into: 2 } }] }, () => {});
    },
    lock() { change({ edits: [{ lock: [...chosen].filter((id) => !locked.has(id)) }] }, () => {}); },
    unlock() { change({ edits: [{ unlock: [...chosen].filter((id) => locked.has(id)) }] }, () => {}); },
    done() { change({ edits: [{ done: [...chosen].filter((id) => !done.has(id)) }] }, () => chosen.clear()); },
    reopen() { change({ edits: [{ reopen: [...chosen].filter((id) => done.has(id)) }] }, () => {}); },
    move() {
      const rows = [...taken].map((row) => ({ row }));
      change({ edits: [{ move: { rows, to: Number(get("live-to").value) } }] }, () => taken.clear());
    },
    undo() { change({ undo: true }, () => {}); },
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
    l: () => press(get("live-do-lock").disabled ? "unlock" : "lock"), c: clear,
    d: () => press(get("live-do-done").disabled ? "reopen" : "done"),
  };

  /* Wiring ----------------------------------------------------------------------------------- */

  for (const { id, name, size } of live.clusters) {
    const label = element("label", "", element("li", "", get("live-clusters")));
    const box = element("input", "", label);
    box.type = "checkbox";
    box.value = id;
    boxes.push(box);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      refresh();
    });
    element("span", id + " · " + name, label);
    element("small", size.toLocaleString("en") + (locked.has(id) ? " · locked" : "") + (done.has(id) ? " · done" : ""), label);
    const option = element("option", id + " · " + name, get("live-to"));
    option.value = id;
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
    keep("");
    find(true);
  });
  get("live-drop").addEventListener("click", clear);
  get("live-take").addEventListener("click", () => {
    for (const [row] of onMap) taken.add(row);
    refresh();
  });
  get("live-open").addEventListener("change", refresh);
  get("live-clusters").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    focusBox(boxes.indexOf(event.target) + step, step);
  });
  get("live-reload").addEventListener("click", () => again(OTHERS));
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
    get("live-cut").textContent = cut === own ? "" : "Edits change the " + own
      + " clusters of the run. Go back to them, or give the run these " + cut + ": coterie cut RUN " + cut;
  }
  document.addEventListener("coterie:cut", follow);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || get("live-edit").hidden) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  addEventListener("beforeunload", () => { if (!leaving) keep(""); });
  get("live").hidden = false;
  follow();
  restore();
  refresh();
  poll();
  setInterval(poll, POLL);
})();
