// Builds what the page shows of JSON. Text only: nothing that came from outside is read as HTML here.

const MAX_COLUMNS = 8;

/** An element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A JSON value as nested lists and tables; what has an `id` or `ref` carries it in `data-record`. */
export function valueView(value) {
  if (Array.isArray(value)) return listView(value);
  if (isNested(value)) return objectView(value);
  return document.createTextNode(value === null ? "–" : String(value));
}

function listView(values) {
  if (!values.length) return document.createTextNode("none");
  if (!values.some(isNested)) return document.createTextNode(values.join(", "));
  const columns = [...new Set(values.flatMap((value) => Object.keys(value ?? {})))];
  const flat = values.every((value) => isNested(value) && !Object.values(value).some(isNested));
  if (!flat || columns.length > MAX_COLUMNS) return element("div", { className: "data" }, ...values.map(valueView));
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col", textContent: name })));
  const rows = values.map((value) =>
    identified(value, element("tr", {}, ...columns.map((name) => element("td", {}, valueView(value[name] ?? null))))),
  );
  return element("table", { className: "data" }, element("tbody", {}, head, ...rows));
}

function isNested(value) {
  return value !== null && typeof value === "object";
}

function objectView(value) {
  const parts = Object.entries(value).flatMap(([name, each]) => [
    element("dt", { textContent: name }),
    element("dd", {}, valueView(each)),
  ]);
  return identified(value, element("dl", { className: "data" }, ...parts));
}

function identified(value, shown) {
  const id = value.id ?? value.ref;
  if (typeof id === "string") shown.dataset.record = id;
  return shown;
}
