import { type Campaign, randomID, Sluice } from "../../sdk/src/index.js";
import type { Lang, Texts } from "./texts.js";

declare const __CHALLENGE__: string;
declare const __PAGES__: string;

/** What every part of the page uses. Parts that are loaded later are handed one. */
export type App = ReturnType<typeof makeApp>;
/** What the shop has set: it comes with the list of campaigns and with each of them. */
export type Shop = Pick<Campaign, "login_url" | "pay_url"> & { sandbox?: boolean; dev_sign_in?: boolean };

export const $ = (id: string) => document.getElementById(id)!;

/** The words of both languages: they stand in the page. */
const all: Record<Lang, Texts> = JSON.parse($("texts").textContent!);

type Child = Node | string | false | undefined | null;
/** An element with attributes and children; texts never become markup. */
export function el(tag: string, attributes: Record<string, string | boolean | ((e: Event) => void)> = {}, ...children: Child[]): HTMLElement {
  const e = document.createElement(tag);
  for (const [name, v] of Object.entries(attributes)) {
    if (typeof v === "function") e.addEventListener(name, v);
    else if (v !== false) e.setAttribute(name, v === true ? "" : v);
  }
  e.append(...children.filter((c): c is Node | string => !!c));
  return e;
}

/** Storage that may be forbidden. */
export function keep(store: "localStorage" | "sessionStorage", key: string, value?: string | null): string | null {
  try {
    if (value === null) window[store].removeItem(key);
    else if (value !== undefined) window[store].setItem(key, value);
    return window[store].getItem(key);
  } catch {
    return null;
  }
}

const meta = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="sluice-${name}"]`)?.content;

export function makeApp() {
  // The shop hands the token over behind the #, which no server and no log sees; it is taken out of the address at once.
  const handed = /^#token=([\w.-]+)$/.exec(location.hash)?.[1];
  if (handed) {
    keep("sessionStorage", "sluice.token", handed);
    history.replaceState(null, "", location.pathname);
  }
  const stored = keep("localStorage", "sluice.lang");
  const app = {
    lang: (stored && stored in all ? stored : /^zh/i.test(navigator.language) ? "zh-CN" : "en") as Lang,
    texts: { ...all } as Record<Lang, Texts>,
    token: keep("sessionStorage", "sluice.token") || handed || "",
    shop: {} as Shop,
    repaint: () => {},
    el, $, keep, randomID,
    sluice: null as unknown as Sluice,
    ready: Promise.resolve(),

    /** The user of the token, for the page's own notes; the server alone says what it is worth. */
    user(): string {
      try {
        const part = app.token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
        return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0)))).sub ?? "";
      } catch {
        return "";
      }
    },
    setToken(token: string) {
      app.token = token;
      keep("sessionStorage", "sluice.token", token || null);
      app.nav();
      app.repaint();
    },
    /** A text with its places filled. `n` 0 is the button, 1 the help of a state. */
    t(key: string, values: Record<string, string | number> = {}, n = 0): string {
      const text = app.texts[app.lang][key] ?? key;
      return (typeof text === "string" ? text : text[n]!).replace(/\{(\w)\}/g, (_, k: string) => String(values[k] ?? ""));
    },
    num: (n: number) => new Intl.NumberFormat(app.lang).format(n),
    money(minor: number, currency: string): string {
      try {
        const f = new Intl.NumberFormat(app.lang, { style: "currency", currency });
        return f.format(minor / 10 ** (f.resolvedOptions().maximumFractionDigits ?? 2));
      } catch {
        return `${minor / 100} ${currency}`;
      }
    },
    /** Day and time with the offset of the viewer's zone. */
    when(at: string | number): string {
      const parts = new Intl.DateTimeFormat(app.lang, {
        month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
        timeZoneName: "shortOffset",
      }).formatToParts(new Date(at));
      const zone = parts.find((p) => p.type === "timeZoneName")!.value.replace("GMT", "UTC");
      const rest = parts.filter((p) => p.type !== "timeZoneName").map((p) => p.value).join("").trim();
      return app.lang === "en" ? `${rest} (${zone})` : `${rest}（${zone}）`;
    },
    clock: (at: string | number) => new Intl.DateTimeFormat(app.lang, {
      hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
    }).format(new Date(at)),
    span(ms: number): string {
      const s = Math.ceil(ms / 1000);
      const two = (n: number) => String(n).padStart(2, "0");
      const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24;
      return (d ? `${d}:` : "") + (d || h ? `${two(h)}:` : "") + `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
    },
    /** What the terms of a campaign are worth. */
    worth(c: Campaign): string {
      if (c.goods) return c.goods.price_minor ? app.money(c.goods.price_minor, c.goods.currency) : app.t("free");
      const k = c.coupon;
      if (!k || k.type === "exchange") return app.t("exchange");
      const m = k.min_spend_minor ? app.money(k.min_spend_minor, k.currency || "CNY") : "";
      if (k.type === "percent_off") return app.t(m ? "percentMin" : "percent", { v: k.value, m });
      return app.t(m ? "offMin" : "off", { v: app.money(k.value, k.currency || "CNY"), m });
    },
    say: (text: string) => { $("voice").textContent = text; },
    shout: (text: string) => { $("alarm").textContent = text; },

    nav() {
      document.documentElement.lang = app.lang;
      const link = (to: string, key: string) => el("a", { href: to, ...(location.pathname === to ? { "aria-current": "page" } : {}) }, app.t(key));
      $("nav").replaceChildren(
        link("/", "sales"), link("/orders", "orders"), link("/coupons", "coupons"),
        el("button", { class: "link", type: "button", id: "lang", lang: app.lang === "en" ? "zh-CN" : "en", "data-data": true, click: () => {
          app.lang = app.lang === "en" ? "zh-CN" : "en";
          keep("localStorage", "sluice.lang", app.lang);
          app.say(""); // what was said was said in the other language
          app.shout("");
          app.nav();
          app.repaint();
          document.dispatchEvent(new Event("lang"));
          $("lang").focus();
        } }, app.t("other")),
        app.token ? el("button", { class: "link", type: "button", id: "out", click: () => app.setToken("") },
          app.t("signout"), el("span", { "data-data": true }, app.user()))
          // Its place is kept while nobody knows whether there is one: what lies below must not move.
          : el("button", { class: app.shop.login_url || app.shop.dev_sign_in ? "link" : "link ghost", type: "button", id: "in", click: () => app.signIn() },
            app.t("signin")),
      );
    },

    /** Sends the buyer to the shop's sign-in; in development any name will do. */
    async signIn() {
      const to = app.shop.login_url;
      if (to) {
        location.href = `${to}${to.includes("?") ? "&" : "?"}return=${encodeURIComponent(location.origin + location.pathname)}`;
      } else if (app.shop.dev_sign_in) {
        (await app.pages()).signIn(app);
      }
    },

    /** The list, the wallet and the sign-in of development: not needed on the page of a campaign. */
    pages: () => import(__PAGES__) as Promise<typeof import("./pages.js")>,

    /** Takes the texts of a part that was loaded; those that a shop has set stay. */
    learn(more: Record<Lang, Texts>) {
      for (const l of ["zh-CN", "en"] as const) app.texts[l] = { ...more[l], ...app.texts[l] };
    },

    /** Solves a challenge: the script for it is loaded when the first one comes. */
    async solve(challenge: unknown, signal?: AbortSignal): Promise<unknown> {
      const part = (await import(__CHALLENGE__)) as typeof import("./challenge.js");
      return part.solve(app, challenge as never, signal);
    },
  };
  app.sluice = new Sluice({
    baseURL: meta("api") ?? "",
    token: () => app.token,
    language: app.lang,
    solve: (c, signal) => app.solve(c, signal),
  });
  const own = meta("texts");
  if (own) {
    app.ready = fetch(own).then((r) => r.json()).then((more: Record<Lang, Texts>) => {
      for (const l of ["zh-CN", "en"] as const) app.texts[l] = { ...all[l], ...more[l] };
    }).catch(() => {});
  }
  return app;
}
