import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { claim } from "./sale.js";

const here = new URL("..", import.meta.url).pathname;

test("the page of the README is the example, and has 30 lines", async () => {
  const page = await readFile(join(here, "example/page.html"), "utf8");
  const readme = await readFile(join(here, "README.md"), "utf8");
  assert.ok(readme.includes("```html\n" + page + "```"), "README.md shows example/page.html");
  assert.ok(page.trimEnd().split("\n").length <= 31);
});

test("the Node example buys, from a package as it is published", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sdk-"));
  try {
    await mkdir(join(folder, "node_modules/@sluice-sale"), { recursive: true });
    await symlink(here, join(folder, "node_modules/@sluice-sale/sdk"));
    await cp(join(here, "example/buy.mjs"), join(folder, "buy.mjs"));
    const challenge = {
      algorithm: "SHA-256", salt: "abc", maxnumber: 1000, signature: "s",
      challenge: createHash("sha256").update("abc777").digest("hex"),
    };
    const server = createServer(async (req, res) => {
      let raw = "";
      for await (const piece of req) raw += piece;
      const body = JSON.parse(raw || "{}");
      res.setHeader("Content-Type", "application/json");
      const answer = () => {
        if (req.headers.authorization !== "Bearer tok") return claim("UNAUTHENTICATED");
        if (req.url.endsWith("/claims")) {
          const won = { claim_id: "clm_1", state: "confirmed", order_id: "ord_1" };
          return body.pass === "p1" ? claim("CONFIRMED", won) : claim("PASS_REQUIRED");
        }
        if (!body.solution) return { challenge: { id: "ch_1", type: "pow", data: challenge } };
        const { number } = JSON.parse(Buffer.from(body.solution, "base64").toString());
        return number === 777 ? { pass: "p1", valid_until_ms: 9e15 } : {};
      };
      res.end(JSON.stringify(answer()));
    });
    await new Promise((go) => server.listen(0, "127.0.0.1", go));
    try {
      const base = `http://127.0.0.1:${server.address().port}`;
      const { stdout } = await promisify(execFile)(process.execPath, ["buy.mjs", base, "spring", "tok"], { cwd: folder });
      assert.equal(stdout, "got it: ord_1\n");
    } finally {
      server.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the bytes: 5 KB at most, compressed, of what every page loads", async () => {
  let all = "";
  for (const name of ["index.js", "ids.js", "sign.js"]) all += await readFile(join(here, "dist", name), "utf8");
  const bare = all.replace(/\/\*\*[\s\S]*?\*\//g, ""); // comments are for readers of the types
  const size = gzipSync(bare, { level: 9 }).length;
  assert.ok(size <= 5 * 1024, `${size} bytes`);
});

test("the bytes of the bundle that the listener serves: 5 KB at most", async () => {
  const bundle = await readFile(join(here, "../../internal/storefront/dist/sdk/sluice.js"));
  assert.ok(gzipSync(bundle, { level: 9 }).length <= 5 * 1024);
});
