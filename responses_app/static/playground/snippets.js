// The page's last call, written for other places.

const SDK_FIELDS = new Set([
  "model", "input", "instructions", "stream", "store", "previous_response_id", "tools", "tool_choice", "user",
]);

/** Code that makes the same call: `language` is curl, python or javascript. */
export function snippet(language, base, body) {
  return { curl, python, javascript }[language](base, body);
}

function curl(base, body) {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return `curl ${body.stream ? "-N " : ""}${base}/responses \\
  -H "Authorization: Bearer $MIROBODY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

function python(base, body) {
  const [own, extra] = parted(body);
  const given = Object.entries(own).map(([name, value]) => `    ${name}=${pythonValue(value)},\n`);
  if (Object.keys(extra).length) given.push(`    extra_body=${pythonValue(extra)},\n`);
  const shown = body.stream
    ? "for event in response:\n    print(event.type)"
    : "print(response.output_text)";
  return `import os

from openai import OpenAI

client = OpenAI(base_url=${pythonValue(base)}, api_key=os.environ["MIROBODY_API_KEY"])
response = client.responses.create(
${given.join("")})
${shown}`;
}

function javascript(base, body) {
  const shown = body.stream
    ? "for await (const event of response) console.log(event.type);"
    : "console.log(response.output_text);";
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: process.env.MIROBODY_API_KEY });
const response = await client.responses.create(${JSON.stringify(body, null, 2)});
${shown}`;
}

function parted(body) {
  const entries = Object.entries(body);
  const of = (known) => Object.fromEntries(entries.filter(([name]) => SDK_FIELDS.has(name) === known));
  return [of(true), of(false)];
}

function pythonValue(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
