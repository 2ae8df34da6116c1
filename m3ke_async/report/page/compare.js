// Runs side by side: each one's scores, the differences with their intervals, what they disagree on.
const summary = JSON.parse(document.getElementById("summary").textContent);
const { comparison, scores } = summary;
const runs = comparison.runs.map((run, place) => ({ ...run, number: place + 1, scores: scores[place] }));
const labelled = runs.every((run) => run.scores.total.labelled > 0);

function signed(share) {
  return `${share > 0 ? "+" : ""}${points(share)}`;
}

function signedRange(interval) {
  return interval === null ? "–" : `${signed(interval[0])} – ${signed(interval[1])}`;
}

function kappa(value) {
  return value === null ? "–" : value.toFixed(2);
}

function runTable() {
  const rows = runs.map(({ number, name, model, scores }) => ({ cells: [
    el("bdi", {}, ...foreign(`${number}. ${name}`)), el("bdi", {}, ...foreign(model)), count(scores.total.asked), count(scores.total.outcomes.answered),
    percent(scores.total.accuracy), scores.total.interval === null ? "–" : range(scores.total.interval),
    percent(averageOf(scores).value),
  ] }));
  return table([say("runs"), say("model"), say("asked"), say("answered"), say("accuracy"), say("interval"), averageOf(runs[0].scores).name], rows);
}

// The clusters of every run in one chart, a colour a run.
function sideBySide(width) {
  const rows = runs.flatMap((run) =>
    [{ ...run.scores.total, label: say("total") }, ...groupsOf(run.scores.clusters), ...groupsOf(run.scores.levels, namedLevel)]
      .filter((group) => share(group, labelled) !== null)
      .map((group) => ({
        group: group.label, run: say("run", run.number), value: 100 * share(group, labelled),
        low: labelled ? 100 * group.interval[0] : null, high: labelled ? 100 * group.interval[1] : null,
      })));
  const groups = [...new Set(rows.map((row) => row.group))];
  const margin = Math.min(150, width / 3);
  return chart(width, {
    marginLeft: margin,
    marginRight: 42,
    height: 60 + groups.length * (18 * runs.length + 8),
    x: { domain: [0, 100], label: "%", grid: true },
    y: { label: null, axis: null },
    fy: { label: null, axis: "left", domain: groups, tickFormat: (name) => cut(name, Math.floor((margin - 8) / 6.6)) },
    color: { legend: true, domain: runs.map((run) => say("run", run.number)), scheme: "tableau10" },
    marks: [
      Plot.ruleY(rows, { fy: "group", y: "run", x1: "low", x2: "high", stroke: "run", strokeWidth: 2 }),
      Plot.dot(rows, { fy: "group", y: "run", x: "value", fill: "run", r: 4 }),
      Plot.text(rows, { fy: "group", y: "run", x: (row) => row.high ?? row.value, text: (row) => points(row.value / 100), textAnchor: "start", dx: 6 }),
      ...(labelled ? [Plot.ruleX([CHANCE], { strokeDasharray: "4 3", strokeOpacity: 0.7 })] : []),
    ],
  });
}

function verdictOf(total, pair) {
  const [first, second] = [say("run", pair.first), say("run", pair.second)];
  const [one, other] = total.accuracies.map(percent);
  const apart = points(Math.abs(total.difference));
  if (total.verdict === "first") return say("better", first, second, one, other, apart);
  if (total.verdict === "second") return say("better", second, first, other, one, apart);
  return say("noDifference", first, second, one, other, apart);
}

function pairedTable(pair) {
  const groups = [
    { ...pair.total, label: say("total"), own: true },
    ...pair.clusters.map((group) => ({ ...group, label: named(group.name) })),
    ...pair.levels.map((group) => ({ ...group, label: namedLevel(group.name) })),
  ];
  const winner = { first: say("run", pair.first), second: say("run", pair.second) };
  const rows = groups.map((group) => ({ own: group.own, cells: [
    group.label, count(group.n), ...group.accuracies.map(points), signed(group.difference), signedRange(group.interval),
    chance(group.p_adjusted), winner[group.verdict] ?? "–",
  ] }));
  const heads = ["", "n", say("run", pair.first), say("run", pair.second), say("difference"), say("interval"), say("holm"), say("betterOne")];
  return table(heads, rows);
}

function agreementTable(pair) {
  const rows = [{ ...pair.agreement, name: "total" }, ...pair.tasks].map((task) => ({ own: task.name === "total", cells: [
    named(task.name), count(task.n), points(task.share), task.interval === null ? "–" : range(task.interval), kappa(task.kappa), count(task.without),
  ] }));
  return table(["", "n", say("same"), say("interval"), "κ", say("noLetter")], rows);
}

function pairSection(pair) {
  const nodes = [];
  if (pair.total !== null) {
    const { total } = pair;
    nodes.push(el("p", {}, el("strong", {}, verdictOf(total, pair))));
    nodes.push(note(say("mcnemar", chance(total.p_adjusted))));
    nodes.push(note(total.least === null ? say("tooFew") : say("least", points(total.least))));
    nodes.push(pairedTable(pair));
  }
  if (pair.left_out) nodes.push(note(say("leftOut", count(pair.left_out))));
  nodes.push(note(say("agree", percent(pair.agreement.share), count(pair.agreement.n), kappa(pair.agreement.kappa))));
  nodes.push(opened(say("agreementByTask"), () => agreementTable(pair)));
  return section(say("pair", pair.first, pair.second), ...nodes);
}

function disputedSection() {
  if (!summary.disputed) return [];
  const rows = comparison.disputed.map((question) => ({ cells: [
    el("bdi", {}, ...foreign(`${question.task}, ${question.id}`)), ...question.choices.map((letter) => letter ?? "–"), question.key ?? "–",
  ] }));
  return [section(say("disputed"),
    note(say("disputedShown", count(rows.length), count(summary.disputed))),
    table(["", ...runs.map((run) => say("run", run.number)), say("rightOne")], rows))];
}

function draw() {
  const page = document.getElementById("report");
  document.documentElement.lang = ["en", "zh-CN"][language];
  document.title = say("comparison");
  const width = Math.min(page.clientWidth, 1100) - 36;
  page.replaceChildren(
    heading(say("comparison"), runs.map((run) => run.name).join(", "), draw),
    ...(comparison.unlike.length ? [warning(say("unlike", comparison.unlike.join(", ")))] : []),
    ...comparison.notes.map((text) => el("p", { className: "note" }, ...foreign(text))),
    section(say("runs"), runTable(), ...(labelled ? [] : [warning(say("noLabels"))])),
    section(say(labelled ? "bars" : "answeredBars"), ...later(() => sideBySide(width))),
    ...comparison.pairs.map(pairSection),
    ...(comparison.fleiss_n ? [section(say("allRuns"), note(say("fleiss", kappa(comparison.fleiss_kappa), count(comparison.fleiss_n))))] : []),
    ...disputedSection(),
  );
}

drawAtEveryWidth(document.getElementById("report"), draw);
