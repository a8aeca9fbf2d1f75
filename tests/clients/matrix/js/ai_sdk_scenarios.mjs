// The AI SDK's scenarios, whichever provider package is under it.

import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { CUT, PLACE, RECALL, RECORD, TEXT, TOOL, booked, twice } from "./scenarios.mjs";

const tools = {
  book_appointment: tool({
    description: "Books a day.",
    inputSchema: z.object({ date: z.string() }),
    execute: async (given) => booked(given),
  }),
};
const loop = { tools, stopWhen: stepCountIs(5), maxRetries: 0 };
const said = (content) => ({ role: "user", content });

async function pieces(options) {
  const heard = [];
  for await (const part of streamText({ maxRetries: 0, onError() {}, ...options }).fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") heard.push(part.text);
  }
  return heard;
}

// All messages of a run: from version 7 on, those of `response` are its last step's alone.
async function streamed(options) {
  const result = streamText({ ...loop, ...options });
  await result.consumeStream();
  return { text: await result.text, messages: (await result.responseMessages) ?? (await result.response).messages };
}

async function generated(options) {
  const result = await generateText({ ...loop, ...options });
  return { text: result.text, messages: result.responseMessages ?? result.response.messages };
}

// Three turns, each with all messages so far.
async function threeTurns(ask, options) {
  const messages = [said(TEXT)];
  messages.push(...(await ask({ ...options, messages })).messages, said(TOOL));
  messages.push(...(await ask({ ...options, messages })).messages, said(RECALL));
  return (await ask({ ...options, messages })).text;
}

export function scenarios({ model, bare, misnamed, unauthorized, usedUp, missing, user, stateful, stateless }) {
  const once = (options) => generateText({ maxRetries: 0, prompt: TEXT, ...options }).then((result) => result.text);
  return {
    text: () => once({ model }),
    stream: () => pieces({ model, prompt: TEXT }),
    tool: async () => (await generated({ model, prompt: TOOL })).text,
    tool_streamed: async () => (await streamed({ model, prompt: TOOL })).text,
    second_turn: () => threeTurns(generated, { model }),
    second_turn_streamed: () => threeTurns(streamed, { model }),
    second_turn_not_stored: () => threeTurns(generated, { model, ...stateless }),
    async server_state() {
      const last = async (options) => {
        const result = await generateText({ ...loop, model, ...options });
        return { text: result.text, id: result.response.id };
      };
      const first = await last({ prompt: TEXT });
      const second = await last({ prompt: RECALL, ...stateful(first.id) });
      return second.text;
    },
    user: () => once({ prompt: RECORD, ...user }),
    user_streamed: () => pieces({ prompt: RECORD, ...user }).then((heard) => heard.join("")),
    async structured() {
      const output = Output.object({ schema: z.object({ city: z.string() }) });
      const result = await generateText({ maxRetries: 0, model: bare, prompt: PLACE, experimental_output: output, output });
      return (result.output ?? result.experimental_output).city;
    },
    bad_request: () => once({ model: misnamed }),
    unauthorized: () => once({ model: unauthorized }),
    not_found: () => once(missing),
    rate_limited: () => twice(() => once({ model: usedUp })),
    cut_in_mid_stream: () => pieces({ model, prompt: CUT }),
    cut: () => once({ model, prompt: CUT }),
  };
}
