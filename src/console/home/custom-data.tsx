/**
 * A device's custom data, shown and sent as text: digits and order stay as somebody wrote them.
 *
 * If another has stored something meanwhile, both are shown, and what was typed stays.
 */

import { useEffect, useId, useState } from 'preact/hooks';
import { getCustomData, setCustomData } from '../api.js';
import { t } from '../language.js';
import { useKeptPlace } from '../place.js';
import { isRecord, type Tagged } from '../request.js';
import { FailureText } from '../ui/bits.js';
import { useChange, useLoaded } from '../ui/load.js';

/** Specification 8. */
const MAX_BYTES = 1024;

interface CustomDataFault {
  readonly type: 'too-large' | 'not-json' | 'not-object';
  /** Where the JSON ends to be valid, if the browser tells. */
  readonly at?: { readonly line: number; readonly column: number };
}

/** Finds what the gateway would refuse; the gateway checks again. */
export function customDataFault(text: string): CustomDataFault | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return jsonFault(String(error), text);
  }
  if (!isRecord(value)) return { type: 'not-object' };
  return byteCount(text) > MAX_BYTES ? { type: 'too-large' } : undefined;
}

function byteCount(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Browsers tell the position in their own words, if at all. */
function jsonFault(message: string, text: string): CustomDataFault {
  const position = /position (?<position>\d+)/.exec(message)?.groups?.['position'];
  if (position === undefined) return { type: 'not-json' };
  const before = text.slice(0, Number(position)).split('\n');
  const at = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  return { type: 'not-json', at };
}

interface CustomDataEditorProps {
  readonly locationId: string;
  readonly deviceId: string;
  readonly mayChange: boolean;
}

export function CustomDataEditor({ locationId, deviceId, mayChange }: CustomDataEditorProps) {
  const at = { locationId, deviceId };
  const stored = useLoaded(() => getCustomData(at), [locationId, deviceId], { onReturn: true });
  return (
    <section aria-label={t('Custom data', 'Eigene Daten')}>
      <h2>{t('Custom data', 'Eigene Daten')}</h2>
      <FailureText failure={stored.failure} onRetry={stored.again} />
      {stored.data !== undefined && !mayChange && <pre class="home-json">{stored.data.text}</pre>}
      {stored.data !== undefined && mayChange && (
        <Editor stored={stored.data} at={at} onSaved={stored.take} onStale={stored.again} />
      )}
    </section>
  );
}

interface EditorProps {
  readonly stored: Tagged;
  readonly at: { readonly locationId: string; readonly deviceId: string };
  readonly onSaved: (stored: Tagged) => void;
  /** Called when someone else has stored something meanwhile. */
  readonly onStale: () => void;
}

function Editor({ stored, at, onSaved, onStale }: EditorProps) {
  const hintId = useId();
  // Undefined: unchanged, so it shows what is stored, even when someone else changes it.
  const [typed, setTyped] = useState<Tagged>();
  const [isSaved, setSaved] = useState(false);
  const change = useChange();
  const { text, tag } = typed ?? stored;
  const fault = customDataFault(text);
  const maySave = typed !== undefined && fault === undefined;
  useKeptPlace(
    typed !== undefined && text !== stored.text
      ? t(
          'The custom data is not saved. Leave anyway? Your changes would be lost.',
          'Eigene Daten: nicht gespeichert. Trotzdem verlassen? Ihre Änderungen gingen verloren.',
        )
      : undefined,
  );
  const isStale = change.failure?.code === 'precondition-failed';
  useEffect(() => {
    if (isStale) onStale();
  }, [isStale, onStale]);
  const save = (baseTag = tag) => {
    if (!maySave) return;
    change.send(
      () => setCustomData(at, text, baseTag),
      (saved) => {
        // Text typed since then is not saved yet.
        setTyped((now) => (now?.text === text ? undefined : now && { ...now, tag: saved.tag }));
        setSaved(true);
        onSaved(saved);
      },
    );
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        class="home-json"
        aria-label={t('Custom data', 'Eigene Daten')}
        aria-describedby={hintId}
        aria-invalid={fault !== undefined}
        rows={Math.min(12, Math.max(3, text.split('\n').length))}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setTyped({ text: currentTarget.value, tag });
          setSaved(false);
        }}
      />
      <p id={hintId} class="hint">
        {t(
          'A JSON object that goes along with every message of this device.',
          'Ein JSON-Objekt, das mit jeder Nachricht dieses Geräts mitgeht.',
        )}{' '}
        {t(`${byteCount(text)} of ${MAX_BYTES} bytes`, `${byteCount(text)} von ${MAX_BYTES} Byte`)}
      </p>
      <p role="status" class={fault === undefined ? 'hint' : 'bad'}>
        {fault !== undefined && faultText(fault)}
        {isSaved && t('Saved.', 'Gespeichert.')}
      </p>
      {typed !== undefined && <FailureText failure={change.failure} />}
      {isStale && tag !== stored.tag && (
        <>
          <p>{t('This is stored now:', 'Gespeichert ist jetzt:')}</p>
          <pre class="home-json">{stored.text}</pre>
          <button type="button" aria-disabled={!maySave} onClick={() => save(stored.tag)}>
            {t('Save mine instead', 'Meine stattdessen speichern')}
          </button>
        </>
      )}
      <div class="row">
        <button type="submit" class="primary" aria-disabled={!maySave || change.isPending}>
          {t('Save', 'Speichern')}
        </button>
        {typed !== undefined && (
          <button type="button" onClick={() => setTyped(undefined)}>
            {t('Discard the changes', 'Änderungen verwerfen')}
          </button>
        )}
      </div>
    </form>
  );
}

function faultText({ type, at }: CustomDataFault): string {
  if (type === 'too-large') return t('This is too large.', 'Das ist zu groß.');
  if (type === 'not-object') {
    return t(
      'This must be an object, in curly brackets.',
      'Das muss ein Objekt sein, in geschweiften Klammern.',
    );
  }
  if (at === undefined) return t('This is not valid JSON.', 'Das ist kein gültiges JSON.');
  return t(
    `This is not valid JSON: see line ${at.line}, character ${at.column}.`,
    `Das ist kein gültiges JSON: siehe Zeile ${at.line}, Zeichen ${at.column}.`,
  );
}
