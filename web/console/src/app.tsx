import { QueryClient, QueryClientProvider, useQueryClient } from '@tanstack/react-query';
import { ConfigProvider, Modal } from 'antd';
import english from 'antd/locale/en_US';
import dayjs from 'dayjs';
import { Component, lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { loadLanguage } from './i18n/index.ts';
import { api, client, Problem } from './lib/api.ts';
import { Link, match, useParam, usePath } from './lib/router.tsx';
import { sharedPath } from './lib/shared.ts';
import { usePrefs } from './lib/store.ts';
import SignIn, { SignInForm } from './pages/signin.tsx';
import { routes } from './routes.tsx';
import { type Session, SessionContext } from './session.tsx';
import { themeOf } from './theme.ts';
import { Fault } from './ui/bits.tsx';
import { DangerProvider } from './ui/danger.tsx';
import { useDark } from './ui/dark.ts';
import { Frame } from './ui/frame.tsx';

const Shared = lazy(() => import('./pages/shared.tsx'));

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 500,
      refetchIntervalInBackground: false,
      refetchOnReconnect: true,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

type AntLocale = Parameters<typeof ConfigProvider>[0]['locale'];

/** The texts of antd's own parts, and the names of months in its date pickers. */
function useAntLocale(lang: 'zh' | 'en'): AntLocale {
  // There is a locale from the first moment on: antd would build every page anew when the first one comes.
  const [locale, setLocale] = useState<AntLocale>(english);
  useEffect(() => {
    let gone = false;
    const load = async () => {
      let l: AntLocale = english;
      if (lang === 'zh') {
        await import('dayjs/locale/zh-cn');
        l = (await import('antd/locale/zh_CN')).default;
      }
      dayjs.locale(lang === 'zh' ? 'zh-cn' : 'en');
      await loadLanguage(lang);
      if (!gone) setLocale(l);
    };
    void load();
    return () => {
      gone = true;
    };
  }, [lang]);
  return locale;
}

export default function App() {
  const { lang } = usePrefs();
  const dark = useDark();
  const path = usePath();
  const locale = useAntLocale(lang);
  client.setLanguage(lang === 'zh' ? 'zh-CN' : 'en');
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  }, [dark]);
  const theme = useMemo(() => themeOf(dark), [dark]);
  return (
    <ConfigProvider locale={locale} theme={theme} button={{ autoInsertSpace: false }} wave={{ disabled: true }}>
      <QueryClientProvider client={queries}>
        {path === sharedPath ? (
          <Suspense fallback={null}>
            <Shared />
          </Suspense>
        ) : (
          <Gate />
        )}
      </QueryClientProvider>
    </ConfigProvider>
  );
}

/** Asks who is signed in; shows the form to who is not. When a session ends, the form comes over the page. */
function Gate() {
  const { t } = useTranslation();
  const cache = useQueryClient();
  const [session, setSession] = useState<Session>();
  const [asked, setAsked] = useState(false);
  const [expired, setExpired] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const ask = useCallback(async () => {
    try {
      const s = await api('GET /v1/admin/sessions/current');
      client.setToken(s.csrf_token ?? '');
      setSession(s);
      setProblem(undefined);
    } catch (e) {
      setProblem(e instanceof Problem && e.status !== 401 && e.status !== 404 ? e : undefined);
    }
    setAsked(true);
  }, []);
  useEffect(() => {
    void ask();
  }, [ask]);
  useEffect(() => {
    client.expired(() => session && setExpired(true));
  }, [session]);
  const signedIn = (s: Session) => {
    setSession(s);
    setExpired(false);
    void cache.invalidateQueries();
  };
  const signOut = async () => {
    try {
      await api('DELETE /v1/admin/sessions/current');
    } finally {
      cache.clear();
      client.setToken('');
      setSession(undefined);
    }
  };
  if (!asked) return null;
  if (!session) {
    return problem ? (
      <main className="signin">
        <Fault problem={problem} again={() => void ask()} />
      </main>
    ) : (
      <SignIn done={signedIn} />
    );
  }
  return (
    <SessionContext.Provider value={{ session, signOut: () => void signOut() }}>
      <DangerProvider>
        <Pages />
        <Modal
          open={expired}
          title={t('signin.again')}
          footer={null}
          closable={false}
          mask={{ closable: false }}
          keyboard={false}
        >
          <p>{t('signin.kept')}</p>
          {expired && <SignInForm done={signedIn} />}
        </Modal>
      </DangerProvider>
    </SessionContext.Provider>
  );
}

function Pages() {
  const path = usePath();
  const [kiosk] = useParam('kiosk');
  const found = useMemo(() => {
    for (const r of routes) {
      const params = match(r.path, path);
      if (params) return { r, params };
    }
    return undefined;
  }, [path]);
  const page = found ? (
    <Guard key={path}>
      <Suspense
        fallback={
          <div className="panel empty" aria-busy="true">
            …
          </div>
        }
      >
        <found.r.page params={found.params} />
      </Suspense>
    </Guard>
  ) : (
    <NotFound />
  );
  if (kiosk === '1' && path.startsWith('/live/')) return <main>{page}</main>;
  return <Frame>{page}</Frame>;
}

function NotFound() {
  const { t } = useTranslation();
  return (
    <div className="panel empty">
      <h1>{t('fault.noPage')}</h1>
      <Link to="/">{t('nav.overview')}</Link>
    </div>
  );
}

/** A page that fails leaves the frame standing. */
class Guard extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    return this.state.error ? <Broken error={this.state.error} /> : this.props.children;
  }
}

function Broken({ error }: { error: Error }) {
  const { t } = useTranslation();
  return (
    <div className="note bad" role="alert">
      <b>{t('fault.page')}</b> <span data-data>{error.message}</span>{' '}
      <button type="button" className="plainbutton" onClick={() => location.reload()}>
        {t('act.reload')}
      </button>
    </div>
  );
}
