
/*
 * Two clusters side by side, from what the page holds. The ranking of words and the intervals are
 * those of coterie.runs.comparison.clusters; `element` stands in filters.js. Texts are data of strangers:
 * they enter as text nodes only.
 */
(function () {
  const PRIOR = 10, Z = 2.5758, WORDS = 8, VALUES = 8, TEXTS = 5;
  const get = (id) => document.getElementById(id);
  const data = get("data").page;
  const cutter = Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

  function wordsOf(text) {
    const low = text.toLowerCase();
    const parts = cutter ? Array.from(cutter.segment(low), (part) => part.segment) : low.split(/[^\p{L}\p{N}'-]+/u);
    return new Set(parts.filter((part) => /\p{L}/u.test(part) && (part.length > 2 || !/^[\p{Script=Latin}]+$/u.test(part))));
  }

  /* Share and Wilson's interval; then Newcombe's of the difference of two shares. */
  function wilson(k, n) {
    const p = k / n, z = Z * Z / n;
    const middle = (p + z / 2) / (1 + z), half = Z / (1 + z) * Math.sqrt(p * (1 - p) / n + z / (4 * n));
    return [p, middle - half, middle + half];
  }

  function byChance(a, b, nA, nB) {
    const [p, pLow, pHigh] = wilson(a, nA), [q, qLow, qHigh] = wilson(b, nB);
    const low = p - q - Math.hypot(p - pLow, qHigh - q), high = p - q + Math.hypot(pHigh - p, q - qLow);
    return low <= 0 && high >= 0;
  }

  /* Difference of log odds in standard deviations, with both together as a prior. */
  function gap(a, b, nA, nB) {
    const share = (a + b) / (nA + nB);
    if (share === 1) return 0;
    let spread = 0;
    const odds = [[a, nA], [b, nB]].map(([k, n]) => {
      const yes = k + PRIOR * share, no = n - k + PRIOR * (1 - share);
      spread += 1 / yes + 1 / no;
      return Math.log(yes / no);
    });
    return (odds[0] - odds[1]) / Math.sqrt(spread);
  }

  function table(parent, title, lines, nA, nB, names) {
    if (!lines.length) return;
    const made = element("table", "", parent), head = element("tr", "", element("thead", "", made));
    for (const label of [title, ...names, ""]) element("th", label, head).scope = "col";
    const body = element("tbody", "", made);
    for (const [value, a, b] of lines) {
      const row = element("tr", "", body);
      const called = element("th", "", row);
      called.scope = "row";
      element("bdi", value, called);
      for (const [k, n] of [[a, nA], [b, nB]]) {
        const cell = element("td", "", row);
        element("span", "", element("span", "", cell, "track"), "bar").style.width = (100 * k) / n + "%";
        cell.append(` ${Math.round((100 * k) / n)}% (${k.toLocaleString("en")})`);
      }
      element("td", byChance(a, b, nA, nB) ? "could be chance" : "", row);
    }
  }

  function lists(parent, title, sides, names) {
    if (!sides.some((texts) => texts.length)) return;
    element("h3", title, parent);
    const box = element("div", "", parent, "examples");
    sides.forEach((texts, side) => {
      const part = element("div", "", box), list = (element("h4", names[side], part), element("ul", "", part));
      for (const one of texts) element("li", one, list).dir = "auto";
    });
  }

  function words(parent, places, names) {
    const texts = places.map((c) => data.text.filter((text, i) => text !== null && data.cluster[i] === c));
    const [nA, nB] = texts.map((some) => some.length);
    if (!nA || !nB) return;
    const held = texts.map((some) => some.map(wordsOf)), counts = new Map();
    held.forEach((some, side) => some.forEach((set) => set.forEach((word) => {
      if (!counts.has(word)) counts.set(word, [0, 0]);
      counts.get(word)[side]++;
    })));
    const gaps = new Map(), found = [];
    for (const [word, [a, b]] of counts) {
      gaps.set(word, gap(a, b, nA, nB));
      if (a + b > 1) found.push([word, a, b]);
    }
    found.sort((one, two) => gaps.get(two[0]) - gaps.get(one[0]) || (one[0] < two[0] ? -1 : 1));
    const clear = (lines) => lines.filter(([, a, b]) => !byChance(a, b, nA, nB));
    const more = [found.filter(([word]) => gaps.get(word) > 0), found.filter(([word]) => gaps.get(word) < 0).reverse()];
    more.forEach((lines, side) => {
      const some = clear(lines).length ? clear(lines) : lines;
      table(parent, "Words more in " + names[side].split(" ")[0], some.slice(0, WORDS), nA, nB, names);
    });
    const scores = held.map((some) => some.map((set) => [...set].reduce((sum, word) => sum + gaps.get(word), 0) / Math.sqrt(set.size || 1)));
    const best = (side, sign) => [...new Set([...texts[side].keys()]
      .sort((i, j) => sign * (scores[side][j] - scores[side][i]) || i - j).map((i) => texts[side][i]))].slice(0, TEXTS);
    lists(parent, "Typical of each against the other", [best(0, 1), best(1, -1)], names);
    lists(parent, "Nearest to the other by their words", [best(0, -1), best(1, 1)], names);
  }

  const choices = ["a", "b"].map((side) => get("compare-" + side));
  let stale = true; // the lists may name clusters of another cut

  function show() {
    const shown = get("compare-shown"), ids = choices.map((choice) => Number(choice.value));
    shown.replaceChildren();
    if (choices.some((choice) => !choice.value)) return;
    if (ids[0] === ids[1]) { element("p", "Choose two different clusters.", shown); return; }
    const places = ids.map((id) => data.ids.indexOf(id));
    const names = places.map((c) => data.ids[c] + " · " + data.names[c]);
    if (data.text) words(shown, places, names);
    const [one, two] = ids.map((id) => data.compare[id] || {});
    for (const column of Object.keys(one).filter((name) => name in two)) {
      const counts = [one, two].map((side) => new Map(side[column]));
      const total = counts.map((side) => [...side.values()].reduce((sum, k) => sum + k, 0));
      const lines = [...new Set([...counts[0].keys(), ...counts[1].keys()])].map((value) =>
        [value, counts[0].get(value) || 0, counts[1].get(value) || 0]);
      const apart = ([, a, b]) => Math.abs(a / total[0] - b / total[1]);
      const most = [...lines].sort((x, y) => apart(y) - apart(x)).slice(0, VALUES);
      if (!total.every((n) => n)) continue;
      if (lines.every(([, a, b]) => byChance(a, b, ...total))) element("p", column + ": the differences could be chance.", shown);
      else table(shown, column, lines.filter((line) => most.includes(line)), ...total, names);
    }
  }

  function fill() {
    if (!stale) return;
    stale = false;
    for (const choice of choices) {
      const before = choice.value;
      choice.replaceChildren();
      element("option", "choose", choice).value = "";
      data.ids.forEach((id, c) => {
        if (id >= 0) element("option", id + " · " + data.names[c], choice).value = id;
      });
      choice.value = before;
      if (choice.selectedIndex < 0) choice.selectedIndex = 0;
    }
  }

  for (const root of [document, get("others") && get("others").content]) {
    if (root) root.querySelectorAll("article[id^=cluster-] > details > summary").forEach((head) => {
      const button = element("button", "Compare with…", null, "versus");
      button.type = "button";
      head.after(button);
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.versus");
    if (!button) return;
    fill();
    const article = button.closest("article"), near = article.querySelector(".near a");
    choices[0].value = article.id.slice("cluster-".length);
    choices[1].value = near ? near.hash.slice("#cluster-".length) : "";
    if (choices[1].selectedIndex < 0) choices[1].selectedIndex = 0; // of another cut
    show();
    get("compare-title").scrollIntoView();
    choices[1].focus();
  });
  for (const choice of choices) {
    choice.addEventListener("focus", fill);
    choice.addEventListener("pointerdown", fill);
    choice.addEventListener("change", show);
  }
  document.addEventListener("coterie:cut", () => {
    if (!stale) get("compare-shown").replaceChildren();
    stale = true;
  });
  fill();
})();
