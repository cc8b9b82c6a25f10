import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, Problem, type Schemas } from '../lib/api.ts';
import { Act, Fault, Tag, useCount } from '../ui/bits.tsx';

export const verifyCall = 'GET /v1/admin/campaigns/{id}/verify';

/** Gives what makes the server count every row now, and what came of it. */
function useCounting(id: string) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<Schemas['VerificationBody']>();
  const [problem, setProblem] = useState<Problem>();
  const run = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setFound(await api(verifyCall, { path: { id } }));
    } catch (e) {
      setProblem(e instanceof Problem ? e : new Problem(0, {}, ''));
    } finally {
      setBusy(false);
      void client.invalidateQueries({ queryKey: ['live', id] });
    }
  };
  return { busy, found, problem, run };
}

/** Makes the server count every row now; the strip goes on showing the last count and its age. */
export function Count({ id }: { id: string }) {
  const { t } = useTranslation();
  const { busy, run } = useCounting(id);
  return (
    <button type="button" className="plainbutton" onClick={run} disabled={busy}>
      {busy ? t('verdict.counting') : t('verdict.countNow')}
    </button>
  );
}

/** As Count, where a person looks for what is wrong: it says what the count found. */
export function CountStep({ id }: { id: string }) {
  const { t } = useTranslation();
  const n = useCount();
  const { busy, found: v, problem, run } = useCounting(id);
  return (
    <>
      <Act size="small" call={verifyCall} onClick={run} loading={busy}>
        {t('verdict.countNow')}
      </Act>
      <span role="status" className="num" data-counted={v?.ok}>
        {v && (
          <>
            <Tag tone={v.ok ? 'ok' : 'bad'}>{v.ok ? t('verdict.allWell') : t('verdict.wrong')}</Tag>{' '}
            {t('verdict.oversold', { n: n(v.units_over_total) })} ·{' '}
            {t('verdict.overLimit', { n: n(v.users_over_limit) })} · {t('verdict.drift', { n: n(v.drift) })}
          </>
        )}
      </span>
      <Fault problem={problem} />
    </>
  );
}
