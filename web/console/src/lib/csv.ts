/** What spreadsheets take for a formula, in ASCII and in full width, or run as a command; as the server's exports have it. */
const formula = /^(?:[=+\-@\t\r\n|%＝＋－＠]|[ \u00a0\u3000]+[=＝])/;
const plainNumber = /^-?\d+(\.\d+)?$/;

/** Gives one cell: quoted where needed, and with an apostrophe before what a spreadsheet would run. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  let s = typeof value === 'object' ? JSON.stringify(value) : String(value);
  if (formula.test(s) && !plainNumber.test(s)) s = `'${s}`;
  return /[",\n\r]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
}

/** Gives rows as CSV (RFC 4180) with a mark for UTF-8, which spreadsheets want for Chinese. */
export function csv(columns: string[], rows: Record<string, unknown>[]): string {
  const lines = [columns.map(cell).join(',')];
  for (const r of rows) lines.push(columns.map((c) => cell(r[c])).join(','));
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

/** Hands a text to the browser as a file. */
export function download(name: string, type: string, text: string): void {
  save(name, new Blob([text], { type }));
}

/** Hands what was fetched to the browser as a file. */
export function save(name: string, body: Blob): void {
  const url = URL.createObjectURL(body);
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
