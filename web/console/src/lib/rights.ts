import type { TFunction } from 'i18next';
import { areas, needs } from '../gen/needs.ts';

/** Rights is what a key, or a session of it, may: its role, and a scope below that. */
export interface Rights {
  role: string;
  areas?: string[]; // none: all
  read_only?: boolean;
}

/** Lack is why a call may not be made: the role, an area that is not in the scope, or that the key only reads. */
export type Lack = { of: 'role' | 'area'; what: string } | { of: 'change' };

const ranks: Record<string, number> = { viewer: 1, support: 2, operator: 3, admin: 4 };

/** Why somebody may not make a call; undefined where they may. */
export function lack(own: Rights, name: string): Lack | undefined {
  const n = needs[name];
  if (n === undefined) return { of: 'role', what: 'admin' };
  if (n !== 'anybody' && (ranks[own.role] ?? 0) < (ranks[n] ?? 9)) return { of: 'role', what: n };
  const of = areas[name];
  const out = own.areas?.length ? of?.find((a) => !own.areas?.includes(a)) : undefined;
  if (out) return { of: 'area', what: out };
  return own.read_only && of && !/^(GET|HEAD) /.test(name) ? { of: 'change' } : undefined;
}

/** Whether somebody may make a call. */
export function may(own: Rights, name: string): boolean {
  return lack(own, name) === undefined;
}

/** Tells why a call may not be made. */
export function lackText(t: TFunction, own: Rights, l: Lack): string {
  if (l.of === 'role') return t('role.lacks', { role: t(`role.${l.what}`), own: t(`role.${own.role}`) });
  if (l.of === 'area') return t('scope.lacks', { area: t(`area.${l.what}`), own: scopeText(t, own) });
  return t('scope.reads');
}

/** Tells a scope in words. */
export function scopeText(t: TFunction, own: Pick<Rights, 'areas' | 'read_only'>): string {
  const names = (own.areas ?? []).map((a) => t(`area.${a}`));
  return [names.join(t('scope.comma')) || t('scope.all'), own.read_only && t('scope.readOnly')]
    .filter(Boolean)
    .join(t('scope.comma'));
}

/** Every area that a scope may name. */
export const allAreas: string[] = [...new Set(Object.values(areas).flat())].sort();
