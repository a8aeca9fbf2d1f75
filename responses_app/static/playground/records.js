// The Subject's records: shown, and written from lines of text.

import { call } from "./api.js";
import { element } from "./dom.js";

const BATCH = 500;
const SHOWN = ["indicator", "value", "loinc_code", "time"];

/** Fills `holder` with the newest records of `user`. */
export async function showRecords(holder, user) {
  const response = await call("GET", `/data?user=${encodeURIComponent(user)}&limit=50`);
  const { data } = await response.json();
  if (!data.length) return holder.replaceChildren("No records.");
  const head = element("tr", {}, ...SHOWN.map((name) => element("th", { scope: "col", textContent: name })));
  const rows = data.map((row) =>
    element("tr", {}, ...SHOWN.map((name) => element("td", { textContent: row[name] ?? "–" }))),
  );
  return holder.replaceChildren(element("table", { className: "data" }, element("tbody", {}, head, ...rows)));
}

/** Writes the records of a pasted table; gives what is to be said of it. */
export async function writeRecords(user, retention, text) {
  const records = read(text);
  const sum = { ingested: 0, standardized: 0, duplicates: 0 };
  for (let start = 0; start < records.length; start += BATCH) {
    const body = { user, retention, records: records.slice(start, start + BATCH) };
    const answer = await (await call("POST", "/data", body)).json();
    for (const name of Object.keys(sum)) sum[name] += answer[name];
  }
  return `${sum.ingested} written, ${sum.standardized} with a code, ${sum.duplicates} known before.`;
}

/** Lines of `indicator, value[, unit[, time]]`, parted by tabs, semicolons or commas; a headline is left out. */
function read(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const rows = lines.map((line) => line.split(separator(line)).map((cell) => cell.trim()));
  if (rows.length && rows[0][0].toLowerCase() === "indicator") rows.shift();
  return rows.map(([indicator, value, unit, time]) => ({
    indicator,
    value,
    ...(unit ? { unit } : {}),
    ...(time ? { time } : {}),
  }));
}

function separator(line) {
  return ["\t", ";"].find((each) => line.includes(each)) ?? ",";
}
