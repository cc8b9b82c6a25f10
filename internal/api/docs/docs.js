// Renders an OpenAPI 3.1 description. Everything goes in as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const MAX_DEPTH = 4;

/** Makes an element with attributes and children; strings become text. */
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

function table(heads, rows) {
  const head = make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((c) => (c instanceof Node ? make("td", {}, c) : make("td", {}, String(c))))),
  );
  const whole = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": heads.join(", ") }, whole);
}

function resolve(doc, schema) {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  return name ? doc.components.schemas[name] || {} : schema || {};
}

function typeName(doc, schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type || "any";
  return schema.items ? `list of ${typeName(doc, schema.items)}` : schema.format ? `${type} (${schema.format})` : type;
}

function bounds(schema) {
  const says = [];
  const add = (key, text) => schema[key] !== undefined && says.push(text + schema[key]);
  if (schema.enum) says.push(`one of ${schema.enum.join(", ")}`);
  add("minimum", "at least ");
  add("maximum", "at most ");
  add("minLength", "length at least ");
  add("maxLength", "length at most ");
  add("maxItems", "at most this many: ");
  add("pattern", "like ");
  add("default", "default ");
  return says.join("; ");
}

/** The fields of a schema as rows, those of nested objects below their parent. */
function fields(doc, schema, depth, seen) {
  const full = resolve(doc, schema);
  const rows = [];
  for (const [name, property] of Object.entries(full.properties || {})) {
    const label = make("code", { class: `deep${depth}` }, name);
    const must = (full.required || []).includes(name) ? "yes" : "";
    const text = [property.description, bounds(property)].filter(Boolean).join(". ");
    rows.push([label, typeName(doc, property), must, text]);
    const inner = property.items || property;
    const key = inner.$ref;
    if (key && depth < MAX_DEPTH && !seen.includes(key)) rows.push(...fields(doc, inner, depth + 1, [...seen, key]));
  }
  return rows;
}

function schemaTable(doc, schema) {
  const rows = fields(doc, schema, 0, [schema.$ref]);
  if (rows.length === 0) return make("p", {}, make("code", {}, typeName(doc, schema)));
  return table(["Field", "Type", "Needed", "Means"], rows);
}

/** A value of the right shape, for the example command. */
function example(doc, schema, depth) {
  const full = resolve(doc, schema);
  if (full.examples) return full.examples[0];
  if (full.enum) return full.enum[0];
  if (full.type === "object" || full.properties) {
    const out = {};
    for (const [name, property] of Object.entries(full.properties || {})) {
      if (depth < 3 && (depth > 0 || (full.required || []).includes(name))) out[name] = example(doc, property, depth + 1);
    }
    return out;
  }
  if (full.type === "array" || (Array.isArray(full.type) && full.type.includes("array"))) return [];
  if (full.type === "integer" || full.type === "number") return full.minimum || 1;
  return full.type === "boolean" ? false : full.format === "date-time" ? "2026-06-18T12:00:00Z" : "…";
}

function curl(doc, method, path, operation) {
  const lines = [`curl -X ${method.toUpperCase()} "$SLUICE${path.replace(/[{]/g, "$").replace(/[}]/g, "")}"`];
  const scheme = Object.keys((operation.security || [{}])[0] || {})[0];
  if (scheme === "payment") lines.push('-H "Sluice-Signature: t=$T,v1=$MAC"');
  else if (scheme) lines.push('-H "Authorization: Bearer $TOKEN"');
  const body = operation.requestBody && operation.requestBody.content["application/json"];
  if (body) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(example(doc, body.schema, 0))}'`);
  return make("pre", {}, lines.join(" \\\n  "));
}

function renderOperation(doc, method, path, operation) {
  const node = make("article", { id: operation.operationId });
  node.append(make("h3", {}, make("span", { class: "method" }, method.toUpperCase()), make("code", {}, path)));
  node.append(make("p", {}, [operation.summary, operation.description].filter(Boolean).join(". ")));
  const parameters = operation.parameters || [];
  if (parameters.length > 0) {
    const rows = parameters.map((p) => [
      make("code", {}, p.name),
      p.in,
      p.required ? "yes" : "",
      [p.description, bounds(p.schema || {})].filter(Boolean).join(". "),
    ]);
    node.append(make("h4", {}, "Parameters"), table(["Name", "In", "Needed", "Means"], rows));
  }
  for (const [type, media] of Object.entries((operation.requestBody || {}).content || {})) {
    node.append(make("h4", {}, `Body: ${type}`), media.schema ? schemaTable(doc, media.schema) : "");
  }
  const problems = [];
  for (const [status, answer] of Object.entries(operation.responses || {})) {
    const media = (answer.content || {})["application/json"];
    if (status.startsWith("2")) {
      node.append(make("h4", {}, `Answer ${status}`), media ? schemaTable(doc, media.schema) : answer.description);
    } else problems.push(`${status} ${answer.description}`);
  }
  if (problems.length > 0) node.append(make("h4", {}, "Problems"), make("p", {}, problems.join(" · ")));
  node.append(make("h4", {}, "Try it"), curl(doc, method, path, operation));
  return node;
}

/** The reasons of a claim and the codes of problems, with what people read. */
function renderCodes(doc) {
  const parts = [];
  if (doc["x-reasons"]) {
    const rows = doc["x-reasons"].map((r) => [
      make("code", {}, r.code), r.status_body, r.status_http, r.message_en, r.message_zh_cn,
    ]);
    parts.push(["reasons", "Reasons", table(["Code", "HTTP (body)", "HTTP (http)", "English", "中文"], rows)]);
  }
  if (doc["x-problem-codes"]) {
    const rows = doc["x-problem-codes"].map((c) => [make("code", {}, c.code), c.title_en, c.title_zh_cn]);
    parts.push(["problem-codes", "Problem codes", table(["Code", "English", "中文"], rows)]);
  }
  return parts;
}

function render(doc) {
  const nav = document.getElementById("nav");
  const main = document.getElementById("main");
  const groups = new Map();
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const method of METHODS.filter((m) => item[m])) {
      const tag = (item[method].tags || ["Other"])[0];
      groups.set(tag, [...(groups.get(tag) || []), [method, path, item[method]]]);
    }
  }
  nav.replaceChildren();
  main.replaceChildren(make("h2", {}, doc.info.title), make("p", {}, doc.info.description || ""));
  for (const [id, title, content] of renderCodes(doc)) {
    nav.append(make("a", { href: `#${id}` }, title));
    main.append(make("article", { id }, make("h3", {}, title), content));
  }
  for (const tag of [...groups.keys()].sort()) {
    const list = make("section", {}, make("h2", {}, tag));
    main.append(make("h2", {}, tag));
    for (const [method, path, operation] of groups.get(tag)) {
      const link = make("a", { href: `#${operation.operationId}` }, `${method.toUpperCase()} ${path}`);
      link.dataset.text = `${method} ${path} ${operation.summary}`.toLowerCase();
      list.append(link);
      main.append(renderOperation(doc, method, path, operation));
    }
    nav.append(list);
  }
  filter();
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) target.scrollIntoView();
}

function filter() {
  const wanted = document.getElementById("find").value.trim().toLowerCase();
  for (const link of document.querySelectorAll("nav a[data-text]")) {
    link.hidden = wanted !== "" && !link.dataset.text.includes(wanted);
  }
}

async function show(url) {
  for (const button of document.querySelectorAll("button[data-doc]")) {
    button.setAttribute("aria-pressed", String(button.dataset.doc === url));
  }
  document.getElementById("raw").href = url;
  const main = document.getElementById("main");
  try {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    render(await answer.json());
  } catch (error) {
    main.replaceChildren(make("p", { role: "alert" }, `The description could not be read: ${error.message}`));
  }
}

for (const button of document.querySelectorAll("button[data-doc]")) {
  button.addEventListener("click", () => show(button.dataset.doc));
}
document.getElementById("find").addEventListener("input", filter);
show("/openapi-public.json");
