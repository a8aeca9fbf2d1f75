// The AI SDK (ai) with @ai-sdk/open-responses: the user's name goes in a header, every turn is replayed.

import { createOpenResponses } from "@ai-sdk/open-responses";
import { API_KEY, BASE_URL, MODEL, USED_UP_KEY, USER, WRONG_KEY, adding, tell } from "./scenarios.mjs";
import { scenarios } from "./ai_sdk_scenarios.mjs";

const provider = ({ apiKey = API_KEY, url = `${BASE_URL}/responses`, headers, fetch }) =>
  createOpenResponses({ name: "mirobody", url, apiKey, headers, fetch });
const { server_state, second_turn_not_stored, ...common } = scenarios({
  model: provider({})(MODEL),
  bare: provider({ fetch: adding({ mode: "model" }) })(MODEL),
  misnamed: provider({})("no-such-model"),
  unauthorized: provider({ apiKey: WRONG_KEY })(MODEL),
  usedUp: provider({ apiKey: USED_UP_KEY })(MODEL),
  missing: { model: provider({ url: `${BASE_URL}/nowhere` })(MODEL) },
  user: { model: provider({ headers: { "X-Mirobody-User": USER } })(MODEL) },
});

await tell(common);
