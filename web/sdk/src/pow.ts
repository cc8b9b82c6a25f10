/**
 * Solves a proof of work in ALTCHA's flat form: the number below `maxnumber` whose SHA-256 after the salt is the challenge.
 * It is a few hundred thousand hashes: run it in a worker, so that the page stays live.
 */
export interface ProofOfWork {
  algorithm: string;
  challenge: string;
  salt: string;
  maxnumber: number;
  signature: string;
}

/** The solution as the server takes it; rejects where there is none. `step` is told how many numbers were tried. */
export async function solvePow(p: ProofOfWork, step?: (tried: number) => void): Promise<string> {
  if (p.algorithm !== "SHA-256") throw new Error(`unknown algorithm ${p.algorithm}`);
  const hash = hasher(p.salt, p.challenge);
  for (let n = 0; n <= p.maxnumber; n++) {
    if (hash(n)) {
      const { algorithm, challenge, salt, signature } = p;
      const json = new TextEncoder().encode(JSON.stringify({ algorithm, challenge, number: n, salt, signature }));
      return btoa(String.fromCharCode(...json));
    }
    if (n % 20_000 === 19_999) {
      step?.(n + 1);
      await new Promise((go) => setTimeout(go)); // let the worker hear messages
    }
  }
  throw new Error("no number solves the challenge");
}

const K = /* @__PURE__ */ constants();

/** The first 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4). */
function constants(): Uint32Array {
  const k = new Uint32Array(64);
  for (let n = 2, i = 0; i < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) k[i++] = fraction(n, 1 / 3);
  }
  return k;
}

function fraction(n: number, power: number): number {
  return ((n ** power) % 1) * 2 ** 32;
}

/** Says whether SHA-256 of salt and number is `want`, in hex. WebCrypto would spend most of the time between threads. */
function hasher(salt: string, want: string): (n: number) => boolean {
  const head = new TextEncoder().encode(salt);
  const goal = [...Array(8).keys()].map((i) => parseInt(want.slice(8 * i, 8 * i + 8), 16) | 0);
  const start = new Int32Array([2, 3, 5, 7, 11, 13, 17, 19].map((p) => fraction(p, 1 / 2)));
  const w = new Int32Array(64);
  const block = (bytes: Uint8Array, at: number, state: Int32Array) => {
    for (let i = 0; i < 16; i++, at += 4) {
      w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15]!, y = w[i - 2]!;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
    }
    let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
    let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i]! + w[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] = state[i]! + x));
  };
  // The blocks that the salt fills by itself are hashed once.
  const whole = head.length & ~63;
  const base = start.slice();
  for (let at = 0; at < whole; at += 64) block(head, at, base);
  const rest = head.subarray(whole);
  const tail = new Uint8Array(128);
  const state = new Int32Array(8);
  return (n) => {
    const digits = String(n);
    const length = rest.length + digits.length;
    const size = length < 56 ? 64 : 128;
    tail.fill(0, 0, size);
    tail.set(rest);
    for (let i = 0; i < digits.length; i++) tail[rest.length + i] = digits.charCodeAt(i);
    tail[length] = 0x80;
    const bits = (whole + length) * 8;
    for (let i = 0; i < 4; i++) tail[size - 1 - i] = bits >>> (8 * i);
    state.set(base);
    for (let at = 0; at < size; at += 64) block(tail, at, state);
    for (let i = 0; i < 8; i++) if (state[i] !== goal[i]) return false;
    return true;
  };
}
