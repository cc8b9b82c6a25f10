import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { type Prefs, setPrefs, usePrefs } from '../lib/store.ts';

/** Language and theme. */
export function Choices() {
  const { t } = useTranslation();
  const prefs = usePrefs();
  return (
    <>
      <Select
        aria-label={t('top.language')}
        value={prefs.lang}
        onChange={(lang: Prefs['lang']) => setPrefs({ lang })}
        options={[
          {
            value: 'zh',
            label: (
              <span data-data lang="zh-CN">
                中文
              </span>
            ),
          },
          {
            value: 'en',
            label: (
              <span data-data lang="en">
                English
              </span>
            ),
          },
        ]}
        style={{ width: 100 }}
      />
      <Select
        aria-label={t('top.theme')}
        value={prefs.theme}
        onChange={(theme: Prefs['theme']) => setPrefs({ theme })}
        options={(['auto', 'light', 'dark'] as const).map((v) => ({ value: v, label: t(`top.${v}`) }))}
        style={{ width: 112 }}
      />
    </>
  );
}
