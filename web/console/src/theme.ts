import { type ThemeConfig, theme } from 'antd';

// antd's own colours miss 4.5:1 in dozens of places; these were measured with axe, light and dark.
const light = {
  colorPrimary: '#0958d9',
  colorInfo: '#0958d9',
  colorLink: '#0958d9',
  colorLinkHover: '#003eb3',
  colorError: '#cf1322',
  colorSuccess: '#237804',
  colorWarning: '#ad4e00',
  colorTextDescription: 'rgba(0,0,0,.65)',
  colorTextTertiary: 'rgba(0,0,0,.65)',
  colorTextQuaternary: 'rgba(0,0,0,.58)',
  colorTextPlaceholder: 'rgba(0,0,0,.60)',
  colorTextDisabled: 'rgba(0,0,0,.60)',
  colorSuccessBg: '#f6ffed',
  colorWarningBg: '#fffbe6',
  colorErrorBg: '#fff1f0',
  colorInfoBg: '#e6f4ff',
  colorBgLayout: '#f5f6f8',
};
const dark = {
  colorPrimary: '#1668dc',
  colorInfo: '#3c89e8',
  colorLink: '#69b1ff',
  colorLinkHover: '#91caff',
  colorError: '#c9252c',
  colorErrorText: '#ff9c99',
  colorSuccess: '#49aa19',
  colorWarning: '#d89614',
  colorTextDescription: 'rgba(255,255,255,.70)',
  colorTextTertiary: 'rgba(255,255,255,.70)',
  colorTextQuaternary: 'rgba(255,255,255,.62)',
  colorTextPlaceholder: 'rgba(255,255,255,.62)',
  colorTextDisabled: 'rgba(255,255,255,.62)',
  colorBgLayout: '#0d0f12',
};

/** The look of antd's parts. */
export function themeOf(isDark: boolean): ThemeConfig {
  return {
    algorithm: isDark ? theme.darkAlgorithm : theme.defaultAlgorithm,
    token: {
      ...(isDark ? dark : light),
      borderRadius: 6,
      fontSize: 14,
      controlHeight: 34,
      fontFamily:
        'system-ui, -apple-system, "Segoe UI", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
      motion: !window.matchMedia('(prefers-reduced-motion: reduce)').matches,
    },
    components: {
      Button: { primaryShadow: 'none', dangerShadow: 'none', defaultShadow: 'none' },
      Tabs: isDark
        ? {
            itemSelectedColor: '#69b1ff',
            itemHoverColor: '#91caff',
            itemActiveColor: '#91caff',
            inkBarColor: '#69b1ff',
          }
        : {},
    },
  };
}
