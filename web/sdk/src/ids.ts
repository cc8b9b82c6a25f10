/** Keeps small texts; localStorage is one. */
export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/** A random id of 22 URL-safe characters, 132 bits. */
export function randomID(): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const bytes = new Uint8Array(22);
  if (typeof crypto !== "undefined") crypto.getRandomValues(bytes);
  else bytes.forEach((_, i) => (bytes[i] = Math.random() * 256)); // some mini-programs
  return Array.from(bytes, (b) => letters[b & 63]).join("");
}

const key = "sluice.device";

/** The device's id: random, and the same for as long as the store keeps it. Without a store it lasts for the page. */
export function deviceID(store?: Store): string {
  try {
    store ??= globalThis.localStorage;
    const known = store?.getItem(key);
    if (known && /^[\w-]{16,64}$/.test(known)) return known;
    const fresh = randomID();
    store?.setItem(key, fresh);
    return fresh;
  } catch {
    return randomID(); // storage is forbidden
  }
}
