import { Button, Input } from 'antd';
import { type FormEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, client, Problem } from '../lib/api.ts';
import type { Session } from '../session.tsx';
import { Fault } from '../ui/bits.tsx';
import { Choices } from '../ui/choices.tsx';

/** The form that trades a key for a session. */
export function SignInForm({ done }: { done: (s: Session) => void }) {
  const { t } = useTranslation();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const id = useId();
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    if (!key.trim() || busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const s = await api('POST /v1/admin/sessions', { body: { key: key.trim() } });
      client.setToken(s.csrf_token ?? '');
      setKey('');
      done(s);
    } catch (err) {
      setProblem(err instanceof Problem ? err : new Problem(0, {}, ''));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className="stack">
      <label htmlFor={id}>
        <b>{t('signin.key')}</b>
        <div className="muted small">{t('signin.where')}</div>
      </label>
      <Input.Password
        id={id}
        name="key"
        value={key}
        onChange={(e) => setKey(e.target.value)}
        autoFocus
        autoComplete="current-password"
        visibilityToggle={false}
        size="large"
      />
      <Fault problem={problem} />
      <Button type="primary" htmlType="submit" size="large" loading={busy} block>
        {t('signin.go')}
      </Button>
    </form>
  );
}

/** The page of who is not signed in. */
export default function SignIn({ done }: { done: (s: Session) => void }) {
  const { t } = useTranslation();
  return (
    <main className="signin stack">
      <div className="row">
        <img src="/icon.svg" alt="" width="32" height="32" />
        <h1>{t('signin.title')}</h1>
      </div>
      <div className="panel">
        <SignInForm done={done} />
      </div>
      <div className="row">
        <Choices />
      </div>
    </main>
  );
}
