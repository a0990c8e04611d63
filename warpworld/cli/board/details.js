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

// The newest replay of the chosen runs, or another one that the reader takes; it stays while it is the same.
class Replays {
  constructor(section) {
    this.section = section;
    this.taken = null;
    this.shown = "";
  }

  show(rows) {
    const found = rows.filter((row) => row.replay > 0).sort((a, b) => b.replay - a.replay);
    const row = found.find(({ name }) => name === this.taken) ?? found[0];
    const key = JSON.stringify([row?.name, row?.replay, found.map(({ name }) => name)]);
    if (key === this.shown) return;
    this.shown = key;
    this.section.replaceChildren();
    if (!row) return;
    heading(this.section, "Replay");
    if (found.length > 1) this.buildChoice(found, row, rows);
    const frame = element("iframe", "", this.section);
    frame.title = `replay of ${row.name}`;
    frame.src = `replay?${new URLSearchParams({ run: row.name, of: row.replay })}`;
  }

  buildChoice(found, row, rows) {
    const choice = element("select", "", element("div", "board-tools", this.section));
    choice.ariaLabel = "replay of";
    found.forEach(({ name }) => (element("option", "", choice, name).value = name));
    choice.value = row.name;
    choice.addEventListener("change", () => {
      this.taken = choice.value;
      this.show(rows);
    });
  }
}
