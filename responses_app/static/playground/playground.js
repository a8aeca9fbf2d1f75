// The page's state and its forms. What a turn looks like is in turn.js, the calls are in api.js.

import { BASE, call } from "./api.js";
import { showRecords, writeRecords } from "./records.js";
import { snippet } from "./snippets.js";
import { events } from "./sse.js";
import { handoffForm, pointAt, showEvidence, TurnView } from "./turn.js";

const MAX_EVENTS_SHOWN = 1000;
const EXAMPLE_TOOLS = [
  {
    type: "function",
    name: "book_appointment",
    description: "Book a clinic appointment for the end user.",
    parameters: { type: "object", required: ["date"], properties: { date: { type: "string", description: "ISO date" } } },
  },
];

const at = (id) => document.getElementById(id);
const state = { previous: null, transcript: [], running: null, leaving: null, language: "curl", body: null };

function say(fault) {
  at("fault").textContent = fault ? fault.message : "";
  at("fault").hidden = !fault;
}

/** Runs what a form does; what goes wrong is shown. */
function on(id, event, act) {
  at(id).addEventListener(event, async (happened) => {
    happened.preventDefault();
    say(null);
    try {
      await act(happened);
    } catch (fault) {
      say(fault);
    }
  });
}

const user = () => at("subject").value;

function startAnew() {
  Object.assign(state, { previous: null, transcript: [] });
  at("turns").replaceChildren();
  at("evidence").replaceChildren();
}

/** The body of the next call: stored turns go on from the last response, others replay the transcript. */
function bodyFor(items) {
  const stored = at("store").checked && at("mode").value === "agent";
  state.transcript.push(...items);
  const continued = stored && state.previous;
  return {
    model: at("model").value,
    input: continued ? items : [...state.transcript],
    stream: true,
    store: at("store").checked,
    ...(user() ? { user: user() } : {}),
    ...(at("mode").value === "model" ? { mode: "model" } : {}),
    ...(at("instructions").value.trim() ? { instructions: at("instructions").value } : {}),
    ...(at("tools").value.trim() ? { tools: JSON.parse(at("tools").value) } : {}),
    ...(continued ? { previous_response_id: state.previous } : {}),
  };
}

async function run(asked, items) {
  const before = [...state.transcript];
  const view = new TurnView(asked);
  try {
    const body = bodyFor(items);
    showSnippet(body);
    at("turns").append(view.root);
    const response = await streamed(body, view);
    await ended(response, view);
    if (response.status === "completed") return;
    state.transcript = before;
  } catch (fault) {
    state.transcript = before;
    view.root.remove();
    throw fault;
  } finally {
    setRunning(null);
  }
}

async function streamed(body, view) {
  state.leaving = new AbortController();
  const answer = await call("POST", "/responses", body, state.leaving.signal);
  at("events").replaceChildren();
  let last = null;
  let count = 0;
  for await (const event of events(answer)) {
    at("event-count").textContent = ++count;
    if (count <= MAX_EVENTS_SHOWN) at("events").append(JSON.stringify(event), "\n");
    if (event.type === "response.created") setRunning(event.response);
    if (event.type === "error") say(new Error(`${event.code}: ${event.message}`));
    if (event.response) last = event.response;
    view.take(event);
  }
  if (!last) throw new Error("The stream ended before the response began.");
  return last;
}

async function ended(response, view) {
  showEvidence(at("evidence"), response);
  const found = response.grounding;
  at("grounding").textContent = found
    ? `${found.supported} of ${found.numbers} numbers of the answer stand in what tools gave.`
    : "What the server's tools gave for the answer.";
  if (response.status === "completed" || response.status === "incomplete") {
    state.previous = response.store ? response.id : null;
    state.transcript.push(...response.output);
  }
  await view.end(response);
  const calls = response.output.filter((item) => item.type === "function_call");
  if (response.status === "completed" && calls.length) view.root.append(handoffForm(calls, resumed));
}

function resumed(items) {
  const asked = items.map((item) => item.output).join("\n");
  run(`↳ ${asked}`, items).catch(say);
}

function setRunning(response) {
  state.running = response;
  at("stop").disabled = !response;
  at("ask-form").querySelector(".primary").disabled = Boolean(response);
}

function showSnippet(body) {
  state.body = body;
  at("snippet").textContent = body ? snippet(state.language, BASE, body) : "Ask, and the call stands here.";
}

on("subject-form", "submit", async () => {
  startAnew();
  await showRecords(at("records"), user());
});

on("records-form", "submit", async () => {
  at("written").textContent = await writeRecords(user(), at("retention").value, at("table").value);
  at("table").value = "";
  await showRecords(at("records"), user());
});

on("ask-form", "submit", async () => {
  const question = at("question").value;
  await run(question, [{ type: "message", role: "user", content: question }]);
});

on("stop", "click", async () => {
  if (state.running.store) await call("POST", `/responses/${state.running.id}/cancel`);
  else state.leaving.abort();
});

on("new", "click", async () => startAnew());

on("tool-example", "click", async () => {
  at("tools").value = JSON.stringify(EXAMPLE_TOOLS, null, 2);
  at("question").value = "Check my recent glucose and book a follow-up if it is trending up.";
});

on("copy", "click", async () => navigator.clipboard.writeText(at("snippet").textContent));

at("turns").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  event.preventDefault();
  if (link.dataset.support) pointAt(at("evidence"), JSON.parse(link.dataset.support));
  else window.open(link.href, "_blank", "noopener,noreferrer");
});

for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    state.language = button.dataset.language;
    for (const each of document.querySelectorAll("[data-language]")) {
      each.setAttribute("aria-pressed", String(each === button));
    }
    showSnippet(state.body);
  });
}

showSnippet(null);
showRecords(at("records"), user()).catch(say);
