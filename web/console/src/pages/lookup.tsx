import { Button, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useData } from '../lib/data.ts';
import { useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { stamp } from '../lib/times.ts';
import { Head } from '../ui/bits.tsx';
import { Exports } from '../ui/list.tsx';
import { codeOf, Entries } from './timeline.tsx';

/** Why did this person not get one? */
export default function Lookup() {
  const { t, i18n } = useTranslation();
  const { zone } = usePrefs();
  const [q, setQ] = useParam('q');
  const [copied, setCopied] = useState(false);
  const data = useData('GET /v1/admin/lookup', { query: { q } }, 'slow', q !== '');
  const items = data.data?.items ?? [];
  const answer = items.flatMap((e) => {
    const code = codeOf(e);
    return code && i18n.exists(`reason.${code}`) ? [`${stamp(e.at, zone, true)} ${code}: ${t(`reason.${code}`)}`] : [];
  });
  const text = answer.length ? `${t('lookup.answer', { q })}\n${answer.join('\n')}` : t('lookup.nothing', { q });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      setCopied(false);
    }
  };
  return (
    <div className="stack">
      <Head title={t('lookup.title')} data={q ? data : undefined} />
      <Input.Search
        key={q}
        defaultValue={q}
        allowClear
        enterButton={t('nav.lookup')}
        size="large"
        aria-label={t('lookup.hint')}
        placeholder={t('lookup.hint')}
        maxLength={200}
        onSearch={(v) => setQ(v.trim())}
        style={{ maxWidth: 680 }}
      />
      {!q && <div className="panel muted">{t('lookup.help')}</div>}
      {q && data.data && items.length === 0 && (
        <div className="panel empty">
          {t('empty.lookup')}
          <div className="small">{t('lookup.refused')}</div>
        </div>
      )}
      {items.length > 0 && (
        <div className="panel">
          <div className="row" style={{ marginBottom: 12 }}>
            <h2 style={{ margin: 0 }}>{t('timeline.title')}</h2>
            <Button onClick={copy}>{copied ? '✓' : t('lookup.copy')}</Button>
            <Exports name={`lookup-${q}`} rows={items as unknown as Record<string, unknown>[]} />
          </div>
          <Entries items={items} />
        </div>
      )}
    </div>
  );
}
