// Nodes are made from names, properties and texts; nothing is ever parsed as HTML.
const CONTROL = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff])/;

function el(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [property, value] of Object.entries(properties)) {
    if (property.startsWith("aria-") || property === "dir") node.setAttribute(property, value);
    else node[property] = value;
  }
  node.append(...children);
  return node;
}

// Foreign text: what would reorder or hide it is written out.
function foreign(text) {
  return text.split(CONTROL).map((part, place) =>
    place % 2
      ? el("span", { className: "control" }, `\\u${part.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : part,
  );
}

// The head and the tail of a long text, and a button for all of it.
function clipped(text, head, tail) {
  if (text.length <= head + tail + 200) return foreign(text);
  const all = el("button", { type: "button" }, say("showAll", count(text.length)));
  const place = el("span", {}, ...foreign(text.slice(0, head)), " … ", all, " … ");
  if (tail) place.append(...foreign(text.slice(-tail)));
  all.onclick = () => place.replaceChildren(...foreign(text));
  return [place];
}

function table(headings, rows, className = "") {
  const numeric = (place) => (place ? "number" : "");
  const head = el("tr", {}, ...headings.map((cell, place) => el("th", { className: numeric(place) }, cell)));
  const body = rows.map(({ cells, own }) =>
    el("tr", { className: own ? "own" : "" }, ...cells.map((cell, place) => el("td", { className: numeric(place) }, cell))),
  );
  return el("div", { className: "scroll" }, el("table", { className }, el("thead", {}, head), el("tbody", {}, ...body)));
}

function facts(rows) {
  const lines = rows.map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, el("bdi", {}, ...foreign(value)))));
  return el("div", { className: "scroll" }, el("table", { className: "facts" }, el("tbody", {}, ...lines)));
}

function section(title, ...nodes) {
  return el("section", {}, el("h2", {}, title), ...nodes);
}

function note(text) {
  return el("p", { className: "note" }, text);
}

function warning(text) {
  return el("p", { className: "warning" }, text);
}

// The first paint does not wait for charts.
function later(...makers) {
  return makers.map((make) => {
    const place = el("div");
    requestAnimationFrame(() => setTimeout(() => place.replaceChildren(...[make()].flat())));
    return place;
  });
}

function opened(title, make) {
  const node = el("details", {}, el("summary", {}, title));
  node.addEventListener("toggle", () => node.append(make()), { once: true });
  return node;
}

function groupsOf(table, name = named) {
  return Object.values(table).filter((group) => group.asked).map((group) => ({ ...group, label: name(group.name) }));
}

// The title of the page with the switch of its language.
function heading(title, subtitle, draw) {
  const switches = ["English", "中文"].map((name, number) =>
    el("button", {
      type: "button", className: "screen", lang: ["en", "zh"][number], "aria-pressed": String(language === number),
      onclick: () => { language = number; draw(); },
    }, name));
  return el("header", {},
    el("h1", {}, el("bdi", {}, ...foreign(title))), el("span", { className: "subtitle" }, ...foreign(subtitle)), ...switches);
}

// Draws now, and again when the width changes by more than a scroll bar's.
function drawAtEveryWidth(page, draw) {
  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (Math.abs(page.clientWidth - drawnWidth) < 24) return;
    drawnWidth = page.clientWidth;
    draw();
  }).observe(page);
}
