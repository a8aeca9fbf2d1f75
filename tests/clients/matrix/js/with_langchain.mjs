// The @langchain/openai package: invoke, stream, a tool loop, replayed turns.

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { API_KEY, BASE_URL, CUT, MODEL, PLACE, RECALL, RECORD, TEXT, TOOL, USED_UP_KEY, USER, WRONG_KEY, booked, tell, twice } from "./scenarios.mjs";

const chat = ({ apiKey = API_KEY, ...given } = {}) =>
  new ChatOpenAI({ model: MODEL, apiKey, configuration: { baseURL: BASE_URL }, useResponsesApi: true, maxRetries: 0, ...given });

const book = tool(async (given) => booked(given), {
  name: "book_appointment",
  description: "Books a day.",
  schema: z.object({ date: z.string() }),
});

const invoked = (model, messages) => model.invoke(messages);

async function joined(model, messages) {
  let whole;
  for await (const chunk of await model.stream(messages)) whole = whole ? whole.concat(chunk) : chunk;
  return whole;
}

// The messages after the model has said all it wants to, its calls answered.
async function answered(ask, model, messages) {
  const reply = await ask(model, messages);
  if (!reply.tool_calls?.length) return [...messages, reply];
  const results = reply.tool_calls.map(({ id, args }) => new ToolMessage({ content: booked(args), tool_call_id: id }));
  return answered(ask, model, [...messages, reply, ...results]);
}

async function pieces(prompt, model = chat()) {
  const heard = [];
  for await (const chunk of await model.stream(prompt)) if (chunk.text) heard.push(chunk.text);
  return heard;
}

async function threeTurns(ask, model) {
  let messages = await answered(ask, model, [new HumanMessage(TEXT)]);
  messages = await answered(ask, model, [...messages, new HumanMessage(TOOL)]);
  messages = await answered(ask, model, [...messages, new HumanMessage(RECALL)]);
  return messages.at(-1).text;
}

const withTool = (given) => chat(given).bindTools([book]);
const missing = { modelKwargs: { previous_response_id: "resp_unknown" } };

await tell({
  text: async () => (await chat().invoke(TEXT)).text,
  stream: () => pieces(TEXT),
  tool: async () => (await answered(invoked, withTool(), [new HumanMessage(TOOL)])).at(-1).text,
  tool_streamed: async () => (await answered(joined, withTool(), [new HumanMessage(TOOL)])).at(-1).text,
  second_turn: () => threeTurns(invoked, withTool()),
  second_turn_streamed: () => threeTurns(joined, withTool()),
  second_turn_not_stored: () => threeTurns(invoked, withTool({ zdrEnabled: true })),
  user: async () => (await chat({ modelKwargs: { user: USER } }).invoke(RECORD)).text,
  user_streamed: async () => (await pieces(RECORD, chat({ modelKwargs: { user: USER } }))).join(""),
  async structured() {
    const namer = chat({ modelKwargs: { mode: "model" } }).withStructuredOutput(z.object({ city: z.string() }));
    return (await namer.invoke(PLACE)).city;
  },
  bad_request: async () => (await chat({ model: "no-such-model" }).invoke(TEXT)).text,
  unauthorized: async () => (await chat({ apiKey: WRONG_KEY }).invoke(TEXT)).text,
  not_found: async () => (await chat(missing).invoke(TEXT)).text,
  rate_limited: () => twice(async () => (await chat({ apiKey: USED_UP_KEY }).invoke(TEXT)).text),
  cut_in_mid_stream: () => pieces(CUT),
  cut: async () => (await chat().invoke(CUT)).text,
});
