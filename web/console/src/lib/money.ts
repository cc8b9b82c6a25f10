/** Gives an amount in minor units as people read it; "—" where it is not known. */
export function money(minor: number | undefined, currency: string | undefined, lang: string): string {
  if (minor === undefined || !Number.isFinite(minor)) return '—';
  if (!currency) return count(minor, lang);
  try {
    const f = new Intl.NumberFormat(lang, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
    return f.format(minor / 10 ** (f.resolvedOptions().maximumFractionDigits ?? 2));
  } catch {
    return `${count(minor, lang)} ${currency}`; // no currency that Intl knows
  }
}

/** How many minor units one unit of a currency has, as a power of ten. */
export function minorDigits(currency: string): number {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    return 2;
  }
}

const counts = new Map<string, Intl.NumberFormat>();

/** Gives a whole number with separators; "—" where it is not known. */
export function count(n: number | undefined | null, lang: string): string {
  if (n === undefined || n === null || !Number.isFinite(n)) return '—';
  let f = counts.get(lang);
  if (!f) {
    f = new Intl.NumberFormat(lang);
    counts.set(lang, f);
  }
  return f.format(n);
}

/** Gives a share of 0 to 1 as a percentage; "—" where the whole is nothing or not known. */
export function percent(part: number | undefined, whole: number | undefined, lang: string): string {
  if (part === undefined || !whole || !Number.isFinite(part / whole)) return '—';
  const share = part / whole;
  const digits = share !== 0 && Math.abs(share) < 0.1 ? 2 : 1;
  return new Intl.NumberFormat(lang, { style: 'percent', maximumFractionDigits: digits }).format(share);
}
