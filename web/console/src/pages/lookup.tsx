import { Input } from 'antd';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { bringLanguage } from '../i18n/index.ts';
import { useData } from '../lib/data.ts';
import { useParam } from '../lib/router.tsx';
import { usePrefs } from '../lib/store.ts';
import { type Say, supportAnswer } from '../lib/support.ts';
import { Head } from '../ui/bits.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Exports } from '../ui/list.tsx';
import { Entries } from './timeline.tsx';

type Lang = 'zh' | 'en';
const langs: Lang[] = ['zh', 'en'];

/** Why did this person not get one? */
export default function Lookup() {
  const { t, i18n } = useTranslation();
  const { zone } = usePrefs();
  const [q, setQ] = useParam('q');
  const data = useData('GET /v1/admin/lookup', { query: { q } }, 'slow', q !== '');
  const items = data.data?.items ?? [];
  useEffect(() => {
    for (const lang of langs) void bringLanguage(lang); // before the press: a browser lets nothing be copied long after it
  }, []);
  const answer = async (lang: Lang) => {
    await bringLanguage(lang);
    const say: Say = (key, values) => (i18n.exists(key, { lng: lang }) ? i18n.getFixedT(lang)(key, values) : undefined);
    return supportAnswer(q, items, zone, say);
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
            {langs.map((lang) => (
              <CopyButton key={lang} text={() => answer(lang)} data-answer={lang}>
                {t(`lookup.copy.${lang}`)}
              </CopyButton>
            ))}
            <Exports name={`lookup-${q}`} rows={items as unknown as Record<string, unknown>[]} />
          </div>
          <Entries items={items} />
        </div>
      )}
    </div>
  );
}
