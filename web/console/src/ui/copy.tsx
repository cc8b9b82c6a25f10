import { Button, type ButtonProps, Modal } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText, selectAll } from '../lib/copy.ts';

/** What came of copying: nothing yet, done, or the person has to do it. */
export type Copied = '' | 'done' | 'byHand';

const saidMs = 1500;

/** Gives what copies a text, and what came of it; that it is done is said for a moment. */
export function useCopy(): [Copied, (text: string) => Promise<Copied>] {
  const [copied, setCopied] = useState<Copied>('');
  useEffect(() => {
    if (copied !== 'done') return;
    const timer = setTimeout(() => setCopied(''), saidMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (text: string): Promise<Copied> => {
    const came = (await copyText(text)) ? 'done' : 'byHand';
    setCopied(came);
    return came;
  };
  return [copied, copy];
}

type Props = { text: () => string | undefined | Promise<string | undefined> } & Omit<ButtonProps, 'onClick'>;

/** Copies a text that is made when it is pressed. Where the browser copies nothing the text is shown, selected. */
export function CopyButton({ text, children, ...rest }: Props) {
  const { t } = useTranslation();
  const [copied, copy] = useCopy();
  const [shown, setShown] = useState('');
  const box = useRef<HTMLPreElement>(null);
  const press = async () => {
    const what = await text();
    if (what !== undefined && (await copy(what)) === 'byHand') setShown(what);
  };
  return (
    <>
      <Button {...rest} onClick={press}>
        {copied === 'done' && '✓ '}
        {children}
      </Button>
      <span role="status" className="small" data-copied={copied}>
        {copied === 'done' && t('copy.done')}
      </span>
      <Modal
        open={shown !== ''}
        title={t('copy.byHand')}
        closable={false}
        onCancel={() => setShown('')}
        afterOpenChange={(open) => open && selectAll(box.current)}
        footer={<Button onClick={() => setShown('')}>{t('act.close')}</Button>}
      >
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to take the keyboard */}
        <pre className="code" data-data ref={box} tabIndex={0}>
          {shown}
        </pre>
      </Modal>
    </>
  );
}
