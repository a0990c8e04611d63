// What is known of the chosen runs besides their curves: settings, league tables and the newest replay.

const MOST_ROWS = 12; // of settings; the others are folded away

function heading(section, text, note = "") {
  section.replaceChildren();
  const made = element("h2", "", section, text);
  if (note) element("span", "quiet", made, ` ${note}`);
}

function table(parent, heads, rows) {
  const made = element("table", "", element("div", "scroll", element("div", "card", parent)));
  if (heads.length) {
    const line = element("tr", "", element("thead", "", made));
    heads.forEach((text) => element("th", "", line, text));
  }
  const body = element("tbody", "", made);
  return rows.map(([first, ...rest]) => {
    const line = element("tr", "", body);
    element("th", "", line, first);
    return rest.map((text) => element("td", "", line, text));
  });
}

function showSettings(section, { names, labels, settings }) {
  const keys = Object.keys(settings);
  section.replaceChildren();
  if (!names.length) return;
  const several = names.length > 1;
  heading(section, several ? "Settings that differ" : "Settings", several && !keys.length ? "none" : "");
  const heads = several ? ["", ...labels] : [];
  const rows = keys.map((key) => [key, ...settings[key]]);
  if (rows.length) table(section, heads, rows.slice(0, MOST_ROWS));
  if (rows.length <= MOST_ROWS) return;
  const rest = element("details", "board-more", section);
  element("summary", "", rest, `${rows.length - MOST_ROWS} more settings`);
  table(rest, heads, rows.slice(MOST_ROWS));
}

function showLeagues(section, { leagues }) {
  section.replaceChildren();
  for (const [name, league] of Object.entries(leagues)) {
    if (!section.children.length) heading(section, "League", "how often rows beat columns; numbers are iterations");
    element("p", "quiet", section, `${name}: ${league.heading}`);
    const order = league.ratings.map((_, i) => i).sort((a, b) => league.ratings[b] - league.ratings[a]);
    const rates = order.map((i) => league.win_rates[i].map((rate) => (rate === null ? "-" : rate.toFixed(2))));
    const rows = order.map((i, k) => [league.rows[i], league.ratings[i].toFixed(0), ...rates[k]]);
    table(section, ["", "Elo", ...league.columns], rows).forEach((cells, k) =>
      cells.slice(1).forEach((cell, j) => {
        cell.className = "rate";
        cell.style.setProperty("--rate", league.win_rates[order[k]][j] ?? 0);
      }),
    );
  }
}

// The replays of a run: that of `warpworld watch`, and those that were recorded while it trained, the last one first.
function replaysOf(row) {
  const key = (iteration) => JSON.stringify([row.name, iteration]);
  const watched = { key: key(null), title: row.name, time: row.replay, query: { run: row.name, of: row.replay } };
  const { iterations, time } = row.recorded;
  const recorded = iterations.map((iteration, i) => ({
    key: key(iteration),
    title: `${row.name}, iteration ${iteration}`,
    time: i === iterations.length - 1 ? time : 0, // one that was the last has been seen
    query: { run: row.name, iteration },
  }));
  return [...recorded.reverse(), ...(row.replay > 0 ? [watched] : [])];
}

// The newest replay of the chosen runs, or another one that the reader takes; it stays while it is the same.
class Replays {
  constructor(section) {
    this.section = section;
    this.taken = null;
    this.shown = "";
  }

  show(rows) {
    const found = rows.flatMap(replaysOf).sort((a, b) => b.time - a.time);
    const taken = found.find(({ key }) => key === this.taken) ?? found[0];
    const now = JSON.stringify([taken?.key, taken?.time, found.map(({ key }) => key)]);
    if (now === this.shown) return;
    const isSame = this.section.querySelector("iframe")?.dataset.of === JSON.stringify(taken?.query);
    this.shown = now;
    if (isSame) {
      this.section.querySelector(".board-tools")?.remove();
    } else {
      this.section.replaceChildren();
      if (!taken) return;
      heading(this.section, "Replay");
      const frame = element("iframe", "", this.section);
      frame.title = `replay of ${taken.title}`;
      frame.dataset.of = JSON.stringify(taken.query);
      frame.src = `replay?${new URLSearchParams(taken.query)}`;
    }
    if (found.length > 1) this.buildChoice(found, taken, rows);
  }

  buildChoice(found, taken, rows) {
    const tools = element("div", "board-tools", this.section);
    this.section.querySelector("h2").after(tools);
    const choice = element("select", "", tools);
    choice.ariaLabel = "replay of";
    found.forEach(({ key, title }) => (element("option", "", choice, title).value = key));
    choice.value = taken.key;
    choice.addEventListener("change", () => {
      this.taken = choice.value;
      this.show(rows);
    });
  }
}
