import { Button, Input, Modal, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, type Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { Act, Fault, Id, Time } from '../ui/bits.tsx';
import { useDanger } from '../ui/danger.tsx';
import { List } from '../ui/list.tsx';

type ReportLink = Schemas['LinkAnswer'];

const make = 'POST /v1/admin/campaigns/{id}/report/links';
const hour = 3600;
const lives = [hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour, 90 * 24 * hour];

/** The button that makes a link to a report, for somebody without a key. */
export function ShareReport({ id }: { id: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Act call={make} onClick={() => setOpen(true)}>
        {t('share.make')}
      </Act>
      {open && <MakeLink id={id} close={() => setOpen(false)} />}
    </>
  );
}

function MakeLink({ id, close }: { id: string; close: () => void }) {
  const { t } = useTranslation();
  const change = useChange(make);
  const [life, setLife] = useState(7 * 24 * hour);
  const [note, setNote] = useState('');
  const made = change.data;
  return (
    <Modal
      open
      title={t('share.title')}
      onCancel={close}
      closable={false}
      mask={{ closable: false }}
      footer={[
        <Button key="n" onClick={close}>
          {made ? t('act.close') : t('act.cancel')}
        </Button>,
        !made && (
          <Button
            key="y"
            type="primary"
            loading={change.isPending}
            onClick={() => change.mutate({ path: { id }, body: { life_s: life, note: note.trim() || undefined } })}
          >
            {t('share.make')}
          </Button>
        ),
      ]}
    >
      {made ? (
        <div className="stack">
          <div className="note ok" role="status">
            {t('share.once')} <Time at={made.expires_at} />
          </div>
          <div style={{ overflowWrap: 'anywhere' }} data-link>
            <Id id={location.origin + made.path}>
              <span style={{ whiteSpace: 'normal' }}>{location.origin + made.path}</span>
            </Id>
          </div>
        </div>
      ) : (
        <div className="stack">
          <div>{t('share.body')}</div>
          <label>
            <div>{t('share.life')}</div>
            <Select
              value={life}
              onChange={setLife}
              style={{ width: '100%' }}
              options={lives.map((s) => ({ value: s, label: t(`share.life.${s}`) }))}
              aria-label={t('share.life')}
            />
          </label>
          <label>
            <div>{t('share.note')}</div>
            <Input value={note} maxLength={100} onChange={(e) => setNote(e.target.value)} />
          </label>
          <Fault problem={change.error ?? undefined} />
        </div>
      )}
    </Modal>
  );
}

/** The links to a report that are in force. */
export function ReportLinks({ id }: { id: string }) {
  const { t } = useTranslation();
  const danger = useDanger();
  const list = useData('GET /v1/admin/campaigns/{id}/report/links', { path: { id } });
  if (!list.data?.items.length && !list.error) return null;
  const takeBack = (l: ReportLink) =>
    danger({
      tier: 'b',
      title: t('share.backTitle', { note: l.note || l.id }),
      verb: t('share.back'),
      body: t('share.backBody'),
      act: (_, reason) =>
        api('DELETE /v1/admin/campaigns/{id}/report/links/{link}', {
          path: { id, link: l.id },
          query: { reason },
        }),
      done: () => t('share.backDone'),
    });
  return (
    <section className="noprint" data-links>
      <h2>{t('share.list')}</h2>
      <Fault problem={list.error} again={list.again} />
      <List<ReportLink>
        name="report-links"
        data={list}
        rowKey={(l) => l.id}
        nothing="—"
        columns={[
          { title: t('share.note'), render: (_, l) => <span data-data>{l.note || '—'}</span> },
          { title: t('share.by'), render: (_, l) => <span data-data>{l.author}</span> },
          { title: t('field.time'), render: (_, l) => <Time at={l.created_at} /> },
          { title: t('field.expires'), render: (_, l) => <Time at={l.expires_at} relative /> },
          {
            title: <span className="sr">{t('act.more')}</span>,
            render: (_, l) => (
              <Act call="DELETE /v1/admin/campaigns/{id}/report/links/{link}" danger onClick={() => takeBack(l)}>
                {t('share.back')}
              </Act>
            ),
          },
        ]}
      />
    </section>
  );
}
