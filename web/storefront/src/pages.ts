import type { Campaign, SluiceError } from "../../sdk/src/index.js";
import type { App } from "./app.js";
import { listPage } from "./list.js";
import { more } from "./texts-pages.js";
import { walletPage } from "./wallet.js";

/** Shows the page of a path other than a campaign's. */
export function show(app: App, path: string) {
  app.learn(more);
  if (path === "/") return listPage(app);
  if (path === "/orders" || path === "/coupons") return walletPage(app, path === "/orders" ? "orders" : "coupons");
  app.repaint = () => app.$("main").replaceChildren(app.el("h1", {}, app.t("notfound")), app.el("a", { href: "/" }, app.t("sales")));
  app.repaint();
}

/** Development only: a token for any name. */
export function signIn(app: App) {
  const { el } = app;
  if (document.querySelector("dialog")) return;
  app.learn(more);
  const name = el("input", { id: "who", name: "user", required: true, maxlength: "64", autocomplete: "username" }) as HTMLInputElement;
  const fault = el("p", { class: "bad", role: "alert" });
  const box = el("dialog", { class: "card", "aria-labelledby": "dev", close: () => box.remove() },
    el("form", { submit: (e) => {
      e.preventDefault();
      app.sluice.devToken(name.value).then((r) => {
        box.close();
        app.setToken(r.token);
      }, (x: SluiceError) => { fault.textContent = x.message; });
    } }, el("h2", { id: "dev" }, app.t("dev")), el("label", { for: "who" }, app.t("name")), name, fault,
    el("p", { class: "row" }, el("button", { class: "go small", id: "enter" }, app.t("go")),
      el("button", { class: "link", type: "button", click: () => box.close() }, app.t("close"))))) as HTMLDialogElement;
  document.body.append(box);
  box.showModal();
}

/** Hands a calendar the opening of a sale. */
export function calendar(s: Campaign) {
  const utc = (at: string) => new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
  const title = s.title.replace(/[\\;,]/g, (x) => `\\${x}`).replace(/\s+/g, " ");
  const text = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Sluice//EN", "BEGIN:VEVENT", `UID:${s.id}@${location.hostname}`,
    `DTSTAMP:${utc(s.starts_at)}`, `DTSTART:${utc(s.starts_at)}`, `SUMMARY:${title}`, `URL:${location.origin}${location.pathname}`,
    "END:VEVENT", "END:VCALENDAR", ""].join("\r\n");
  const link = document.createElement("a");
  link.href = `data:text/calendar;charset=utf-8,${encodeURIComponent(text)}`;
  link.download = `${s.id}.ics`;
  link.click();
}
