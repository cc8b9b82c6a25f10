import { Button, DatePicker, Input, InputNumber, Modal } from 'antd';
import type { Dayjs } from 'dayjs';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useChange } from '../lib/data.ts';
import { go } from '../lib/router.tsx';
import { Fault } from '../ui/bits.tsx';

/** A draft like a campaign. */
export function CloneDialog({ campaign, close }: { campaign: Schemas['AdminCampaign']; close: () => void }) {
  const { t } = useTranslation();
  const change = useChange('POST /v1/admin/campaigns/{id}/clone');
  const [title, setTitle] = useState(campaign.title);
  const [total, setTotal] = useState<number | null>(campaign.total);
  const [window, setWindow] = useState<[Dayjs, Dayjs]>();
  const run = async () => {
    const body: Schemas['CloneBody'] = {
      title,
      total: total ?? undefined,
      starts_at: window?.[0].toISOString(),
      ends_at: window?.[1].toISOString(),
    };
    try {
      const made = await change.mutateAsync({ path: { id: campaign.id }, body });
      close();
      go(`/campaigns/${encodeURIComponent(made.id)}`);
    } catch {
      // The fault is shown below.
    }
  };
  return (
    <Modal
      open
      title={
        <>
          {t('clone.title')} <span data-data>{campaign.title}</span>
        </>
      }
      onCancel={close}
      closable={false}
      footer={[
        <Button key="no" onClick={close}>
          {t('act.cancel')}
        </Button>,
        <Button key="yes" type="primary" loading={change.isPending} onClick={run}>
          {t('clone.verb')}
        </Button>,
      ]}
    >
      <div className="stack">
        <label>
          <div>{t('campaign.title')}</div>
          <Input value={title} maxLength={200} onChange={(e) => setTitle(e.target.value)} />
        </label>
        <label>
          <div>{t('campaign.total')}</div>
          <InputNumber value={total} min={1} precision={0} onChange={setTotal} style={{ width: '100%' }} />
        </label>
        <label>
          <div>{t('campaign.window')}</div>
          <DatePicker.RangePicker
            showTime
            value={window}
            onChange={(v) => setWindow(v?.[0] && v[1] ? [v[0], v[1]] : undefined)}
            style={{ width: '100%' }}
          />
        </label>
        <div className="muted small">{t('clone.note')}</div>
        <Fault problem={change.error ?? undefined} />
      </div>
    </Modal>
  );
}
