// What the JavaScript client programs have in common: where the server is, and telling what each scenario came to.

export const { BASE_URL, API_KEY, USED_UP_KEY } = process.env;
export const WRONG_KEY = "mb_live_not-a-key-of-anybody";
export const MODEL = "mirobody-flash";
export const USER = process.env.USER_NAME;

export const TEXT = "My name is Ada. [[matrix-text]]";
export const TOOL = "Book both days. [[matrix-tool]]";
export const RECALL = "What was said? [[matrix-recall]]";
export const RECORD = "What do I weigh? [[matrix-record]]";
export const HAND_OFF = "Let the specialist answer. [[matrix-hand-off]]";
export const PLACE = "Where do I live? [[matrix-place]]";
export const CUT = "Say something. [[matrix-cut]]";

export const booked = ({ date }) => `Booked: ${date}`;

// Adds to the body what a provider package has no option for.
export const adding = (fields) => (url, request) =>
  fetch(url, { ...request, body: JSON.stringify({ ...JSON.parse(request.body), ...fields }) });

// What a key that may ask once a minute is used for.
export const twice = async (ask) => [await ask(), await ask()];

// Runs every scenario, and prints one JSON object of what each returned or threw.
export async function tell(scenarios) {
  const told = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    try {
      told[name] = (await scenario()) ?? null;
    } catch (error) {
      told[name] = { raised: error.name, text: typeof error.message === "string" ? error.message : JSON.stringify(error) };
    }
  }
  console.log(`\n${JSON.stringify(told)}`);
  process.exit();
}
