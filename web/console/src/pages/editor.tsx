import { Alert, Button, Checkbox, DatePicker, Form, Input, InputNumber, Segmented, Select, Steps } from 'antd';
import dayjs from 'dayjs';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useChange, useData } from '../lib/data.ts';
import { minorDigits } from '../lib/money.ts';
import { go, useParam } from '../lib/router.tsx';
import { serverNow } from '../lib/serverclock.ts';
import { useNow, usePrefs } from '../lib/store.ts';
import { offsetMinutes, offsetName } from '../lib/times.ts';
import { isArmed } from '../lib/verdict.ts';
import { Act, Fault, Head } from '../ui/bits.tsx';
import { fieldOf, toBody, toValues, type Values } from './editor_values.ts';
import { Sentence, type Told } from './sentence.tsx';

const steps = ['what', 'when', 'many', 'protect'] as const;
const whose: Record<(typeof steps)[number], string[]> = {
  what: ['kind', 'title', 'id', 'image_url', 'sku', 'price', 'currency', 'coupon'],
  when: ['window', 'unpaid_window_s', 'valid_days'],
  many: ['total', 'per_user_limit', 'limit_group'],
  protect: ['pass', 'challenge', 'per_user_rate', 'max_rate', 'signature', 'spread_s'],
};

/** Creates a campaign, or changes what may still change. */
export default function Editor({ params }: { params: Record<string, string> }) {
  const { t } = useTranslation();
  const id = params.id;
  const have = useData('GET /v1/admin/campaigns/{id}', { path: { id: id ?? '' } }, 'once', id !== undefined);
  if (id && !have.data) return <Head title={t('editor.change')} data={have} />;
  return (
    <>
      <Head
        title={
          id ? (
            <>
              {t('editor.change')} <span data-data>{have.data?.title}</span>
            </>
          ) : (
            t('campaign.create')
          )
        }
      />
      <EditorForm have={have.data} />
    </>
  );
}

function EditorForm({ have }: { have: Schemas['AdminCampaign'] | undefined }) {
  const { t } = useTranslation();
  const [step, setStep] = useParam('step', 'what');
  const [form] = Form.useForm<Values>();
  const [shown, setShown] = useState<Values>(() => toValues(have, dayjs()));
  const create = useChange('POST /v1/admin/campaigns');
  const change = useChange('PATCH /v1/admin/campaigns/{id}');
  const problem = (have ? change.error : create.error) ?? undefined;
  const armed = have !== undefined && isArmed(have, useNow(have !== undefined) && serverNow());
  const at = Math.max(0, steps.indexOf(step as (typeof steps)[number]));

  useEffect(() => {
    if (!problem?.errors.length) return;
    form.setFields(problem.errors.map((e) => ({ name: fieldOf(e.field) as keyof Values, errors: [e.detail] })));
    const first = fieldOf(problem.errors[0]?.field ?? '');
    const bad = steps.find((s) => whose[s].includes(first));
    if (bad) setStep(bad);
  }, [problem, form, setStep]);

  const save = async (draft: boolean) => {
    const v: Values = { ...shown, ...form.getFieldsValue(true) };
    try {
      await form.validateFields();
    } catch (e) {
      const name = String((e as { errorFields?: { name: string[] }[] }).errorFields?.[0]?.name[0] ?? '');
      const bad = steps.find((s) => whose[s].includes(name));
      if (bad) setStep(bad);
      return;
    }
    try {
      const body = toBody(v, have);
      const made = have
        ? await change.mutateAsync({ path: { id: have.id }, body: body as Schemas['CampaignPatchBody'] })
        : await create.mutateAsync({ body: { ...body, draft } as Schemas['CampaignBody'] });
      go(`/campaigns/${encodeURIComponent(made.id)}`);
    } catch {
      // The problem is shown, and its faults stand at their fields.
    }
  };
  const busy = create.isPending || change.isPending;
  return (
    <div className="stack">
      <Steps
        current={at}
        onChange={(n) => setStep(steps[n] ?? 'what')}
        size="small"
        items={steps.map((s) => ({ title: t(`step.${s}`) }))}
        responsive
      />
      <div className="cols" style={{ gridTemplateColumns: 'repeat(auto-fit, minmax(min(100%, 380px), 1fr))' }}>
        <div className="panel">
          <Form
            form={form}
            layout="vertical"
            initialValues={shown}
            onValuesChange={() => setShown({ ...shown, ...form.getFieldsValue(true) })}
            requiredMark={false}
            scrollToFirstError
          >
            <div hidden={at !== 0}>
              <What have={have} v={shown} />
            </div>
            <div hidden={at !== 1}>
              <When v={shown} />
            </div>
            <div hidden={at !== 2}>
              <Many have={have} />
            </div>
            <div hidden={at !== 3}>
              <Protect v={shown} />
            </div>
          </Form>
          <div className="row">
            {at > 0 && <Button onClick={() => setStep(steps[at - 1] ?? 'what')}>{t('act.back')}</Button>}
            {at < 3 && (
              <Button type={have ? 'default' : 'primary'} onClick={() => setStep(steps[at + 1] ?? 'what')}>
                {t('act.next')}
              </Button>
            )}
          </div>
        </div>
        <div className="stack" style={{ alignContent: 'start' }}>
          <div className="panel">
            <h2>{t('editor.sentence')}</h2>
            <div className="sentence">
              <Sentence c={told(shown)} />
            </div>
          </div>
          <Preview v={shown} />
          <Fault problem={problem} />
          <div className="row">
            {have ? (
              <Act
                call="PATCH /v1/admin/campaigns/{id}"
                type="primary"
                loading={busy}
                onClick={() => void save(false)}
                why={armed ? t('why.armed') : undefined}
              >
                {t('editor.save')}
              </Act>
            ) : (
              <>
                <Act call="POST /v1/admin/campaigns" loading={busy} onClick={() => void save(true)}>
                  {t('editor.draft')}
                </Act>
                <Act call="POST /v1/admin/campaigns" type="primary" loading={busy} onClick={() => void save(false)}>
                  {t('editor.schedule')}
                </Act>
              </>
            )}
          </div>
        </div>
      </div>
    </div>
  );
}

/** What the sentence says of values that are being typed. */
function told(v: Values): Told {
  const b = toBody(v, undefined) as Schemas['CampaignBody'];
  return { ...b, per_user_limit: b.per_user_limit, protection: { pass: v.pass } } as Told;
}

function needed(text: string) {
  return [{ required: true, message: text }];
}

function What({ have, v }: { have: Schemas['AdminCampaign'] | undefined; v: Values }) {
  const { t } = useTranslation();
  const must = needed(t('form.required'));
  const digits = minorDigits(v.currency);
  const step = 1 / 10 ** digits;
  return (
    <>
      <Form.Item name="kind" label={t('campaign.kind')}>
        <Segmented
          disabled={Boolean(have)}
          options={[
            { value: 'goods', label: t('kind.goods') },
            { value: 'coupon', label: t('kind.coupon') },
          ]}
        />
      </Form.Item>
      <Form.Item name="title" label={t('campaign.title')} rules={must}>
        <Input maxLength={200} />
      </Form.Item>
      {!have && (
        <Form.Item name="id" label={t('editor.id')}>
          <Input maxLength={64} spellCheck={false} />
        </Form.Item>
      )}
      <Form.Item name="image_url" label={t('campaign.image')}>
        <Input maxLength={500} />
      </Form.Item>
      <Form.Item name="currency" label={t('goods.currency')} rules={must}>
        <Input maxLength={3} style={{ width: 100 }} />
      </Form.Item>
      {v.kind === 'goods' ? (
        <>
          <Form.Item name="sku" label={t('goods.sku')} rules={must}>
            <Input maxLength={64} />
          </Form.Item>
          <Form.Item name="price" label={t('goods.price')} rules={must}>
            <InputNumber min={0} step={step} precision={digits} style={{ width: 160 }} />
          </Form.Item>
          <Form.Item name="limit_back" valuePropName="checked">
            <Checkbox>{t('goods.limitBack')}</Checkbox>
          </Form.Item>
        </>
      ) : (
        <>
          <Form.Item name="type" label={t('coupon.type')}>
            <Select
              options={['amount_off', 'percent_off', 'exchange'].map((x) => ({
                value: x,
                label: t(`couponType.${x}`),
              }))}
            />
          </Form.Item>
          {v.type !== 'exchange' && (
            <Form.Item name="value" label={v.type === 'percent_off' ? '%' : t('coupon.value')} rules={must}>
              <InputNumber min={0} precision={v.type === 'percent_off' ? 0 : digits} style={{ width: 160 }} />
            </Form.Item>
          )}
          <Form.Item name="min_spend" label={t('coupon.minSpend')}>
            <InputNumber min={0} precision={digits} style={{ width: 160 }} />
          </Form.Item>
          <Form.Item name="merchants" label={t('coupon.merchants')}>
            <Select mode="tags" open={false} suffixIcon={null} placeholder={t('coupon.everywhere')} />
          </Form.Item>
        </>
      )}
    </>
  );
}

function When({ v }: { v: Values }) {
  const { t } = useTranslation();
  const now = Date.now();
  const zone = offsetName(offsetMinutes(now, 'viewer'));
  const at = v.window?.[0]?.valueOf();
  const start = at === undefined ? '' : at > now ? dayjs(at).format('YYYY-MM-DD HH:mm:ss') : t('editor.atOnce');
  return (
    <>
      <Form.Item
        name="window"
        label={`${t('campaign.window')} (${zone})`}
        rules={needed(t('form.required'))}
        extra={start}
      >
        <DatePicker.RangePicker showTime style={{ width: '100%' }} />
      </Form.Item>
      {v.kind === 'goods' ? (
        <Form.Item name="unpaid_window_s" label={t('editor.unpaid')} rules={needed(t('form.required'))}>
          <InputNumber min={1} precision={0} style={{ width: 160 }} />
        </Form.Item>
      ) : (
        <Form.Item name="valid_days" label={t('coupon.validDays')} rules={needed(t('form.required'))}>
          <InputNumber min={1} precision={0} style={{ width: 160 }} />
        </Form.Item>
      )}
    </>
  );
}

function Many({ have }: { have: Schemas['AdminCampaign'] | undefined }) {
  const { t } = useTranslation();
  return (
    <>
      <Form.Item
        name="total"
        label={t('campaign.total')}
        rules={needed(t('form.required'))}
        extra={have ? t('editor.totalLater') : undefined}
      >
        <InputNumber
          min={1}
          precision={0}
          disabled={have !== undefined && have.state !== 'draft' && have.state !== 'scheduled'}
          style={{ width: 160 }}
        />
      </Form.Item>
      <Form.Item name="per_user_limit" label={t('campaign.limit')} rules={needed(t('form.required'))}>
        <InputNumber min={1} precision={0} style={{ width: 160 }} />
      </Form.Item>
      {!have && (
        <Form.Item name="limit_group" label={t('campaign.group')}>
          <Input maxLength={64} />
        </Form.Item>
      )}
      {have && have.state !== 'draft' && <Alert type="info" title={t('editor.locked')} />}
    </>
  );
}

function Protect({ v }: { v: Values }) {
  const { t } = useTranslation();
  return (
    <>
      <Form.Item name="pass" label={t('protection.pass')}>
        <Segmented options={['off', 'adaptive', 'always'].map((x) => ({ value: x, label: t(`pass.${x}`) }))} vertical />
      </Form.Item>
      {v.pass !== 'off' && (
        <Form.Item name="challenge" label={t('protection.challenge')}>
          <Select
            options={['', 'pow', 'slider', 'image', 'siteverify'].map((x) => ({
              value: x,
              label: x ? t(`challenge.${x}`) : t('protection.none'),
            }))}
          />
        </Form.Item>
      )}
      <Form.Item name="per_user_rate" label={t('protection.perUser')}>
        <InputNumber min={0} style={{ width: 160 }} />
      </Form.Item>
      <Form.Item name="max_rate" label={t('protection.maxRate')}>
        <InputNumber min={0} style={{ width: 160 }} />
      </Form.Item>
      <Form.Item name="spread_s" label={`${t('protection.spread')} (${t('unit.s')})`}>
        <InputNumber min={0} max={60} precision={0} style={{ width: 160 }} />
      </Form.Item>
      <Form.Item name="signature" valuePropName="checked">
        <Checkbox>{t('protection.signature')}</Checkbox>
      </Form.Item>
    </>
  );
}

/** What a buyer sees, roughly. */
function Preview({ v }: { v: Values }) {
  const { t } = useTranslation();
  const { lang } = usePrefs();
  const price =
    v.kind === 'goods' && v.price !== null && v.price !== undefined
      ? new Intl.NumberFormat(lang, {
          style: 'currency',
          currency: /^[A-Z]{3}$/.test(v.currency) ? v.currency : 'CNY',
        }).format(v.price)
      : '';
  return (
    <div className="panel">
      <h2>{t('editor.preview')}</h2>
      <div style={{ border: '1px solid var(--line)', borderRadius: 10, padding: 16, maxWidth: 320 }} data-data>
        <div style={{ fontSize: 17, fontWeight: 650 }}>{v.title || '…'}</div>
        <div>{price}</div>
        <div
          style={{
            background: '#cf1322',
            color: '#fff',
            borderRadius: 8,
            textAlign: 'center',
            padding: '12px 0',
            marginTop: 12,
            fontWeight: 600,
          }}
        >
          {v.kind === 'goods' ? t('editor.buy') : t('editor.claim')}
        </div>
        <div className="muted small" style={{ marginTop: 6 }}>
          {t('editor.limitEach', { n: v.per_user_limit ?? '—' })}
        </div>
      </div>
    </div>
  );
}
