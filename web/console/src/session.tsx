import { createContext, useContext } from 'react';
import type { Schemas } from './lib/api.ts';

/** Session is who is signed in. */
export type Session = Schemas['SessionAnswer'];

export const SessionContext = createContext<{ session: Session; signOut: () => void } | undefined>(undefined);

export function useSession(): { session: Session; signOut: () => void } {
  const s = useContext(SessionContext);
  if (!s) throw new Error('there is no session here');
  return s;
}
