import { Drawer, Input, Select } from 'antd';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParam, useSearch } from '../lib/router.tsx';

/** A list that is searched by one of some words, each a value of the address, by its state, and page by page. */
export function useSearched<B extends string>(by: readonly B[], first: B) {
  const [chosen, choose] = useState<B>(first);
  const given = new URLSearchParams(useSearch());
  const [state, setState] = useParam('state');
  const [cursor] = useParam('cursor');
  const active = by.find((b) => given.get(b));
  const what = active ?? chosen;
  const [text, setText] = useParam(what);
  const query: Record<string, string | undefined> = {
    state: state || undefined,
    cursor: cursor || undefined,
    limit: '50',
  };
  for (const b of by) query[b] = given.get(b) || undefined;
  return { by, what, choose, active, text, setText, state, setState, query };
}

/** What `useSearched` gives, to fill in; `children` are further filters. */
export function SearchBar<B extends string>({
  of,
  states,
  children,
}: {
  of: ReturnType<typeof useSearched<B>>;
  states: string[];
  children?: ReactNode;
}) {
  const { t } = useTranslation();
  return (
    <div className="filters">
      <Select
        aria-label={t('order.by')}
        value={of.what}
        onChange={of.choose}
        style={{ width: 140 }}
        options={of.by.map((b) => ({ value: b, label: t(`orderBy.${b}`) }))}
      />
      <Input.Search
        key={of.active}
        allowClear
        defaultValue={of.text}
        aria-label={t('top.search')}
        style={{ width: 280 }}
        onSearch={(v) => of.setText(v.trim(), 'cursor')}
      />
      <Select
        aria-label={t('field.state')}
        value={of.state}
        onChange={(v) => of.setState(v, 'cursor')}
        style={{ width: 130 }}
        options={['', ...states].map((v) => ({ value: v, label: v ? t(`state.${v}`) : t('filter.all') }))}
      />
      {children}
    </div>
  );
}

/** The button of a row that opens all about it. */
export function Opens({ id, open }: { id: string; open: (id: string) => void }) {
  return (
    <button type="button" className="plainbutton mono" onClick={() => open(id)} data-data>
      {id}
    </button>
  );
}

export function UserLink({ id }: { id: string }) {
  return (
    <Link to={`/lookup?q=${encodeURIComponent(id)}`} className="mono" data-data>
      {id}
    </Link>
  );
}

export function CampaignLink({ id }: { id: string }) {
  return (
    <Link to={`/campaigns/${encodeURIComponent(id)}`} className="mono" data-data>
      {id}
    </Link>
  );
}

/** All about one row, beside the list; closed while `id` is empty. */
export function Detail({
  name,
  id,
  close,
  children,
}: {
  name: string;
  id: string;
  close: () => void;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  return (
    <Drawer
      open={id !== ''}
      onClose={close}
      size="large"
      title={
        <>
          {name}{' '}
          <span className="mono" data-data>
            {id}
          </span>
        </>
      }
      closable={{ 'aria-label': t('act.close') }}
    >
      {id !== '' && children}
    </Drawer>
  );
}
