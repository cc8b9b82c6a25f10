// The built binary: E2E_BINARY, or bin/sluice. Each server has ports and a folder of its own and is gone at the end.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { once } from 'node:events';
import { after } from 'node:test';

export const binary = process.env.E2E_BINARY ?? resolve(import.meta.dirname, '../../../bin/sluice');
export const adminKey = 'browser-tests-operator-key-0123456789';

export async function freePort() {
  const s = createServer().listen(0, '127.0.0.1');
  await once(s, 'listening');
  const { port } = s.address();
  s.close();
  await once(s, 'close');
  return port;
}

/** A running server: `url`, `adminUrl`, `admin(method, path, body)`, `token(user)`, `kill()`, `start()`. */
export class Server {
  constructor(data, ports, args) {
    this.data = data;
    this.args = args;
    this.listen = `127.0.0.1:${ports[0]}`;
    this.adminListen = `127.0.0.1:${ports[1]}`;
    this.url = `http://${this.listen}`;
    this.adminUrl = `http://${this.adminListen}`;
    this.log = '';
  }

  async start() {
    this.process = spawn(binary, ['serve', '--data', this.data, '--listen', this.listen, '--admin-listen',
      this.adminListen, ...this.args], { env: { ...process.env, ...this.env, SLUICE_ADMIN_KEY: adminKey }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const out of [this.process.stdout, this.process.stderr]) out.on('data', (b) => { this.log += b; });
    const gone = once(this.process, 'exit');
    for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
      const up = await fetch(`${this.url}/healthz`).then((r) => r.ok, () => false);
      if (up) return this;
      const left = await Promise.race([gone.then(() => true), new Promise((r) => { setTimeout(r, 50); })]);
      if (left) throw new Error(`the server ended:\n${this.log}`);
    }
    throw new Error(`the server is not ready:\n${this.log}`);
  }

  /** Ends it at once, as a power cut would. */
  async kill(signal = 'SIGKILL') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill(signal);
    await gone;
  }

  /** A call of the operators' listener; throws where it is refused. */
  async admin(method, path, body) {
    const r = await fetch(this.adminUrl + path, {
      method, headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await r.text();
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  token(user) {
    return execFileSync(binary, ['token', '--user', user, '--data', this.data], { encoding: 'utf8', env: { ...process.env, ...this.env } }).trim();
  }

  /** Makes a campaign of goods that is open from `opensIn` ms on; `more` overrides fields. */
  campaign(more = {}, opensIn = -1000) {
    const now = Date.now();
    return this.admin('POST', '/v1/admin/campaigns', {
      kind: 'goods', title: '春季秒杀', total: 100, per_user_limit: 1,
      starts_at: new Date(now + opensIn).toISOString(), ends_at: new Date(now + 3_600_000).toISOString(),
      goods: { sku: 'jacket', price_minor: 9900, currency: 'CNY', unpaid_window_s: 900, limit_back_on_close: true },
      ...more,
    });
  }
}

/** Starts a server for a test; `t.env` goes into its environment. */
export async function startServer(t, ...args) {
  const data = mkdtempSync(join(tmpdir(), 'sluice-browser-'));
  const s = new Server(data, [await freePort(), await freePort()], args);
  s.env = t.env;
  t.after(async () => {
    if (s.process) await s.kill();
    rmSync(data, { recursive: true, force: true });
  });
  return s.start();
}

let shared;
/** One server for all tests that only read what it serves, or whose campaigns do not get in each other's way. */
export function sharedServer() {
  shared ??= startServer({ after: (f) => { end = f; } });
  return shared;
}
let end;
after(async () => { await end?.(); });
