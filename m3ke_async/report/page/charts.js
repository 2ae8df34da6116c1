// Charts: Observable Plot draws SVG, which takes its colour from the text around it.
const OUTCOMES = {
  answered: "#2a9d62", ambiguous: "#e0a100", unparsed: "#d96c2c", refused: "#8e5bd0",
  filtered: "#5470c6", truncated: "#3ba7b8", failed: "#d03b3b", missing: "#9a9a9a",
};
const LETTERS = ["A", "B", "C", "D"];
const CHANCE = 25;
const BINS = 60;

function chart(width, options) {
  return Plot.plot({ width: Math.max(280, width), style: { fontSize: "12px", overflow: "visible" }, ...options });
}

// Where nothing is labelled, the share of answered questions stands for the accuracy.
function share(group, labelled) {
  if (labelled) return group.accuracy;
  return group.asked ? group.outcomes.answered / group.asked : null;
}

function bars(width, groups, labelled, margin) {
  const rows = groups.filter((group) => share(group, labelled) !== null).map((group) => ({
    name: group.label,
    value: 100 * share(group, labelled),
    low: labelled ? 100 * group.interval[0] : null,
    high: labelled ? 100 * group.interval[1] : null,
  }));
  const right = 42;
  const marks = [
    Plot.barX(rows, { x: "value", y: "name", fill: "#4c7fd0", fillOpacity: 0.75 }),
    Plot.text(rows, { x: (row) => row.high ?? row.value, y: "name", text: (row) => points(row.value / 100), textAnchor: "start", dx: 4 }),
  ];
  if (labelled) {
    marks.push(Plot.ruleY(rows, { x1: "low", x2: "high", y: "name", strokeWidth: 1.5 }));
    marks.push(Plot.tickX(rows, { x: "low", y: "name", insetTop: 4, insetBottom: 4 }));
    marks.push(Plot.tickX(rows, { x: "high", y: "name", insetTop: 4, insetBottom: 4 }));
    marks.push(Plot.ruleX([CHANCE], { strokeDasharray: "4 3", strokeOpacity: 0.7 }));
  }
  return chart(width, {
    marginLeft: margin,
    marginRight: right,
    height: 40 + 20 * rows.length,
    x: { domain: [0, 100], label: "%" },
    y: { domain: rows.map((row) => row.name), label: null, tickFormat: (name) => cut(name, Math.floor((margin - 8) / 6.6)) },
    marks,
  });
}

function cut(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function letters(width, groups) {
  const rows = groups.flatMap((group) =>
    LETTERS.map((letter) => ({ group: group.label, letter, value: (100 * group.letters[letter]) / group.outcomes.answered })),
  );
  return chart(width, {
    height: 190,
    marginTop: 34,
    fx: { label: null, domain: groups.map((group) => group.label), tickFormat: (name) => cut(name, Math.max(4, Math.floor(width / groups.length / 8))) },
    x: { label: null },
    y: { label: say("share"), grid: true },
    marks: [
      Plot.barY(rows, { fx: "group", x: "letter", y: "value", fill: "#4c7fd0", fillOpacity: 0.75 }),
      Plot.ruleY([CHANCE], { strokeDasharray: "4 3" }),
      Plot.ruleY([0]),
    ],
  });
}

function outcomes(width, groups, present, margin) {
  const rows = groups.flatMap((group) =>
    present.map((outcome) => ({ group: group.label, outcome: named(outcome), value: (100 * ofOutcome(group, outcome)) / group.asked })),
  );
  return el("div", {},
    Plot.legend({ color: { domain: present.map(named), range: present.map((outcome) => OUTCOMES[outcome]) } }),
    chart(width, {
      marginLeft: margin,
      height: 40 + 24 * groups.length,
      x: { label: say("questionsShare"), domain: [0, 100] },
      y: { label: null, domain: groups.map((group) => group.label) },
      color: { domain: present.map(named), range: present.map((outcome) => OUTCOMES[outcome]) },
      marks: [Plot.barX(rows, { x: "value", y: "group", fill: "outcome" })],
    }),
  );
}

function ofOutcome(group, outcome) {
  return outcome === "missing" ? group.missing : group.outcomes[outcome];
}

// Replies a minute, and the median time of a reply, both by when the reply came.
function speed(width, timed) {
  const bins = d3.bin().value((row) => row.at).thresholds(BINS)(timed);
  const rows = bins.map((bin) => ({
    from: new Date(1000 * bin.x0),
    to: new Date(1000 * bin.x1),
    rate: (60 * bin.length) / (bin.x1 - bin.x0),
    latency: d3.median(bin, (row) => row.latency),
  }));
  const x = { type: "utc", label: "UTC" };
  return [
    chart(width, {
      height: 170, x, y: { label: say("perMinute"), grid: true },
      marks: [Plot.rectY(rows, { x1: "from", x2: "to", y: "rate", fill: "#4c7fd0", fillOpacity: 0.75 }), Plot.ruleY([0])],
    }),
    chart(width, {
      height: 170, x, y: { label: say("medianLatency"), grid: true, zero: true },
      marks: [Plot.dot(rows.filter((row) => row.latency !== undefined), { x: "from", y: "latency", fill: "#d96c2c", r: 2.5 })],
    }),
  ];
}

// Names of the groups that were asked; a suite without groups is one group without a name.
function groupNames(groups, tasks, kind) {
  const names = Object.keys(groups).filter((name) => tasks.some((task) => task[kind] === name));
  return names.length ? names : [null];
}

// One tile a task, clusters down and levels across.
function heat(scores, labelled, choose) {
  const tasks = Object.values(scores.tasks).filter((task) => task.asked);
  const levels = groupNames(scores.levels, tasks, "level");
  const clusters = groupNames(scores.clusters, tasks, "cluster");
  const tile = (task) => {
    const value = share(task, labelled);
    const node = el("button", { type: "button", className: "tile", title: `${task.name} (${count(task.asked)})` },
      el("b", {}, points(value)), el("bdi", {}, ...foreign(task.subject)));
    if (value !== null) {
      const colour = d3.interpolateViridis(value);
      node.style.backgroundColor = colour;
      node.style.color = d3.lab(colour).l > 55 ? "#000" : "#fff";
    }
    node.onclick = () => choose(task.name);
    return node;
  };
  const cell = (cluster, level) =>
    el("td", { title: named(level ?? "") }, el("div", { className: "tiles" },
      ...tasks.filter((task) => task.cluster === cluster && task.level === level).map(tile)));
  const head = el("tr", {}, el("th", {}), ...levels.map((level) => el("th", {}, named(level ?? ""))));
  const body = clusters.map((cluster) =>
    el("tr", {}, el("th", {}, named(cluster ?? "")), ...levels.map((level) => cell(cluster, level))));
  const most = (level) => d3.max(clusters, (cluster) => tasks.filter((task) => task.cluster === cluster && task.level === level).length);
  const weights = levels.map((level) => 1 + Math.sqrt(most(level)));
  const columns = el("colgroup", {}, el("col", { className: "names" }), ...weights.map((weight) => {
    const column = el("col");
    column.style.width = `${(100 * weight) / d3.sum(weights)}%`;
    return column;
  }));
  return el("div", { className: "scroll" }, el("table", { className: "heat" }, columns, el("thead", {}, head), el("tbody", {}, ...body)));
}
