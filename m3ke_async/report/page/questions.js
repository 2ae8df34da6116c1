// The questions: decompressed block by block after the first paint, listed as far as they are in view.
const ROW = 56;
const ROWS_AROUND = 6;

async function unpack(node) {
  const text = atob(node.textContent);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  // Written by hand: a Blob's stream is read back from the browser's storage, which may fail or keep us waiting.
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  const [value] = await Promise.all([new Response(stream.readable).json(), writer.write(bytes), writer.close()]);
  return value;
}

function verdict(row) {
  if (row.outcome === "missing") return "missing";
  if (row.key === null) return "unlabelled";
  return row.choice === row.key ? "right" : "wrong";
}

async function readQuestions(progress) {
  const blocks = [...document.querySelectorAll("script.questions")];
  const rows = [];
  for (const [number, block] of blocks.entries()) {
    const tasks = summary.tasks;
    for (const [place, row] of (await unpack(block)).entries()) {
      row.task = tasks[row.task];
      row.verdict = verdict(row);
      row.prompt = [number, place];
      row.words = [row.id, row.question, ...row.options, row.reply ?? "", row.reasoning ?? ""].join("\n").toLowerCase();
      rows.push(row);
    }
    progress(number + 1, blocks.length);
  }
  return rows;
}

let promptBlock = [null, null];

async function readPrompt([number, place]) {
  if (promptBlock[0] !== number) {
    promptBlock = [number, await unpack(document.querySelectorAll("script.prompts")[number])];
  }
  return promptBlock[1][place];
}

function matching(rows, wanted) {
  const words = wanted.search.trim().toLowerCase();
  return rows.filter((row) =>
    (!wanted.task || row.task === wanted.task)
    && (!wanted.outcome || row.outcome === wanted.outcome)
    && (!wanted.verdict || row.verdict === wanted.verdict)
    && (!wanted.letter || row.choice === wanted.letter)
    && (!words || row.words.includes(words)));
}

// A question that was asked more than once has a line an ask.
function titleOf(row) {
  const rotation = row.rotation === null ? "" : `, ${say("rotation", row.rotation)}`;
  const sample = row.sample === null ? "" : `, ${say("sample", row.sample)}`;
  return `${row.task}, ${row.id}${rotation}${sample}`;
}

const VERDICT_SIGNS = { right: "✓", wrong: "✗", unlabelled: "·", missing: "–" };

function line(row, open) {
  const found = [row.choice ?? named(row.outcome), row.key === null || row.verdict === "right" ? "" : ` → ${row.key}`];
  return el("button", { type: "button", className: "row", onclick: open },
    el("span", { className: row.verdict, title: say(row.verdict) }, VERDICT_SIGNS[row.verdict]),
    el("span", {}, el("bdi", {}, ...foreign(titleOf(row)))),
    el("span", {}, el("bdi", {}, ...foreign(row.question.slice(0, 160)))),
    el("span", {}, ...found));
}

// A list of any length: only the lines in view are nodes.
function virtualList(open) {
  const inner = el("div");
  const outer = el("div", { className: "list", tabIndex: 0 }, inner);
  let rows = [];
  let drawn = "";
  const draw = () => {
    const first = Math.max(0, Math.floor(outer.scrollTop / ROW) - ROWS_AROUND);
    const last = Math.min(rows.length, Math.ceil((outer.scrollTop + outer.clientHeight) / ROW) + ROWS_AROUND);
    if (drawn === `${first} ${last}`) return;
    drawn = `${first} ${last}`;
    inner.replaceChildren(...rows.slice(first, last).map((row, place) => {
      const node = line(row, () => open(rows, first + place));
      node.style.top = `${(first + place) * ROW}px`;
      return node;
    }));
  };
  outer.onscroll = draw;
  const show = (found) => {
    rows = found;
    drawn = "";
    inner.style.height = `${rows.length * ROW}px`;
    outer.scrollTop = 0;
    draw();
  };
  return { node: outer, show };
}

// Places in the reply are counted in characters, while JavaScript counts UTF-16 units.
function unitsOf(text, characters) {
  let units = 0;
  for (let left = characters; left > 0; left--) units += text.codePointAt(units) > 0xffff ? 2 : 1;
  return units;
}

// The letter in the prompt and in the reply, where the options were moved up by some places.
function shownAs(letter, rotation) {
  if (!rotation) return "";
  return ` (${say("shownAs", LETTERS[(LETTERS.indexOf(letter) + LETTERS.length - rotation) % LETTERS.length])})`;
}

function markedReply(row) {
  if (row.reply === "") return [say("emptyReply")];
  if (row.span === null) return clipped(row.reply, 4000, 1000);
  const [start, end] = row.span.map((place) => unitsOf(row.reply, place));
  return [
    ...clipped(row.reply.slice(0, start), 2000, 1000),
    el("mark", {}, ...foreign(row.reply.slice(start, end))),
    ...clipped(row.reply.slice(end), 2000, 1000),
  ];
}

// A rule's id with what it catches; policies and constraints have no more than their name.
function meant(rule) {
  const catches = summary.rules[rule.replace(/^text:/, "")];
  return catches ? `${rule} (${catches})` : rule;
}

function block(title, nodes, leftOut = 0) {
  const rest = leftOut ? [el("p", { className: "note" }, say("shortened", count(leftOut)))] : [];
  return [el("h3", {}, title), el("pre", { dir: "auto" }, ...nodes), ...rest];
}

function promptText(messages) {
  if (messages.length === 1) return messages[0].content;
  return messages.map((message) => `[${message.role}]\n${message.content}`).join("\n\n");
}

const dialog = el("dialog");
let openRow = null;

async function openQuestion(rows, number) {
  const row = rows[number];
  openRow = row;
  const step = (name, to) =>
    el("button", { type: "button", disabled: !rows[to], onclick: () => openQuestion(rows, to) }, say(name));
  const options = LETTERS.map((letter, index) =>
    el("li", { className: letter === row.key ? "right" : letter === row.choice && row.key !== null ? "wrong" : "" },
      `${letter}. `, el("bdi", {}, ...foreign(row.options[index])), shownAs(letter, row.rotation),
      letter === row.choice ? ` ● ${say("chosen", letter)}` : "", letter === row.key ? ` ✓ ${say("key", letter)}` : ""));
  const known = [
    named(row.outcome),
    row.choice && say("chosen", row.choice),
    row.key && say("key", row.key),
    row.rule && say("rule", meant(row.rule)),
    row.finish_reason && `finish_reason ${row.finish_reason}`,
    row.latency !== null && `${row.latency.toFixed(2)} s`,
    row.attempts && say("attempts", count(row.attempts)),
  ];
  dialog.replaceChildren(
    el("nav", {}, el("strong", {}, el("bdi", {}, ...foreign(titleOf(row)))), step("previous", number - 1), step("next", number + 1),
      el("button", { type: "button", onclick: () => dialog.close() }, say("close"))),
    el("p", {}, el("bdi", { dir: "auto" }, ...foreign(row.question))),
    el("ol", { className: "options" }, ...options),
    el("p", { className: "note" }, ...foreign(known.filter(Boolean).join(" · "))),
    ...(row.failure === null ? [] : block(say("failure"), clipped(row.failure, 4000, 0))),
    ...(row.reply === null ? [] : block(say("reply"), markedReply(row), row.reply_left_out)),
    ...(row.reasoning ? block(say("reasoning"), clipped(row.reasoning, 4000, 1000), row.reasoning_left_out) : []),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const messages = await readPrompt(row.prompt);
  if (openRow !== row) return; // another was opened while the prompt was read
  dialog.append(...block(say("prompt"), clipped(promptText(messages), 8000, 1000)));
}
