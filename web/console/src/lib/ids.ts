/** Makes an id of 128 random bits for a change, a grant or a reference. The dialog that asks keeps it until it closes. */
export function newId(prefix: string): string {
  const raw = crypto.getRandomValues(new Uint8Array(16));
  return `${prefix}_${Array.from(raw, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}
