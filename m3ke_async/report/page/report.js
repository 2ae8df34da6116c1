// The page from top to bottom; a switch of the language or of the width draws it again.
const summary = JSON.parse(document.getElementById("summary").textContent);
const { scores, run, published } = summary;
const labelled = scores.total.labelled > 0;
const wanted = { task: "", outcome: "", verdict: "", letter: "", search: "" };
let questions = null;
let trouble = null;
let read = [0, 0];

function suite() {
  if (run.is_m3ke) return "M3KE";
  return scores.suite?.tasks ? scores.suite.title : run.data.split(/[\\/]/).pop();
}

// As many as were wanted, or as the prompts had at most.
function shots() {
  const sent = Object.keys(scores.diagnostics?.examples ?? {}).map(Number);
  return sent.length ? Math.max(...sent) : run.settings.shots;
}

// What was taken for an answer and how letters were found, where not as usual.
function unusualReading() {
  const usual = { answer: "text", policy: "careful" };
  return Object.keys(usual).filter((name) => (run.settings[name] ?? usual[name]) !== usual[name])
    .map((name) => `, --${name} ${run.settings[name]}`).join("");
}

function header() {
  const written = run.written_at ?? "";
  const asked = `${suite()} ${scores.split}, ${shots()}-shot${unusualReading()}`;
  return heading(run.settings.model, `${asked}, ${run.state}, ${written}`, draw);
}

function headline() {
  const { total, averages } = scores;
  const fact = (title, value, remark) =>
    el("div", { className: "fact" }, el("span", {}, title), el("div", { className: "big" }, value), el("span", {}, remark));
  const rest = Object.keys(OUTCOMES).filter((outcome) => ofOutcome(total, outcome))
    .map((outcome) => `${count(ofOutcome(total, outcome))} ${named(outcome)}`).join(", ");
  const all = [fact(say("asked"), count(total.asked), rest)];
  if (labelled) {
    const own = averageOf(scores);
    const mean = scores.suite
      ? say(`over_${scores.suite.average ?? "tasks"}`)
      : `${say("pooled")}; ${say("taskMeans", percent(averages.over_clusters_task_mean.value))}`;
    const remark = own.interval === null ? mean : `${mean}; ${say("overTasks", range(own.interval))}`;
    all.unshift(
      fact(say("accuracy"), percent(total.accuracy), `${say("interval")} ${range(total.interval)}; ${say("wilson", count(total.labelled))}`),
      ...(own.value === null ? [] : [fact(own.name, percent(own.value), remark)]),
      fact(say("bounds"), range(total.bounds), `${say("boundsNote")}; ${say("answeredOnly")} ${percent(total.accuracy_answered)}`),
    );
  } else {
    all.unshift(fact(say("accuracy"), "–", say("noAccuracy")));
  }
  return el("div", { className: "headline" }, ...all);
}

function remarks() {
  const { total, averages } = scores;
  const lines = [];
  if (total.asked === total.missing) lines.push(say("nothing"));
  else if (!labelled) lines.push(say(scores.suite ? "noLabelsHere" : "noLabels"));
  if (total.missing + total.outcomes.failed) lines.push(say("incomplete", count(total.outcomes.failed), count(total.missing)));
  if (labelled && averages.over_clusters_pooled.partial) lines.push(say("partial", count(total.labelled), count(total.size)));
  return [...lines.map(warning), ...fewerExamples(), ...servers()];
}

function fewerExamples() {
  const all = Object.entries(scores.diagnostics?.examples ?? {}).map(([number, prompts]) => [Number(number), prompts]);
  const fewer = all.filter(([number]) => number < run.settings.shots);
  if (!fewer.length) return [];
  const [least, most] = d3.extent(fewer, ([number]) => number);
  const prompts = (pairs) => count(d3.sum(pairs, ([, number]) => number));
  return [warning(say("fewerExamples", run.settings.shots, prompts(fewer), prompts(all), least === most ? least : `${least}–${most}`))];
}

function servers() {
  const served = scores.diagnostics?.served ?? [];
  if (served.length < 2) return [];
  const all = served.map((one) => say("servedOne", [one.model, one.fingerprint].filter(Boolean).join(" "), count(one.replies)));
  return [el("p", { className: "warning" }, ...foreign(say("served", all.slice(0, 10).join(", "))))];
}

function letterNotes() {
  const { evenness } = scores.total;
  const lines = [say("lettersNote")];
  if (evenness) lines.push(say("evenness", evenness.chi_square.toFixed(1), chance(evenness.p)));
  for (const name of ["longest", "shortest"]) {
    const picks = scores.diagnostics?.[name];
    if (!picks?.n) continue;
    const right = picks.right_share === null ? "" : ` ${say("rightShare", percent(picks.right_share))}`;
    lines.push(say(name, percent(picks.share), count(picks.n), range(picks.interval)) + right);
  }
  return lines.map(note);
}

// What asking each question more than once tells, as in the terminal.
function repeatNotes() {
  const { repeats } = scores;
  if (!repeats?.questions) return [];
  const turned = repeats.rotations > 1;
  const lines = [
    say(turned ? "askedInOrders" : "askedAgain", count(repeats.asks), count(repeats.rotations)),
    say("consistency", percent(repeats.consistency), count(repeats.questions), percent(repeats.agreement)),
  ];
  if (repeats.labelled) {
    lines.push(say(turned ? "circular" : "rightAlways",
      percent(repeats.accuracy_always), range(repeats.interval_always), percent(repeats.accuracy_of_one)));
  }
  if (turned) {
    const places = LETTERS.map((letter) => `${letter} ${count(repeats.shown[letter])}`).join(", ");
    const { evenness } = repeats;
    lines.push(say("places", places)
      + (evenness ? ` ${say("evenness", evenness.chi_square.toFixed(1), chance(evenness.p))}` : ""));
  }
  return [section(say("repeats"), ...lines.map((line) => el("p", {}, line)))];
}

function beside() {
  if (!published || !labelled) return [];
  const clusters = Object.keys(published.rows[0].clusters);
  const pooled = scores.averages.over_clusters_pooled;
  const own = {
    model: say(pooled.partial ? "thisRunPartial" : "thisRun"),
    clusters: Object.fromEntries(clusters.map((name) => [name, scores.clusters[name]?.accuracy ?? null])),
    average: pooled.value,
    own: true,
  };
  const rows = [own, ...published.rows].sort((one, other) => other.average - one.average)
    .map((row) => ({ own: row.own, cells: [row.model, ...clusters.map((name) => points(row.clusters[name])), points(row.average)] }));
  return [section(say("published", published.shots),
    ...(shots() === published.shots ? [] : [warning(say("otherShots", shots()))]),
    table([say("model"), ...clusters.map(named), say("mean")], rows),
    note(say("source", published.source, published.commit)))];
}

function outcomeTable(groups, present) {
  const rows = groups.map((group) => ({ cells: [group.label, count(group.asked), ...present.map((outcome) => count(ofOutcome(group, outcome)))] }));
  return table(["", say("asked"), ...present.map(named)], rows);
}

function ledger() {
  const { ledger } = run;
  const batched = ledger.batch_prompt_tokens + ledger.batch_completion_tokens;
  const rows = [
    [say("requests"), count(ledger.requests)],
    [say("replies"), count(ledger.replies)],
    ...Object.entries(ledger.retries).map(([kind, number]) => [say("retry", kind), count(number)]),
    ...(ledger.resent ? [[say("resent"), count(ledger.resent)]] : []),
    [say("waited"), ledger.seconds_waited.toFixed(1)],
    [say("seconds"), ledger.seconds.toFixed(1)],
    [say("latency"), scores.usage.latency_mean === null ? say("unknown") : scores.usage.latency_mean.toFixed(2)],
    [say("promptTokens"), count(ledger.prompt_tokens)],
    [say("cachedTokens"), count(ledger.cached_tokens)],
    [say("completionTokens"), count(ledger.completion_tokens)],
    [say("wastedTokens"), count(ledger.wasted_tokens)],
    [say("unreported"), count(ledger.unreported)],
    ...(batched ? [[say("batched"), count(batched)]] : []),
    ...(ledger.charges ? [[say("charged"), say("chargedIn", ledger.charged.toFixed(4), count(ledger.charges))]] : []),
    [say("cost"), summary.cost ?? say("unknown")],
  ];
  return facts(rows);
}

function settings() {
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const rows = (table) => Object.entries(table).filter(([, value]) => value !== null && value !== false && value?.length !== 0)
    .map(([name, value]) => [name, shown(value)]);
  return el("div", { className: "columns" },
    facts(rows(run.settings)),
    facts([...rows(run.versions), ["rules", String(run.rules)], ...rows(run.identity).filter(([name]) => !(name in run.settings))]));
}

function speedCharts(width) {
  if (questions === null) return [];
  const timed = questions.filter((row) => row.at);
  if (timed.length < 2) return [note(say("noTimes"))];
  return speed(width, timed);
}

function chooser(name, any, values) {
  const node = el("select", { "aria-label": say(any) }, el("option", { value: "" }, say(any)),
    ...values.map(([value, text]) => el("option", { value }, ...foreign(text))));
  node.value = wanted[name];
  node.onchange = () => { wanted[name] = node.value; filter(); };
  return node;
}

// Made once: questions may be read before the page is drawn for the first time, as in a tab in the background.
const list = virtualList(openQuestion);
const shown = el("p", { className: "note" });

function questionSection() {
  if (trouble !== null) return section(say("questions"), warning(say("unreadable", trouble)));
  const search = el("input", { type: "search", placeholder: say("search"), value: wanted.search, "aria-label": say("search") });
  search.oninput = () => { wanted.search = search.value; filter(); };
  const clear = el("button", { type: "button" }, say("clear"));
  clear.onclick = () => { for (const name in wanted) wanted[name] = ""; draw(); };
  // of the asks: where there are several a question, the scores count what they come to
  const present = Object.keys(OUTCOMES).filter((outcome) => questions?.some((row) => row.outcome === outcome));
  const verdicts = ["right", "wrong", "unlabelled", "missing"].filter((name) => questions?.some((row) => row.verdict === name));
  const node = section(say("questions"),
    el("div", { className: "filters" },
      chooser("task", "anyTask", summary.tasks.map((task) => [task, task])),
      chooser("outcome", "anyOutcome", present.map((outcome) => [outcome, named(outcome)])),
      chooser("verdict", "anyVerdict", verdicts.map((name) => [name, say(name)])),
      chooser("letter", "anyLetter", LETTERS.map((letter) => [letter, letter])),
      search, clear),
    shown, list.node);
  node.id = "questions";
  node.classList.add("screen");
  return node;
}

function filter() {
  if (questions === null) {
    if (trouble === null) shown.textContent = say("loading", ...read.map(count));
    return;
  }
  const found = matching(questions, wanted);
  shown.textContent = say(scores.repeats ? "shownAsks" : "shown", count(found.length), count(questions.length));
  list.show(found);
}

function chooseTask(task) {
  for (const name in wanted) wanted[name] = "";
  wanted.task = task;
  draw();
  document.getElementById("questions").scrollIntoView();
}

function draw() {
  const page = document.getElementById("report");
  document.documentElement.lang = ["en", "zh-CN"][language];
  document.title = `${run.settings.model}, ${suite()} ${scores.split}`;
  const width = Math.min(page.clientWidth, 1100) - 36;
  const half = width > 860 ? (width - 32) / 2 : width;
  const clusters = groupsOf(scores.clusters);
  const levels = groupsOf(scores.levels, namedLevel);
  const total = { ...scores.total, label: say("total") };
  const tasks = Object.values(scores.tasks).filter((task) => task.asked).map((task) => ({ ...task, label: [task.subject, namedLevel(task.level)].filter(Boolean).join(", ") }));
  const answered = [total, ...clusters].filter((group) => group.outcomes.answered);
  const present = Object.keys(OUTCOMES).filter((outcome) => ofOutcome(total, outcome));
  const sorted = tasks.toSorted((one, other) => share(other, labelled) - share(one, labelled));
  const margin = Math.min(150, width / 3);
  page.replaceChildren(
    header(),
    section(say("accuracy"), headline(), ...remarks()),
    ...beside(),
    section(say(levels.length ? "heat" : "heatPlain"), note(say(labelled ? "heatNote" : "heatAnswered")), heat(scores, labelled, chooseTask)),
    section(say(labelled ? "bars" : "answeredBars"),
      el("div", { className: "columns" }, ...later(
        () => bars(half, [total, ...clusters], labelled, margin), ...(levels.length ? [() => bars(half, levels, labelled, margin)] : []))),
      ...(labelled ? [note(say("chance"))] : []),
      opened(say("allTasks"), () => bars(width, sorted, labelled, Math.min(300, width / 2)))),
    section(say("letters"), ...letterNotes(), ...(answered.length ? later(() => letters(width, answered)) : [note("–")])),
    ...repeatNotes(),
    section(say("outcomes"), ...later(() => outcomes(width, [total, ...clusters], present, margin)), outcomeTable([total, ...clusters, ...levels], present)),
    el("div", { className: "columns" },
      section(say("ledger"), ledger()),
      section(say("speed"), ...later(() => speedCharts(half - 16)))),
    section(say("settings"), settings()),
    questionSection(),
    dialog,
  );
  filter();
}

drawAtEveryWidth(document.getElementById("report"), draw);

document.addEventListener("DOMContentLoaded", async () => {
  try {
    questions = await readQuestions((...done) => { read = done; filter(); });
  } catch (error) {
    trouble = String(error);
  }
  draw();
});
