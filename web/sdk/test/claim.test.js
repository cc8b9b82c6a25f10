import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { SluiceError, deviceID, randomID } from "../dist/index.js";
import { answer, claim, sale } from "./sale.js";

const won = claim("CONFIRMED", { claim_id: "clm_1", state: "confirmed", quantity: 1, order_id: "ord_1" });
const queued = claim("QUEUED", { claim_id: "clm_1", state: "queued", quantity: 1, retry_after_ms: 100 });

test("a claim that is won at once", async () => {
  const { s, calls } = sale(() => answer(200, won));
  assert.deepEqual(await s.claim("spring", { requestID: "r-1", quantity: 2 }), won);
  assert.equal(calls.length, 1);
  assert.equal(calls[0].path, "/v1/campaigns/spring/claims");
  assert.deepEqual(calls[0].body, { request_id: "r-1", quantity: 2 });
  assert.equal(calls[0].headers.Authorization, "Bearer tok");
});

test("a refusal is a value", async () => {
  for (const code of ["SOLD_OUT", "LIMIT_REACHED", "CLOSED", "ENDED", "PAUSED", "BLOCKED", "NOT_ELIGIBLE"]) {
    const { s, calls } = sale(() => answer(200, claim(code)));
    assert.equal((await s.claim("spring")).code, code);
    assert.equal(calls.length, 1);
  }
});

test("a refusal with an HTTP status of its own is a value as well", async () => {
  const { s } = sale(() => ({ ...answer(200, claim("SOLD_OUT")), status: 409 }));
  assert.equal((await s.claim("spring")).code, "SOLD_OUT");
});

test("busy three times: four posts, one request id, pauses that grow", async () => {
  const busy = claim("BUSY", { retry_after_ms: 300 });
  const { s, posts, clock } = sale((_m, _p, _b, n) => answer(200, n <= 3 ? busy : won));
  const told = [];
  await s.claim("spring", { onProgress: (p) => p.step === "retrying" && told.push(p.retry) });
  assert.equal(posts().length, 4);
  assert.equal(new Set(posts().map((c) => c.body.request_id)).size, 1);
  assert.deepEqual(told, [1, 2, 3]);
  assert.deepEqual(clock.slept, [375, 625, 1250]);
});

test("busy without end: a person is asked after eight tries", async () => {
  const { s, posts } = sale(() => answer(200, claim("BUSY")));
  assert.equal((await s.claim("spring")).code, "BUSY");
  assert.equal(posts().length, 9);
});

test("a reply that was lost is asked for, and the claim is not sent again", async () => {
  const { s, posts } = sale((method) => (method === "POST" ? new TypeError("reset") : answer(200, { items: [won] })));
  assert.deepEqual(await s.claim("spring", { requestID: "r-1" }), won);
  assert.equal(posts().length, 1);
});

test("a reply that was lost, and no claim came to be: the same id goes again", async () => {
  const { s, posts } = sale((method, _p, _b, n) => {
    if (method === "GET") return answer(200, { items: [] });
    return n === 1 ? new TypeError("reset") : answer(200, won);
  });
  assert.deepEqual(await s.claim("spring"), won);
  assert.equal(posts().length, 2);
  assert.equal(posts()[0].body.request_id, posts()[1].body.request_id);
});

test("trouble that does not end leaves the outcome open, and says so", async () => {
  const { s, posts } = sale((method) => (method === "POST" ? answer(503, { code: "UNAVAILABLE" }) : new TypeError("reset")));
  await assert.rejects(s.claim("spring"), (e) => e instanceof SluiceError && e.uncertain);
  assert.equal(posts().length, 1, "what may have come to be is not sent again");
});

test("an answer that is not of Sluice is no answer", async () => {
  const page = { status: 200, headers: { get: () => "text/html" }, text: async () => "<html>sign in to the wifi" };
  const { s, posts } = sale((method, _p, _b, n) =>
    method === "POST" ? (n === 1 ? page : answer(200, won)) : n === 1 ? page : answer(200, { items: [] }));
  assert.deepEqual(await s.claim("spring"), won);
  assert.equal(posts().length, 2);
});

test("resuming asks first", async () => {
  const { s, posts } = sale(() => answer(200, { items: [won] }));
  assert.deepEqual(await s.claim("spring", { requestID: "r-1", resume: true }), won);
  assert.equal(posts().length, 0);
});

test("a queued claim is waited for, through failures and cut polls", async () => {
  const told = [];
  const { s, clock } = sale((method, path, _b, n, at) => {
    if (method === "POST") return answer(200, queued);
    assert.equal(path, "/v1/claims/clm_1?wait_ms=10000");
    if (n === 1) return new TypeError("reset");
    if (n === 2) return answer(502, {});
    if (n <= 5) return answer(200, queued); // at once: something cuts long polls
    at.now += 9000;
    return answer(200, won);
  });
  assert.deepEqual(await s.claim("spring", { onProgress: (p) => told.push(p.step) }), won);
  assert.ok(told.filter((x) => x === "queued").length >= 5);
  assert.deepEqual(clock.slept.slice(-3), [1000, 2000, 4000]);
});

test("a claim whose outcome is a rejection", async () => {
  const rejected = claim("SOLD_OUT", { claim_id: "clm_1", state: "rejected" });
  const { s } = sale((method) => answer(200, method === "POST" ? queued : rejected));
  assert.deepEqual(await s.claim("spring"), rejected);
});

test("too early: it waits for the opening, or for the buyer's own slot, under one id", async () => {
  const early = claim("NOT_STARTED", { starts_in_ms: 4200 });
  const { s, posts, clock } = sale((_m, _p, _b, n) => answer(200, n === 1 ? early : won));
  await s.claim("spring");
  assert.deepEqual(clock.slept, [4225]);
  assert.equal(posts()[0].body.request_id, posts()[1].body.request_id);
  const far = sale(() => answer(200, claim("NOT_STARTED", { starts_in_ms: 3_600_000 })));
  assert.equal((await far.s.claim("spring")).code, "NOT_STARTED");
  assert.equal(far.posts().length, 1);
});

test("faults of the request end it", async () => {
  for (const [status, code] of [[401, "UNAUTHENTICATED"], [404, "UNKNOWN_CAMPAIGN"], [409, "REQUEST_ID_REUSED"], [422, "VALIDATION"]]) {
    const { s, calls } = sale(() => answer(status, { code, status, errors: [{ field: "quantity", detail: "too many" }] }));
    await assert.rejects(s.claim("spring"), (e) => e.status === status && e.code === code && !e.uncertain);
    assert.equal(calls.length, 1);
  }
});

test("a caller that gives up is heard", async () => {
  const stop = new AbortController();
  const { s, posts } = sale(() => {
    stop.abort(new Error("enough"));
    return answer(200, claim("BUSY"));
  });
  await assert.rejects(s.claim("spring", { signal: stop.signal }), /enough/);
  assert.equal(posts().length, 1);
});

test("a pass is earned when it is asked for, and the claim goes on under its id", async () => {
  const challenge = { id: "ch_1", type: "pow", data: { salt: "x" } };
  const { s, calls, posts } = sale((_m, path, body) => {
    if (path.endsWith("/passes")) {
      if (!body.challenge_id) return answer(200, { challenge, server_time_ms: 1 });
      assert.deepEqual(body, { challenge_id: "ch_1", solution: "solved" });
      return answer(200, { pass: "p1", valid_until_ms: 9e15, signing_key: "key", server_time_ms: 1 });
    }
    return answer(200, body.pass === "p1" ? won : claim("PASS_REQUIRED"));
  }, { solve: async (c) => (assert.deepEqual(c, challenge), "solved") });
  assert.deepEqual(await s.claim("spring", { requestID: "r-1" }), won);
  assert.equal(posts().length, 2);
  assert.equal(posts()[1].body.request_id, "r-1");
  assert.equal((await s.pass("spring")).pass, "p1", "and is kept");
  assert.equal(calls.filter((c) => c.path.endsWith("/passes")).length, 2);
  const h = posts()[1].headers;
  const hash = createHash("sha256").update(posts()[1].raw).digest("hex");
  const text = ["POST", "/v1/campaigns/spring/claims", hash, h["Sluice-Timestamp"], h["Sluice-Nonce"]].join("\n");
  assert.equal(h["Sluice-Request-Signature"], createHmac("sha256", "key").update(text).digest("hex"));
  assert.match(h["Sluice-Nonce"], /^[\w-]{16,64}$/);
});

test("a pass that came for nothing is not enough for a suspicious buyer: the next one is earned", async () => {
  const { s, calls, posts } = sale((_m, path, body) => {
    if (!path.endsWith("/passes")) return answer(200, body.pass === "earned" ? won : claim("PASS_REQUIRED"));
    if (body.challenge_id) return answer(200, { pass: "earned", valid_until_ms: 9e15 });
    return answer(200, body.challenge ? { challenge: { id: "ch_1", type: body.challenge, data: {} } } : { pass: "free", valid_until_ms: 9e15 });
  }, { solve: async (c) => c.type });
  assert.deepEqual(await s.claim("spring"), won);
  assert.equal(posts().length, 3);
  assert.deepEqual(calls.filter((c) => c.path.endsWith("/passes")).map((c) => c.body), [{}, { challenge: "pow" }, { challenge_id: "ch_1", solution: "pow" }]);
  const stubborn = sale((_m, path) => answer(200, path.endsWith("/passes") ? { pass: "p", valid_until_ms: 9e15 } : claim("PASS_REQUIRED")), { solve: async () => "" });
  assert.equal((await stubborn.s.claim("spring")).code, "PASS_REQUIRED");
  assert.equal(stubborn.posts().length, 3);
});

test("a wrong solution is another try; nobody to solve is an error", async () => {
  const challenge = { id: "ch_1", type: "image", data: {} };
  let wrong = 2;
  const route = (_m, _p, body) => {
    if (!body.challenge_id) return answer(200, { challenge });
    return wrong-- > 0 ? answer(422, { code: "CHALLENGE_FAILED", status: 422 }) : answer(200, { pass: "p1", valid_until_ms: 9e15 });
  };
  const { s } = sale(route, { solve: async () => "guess" });
  assert.equal((await s.pass("spring")).pass, "p1");
  await assert.rejects(sale(route).s.pass("spring"), (e) => e.code === "PASS_REQUIRED");
});

test("the clock is that of the sample with the shortest round trip", async () => {
  const trips = [80, 20, 200, 90, 40];
  const { s, clock } = sale((_m, _p, _b, n, at) => {
    at.now += trips[n - 1] / 2;
    const server = 500_000 + at.now; // it runs with ours
    at.now += trips[n - 1] / 2 + (n === 3 ? 300 : 0);
    return answer(200, { server_time_ms: server });
  });
  assert.equal(s.now(), undefined);
  await s.syncTime();
  assert.equal(s.now(), 500_000 + clock.now);
});

test("ids are long, random and lasting", () => {
  assert.match(randomID(), /^[\w-]{22}$/);
  assert.notEqual(randomID(), randomID());
  const kept = new Map();
  const store = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v) };
  assert.equal(deviceID(store), deviceID(store));
  kept.set("sluice.device", "<script>");
  assert.match(deviceID(store), /^[\w-]{22}$/);
});
