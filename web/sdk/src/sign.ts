import { randomID } from "./ids.js";

const hex = (b: ArrayBuffer) => Array.from(new Uint8Array(b), (x) => x.toString(16).padStart(2, "0")).join("");

/**
 * The headers of a signed request: HMAC-SHA-256 under the pass's signing key over method, path, the body's SHA-256, the
 * time and a nonce that is used once. Needs WebCrypto (a secure context in browsers).
 */
export async function signed(
  key: string, method: string, path: string, body: string, at: number,
): Promise<Record<string, string>> {
  const text = new TextEncoder();
  const nonce = randomID();
  const { subtle } = crypto;
  const hash = hex(await subtle.digest("SHA-256", text.encode(body)));
  const hmac = await subtle.importKey("raw", text.encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await subtle.sign("HMAC", hmac, text.encode([method, path, hash, at, nonce].join("\n")));
  return { "Sluice-Timestamp": String(at), "Sluice-Nonce": nonce, "Sluice-Request-Signature": hex(mac) };
}
