import { makeApp } from "./app.js";
import { salePage } from "./sale.js";

const app = makeApp();

async function start() {
  await app.ready;
  app.nav();
  const path = location.pathname.replace(/\/(index\.html)?$/, "") || "/";
  const id = /^\/c\/([^/]+)$/.exec(path)?.[1];
  if (id) salePage(app, decoded(id));
  else (await app.pages()).show(app, path);
}

/** An address that is no good names no campaign; it is not a blank page. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
start();
