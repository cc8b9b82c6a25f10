import { Input, type InputRef, Modal } from 'antd';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useData } from '../lib/data.ts';
import { go } from '../lib/router.tsx';
import { routes } from '../routes.tsx';

interface Hit {
  to: string;
  name: string;
  kind: string;
  data: boolean;
}

/** ⌘K: pages, campaigns, and a lookup of whatever was typed. */
export function Search({ open, close }: { open: boolean; close: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<InputRef>(null);
  const campaigns = useData('GET /v1/admin/campaigns', { query: { limit: 200 } }, 'once', open);
  const hits = useMemo(() => {
    const want = text.trim().toLowerCase();
    const fits = (s: string) => !want || s.toLowerCase().includes(want);
    const out: Hit[] = [];
    for (const c of campaigns.data?.items ?? []) {
      if (fits(c.id) || fits(c.title))
        out.push({ to: `/campaigns/${encodeURIComponent(c.id)}`, name: c.title, kind: t('nav.campaigns'), data: true });
    }
    const pages = routes.filter((r) => !r.path.includes(':') && fits(t(`nav.${r.name}`)));
    for (const r of pages)
      if (!r.path.endsWith('/new'))
        out.push({ to: r.path || '/', name: t(`nav.${r.name}`), kind: t('search.page'), data: false });
    if (text.trim())
      out.push({
        to: `/lookup?q=${encodeURIComponent(text.trim())}`,
        name: text.trim(),
        kind: t('nav.lookup'),
        data: true,
      });
    return out.slice(0, 12);
  }, [text, campaigns.data, t]);
  const take = (h: Hit | undefined) => {
    if (!h) return;
    close();
    setText('');
    go(h.to);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      setAt((n) => Math.max(0, Math.min(hits.length - 1, n + (e.key === 'ArrowDown' ? 1 : -1))));
    } else if (e.key === 'Enter') take(hits[at]);
  };
  return (
    <Modal
      open={open}
      onCancel={close}
      footer={null}
      closable={false}
      title={t('search.title')}
      afterOpenChange={(o) => o && box.current?.focus()}
    >
      <Input
        ref={box}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={key}
        aria-label={t('search.title')}
        placeholder={t('search.hint')}
      />
      <ul className="feed" style={{ marginTop: 8 }}>
        {hits.map((h, i) => (
          <li key={h.to}>
            <button
              type="button"
              className="plainbutton"
              style={{
                width: '100%',
                textAlign: 'start',
                textDecoration: 'none',
                minHeight: 36,
                background: i === at ? 'var(--infobg)' : undefined,
              }}
              onClick={() => take(h)}
            >
              <span className="muted small">{h.kind}</span> {h.data ? <span data-data>{h.name}</span> : h.name}
            </button>
          </li>
        ))}
      </ul>
      <div className="muted small">{t('search.keys')}</div>
    </Modal>
  );
}
