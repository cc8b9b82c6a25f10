import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import vm from "node:vm";
import { claim } from "./sale.js";

const here = new URL("..", import.meta.url).pathname;

test("the package has what is imported and its types, and neither sources nor tests", async () => {
  const { stdout } = await promisify(execFile)("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: here });
  const [{ files, size }] = JSON.parse(stdout);
  const names = files.map((f) => f.path);
  const { exports, dependencies } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  for (const { types, default: code } of Object.values(exports)) {
    assert.ok(names.includes(types.slice(2)) && names.includes(code.slice(2)), `${types}, ${code}: ${names}`);
  }
  const strays = names.filter((n) => !/^(dist\/[a-z]+\.(js|d\.ts)|README\.md|LICENSE|package\.json)$/.test(n));
  assert.deepEqual(strays, []);
  assert.ok(size < 40_000, `${size} bytes`);
  for (const name of names.filter((n) => n.endsWith(".js"))) {
    const text = await readFile(join(here, name), "utf8");
    assert.doesNotMatch(text, /\brequire\(|module\.exports/, name);
  }
});

test("in a mini-program: no window, no crypto, no AbortController, no localStorage, a fetch that is passed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sdk-mini-"));
  try {
    // Nothing but the language itself and a timer is there.
    const context = vm.createContext({ setTimeout, clearTimeout });
    const modules = new Map();
    const load = async (name) => {
      if (!modules.has(name)) {
        modules.set(name, new vm.SourceTextModule(await readFile(join(here, "dist", name), "utf8"), { context, identifier: name }));
      }
      return modules.get(name);
    };
    const main = await load("index.js");
    await main.link((name) => load(name.slice(2)));
    await main.evaluate();
    const { Sluice } = main.namespace;

    const calls = [], kept = new Map();
    const fetch = async (url, init) => {
      calls.push({ url, ...init });
      const body = url.endsWith("/v1/time") ? { server_time_ms: 1e12 }
        : init.method === "POST" ? claim("QUEUED", { state: "queued", claim_id: "clm_1" })
          : claim("CONFIRMED", { state: "confirmed", claim_id: "clm_1", order_id: "ord_1" });
      return { status: 200, headers: { get: () => "application/json" }, text: async () => JSON.stringify(body) };
    };
    let now = 0;
    const sale = new Sluice({
      baseURL: "https://sale.shop.example", token: "tok", fetch, mono: () => (now += 5),
      store: { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v) },
    });
    await sale.syncTime(1);
    assert.ok(Math.abs(sale.now() - 1e12) < 50);
    const got = await sale.claim("spring");
    assert.deepEqual([got.state, got.order_id], ["confirmed", "ord_1"]);
    const posts = calls.filter((c) => c.method === "POST");
    assert.equal(posts.length, 1);
    assert.match(JSON.parse(posts[0].body).request_id, /^[\w-]{22}$/);
    assert.equal(posts[0].headers["X-Device-Id"], kept.get("sluice.device"));
    assert.equal(posts[0].signal, undefined, "no signal where there is none to be had");
  } finally {
    await rm(folder, { recursive: true });
  }
});
