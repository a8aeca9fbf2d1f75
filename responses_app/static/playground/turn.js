// One turn on the page: its stream as it comes, its end, and the handoff that may stand at it.

import { answerHtml } from "./api.js";
import { element, valueView } from "./dom.js";

/** What the page shows of one response while it comes and when it is there. */
export class TurnView {
  constructor(asked) {
    this.reasoning = element("pre", { className: "scroll" });
    this.thinking = element("details", { hidden: true }, element("summary", { textContent: "Reasoning" }), this.reasoning);
    this.steps = element("ul", { className: "steps" });
    this.answer = element("div", { className: "answer live" });
    this.answer.setAttribute("aria-live", "polite");
    this.status = element("p", { className: "hint" });
    this.status.setAttribute("role", "status");
    this.root = element(
      "article",
      { className: "turn" },
      element("p", { className: "asked", textContent: asked }),
      this.thinking,
      this.steps,
      this.answer,
      this.status,
    );
    this.running = new Map();
  }

  /** Shows one event of the stream. */
  take(event) {
    switch (event.type) {
      case "response.reasoning_summary_text.delta":
        this.thinking.hidden = false;
        this.reasoning.append(event.delta);
        break;
      case "response.output_text.delta":
        this.answer.append(event.delta);
        break;
      case "response.mirobody_tool_call":
        this.#called(event.tool_step);
        break;
      case "response.mirobody_tool_result":
        this.#landed(event.tool_step);
        break;
    }
  }

  #called(step) {
    const state = element("span", { textContent: " …" });
    const shown = element("li", {}, element("code", { textContent: `${step.name}(${step.arguments})` }), state);
    this.running.set(step.id, state);
    this.steps.append(shown);
  }

  #landed(step) {
    const state = this.running.get(step.id);
    if (state) state.textContent = " ✓";
  }

  /** Shows the finished response. */
  async end(response) {
    const usage = response.usage?.billed_tokens;
    const why = response.incomplete_details?.reason ?? response.error?.message;
    this.status.textContent =
      `${response.id} · ${response.status}${why ? `: ${why}` : ""}` +
      (usage ? ` · ${usage.input} tokens in, ${usage.output} out` : "");
    if (!response.output_text) return;
    // Cleaned by the server (responses_app/rendering).
    this.answer.innerHTML = await answerHtml(response.output_text, response.grounding ?? null);
    this.answer.classList.remove("live");
    window.drawCharts(this.answer);
  }
}

/** The form for the outputs of the calls that a response handed off; `resume` is given the output items. */
export function handoffForm(calls, resume) {
  const fields = calls.map((item) => {
    const id = `output-${item.call_id}`;
    const field = element("textarea", { id, rows: 2, required: true });
    const label = element("label", { htmlFor: id }, "Output of ", element("code", { textContent: item.name }));
    return { item, field, label };
  });
  const form = element(
    "form",
    { className: "handoff" },
    element("strong", { textContent: "Your tool was called. Fill in what it gives." }),
    ...fields.flatMap(({ item, field, label }) => [valueView(readable(item.arguments)), label, field]),
    element("button", { className: "primary", type: "submit", textContent: "Resume" }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.querySelector("button").disabled = true;
    resume(fields.map(({ item, field }) => ({ type: "function_call_output", call_id: item.call_id, output: field.value })));
  });
  return form;
}

function readable(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fills `holder` with the tool steps of a response. */
export function showEvidence(holder, response) {
  const steps = response.tool_steps.map((step) => {
    const shown = element(
      "details",
      {},
      element("summary", {}, element("code", { textContent: step.name }), ` ${step.status}`),
      valueView(step.arguments),
      element("hr"),
      valueView(step.result),
    );
    shown.dataset.call = step.call_id;
    return shown;
  });
  holder.replaceChildren(...(steps.length ? steps : ["No tool was called."]));
}

/** Opens what a number of the answer came from and shows its records. */
export function pointAt(holder, support) {
  for (const marked of holder.querySelectorAll(".named")) marked.classList.remove("named");
  let first = null;
  for (const { call_id: callId, records } of support) {
    const step = [...holder.querySelectorAll("[data-call]")].find((each) => each.dataset.call === callId);
    if (!step) continue;
    step.open = true;
    const named = [...step.querySelectorAll("[data-record]")].filter((each) => records.includes(each.dataset.record));
    for (const each of named.length ? named : [step]) {
      each.classList.add("named");
      first ??= each;
    }
  }
  first?.scrollIntoView({ block: "center" });
}
