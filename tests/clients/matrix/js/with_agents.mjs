// The @openai/agents package: runs, streamed runs, sessions, hand-offs, server state.

import { Agent, MemorySession, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { API_KEY, BASE_URL, CUT, HAND_OFF, MODEL, PLACE, RECALL, RECORD, TEXT, TOOL, USED_UP_KEY, USER, WRONG_KEY, booked, tell, twice } from "./scenarios.mjs";

setTracingDisabled(true);

function runner(apiKey = API_KEY, config = {}) {
  const openAIClient = new OpenAI({ baseURL: BASE_URL, apiKey, maxRetries: 0 });
  return new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }), ...config });
}

const book = tool({
  name: "book_appointment",
  description: "Books a day.",
  parameters: z.object({ date: z.string() }),
  execute: async (given) => booked(given),
});

const assistant = (given = {}) => new Agent({ name: "Assistant", instructions: "Help.", model: MODEL, tools: [book], ...given });
const namer = new Agent({
  name: "Namer",
  model: MODEL,
  outputType: z.object({ city: z.string() }),
  modelSettings: { providerData: { mode: "model" } },
});
const said = (content) => ({ role: "user", content });

async function pieces(run) {
  const heard = [];
  for await (const piece of run.toTextStream()) heard.push(piece);
  await run.completed;
  return heard;
}

async function streamed(agent, input, options = {}) {
  const run = await runner().run(agent, input, { stream: true, ...options });
  await pieces(run);
  return run;
}

await tell({
  async text() {
    return (await runner().run(assistant(), TEXT)).finalOutput;
  },
  async stream() {
    return pieces(await runner().run(assistant(), TEXT, { stream: true }));
  },
  async tool() {
    return (await runner().run(assistant(), TOOL)).finalOutput;
  },
  async tool_streamed() {
    return (await streamed(assistant(), TOOL)).finalOutput;
  },
  async second_turn() {
    const first = await runner().run(assistant(), TEXT);
    const second = await runner().run(assistant(), [...first.history, said(TOOL)]);
    return (await runner().run(assistant(), [...second.history, said(RECALL)])).finalOutput;
  },
  async session() {
    const session = new MemorySession();
    await runner().run(assistant(), TEXT, { session });
    await streamed(assistant(), TOOL, { session });
    return (await runner().run(assistant(), RECALL, { session })).finalOutput;
  },
  async server_state() {
    const first = await runner().run(assistant(), TEXT);
    const second = await runner().run(assistant(), TOOL, { previousResponseId: first.lastResponseId });
    return (await runner().run(assistant(), RECALL, { previousResponseId: second.lastResponseId })).finalOutput;
  },
  async hand_off() {
    const specialist = new Agent({ name: "specialist", instructions: "You are the specialist.", model: MODEL });
    const run = await runner().run(assistant({ handoffs: [specialist] }), HAND_OFF);
    return [run.lastAgent.name, run.finalOutput];
  },
  async user() {
    return (await runner().run(assistant({ modelSettings: { providerData: { user: USER } } }), RECORD)).finalOutput;
  },
  async user_streamed() {
    return (await streamed(assistant({ modelSettings: { providerData: { user: USER } } }), RECORD)).finalOutput;
  },
  async structured() {
    return (await runner().run(namer, PLACE)).finalOutput.city;
  },
  async structured_streamed() {
    return (await streamed(namer, PLACE)).finalOutput.city;
  },
  async bad_request() {
    return (await runner().run(assistant({ model: "no-such-model" }), TEXT)).finalOutput;
  },
  async unauthorized() {
    return (await runner(WRONG_KEY).run(assistant(), TEXT)).finalOutput;
  },
  async not_found() {
    return (await runner().run(assistant(), TEXT, { previousResponseId: "resp_unknown" })).finalOutput;
  },
  async rate_limited() {
    return twice(async () => (await runner(USED_UP_KEY).run(assistant(), TEXT)).finalOutput);
  },
  async cut_in_mid_stream() {
    return pieces(await runner().run(assistant(), CUT, { stream: true }));
  },
  async cut() {
    return (await runner().run(assistant(), CUT)).finalOutput;
  },
});
