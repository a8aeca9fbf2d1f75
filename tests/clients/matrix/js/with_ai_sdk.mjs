// The AI SDK (ai) with @ai-sdk/openai: generateText, streamText, tools, both ways of going on.

import { createOpenAI } from "@ai-sdk/openai";
import { API_KEY, BASE_URL, MODEL, USED_UP_KEY, USER, WRONG_KEY, adding, tell } from "./scenarios.mjs";
import { scenarios } from "./ai_sdk_scenarios.mjs";

const responses = (apiKey = API_KEY, name = MODEL) => createOpenAI({ baseURL: BASE_URL, apiKey }).responses(name);
const { server_state, ...common } = scenarios({
  model: responses(),
  bare: createOpenAI({ baseURL: BASE_URL, apiKey: API_KEY, fetch: adding({ mode: "model" }) }).responses(MODEL),
  misnamed: responses(API_KEY, "no-such-model"),
  unauthorized: responses(WRONG_KEY),
  usedUp: responses(USED_UP_KEY),
  missing: { model: responses(), providerOptions: { openai: { previousResponseId: "resp_unknown" } } },
  user: { model: responses(), providerOptions: { openai: { user: USER } } },
  stateful: (previousResponseId) => ({ providerOptions: { openai: { previousResponseId } } }),
  stateless: { providerOptions: { openai: { store: false } } },
});

await tell({ ...common, server_state });
