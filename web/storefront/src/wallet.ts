import type { Campaign, Coupon, Order } from "../../sdk/src/index.js";
import type { App } from "./app.js";
import { matrix } from "./qr.js";

type What = "orders" | "coupons";

/** The buyer's own orders, or coupons. Coupons are kept in the browser for a shop without a network, to read only. */
export function walletPage(app: App, what: What) {
  const { el, $, sluice } = app;
  let items: (Order | Coupon)[] | undefined;
  let cursor: string | undefined, stored = 0, failed = false, tries = 0, sure = "", busy = "", owner = "";
  const titles = new Map<string, Campaign>();
  const copyKey = () => `sluice.coupons.${app.user()}`;

  app.repaint = () => {
    if (owner !== app.token) {
      owner = app.token;
      items = undefined;
      if (app.token) load();
    }
    document.title = app.t(what);
    document.body.dataset.state = !app.token ? "login" : items ? what : failed ? "failed" : "loading";
    $("main").replaceChildren(
      el("h1", {}, app.t(what)),
      !app.token ? el("p", {}, el("button", { class: "go small", id: "go", click: () => app.signIn() }, app.t("signin"))) : "",
      stored ? el("p", { class: "warn", role: "status" }, app.t("stored", { t: app.when(stored) })) : "",
      failed && !items ? el("p", { role: "status" }, app.t("busyList")) : "",
      items && !items.length ? el("p", {}, app.t("none"), " ", el("a", { href: "/" }, app.t("next"))) : "",
      ...(items ?? []).map((x) => ("code" in x ? couponCard(x) : orderCard(x))),
      cursor && !stored ? el("button", { class: "link", type: "button", id: "more", click: () => load(cursor) }, app.t("more")) : "",
    );
  };

  const heading = (id: string) => el("h2", {}, el("a", { href: `/c/${encodeURIComponent(id)}`, "data-data": true }, titles.get(id)?.title ?? id));

  function orderCard(o: Order): HTMLElement {
    const [key, look] = o.refund_due ? ["refundDue", "warn"] : o.state === "paid" ? ["paidWord", "good"]
      : o.state === "unpaid" ? ["unpaid", "warn"] : o.state === "refunded" || o.refunded_at ? ["refundedWord", ""]
      : [o.close_reason === "cancelled" ? "closedCancelled" : "closedExpired", ""];
    const due = o.state === "unpaid";
    return el("article", { class: "card", "data-id": o.id }, heading(o.campaign_id),
      el("p", { class: "row" }, el("span", { class: `word ${look}` }, app.t(key!)), el("span", { "data-data": true }, app.money(o.amount_minor, o.currency)),
        o.quantity > 1 && el("span", {}, app.t("pieces", { n: o.quantity }))),
      el("p", { class: "soft", "data-data": true }, o.id),
      due && el("p", {}, app.t("payBy", { t: app.when(o.expires_at) })),
      due && el("p", { class: "row" },
        el("button", { class: "go small pay", type: "button", "aria-disabled": busy ? "true" : "false", click: () => act(o, "pay") }, app.t("pay")),
        el("button", { class: "link cancel", type: "button", click: () => {
          if (sure === o.id) return void act(o, "cancel");
          sure = o.id;
          app.repaint();
          $("main").querySelector<HTMLElement>(`[data-id="${CSS.escape(o.id)}"] .cancel`)?.focus();
        } }, app.t(sure === o.id ? "cancelSure" : "cancel"))));
  }

  async function act(o: Order, how: "pay" | "cancel") {
    if (busy) return;
    if (how === "pay" && !app.shop.sandbox) {
      const to = app.shop.pay_url;
      if (to) location.href = `${to}${to.includes("?") ? "&" : "?"}order_id=${encodeURIComponent(o.id)}&return=${encodeURIComponent(location.origin + location.pathname)}`;
      return;
    }
    busy = o.id;
    app.repaint();
    try {
      const got = await sluice[how](o.id);
      items = items!.map((x) => ((x as Order).id === o.id ? got : x));
    } catch {
      await load();
    }
    busy = sure = "";
    app.repaint();
  }

  function couponCard(k: Coupon): HTMLElement {
    const usable = k.state === "issued";
    const plain = k.code.replace(/\W/g, "");
    const copied = el("span", { role: "status" });
    return el("article", { class: "card" }, heading(k.campaign_id),
      el("p", { class: `word ${usable ? "good" : ""}` }, app.t(k.state === "expired" ? "expiredWord" : k.state)),
      el("p", { class: "code", "data-data": true }, k.code),
      usable && qr(plain),
      el("p", { class: "soft" }, app.t("valid", { a: app.when(k.valid_from), b: app.when(k.valid_until) })),
      usable && el("p", { class: "row" }, el("button", { class: "go small", type: "button", click: () => {
        navigator.clipboard?.writeText(k.code).then(() => { copied.textContent = app.t("copied"); }, () => {});
      } }, app.t("copy")), copied));
  }

  function qr(text: string): Element {
    const m = matrix(text);
    const svg = (tag: string, a: Record<string, string>) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [k, v] of Object.entries(a)) e.setAttribute(k, v);
      return e;
    };
    const n = m.length + 8;
    const d = m.map((row, y) => row.map((on, x) => (on ? `M${x + 4} ${y + 4}h1v1h-1z` : "")).join("")).join("");
    const e = svg("svg", { viewBox: `0 0 ${n} ${n}`, class: "qr", role: "img", "aria-label": app.t("qr"), "shape-rendering": "crispEdges" });
    e.append(svg("path", { d, fill: "#000" }));
    return e;
  }

  async function load(from?: string) {
    try {
      const page = what === "orders" ? await sluice.orders(from) : await sluice.coupons(from);
      items = from ? [...items!, ...page.items] : page.items;
      cursor = page.next_cursor;
      stored = tries = 0;
      failed = false;
      if (what === "coupons") app.keep("localStorage", copyKey(), JSON.stringify({ at: Date.now(), items }));
    } catch (e) {
      if ((e as { status?: number }).status === 401) return app.setToken("");
      failed = true;
      const copy = what === "coupons" && !items && app.keep("localStorage", copyKey());
      if (copy) {
        const kept = JSON.parse(copy) as { at: number; items: Coupon[] };
        items = kept.items;
        stored = kept.at;
      }
      setTimeout(load, Math.random() * Math.min(30_000, 1000 * 2 ** tries++));
    }
    app.repaint();
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden && app.token) load(); });
  sluice.campaigns().then((page) => {
    for (const c of page.items) titles.set(c.id, c);
    app.shop = { ...page.items[0], ...page };
    app.nav();
    app.repaint();
  }, () => {});
  app.repaint();
}
