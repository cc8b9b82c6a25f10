// A server of the sale's API in memory, for tests: answers are what the test says they are.
import { Sluice } from "../dist/index.js";

export function answer(status, body, headers = {}) {
  const type = status < 400 || body.claim ? "application/json" : "application/problem+json";
  const all = { "content-type": type, ...headers };
  return { status, headers: { get: (name) => all[name.toLowerCase()] ?? null }, text: async () => JSON.stringify(body) };
}

export const claim = (code, more = {}) => ({
  code, message: code, campaign_id: "spring", replayed: false, retry_after_ms: 0, typical_ms: 0, server_time_ms: 1, ...more,
});

/** A sale whose calls are answered by `route(method, path, body, n)`; time passes only by sleeping. */
export function sale(route, options = {}) {
  const calls = [];
  const clock = { now: 1000, slept: [] };
  const s = new Sluice({
    baseURL: "http://sale.test/",
    token: "tok",
    random: () => 0.5,
    mono: () => clock.now,
    sleep: async (ms, signal) => {
      if (signal?.aborted) throw signal.reason;
      clock.slept.push(ms);
      clock.now += ms;
    },
    fetch: async (url, init) => {
      const { pathname, search } = new URL(url);
      const body = init.body ? JSON.parse(init.body) : undefined;
      calls.push({ method: init.method, path: pathname + search, body, raw: init.body, headers: init.headers });
      const n = calls.filter((c) => c.method === init.method && c.path === pathname + search).length;
      const got = await route(init.method, pathname + search, body, n, clock);
      if (got instanceof Error) throw got;
      return got;
    },
    ...options,
  });
  return { s, calls, clock, posts: () => calls.filter((c) => c.method === "POST" && c.path.endsWith("/claims")) };
}
