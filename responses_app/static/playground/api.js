// Calls of the API with the key of this visit, which lives in this page's memory alone.

export const BASE = `${location.origin}/v1`;

const session = document.querySelector("#session");
let key = null;

/** Asks the server's pages, as the one who logged in. */
async function askPage(url, body) {
  const headers = { "X-CSRFToken": session.elements.csrfmiddlewaretoken.value, "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, redirect: "manual", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`Log in again: the page's own call was refused.`);
  return response.json();
}

/** The answer to one call of the API. Throws an error that says what the server said. */
export async function call(method, path, body, signal) {
  key ??= askPage(session.dataset.keyUrl, {});
  const headers = { Authorization: `Bearer ${(await key).key}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(BASE + path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (response.ok) return response;
  const { error } = await response.json();
  const where = error.param ? ` (${error.param})` : "";
  throw new Error(`${response.status} ${error.code}: ${error.message}${where}`);
}

/** The HTML of an answer, made safe by the server. */
export async function answerHtml(text, grounding) {
  return (await askPage(session.dataset.answerUrl, { text, grounding })).html;
}
