// A Redis and a MariaDB of a test's own, as a fleet stands on: each with a folder and a port, gone at the end.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { freePort } from './sluice.mjs';

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` };

/** Starts both; gives the settings of a server that sells on them. */
export async function startStores(t) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-stores-'));
  const running = [];
  t.after(async () => {
    for (const p of running) {
      const gone = once(p, 'exit');
      if (p.exitCode === null && p.kill('SIGKILL')) await gone;
    }
    rmSync(dir, { recursive: true, force: true });
  });
  const start = (...command) => running.push(spawn(command[0], command.slice(1), { env, stdio: 'ignore' }));

  const redis = await freePort();
  start('redis-server', '--port', String(redis), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes');

  const port = await freePort();
  const data = join(dir, 'data');
  const socket = join(dir, 's');
  const temporary = join(dir, 'tmp');
  mkdirSync(temporary);
  const own = ['--no-defaults', `--user=${userInfo().username}`, `--datadir=${data}`];
  execFileSync('mariadb-install-db', [...own, '--auth-root-authentication-method=normal', '--skip-test-db'], { env, stdio: 'ignore' });
  start('mariadbd', ...own, `--tmpdir=${temporary}`, '--bind-address=127.0.0.1', `--port=${port}`, `--socket=${socket}`,
    `--pid-file=${join(dir, 'pid')}`, '--skip-name-resolve', '--character-set-server=utf8mb4', '--innodb-buffer-pool-size=64M');
  await Promise.all([listening(redis), listening(port)]);
  execFileSync('mariadb', ['--no-defaults', '-uroot', '-S', socket, '-e', "CREATE USER sluice@'%' IDENTIFIED BY 'sluice'; "
    + "GRANT ALL ON *.* TO sluice@'%'; CREATE DATABASE sluice CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"], { env });
  return ['--admission', `redis://127.0.0.1:${redis}`, '--queue', 'redis', '--ledger', `mysql://sluice:sluice@127.0.0.1:${port}/sluice`];
}

/** Waits until something takes connections. */
async function listening(port) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    const s = connect(port, '127.0.0.1');
    const up = await Promise.race([once(s, 'connect').then(() => true), once(s, 'error').then(() => false)]).catch(() => false);
    s.destroy();
    if (up) return;
    await new Promise((r) => { setTimeout(r, 50); });
  }
  throw new Error(`nothing listens on ${port}`);
}
