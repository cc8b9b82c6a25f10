import { count } from './money.ts';
import { stamp, type Zone } from './times.ts';

/** What an argument of one of these names is a word of: `state` "draft" is the text `state.draft`. */
const words = ['state', 'part', 'pass', 'challenge'];

/** Gives a sentence's arguments as the page tells them: moments by its clock, numbers and known words in its language. */
export function told(
  args: Record<string, unknown>,
  text: (key: string) => string | undefined,
  lang: string,
  zone: Zone,
): Record<string, string> {
  const tell = (name: string, v: unknown) => {
    if (typeof v === 'number') return count(v, lang);
    if (name === 'at') return stamp(String(v), zone);
    return (words.includes(name) && text(`${name}.${v}`)) || String(v);
  };
  return Object.fromEntries(Object.entries(args).map(([name, v]) => [name, tell(name, v)]));
}
