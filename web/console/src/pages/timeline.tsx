import { Timeline as Line } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../lib/api.ts';
import { useData } from '../lib/data.ts';
import { codeOf } from '../lib/support.ts';
import { millis, span } from '../lib/times.ts';
import { Code, Fault, Time } from '../ui/bits.tsx';

type Entry = Schemas['TimelineEntry'];

const units = { d: 'd', h: 'h', m: 'min', s: 's' };

/** Everything about one thing, in the order of time, with what passed between. */
export function Timeline({ q }: { q: string }) {
  const { t } = useTranslation();
  const data = useData('GET /v1/admin/lookup', { query: { q } }, 'slow', q !== '');
  return (
    <>
      <Fault problem={data.error} again={data.again} />
      {data.data && <Entries items={data.data.items} />}
      {data.data?.items.length === 0 && <div className="empty">{t('empty.lookup')}</div>}
    </>
  );
}

/** Rows of a lookup. */
export function Entries({ items }: { items: Entry[] }) {
  const { t, i18n } = useTranslation();
  return (
    <Line
      items={items.map((e, i) => {
        const before = i > 0 ? millis(items[i - 1]?.at) : undefined;
        const at = millis(e.at);
        const code = codeOf(e);
        const audited =
          e.type === 'audit' ? (e.data as { action?: string; actor?: string; reason?: string }) : undefined;
        return {
          key: `${e.at}${e.type}${i}`,
          color:
            code === 'CONFIRMED' || /paid|confirmed/.test(e.type)
              ? 'green'
              : /reject|refus|block|dead/.test(e.type)
                ? 'red'
                : 'gray',
          content: (
            <div>
              <div className="row">
                <b className="mono" data-data>
                  {audited?.action ?? e.type}
                </b>{' '}
                <span className="mono" data-data>
                  {e.subject}
                </span>
                {code && (
                  <b className="mono" data-data>
                    {code}
                  </b>
                )}
              </div>
              <div className="small muted num">
                <Time at={e.at} ms />
                {before !== undefined && at !== undefined && ` · +${span(at - before, units)}`}
              </div>
              {audited && (
                <div className="small" data-data>
                  {[audited.actor, audited.reason].filter(Boolean).join(' · ')}
                </div>
              )}
              {code && i18n.exists(`reason.${code}`) && <div>{t(`reason.${code}`)}</div>}
              {e.data ? (
                <details>
                  <summary>{t('act.details')}</summary>
                  <Code value={e.data} />
                </details>
              ) : null}
            </div>
          ),
        };
      })}
    />
  );
}
