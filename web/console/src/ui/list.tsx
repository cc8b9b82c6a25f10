import { Button, Skeleton, Table, type TableProps } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { csv, download } from '../lib/csv.ts';
import type { Data } from '../lib/data.ts';
import { useParam } from '../lib/router.tsx';

type Page<T> = { items: T[]; next_cursor?: string };

interface Props<T extends object> {
  name: string;
  data: Data<Page<T>>;
  columns: NonNullable<TableProps<T>['columns']>;
  rowKey: (row: T) => string;
  filtered?: boolean;
  clear?: () => void;
  nothing: ReactNode; // nothing yet, or nothing wrong
  good?: boolean; // an empty list is good news
  select?: TableProps<T>['rowSelection'];
  expand?: (row: T) => ReactNode;
  width?: number;
}

/** A page of a list with its three kinds of empty. The cursor is in the address. */
export function List<T extends object>(p: Props<T>) {
  const { t } = useTranslation();
  const [cursor, setCursor] = useParam('cursor');
  const items = p.data.data?.items;
  if (!items) {
    if (p.data.error) return null; // the head says what failed
    return (
      <div className="panel">
        <Skeleton active paragraph={{ rows: 8 }} title={false} />
      </div>
    );
  }
  const empty =
    p.filtered || cursor ? (
      <div className="empty">
        {t('empty.noMatch')} {p.clear && <Button onClick={p.clear}>{t('empty.clear')}</Button>}
      </div>
    ) : (
      <div className="empty">
        {p.good && <div className="good">✓</div>}
        {p.nothing}
      </div>
    );
  const next = p.data.data?.next_cursor;
  return (
    <>
      <Table<T>
        dataSource={items}
        columns={p.columns}
        rowKey={p.rowKey}
        pagination={false}
        scroll={{ x: p.width ?? 'max-content' }}
        size="small"
        locale={{ emptyText: empty }}
        rowSelection={p.select}
        expandable={
          p.expand && { expandedRowRender: p.expand, columnTitle: <span className="sr">{t('act.details')}</span> }
        }
      />
      <div className="row" style={{ marginTop: 10 }}>
        <span className="muted small num">{t('list.rows', { n: items.length })}</span>
        {cursor && <Button onClick={() => setCursor('')}>{t('list.first')}</Button>}
        {next && <Button onClick={() => setCursor(next)}>{t('list.next')}</Button>}
        <span style={{ flex: 1 }} />
        <Exports name={p.name} rows={items as Record<string, unknown>[]} />
      </div>
    </>
  );
}

/** Rows as a file, CSV or JSON. */
export function Exports({ name, rows }: { name: string; rows: Record<string, unknown>[] }) {
  const { t } = useTranslation();
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  return (
    <span className="row noprint">
      <Button
        disabled={rows.length === 0}
        onClick={() => download(`${name}.csv`, 'text/csv;charset=utf-8', csv(columns, rows))}
      >
        {t('act.csv')}
      </Button>
      <Button
        disabled={rows.length === 0}
        onClick={() => download(`${name}.json`, 'application/json', JSON.stringify(rows, null, 2))}
      >
        {t('act.json')}
      </Button>
    </span>
  );
}
