import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { address } from '../lib/api.ts';
import { download } from '../lib/csv.ts';
import { useData } from '../lib/data.ts';
import { Link } from '../lib/router.tsx';
import { Head } from '../ui/bits.tsx';
import { Figured } from './report_figures.tsx';
import { ReportLinks, ShareReport } from './report_links.tsx';

/** The sale afterwards. */
export default function Report({ params }: { params: Record<string, string> }) {
  const { t } = useTranslation();
  const id = params.id ?? '';
  const data = useData('GET /v1/admin/campaigns/{id}/report', { path: { id } }, 'slow');
  const r = data.data;
  return (
    <div className="stack">
      <Head
        title={
          <>
            {t('tab.report')} <span data-data>{r?.campaign.title}</span>
          </>
        }
        data={data}
      >
        {r && (
          <>
            <Link to={`/campaigns/${encodeURIComponent(id)}`} className="noprint">
              {t('live.campaign')}
            </Link>
            <CopyLink />
            <ShareReport id={id} />
            <Button onClick={() => window.print()}>{t('report.print')}</Button>
            <Button href={address('GET /v1/admin/campaigns/{id}/report.csv', { id })} download>
              {t('act.csv')}
            </Button>
            <Button href={address('GET /v1/admin/campaigns/{id}/report.csv', { id }, { part: 'seconds' })} download>
              {t('report.csvSeconds')}
            </Button>
            <Button onClick={() => download(`report-${id}.json`, 'application/json', JSON.stringify(r, null, 2))}>
              {t('act.json')}
            </Button>
          </>
        )}
      </Head>
      {r ? <Figured r={r} /> : !data.error && <div className="panel empty">{t('age.loading')}</div>}
      <ReportLinks id={id} />
    </div>
  );
}

/** The report's own address, for somebody who may only look. */
function CopyLink() {
  const { t } = useTranslation();
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.origin + location.pathname);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      setDone(false);
    }
  };
  return (
    <Button onClick={copy} title={t('report.linkHint')}>
      {done ? '✓' : t('report.link')}
    </Button>
  );
}
