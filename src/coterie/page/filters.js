
function element(tag, text, parent, name) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (name) made.className = name;
  if (parent) parent.append(made);
  return made;
}

/*
 * Filters by columns of the table: small charts whose bars are buttons. A text stays if each column
 * has one of the values that are chosen there. Columns: { name, values, codes, periods }; the first
 * `periods` values are periods of time in their order, of other columns there are none. Names and
 * values are data of strangers, so they enter the document as text nodes only.
 */
function makeFilters(box, columns, n, changed) {
  const FIRST = 6; // values that a chart shows at once
  const chosen = columns.map(() => new Set()); // codes
  const failed = new Uint8Array(n); // filters that leave a text out
  const last = new Uint8Array(n); // one of them
  const charts = columns.map((column, c) => (column.periods ? timeChart : valueChart)(column, c));

  function isOn() { return chosen.some((codes) => codes.size > 0); }

  function apply() {
    failed.fill(0);
    columns.forEach(({ codes }, c) => {
      if (!chosen[c].size) return;
      for (let i = 0; i < n; i++) if (!chosen[c].has(codes[i])) { failed[i]++; last[i] = c; }
    });
    changed();
  }

  function choose(c, codes) {
    chosen[c] = new Set(codes);
    apply();
  }

  function toggle(c, codes) {
    const all = codes.every((code) => chosen[c].has(code));
    choose(c, all ? [...chosen[c]].filter((code) => !codes.includes(code)) : [...chosen[c], ...codes]);
  }

  const range = (a, b) => Array.from({ length: Math.abs(a - b) + 1 }, (_, i) => Math.min(a, b) + i);

  /* Charts ------------------------------------------------------------------------------------ */

  function chart(column, kind) {
    const part = element("div", "", box, "chart " + kind);
    part.setAttribute("role", "group");
    part.setAttribute("aria-label", "Filter by " + column.name);
    element("h4", column.name, part);
    return part;
  }

  function bar(parent, code) {
    const button = element("button", "", parent);
    button.type = "button";
    button.code = code;
    return button;
  }

  function valueChart(column, c) {
    const list = element("ul", "", chart(column, "values"));
    const bars = column.values.map((value, code) => {
      const item = element("li", "", list);
      const button = bar(item, code);
      element("span", value, button).dir = "auto";
      element("small", "", button);
      button.addEventListener("click", () => toggle(c, [code]));
      item.hidden = code >= FIRST && column.values.length > FIRST + 1;
      return button;
    });
    if (bars.length > FIRST + 1) {
      const more = element("button", "Show all " + bars.length, list.parentElement, "more");
      more.type = "button";
      more.addEventListener("click", () => {
        for (const item of list.children) item.hidden = false;
        more.remove();
      });
    }
    return bars;
  }

  /* A click chooses a period, a second one elsewhere all from the first to it; a drag does both. */
  function timeChart(column, c) {
    const part = chart(column, "time-filter"), row = element("div", "", part, "bars");
    const said = element("small", "", part), ends = [column.values[0], column.values[column.periods - 1]];
    const tell = (button) => { said.textContent = button ? button.getAttribute("aria-label") : ends.join(" to "); };
    let from = -1;
    const bars = column.values.map((_, code) => {
      const button = bar(row, code);
      button.classList.toggle("none", code >= column.periods);
      button.addEventListener("click", (event) => {
        if (event.detail === 0) pick(code); // by a key; for the pointer see below
      });
      for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => tell(button));
      for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => tell(null));
      button.tabIndex = code ? -1 : 0; // arrows go on from the first
      return button;
    });
    row.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], next = step && bars[document.activeElement.code + step];
      if (!next) return;
      event.preventDefault();
      document.activeElement.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });

    function pick(code) {
      const [one] = chosen[c];
      if (chosen[c].size === 1 && one === code) choose(c, []);
      else if (code >= column.periods || chosen[c].size !== 1 || one >= column.periods) choose(c, [code]);
      else choose(c, range(one, code));
    }
    const under = (event) => { // the bar above or below the pointer, also beside the chart
      const at = bars.findIndex((button) => event.clientX < button.getBoundingClientRect().right);
      return at < 0 ? bars.length - 1 : at;
    };
    row.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = under(event);
      row.setPointerCapture(event.pointerId);
    });
    row.addEventListener("pointermove", (event) => {
      if (from < 0) return;
      const to = under(event);
      tell(bars[to]);
      if (to !== from && to < column.periods && from < column.periods) {
        const wanted = range(from, to);
        if (wanted.length !== chosen[c].size || !wanted.every((code) => chosen[c].has(code))) choose(c, wanted);
        row.dragged = true;
      }
    });
    row.addEventListener("pointerup", () => {
      if (from >= 0 && !row.dragged) pick(from);
      from = -1;
      row.dragged = false;
    });
    row.addEventListener("pointercancel", () => { from = -1; row.dragged = false; });
    tell(null);
    return bars;
  }

  /* How many texts each bar stands for, of those that the other filters and the selection leave;
     behind it the same of all texts. Each has its own scale: shares are what is compared. */
  function show(inFocus) {
    columns.forEach(({ values, codes }, c) => {
      const all = new Uint32Array(values.length), now = new Uint32Array(values.length);
      for (let i = 0; i < n; i++) {
        all[codes[i]]++;
        const stays = failed[i] === 0 || (failed[i] === 1 && last[i] === c);
        if (stays && (!inFocus || inFocus[i] === 1)) now[codes[i]]++;
      }
      const [most, mostNow] = [all, now].map((numbers) => numbers.reduce((a, b) => Math.max(a, b), 1));
      charts[c].forEach((button, code) => {
        const number = now[code].toLocaleString("en"), small = button.querySelector("small");
        button.style.setProperty("--all", all[code] / most);
        button.style.setProperty("--now", now[code] / mostNow);
        button.setAttribute("aria-pressed", String(chosen[c].has(code)));
        if (small) small.textContent = number;
        const of = now[code] < all[code] ? " of " + all[code].toLocaleString("en") : "";
        if (!small) button.setAttribute("aria-label", values[code] + ": " + number + of + (all[code] === 1 ? " text" : " texts"));
      });
      box.children[c].classList.toggle("on", chosen[c].size > 0);
    });
  }

  /* What is chosen of a column: ranges of periods, and values. */
  function ranges(c, to) {
    const { values, periods } = columns[c], codes = [...chosen[c]].sort((a, b) => a - b), out = [];
    for (let k = 0; k < codes.length; k++) {
      const first = codes[k];
      while (codes[k + 1] === codes[k] + 1 && codes[k + 1] < periods) k++;
      out.push(codes[k] === first ? values[first] : values[first] + to + values[codes[k]]);
    }
    return out;
  }

  return {
    isOn, toggle, failed, show,
    has: (c, codes) => codes.every((code) => chosen[c].has(code)),
    said: () => columns.flatMap((column, c) => (chosen[c].size ? [column.name + " = " + ranges(c, " to ").join(" or ")] : [])).join("; "),
    clear() { chosen.forEach((codes) => codes.clear()); apply(); },
    pairs: () => columns.flatMap((column, c) => ranges(c, "..").map((value) => ["filter." + column.name, value])),
    /* Choose what an address says; values that are not in the table are left out. */
    read(pairs) {
      columns.forEach(({ name, values }, c) => {
        const place = (value) => values.indexOf(value);
        const codes = pairs.filter(([key]) => key === "filter." + name).flatMap(([, value]) => {
          const [first, end] = value.split("..").map(place);
          return place(value) >= 0 ? [place(value)] : first >= 0 && end >= 0 ? range(first, end) : [];
        });
        chosen[c] = new Set(codes);
      });
      apply();
    },
  };
}
