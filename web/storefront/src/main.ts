import { makeApp } from "./app.js";
import { salePage } from "./sale.js";

const app = makeApp();

async function start() {
  await app.ready;
  app.nav();
  const path = location.pathname.replace(/\/(index\.html)?$/, "") || "/";
  const id = /^\/c\/([^/]+)$/.exec(path)?.[1];
  if (id) salePage(app, decodeURIComponent(id));
  else (await app.pages()).show(app, path);
}
start();
