import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '../lib/api.ts';
import { download } from '../lib/csv.ts';
import { forgetSecret, sharedCSV, sharedReport, takeSecret } from '../lib/shared.ts';
import { usePrefs } from '../lib/store.ts';
import { Fault, Time } from '../ui/bits.tsx';
import { Choices } from '../ui/choices.tsx';
import { Figured } from './report_figures.tsx';

/** How often the report is read again: so that a link that was taken back shows nothing for longer. */
const everyMs = 30_000;

const problemOf = (e: unknown) => (e instanceof Problem ? e : new Problem(0, { title: String(e) }, ''));

/** A report for whoever has a link: no session, no navigation, nothing that changes anything. */
export default function Shared() {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const tag = lang === 'zh' ? 'zh-CN' : 'en';
  const [secret, setSecret] = useState(takeSecret);
  const [failed, setFailed] = useState<Problem>();
  useEffect(() => {
    const again = () => {
      if (location.hash) setSecret(takeSecret());
    };
    window.addEventListener('hashchange', again); // another link, opened in the same tab
    return () => window.removeEventListener('hashchange', again);
  }, []);
  const q = useQuery({
    queryKey: ['shared', secret],
    queryFn: ({ signal }) => sharedReport(secret, tag, signal),
    enabled: secret !== '',
    refetchInterval: (query) => (over(query.state.error) ? false : everyMs),
    refetchOnWindowFocus: true,
  });
  const ended = secret === '' || over(q.error);
  const r = ended ? undefined : q.data;
  useEffect(() => {
    if (ended) forgetSecret();
  }, [ended]);
  useEffect(() => {
    document.title = r ? `${t('tab.report')} ${r.campaign.title}` : t('tab.report');
  }, [r, t]);
  const csv = async (part: 'summary' | 'seconds') => {
    setFailed(undefined);
    try {
      const text = await sharedCSV(secret, tag, part);
      // The mark of UTF-8, which spreadsheets want for Chinese, is lost on the way.
      download(`${r?.campaign.id}-${part === 'seconds' ? 'seconds' : 'report'}.csv`, 'text/csv', `\ufeff${text}`);
    } catch (e) {
      setFailed(problemOf(e));
      if (over(e)) void q.refetch();
    }
  };
  return (
    <main className="content sharedpage" id="content" data-shared={ended ? 'ended' : r ? 'open' : 'asking'}>
      <div className="stack">
        <div className="head">
          <h1>
            {t('tab.report')} {r && <span data-data>{r.campaign.title}</span>}
          </h1>
          {r && (
            <span className="muted small num">
              {t('share.asOf')} <Time at={r.as_of} /> · {t('share.until')} <Time at={r.expires_at} />
            </span>
          )}
          <div className="acts">
            {r && (
              <>
                <Button onClick={() => window.print()}>{t('report.print')}</Button>
                <Button onClick={() => void csv('summary')}>{t('act.csv')}</Button>
                <Button onClick={() => void csv('seconds')}>{t('report.csvSeconds')}</Button>
              </>
            )}
            <Choices />
          </div>
        </div>
        {ended ? (
          <div className="note warn" role="alert">
            <b>{t('share.ended')}</b>
            <div>{t('share.endedHelp')}</div>
          </div>
        ) : (
          q.error && <Fault problem={problemOf(q.error)} again={() => void q.refetch()} />
        )}
        {failed && !ended && <Fault problem={failed} />}
        {r ? <Figured r={r} /> : !ended && !q.error && <div className="panel empty">{t('age.loading')}</div>}
      </div>
    </main>
  );
}

/** Whether an answer says that the link opens nothing, or no more. */
function over(e: unknown): boolean {
  return e instanceof Problem && e.status === 401;
}
