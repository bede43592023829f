/** What is handed to somebody: a text to copy, a QR code, a file. */

import { useMemo, useRef, useState } from 'preact/hooks';
import { encode } from 'uqr';
import { language, t } from '../language.js';

interface CopiedTextProps {
  readonly text: string;
  /** The button's name for screen readers, which do not see the text next to it. */
  readonly label: string;
}

/** A text with a button that copies it. */
export function CopiedText({ text, label }: CopiedTextProps) {
  const code = useRef<HTMLElement>(null);
  const select = () => {
    if (code.current !== null) getSelection()?.selectAllChildren(code.current);
  };
  return (
    <span class="copied">
      <code ref={code}>{text}</code>
      <CopyButton text={text} label={label} select={select} />
    </span>
  );
}

/** A text in its own field, with a button that copies it. */
export function CopiedField({ text, label }: CopiedTextProps) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <label>
        {label}
        <input
          ref={field}
          readOnly
          value={text}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      </label>
      <span class="copied">
        <CopyButton text={text} select={() => field.current?.select()} />
      </span>
    </>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  readonly select: () => void;
}

function CopyButton({ text, label, select }: CopyButtonProps) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      // Exists only on pages served over TLS or from this machine.
      await navigator.clipboard.writeText(text);
      setSaid(t('Copied', 'Kopiert'));
    } catch {
      select();
      setSaid(t('Selected: press Ctrl+C', 'Markiert: drücken Sie Strg+C'));
    }
  };
  return (
    <>
      <button type="button" aria-label={label} onClick={copy}>
        {t('Copy', 'Kopieren')}
      </button>
      <span role="status" class="hint">
        {said}
      </span>
    </>
  );
}

/** The white border, in modules (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** A text as a QR code: dark on light in any theme, because not every camera reads the inverse. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = useMemo(() => encode(text, { border: QUIET_ZONE, ecc: 'M' }), [text]);
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [[x, y]] : [])));
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#ffffff" />
      <path
        d={dark.map(([x, y]) => `M${x} ${y}h1v1h-1z`).join('')}
        fill="#000000"
        shape-rendering="crispEdges"
      />
    </svg>
  );
}

/** Longer than a browser takes to start reading the file: some do so after the click. */
const KEPT_MS = 60_000;

/** Saves a file to the browser's downloads. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** The separator of cells: a spreadsheet that writes 1,5 does not accept commas. */
export function csvSeparator(): ',' | ';' {
  return language.value === 'de' ? ';' : ',';
}

/** Writes rows as CSV (RFC 4180) for a spreadsheet: the mark tells Excel that the file is UTF-8. */
export function csvText(rows: readonly (readonly string[])[], separator: string): string {
  const lines = rows.map((cells) => cells.map((cell) => csvCell(cell, separator)).join(separator));
  return `\uFEFF${lines.map((line) => `${line}\r\n`).join('')}`;
}

function csvCell(cell: string, separator: string): string {
  // A spreadsheet would run these as formulas; after an apostrophe they are text.
  const text = /^[=+\-@＝＋－＠\t\r]/.test(cell) ? `'${cell}` : cell;
  const needsQuotes = text.includes(separator) || /["\r\n]/.test(text) || text !== cell;
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}
