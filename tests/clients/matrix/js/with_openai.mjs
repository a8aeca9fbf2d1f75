// The openai package: create, stream, the stream helper, both ways of going on.

import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { API_KEY, BASE_URL, CUT, MODEL, PLACE, RECALL, RECORD, TEXT, TOOL, USED_UP_KEY, USER, WRONG_KEY, booked, tell, twice } from "./scenarios.mjs";

const client = new OpenAI({ baseURL: BASE_URL, apiKey: API_KEY, maxRetries: 0 });
const withKey = (apiKey) => new OpenAI({ baseURL: BASE_URL, apiKey, maxRetries: 0 });

const tools = [
  {
    type: "function",
    name: "book_appointment",
    description: "Books a day.",
    parameters: {
      type: "object",
      properties: { date: { type: "string" } },
      required: ["date"],
      additionalProperties: false,
    },
    strict: true,
  },
];

const text = { format: zodTextFormat(z.object({ city: z.string() }), "place") };

const outputs = (response) =>
  response.output
    .filter((item) => item.type === "function_call")
    .map((call) => ({ type: "function_call_output", call_id: call.call_id, output: booked(JSON.parse(call.arguments)) }));

async function pieces(stream) {
  const said = [];
  for await (const event of stream) if (event.type === "response.output_text.delta") said.push(event.delta);
  return said;
}

async function threeTurns(ask) {
  const input = [{ role: "user", content: TEXT }];
  input.push(...(await ask(input)).output);
  input.push({ role: "user", content: TOOL });
  const handoff = await ask(input);
  input.push(...handoff.output, ...outputs(handoff));
  input.push(...(await ask(input)).output);
  input.push({ role: "user", content: RECALL });
  return (await ask(input)).output_text;
}

await tell({
  async text() {
    return (await client.responses.create({ model: MODEL, input: TEXT })).output_text;
  },
  async stream() {
    return pieces(await client.responses.create({ model: MODEL, input: TEXT, stream: true }));
  },
  async stream_helper() {
    const stream = client.responses.stream({ model: MODEL, input: TEXT });
    return { pieces: await pieces(stream), final: (await stream.finalResponse()).output_text };
  },
  async tool() {
    const input = [{ role: "user", content: TOOL }];
    const response = await client.responses.create({ model: MODEL, input, tools });
    input.push(...response.output, ...outputs(response));
    return (await client.responses.create({ model: MODEL, input, tools })).output_text;
  },
  async tool_streamed() {
    const input = [{ role: "user", content: TOOL }];
    const response = await client.responses.stream({ model: MODEL, input, tools }).finalResponse();
    input.push(...response.output, ...outputs(response));
    return (await client.responses.stream({ model: MODEL, input, tools }).finalResponse()).output_text;
  },
  async second_turn() {
    return threeTurns((input) => client.responses.create({ model: MODEL, input, tools, store: false }));
  },
  async second_turn_streamed() {
    return threeTurns((input) => client.responses.stream({ model: MODEL, input, tools }).finalResponse());
  },
  async server_state() {
    const ask = (input, previous) =>
      client.responses.create({ model: MODEL, input, tools, previous_response_id: previous?.id });
    const first = await ask(TEXT);
    const second = await ask(TOOL, first);
    const third = await ask(outputs(second), second);
    return (await ask(RECALL, third)).output_text;
  },
  async user() {
    return (await client.responses.create({ model: MODEL, input: RECORD, user: USER })).output_text;
  },
  async user_streamed_without_helper() {
    return (await pieces(await client.responses.create({ model: MODEL, input: RECORD, user: USER, stream: true }))).join("");
  },
  async user_streamed() {
    return (await client.responses.stream({ model: MODEL, input: RECORD, user: USER }).finalResponse()).output_text;
  },
  async structured() {
    return (await client.responses.parse({ model: MODEL, input: PLACE, text, mode: "model" })).output_parsed.city;
  },
  async structured_streamed() {
    const stream = client.responses.stream({ model: MODEL, input: PLACE, text, mode: "model" });
    return (await stream.finalResponse()).output_parsed.city;
  },
  async bad_request() {
    return (await client.responses.create({ model: "no-such-model", input: TEXT })).output_text;
  },
  async unauthorized() {
    return (await withKey(WRONG_KEY).responses.create({ model: MODEL, input: TEXT })).output_text;
  },
  async not_found() {
    const missing = { model: MODEL, input: TEXT, previous_response_id: "resp_unknown" };
    return (await client.responses.create(missing)).output_text;
  },
  async rate_limited() {
    return twice(async () => (await withKey(USED_UP_KEY).responses.create({ model: MODEL, input: TEXT })).output_text);
  },
  async cut_in_mid_stream() {
    return pieces(await client.responses.create({ model: MODEL, input: CUT, stream: true }));
  },
  async cut_in_helper() {
    return (await client.responses.stream({ model: MODEL, input: CUT }).finalResponse()).output_text;
  },
  async cut() {
    return (await client.responses.create({ model: MODEL, input: CUT })).output_text;
  },
});
