/**
 * Puts a text where it can be pasted from. Browsers give a clipboard under TLS and on the loopback alone; elsewhere the
 * old way is tried. False: this browser lets a page copy nothing.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copies by way of a selection. A dialog keeps the focus inside it, so the selection is made in there. */
function copySelected(text: string): boolean {
  const was = document.activeElement;
  const box = document.createElement('textarea');
  box.value = text;
  box.readOnly = true;
  box.setAttribute('aria-hidden', 'true');
  box.style.cssText = 'position:fixed;inset:0 auto auto 0;width:1px;height:1px;opacity:0';
  (was?.closest('[role=dialog]') ?? document.body).append(box);
  box.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    box.remove();
    if (was instanceof HTMLElement) was.focus({ preventScroll: true });
  }
}

/** Selects what an element says, for somebody to copy by hand. */
export function selectAll(e: Element | null): void {
  if (e) getSelection()?.selectAllChildren(e);
}
