/**
 * A QR code of letters and digits (ISO/IEC 18004, alphanumeric mode, error correction M, versions 1 to 5: up to 122
 * characters are not needed, a coupon code is far shorter). Mask 0 is always right, if not always the prettiest.
 */
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
// Of each version: data codewords, error codewords of a block, blocks.
const versions = [[16, 10, 1], [28, 16, 1], [44, 26, 1], [64, 18, 2], [86, 24, 2]] as const;

export function matrix(text: string): boolean[][] {
  const t = text.toUpperCase();
  const need = 4 + 9 + Math.floor(t.length / 2) * 11 + (t.length % 2) * 6;
  const index = versions.findIndex(([data]) => data * 8 >= need);
  if (index < 0 || [...t].some((c) => !letters.includes(c))) throw new Error("too long, or a letter that has no place");
  const [data, ecc, blocks] = versions[index]!;
  const size = 21 + 4 * index;

  const bits: number[] = [];
  const push = (value: number, n: number) => { for (let i = n - 1; i >= 0; i--) bits.push((value >> i) & 1); };
  push(2, 4);
  push(t.length, 9);
  for (let i = 0; i < t.length; i += 2) {
    const a = letters.indexOf(t[i]!);
    if (i + 1 < t.length) push(a * 45 + letters.indexOf(t[i + 1]!), 11);
    else push(a, 6);
  }
  push(0, Math.min(4, data * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const words: number[] = [];
  for (let i = 0; i < bits.length; i += 8) words.push(bits.slice(i, i + 8).reduce((n, b) => n * 2 + b, 0));
  for (let pad = 0xec; words.length < data; pad ^= 0xec ^ 0x11) words.push(pad);

  const per = data / blocks;
  const parts = Array.from({ length: blocks }, (_, i) => words.slice(i * per, (i + 1) * per));
  const checks = parts.map((p) => remainder(p, ecc));
  const all: number[] = [];
  for (let i = 0; i < per; i++) for (const p of parts) all.push(p[i]!);
  for (let i = 0; i < ecc; i++) for (const p of checks) all.push(p[i]!);

  const on = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const fixed = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const put = (x: number, y: number, v: boolean) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    on[y]![x] = v;
    fixed[y]![x] = true;
  };
  for (let i = 0; i < size; i++) {
    put(6, i, i % 2 === 0);
    put(i, 6, i % 2 === 0);
  }
  for (const [cx, cy] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) {
    for (let y = -4; y <= 4; y++) for (let x = -4; x <= 4; x++) {
      const d = Math.max(Math.abs(x), Math.abs(y));
      put(cx + x, cy + y, d !== 2 && d !== 4);
    }
  }
  if (index > 0) {
    const at = size - 7;
    for (let y = -2; y <= 2; y++) for (let x = -2; x <= 2; x++) put(at + x, at + y, Math.max(Math.abs(x), Math.abs(y)) !== 1);
  }
  format(put, size);
  let i = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let v = 0; v < size; v++) for (let j = 0; j < 2; j++) {
      const x = right - j;
      const y = ((right + 1) & 2) === 0 ? size - 1 - v : v;
      if (fixed[y]![x]) continue;
      const bit = i < all.length * 8 && ((all[i >> 3]! >> (7 - (i & 7))) & 1) === 1;
      i++;
      on[y]![x] = bit !== ((x + y) % 2 === 0); // mask 0
    }
  }
  return on;
}

/** Error correction M is 0, mask 0: the format's five data bits are all zero. */
function format(put: (x: number, y: number, v: boolean) => void, size: number) {
  const bits = 0x5412;
  const bit = (i: number) => ((bits >> i) & 1) === 1;
  for (let i = 0; i <= 5; i++) put(8, i, bit(i));
  put(8, 7, bit(6));
  put(8, 8, bit(7));
  put(7, 8, bit(8));
  for (let i = 9; i < 15; i++) put(14 - i, 8, bit(i));
  for (let i = 0; i < 8; i++) put(size - 1 - i, 8, bit(i));
  for (let i = 8; i < 15; i++) put(8, size - 15 + i, bit(i));
  put(8, size - 8, true);
}

function times(a: number, b: number): number {
  let z = 0;
  for (let i = 7; i >= 0; i--) z = (z << 1) ^ ((z >>> 7) * 0x11d) ^ (((b >>> i) & 1) * a);
  return z & 0xff;
}

/** The Reed-Solomon remainder of a block over GF(256). */
function remainder(words: number[], n: number): number[] {
  const divisor = Array<number>(n).fill(0);
  divisor[n - 1] = 1;
  let root = 1;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) divisor[j] = times(divisor[j]!, root) ^ (divisor[j + 1] ?? 0);
    root = times(root, 2);
  }
  const rest = Array<number>(n).fill(0);
  for (const w of words) {
    const factor = w ^ rest.shift()!;
    rest.push(0);
    for (let j = 0; j < n; j++) rest[j] = rest[j]! ^ times(divisor[j]!, factor);
  }
  return rest;
}
